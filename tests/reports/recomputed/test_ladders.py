"""One number of each claim of the ladders beside warmup's again, at all rungs, from the published trials by pandas."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.plan.catalog import load_study
from tests.reports.recomputed.tables import at, best, estimates, fall, gap, means, published, trials, tuned, vertex

DECAYS = ("tenth", "zero", "linear_zero", "trapezoid")


def rungs(study: str) -> list[str]:
    """The published rungs, one at least."""
    scales = [judged.scale for judged in published_verdicts(load_study(study)) or ()]
    assert scales
    return scales


def at_an_end(table: pd.DataFrame, arm: str) -> bool:
    """Whether the best LR of an arm is the lowest or the highest that was tried."""
    tried = means(table, arm).index
    return best(table, arm) in (tried.min(), tried.max())


@pytest.mark.parametrize(
    ("study", "claim", "left", "right", "arms"),
    [
        ("decay_ladder", "decay.linear_zero_with_size", "tenth", "linear_zero", DECAYS),
        ("decay_ladder", "decay.trapezoid_with_size", "trapezoid", "tenth", DECAYS),
        ("optimizer_ladder", "opt.muon_with_size", "adamw", "muon", ("adamw", "muon")),
        ("optimizer_ladder", "opt.muon_speed_with_size", "adamw_longer", "muon", ("adamw", "muon")),
        ("optimizer_ladder", "opt.lion_with_size", "adamw", "lion", ("adamw", "lion")),
        ("batch_ladder", "scaling.half_life_with_size", "batch_4", "half_life_4", ("batch_4", "half_life_4")),
    ],
)
def test_tuned_losses(study: str, claim: str, left: str, right: str, arms: tuple[str, ...]) -> None:
    trained = [rung for rung in rungs(study) if {left, right} <= set(trials(study, scale=rung)["arm"])]
    assert trained
    for rung in trained:
        table = trials(study, scale=rung)
        if any(at_an_end(table, arm) for arm in arms):
            assert estimates(study, rung)[claim] == [None]
            continue
        share = (tuned(table, left) - tuned(table, right)) / fall(table, *arms)
        assert share == pytest.approx(published(claim, study, scale=rung), rel=1e-6)


def test_floors_at_one_lr() -> None:
    """The LR is the best of decay to 10%, or the only one that is trained."""
    for rung in rungs("decay_ladder"):
        table = trials("decay_ladder", scale=rung)
        lr = best(table, "tenth")
        share = gap(table, "tenth", "zero", of=partial(at, lr=lr))
        assert share == pytest.approx(published("decay.zero_with_size", "decay_ladder", scale=rung), rel=1e-6)


@pytest.mark.parametrize(
    ("study", "claim", "arms"),
    [
        ("batch_ladder", "scaling.exponent_with_size", {4: "batch_4", 16: "batch_16", 64: "batch_64"}),
        ("length_ladder", "lr.falls_with_length", {5: "tokens_5", 20: "tokens_20", 80: "tokens_80"}),
        ("length_ladder", "lr.rises_with_batch_and_length", {5: "grown_5", 20: "tokens_20", 80: "grown_80"}),
    ],
)
def test_exponents_of_the_best_lr(study: str, claim: str, arms: dict[int, str]) -> None:
    """The slope through the vertices of parabolas, on logarithms."""
    for rung in rungs(study):
        table = trials(study, scale=rung)
        slope, _ = np.polyfit(np.log2(list(arms)), [vertex(table, arm) for arm in arms.values()], 1)
        assert slope == pytest.approx(published(claim, study, scale=rung), rel=1e-6)
