"""A number of each claim of spikes again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tests.reports.recomputed.tables import curves, final, first_at, gap, published, runs, whole

STUDY, FAULTY, WINDOW = "spikes", 150, 50


def trained(arm: str, name: str) -> np.ndarray:
    """A curve of training, of all seeds: also those that an arm has beyond those of the study."""
    return curves(runs(whole(STUDY), arm), f"train_{name}")


def damage(table: pd.DataFrame, arm: str, clean: str) -> float:
    return gap(table, arm, clean, of=final)


def medians(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median of the 50 values before each step from the 51st on, and 1.4826 times the median deviation from it."""
    before = sliding_window_view(values, WINDOW)[:-1]
    middle = np.median(before, axis=1)
    return middle, 1.4826 * np.median(np.abs(before - middle[:, None]), axis=1)


def test_clip(table: pd.DataFrame) -> None:
    remaining = damage(table, "gpt_labels_clip", "gpt_clean_clip") / damage(table, "gpt_labels", "gpt_clean")
    assert published("spike.clip", STUDY, 1) == pytest.approx(remaining, rel=1e-6)


def test_playbook(table: pd.DataFrame) -> None:
    """Going back after random labels, with the lost steps made up."""
    whole, after = (damage(table, f"gpt_labels{remedy}", "gpt_clean") for remedy in ("", "_back"))
    assert published("spike.playbook", STUDY, 3) == pytest.approx((whole - after) / whole, rel=1e-6)


def test_detector(table: pd.DataFrame) -> None:
    """Random labels of the GPT: a loss above twice the mean of nine before, from the fault to ten steps after it."""
    alarms = [
        any(loss[step] > 2 * loss[step - 9 : step].mean() for step in range(FAULTY, FAULTY + 15))
        for loss in trained("gpt_labels", "loss")
    ]
    assert published("spike.detector", STUDY) == np.mean(alarms)


def ratio_scores(arm: str) -> np.ndarray:
    loss = trained(arm, "loss")
    return np.stack([loss[:, step] / loss[:, step - 9 : step].mean(axis=1) for step in range(128, 300)], axis=1)


def olmo_scores(arm: str) -> np.ndarray:
    """Standard deviations of loss or gradient norm above the mean of 128 steps."""
    scores = []
    for name in ("loss", "gradient_norm"):
        values = trained(arm, name)
        before = sliding_window_view(values, 128, axis=1)[:, :-1]
        scores.append((values[:, 128:] - before.mean(axis=2)) / before.std(axis=2, ddof=1))
    return np.asarray(np.maximum(*scores))


