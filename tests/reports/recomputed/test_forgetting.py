"""A number of each claim of forgetting again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import published, trials

STUDY = "forgetting"


def rows(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    return table[table["arm"] == arm].sort_values("seed")


def curves(table: pd.DataFrame, arm: str, name: str) -> np.ndarray:
    return np.array(rows(table, arm)[f"curve_evaluation_{name}"].tolist())


def over_all(table: pd.DataFrame, arm: str) -> float:
    return float(rows(table, arm)["test_accuracy"].mean())


def kept(table: pd.DataFrame, arm: str, seeds: int) -> float:
    """Accuracy on the old task where that on the new one comes to 90%, between two evaluations of the second task."""
    table = table[table["seed"] < table["seed"].min() + seeds]
    steps = curves(table, arm, "step")[0]
    found = []
    for old, new in zip(curves(table, arm, "old_accuracy"), curves(table, arm, "new_accuracy"), strict=True):
        old, new = old[steps > 300], new[steps > 300]
        place = int(np.argmax(new >= 0.9))
        found.append(np.interp(0.9, new[place - 1 : place + 1], old[place - 1 : place + 1]) if place else old[0])
    return float(np.mean(found))


def old_loss(table: pd.DataFrame, arm: str, new_loss: float | None = None) -> float:
    """On the documentation at the end, or where the loss on the source falls to a level while it is read."""
    late = curves(table, arm, "step")[0] > 500
    old, new = (curves(table, arm, f"{name}_loss")[:, late] for name in ("old", "new"))
    if new_loss is None:
        return float(old[:, -1].mean())
    places = [int(np.argmax(row <= new_loss)) for row in new]
    found = [
        np.interp(-new_loss, -new[seed, at - 1 : at + 1], old[seed, at - 1 : at + 1]) if at else old[seed, 0]
        for seed, at in enumerate(places)
    ]
    return float(np.mean(found))


def reduction(table: pd.DataFrame, *arms: str) -> float:
    start = np.mean([rows(table, arm)["initial_loss"].mean() for arm in arms])
    return float(start - min(rows(table, arm)["test_loss"].mean() for arm in arms))


def test_happens(table: pd.DataFrame) -> None:
    joint, none = (curves(table, f"mnist_domain_{arm}", "old_accuracy")[:, -1].mean() for arm in ("joint", "none"))
    assert published("forget.happens", STUDY, 4) == pytest.approx(joint - none, rel=1e-6)


def test_happens_on_text(table: pd.DataFrame) -> None:
    arms = ("text_full", "text_joint")
    lost = old_loss(table, arms[0]) - old_loss(table, arms[1])
    assert published("forget.happens", STUDY, 6) == pytest.approx(lost / reduction(table, *arms), rel=1e-5)


def test_replay(table: pd.DataFrame) -> None:
    none = over_all(table, "mnist_class_none")
    share = (over_all(table, "mnist_class_replay_5") - none) / (over_all(table, "mnist_class_joint") - none)
    assert published("forget.replay", STUDY, 6) == pytest.approx(share, rel=1e-6)


def test_replay_of_text(table: pd.DataFrame) -> None:
    none = old_loss(table, "text_full")
    share = (none - old_loss(table, "text_replay_5")) / (none - old_loss(table, "text_joint"))
    assert published("forget.replay", STUDY, 12) == pytest.approx(share, rel=1e-5)


def test_ewc(table: pd.DataFrame) -> None:
    own = table[table["arm"] == "mnist_task_ewc"]
    strength = [json.loads(point)["consolidation"] for point in own["point"]]
    means = own.assign(validation_accuracy=own["validation_accuracy"].fillna(0)).groupby(strength)
    best = means["validation_accuracy"].mean().idxmax()
    none = over_all(table, "mnist_task_none")
    share = (means["test_accuracy"].mean()[best] - none) / (over_all(table, "mnist_task_joint") - none)
    assert published("forget.ewc", STUDY, 5) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(
    ("claim", "arm", "seeds"),
    [("forget.small_lr", "small", 10), ("forget.lora", "adapters", 32), ("forget.layerwise_lr", "layers", 10)],
)
def test_what_keeps_more_at_equal_accuracy_on_the_new_task(claim: str, arm: str, seeds: int) -> None:
    table = trials(STUDY, seeds)
    more = kept(table, f"mnist_task_tuned_{arm}", seeds) - kept(table, "mnist_task_tuned_full", seeds)
    assert published(claim, STUDY, 5) == pytest.approx(more, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("claim", "arm"), [("forget.small_lr", "text_small"), ("forget.lora", "text_adapters")])
def test_what_keeps_more_of_a_text_at_equal_loss_on_the_new_one(claim: str, arm: str, table: pd.DataFrame) -> None:
    more = old_loss(table, "text_full", 2.4) - old_loss(table, arm, 2.4)
    assert published(claim, STUDY, 6) == pytest.approx(more / reduction(table, "text_full", arm), rel=1e-5)
