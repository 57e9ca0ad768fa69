"""Detectors' scores against plain loops, and what they find at equal false alarms in runs whose faults are planted."""

from typing import Any

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics.detectors import RULES, Detector
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.studies.metrics.spikes import (
    FIRST,
    Asked,
    alarm_lead,
    alarm_limit,
    alarms,
    detected_share,
    first_alarms,
    limits,
    warned_share,
)
from tests.harness.declare.metrics.planted import table_of_steps

STEPS, FAULTY, RISES, EXPLODES = 300, 150, 230, 260
ARMS: dict[str, dict[str, Any]] = {
    "sound": {"steps": STEPS, "batch_size": 3},
    "hit": {"steps": STEPS, "fault": "labels"},
    "explodes": {"steps": STEPS, "batch_size": 5},
    "spikes": {"steps": STEPS, "batch_size": 6},
    "short": {"steps": FIRST, "batch_size": 7},
}


def noise(seed: int, steps: int) -> np.ndarray:
    return np.asarray(1 + 0.01 * np.random.default_rng(seed).standard_normal(steps))


def losses(arm: str, seed: int) -> np.ndarray:
    """The same noise in all runs, and a jump of 10% in runs that are hit, of odd seeds. One that explodes learns slowly and
    is a tenth higher from some step on."""
    curve = noise(0, ARMS[arm]["steps"])
    curve[0] = 3.0
    if arm == "hit" and seed % 2:
        curve[FAULTY + 1] = 1.1
    if arm == "explodes":
        curve[1:RISES] -= 0.0002 * np.arange(1, RISES)
        curve[RISES:EXPLODES] = 1.1
        curve[EXPLODES:] = 5.0
    if arm == "spikes":
        curve[[100, 180, 200, 280]] = 2.0
    return curve


def norms(arm: str, seed: int) -> np.ndarray:
    """For even seeds a norm is far too large at the fault. If runs explode, it comes ten steps before the loss is higher, or as
    many after; if they spike, long before the second spike, and 0 to 2 steps before the third."""
    curve = noise(1, ARMS[arm]["steps"])
    if arm == "hit" and seed % 2 == 0:
        curve[FAULTY] = 9.0
    if arm == "explodes":
        curve[RISES + (10 if seed % 2 else -10)] = 9.0
    if arm == "spikes":
        curve[[150, 180 - seed % 3]] = 9.0
    return curve


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    return table_of_steps(study, ARMS, lambda trial: (losses(trial.arm, trial.seed), norms(trial.arm, trial.seed)))


def slowly(rule: Detector, loss: list[float], norm: list[float], step: int) -> float:
    """A score by its words, of one step."""
    if rule == "loss_ratio":
        return loss[step] / (sum(loss[step - 9 : step]) / 9)
    if rule == "norm_ratio":
        return norm[step] / float(np.median(norm[step - 50 : step]))
    if rule == "deviations":
        pairs = [(curve[step], np.array(curve[step - 128 : step])) for curve in (loss, norm)]
        return float(max((value - before.mean()) / np.sqrt(before.var() * 128 / 127) for value, before in pairs))
    values = loss if rule == "spike" else norm
    before = np.array(values[step - 50 : step])
    middle = np.median(before)
    return float((values[step] - middle) / (1.4826 * np.median(abs(before - middle))))


@pytest.mark.parametrize("rule", ["loss_ratio", "deviations", "norm_ratio", "spike", "robust_norm"])
def test_scores_are_what_their_words_say(rule: Detector) -> None:
    loss, norm = (noise(seed, STEPS).tolist() for seed in (1, 2))
    scores = RULES[rule].score(np.array([loss, norm]), np.array([norm, loss]))
    for step in (128, 129, 200, 299):
        assert scores[0, step] == pytest.approx(slowly(rule, loss, norm, step))
        assert scores[1, step] == pytest.approx(slowly(rule, norm, loss, step))
    assert np.isneginf(scores[:, 8]).all()


def test_zclip_is_the_papers() -> None:
    """Algorithm 1 of arXiv:2504.02507 in plain floats: alpha 0.97, threshold 2.5, averages begun with 25 norms, and a norm that
    stands out enters them as the threshold^2 / z that it is clipped to."""
    norms = noise(3, STEPS)
    norms[[60, 61, 140]] = 2.0, 1.5, 30.0
    mean, variance = sum(norms[:25]) / 25, float(np.var(norms[:25]))
    expected = []
    for norm in norms[25:].tolist():
        z = (norm - mean) / (variance**0.5 + 1e-6)
        expected.append(z)
        used = mean + 2.5**2 / z * variance**0.5 if z > 2.5 else norm
        mean = 0.97 * mean + 0.03 * used
        variance = 0.97 * variance + 0.03 * (used - mean) ** 2
    scores = RULES["zclip"].score(norms, norms)
    assert np.isneginf(scores[:25]).all()
    assert scores[25:] == pytest.approx(np.array(expected), rel=1e-9)
    assert max(expected) > 100


