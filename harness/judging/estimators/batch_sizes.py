"""How many steps a loss costs at a batch size, and how the best learning rate depends on it."""

import numpy as np

from folklore.harness.judging import fits
from folklore.harness.judging.estimators.common import at_the_edge, mean, present, seed_mean, tuned_index
from folklore.harness.judging.estimators.losses import evaluation_curves
from folklore.harness.judging.fits import Flags
from folklore.harness.judging.trial_arrays import Numbers, TrialTable, UndecidableError, in_words
from folklore.harness.spec import CriticalBatch, DoublingGain, HyperbolaError, StepsToTarget

AnyTarget = StepsToTarget | CriticalBatch | HyperbolaError | DoublingGain


def _target(observable: AnyTarget, table: TrialTable) -> float:
    """The validation loss in nats at which the anchor has made its share of the fall. Fixed over resamples."""
    anchor, over = observable.anchor, observable.over
    best = tuned_index(anchor, over, table)
    start = float(table.values(anchor, over, "initial_loss")[best].mean())
    end = float(evaluation_curves(anchor, over, table)[best, :, -1].mean())
    return start - observable.share * (start - end)


def _log_steps(observable: AnyTarget, arm: str, table: TrialTable) -> tuple[Numbers, Flags]:
    """ln of the steps to the target [G, S], and which runs did not get there: theirs is ln of their last step."""
    target, over = _target(observable, table), observable.over
    losses = evaluation_curves(arm, over, table)
    initial = table.values(arm, over, "initial_loss").astype(np.float64)
    steps = np.asarray(table.values(arm, over, "curve_evaluation_step")[0, 0], dtype=np.float64)
    before = np.concatenate([initial[..., None], losses[..., :-1]], axis=2)
    reached = losses <= target
    first = reached.argmax(axis=2)
    after = np.take_along_axis(losses, first[..., None], axis=2)[..., 0]
    prior = np.take_along_axis(before, first[..., None], axis=2)[..., 0]
    begin = np.concatenate([[0.0], steps[:-1]])[first]
    fall = np.where(prior > after, prior - after, 1.0)
    passed = begin + (steps[first] - begin) * np.clip((prior - target) / fall, 0.0, 1.0)
    censored = np.logical_not(reached.any(axis=2))
    return np.log(np.where(censored, steps[-1], np.maximum(passed, 1.0))), censored


def _tuned_log_steps(observable: AnyTarget, arm: str, table: TrialTable, weights: Numbers) -> tuple[Numbers, Flags]:
    """ln of each seed's steps at the LR that needs fewest on the other seeds, [R, S]: choosing and judging stay apart."""
    steps_GS, censored_GS = _log_steps(observable, arm, table)
    best = int(mean(steps_GS, weights[:1])[0].argmin())
    grid = table.grid(arm, observable.over)
    if best in (0, len(grid) - 1) and not censored_GS.all():  # where no run gets there, no LR is better than another
        raise UndecidableError(
            "inconclusive",
            f"the {in_words(observable.over)} at which {table.arm_name(arm)} reaches the target soonest, {grid[best]:.3g},"
            f" {at_the_edge(best)}",
        )
    total_RG = weights @ steps_GS.T
    others = total_RG[:, :, None] - weights[:, None, :] * steps_GS[None]
    choice_RS = others.argmin(axis=1)
    seed = np.arange(steps_GS.shape[1])
    return steps_GS[choice_RS, seed], censored_GS[choice_RS, seed]


def steps_to_target(observable: StepsToTarget, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(steps), [R]. Undecidable where a run does not get there: nothing is made up for it."""
    steps, censored = _tuned_log_steps(observable, observable.arm, table, weights)
    if censored[0].any():
        raise _out_of_reach(observable.arm, table, int(censored[0].sum()))
    return np.asarray(np.exp(seed_mean(np.where(censored, np.nan, steps), weights)))


def _out_of_reach(arm: str, table: TrialTable, count: int) -> UndecidableError:
    subject = f"{count} runs of {table.arm_name(arm)} do" if count > 1 else f"a run of {table.arm_name(arm)} does"
    return UndecidableError("inconclusive", f"{subject} not reach the target loss; longer training would settle it")


def runs(
    observable: CriticalBatch | HyperbolaError | DoublingGain, table: TrialTable, weights: Numbers
) -> tuple[Numbers, Numbers, Numbers, Flags]:
    """Batch sizes [M], ln S [R, M], weights [R, M] and what is censored [R, M], of all runs of the sweep."""
    points = present(observable.points, table)
    found = [_tuned_log_steps(observable, arm, table, weights) for _, arm in points]
    batch = np.repeat([float(size) for size, _ in points], weights.shape[1])
    steps, censored = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    return batch, steps, np.tile(weights, len(points)), censored


def critical_batch(observable: CriticalBatch, table: TrialTable, weights: Numbers) -> Numbers:
    """B_crit in examples, [R], of S = S_min (1 + B_crit / B) (McCandlish et al. 2018, equation 2.11) fitted to ln S by
    Tobit EM: a run that does not reach the target is censored at its last step (harness/judging/fits.py)."""
    return fits.fit_hyperbola(*runs(observable, table, weights)).critical_batch


def hyperbola_error(observable: HyperbolaError, table: TrialTable, weights: Numbers) -> Numbers:
    """Root mean square of the left-out residuals in ln S, [R]. Without the share that the seeds' noise has in it: a left-
    out residual of a true hyperbola has the variance of its mean over seeds, times n / (n - 2) for a fit of two parameters
    to n batch sizes (the mean of 1 / (1 - leverage))."""
    batch, steps, weight, censored = runs(observable, table, weights)
    square = fits.leave_one_batch_out_rms(batch, steps, weight, censored) ** 2
    sizes = len(np.unique(batch))
    split = (len(weights), sizes, weights.shape[1])
    by_size, copies = steps.reshape(split), weight.reshape(split)
    total = copies.sum(axis=2)
    centre = (copies * by_size).sum(axis=2, keepdims=True) / total[..., None]
    variance_of_mean = (copies * (by_size - centre) ** 2).sum(axis=2) / (total - 1) / total
    return np.asarray(np.sqrt(np.maximum(0.0, square - variance_of_mean.mean(axis=1) * sizes / (sizes - 2))))


def doubling_gain(observable: DoublingGain, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the mean over doublings of ln S(B) - ln S(2B), [R], without unit: 2 is perfect. Which batch sizes count is decided
    once, by the knee of all seeds. Out of regime where none lies far enough below it."""
    knee = float(fits.fit_hyperbola(*runs(observable, table, weights[:1])).critical_batch[0])
    arms = dict(present(observable.points, table))
    pairs = [(size, 2 * size) for size in arms if 2 * size in arms and size <= observable.below * knee]
    if not pairs:
        raise UndecidableError(
            "out of regime",
            f"the critical batch size is {knee:.3g}, and no batch size of at most {observable.below:g} times that was trained"
            " and doubled",
        )
    logs = {}
    for size in {size for pair in pairs for size in pair}:
        steps, censored = _tuned_log_steps(observable, arms[int(size)], table, weights)
        if censored[0].any():
            raise _out_of_reach(arms[int(size)], table, int(censored[0].sum()))
        logs[size] = seed_mean(steps, weights)
    return np.asarray(np.exp(np.mean([logs[small] - logs[large] for small, large in pairs], axis=0)))
