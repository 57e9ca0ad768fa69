"""Claims about runs that others trained, judged: verdict, interval, p value, what such runs could have shown, what would settle
it.

The rules are those of studies (judge/outcomes.py): an interval inside the region claimed supports, one inside the region that
refutes refutes. A verdict is firm if it survives the correction over all claims judged together, leaving out any run, the other
reasonable readings of the same runs, and bounds moved by a quarter; and if no arm has fewer than three runs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd
import scipy  # its parts load when they are first used

from ..declare.level import ALPHA
from ..errors import UserError, unknown
from ..judge.outcomes import DECIDED, OPEN
from ..judge.statistics.two_samples import Spread
from ..results import ForScripts, Result
from .blocks import Blocked, Layout, blocked, constant_columns, layout, turned_by
from .checks import checked, require_no_task_in_files, require_one_unit
from .claims import RunClaim, read_claim
from .comparing import Assumptions
from .compute_saved import compute_saved
from .firmness import why_fragile
from .items import checked_items, judge_items
from .laws import judge_law
from .roles import ReadingOptions, text
from .run_verdict import LEAST_RUNS, RunVerdict, RunVerdictResult, judge_pairs
from .runs import Runs, runs_of
from .samples import Pair, pairs, read_values
from .sizes import over_sizes
from .table import PREFIX, Problem, Role
from .tuned import judge_tuned

# The reading of a verdict that a setting beside the arms turns.
CONFOUNDED = "confounded"


@dataclass(frozen=True)
class JudgeOptions:
    """claims: lines (claims.py). compare: an arm that all others are compared with, instead. by: what counts as a difference
    there, in percent of that arm ('1%') or in the metric's unit ('0.02')."""

    claims: tuple[str, ...] = ()
    compare: str | None = None
    by: str | None = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    how: Assumptions = field(default_factory=Assumptions)


class ColumnResult(Result):
    column: str
    told_by: str
    """the user, the format, or a guess"""


class ReadResult(Result):
    """Check that these are the runs you meant before you believe a verdict on them."""

    metric: str
    better: str | None
    """lower or higher"""
    columns: dict[str, ColumnResult]
    runs: int
    arms: dict[str, int]
    """runs of each"""
    tasks: list[str]


class JudgedRunsResult(Result):
    sources: ForScripts[list[str]]
    formats: ForScripts[list[str]]
    read: list[ReadResult]
    problems: list[Problem]
    """what is wrong with the runs: tell it with the verdict"""
    claims: list[RunVerdictResult]


