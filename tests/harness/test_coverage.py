"""The judge judged: intervals cover and verdicts err as often as they say, on simulated studies (a short version).

Five seeds, normal noise, arms with noise of different size. 300 worlds give a standard error of 1.3% at 95%.
"""

import numpy as np
import pandas as pd
import pytest

from harness.judge import Verdict, judge
from harness.spec import Study
from tests.harness.helpers import frame, result

WORLDS = 300


def world(study: Study, trials: pd.DataFrame, effect: float, number: int) -> Verdict:
    """The verdict on a study whose true relative gap between its arms is `effect`."""
    generator = np.random.default_rng([number, round(1e6 * effect)])
    shared = generator.normal(0, 0.05, size=5)[trials["seed"]]
    none = (trials["arm"] == "none").to_numpy()
    truth = 2.0 * (1 + effect * none) + 0.3 * (np.log2(trials["peak_lr"]).to_numpy() + 7) ** 2
    noise = generator.normal(0, 1, (2, len(trials))) * np.where(none, 0.01, 0.02) + shared
    found = trials.assign(validation_loss=truth + noise[0], test_loss=truth + noise[1], initial_loss=99.0)
    return judge(study, "laptop", "cpu", found)[0]


@pytest.mark.parametrize("effect", [0.0, 0.02])
def test_intervals_cover_and_errors_are_rare(study: Study, effect: float) -> None:
    trials = frame(study, lambda _: result(2.0))
    worlds = [world(study, trials, effect, number) for number in range(WORLDS)]
    covered = np.mean([each.low <= effect <= each.high for each in worlds])
    supported = np.mean([each.verdict == "supported" for each in worlds])
    refuted = np.mean([each.verdict == "refuted" for each in worlds])
    assert 0.91 <= covered <= 0.985
    if effect == 0.0:  # on the threshold: either verdict is an error
        assert supported + refuted <= 0.09
    else:
        assert refuted <= 0.01
        assert supported >= 0.5
