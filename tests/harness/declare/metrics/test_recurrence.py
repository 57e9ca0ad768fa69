"""Spikes that come again in runs that go on beside others, planted at known steps."""

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.studies.metrics.spikes import spike_recurrence
from tests.harness.declare.metrics.planted import table_of_steps

STEPS, HALF = 300, 150
GOES_ON = {"steps": HALF, "warmup_fraction": 0.0, "starts_from": "before", "start_fraction": 0.5}
ARMS = {
    "before": {"steps": STEPS},
    "goes_on": GOES_ON,
    "sound": {"steps": STEPS, "batch_size": 3},
    "longer": {**GOES_ON, "steps": HALF + 1},
}


def spiking(seed: int, steps: int, *places: int) -> list[float]:
    curve = 1 + 0.01 * np.random.default_rng(seed).standard_normal(steps)
    curve[list(places)] = 5.0
    return [float(loss) for loss in curve]


def losses(trial: Trial) -> list[float]:
    """In the second half of a run lie a spike that no window precedes, one of three steps, and two more, all of them two steps
    later with each seed. Runs that go on have the second of these, the third five steps later, and the last with odd seeds."""
    shift = 2 * trial.seed
    if trial.arm == "before":
        return spiking(trial.seed, STEPS, *(HALF + shift + place for place in (20, 60, 61, 63, 90, 120)))
    if trial.arm == "goes_on":
        return spiking(trial.seed + 99, HALF, *(shift + place for place in (60, 95, *(120,) * (trial.seed % 2))))
    return spiking(trial.seed, STEPS if trial.arm == "sound" else HALF + 1)


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    return table_of_steps(study, ARMS, lambda trial: (losses(trial), np.ones(len(losses(trial)))))


@pytest.mark.parametrize(("arm", "of", "why"), [
    ("sound", "before", "'sound' starts from no checkpoint; name one by starts_from"),
    ("longer", "before", "'before' ends before 'longer'"),
    ("goes_on", "sound", "'sound' has no spike to look for"),
])  # fmt: skip
def test_why_there_is_no_number(arm: str, of: str, why: str, table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError) as caught:
        observe(spike_recurrence(arm=arm, of=of), table)
    assert str(caught.value).startswith(why)
