"""A number of each claim of forgetting again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import curves, estimates, published, runs, trials

STUDY = "forgetting"


def rows(table: pd.DataFrame, arm: str, strength: float | None = None) -> pd.DataFrame:
    own = runs(table, arm)
    return own if strength is None else own[[strength in json.loads(point).values() for point in own["point"]]]


def late_curves(table: pd.DataFrame, kind: str, after: int) -> tuple[np.ndarray, np.ndarray]:
    """Curves of the old task and of the new one, from a step on."""
    late = curves(table, "evaluation_step")[0] > after
    old, new = (curves(table, f"evaluation_{name}_{kind}")[:, late] for name in ("old", "new"))
    return old, new


def at_level(level: float, new: np.ndarray, old: np.ndarray) -> float:
    """Means over runs, between the first evaluation at the level and the one before it."""
    places = [int(np.argmax(row >= level)) for row in new]
    levels = [
        np.interp(level, own[at - 1 : at + 1], other[at - 1 : at + 1]) if at else other[0]
        for own, other, at in zip(new, old, places, strict=True)
    ]
    return float(np.mean(levels))


def kept(table: pd.DataFrame, arm: str, strength: float | None = None, after: int = 300) -> float:
    """Accuracy on old tasks where that on the last one comes to 90%, while that is trained."""
    old, new = late_curves(rows(table, arm, strength), "accuracy", after)
    return at_level(0.9, new, old)


def old_loss(table: pd.DataFrame, arm: str, strength: float | None = None, new_loss: float | None = None) -> float:
    """Loss on the first text at the end, or where the loss on the second falls to a level while it is read."""
    old, new = late_curves(rows(table, arm, strength), "loss", 500)
    return float(old[:, -1].mean()) if new_loss is None else at_level(-new_loss, -new, old)


def reduction(table: pd.DataFrame) -> float:
    """The loss reduction on the source without a remedy."""
    return float((rows(table, "text_none")["initial_loss"] - rows(table, "text_none")["test_loss"]).mean())


def test_happens(table: pd.DataFrame) -> None:
    joint, none = (
        curves(runs(table, f"mnist_domain_{arm}"), "evaluation_old_accuracy")[:, -1].mean() for arm in ("joint", "none")
    )
    assert published("forget.happens", STUDY, 3) == pytest.approx(joint - none, rel=1e-6)


def test_happens_on_text() -> None:
    table = trials(STUDY, 12)
    lost = old_loss(table, "text_none") - old_loss(table, "text_joint")
    assert published("forget.happens", STUDY, 0) == pytest.approx(lost / reduction(table), rel=1e-5)


@pytest.mark.parametrize(("place", "panel", "share"), [(1, "text", 0.05), (5, "back", 0.15)])
def test_replay(place: int, panel: str, share: float) -> None:
    table = trials(STUDY, 12)
    none = old_loss(table, f"{panel}_none")
    ratio = (none - old_loss(table, f"{panel}_replay", share)) / (none - old_loss(table, f"{panel}_joint"))
    assert published("forget.replay", STUDY, place) == pytest.approx(ratio, rel=1e-5)


def test_ewc(table: pd.DataFrame) -> None:
    """The best of the strengths with which nine in ten runs come to 90% on the last of five tasks."""
    own = rows(table, "five_task_ewc")
    strengths = own.assign(strength=[json.loads(point)["consolidation"] for point in own["point"]]).groupby("strength")
    good = {
        strength: group["validation_accuracy"].mean()
        for strength, group in strengths
        if (late_curves(group, "accuracy", 600)[1] >= 0.9).any(axis=1).mean() >= 0.9
    }
    best, none = max(good, key=lambda strength: good[strength]), kept(table, "five_task_none", None, 600)
    joint = late_curves(rows(table, "five_task_joint"), "accuracy", 600)[0][:, -1].mean()
    share = (kept(table, "five_task_ewc", best, 600) - none) / (joint - none)
    assert published("forget.ewc", STUDY, 4) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(
    ("claim", "remedy", "strength", "seeds"),
    [
        ("forget.small_lr", "small", 0.1, 8),
        ("forget.lora", "adapters", 4, 16),
        ("forget.layerwise_lr", "layers", 0.3, 16),
    ],
)
def test_what_keeps_more_at_equal_accuracy_on_the_new_task(claim: str, remedy: str, strength: float, seeds: int) -> None:
    table = trials(STUDY, seeds)
    more = kept(table, f"mnist_task_{remedy}", strength) - kept(table, "mnist_task_none")
    assert published(claim, STUDY, 2) == pytest.approx(more, rel=1e-5, abs=1e-9)


def test_what_keeps_more_of_a_text_at_equal_loss_on_the_new_one(table: pd.DataFrame) -> None:
    more = old_loss(table, "text_none", None, 2.4) - old_loss(table, "text_small", 0.1, 2.4)
    assert published("forget.small_lr", STUDY, 6) == pytest.approx(more / reduction(table), rel=1e-5)


def test_adapters_on_text_have_a_number_if_nine_in_ten_runs_come_to_that_loss(table: pd.DataFrame) -> None:
    _, new = late_curves(rows(table, "text_adapters", 4), "loss", 500)
    assert (estimates(STUDY)["forget.lora"][6] is None) == (np.mean(new.min(axis=1) <= 2.4) < 0.9)
