"""Claims about simulated runs, and the truths that would make a verdict on them false."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.elsewhere.run_verdict import RunVerdict

from .run_worlds import Answers, Arms, Draw, Effects, Hyperbola, Tries

Covered = Callable[[RunVerdict, Effects], bool | None]


def of_mean(judged: RunVerdict, effects: Effects) -> bool | None:
    """Whether the interval holds the mean difference; None without an interval."""
    if judged.low is None or judged.high is None:
        return None
    return judged.low <= float(np.mean(effects)) <= judged.high


def of_share(base: float = 100.0) -> Covered:
    """The same for a share of a base."""
    return lambda judged, effects: of_mean(judged, tuple(effect / base for effect in effects))


def of_law(judged: RunVerdict, effects: Effects) -> bool | None:
    effect = judged.findings[0].effect
    return None if effect is None else effect.low <= effects[0] <= effect.high


@dataclass(frozen=True)
class Case:
    """short: planted effects just short of what is claimed, where no verdict may be 'supported'; meeting: effects that only
    just do not refute, where none may be 'refuted'; beyond: effects that the claim is surely true of. share: of the worlds that
    are drawn of others.
    """

    test: str
    condition: str
    claim: str
    draw: Draw
    short: Effects = (0.0,)
    meeting: Effects = (0.0,)
    beyond: Effects = (-2.0,)
    covered: Covered = of_mean
    share: float = 1.0


def _welch() -> list[Case]:
    conditions = {
        **{f"{n} runs": Arms((n, n)) for n in (3, 5, 10)},
        "3 against 20 runs": Arms((3, 20)),
        "3 against 20 runs, the few 3x as noisy": Arms((3, 20), (3.0, 1.0)),
        "3 against 20 runs, the many 3x as noisy": Arms((3, 20), (1.0, 3.0)),
        "5 runs, one arm 3x as noisy": Arms(spreads=(3.0, 1.0)),
        "2 against 20 runs, the few 3x as noisy": Arms((2, 20), (3.0, 1.0)),
        "3 runs, heavy tails": Arms((3, 3), shape="heavy tails"),
        "5 runs, heavy tails": Arms(shape="heavy tails"),
        "5 runs, skewed": Arms(shape="skewed"),
        "3 against 20 runs, skewed": Arms((3, 20), shape="skewed"),
        "5 runs, one in ten far off": Arms(shape="outliers"),
        "5 runs, 5% diverge": Arms(diverging=0.05),
        "10 runs, 5% diverge": Arms((10, 10), diverging=0.05),
        "5 runs, rounded to a deviation": Arms(unit=1.0),
        "5 runs, rounded to 3 deviations": Arms(unit=3.0, base=100.5),
        "3 runs, rounded to 3 deviations": Arms((3, 3), unit=3.0, base=100.5),
    }
    return [Case("independent runs (Welch)", name, "loss: b < a", draw) for name, draw in conditions.items()]


def _paired() -> list[Case]:
    conditions = {f"5 pairs, correlation {c:g}": Arms(shared=c) for c in (0.0, 0.5, 0.9)}
    conditions |= {
        "3 pairs, correlation 0.5": Arms((3, 3), shared=0.5),
        "5 pairs, heavy tails": Arms(shape="heavy tails", shared=0.5),
        "5 pairs, 5% diverge": Arms(shared=0.5, diverging=0.05),
    }
    return [Case("paired by seed", name, "loss: b < a", draw) for name, draw in conditions.items()]


# Where a case plants its effects: short, meeting, beyond. An effect of 3 deviations is claimed, and a third of it is none.
SIZED: tuple[Effects, Effects, Effects] = ((-3.0,), (-1.0,), (-6.0,))
HALVES: tuple[Effects, Effects, Effects] = ((-2.5,), (-2.5 / 3,), (-4.0,))
MARGIN: tuple[Effects, Effects, Effects] = ((2.0,), (2.0,), (0.0,))


def _sized() -> list[Case]:
    relative, percent, cases = "share of a's mean (Fieller)", "loss: b < a by 3%", []
    for name, draw in (("3 runs", Arms((3, 3))), ("5 runs", Arms()), ("5 runs, skewed", Arms(shape="skewed"))):
        cases.append(Case("difference of a size", name, "loss: b < a by 3", draw, *SIZED))
        cases.append(Case(relative, name, percent, draw, *SIZED, of_share()))
    cases.append(Case(relative, "5 pairs, correlation 0.5", percent, Arms(shared=0.5), *SIZED, of_share()))
    wide = Arms((10, 10), base=5.0)
    return [*cases, Case(relative, "10 runs, deviation 20% of the mean", "loss: b < a by 50%", wide, *HALVES, of_share(5.0))]


def _margins() -> list[Case]:
    cases = []
    for name, draw in (("3 runs", Arms((3, 3))), ("5 runs", Arms()), ("5 runs, heavy tails", Arms(shape="heavy tails"))):
        cases.append(Case("no worse", name, "loss: b <= a within 2", draw, *MARGIN))
        cases.append(Case("equal", name, "loss: b = a within 2", draw, *MARGIN))
    cases.append(Case("no worse", "5 runs, as a share", "loss: b <= a within 2%", Arms(), *MARGIN, of_share()))
    tight = "loss: b = a within 0.01"
    return [*cases, Case("equal", "5 runs, a margin far below the noise", tight, Arms(), (0.01,), (0.0,), (0.0,))]


def _single_runs() -> list[Case]:
    pooled = "one run against five (spread of all arms)"
    conditions = {
        "2 arms beside": Arms((1, 5), others=2),
        "none beside": Arms((1, 5)),
        "2 arms beside, half as noisy": Arms((1, 5), others=2, others_spread=0.5),
        "the single run 2x as noisy": Arms((1, 5), (2.0, 1.0), others=2),
    }
    number = {f"{n} runs": Arms((n, 1)) for n in (3, 5, 10)} | {
        "5 runs, skewed": Arms((5, 1), shape="skewed"),
        "5 runs, heavy tails": Arms((5, 1), shape="heavy tails"),
    }
    cases = [Case(pooled, name, "loss: b < a", draw, beyond=(-4.0,)) for name, draw in conditions.items()]
    return [*cases, *(Case("against a number", name, "loss: b < 100", draw) for name, draw in number.items())]


def _tasks() -> list[Case]:
    line = "loss: b < a"
    draw, unequal = Arms((3, 3)), Arms((3, 3), task_spread=3.0)

    def averaged(name: str, tasks: int, drawn: Arms, apart: float = 0.0) -> Case:
        own = np.linspace(-apart, apart, tasks)
        return Case("average over tasks", name, line, drawn, tuple(own), tuple(own), tuple(own - 1.5))

    within = -6.0
    counted = [
        Case("on all tasks", "3 tasks", f"{line} on all tasks", draw, (within, within, 0.0), (0.0,) * 3, (within,) * 3),
        Case("on all tasks", "8 tasks", f"{line} on all tasks", draw, (*(within,) * 7, 0.0), (0.0,) * 8, (within,) * 8),
        Case("on most tasks", "3 tasks", f"{line} on most tasks", draw, (within, 0.0, 0.0), (0.0, 0.0, 6.0), (within,) * 3),
        Case(
            "on most tasks", "8 tasks", f"{line} on most tasks", draw,
            (*(within,) * 4, *(0.0,) * 4), (*(0.0,) * 5, *(6.0,) * 3), (within,) * 8,
        ),
        Case("on some task", "8 tasks", f"{line} on some task", draw, (0.0,) * 8, (0.0, *(6.0,) * 7), (within, *(0.0,) * 7)),
        Case("at all sizes", "3 sizes", f"{line} over size", draw, (within, within, 0.0), (0.0,) * 3, (within,) * 3),
    ]  # fmt: skip
    return [
        averaged("3 tasks", 3, draw),
        averaged("8 tasks", 8, draw),
        averaged("8 tasks, every second 3x as noisy", 8, unequal),
        averaged("3 tasks that differ by 2 deviations", 3, draw, 1.0),
        averaged("8 tasks that differ by 2 deviations", 8, draw, 1.0),
        *counted,
    ]


def _laws() -> list[Case]:
    line = "loss: hyperbola in batch_size within 8%"
    conditions = {
        "3 runs a size, noise 5%": Hyperbola(),
        "3 runs a size, noise 15%": Hyperbola(0.15),
        "2 runs a size, noise 30%": Hyperbola(0.3, 2),
        "10 runs a size, noise 15%": Hyperbola(0.15, 10),
    }
    edge = [
        Case("law: hyperbola", name, line, draw, (0.08,), (0.16,), (0.0,), covered=of_law, share=0.5)
        for name, draw in conditions.items()
    ]
    true = [
        Case("law: hyperbola", f"{name}, law exactly true", line, draw, (0.08,), (0.0,), (0.0,), covered=of_law, share=0.25)
        for name, draw in conditions.items()
    ]
    return [*edge, *true]


def _tuned() -> list[Case]:
    def case(name: str, draw: Tries, line: str = "loss: b < a", edge: float = 0.0, beyond: float = -3.0) -> Case:
        return Case("tuned arms", name, line, draw, (edge,), (0.0,), (beyond,), draw.covered, share=0.04)

    normal, uniform = scipy.stats.norm.ppf, np.asarray
    return [
        case("10 tries, normal losses", Tries(normal)),
        case("10 tries, uniform losses", Tries(uniform), beyond=-1.0),
        case("20 tries, normal losses, by a size", Tries(normal, 20), "loss: b < a by 1", -1.0, -4.0),
    ]


def _items() -> list[Case]:
    """Evals. Effects are in deviations of an item's difference, or of right and wrong in shares of the items."""
    line, shares = "loss: b < a", "items right or wrong (Bonett and Price)"
    right = {f"{count} items": Answers(count, right_or_wrong=True) for count in (10, 30, 100)}
    of_clusters = (0.7, 0.7, 0.0, 1.0)
    conditions = {
        "30 items": (Answers(30), 1.5),
        "60 items in 12 clusters": (Answers(60, clusters=12, deviations=of_clusters), 2.0),
        "60 items in 12 clusters, the largest of 20": (Answers(60, clusters=12, largest=20.0, deviations=of_clusters), 2.0),
        "60 items in 5 clusters": (Answers(60, clusters=5, deviations=of_clusters), 3.0),
        "30 items, 3 seeds": (Answers(30, 3, deviations=(0.0, 1.0, 0.3, 1.0)), 2.0),
        "100 items, 3 seeds that differ as much as items": (Answers(100, 3, deviations=(0.0, 1.0, 1.0, 1.0)), 8.0),
        "60 items in 12 clusters, 5 seeds": (Answers(60, 5, 12, deviations=(0.7, 0.7, 0.3, 1.0)), 2.0),
    }
    cases = [Case(shares, name, line, draw, beyond=(-0.3,), share=0.5) for name, draw in right.items()]
    cases += [
        Case("items (clusters, seeds)", name, line, draw, beyond=(-by,), share=0.5) for name, (draw, by) in conditions.items()
    ]
    number = Answers(20, right_or_wrong=True)
    cases.append(
        Case("share of the items (Clopper and Pearson)", "20 items", "loss: b < 0.5", number, beyond=(-0.3,), share=0.5)
    )
    percent = Answers(30, 3, deviations=(0.0, 1.0, 0.3, 1.0))
    sized = ((-3.0,), (-1.0,), (-6.0,))
    relative = "items, as a share of a's mean"
    return [*cases, Case(relative, "30 items, 3 seeds", "loss: b < a by 3%", percent, *sized, of_share(), 0.5)]


CASES = (*_items(), *_welch(), *_paired(), *_sized(), *_margins(), *_single_runs(), *_tasks(), *_laws(), *_tuned())
