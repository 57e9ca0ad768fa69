"""Range tests: every rule against a plain transcription of its published definition, against planted truths, and silent
where nothing can be read."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from folklore.harness.declare.metrics.estimating.range_test_rules import (
    RULES,
    Curve,
    NoSuggestion,
    Pick,
    Suggestion,
    cut,
    delagged,
    divergence,
    falling_lengths,
    passes_initial,
    rises_halfway,
    smoothed,
    steepest_centred,
    suggest,
)

SHAPE_RULES = [rule for rule in RULES if rule in ("tenth_of_minimum", "steepest_log", "steepest_linear", "valley", "slide")]


def ramp(steps: int, first: float = 1e-5, last: float = 10.0) -> Curve:
    return np.geomspace(first, last, steps)


def bowl(lr: Curve) -> Curve:
    """Falls from 2.3 to 0.8 around an LR of 0.01 and blows up above 0.5."""
    return 0.8 + 1.5 / (1 + (lr / 1e-2) ** 1.5) + (lr / 0.5) ** 2


def noisy(lr: Curve, seed: int) -> Curve:
    return bowl(lr) * (1 + np.random.default_rng(seed).normal(0, 0.05, len(lr)))


def trained(lr: Curve, seed: int) -> Curve:
    """Noisy gradient descent on a quadratic whose curvatures end at 1: it diverges above an LR of 2, in the end to nan."""
    generator = np.random.default_rng(seed)
    curvature = np.geomspace(1e-2, 1, 30)
    weights = generator.normal(size=30)
    losses = []
    for rate in lr:
        losses.append(0.3 + 0.5 * curvature @ weights**2 * np.exp(generator.normal(0, 0.05)))
        weights = weights - rate * (curvature * weights + 0.1 * np.sqrt(curvature) * generator.normal(size=30))
    return np.array(losses)


def broken(lr: Curve, seed: int) -> Curve:
    """Turns nan at LR 0.05, before it diverges otherwise."""
    return np.where(lr < 0.05, noisy(lr, seed), np.nan)


CURVES = {
    **{f"bowl, {steps} steps": (ramp(steps), bowl(ramp(steps))) for steps in (64, 100, 333, 1000)},
    **{f"noisy {seed}": (ramp(200), noisy(ramp(200), seed)) for seed in range(6)},
    **{f"noisy {seed}, 1000 steps": (ramp(1000), noisy(ramp(1000), seed)) for seed in range(2)},
    **{f"trained {seed}": (ramp(150), trained(ramp(150), seed)) for seed in range(4)},
    **{f"trained {seed}, 1003 steps": (ramp(1003), trained(ramp(1003), seed)) for seed in range(3)},
    **{f"broken {seed}": (ramp(400), broken(ramp(400), seed)) for seed in range(3)},
    "never diverges": (ramp(200, last=0.1), noisy(ramp(200, last=0.1), 7)),
}
Points = tuple[list[float], list[float]]


def recorded(lr: Curve, loss: Curve, beta: float = 0.98) -> Points:
    """The recorder and the stop of fastai's finder, one batch after another."""
    lrs: list[float] = []
    losses: list[float] = []
    mean, best = 0.0, math.inf
    for step in range(len(loss)):
        mean = beta * mean + (1 - beta) * float(loss[step])
        value = mean / (1 - beta ** (step + 1))
        lrs.append(float(lr[step]))
        losses.append(value)
        if value < best:
            best = value
        if value > 4 * best:
            break
    return lrs, losses


