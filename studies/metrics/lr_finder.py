"""Metrics of LR range tests: their suggestions, and what these cost."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ...harness.declare.design import in_words
from ...harness.declare.metrics.estimating.range_test_rules import NoSuggestion, Pick, Suggestion, divergence, suggest
from ...harness.declare.metrics.estimating.weighted import initial_loss, mean, seed_mean, share_of_fall, tuned
from ...harness.declare.metrics.functions import metric, share_of_runs
from ...harness.declare.observed import RANGE_TEST, FactorName, ObservedArm, OfLosses, ShareOf
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

FinderRule = Literal[
    "divergence",
    "tenth_of_divergence",
    "passes_initial",
    "tenth_of_passing",
    "rises_halfway",
    "tenth_of_halfway",
    "tenth_of_minimum",
    "steepest_centred",
    "steepest_log",
    "steepest_linear",
    "valley",
    "slide",
]
# Rules that mean the same whatever constant is added to every loss.
WITHOUT_ZERO = ("passes_initial", "tenth_of_passing", "rises_halfway", "tenth_of_halfway", "steepest_centred")
# Curves of seeds whose runs diverge at an LR of 0.04 and of 0.16.
RAMPS = {"curve_lr": [[0.01, 0.02, 0.04, 0.16]] * 2, "curve_train_loss": [[4.0, 2.0, 9.0, 9.0], [4.0, 2.0, 2.0, 9.0]]}
RangeTestName = Annotated[str, RANGE_TEST, Field(description="the arm that is observed")]
RuleName = Annotated[
    FinderRule,
    Field(description="how the LR is read off the range test (harness/declare/metrics/estimating/range_test_rules.py)"),
]
Smoothing = Annotated[
    float | None,
    Field(ge=0, lt=1, description="weight of the past in the smoothed loss; none: 0.98, or what a table is read with"),
]
Delag = Annotated[
    bool | None,
    Field(description="true: the LR is read where the loss was what its smoothed mean shows later; none: at the smoothed loss"),
]


@dataclass(frozen=True)
class Reading:
    """A reading of range tests: of which arm, by which rule, and how; smoothing: none is the table's."""

    arm: str
    rule: str
    smoothing: float | None = None
    delag: bool = False

    def of(self, lr: Numbers, loss: Numbers, smoothing: float) -> Pick:
        """Off one range test; smoothing: where none is declared."""
        beta = smoothing if self.smoothing is None else self.smoothing
        if self.rule == "divergence":
            return divergence(lr, loss, beta=beta, delag=self.delag)
        return suggest(self.rule, lr, loss, beta, self.delag)


def reading_of(metric: Any) -> Reading:
    """The reading of a metric of range tests."""
    return Reading(getattr(metric, "range_test", metric.arm), metric.rule, metric.smoothing, bool(metric.delag))


def runs_with_pick(metric: Any, trials: Trials) -> int:
    return suggestions(reading_of(metric), trials)


def by_rule(metric: Any) -> OfLosses:
    return "no zero" if metric.rule in WITHOUT_ZERO else "shares"


@metric(
    unit="none (an LR)",
    of_losses=by_rule,
    log_axis=True,
    figure="range-tests",
    seeds_behind=runs_with_pick,
    example={"arm": "range_test", "rule": "divergence", "smoothing": 0.0},
    planted=({"range_test": RAMPS}, 0.08),
)
def finder_pick(
    trials: Trials,
    weights: Numbers,
    arm: RangeTestName,
    rule: RuleName,
    smoothing: Smoothing = None,
    delag: Delag = None,
) -> Numbers:
    """The LR that a rule reads off an arm's range test, run by run; the geometric mean over seeds.

    `arm` is trained at one point with schedule 'exponential' and a curve point for every step. The rules are those of
    harness/declare/metrics/estimating/range_test_rules.py.

    2^(weighted mean of log2 of each seed's pick), an LR, [R]; not estimable if most seeds have none."""
    return np.asarray(np.exp2(seed_mean(_log_picks(Reading(arm, rule, smoothing, bool(delag)), trials), weights)))