@dataclass(frozen=True)
class JudgedRuns:
    """runs: of each metric, as they were judged; problems: of all of them."""

    runs: tuple[Runs, ...]
    claims: tuple[RunVerdict, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(dict.fromkeys(problem for runs in self.runs for problem in runs.problems))

    def row(self) -> JudgedRunsResult:
        """The result that `folklore judge --json` prints."""
        return JudgedRunsResult(
            sources=list(self.runs[0].sources),
            formats=list(self.runs[0].formats),
            read=[_read(runs) for runs in self.runs],
            problems=list(self.problems),
            claims=[verdict.row() for verdict in self.claims],
        )


def _read(runs: Runs) -> ReadResult:
    final = runs.final()
    return ReadResult(
        metric=runs.metric,
        better=runs.better,
        columns={role: ColumnResult(column=column, told_by=runs.told_by[role]) for role, column in runs.roles.items()},
        runs=len(final),
        arms={str(arm): int(count) for arm, count in final["arm"].value_counts(sort=False).items()},
        tasks=[task for task in runs.tasks if task],
    )


def judge_sources(sources: Sequence[str], options: JudgeOptions) -> JudgedRuns:
    """Reads, checks and judges. Raises UserError for a source that cannot be read, an open question, or a bad claim."""
    claims = [read_claim(line, options.reading.columns.get("metric")) for line in options.claims]
    if not claims and options.compare is None:
        raise UserError("nothing to judge: add --claim 'METRIC: B < A by 1%', --claims FILE.yaml or --compare ARM")
    if options.compare is not None:
        runs = read_runs(sources, options.reading, [], (options.compare,))
        claims += list(_comparisons(runs, options.compare, options.by))
        values = None if runs.of_items else read_values(runs, claims[0])
        return JudgedRuns((runs,), tuple(corrected([_judge(runs, claim, options.how, values) for claim in claims])))
    read: dict[str, Runs] = {}
    judged = []
    for claim in claims:
        if claim.metric not in read:
            same = [other for other in claims if other.metric == claim.metric]
            arms = tuple(arm for other in same for arm in other.arms)
            read[claim.metric] = read_runs(sources, options.reading, same, arms)
        judged.append(_judge(read[claim.metric], _spelled(claim, read[claim.metric].arms), options.how))
    return JudgedRuns(tuple(read.values()), tuple(corrected(judged)))


def _spelled(claim: RunClaim, arms: Sequence[str]) -> RunClaim:
    """The claim with arms as the runs spell them: 1e-3 is 0.001."""
    alike = {text(arm): arm for arm in reversed(arms)}
    other = claim.other if isinstance(claim.other, float) or claim.other in arms else alike.get(text(claim.other), claim.other)
    return replace(claim, arm=claim.arm if claim.arm in arms else alike.get(text(claim.arm), claim.arm), other=other)


def read_runs(sources: Sequence[str], reading: ReadingOptions, claims: Sequence[RunClaim], arms: tuple[str, ...]) -> Runs:
    """Runs, read and checked, for claims of one metric about these arms; about all, if there are none."""
    factors = tuple(dict.fromkeys(claim.factor for claim in claims if claim.factor))
    compares = not claims or any(claim.arms for claim in claims)
    columns: dict[Role, str] = {"metric": claims[0].metric} if claims else {}
    columns.update(reading.columns)
    named = () if len(arms) < 2 else arms  # all others are compared with a single one
    runs = runs_of(sources, replace(reading, columns=columns, arms=arms, factors=factors, compares=compares))
    if runs.of_items:
        return checked_items(runs)
    if "cluster" in runs.roles:
        raise UserError(f"--cluster {runs.roles['cluster']}: belongs to the items of an eval; name their column with --item")
    return checked(runs, factors, named, compares=not claims or any(len(claim.arms) > 1 for claim in claims))


def _comparisons(runs: Runs, arm: str, by: str | None) -> Iterator[RunClaim]:
    """Every other arm against this one, in the direction that is better."""
    if arm not in runs.arms:
        raise unknown("arm", arm, runs.arms)
    if runs.better is None:
        raise UserError(f"is a lower or a higher {runs.metric} better? Say --minimize or --maximize")
    if len(runs.arms) < 2:
        raise UserError(f"--compare {arm}: it is the only arm; name the column that holds the arms with --arm")
    sign, size = "<" if runs.better == "lower" else ">", f" by {by}" if by else ""
    pattern = read_claim(f"x: b {sign} a{size}")
    for other in (name for name in runs.arms if name != arm):
        text = f"{runs.metric}: {other} {sign} {arm}{size}"
        yield replace(pattern, metric=runs.metric, arm=other, other=arm, text=text)


def _judge(runs: Runs, claim: RunClaim, how: Assumptions, values: pd.DataFrame | None = None) -> RunVerdict:
    judged = judge_claim(runs, claim, how, values)
    saved = compute_saved(runs, claim)
    doubts = [
        ": ".join(filter(None, [problem.what, ", ".join(problem.examples)])) for problem in runs.problems if problem.doubtful
    ]
    return replace(judged, notes=(*judged.notes, saved) if saved else judged.notes, fragile=(*judged.fragile, *doubts))


def judge_claim(
    runs: Runs, claim: RunClaim, how: Assumptions, values: pd.DataFrame | None = None, with_readings: bool = True
) -> RunVerdict:
    """One claim. values: what it reads, if that is known. with_readings: also by the other readings of the same runs, which say
    whether it is firm. Raises UserError for arms, columns and steps that are not there."""
    if runs.of_items:
        return judge_items(runs, claim, how, with_readings)
    if claim.law:
        return judge_law(runs, claim)
    values = read_values(runs, claim) if values is None else values
    if isinstance(claim.other, float):
        require_one_unit(values, claim, how.also)
        _require_number(values, claim, claim.other)
        return judge_given(claim, _pairs(values, claim, None), how, None)
    _require_columns(runs, how.also)
    if claim.factor:
        return over_sizes(runs, claim, how)
    if how.step_worth is not None and values["stop"].isna().any():
        raise UserError(f"--step-worth {how.step_worth:g}: the runs have no steps; say which column holds them with --step")
    require_one_unit(values, claim, how.also)
    require_no_task_in_files(runs, values, claim)
    if runs.tuned:
        return judge_tuned(claim, _pairs(values, claim, how.paired))
    return _judge_in_blocks(runs, claim, how, values, with_readings)


def _judge_in_blocks(runs: Runs, claim: RunClaim, how: Assumptions, values: pd.DataFrame, with_readings: bool) -> RunVerdict:
    """Within the settings that both arms share; settings that differ between the arms cap the verdict."""
    settings = layout(values, claim, constant_columns(runs.frame), how.also)
    cells = blocked(values, claim, settings.blocks)
    if cells.by_cell and how.paired is False:
        cells = Blocked(values, f"not paired by {', '.join(settings.blocks)}, as --unpaired asks")
    task_pairs = _pairs(cells.values, claim, True if cells.by_cell else how.paired)
    if cells.by_cell:
        task_pairs = [replace(pair, by=", ".join(settings.blocks)) for pair in task_pairs]
    if with_readings:
        judged = judge_given(claim, task_pairs, how, _borrowed(values, task_pairs))
        judged = replace(judged, fragile=(*judged.fragile, *_by_groups(claim, how, values, settings, judged)))
    else:
        judged = judge_pairs(claim, task_pairs, how, _borrowed(values, task_pairs))
    if turned_by(values, claim, settings):
        reason = f"the sign turns once {', '.join(settings.varying)} is held equal"
        judged = replace(judged, verdict=OPEN, reading=CONFOUNDED, p=1.0, reason=reason, settling="", fragile=())
    doubt = (settings.confounds,) if settings.confounds else ()
    return replace(judged, notes=(*judged.notes, *filter(None, [cells.line])), fragile=(*doubt, *judged.fragile))


def _require_columns(runs: Runs, names: Sequence[str]) -> None:
    known = [str(name).removeprefix(PREFIX) for name in runs.frame if str(name).startswith(PREFIX)]
    for name in names:
        if name not in (*known, runs.metric):
            raise unknown("column for --also", name, known)


def _by_groups(claim: RunClaim, how: Assumptions, values: pd.DataFrame, settings: Layout, judged: RunVerdict) -> Iterator[str]:
    """Readings in which blocks of one group, as questions on one passage, count as one: they may be alike."""
    for name in settings.coarser if judged.verdict in DECIDED else ():
        groups = blocked(values, claim, (name,))
        verdict = judge_pairs(claim, _pairs(groups.values, claim, groups.by_cell or how.paired), how, None).verdict
        if verdict != judged.verdict:
            yield f"{verdict} if each {name} counts once"


def _pairs(values: pd.DataFrame, claim: RunClaim, paired: bool | None) -> list[Pair]:
    """Raises UserError if no task has both arms."""
    task_pairs = list(pairs(values, claim, paired))
    if not task_pairs:
        raise UserError(f"claim '{claim.text}': no task has runs of both arms; compare arms that share one")
    return task_pairs


def _borrowed(values: pd.DataFrame, task_pairs: Sequence[Pair]) -> Spread | None:
    """The spread of all arms, for arms with a single run, also with a run left out."""
    if all(min(len(pair.arm), len(pair.other)) > LEAST_RUNS for pair in task_pairs):
        return None
    samples = values.groupby(["arm", "task"])["value"].agg(["var", "count"]).query("count > 1")
    freedom = int((samples["count"] - 1).sum())
    pooled = float((samples["var"] * (samples["count"] - 1)).sum())
    return Spread(math.sqrt(pooled / freedom), freedom) if freedom else None


def judge_given(claim: RunClaim, task_pairs: Sequence[Pair], how: Assumptions, shared: Spread | None) -> RunVerdict:
    """Two arms on each task, and why the verdict is fragile."""
    judged = judge_pairs(claim, task_pairs, how, shared)
    return replace(judged, fragile=(*judged.fragile, *why_fragile(claim, judged, task_pairs, how, shared)))


def _require_number(values: pd.DataFrame, claim: RunClaim, number: float) -> None:
    """Raises UserError if what is read as a number is the name of an arm, too."""
    if text(number) in {text(arm) for arm in values["arm"].unique()} and "+" not in claim.text:
        raise UserError(
            f"claim '{claim.text}': is {number:g} the arm of that name, or a number? Put the arm in quotes, write the"
            f" number with its sign (+{number:g})"
        )


def corrected(judged: Sequence[RunVerdict]) -> list[RunVerdict]:
    """The verdicts, fragile if they do not survive Benjamini and Hochberg's procedure over all claims judged together."""
    p_values = [verdict.p if verdict.verdict in DECIDED else 1.0 for verdict in judged]
    q_values = scipy.stats.false_discovery_control(p_values) if judged else []
    too_weak = f"one of {len(judged)} claims judged together, and too weak for that (Benjamini–Hochberg)"
    return [
        replace(verdict, fragile=(*verdict.fragile, too_weak)) if verdict.verdict in DECIDED and q > ALPHA else verdict
        for verdict, q in zip(judged, q_values, strict=True)
    ]