def test_deviations(table: pd.DataFrame) -> None:
    """Noise on the weights of the GPT: OLMo's share of the runs that it or the loss over the mean of nine finds, and not both.
    One sound step in 1,000 of the other seeds is above a run's limit."""
    alarms = {}
    for scores in (olmo_scores, ratio_scores):
        sound, hit = scores("gpt_clean"), scores("gpt_weights")
        limits = []
        for seed in range(len(sound)):
            others = sorted(np.delete(sound, seed, axis=0).ravel(), reverse=True)
            limits.append(others[len(others) // 1000])
        alarms[scores] = hit[:, FAULTY - 128 : FAULTY - 128 + 11].max(axis=1) > limits
    olmo, ratio = alarms[olmo_scores], alarms[ratio_scores]
    assert len(olmo) == 40
    assert published("spike.deviations", STUDY) == pytest.approx((olmo & ~ratio).sum() / (olmo ^ ratio).sum())


def test_once(table: pd.DataFrame) -> None:
    assert published("spike.once", STUDY) == pytest.approx(damage(table, "gpt_labels", "gpt_labels_halve"), rel=1e-6)


def test_cut_wastes(table: pd.DataFrame) -> None:
    """Steps at which validation losses, linear between evaluations, first come to the target."""
    halved = runs(table, "adamw_early_halve")
    initial, last = halved["initial_loss"].mean(), curves(halved, "evaluation_loss")[:, -1].mean()
    target = initial - 0.95 * (initial - last)
    logs = []
    for arm in ("adamw_early_halve", "adamw_early"):
        steps = [
            first_at(target, np.r_[0.0, row.curve_evaluation_step], np.r_[row.initial_loss, row.curve_evaluation_loss])
            for row in runs(table, arm).itertuples()
        ]
        logs.append(np.log(steps).mean())
    assert published("spike.cut_wastes", STUDY, 2) == pytest.approx(np.exp(logs[0] - logs[1]), rel=1e-6)


def over_the_median(loss: np.ndarray) -> np.ndarray:
    """Steps of a spike: six times 1.4826 median deviations above the median of 50 losses before."""
    middle, deviation = medians(loss)
    return np.asarray(WINDOW + np.flatnonzero(loss[WINDOW:] > middle + 6 * deviation))


def test_batch_or_state(table: pd.DataFrame) -> None:
    spikes = [over_the_median(loss) for loss in trained("sgd_labels", "loss")]
    alarms = [((places >= FAULTY + 5) & (places < FAULTY + 15)).any() for places in spikes]
    assert published("spike.batch_or_state", STUDY) == np.mean(alarms)


def spikes_of(loss: np.ndarray) -> list[int]:
    """First steps of spikes, after ten without one."""
    over = over_the_median(loss)
    return [int(step) for step in over if not ((step - 10 <= over) & (over < step)).any()]


def test_spikes_that_come_by_themselves_come_again_by_chance() -> None:
    """With the same batches from another state: 300 steps from the middle of the run on, of which 50 have no window."""
    first = [[step - 300 for step in spikes_of(loss) if step >= 350] for loss in trained("natural_run", "loss")]
    again = [spikes_of(loss) for loss in trained("natural_other_state", "loss")]
    met = np.array([[sum(any(abs(a - b) <= 5 for b in other) for a in own) for other in again] for own in first])
    chance = (met.sum() - met.trace()) / (len(met) - 1)
    assert len(met) == 40
    share = (met.trace() - chance) / sum(map(len, first))
    assert published("spike.batch_or_state", STUDY, 2) == pytest.approx(share, abs=1e-9)


def zclip_scores(values: np.ndarray) -> np.ndarray:
    """Algorithm 1 of ZClip, of one run: deviations from a moving average of memory 0.97, begun with 25 steps."""
    mean, variance, scores = values[:25].mean(), values[:25].var(), [-np.inf] * 25
    for value in values[25:]:
        score = (value - mean) / (np.sqrt(variance) + 1e-6)
        scores.append(score)
        entering = mean + 2.5**2 / score * np.sqrt(variance) if score > 2.5 else value
        mean = 0.97 * mean + 0.03 * entering
        variance = 0.97 * variance + 0.03 * (entering - mean) ** 2
    return np.array(scores)


def test_warning(table: pd.DataFrame) -> None:
    """The GPT's first alarm of the norm, and of the loss, from the lowest mean of nine losses to the explosion."""
    firsts = []
    for name in ("loss", "gradient_norm"):
        kinds = [[zclip_scores(curve)[128:] for curve in trained(arm, name)] for arm in ("gpt_clean", "gpt_rising")]
        sound = np.hstack(kinds)
        firsts.append([])
        for seed, (loss, values) in enumerate(zip(trained("gpt_ramp", "loss"), trained("gpt_ramp", name), strict=True)):
            others = sorted(np.delete(sound, seed, axis=0).ravel(), reverse=True)
            learnt = int(np.argmax(loss < 0.8 * loss[0]))
            explodes = learnt + int(np.argmax(~(loss[learnt:] <= loss[0])))
            lowest = 4 + int(np.argmin([loss[step : step + 9].mean() for step in range(explodes - 8)]))
            alarms = lowest + np.flatnonzero(zclip_scores(values)[lowest:explodes] > others[len(others) // 1000])
            firsts[-1].append(min(alarms, default=np.inf))
    losses, norms = np.array(firsts)
    assert published("spike.warning", STUDY) == np.mean(norms < losses)