@metric(
    unit="relative",
    of_losses=lambda metric: (
        "shares" if metric.of != "fall" else "no zero" if metric.rule in WITHOUT_ZERO else "shares of ramps"
    ),
    figure="range-tests",
    seeds_behind=runs_with_pick,
    example={"arm": "full_runs", "range_test": "range_test", "rule": "divergence", "smoothing": 0.0},
    # Either run picks half-way between the best LR and another one, in octaves.
    planted=(
        {
            "full_runs": {0.02: {"test_loss": [3.0, 3.0]}, 0.08: {"test_loss": [2.0, 1.0]}, 0.32: {"test_loss": [4.0, 4.0]}},
            "range_test": RAMPS,
        },
        2.5 / 1.5 - 1,
    ),
)
def finder_regret(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    range_test: Annotated[str, RANGE_TEST, Field(description="the arm that runs the range test")],
    rule: RuleName,
    over: FactorName = "peak_lr",
    of: ShareOf = None,
    smoothing: Smoothing = None,
    delag: Delag = None,
) -> Numbers:
    """Mean test loss of `arm` at the LR each seed's own range test picks, less its loss at the tuned LR: as a share of that
    loss, or of the loss reduction to it.

    mean_s L_s(pick of s) / mean_s L_s(tuned LR) - 1, [R], without unit; L_s is interpolated linearly in log2 of the LR. Of the
    loss reduction: mean_s (L_s(pick of s) - L_s(tuned LR)) / mean_s (L_0s - L_s(tuned LR)). Seeds without a suggestion count on
    neither side."""
    own = tuned(arm, over, trials, weights)
    log_pick = _log_picks(Reading(range_test, rule, smoothing, bool(delag)), trials)
    grid = np.log2(trials.grid(arm, over))
    outside = (log_pick < grid[0]) | (log_pick > grid[-1])
    if outside.any():
        first = log_pick[outside][0]
        side, end = ("below the lowest", grid[0]) if first < grid[0] else ("above the highest", grid[-1])
        raise NotEstimableError(
            "open",
            f"the rule '{in_words(rule)}' picks an LR of {2**first:.2g}, {side} that"
            f" {trials.arm_name(arm)} was trained at, {2**end:.2g}: its loss there is not known",
        )
    losses = trials.losses(arm, over, "test_loss")
    there = np.array(
        [np.interp(x, grid, column) if np.isfinite(x) else np.nan for x, column in zip(log_pick, losses.T, strict=True)]
    )
    with_pick = weights * np.isfinite(there)
    counted = np.where(with_pick.sum(axis=1, keepdims=True) > 0, with_pick, weights)
    best = mean(losses, counted)[np.arange(len(weights)), own]
    if of == "fall":
        return share_of_fall(seed_mean(there, weights) - best, initial_loss({arm: over}, trials, counted), best)
    return seed_mean(there, weights) / best - 1


@share_of_runs(
    unit="share of the seeds, 0 to 1",
    of_losses=by_rule,
    counts_every_seed=True,
    figure="range-tests",
    example={"arm": "range_test", "rule": "divergence", "smoothing": 0.0},
    planted=({"range_test": {**RAMPS, "curve_train_loss": [[4.0, 2.0, 2.0, 9.0], [4.0, 2.0, 2.0, 8.0]]}}, 0.5),
)
def suggestion_rate(
    trials: Trials, arm: RangeTestName, rule: RuleName, smoothing: Smoothing = None, delag: Delag = None
) -> tuple[int, int]:
    """Share of the seeds whose range test lets a rule make a suggestion; exact binomial interval."""
    return suggestions(Reading(arm, rule, smoothing, bool(delag)), trials), trials.seeds


@lru_cache(maxsize=256)
def picks(reading: Reading, trials: Trials) -> tuple[Pick, ...]:
    """The picks of a rule from the range test of every seed."""
    factor = trials.only_factor(reading.arm)
    (lrs,), (losses,) = (trials.values(reading.arm, factor, name) for name in ("curve_lr", "curve_train_loss"))
    outcomes = []
    for lr, loss in zip(lrs, losses, strict=True):
        ramp, loss_curve = np.asarray(lr, dtype=np.float64), np.asarray(loss, dtype=np.float64)
        outcomes.append(reading.of(ramp, loss_curve, trials.smoothing))
    return tuple(outcomes)


def suggestions(reading: Reading, trials: Trials) -> int:
    """How many of an arm's range tests let a rule make a suggestion."""
    return sum(isinstance(pick, Suggestion) for pick in picks(reading, trials))


def _log_picks(reading: Reading, trials: Trials) -> Numbers:
    """log2 of every seed's pick, nan where there is none. Raises NotEstimableError where most seeds have none."""
    outcomes = picks(reading, trials)
    reasons = [pick.reason for pick in outcomes if isinstance(pick, NoSuggestion)]
    if 2 * len(reasons) > len(outcomes):
        raise NotEstimableError(
            "open",
            f"the rule '{in_words(reading.rule)}' makes no suggestion in {len(reasons)} of {len(outcomes)} range tests:"
            f" {reasons[0]}",
        )
    return np.array([np.log2(pick.lr) if isinstance(pick, Suggestion) else np.nan for pick in outcomes])
