"""A number of each claim of spikes again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from folklore.harness.storing import evidence
from tests.reports.recomputed.tables import published

STUDY, FAULTY = "spikes", 150


def rows(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    return table[table["arm"] == arm].sort_values("seed")


def ends(table: pd.DataFrame, arm: str) -> float:
    return float(rows(table, arm)["test_loss"].mean())


def all_seeds(arm: str) -> pd.DataFrame:
    """Also those that an arm has beyond those of the study."""
    return rows(pd.read_parquet(evidence.FOLDER / "spikes-laptop-cpu.parquet"), arm)


def curves(arm: str, name: str) -> np.ndarray:
    return np.array(all_seeds(arm)[f"curve_train_{name}"].tolist(), dtype=float)


def damage(table: pd.DataFrame, arm: str, clean: str) -> float:
    initial = np.mean([rows(table, each)["initial_loss"].mean() for each in (arm, clean)])
    return (ends(table, arm) - ends(table, clean)) / (initial - min(ends(table, arm), ends(table, clean)))


def test_clip(table: pd.DataFrame) -> None:
    left = damage(table, "gpt_labels_clip", "gpt_clean_clip") / damage(table, "gpt_labels", "gpt_clean")
    assert published("spike.clip", STUDY, 1) == pytest.approx(left, rel=1e-6)


def test_playbook(table: pd.DataFrame) -> None:
    whole, after = (damage(table, f"gpt_weights{remedy}", "gpt_clean") for remedy in ("", "_back"))
    assert published("spike.playbook", STUDY, 3) == pytest.approx((whole - after) / whole, rel=1e-6)


def test_detector(table: pd.DataFrame) -> None:
    """Of noise on the weights of the GPT: a loss above twice the mean of nine before, from the fault to ten steps later."""
    found = [
        any(loss[step] > 2 * loss[step - 9 : step].mean() for step in range(FAULTY, FAULTY + 11))
        for loss in curves("gpt_weights", "loss")
    ]
    assert published("spike.detector", STUDY, 1) == np.mean(found)


def ratio_scores(arm: str) -> np.ndarray:
    loss = curves(arm, "loss")
    return np.stack([loss[:, step] / loss[:, step - 9 : step].mean(axis=1) for step in range(128, 300)], axis=1)


def olmo_scores(arm: str) -> np.ndarray:
    """Of loss or gradient norm: standard deviations above the mean of 128 steps."""
    found = []
    for name in ("loss", "gradient_norm"):
        values = curves(arm, name)
        before = [values[:, step - 128 : step] for step in range(128, 300)]
        z = [(values[:, 128 + at] - each.mean(axis=1)) / each.std(axis=1, ddof=1) for at, each in enumerate(before)]
        found.append(np.stack(z, axis=1))
    return np.asarray(np.maximum(*found))


def test_deviations(table: pd.DataFrame) -> None:
    """Noise on the weights of the GPT: of the runs that OLMo's rule or the loss over the mean of nine finds, and not both. Of a
    run's limit one sound step in 1,000 of the other seeds is above it."""
    found = {}
    for scores in (olmo_scores, ratio_scores):
        sound, hit = scores("gpt_clean"), scores("gpt_weights")
        limits = []
        for seed in range(len(sound)):
            others = sorted(np.delete(sound, seed, axis=0).ravel(), reverse=True)
            limits.append(others[len(others) // 1000])
        found[scores] = hit[:, FAULTY - 128 : FAULTY - 128 + 11].max(axis=1) > limits
    olmo, ratio = found[olmo_scores], found[ratio_scores]
    assert len(olmo) == 40
    assert published("spike.deviations", STUDY) == pytest.approx((olmo & ~ratio).sum() / (olmo ^ ratio).sum())


def test_once(table: pd.DataFrame) -> None:
    assert published("spike.once", STUDY) == pytest.approx(damage(table, "gpt_labels", "gpt_labels_halve"), rel=1e-6)


def test_cut_wastes(table: pd.DataFrame) -> None:
    """Steps at which validation losses, linear between evaluations, first come to the target."""
    halved = rows(table, "adamw_early_halve")
    initial = halved["initial_loss"].mean()
    last = np.mean([losses[-1] for losses in halved["curve_evaluation_loss"]])
    target = initial - 0.95 * (initial - last)
    logs = []
    for arm in ("adamw_early_halve", "adamw_early"):
        steps = [
            first_below(target, np.asarray(row.curve_evaluation_step), np.asarray(row.curve_evaluation_loss), row.initial_loss)
            for row in rows(table, arm).itertuples()
        ]
        logs.append(np.log(steps).mean())
    assert published("spike.cut_wastes", STUDY, 2) == pytest.approx(np.exp(logs[0] - logs[1]), rel=1e-6)


def first_below(target: float, steps: np.ndarray, loss: np.ndarray, initial: float) -> float:
    steps, loss = np.concatenate([[0.0], steps]), np.concatenate([[initial], loss])
    place = int(np.argmax(loss <= target))
    part = (loss[place - 1] - target) / (loss[place - 1] - loss[place])
    return float(steps[place - 1] + part * (steps[place] - steps[place - 1]))


def test_batch_or_state(table: pd.DataFrame) -> None:
    """A spike: six times 1.4826 median deviations above the median of 50 losses before."""
    found = []
    for loss in curves("sgd_labels", "loss"):
        before = [loss[step - 50 : step] for step in range(FAULTY + 5, FAULTY + 15)]
        limits = [np.median(each) + 6 * 1.4826 * np.median(np.abs(each - np.median(each))) for each in before]
        found.append(any(loss[FAULTY + 5 + place] > limit for place, limit in enumerate(limits)))
    assert published("spike.batch_or_state", STUDY) == np.mean(found)


def spikes_of(loss: np.ndarray) -> list[int]:
    """First steps of spikes, after ten without one."""
    over = []
    for step in range(50, len(loss)):
        before = loss[step - 50 : step]
        limit = np.median(before) + 6 * 1.4826 * np.median(np.abs(before - np.median(before)))
        over.append(step) if loss[step] > limit else None
    return [step for step in over if not any(step - 10 <= other < step for other in over)]


def test_spikes_that_come_by_themselves_come_again_by_chance() -> None:
    """With the same batches from another state: 300 steps from the middle of the run on, of which 50 have no window."""
    runs = [[step - 300 for step in spikes_of(loss) if step >= 350] for loss in curves("natural_run", "loss")]
    again = [spikes_of(loss) for loss in curves("natural_other_state", "loss")]
    met = np.array([[sum(any(abs(a - b) <= 5 for b in other) for a in own) for other in again] for own in runs])
    chance = (met.sum() - met.trace()) / (len(met) - 1)
    assert len(met) == 40
    share = (met.trace() - chance) / sum(map(len, runs))
    assert published("spike.batch_or_state", STUDY, 2) == pytest.approx(share, abs=1e-9)


def test_warning(table: pd.DataFrame) -> None:
    warned = []
    for row in all_seeds("gpt_ramp").itertuples():
        loss, norm = np.asarray(row.curve_train_loss, dtype=float), np.asarray(row.curve_train_gradient_norm, dtype=float)
        learnt = int(np.argmax(loss < 0.8 * loss[0]))
        explodes = learnt + int(np.argmax(~(loss[learnt:] <= loss[0])))
        alarms = [step for step in range(50, len(norm)) if not norm[step] <= 3 * np.median(norm[step - 50 : step])]
        warned.append(any(explodes - 50 <= step < explodes for step in alarms))
    assert published("spike.warning", STUDY) == np.mean(warned)
