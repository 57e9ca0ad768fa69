"""The published trials as plain tables, and the numbers published of them."""

import json

import numpy as np
import pandas as pd

from folklore.harness.judging.verdict_memory import published_verdicts
from folklore.harness.planning.catalog import load_study, register
from folklore.harness.storing import evidence


def trials(name: str, seeds: int | None = None) -> pd.DataFrame:
    """Judged seeds at laptop scale; a diverged run counts with its loss at initialization. seeds: with the further ones of
    some arms."""
    study = load_study(name)
    found = pd.read_parquet(evidence.FOLDER / f"{name}-laptop-cpu.parquet")
    judged = study.seed_numbers_at("laptop")
    found = found[found["seed"].isin(judged if seeds is None else range(judged.start, judged.start + seeds))]
    lost = found["outcome"] == "diverged"
    losses = {
        loss: found[loss].where(~lost & (found[loss] < found["initial_loss"]), found["initial_loss"])
        for loss in ("test_loss", "validation_loss")
    }
    return found.assign(**losses, lr=[json.loads(point).get("peak_lr") for point in found["point"]])


def means(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    return table[table["arm"] == arm].groupby("lr")[["validation_loss", "test_loss"]].mean()


def best(table: pd.DataFrame, arm: str) -> float:
    return float(means(table, arm)["validation_loss"].idxmin())


def at(table: pd.DataFrame, arm: str, lr: float) -> float:
    (loss,) = (float(row.test_loss) for row in means(table, arm).itertuples() if np.isclose(row.Index, lr))
    return loss


def tuned(table: pd.DataFrame, arm: str) -> float:
    return at(table, arm, best(table, arm))


def start(table: pd.DataFrame, *arms: str) -> float:
    """The loss at initialization, the mean of the arms'."""
    return float(np.mean([table[table["arm"] == arm]["initial_loss"].mean() for arm in arms]))


def vertex(table: pd.DataFrame, arm: str, octaves: float = 1.0) -> float:
    """log2 of the best LR: NumPy's parabola through the means within so many octaves of the lowest."""
    loss = means(table, arm)["validation_loss"]
    x = np.log2(loss.index.to_numpy(dtype=np.float64))
    lowest = x[loss.to_numpy().argmin()]
    near = np.abs(x - lowest) <= octaves + 1e-6
    curvature, slope, _ = np.polyfit(x[near] - lowest, loss.to_numpy()[near], 2)
    return float(lowest - slope / (2 * curvature))


def reason(claim: str) -> str:
    """Why its verdict is withdrawn."""
    return next(each.reason for each in register().errata if each.claim == claim)


def published(claim: str, study: str, criterion: int = 0) -> float:
    (judged,) = published_verdicts(load_study(study)) or ()
    (verdict,) = (each for each in judged.verdicts if each.claim == claim)
    estimate = verdict.findings[criterion].estimate
    assert estimate is not None
    return estimate
