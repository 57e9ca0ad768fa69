"""A user's model is unknown here; how it is trained is known. Models smaller than a claim speaks of are named."""

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Regime, Study, Workload
from folklore.harness.declare.claim_size import ClaimSize
from folklore.harness.declare.metrics import Quotient, TunedLoss
from folklore.harness.judge.regimes import RunSize, below, outside, run_size
from tests.harness.helpers import changed


def criterion(*arms: str) -> Criterion:
    observed = [TunedLoss(arm=arm) for arm in arms]
    observe = observed[0] if len(arms) == 1 else Quotient(top=observed[0], bottom=observed[1])
    return Criterion(name="x", observe=observe, claimed=AtLeast(value=2.0), refuted=AtMost(value=1.0))


@pytest.mark.parametrize(
    ("regime", "reason"),
    [
        (Regime(words="transformers", models=("gpt",)), None),
        (Regime(words="SGD", optimizers=("sgd",)), "the claim is about SGD; this is adamw"),
        (Regime(words="AdamW", optimizers=("adamw",)), None),
    ],
)
def test_an_own_model_is_asked_for_its_optimizer_alone(regime: Regime, reason: str | None, study: Study) -> None:
    own = study.model_copy(update={"workload": Workload(model="own", dataset="own:a:b@0")})
    assert outside(regime, criterion(next(iter(own.arms))), own, "laptop") == reason


def test_a_run_has_the_size_of_its_largest_arm_and_a_claim_that_of_its_smallest_part(study: Study) -> None:
    """The toy's four sequences of eight tokens; a sweep over widths reaches as far as its widest arm."""
    wide = changed(study, {"arms.half.settings.width": 32, "arms.none.settings.steps": 50})
    (small, large) = (run_size([criterion(arm)], wide, "laptop") for arm in ("none", "half"))
    assert small is not None
    assert large is not None
    assert (small.tokens, small.steps, small.unit) == (4 * 8 * 50, 50, "tokens")
    assert large.parameters is not None
    assert small.parameters is not None
    assert large.parameters > 3 * small.parameters
    assert run_size([criterion("none", "half")], wide, "laptop") == large
    assert run_size([criterion("half"), criterion("none")], wide, "laptop") == small
    assert run_size([], wide, "laptop") is None


@pytest.mark.parametrize(
    ("least", "lacking"),
    [
        (ClaimSize(), ""),
        (ClaimSize(parameters=7_000, tokens=140_000, steps=400), ""),
        (ClaimSize(parameters=100_000_000), "7k of 100M parameters"),
        (ClaimSize(tokens=2_000_000, steps=1_000), "140k of 2M tokens, 400 of 1k steps"),
        (ClaimSize(tokens_per_parameter=21), "20 of 21 tokens a parameter"),
        (ClaimSize(pretrained=True), "it starts from no checkpoint that was trained on other data"),
    ],
)
def test_what_is_lacking_is_said(least: ClaimSize, lacking: str) -> None:
    assert below(least, RunSize(7_000, 140_000, 400, pretrained=False)) == lacking


def test_what_is_not_known_lacks_nothing() -> None:
    assert below(ClaimSize(parameters=10**9, tokens_per_parameter=20), RunSize(None, 1, 1, pretrained=False)) == ""