@pytest.mark.parametrize("rule", list(RULES))
def test_what_is_not_finite_stands_out(rule: Detector) -> None:
    values = noise(4, STEPS)
    values[200:] = np.nan
    assert np.isposinf(RULES[rule].score(values, values)[200:]).all()
    assert np.isfinite(RULES[rule].score(noise(4, STEPS), noise(5, STEPS))[FIRST:]).all()


@pytest.mark.parametrize("rate", [1.0, 7.0, 400.0])
def test_a_limit_leaves_that_many_steps_above_it(rate: float) -> None:
    """For all runs, all but one, and a resample, as if runs were written down as often as they are drawn."""
    scores = np.random.default_rng(5).standard_normal((6, 172))
    for weights in (np.ones(6), np.array([1.0, 1, 1, 0, 1, 1]), np.array([4.0, 0, 0, 2, 0, 0])):
        (limit,) = limits(scores, weights[None], rate)
        written = np.repeat(scores, weights.astype(int), axis=0).ravel()
        allowed = int(rate / 1000 * len(written))
        assert (written > limit).sum() <= allowed < (written >= limit).sum()


def test_of_two_detectors_only_runs_that_one_of_them_finds_count(table: TrialArrays) -> None:
    metric = detected_share(arm="hit", sound="sound", rule="zclip", where="at_fault", per_thousand=5.0, but_not="loss_ratio")
    assert metric.counts(table) == (sum(1 - seed % 2 for seed in table.seed_numbers), table.seeds)
    with pytest.raises(NotEstimableError, match="find the same runs"):
        observe(metric.model_copy(update={"but_not": "robust_norm", "per_thousand": 0.01}), table)


@pytest.mark.parametrize("rule", ["zclip", "robust_norm", "norm_ratio"])
def test_an_alarm_before_that_of_the_loss_is_a_warning(rule: str, table: TrialArrays) -> None:
    odd = np.mean([seed % 2 for seed in table.seed_numbers])
    runs: dict[str, Any] = {"arm": "explodes", "sound": "sound", "rule": rule, "per_thousand": 0.01, "early": 20}
    assert observe(warned_share(**runs), table).estimate == pytest.approx(1 - odd)
    assert observe(warned_share(**runs, counted="loss_first"), table).estimate == pytest.approx(odd)
    assert observe(alarm_lead(**runs), table).estimate == pytest.approx(10 * (1 - odd) - 10 * odd)


def test_alarms_before_the_lowest_mean_of_losses_do_not_count(table: TrialArrays) -> None:
    """It is lowest just before the loss rises, and the norm is too large before that."""
    runs: dict[str, Any] = {"arm": "explodes", "sound": "sound", "per_thousand": 0.01}
    assert observe(warned_share(**runs), table).estimate == 0.0
    assert observe(warned_share(**runs, early=20), table).estimate > 0.0


def test_of_spikes_the_first_counts_that_comes_after_quiet(table: TrialArrays) -> None:
    """The one at step 100 is too early; a warning of 0 steps is none."""
    norm, loss = first_alarms(Asked("spikes", "sound", None, "robust_norm", "spike", 0, 0.01, "peak_lr"), table)
    assert set(loss) == {180}
    assert norm.tolist() == [180 - seed % 3 for seed in table.seed_numbers]
    share = observe(warned_share(arm="spikes", sound="sound", rule="robust_norm", trouble="spike", per_thousand=0.01), table)
    assert share.estimate == pytest.approx(np.mean([seed % 3 > 0 for seed in table.seed_numbers]))


def test_without_trouble_there_is_no_warning_and_without_two_alarms_no_lead(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="gets into trouble"):
        observe(warned_share(arm="hit", sound="sound"), table)
    with pytest.raises(NotEstimableError, match="no run with an alarm of the norm and one of the loss"):
        observe(alarm_lead(arm="hit", sound="sound"), table)


def test_limits_are_set_by_other_seeds(study: Study, table: TrialArrays) -> None:
    """A sound run with a step that stands out is judged by the limit of the others."""

    def with_one_jump(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
        loss = losses(trial.arm, trial.seed)
        if trial.arm == "sound" and trial.seed == table.seed_numbers[0]:
            loss[290] = 5.0
        return loss, norms(trial.arm, trial.seed)

    planted = table_of_steps(study, ARMS, with_one_jump)
    assert alarms("sound", ("sound",), "loss_ratio", 0.01, "peak_lr", planted)[0, 290]
    assert observe(alarm_limit(sound="sound", rule="loss_ratio", per_thousand=0.01), planted).estimate > 4


def test_runs_have_to_be_longer_than_the_longest_window(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="compared from step 128"):
        observe(alarm_limit(sound="short", rule="loss_ratio"), table)
