"""Of an own model nobody here knows what it is; how it is trained is known."""

import pytest

from folklore.harness.judging.regimes import outside
from folklore.harness.metrics import TunedLoss
from folklore.harness.spec import AtLeast, AtMost, Criterion, Regime, Study, Workload


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
