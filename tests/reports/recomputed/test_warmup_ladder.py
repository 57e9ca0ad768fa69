"""One number of each of warmup_ladder's claims again, from the published trials by plain pandas, and its prediction."""

import json

import numpy as np
import pytest

from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.store import evidence
from tests.reports.recomputed.tables import fall, means, published, trials, tuned

STUDY = "warmup_ladder"
ARMS = ("none", "2%", "10%", "40%", "60_steps")
# Width and depth of the first three rungs.
SIZES = ((32, 1), (32, 2), (48, 2))
# With the further ones of the arms that are judged.
SEEDS = 16


@pytest.mark.parametrize(
    ("claim", "left", "right"), [("warmup.gain_with_size", "none", "10%"), ("warmup.steps_with_size", "60_steps", "10%")]
)
def test_tuned_losses(claim: str, left: str, right: str) -> None:
    table = trials(STUDY, SEEDS)
    share = (tuned(table, left) - tuned(table, right)) / fall(table, *ARMS)
    assert share == pytest.approx(published(claim, STUDY), rel=1e-6)


def test_the_range_of_lrs() -> None:
    """The largest LR within 5% of the fall to the lowest mean of both arms, by straight lines in log2 of the LR."""
    table = trials(STUDY, SEEDS)
    losses = {arm: means(table, arm)["test_loss"] for arm in ("none", "10%")}
    lowest = min(loss.min() for loss in losses.values())
    start = np.mean([table[table["arm"] == arm].groupby("seed")["initial_loss"].mean().mean() for arm in losses])
    bar = lowest + 0.05 * (start - lowest)

    def largest(arm: str) -> float:
        x, y = np.log2(losses[arm].index.to_numpy(float)), losses[arm].to_numpy()
        last = int(np.flatnonzero(y <= bar).max())
        return float(x[last] + (bar - y[last]) / (y[last + 1] - y[last]) * (x[last + 1] - x[last]))

    assert 2 ** (largest("10%") - largest("none")) == pytest.approx(published("warmup.range_with_size", STUDY), rel=1e-6)


def test_what_two_rungs_predicted_of_the_third() -> None:
    """Beforehand, in its declaration: on the line through both in the logarithm of the parameters."""
    estimates = {
        rung.scale: {verdict.claim: verdict.findings[0].estimate for verdict in rung.verdicts}
        for rung in published_verdicts(load_study(STUDY)) or ()
    }
    (declared,) = json.loads((evidence.FOLDER / f"{STUDY}-rung_50k.declared.json").read_text())
    assert declared["trials_before"] == 0
    first, second, third = np.log([parameters(width, depth) for width, depth in SIZES])
    for said in declared["predicted"]:
        axis = np.log if said["claim"] == "warmup.range_with_size" else float
        low, high = (axis(estimates[scale][said["claim"]]) for scale in ("laptop", "rung_25k"))
        on_the_line = low + (high - low) * (third - first) / (second - first)
        assert axis(said["estimate"]) == pytest.approx(on_the_line, rel=1e-9)


def parameters(width: int, depth: int) -> int:
    """Parameters of a GPT without embeddings: matrices, biases and norms of its blocks, and the last norm."""
    return depth * (12 * width**2 + 13 * width) + 2 * width
