"""The LRs that range tests suggest, by published rules, each with the reasons for which it says nothing.

A range test trains while the LR rises exponentially. It yields two curves, [N] each: `lr`, positive and rising, and `loss`,
the raw training loss of each step in nats, nan or inf where training broke down. loss[i] belongs to the batch of step i
before that step's update with lr[i], as fastai and Lightning record it: loss[0] is that of the untrained network, and what
an LR does shows one step later at the earliest. lr and loss of unequal lengths, or an LR that does not rise, are a mistake
of the caller (AssertionError).

All rules read the smoothed loss, which lags behind the loss: by 49 steps in the mean at 0.98, which is 1.3 decades of a ramp
that climbs eight in 300 steps, and 0.4 in 1000. With `delag` an LR is read off where the loss itself was: `delagged` says how
for the rules that look at the shape of the curve, and `_where_it_passed` for those that wait until it passes a bar. The former
read the part that fastai's lr_find hands to its suggestion functions (`cut`), so that they differ in nothing else; Lightning
drops the first 10 points and the last one instead.

Two rules do not smooth as the tools do. `rises_halfway` asks when the loss has climbed half-way from its lowest value back to
its first one, which needs no zero and is far above what single batches do. `steepest_centred` takes slopes over windows that
reach as far back as ahead, and so have no lag to take off.

Sources: fastai 2, callback/schedule.py (lr_find, minimum, steep, valley, slide) and learner.py (AvgSmoothLoss); Lightning
2.5.3, tuner/lr_finder.py (_LRFinder.suggestion); for a tenth of the divergence LR, the documents that studies/register.py
names; `passes_initial`, `rises_halfway` and `steepest_centred` are ours. fastai and Lightning answer in any case; the reasons
to say nothing, and their constants, are ours.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Curve = NDArray[np.float64]

# fastai's and Lightning's: weight of the past in the smoothed loss, and the multiple of its minimum that ends a run.
SMOOTHING = 0.98
STOP_MULTIPLE = 4.0
# fastai's: what is dropped of the planned steps and of the recorded points, and the parameters of `slide`.
FIRST_SHARE = 10
LAST_POINTS = 5
SLIDE_WINDOW = 15
SLIDE_THRESHOLD = 0.005

# Ours. Step 1 is the first to see an update, by lr[0] alone: who diverges there diverges at the ramp's very start.
EARLIEST_DIVERGENCE = 2
# Points left by the cut. More than slide's window; below it a slope rests on a handful of batches.
FEWEST_POINTS = 20
# Share of its first value by which the smoothed loss of the cut must fall somewhere.
SMALLEST_FALL = 0.01
# A valley must be longer than this times sqrt(points), the longest that as many independent numbers have on average (Logan
# and Shepp 1977, Vershik and Kerov 1977). That rules out fastai's index of -1, too, for a valley of the first two points.
VALLEY_IN_NOISE = 2.0
# Deviations of a batch's first losses by which the smoothed loss must have fallen before it can pass its first value again.
CLEAR_FALL = 3.0
# Share of the way back from the lowest loss to the first at which the loss has risen half-way.
HALFWAY = 0.5
# Decades of the LR over which `steepest_centred` takes a slope, and the least steps on either side.
WINDOW_DECADES = 1.0
LEAST_HALF_WINDOW = 2


@dataclass(frozen=True)
class Suggestion:
    lr: float


@dataclass(frozen=True)
class NoSuggestion:
    """One line that says why."""

    reason: str


Pick = Suggestion | NoSuggestion
CurveRule = Callable[[Curve, Curve], Pick]
Rule = Callable[[Curve, Curve, float, bool], Pick]


def smoothed(loss: Curve, beta: float = SMOOTHING) -> Curve:
    """Exponentially weighted mean of the losses so far, corrected for its start at zero, [N]. beta in [0, 1); 0 smooths
    nothing. From the first loss that is not finite on no value is.

    Lightning corrects with an exponent that is one too high: its first value is about half the loss.
    """
    assert 0.0 <= beta < 1.0, beta
    mean, means = 0.0, []
    for count, value in enumerate(loss.tolist(), start=1):
        mean = beta * mean + (1.0 - beta) * value
        means.append(mean / (1.0 - beta**count))
    return np.array(means, dtype=np.float64)


def mean_lag(beta: float, steps: int) -> Curve:
    """By how many steps `smoothed` lies behind the loss in the mean, at each step, [N]: sum k beta^k / sum beta^k over the k <
    n losses so far, which is beta / (1 - beta) - n beta^n / (1 - beta^n)."""
    if beta == 0.0:
        return np.zeros(steps)
    count = np.arange(1.0, steps + 1)
    return np.asarray(beta / (1 - beta) - count * beta**count / (1 - beta**count))


def delagged(lr: Curve, beta: float) -> Curve:
    """The LR at which, in the mean, the losses were seen that each smoothed loss is made of, [N]: at a whole or a part of a
    step, on the log axis. It rises as the LR does. Exact for a loss that is straight on that axis for some lags."""
    steps = np.arange(len(lr))
    return np.asarray(np.exp(np.interp(steps - mean_lag(beta, len(lr)), steps, np.log(lr))))


def divergence(
    lr: Curve, loss: Curve, stop_multiple: float = STOP_MULTIPLE, beta: float = SMOOTHING, delag: bool = False
) -> Pick:
    """The LR of the first step whose smoothed loss exceeds `stop_multiple` times the lowest so far, or whose raw loss is not
    finite. Smoothing delays it: a mean with beta 0.98 follows the loss with a time constant of 50 steps."""
    _check(lr, loss)
    mean = smoothed(loss, beta)
    at = _first(_exceeds(mean, stop_multiple) | ~np.isfinite(loss))
    if (signed := _not_positive(mean, at)) is not None:
        return signed
    if at is None:
        return NoSuggestion(f"never diverged up to LR {lr[-1]:.3g}: the divergence LR is censored")
    if at < EARLIEST_DIVERGENCE:
        return NoSuggestion(f"diverged at the start of the ramp: the divergence LR is censored, at or below {lr[0]:.3g}")
    bar = stop_multiple * float(np.min(mean[: at + 1], where=np.isfinite(mean[: at + 1]), initial=np.inf))
    return Suggestion(_where_it_passed(lr, loss, mean, bar, at) if delag else float(lr[at]))


def passes_initial(lr: Curve, loss: Curve, beta: float = SMOOTHING, delag: bool = False) -> Pick:
    """The LR of the first step after its lowest one at which the smoothed loss exceeds the first loss, that of the untrained
    network, or at which the raw loss is not finite. It needs no zero of the loss, and no multiple of it.

    Nothing where the smoothed loss has not clearly fallen first: by CLEAR_FALL deviations of a batch's loss at the start.
    """
    return _climbs_back(lr, loss, 1.0, beta, delag)


def rises_halfway(lr: Curve, loss: Curve, beta: float = SMOOTHING, delag: bool = False) -> Pick:
    """The LR of the first step after its lowest one at which the smoothed loss has risen half-way from there to the first loss,
    or at which the raw loss is not finite; nothing where `passes_initial` says that nothing falls.

    A network that has diverged may settle on the classes' frequencies, at a loss below the one it started from: then
    `passes_initial` waits for decades, for a batch that is bad enough, and this does not.
    """
    return _climbs_back(lr, loss, HALFWAY, beta, delag)


def _climbs_back(lr: Curve, loss: Curve, share: float, beta: float, delag: bool) -> Pick:
    """The LR of the first step after the lowest at which a share of the loss reduction to it is lost again."""
    _check(lr, loss)
    mean = smoothed(loss, beta)
    finite = np.isfinite(mean)
    if finite[:EARLIEST_DIVERGENCE].sum() < EARLIEST_DIVERGENCE:
        return NoSuggestion(f"diverged at the start of the ramp: the divergence LR is censored, at or below {lr[0]:.3g}")
    lowest = int(np.where(finite, mean, np.inf).argmin())
    if not lowest or mean[0] - mean[lowest] <= CLEAR_FALL * _first_deviation(loss):
        return NoSuggestion("the loss does not clearly fall below its initial value, and cannot pass it again")
    bar = float(mean[0] if share == 1.0 else mean[lowest] + share * (mean[0] - mean[lowest]))
    at = _first((mean > bar) & (np.arange(len(mean)) > lowest) | ~np.isfinite(loss))
    if at is None:
        passed = "passed its initial value" if share == 1.0 else f"rose by {share:.0%} of its fall"
        return NoSuggestion(f"never {passed} up to LR {lr[-1]:.3g}: the divergence LR is censored")
    return Suggestion(_where_it_passed(lr, loss, mean, bar, at) if delag else float(lr[at]))


def steepest_centred(lr: Curve, loss: Curve) -> Pick:
    """The LR in the middle of the window with the steepest fall: the least-squares slope of the raw loss against ln LR over
    WINDOW_DECADES, half of them to either side, of the windows up to the one with the lowest mean loss.

    A slope of single steps is a largest of hundreds of noisy numbers; a smoothed one lags by an amount that depends on the
    curve. A window does neither, and reads a straight fall at its middle.
    """
    _check(lr, loss)
    broken = _first(~np.isfinite(loss))
    losses = loss[:broken]
    half = max(LEAST_HALF_WINDOW, round(WINDOW_DECADES * np.log(10.0) / 2 / float(np.log(lr[1] / lr[0])))) if len(lr) > 1 else 1
    width = 2 * half + 1
    if len(losses) < max(width + 1, FEWEST_POINTS):
        return NoSuggestion(f"only {len(losses)} steps before the loss breaks down, too few for a window of {width}")
    windows = np.lib.stride_tricks.sliding_window_view(losses, width)
    mean = windows.mean(axis=1)
    lowest = int(mean.argmin())
    if not lowest or mean[0] - mean[lowest] <= CLEAR_FALL * _first_deviation(loss):
        return NoSuggestion("the loss does not clearly fall below its initial value, and has no steepest fall")
    steps = np.arange(-half, half + 1)
    # By equal factors, so that slopes per step are those against ln LR but for a factor.
    steepest = int((windows[: lowest + 1] @ steps).argmin())
    return Suggestion(float(lr[steepest + half]))


def _first_deviation(loss: Curve) -> float:
    """The deviation of single batches' losses in the first tenth of the ramp, where hardly anything is learned, by the median
    difference of neighbours: for normal ones that is 0.954 deviations."""
    first = loss[: max(EARLIEST_DIVERGENCE, len(loss) // FIRST_SHARE)]
    return float(np.median(np.abs(np.diff(first)))) / 0.954


def _where_it_passed(lr: Curve, loss: Curve, mean: Curve, bar: float, at: int) -> float:
    """The LR at which the loss itself passed a bar, which its smoothed mean passed at step `at`: the step that best parts
    losses below the bar from those above it, between the lowest smoothed loss and there. Of several the mean on the log axis.

    The mean lag would not do: a loss that jumps takes its mean along within few steps, so that 49 steps earlier is up to two
    decades too low, on the ramps of the study lr_finder as on planted ones (reports/log).
    """
    if not np.isfinite(loss[at]):
        return float(lr[at])
    first = int(mean[:at].argmin()) + 1
    above = np.where(loss[first : at + 1] > bar, 1, -1)
    parted = above[::-1].cumsum()[::-1]
    best = lr[first : at + 1][parted == parted.max()]
    return float(np.exp(np.log(best).mean()))


def cut(lr: Curve, loss: Curve, beta: float = SMOOTHING, delag: bool = False) -> tuple[Curve, Curve]:
    """LR and smoothed loss that fastai's lr_find looks at, [M] each; M may be 0. With `delag` beside the LR of the losses that
    it is made of.

    The record ends with the step at which the smoothed loss exceeds STOP_MULTIPLE times its minimum, that step included. A
    tenth of the planned N steps is dropped from its start, LAST_POINTS from its end, and then what follows the first value
    that is not finite. As in fastai a nan does not end the record, so that no finite points are dropped before it.
    """
    _check(lr, loss)
    mean = smoothed(loss, beta)
    stop = _first(_exceeds(mean, STOP_MULTIPLE))
    recorded = len(mean) if stop is None else stop + 1
    kept = slice(len(mean) // FIRST_SHARE, max(0, recorded - LAST_POINTS))
    broken = _first(~np.isfinite(mean[kept]))
    beside = delagged(lr, beta) if delag else lr
    return beside[kept][:broken], mean[kept][:broken]


def suggest(rule: str, lr: Curve, loss: Curve, beta: float = SMOOTHING, delag: bool = False) -> Pick:
    """The LR that a rule of RULES reads off a range test whose losses are smoothed with `beta`, or why it reads none."""
    return RULES[rule](lr, loss, beta, delag)


def _check(lr: Curve, loss: Curve) -> None:
    assert lr.ndim == 1, lr.shape
    assert lr.shape == loss.shape, (lr.shape, loss.shape)
    assert (np.diff(lr, prepend=0.0) > 0).all(), "the LR is not positive or does not rise"


def _exceeds(mean: Curve, multiple: float) -> NDArray[np.bool_]:
    return np.asarray(mean > multiple * np.minimum.accumulate(mean))


def _not_positive(mean: Curve, stop: int | None) -> NoSuggestion | None:
    """Multiples of the lowest loss tell of divergence where losses are positive: -1 is more than four times -1."""
    lowest = mean[: None if stop is None else stop + 1].min()
    if lowest > 0 or not np.isfinite(lowest):
        return None
    return NoSuggestion(f"the smoothed loss falls to {lowest:.3g}, and no multiple of what is not positive tells of divergence")


def _first(flags: NDArray[np.bool_]) -> int | None:
    return int(flags.argmax()) if flags.any() else None


def _tenth_of(whole: Rule) -> Rule:
    """A tenth of what another rule picks."""

    def pick(lr: Curve, loss: Curve, beta: float, delag: bool) -> Pick:
        outcome = whole(lr, loss, beta, delag)
        return Suggestion(outcome.lr / 10) if isinstance(outcome, Suggestion) else outcome

    return pick


def _of_the_cut(rule: CurveRule) -> Rule:
    """A rule for smoothed curves, applied to the cut of a range test in which there is something to read."""

    def pick(lr: Curve, loss: Curve, beta: float, delag: bool) -> Pick:
        mean = smoothed(loss, beta)
        kept_lr, kept_loss = cut(lr, loss, beta, delag)
        return _not_positive(mean, _first(_exceeds(mean, STOP_MULTIPLE))) or _unreadable(kept_loss) or rule(kept_lr, kept_loss)

    return pick


def _unreadable(loss: Curve) -> NoSuggestion | None:
    if len(loss) < FEWEST_POINTS:
        return NoSuggestion(f"only {len(loss)} points left after trimming, fewer than {FEWEST_POINTS}")
    if loss.min() >= (1.0 - SMALLEST_FALL) * loss[0]:
        return NoSuggestion(f"the loss never falls by {SMALLEST_FALL:.0%} of its first value")
    return None


def _tenth_of_minimum(lr: Curve, loss: Curve) -> Pick:
    """fastai's `minimum`. That the minimum is not the first point is known: the loss falls."""
    lowest = int(loss.argmin())
    if lowest == len(loss) - 1:
        return NoSuggestion(f"the loss still falls at LR {lr[-1]:.3g}, where the record ends: the minimum is censored")
    return Suggestion(float(lr[lowest]) / 10)


