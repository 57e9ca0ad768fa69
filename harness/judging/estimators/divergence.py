"""When runs diverge, and what keeps them from it."""

import numpy as np

from folklore.harness.judging.estimators import range_tests
from folklore.harness.judging.estimators.common import position, tuned_index
from folklore.harness.judging.range_test_rules import Suggestion
from folklore.harness.judging.trial_arrays import Numbers, TrialTable, UndecidableError, in_words
from folklore.harness.spec import CureRate, DivergenceTime, FailureRate, SuggestionRate


def divergence_edge(arm: str, over: str, table: TrialTable) -> int:
    """Index of the lowest value at which more than half of the seeds diverge."""
    most = np.flatnonzero(table.diverged(arm, over).mean(axis=1) > 0.5)
    if not len(most):
        raise UndecidableError(
            "out of regime", f"{table.arm_name(arm)} diverges in most seeds at no {in_words(over)} that was tried"
        )
    return int(most[0])


def divergence_time(observable: DivergenceTime, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(step of divergence / last step of warmup) over the seeds that diverge at the edge, [R]."""
    arm, over = observable.arm, observable.over
    edge = divergence_edge(arm, over, table)
    step = table.values(arm, over, "divergence_step")[edge].astype(np.float64)
    warmup = table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[edge])}).training.warmup_steps
    happened = table.diverged(arm, over)[edge]
    logs = np.where(happened, np.log(np.where(happened, step, 1.0) / max(1, warmup)), 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(weights @ logs / (weights @ happened.astype(np.float64))))


def counts(observable: FailureRate | CureRate | SuggestionRate, table: TrialTable) -> tuple[int, int]:
    """Successes and runs: of seeds that diverge, of diverged ones that a remedy saves, or of range tests with a suggestion."""
    if isinstance(observable, SuggestionRate):
        picks = range_tests.picks(observable.arm, observable.rule, table)
        return sum(isinstance(pick, Suggestion) for pick in picks), len(picks)
    over, grid = observable.over, table.grid(observable.arm, observable.over)
    if isinstance(observable, FailureRate):
        best = tuned_index(observable.tuned_for, over, table)
        value = table.grid(observable.tuned_for, over)[best]
        failed = table.diverged(observable.arm, over)[position(table, observable.arm, over, value)]
        return int(failed.sum()), len(failed)
    edge = divergence_edge(observable.arm, over, table)
    arm = observable.by_arm or observable.arm
    value = grid[edge] * 2.0**-observable.octaves_down
    happened = table.diverged(observable.arm, over)[edge]
    remedied = ~table.diverged(arm, over)[position(table, arm, over, value)]
    return int((happened & remedied).sum()), int(happened.sum())
