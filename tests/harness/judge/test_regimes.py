"""Of an own model nobody here knows what it is; how it is trained is known."""

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Regime, Study, Workload
from folklore.harness.declare.metrics import TunedLoss
from folklore.harness.judge.regimes import outside


@pytest.mark.parametrize(
    ("regime", "reason"),
    [
        (Regime(words="transformers", models=("gpt",)), None),
        (Regime(words="SGD", optimizers=("sgd",)), "the claim is about SGD; this is adamw"),
        (Regime(words="AdamW", optimizers=("adamw",)), None),
        (Regime(words="7 billion parameters", least_parameters=7 * 10**9), None),
    ],
)
def test_an_own_model_is_asked_for_its_optimizer_alone(regime: Regime, reason: str | None, study: Study) -> None:
    own = study.model_copy(update={"workload": Workload(model="own", dataset="own:a:b@0")})
    arm = next(iter(own.arms))
    criterion = Criterion(name="x", observe=TunedLoss(arm=arm), claimed=AtLeast(value=2.0), refuted=AtMost(value=1.0))
    assert outside(regime, criterion, own, "laptop") == reason


@pytest.mark.parametrize(("least", "reason"), [(32, None), (33, "the claim is about large steps; a step here sees 32 tokens")])
def test_a_step_of_text_is_counted_in_tokens(least: int, reason: str | None, study: Study) -> None:
    """The toy's four sequences of eight tokens."""
    criterion = Criterion(
        name="x", observe=TunedLoss(arm=next(iter(study.arms))), claimed=AtLeast(value=2.0), refuted=AtMost(value=1.0)
    )
    assert outside(Regime(words="large steps", least_batch=least), criterion, study, "laptop") == reason