def _steepest_log(lr: Curve, loss: Curve) -> Pick:
    """fastai's `steep`: the LR at which the step with the most negative slope starts."""
    return _steepest(lr, np.diff(loss) / np.diff(np.log(lr)))


def _steepest_linear(lr: Curve, loss: Curve) -> Pick:
    """Lightning's `suggestion` from 2.5.3 on; before, it took the slope per step, which is that against ln LR. Against the LR
    itself a slope of equal height on the log axis counts 1 / LR, so that small LRs are favoured."""
    return _steepest(lr, np.asarray(np.gradient(loss, lr)))


def _steepest(lr: Curve, slope: Curve) -> Pick:
    steepest = int(slope.argmin())
    if not slope[steepest] < 0:
        return NoSuggestion("no slope is negative")
    return Suggestion(float(lr[steepest]))


def _valley(lr: Curve, loss: Curve) -> Pick:
    """fastai's `valley`: half-way along the longest falling subsequence, as if its points were neighbours: it is taken to
    start as many points before its end as it has."""
    length = falling_lengths(loss)
    end = int(length.argmax())
    if length[end] <= VALLEY_IN_NOISE * np.sqrt(len(loss)):
        return NoSuggestion(f"the longest valley has {length[end]} of {len(loss)} points, no more than noise would have")
    third = length[end] / 3
    return Suggestion(float(lr[end - length[end] + int(third) + int(third / 2)]))


