"""The published trials as plain tables, and the numbers published of them."""

import json
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import pandas as pd

from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.store import evidence


@lru_cache(maxsize=1)
def whole(name: str, scale: str = "laptop") -> pd.DataFrame:
    """All published trials, those of further seeds of some arms and of searches too."""
    return pd.read_parquet(evidence.FOLDER / f"{name}-{scale}-cpu.parquet")


@lru_cache(maxsize=2)
def trials(name: str, seeds: int | None = None, scale: str = "laptop") -> pd.DataFrame:
    """Judged seeds; a diverged run counts with its loss at initialization. seeds: with the further ones of some arms."""
    judged, table = load_study(name).seed_numbers_at(scale), whole(name, scale)
    table = table[table["seed"].isin(judged if seeds is None else range(judged.start, judged.start + seeds))]
    lost = table["outcome"] == "diverged"
    losses = {
        loss: table[loss].where(~lost & (table[loss] < table["initial_loss"]), table["initial_loss"])
        for loss in ("test_loss", "validation_loss")
    }
    return table.assign(**losses, lr=[json.loads(point).get("peak_lr") for point in table["point"]])


def runs(table: pd.DataFrame, arm: str, lr: float | None = None) -> pd.DataFrame:
    """Runs of an arm, at all its LRs or at one, by seed."""
    own = table[table["arm"] == arm]
    return (own if lr is None else own[np.isclose(own["lr"].astype(float), lr)]).sort_values("seed")


def curves(table: pd.DataFrame, name: str) -> np.ndarray:
    """A curve of runs that have equally many points of it, [run, point]."""
    return np.stack([np.asarray(curve, dtype=float) for curve in table[f"curve_{name}"]])


def means(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    return table[table["arm"] == arm].groupby("lr")[["validation_loss", "test_loss"]].mean()


def best(table: pd.DataFrame, arm: str) -> float:
    return float(means(table, arm)["validation_loss"].idxmin())


def at(table: pd.DataFrame, arm: str, lr: float) -> float:
    (loss,) = (float(row.test_loss) for row in means(table, arm).itertuples() if np.isclose(row.Index, lr))
    return loss


def tuned(table: pd.DataFrame, arm: str) -> float:
    return at(table, arm, best(table, arm))


def final(table: pd.DataFrame, arm: str) -> float:
    """Mean test loss of an arm that is trained at one LR."""
    return float(table[table["arm"] == arm]["test_loss"].mean())


def start(table: pd.DataFrame, *arms: str) -> float:
    """The loss at initialization: of each seed's runs that do not diverge, or of all if all do; then over seeds, then arms."""
    losses = []
    for arm in arms:
        own = table[table["arm"] == arm]
        every, ended = (part.groupby("seed")["initial_loss"].mean() for part in (own, own[own["outcome"] == "finished"]))
        losses.append(ended.reindex(every.index).fillna(every).mean())
    return float(np.mean(losses))


def fall(table: pd.DataFrame, *arms: str, of: Callable[[pd.DataFrame, str], float] = tuned) -> float:
    """The fall from the loss at initialization to the lowest of the arms'."""
    return start(table, *arms) - min(of(table, arm) for arm in arms)


def gap(table: pd.DataFrame, left: str, right: str, of: Callable[[pd.DataFrame, str], float] = tuned) -> float:
    """How much higher the left arm ends than the right one, as a share of the fall."""
    return (of(table, left) - of(table, right)) / fall(table, left, right, of=of)


def vertex(table: pd.DataFrame, arm: str, octaves: float = 1.0) -> float:
    """log2 of the best LR: NumPy's parabola through the means within so many octaves of the lowest."""
    loss = means(table, arm)["validation_loss"]
    x = np.log2(loss.index.to_numpy(dtype=np.float64))
    lowest = x[loss.to_numpy().argmin()]
    near = np.abs(x - lowest) <= octaves + 1e-6
    curvature, slope, _ = np.polyfit(x[near] - lowest, loss.to_numpy()[near], 2)
    return float(lowest - slope / (2 * curvature))


def largest(table: pd.DataFrame, arm: str, arms: tuple[str, ...], within: float) -> float:
    """log2 of the largest LR below a bar that lies above the best of the arms by a share of the fall."""
    lowest = min(means(table, name)["test_loss"].min() for name in arms)
    bar = lowest + within * (start(table, *arms) - lowest)
    loss = means(table, arm)["test_loss"]
    x, y = np.log2(loss.index.to_numpy()), loss.to_numpy()
    last = int(np.flatnonzero(y <= bar)[-1])
    return float(x[last] + (bar - y[last]) / (y[last + 1] - y[last]) * (x[last + 1] - x[last]))


def diverged_at(table: pd.DataFrame, arm: str, lr: float | None = None) -> pd.DataFrame:
    """The runs that diverge at an LR, or at the lowest at which most do."""
    own = table[table["arm"] == arm]
    rate = (own["outcome"] == "diverged").groupby(own["lr"]).mean()
    own = runs(table, arm, float(rate.index[rate > 0.5].min()) if lr is None else lr)
    return own[own["outcome"] == "diverged"]


def cured(table: pd.DataFrame, arm: str, by: str) -> pd.Series:
    """Whether another arm survives each run that an arm loses at its edge."""
    lost = diverged_at(table, arm)
    remedy = runs(table, by, float(lost["lr"].iloc[0])).set_index("seed")
    return remedy.loc[lost["seed"], "outcome"] != "diverged"


def first_at(level: float, x: np.ndarray, y: np.ndarray) -> float:
    """The x at which y first comes down to a level, by straight lines."""
    place = int(np.argmax(y <= level))
    return float(np.interp(-level, -y[place - 1 : place + 1], x[place - 1 : place + 1]))


@cache
def estimates(study: str, scale: str = "laptop") -> dict[str, list[float | None]]:
    """Claim -> the published number of each criterion."""
    (judged,) = (of for of in published_verdicts(load_study(study)) or () if of.scale == scale)
    return {verdict.claim: [finding.estimate for finding in verdict.findings] for verdict in judged.verdicts}


def published(claim: str, study: str, criterion: int = 0, scale: str = "laptop") -> float:
    estimate = estimates(study, scale)[claim][criterion]
    assert estimate is not None
    return estimate
