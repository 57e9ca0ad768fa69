"""Errors of single operations, exact numbers, and what the hardware took."""

import json

import numpy as np

from folklore.harness.judging.estimators.common import seed_mean
from folklore.harness.judging.trial_arrays import Numbers, TrialTable, UndecidableError, in_words
from folklore.harness.spec import Exact, MemoryRatio, OperationError, SpeedUp


def operation_error(observable: OperationError, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(error step by step in 16 bits / error of FP32 rounded once), [R], without unit."""
    from folklore.harness.judging.operations import relative_error  # computes with torch

    seeds = table.seed_numbers
    ratios = [
        relative_error(observable.operation, observable.format, seed, True, observable.sums)
        / relative_error(observable.operation, observable.format, seed, False, observable.sums)
        for seed in seeds
    ]
    return np.asarray(np.exp(seed_mean(np.log(ratios), weights)))


def exact(observable: Exact, table: TrialTable, weights: Numbers) -> Numbers:
    """The check's number under every weighting: it has no error."""
    from folklore.harness.judging.exact import CHECKS  # computes with torch, which takes seconds to import

    return np.full(len(weights), CHECKS[observable.check]())


def speed_up(observable: SpeedUp, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(reference's median step time / the arm's), [R]; invalid across machines."""
    return 1.0 / _ratio(observable, "step_seconds", table, weights)


def memory_ratio(observable: MemoryRatio, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(the arm's peak bytes / the reference's), [R]; invalid across machines."""
    return _ratio(observable, "peak_memory_bytes", table, weights)


def _ratio(observable: SpeedUp | MemoryRatio, column: str, table: TrialTable, weights: Numbers) -> Numbers:
    pair = (observable.arm, observable.reference)
    (own,), (reference,) = (table.values(arm, table.only_factor(arm), column).astype(np.float64) for arm in pair)
    if not (np.isfinite(own).all() and np.isfinite(reference).all()):
        names = " and ".join(map(table.arm_name, pair))
        raise UndecidableError("invalid", f"{in_words(column)} of {names} were not measured, which takes trials trained alone")
    found = (table.values(arm, table.only_factor(arm), "environment").ravel() for arm in pair)
    devices = {json.loads(environment)["device"] for environments in found for environment in environments}
    if len(devices) > 1:
        raise UndecidableError("invalid", f"the arms were trained on different devices ({', '.join(sorted(devices))})")
    return np.asarray(np.exp(seed_mean(np.log(own / reference), weights)))