def falling_lengths(loss: Curve) -> NDArray[np.int64]:
    """Length of the longest strictly falling subsequence that ends at each point, [N], by patience sorting.

    lowest[k] is minus the highest loss at which a subsequence of k + 1 points has ended so far. It rises with k, and a point
    prolongs every subsequence that ended above it.
    """
    lowest: list[float] = []
    lengths = []
    for value in (-loss).tolist():
        place = bisect_left(lowest, value)
        lowest[place : place + 1] = [value]
        lengths.append(place + 1)
    return np.array(lengths, dtype=np.int64)


def _slide(lr: Curve, loss: Curve) -> Pick:
    """fastai's `slide`: a window of SLIDE_WINDOW steps moves down from the end of the curve for as long as the slopes, in
    nats per step, at its two ends differ by more than SLIDE_THRESHOLD; the LR at its last lower end that did.

    Where it never moves the pick would be the end of the record, and where it never stops the start: neither is the curve's.
    """
    slope = np.gradient(loss)
    apart = np.abs(slope[SLIDE_WINDOW:] - slope[:-SLIDE_WINDOW]) > SLIDE_THRESHOLD
    alike = _first(~apart[::-1])
    if alike is None:
        return NoSuggestion("the window slides past the start of the curve")
    if alike == 0:
        return NoSuggestion("the window does not slide: the curve does not bend at its end")
    return Suggestion(float(lr[len(apart) - alike]))


