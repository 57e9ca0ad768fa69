"""A number of each claim of forgetting again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import published

STUDY = "forgetting"


def rows(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    return table[table["arm"] == arm].sort_values("seed")


def curves(table: pd.DataFrame, arm: str, name: str) -> np.ndarray:
    return np.array(rows(table, arm)[f"curve_evaluation_{name}"].tolist())


def over_all(table: pd.DataFrame, arm: str) -> float:
    return float(rows(table, arm)["test_accuracy"].mean())


def kept(table: pd.DataFrame, arm: str) -> float:
    """Accuracy on the old task where that on the new one comes to 90%, between two evaluations of the second task."""
    steps = curves(table, arm, "step")[0]
    found = []
    for old, new in zip(curves(table, arm, "old_accuracy"), curves(table, arm, "new_accuracy"), strict=True):
        old, new = old[steps > 300], new[steps > 300]
        place = int(np.argmax(new >= 0.9))
        found.append(np.interp(0.9, new[place - 1 : place + 1], old[place - 1 : place + 1]) if place else old[0])
    return float(np.mean(found))


def test_happens(table: pd.DataFrame) -> None:
    lost = (
        curves(table, "domain_joint", "old_accuracy")[:, -1].mean() - curves(table, "domain_none", "old_accuracy")[:, -1].mean()
    )
    assert published("forget.happens", STUDY, 1) == pytest.approx(lost, rel=1e-6)


def test_replay(table: pd.DataFrame) -> None:
    none = over_all(table, "class_none")
    share = (over_all(table, "class_replay_5") - none) / (over_all(table, "class_joint") - none)
    assert published("forget.replay", STUDY) == pytest.approx(share, rel=1e-6)


def test_ewc(table: pd.DataFrame) -> None:
    own = table[table["arm"] == "task_ewc"]
    strength = [json.loads(point)["consolidation"] for point in own["point"]]
    means = own.assign(validation_accuracy=own["validation_accuracy"].fillna(0)).groupby(strength)
    best = means["validation_accuracy"].mean().idxmax()
    none = over_all(table, "task_none")
    share = (means["test_accuracy"].mean()[best] - none) / (over_all(table, "task_joint") - none)
    assert published("forget.ewc", STUDY, 2) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(
    ("claim", "arm"), [("forget.small_lr", "small"), ("forget.lora", "adapters"), ("forget.layerwise_lr", "layers")]
)
def test_what_keeps_more_at_equal_accuracy_on_the_new_task(claim: str, arm: str, table: pd.DataFrame) -> None:
    more = kept(table, f"domain_tuned_{arm}") - kept(table, "domain_tuned_full")
    assert published(claim, STUDY, 1) == pytest.approx(more, rel=1e-5, abs=1e-9)
