"""Claims over a size: does the difference of two arms change with parameters, tokens or batch?"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from pandas.api.types import is_numeric_dtype

from ..declare.level import ALPHA
from ..errors import UserError
from ..judge.statistics.pooling import heterogeneity, trend
from ..judge.statistics.two_samples import Effect, Spread, pooled_spread
from .blocks import constant_columns, layout
from .claims import RunClaim
from .comparing import Assumptions, TaskFinding, compared, question_of
from .firmness import why_fragile
from .run_verdict import RunVerdict, notes_on, together
from .runs import Runs
from .samples import Pair, pairs, read_values

LEAST_SIZES = 3


def over_sizes(runs: Runs, claim: RunClaim, how: Assumptions) -> RunVerdict:
    """Each size is a part; the claim has to hold on all, and how the effect changes is a note. No number is pooled."""
    column = runs.frame[claim.factor]
    sizes = sorted({float(size) for size in column.dropna()} if is_numeric_dtype(column) else set())
    if len(sizes) < 2:
        raise UserError(f"claim '{claim.text}': {claim.factor} must hold at least two sizes as numbers; name another column")
    named = {size: f"{claim.factor} {size:g}" for size in sizes}
    sized = replace(runs, frame=runs.frame.assign(task=runs.frame[claim.factor].map(named)))
    values = read_values(sized, claim)
    task_pairs = list(pairs(values, claim, how.paired))
    if len(task_pairs) < 2:
        raise UserError(f"claim '{claim.text}': fewer than two sizes have runs of both arms; compare arms that share sizes")
    settings = layout(values, claim, constant_columns(runs.frame), how.also)
    of_name = {name: size for size, name in named.items()}
    task_pairs.sort(key=lambda pair: of_name[pair.task])
    shared = pooled_spread([part["value"].to_numpy(float) for _, part in values.groupby(["arm", "task"])])
    shared = shared or _scatter(task_pairs, [of_name[pair.task] for pair in task_pairs])
    question = question_of(claim, task_pairs)
    findings = [compared(claim, pair, how, shared, question, False) for pair in task_pairs]
    on_all = replace(claim, quantifier="all")
    judged = together(on_all, findings, tuple(notes_on(claim, task_pairs)), question)
    doubts = [settings.confounds] if settings.confounds else []
    doubts += [f"{name} varies within sizes; name it with --task" for name in settings.blocks]
    judged = replace(judged, fragile=(*doubts, *judged.fragile, *why_fragile(on_all, judged, task_pairs, how, shared)))
    trends = _trend_notes(findings, [of_name[finding.name] for finding in findings], claim)
    return replace(judged, claim=claim, notes=(*judged.notes, *trends))


def _scatter(task_pairs: Sequence[Pair], sizes: Sequence[float]) -> Spread | None:
    """The scatter of differences about their line over log2(size), for sizes with one run an arm each, as the standard
    deviation of a run; None for fewer than four sizes, or for one that is not above 0."""
    if len(sizes) <= LEAST_SIZES or min(sizes) <= 0:
        return None
    differences = np.array([float(np.mean(pair.arm.values) - np.mean(pair.other.values)) for pair in task_pairs])
    line = np.polynomial.Polynomial.fit(np.log2(sizes), differences, 1)
    freedom = len(sizes) - 2
    scatter = float(np.sum((differences - line(np.log2(sizes))) ** 2)) / freedom
    return Spread(math.sqrt(scatter / 2), freedom)


def _trend_notes(findings: Sequence[TaskFinding], sizes: Sequence[float], claim: RunClaim) -> Iterator[str]:
    known = [(finding.effect, size) for finding, size in zip(findings, sizes, strict=True) if finding.effect is not None]
    if len(known) < 2:
        return
    effects = [effect for effect, _ in known]
    p = heterogeneity(effects)
    signs = {effect.low > 0 for effect in effects if effect.low > 0 or effect.high < 0}
    yield "the sign changes with size" if len(signs) == 2 else "no size has the effect the other way round"
    percent = 100 if claim.relative else 1
    if len(known) > 2 and min(sizes) > 0:
        slope = trend(effects, [size for _, size in known])
        low, high = (f"{percent * bound:.3g}" for bound in (slope.low, slope.high))
        change = f"{percent * slope.estimate:+.3g}{'%' * claim.relative} ({low} to {high})"
        yield f"the difference changes by {change} for each doubling of {claim.factor} (p = {_against_none(slope):.2g})"
        middle, mean = np.mean(np.log2(sizes)), np.mean([effect.estimate for effect in effects])
        turn = 2 ** float(middle - mean / slope.estimate) if slope.estimate else math.inf
        if min(sizes) < turn < max(sizes):
            yield f"on that line its sign turns near {claim.factor} {turn:.3g}"
    yield f"it is {'not ' * (p <= ALPHA)}the same at all sizes as far as these runs can tell (Cochran's Q: p = {p:.2g})"


def _against_none(effect: Effect) -> float:
    """The p value of an effect against 0, two-sided."""
    return effect.p_inside(0.0, math.inf) if effect.estimate > 0 else effect.p_inside(-math.inf, 0.0)