def trimmed(lr: Curve, loss: Curve, beta: float = 0.98) -> Points:
    lrs, losses = recorded(lr, loss, beta)
    lrs, losses = lrs[len(loss) // 10 : -5], losses[len(loss) // 10 : -5]
    while not all(math.isfinite(value) for value in losses):
        lrs, losses = lrs[:-1], losses[:-1]
    return lrs, losses


def plain_tenth_of_minimum(lrs: list[float], losses: list[float]) -> float:
    return lrs[losses.index(min(losses))] / 10


def plain_steepest_log(lrs: list[float], losses: list[float]) -> float:
    slopes = [(losses[i + 1] - losses[i]) / (math.log(lrs[i + 1]) - math.log(lrs[i])) for i in range(len(lrs) - 1)]
    return lrs[slopes.index(min(slopes))]


def plain_steepest_linear(lrs: list[float], losses: list[float]) -> float:
    places, values = torch.tensor(lrs, dtype=torch.float64), torch.tensor(losses, dtype=torch.float64)
    return lrs[int(torch.gradient(values, spacing=[places])[0].argmin())]


def plain_lengths(losses: list[float]) -> list[int]:
    lengths = [1] * len(losses)
    for i in range(len(losses)):
        for j in range(i):
            if losses[i] < losses[j]:
                lengths[i] = max(lengths[i], lengths[j] + 1)
    return lengths


def plain_valley(lrs: list[float], losses: list[float]) -> float:
    lengths = plain_lengths(losses)
    end = lengths.index(max(lengths))
    start = end - lengths[end]
    third = (end - start) / 3
    return lrs[start + int(third) + int(third / 2)]


def plain_slide(lrs: list[float], losses: list[float]) -> float:
    slopes = np.gradient(np.array(losses))
    right, left = -1, -16
    lr = lrs[left]
    while left >= -len(losses) and abs(slopes[right] - slopes[left]) > 0.005:
        lr = lrs[left]
        right, left = right - 1, left - 1
    return lr


PLAIN: dict[str, Callable[[list[float], list[float]], float]] = {
    "tenth_of_minimum": plain_tenth_of_minimum,
    "steepest_log": plain_steepest_log,
    "steepest_linear": plain_steepest_linear,
    "valley": plain_valley,
    "slide": plain_slide,
}


def lr_of(pick: Pick) -> float:
    assert isinstance(pick, Suggestion), pick
    return pick.lr


def reason(pick: Pick) -> str:
    assert isinstance(pick, NoSuggestion), pick
    assert "\n" not in pick.reason
    return pick.reason


@pytest.fixture(autouse=True)
def _quiet() -> object:
    """Nothing here may divide by zero or stumble over a nan, but a run that diverges overflows."""
    with np.errstate(all="raise", over="ignore", invalid="ignore", under="ignore"):
        yield


@pytest.mark.parametrize("curve", CURVES)
def test_the_cut_is_that_of_fastai(curve: str) -> None:
    lr, loss = CURVES[curve]
    for beta in (0.0, 0.9, 0.98):
        kept_lr, kept_loss = cut(lr, loss, beta)
        assert (kept_lr.tolist(), kept_loss.tolist()) == trimmed(lr, loss, beta)


@pytest.mark.parametrize("rule", PLAIN)
def test_rules_are_the_published_ones(rule: str) -> None:
    suggestions = 0
    for lr, loss in CURVES.values():
        for beta in (0.9, 0.98):
            pick = suggest(rule, lr, loss, beta)
            if isinstance(pick, Suggestion):
                assert pick.lr == PLAIN[rule](*trimmed(lr, loss, beta))
                suggestions += 1
    assert suggestions > len(CURVES)


def test_divergence_is_where_the_finder_stops() -> None:
    for name, (lr, loss) in CURVES.items():
        lrs, losses = recorded(lr, loss)
        finite = sum(math.isfinite(value) for value in losses)
        if name == "never diverges":
            assert "censored" in reason(divergence(lr, loss))
        else:
            expected = lrs[finite] if finite < len(losses) else lrs[-1]
            assert divergence(lr, loss) == Suggestion(expected)
            assert suggest("tenth_of_divergence", lr, loss) == Suggestion(expected / 10)


def test_divergence_begins_above_four_times_the_lowest() -> None:
    lr, steps = ramp(300), np.arange(300)
    fall_and_rise = np.where(steps < 100, 2.0, np.where(steps < 200, 0.5, np.where(steps < 250, 2.0, 2.001)))
    assert divergence(lr, fall_and_rise, beta=0.0) == Suggestion(lr[250])
    assert divergence(lr, fall_and_rise, stop_multiple=3.9, beta=0.0) == Suggestion(lr[200])
    reason(divergence(lr, fall_and_rise, stop_multiple=4.1, beta=0.0))


RAMP, PLACES = ramp(300), np.arange(300)
# Rule, a loss on RAMP, and the LR that its definition gives there.
PLANTED = {
    "minimum": ("tenth_of_minimum", 1 + 0.01 * (np.log(RAMP) - np.log(RAMP[180])) ** 2, RAMP[180] / 10),
    # Steepest between steps 140 and 141; the quotient belongs to the step it starts at.
    "steepest on the log axis": ("steepest_log", 2 - np.tanh((PLACES - 140.5) / 20), RAMP[140]),
    # A straight line on the log axis is steepest, against the LR, where the LR is smallest: the cut begins at step 30.
    "steepest on the linear axis": ("steepest_linear", 3 - 0.1 * np.log(RAMP), RAMP[30]),
    # The valley has 171 points, is said to start at 29, and is cut into 57 and 28.
    "valley": ("valley", 2 + 0.001 * np.abs(PLACES - 200), RAMP[29 + 57 + 28]),
    # The record ends at step 294. The slope is 0.02 above the kink, 0 below it, 0.01 at it.
    "slide": (
        "slide",
        2 + np.where(PLACES < 40, 40.0 - PLACES, 0.0) + 0.02 * np.maximum(0, PLACES - 285),
        RAMP[285 - 15],
    ),
}


def test_falling_lengths_are_those_of_the_double_loop() -> None:
    generator = np.random.default_rng(3)
    for count in (1, 2, 7, 60):
        for _ in range(20):
            for loss in (generator.normal(size=count), generator.integers(0, 8, count).astype(float)):
                assert falling_lengths(loss).tolist() == plain_lengths(loss.tolist())


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_read_where_nothing_is_written(rule: str) -> None:
    lr, steps = ramp(300), np.arange(300)
    flat, nothing = np.full(300, 2.3), np.full(300, np.nan)
    noise = flat * (1 + np.random.default_rng(0).normal(0, 0.01, 300))
    untouched = np.where(steps < 1, 2.3, np.nan)
    for loss in (flat, noise, flat + steps / 300, nothing, untouched, np.zeros(300)):
        reason(suggest(rule, lr, loss))
    reason(suggest(rule, lr[:1], flat[:1]))


@pytest.mark.parametrize("rule", SHAPE_RULES)
def test_what_is_too_short_is_not_read(rule: str) -> None:
    for steps in (26, 27):
        pick = suggest(rule, ramp(steps), 3 - np.arange(steps) / steps)
        assert ("points left" in str(pick)) == (steps == 26)
    lr, loss = CURVES["bowl, 100 steps"]
    for stop in (33, 34):
        pick = suggest(rule, lr, np.where(np.arange(100) < stop, loss, 1e6))
        assert ("points left" in str(pick)) == (stop == 33)


ENDS_EARLY, NOISE = ramp(300, last=1e-2), np.random.default_rng(0).normal(2, 0.1, 300)
FALLING, RISING = 3 - 0.1 * np.log(ENDS_EARLY / ENDS_EARLY[0]), 2 + 0.5 * RAMP**2
# Rule, LRs, loss, and what the reason says.
SILENT = [
    *((rule, RAMP, RISING, "never falls") for rule in SHAPE_RULES),
    ("tenth_of_divergence", ENDS_EARLY, FALLING, "never diverged up to LR 0.01:"),
    ("tenth_of_minimum", ENDS_EARLY, FALLING, "still falls"),
    ("slide", ENDS_EARLY, FALLING, "does not slide"),
    ("slide", ramp(100), 2 + 0.001 * (np.arange(100) - 60.0) ** 2, "past the start"),
    ("valley", ramp(500), np.random.default_rng(5).permutation(500) / 500 + 2, "noise"),
    ("passes_initial", RAMP, RISING, "does not clearly fall"),
    ("passes_initial", RAMP, NOISE, "does not clearly fall"),
    ("passes_initial", RAMP, 3 - 0.1 * np.log(RAMP / RAMP[0]), "never passed its initial value"),
    ("steepest_centred", RAMP, RISING, "does not clearly fall"),
    ("steepest_centred", RAMP, NOISE, "does not clearly fall"),
    ("steepest_centred", RAMP, np.where(PLACES < 30, 2.0, np.nan), "too few for a window"),
    ("tenth_of_divergence", RAMP, np.full(300, np.nan), "at or below 1e-05"),
    ("tenth_of_divergence", RAMP, np.where(PLACES < 1, 2.0, np.nan), "at or below 1e-05"),
]


@pytest.mark.parametrize(("rule", "lr", "loss", "words"), SILENT)
def test_what_cannot_be_read_says_why(rule: str, lr: Curve, loss: Curve, words: str) -> None:
    beta = 0.0 if words in ("past the start", "noise") else 0.98
    assert words in reason(suggest(rule, lr, loss, beta))


@pytest.mark.parametrize("rule", SHAPE_RULES)
def test_a_loss_must_fall_by_one_percent(rule: str) -> None:
    lr, steps = ramp(300), np.arange(300)
    for fall in (0.009, 0.011):
        pick = suggest(rule, lr, 2 * (1 - fall * np.clip((steps - 100) / 100, 0, 1)), 0.0)
        assert ("never falls by 1%" in str(pick)) == (fall < 0.01)


def breaking(lr: Curve, kind: str) -> Curve:
    """Falls from 2.3 around an LR of 1e-3 and passes 2.3 again at an LR of 1: at once, straight, or as its square."""
    x = np.log10(lr)
    fall = 2.3 - 1.5 / (1 + 10.0 ** (-2 * (x + 3)))
    rise = {"jump": np.where(x >= 0, 20.0, 0.0), "line": (2.3 - fall) * np.maximum(0, x + 1.5) / 1.5, "square": 1.5 * lr**2}
    return np.where(np.arange(len(lr)), fall + rise[kind], 2.3)


@pytest.mark.parametrize("beta", [0.0, 0.9, 0.98])
@pytest.mark.parametrize("kind", ["jump", "line", "square"])
def test_without_the_lag_the_break_is_where_it_was_planted(kind: str, beta: float) -> None:
    """At any length of the ramp, to the one step that a loss is late by definition."""
    for steps in (100, 300, 1000):
        lr = ramp(steps, 1e-6, 100.0)
        break_lr = lr_of(passes_initial(lr, breaking(lr, kind), beta, delag=True))
        assert 1.0 <= break_lr * (1 + 1e-9) < lr[1] / lr[0] * 1.02


def test_divergence_without_the_lag() -> None:
    lr, steps = ramp(600), np.arange(600)
    late = np.where(steps < 400, 1.0, 10.0)
    assert lr_of(divergence(lr, late, delag=True)) == pytest.approx(lr[400])
    assert lr_of(suggest("tenth_of_divergence", lr, late, delag=True)) == pytest.approx(lr[400] / 10)
    # Losses above the bar before the lowest one are the start's.
    assert lr_of(divergence(lr, np.where(steps < 100, 50.0, late), delag=True, beta=0.9)) == pytest.approx(lr[400])
    # What is not finite is seen at once, and has no lag.
    assert divergence(lr, np.where(steps < 400, 1.0, np.nan), delag=True) == Suggestion(lr[400])


def test_a_straight_loss_lies_beside_its_own_lr() -> None:
    lr = ramp(300)
    straight = 5 - np.log(lr)
    for beta in (0.0, 0.9, 0.98):
        assert smoothed(straight, beta) == pytest.approx(5 - np.log(delagged(lr, beta)))
        assert (np.diff(delagged(lr, beta)) > 0).all()
    assert delagged(lr, 0.0) == pytest.approx(lr)


@pytest.mark.parametrize("rule", ["tenth_of_minimum", "steepest_log"])
def test_shapes_without_the_lag(rule: str) -> None:
    """A wide curve: the minimum and the steepest point come out within 10% at 0.9, and a half too high with the lag."""
    lr = ramp(300)
    x = np.log(lr) - np.log(lr[180])
    loss = 1 + 0.01 * x**2 if rule == "tenth_of_minimum" else 2 - np.tanh(x / 4)
    there = lr[180] / 10 if rule == "tenth_of_minimum" else lr[180]
    assert lr_of(suggest(rule, lr, loss, 0.9, delag=True)) == pytest.approx(there, rel=0.1)
    assert lr_of(suggest(rule, lr, loss, 0.9)) > 1.4 * there


def test_passing_the_first_value_needs_no_zero() -> None:
    lr = ramp(300, 1e-6, 100.0)
    for kind in ("jump", "line", "square"):
        loss = breaking(lr, kind)
        for delag in (False, True):
            moved = passes_initial(lr, loss - 7.0, 0.9, delag)
            assert lr_of(moved) == pytest.approx(lr_of(passes_initial(lr, loss, 0.9, delag)))
    plain = smoothed(loss, 0.9)
    after = [step for step in range(300) if step > plain.argmin() and plain[step] > plain[0]]
    assert passes_initial(lr, loss, 0.9) == Suggestion(lr[after[0]])


@pytest.mark.parametrize(("steps", "beta"), [(100, 0.0), (100, 0.9), (300, 0.0), (300, 0.9), (1000, 0.0), (1000, 0.98)])
def test_half_the_fall_is_lost_where_it_was_planted(steps: int, beta: float) -> None:
    """It falls from 3 to 1 and rises straight to 2 at an LR of 1, whatever the length of the ramp, as long as the filter is
    short beside it; that it never reaches the first loss does not matter."""
    lr = ramp(steps, 1e-6, 100.0)
    x = np.log10(lr)
    loss = np.where(x < -2, 2 - np.tanh(3 * (x + 4)), 1 + np.clip((x + 1), 0.0, 1.5))
    loss[0] = 3.0
    halfway_lr = lr_of(rises_halfway(lr, loss, beta, delag=True))
    assert 0.97 < halfway_lr < 1.03 * (lr[1] / lr[0]) ** (1 if beta == 0.0 else 3)
    assert lr_of(suggest("tenth_of_halfway", lr, loss, beta, True)) == pytest.approx(halfway_lr / 10)
    assert "never passed" in reason(passes_initial(lr, loss, beta, delag=True))
    assert lr_of(rises_halfway(lr, loss - 7, beta, delag=True)) == pytest.approx(halfway_lr)


def test_a_tenth_of_passing_is_a_tenth() -> None:
    lr = ramp(300, 1e-6, 100.0)
    for rule, whole in (("tenth_of_passing", passes_initial), ("tenth_of_halfway", rises_halfway)):
        assert lr_of(suggest(rule, lr, breaking(lr, "jump"), 0.9, True)) == pytest.approx(
            lr_of(whole(lr, breaking(lr, "jump"), 0.9, delag=True)) / 10
        )
        assert reason(suggest(rule, lr, 2 + 0.5 * lr**2, 0.9, True)).startswith("the loss does not clearly fall")


@pytest.mark.parametrize("steps", [100, 300, 1000])
def test_the_steepest_point_is_in_the_middle_of_the_steepest_fall(steps: int) -> None:
    """A fall planted at 1e-3 is found there without lag, whatever follows divergence; noise moves it by a tenth of a decade."""
    lr = ramp(steps, 1e-6, 100.0)
    x = np.log10(lr)
    loss = 2 - np.tanh(2 * (x + 3)) + np.where(x > 0, 50 * np.exp(-3 * x), 0.0)
    assert lr_of(steepest_centred(lr, loss)) == pytest.approx(1e-3, rel=lr[1] / lr[0] - 1)
    assert lr_of(steepest_centred(lr, loss - 7)) == lr_of(steepest_centred(lr, loss))
    assert lr_of(steepest_centred(lr, np.where(x > 0, np.nan, loss))) == pytest.approx(1e-3, rel=lr[1] / lr[0] - 1)
    noise = np.random.default_rng(steps).normal(0, 0.1, (20, steps))
    log_lrs = np.log10([lr_of(steepest_centred(lr, loss + deviations)) for deviations in noise])
    assert abs(log_lrs.mean() + 3) < 0.06
    assert log_lrs.std() < 0.12


def test_a_slope_over_a_window_by_brute_force() -> None:
    lr = ramp(120, 1e-4, 1.0)
    loss = noisy(lr, 0)
    half = round(np.log(10) / 2 / np.log(lr[1] / lr[0]))
    centres = range(half, 120 - half)
    lowest = min(centres, key=lambda i: loss[i - half : i + half + 1].mean())
    slopes = {
        i: np.polyfit(np.log(lr[i - half : i + half + 1]), loss[i - half : i + half + 1], 1)[0] for i in centres if i <= lowest
    }
    assert lr_of(steepest_centred(lr, loss)) == pytest.approx(lr[min(slopes, key=lambda i: slopes[i])])


def test_callers_mistakes_are_caught() -> None:
    lr = ramp(100)
    for mistaken in (lr[:-1], lr[::-1], np.concatenate([lr[:50], lr[:50]]), lr - lr[0]):
        for look in (divergence, passes_initial, rises_halfway, steepest_centred, cut):
            with pytest.raises(AssertionError):
                look(mistaken, np.ones(100))
