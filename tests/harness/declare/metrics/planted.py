"""Tables whose content is known: worlds of the calibration, as arrays and as stored trials, and studies of made-up arms."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from folklore.harness.declare import Arm, Study, canonical_json
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.randomness import numpy_generator
from folklore.harness.train.result import LaneResult
from tests.calibration.conditions import PLAIN
from tests.calibration.planted_table import SCALE, Column, PlantedTable
from tests.calibration.trial_cases import Case
from tests.harness.helpers import changed, frame, result

Change = Callable[[str, Column], Column]  # column's name, values [G, S]


def world(case: Case, seeds: int, change: Change = lambda name, values: values) -> PlantedTable:
    """One world with the largest effect."""
    study = case.declared(seeds, PLAIN)
    columns = case.draw(study, case.effects[2], PLAIN, numpy_generator(0, f"contract {case.name}", 0))
    return PlantedTable(
        study, {name: {arm: change(name, losses) for arm, losses in arms.items()} for name, arms in columns.items()}
    )


def stored(planted: PlantedTable) -> pd.DataFrame:
    """The same table as rows of stored trials."""
    study, rows = planted.study, []
    for arm in study.arms_at(SCALE):
        for place, value in enumerate(study.factors_at(SCALE, arm)["peak_lr"]):
            for index, seed in enumerate(planted.seed_numbers):
                columns = {column: by_arm[arm][place, index] for column, by_arm in planted._planted.items() if arm in by_arm}
                rows.append({"arm": arm, "point": canonical_json({"peak_lr": value}), "seed": seed, **columns})
    return pd.DataFrame(rows)


def on_losses(change: Callable[[Any], Any]) -> Change:
    """A change of every loss: final ones, and those in curves."""

    def changed(name: str, values: Column) -> Column:
        if not name.endswith("_loss"):
            return values
        if values.dtype != object:
            return np.asarray(change(values))
        moved = np.empty_like(values)
        for index in np.ndindex(values.shape):
            moved[index] = change(np.asarray(values[index]))
        return moved

    return changed


def with_arms(study: Study, settings: Mapping[str, Mapping[str, Any]], lr: float | None = None, **fields: Any) -> Study:
    """The study without judgements, and with these arms beside its own, trained at one LR if one is given."""
    factors: Any = {} if lr is None else {"factors": {"peak_lr": (lr,)}}
    arms = {name: Arm(label=name, settings=arm_settings, **factors) for name, arm_settings in settings.items()}
    return changed(study, judgements=(), arms={**study.arms, **arms}, **fields)


def table_of_steps(study: Study, arms: Mapping[str, Mapping[str, Any]], curves: Callable[[Trial], Any]) -> TrialArrays:
    """Runs of these arms at one LR. curves: losses and gradient norms of a run, of every step."""

    def outcome(trial: Trial) -> LaneResult:
        if trial.arm not in arms:
            return result(2.0)
        losses, norms = (np.asarray(curve).tolist() for curve in curves(trial))
        return result(1.0, train_loss=losses, train_gradient_norm=norms)

    return table_of(with_arms(study, arms, 0.01), outcome)


def table_of(study: Study, outcome: Callable[[Trial], LaneResult]) -> TrialArrays:
    return TrialArrays(study, SCALE, frame(study, outcome))
