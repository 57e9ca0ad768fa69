"""Errors of single operations, exact numbers, and what the hardware took."""

import numpy as np

from harness.estimators.common import seed_mean
from harness.exact import CHECKS
from harness.operations import relative_error
from harness.spec import Exact, MemoryRatio, OperationError, SpeedUp
from harness.trial_table import Numbers, TrialTable


def operation_error(observable: OperationError, table: TrialTable, weights: Numbers) -> Numbers:
    seeds = table.study.seed_numbers_at(table.scale)
    ratios = [
        relative_error(observable.operation, observable.format, seed, stepwise=True)
        / relative_error(observable.operation, observable.format, seed, stepwise=False)
        for seed in seeds
    ]
    return np.asarray(np.exp(seed_mean(np.log(ratios), weights)))


def exact(observable: Exact, table: TrialTable, weights: Numbers) -> Numbers:
    return np.full(len(weights), CHECKS[observable.check]())


def speed_up(observable: SpeedUp, table: TrialTable, weights: Numbers) -> Numbers:
    return 1.0 / _ratio(observable, "step_seconds", table, weights)


def memory_ratio(observable: MemoryRatio, table: TrialTable, weights: Numbers) -> Numbers:
    return _ratio(observable, "peak_memory_bytes", table, weights)


def _ratio(observable: SpeedUp | MemoryRatio, column: str, table: TrialTable, weights: Numbers) -> Numbers:
    (own,), (reference,) = (
        table.values(arm, table.only_factor(arm), column).astype(np.float64) for arm in (observable.arm, observable.reference)
    )
    return np.asarray(np.exp(seed_mean(np.log(own / reference), weights)))
