"""Two quantities that a design varies together are named, and two of which one is held are not."""

import pytest

from folklore.harness.declare import Study
from folklore.harness.judge.confounding import confounded
from tests.harness.helpers import changed
from tests.harness.judge.test_regimes import criterion


@pytest.mark.parametrize(
    ("settings", "together"),
    [
        ({"half.steps": 40}, ["steps and tokens a parameter vary together here (10 to 40 and "]),
        # Twice the steps of half the batch: as many tokens.
        ({"half.steps": 20, "half.batch_size": 2}, []),
        ({"half.width": 32}, []),
        ({"half.width": 32, "half.context": 4}, ["width and tokens vary together here (8 to 32 and "]),
        # The LR is tuned: the design did not choose it.
        ({"half.batch_size": 16, "half.steps": 3}, []),
        ({"half.steps": 12}, []),
    ],
)
def test_what_goes_together_is_named(settings: dict[str, float], together: list[str], study: Study) -> None:
    arms = {f"arms.{name.replace('.', '.settings.')}": value for name, value in settings.items()}
    lines = confounded([criterion("none", "half")], changed(study, arms), "laptop")
    assert [line.startswith(start) for line, start in zip(lines, together, strict=True)] == [True] * len(together)
