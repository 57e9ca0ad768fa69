"""What LR range tests pick, and what the picks cost."""

from functools import lru_cache

import numpy as np

from folklore.harness.judging.estimators.common import mean, seed_mean, tuned
from folklore.harness.judging.range_test_rules import NoSuggestion, Pick, Suggestion, divergence, suggest
from folklore.harness.judging.trial_arrays import Numbers, TrialTable, UndecidableError, in_words
from folklore.harness.spec import FinderPick, FinderRegret


@lru_cache(maxsize=256)
def picks(arm: str, rule: str, table: TrialTable) -> tuple[Pick, ...]:
    """What a rule picks from the range test of every seed."""
    factor = table.only_factor(arm)
    (lrs,), (losses,) = table.values(arm, factor, "curve_lr"), table.values(arm, factor, "curve_train_loss")
    found = []
    for lr, loss in zip(lrs, losses, strict=True):
        ramp, seen = np.asarray(lr, dtype=np.float64), np.asarray(loss, dtype=np.float64)
        found.append(_pick(rule, ramp, seen, table.smoothing))
    return tuple(found)


def _pick(rule: str, lr: Numbers, loss: Numbers, smoothing: float) -> Pick:
    return divergence(lr, loss, beta=smoothing) if rule == "divergence" else suggest(rule, lr, loss, smoothing)


def _log_picks(arm: str, rule: str, table: TrialTable) -> Numbers:
    """log2 of every seed's pick, nan where there is none. Raises UndecidableError where most seeds have none."""
    found = picks(arm, rule, table)
    reasons = [pick.reason for pick in found if isinstance(pick, NoSuggestion)]
    if 2 * len(reasons) > len(found):
        raise UndecidableError(
            "inconclusive",
            f"the rule '{in_words(rule)}' makes no suggestion in {len(reasons)} of {len(found)} range tests: {reasons[0]}",
        )
    return np.array([np.log2(pick.lr) if isinstance(pick, Suggestion) else np.nan for pick in found])


def finder_pick(observable: FinderPick, table: TrialTable, weights: Numbers) -> Numbers:
    """2^(weighted mean of log2 of each seed's pick), an LR, [R]; undecidable where most seeds have none."""
    return np.asarray(np.exp2(seed_mean(_log_picks(observable.arm, observable.rule, table), weights)))


def finder_regret(observable: FinderRegret, table: TrialTable, weights: Numbers) -> Numbers:
    """mean_s L_s(pick of s) / mean_s L_s(tuned LR) - 1, [R], without unit; L_s is interpolated linearly in log2 of the LR.
    Seeds without a suggestion count on neither side."""
    own = tuned(observable.arm, observable.over, table, weights)
    log_pick = _log_picks(observable.range_test, observable.rule, table)
    grid = np.log2(table.grid(observable.arm, observable.over))
    outside = (log_pick < grid[0]) | (log_pick > grid[-1])
    if outside.any():
        first = log_pick[outside][0]
        side, end = ("below the lowest", grid[0]) if first < grid[0] else ("above the highest", grid[-1])
        raise UndecidableError(
            "inconclusive",
            f"the rule '{in_words(observable.rule)}' picks an LR of {2**first:.2g}, {side} that"
            f" {table.arm_name(observable.arm)} was trained at, {2**end:.2g}: its loss there is not known",
        )
    losses = table.losses(observable.arm, observable.over, "test_loss")
    there = np.array(
        [np.interp(x, grid, column) if np.isfinite(x) else np.nan for x, column in zip(log_pick, losses.T, strict=True)]
    )
    with_pick = weights * np.isfinite(there)
    best = mean(losses, np.where(with_pick.sum(axis=1, keepdims=True) > 0, with_pick, weights))[np.arange(len(weights)), own]
    return seed_mean(there, weights) / best - 1