RULES: dict[str, Rule] = {
    "tenth_of_divergence": _tenth_of(lambda lr, loss, beta, delag: divergence(lr, loss, beta=beta, delag=delag)),
    "passes_initial": passes_initial,
    "tenth_of_passing": _tenth_of(passes_initial),
    "rises_halfway": rises_halfway,
    "tenth_of_halfway": _tenth_of(rises_halfway),
    "steepest_centred": lambda lr, loss, beta, delag: steepest_centred(lr, loss),  # it smooths in its own way
    "tenth_of_minimum": _of_the_cut(_tenth_of_minimum),
    "steepest_log": _of_the_cut(_steepest_log),
    "steepest_linear": _of_the_cut(_steepest_linear),
    "valley": _of_the_cut(_valley),
    "slide": _of_the_cut(_slide),
}

# The meaning of each, for a choice between them. The smoothed loss is meant unless the raw one is named.
MEANINGS = {
    "divergence": "the loss is four times its lowest",
    "tenth_of_divergence": "a tenth of that, the usual advice",
    "passes_initial": "the loss is back at its first value",
    "tenth_of_passing": "a tenth of that",
    "rises_halfway": "the loss is half-way back from its lowest to its first value",
    "tenth_of_halfway": "a tenth of that",
    "steepest_centred": "the raw loss falls fastest, over windows of a decade",
    "tenth_of_minimum": "a tenth of where the loss is lowest (fastai: minimum)",
    "steepest_log": "the loss falls fastest against log LR (fastai: steep)",
    "steepest_linear": "the loss falls fastest against the LR itself (Lightning)",
    "valley": "the middle of the longest fall (fastai: valley, its default)",
    "slide": "the lower end of a window that slides down from the end of the curve (fastai: slide)",
}
# Those that tools and documents give.
PUBLISHED = ("tenth_of_divergence", "tenth_of_minimum", "steepest_log", "steepest_linear", "valley", "slide")
