"""Problems of runs before they are judged: repeated, mixed up, cut short, selected.

Each finding is a line with a count and its consequence. Rows that are surely wrong are left out, and doubts are said.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..errors import UserError
from .blocks import constant_columns, is_setting
from .claims import RunClaim
from .roles import FOLDS, NO_SHARES, SETTINGS, last_part, words_of
from .runs import MOST_LEVELS, Runs
from .sharing import shared
from .table import FILE, PREFIX, Problem

# A curve of this many values belongs to one run; fewer may agree by chance unless the run's name agrees, too.
LEAST_CURVE, LEAST_VALUES = 5, 3
# Levels of a column that share a name and differ by more than this, without overlap, are two things; by more, two units.
OTHER_MODEL, OTHER_UNIT = 1.5, 10.0
# A jump by this factor or more between two rows of a run, with less spread than this on either side, is a change of units.
UNIT_JUMP, STEADY = 30.0, 3.0
# Units are a hundred or a thousand of each other: a jump may lie this far from a power of ten, in powers. An agent that has
# learned jumps by any factor.
OFF_POWER = 0.06
# Runs that stop before this share of where most runs of their arm stop did not finish.
FINISHED, MOST_OF_ARM = 0.95, 0.6
# A limit of von Neumann's ratio: 20 independent rows lie below it twice in 100,000 tables.
ALIKE = 0.5
# Arms whose ends differ by no more than this factor train equally long.
EQUAL_LENGTH = 1.002
# Curves whose second differences are this many times smaller than another arm's were smoothed.
SMOOTHER, LEAST_SMOOTHED = 5.0, 20
# Files whose means differ by this many times the spread within them may be tasks.
FAR_APART = 3.0

of_verdicts = partial(Problem, of_verdicts=True)
Checked = tuple[pd.DataFrame, Problem | None]


def checked(runs: Runs, factors: Sequence[str] = (), arms: Sequence[str] = (), compares: bool = False) -> Runs:
    """The runs that can be judged, with their problems.

    factors: columns that the claims tell apart. arms: those that the claims speak of; none: all. compares: whether arms are
    compared, within the settings that they share (blocks.py).
    """
    for check in (_repeated, shared, _two_things, _unit_changes, _unfinished):
        frame, problem = check(runs, factors)
        if len(frame) == 0:
            continue  # if nothing would be left, the finding says so and the runs stay
        runs = replace(runs, frame=frame)
        runs = runs.with_problems(problem) if problem else runs
    problems = list(_alike(runs, factors, arms))
    of_claims = replace(runs, frame=runs.frame[runs.frame["arm"].isin(arms)]) if arms else runs
    if len(of_claims.frame):
        problems += [problem for look in LOOKS for problem in look(of_claims, factors)]
        problems += () if compares else _settings(of_claims, factors)
    return runs.with_problems(*problems)


def require_one_unit(values: pd.DataFrame, claim: RunClaim, accepted: Sequence[str]) -> None:
    """Raises UserError with the question if a share is written as 0.89 here and as 90 there."""
    ends = values.loc[values["arm"].isin(claim.arms) & ~values["diverged"], "value"].to_numpy(float)
    ends = np.append(ends, claim.other) if isinstance(claim.other, float) else ends
    small, large = ends[np.abs(ends) <= 1], ends[np.abs(ends) > 1]
    may_be_share = claim.target is None and not words_of(claim.metric) & NO_SHARES and claim.metric not in accepted
    is_mixed = may_be_share and len(small) and len(large) and np.abs(large).max() <= 100 and (ends >= 0).all()
    if not is_mixed or np.median(np.abs(large)) < UNIT_JUMP * np.median(np.abs(small)):
        return
    raise UserError(
        f"'{claim.metric}' is about {np.median(small):.3g} here and {np.median(large):.3g} there, as if some were in percent:"
        f" write all in one unit, or accept them with --also {claim.metric}"
    )


def require_no_task_in_files(runs: Runs, values: pd.DataFrame, claim: RunClaim) -> None:
    """Raises UserError with the question if files that hold both arms differ by far more than the runs in them."""
    column = "name" if runs.roles.get("run") == FILE else PREFIX + FILE
    ends = values[values["arm"].isin(claim.arms) & ~values["diverged"]]
    if "task" in runs.roles or runs.told_by.get("run") == "you" or column not in ends:
        return
    both = ends[ends.groupby(column)["arm"].transform("nunique") == 2]
    groups = both.groupby(["arm", column])["value"]
    if both[column].nunique() < 2 or groups.size().min() < 2:
        return
    within = float(np.sqrt(groups.var().mean()))
    between = float(groups.mean().groupby("arm").std().mean())
    if between > FAR_APART * within:
        raise UserError(
            f"'{claim.metric}' differs between files by {between:.3g}, and within them by {within:.3g} (standard deviations):"
            f" is a file a task? Say --task {FILE}, or --run {FILE} if it only is where runs were saved"
        )


# --- left out


def _repeated(runs: Runs, factors: Sequence[str]) -> Checked:
    """The same run twice, in another export or under another name: the first counts. If only seeds differ, they are in doubt,
    and the runs stay."""
    keys = _signatures(runs, factors)
    settings = [str(name) for name in keys if str(name).startswith(PREFIX)]
    alike = ["arm", "task", "sure curve", "sure identity"]
    again = keys[keys.duplicated([*alike, *settings])]
    if again.empty:
        return runs.frame, None
    names = tuple(again["shown"].unique()[:3])
    same = keys[keys.duplicated([*alike, *settings], keep=False)]
    if same["seed"].notna().all() and not same.duplicated([*alike, *settings, "seed"]).any():
        return runs.frame, Problem("runs that are equal under different seeds", len(same), "is the seed used?", names, True)
    apart = _apart_by_settings(keys, alike, settings)
    return runs.frame[~runs.frame["run"].isin(again["run"])], Problem(
        "runs that are there twice", len(again), f"counted once{apart}", names
    )


def _apart_by_settings(keys: pd.DataFrame, alike: Sequence[str], settings: Sequence[str]) -> str:
    """A clause on runs that agree in all but a setting, which count."""
    more = int(keys.duplicated(list(alike)).sum() - keys.duplicated([*alike, *settings]).sum())
    groups = keys.groupby(list(alike), sort=False, dropna=False)
    names = [name.removeprefix(PREFIX) for name in settings if more and (groups[name].nunique(dropna=False) > 1).any()]
    return f"; {more} more agree in all but {', '.join(names)} and count" if more else ""


def _signatures(runs: Runs, factors: Sequence[str]) -> pd.DataFrame:
    """A row a run, with what only the same run shares: its settings and its curve, and for a short curve its name or seed and
    the factors, too."""
    grouped = runs.frame.groupby("run", sort=False)
    firsts = grouped.first()
    settings = [name for name in constant_columns(runs.frame) if is_setting(firsts[name], name.removeprefix(PREFIX))]
    rows = firsts[["arm", "task", "seed", "name", *factors, *settings]].reset_index()
    points = pd.DataFrame({"step": runs.frame["step"], "value": runs.frame["value"].round(12)})
    hashed = pd.util.hash_pandas_object(points, index=False).groupby(runs.frame["run"], sort=False)
    rows["sure curve"] = hashed.agg(lambda points: hash(tuple(points))).to_numpy()
    parts = [rows[name] for name in ("name", "seed", *factors)]
    identity = pd.Series(["/".join(map(str, words)) for words in zip(*parts, strict=True)])
    identity = identity.mask(rows["name"].isna() & rows["seed"].isna(), pd.Series(np.arange(len(rows)).astype(str)))
    rows["sure identity"] = identity.mask(grouped["value"].nunique().to_numpy() >= LEAST_CURVE, "")
    rows["shown"] = rows["name"].fillna(rows["seed"]).fillna(rows["arm"]).astype(str)
    return rows


def _two_things(runs: Runs, factors: Sequence[str]) -> Checked:
    """One name for two models, or for one model in two units: a group of runs falls apart by the levels of another column that
    no other arm shares. Levels that arms share are blocks."""
    final = runs.final()
    columns = [name for name in final if str(name).startswith(PREFIX) and _is_level(final[name])]
    mixed: dict[str, list[tuple[object, ...]]] = {}
    ratios = []
    keys = ["arm", "task", *factors]
    for column in columns:
        for key, part in final.groupby(keys, sort=False, dropna=False):
            ratio = _apart(part, str(column))
            if ratio > OTHER_MODEL and not _shares_levels(part, final, str(column)):
                mixed.setdefault(str(column), []).append(key)
                ratios.append(ratio)
    if not mixed:
        return runs.frame, None
    column = max(mixed, key=lambda name: len(mixed[name]))
    names = sorted({(str(arm), str(task)) for arm, task, *_ in mixed[column]})
    out = pd.MultiIndex.from_frame(runs.frame[["arm", "task"]]).isin(names)
    shown = tuple(dict.fromkeys(task or arm for arm, task in names))
    plain = column.removeprefix(PREFIX)
    what = "names that stand for values in two units" if max(ratios) > OTHER_UNIT else "names that stand for two things"
    return runs.frame[~out], Problem(
        what, len(names), f"left out; {plain} tells them apart: choose with --where {plain}=…", shown[:5]
    )


def _shares_levels(part: pd.DataFrame, final: pd.DataFrame, column: str) -> bool:
    """Whether another arm has several of a group's levels on the same task, too."""
    others = final[(final["task"] == part["task"].iloc[0]) & (final["arm"] != part["arm"].iloc[0])]
    counts = others[others[column].isin(part[column].unique())].groupby("arm")[column].nunique()
    return bool((counts > 1).any())


def _is_level(column: pd.Series) -> bool:
    return not is_numeric_dtype(column) and 1 < column.nunique() <= MOST_LEVELS


def _apart(part: pd.DataFrame, column: str) -> float:
    """The largest factor between the medians of two neighbouring levels whose values do not overlap; 1 if all do."""
    levels = [
        level["value"]
        for _, level in part.groupby(column, sort=False)
        if len(level) >= LEAST_VALUES and level["value"].min() > 0
    ]
    levels.sort(key=lambda values: float(values.median()))
    gaps = [float(b.median() / a.median()) for a, b in pairwise(levels) if a.max() < b.min()]
    return max(gaps, default=1.0)


def _unit_changes(runs: Runs, factors: Sequence[str]) -> Checked:
    """Runs whose values jump by a factor in mid-series and stay there: 0.97 becomes 97."""
    long = runs.frame[_rows_of_run(runs.frame) >= 2 * LEAST_VALUES]
    out = [run for run, part in long.groupby("run", sort=False)["value"] if _jumps(part.to_numpy(float))]
    if not out:
        return runs.frame, None
    consequence = "left out; convert the values, or keep the rows of one unit with --where"
    return runs.frame[~runs.frame["run"].isin(out)], Problem("runs whose units change in mid-series", len(out), consequence)


def _rows_of_run(frame: pd.DataFrame) -> pd.Series:
    """The number of rows of each row's run."""
    return frame.groupby("run")["value"].transform("size")


def _jumps(values: np.ndarray) -> bool:
    size = np.abs(values)
    if len(size) < 2 * LEAST_VALUES or not np.all(np.isfinite(size)) or not np.all(size > 0):
        return False
    place = int(np.argmax(np.abs(np.diff(np.log(size))))) + 1
    before, after = size[max(0, place - 5) : place], size[place : place + 5]
    if min(len(before), len(after)) < LEAST_VALUES:
        return False
    power = abs(float(np.log10(size[place] / size[place - 1])))
    if power < np.log10(UNIT_JUMP) or abs(power - round(power)) > OFF_POWER:
        return False
    ratio = np.median(after) / np.median(before)
    return bool(max(ratio, 1 / ratio) > UNIT_JUMP and all(side.max() / side.min() < STEADY for side in (before, after)))


def _unfinished(runs: Runs, factors: Sequence[str]) -> Checked:
    """Runs that stop long before most of their arm do, and did not diverge."""
    final = runs.final()
    usual = final.groupby(["arm", "task"])["step"].transform(
        lambda steps: steps.mode().max() if steps.notna().any() else np.nan
    )
    sharing = (final["step"] == usual).groupby([final["arm"], final["task"]]).transform("mean")
    short = (final["step"] < FINISHED * usual) & (sharing >= MOST_OF_ARM) & np.isfinite(final["value"])
    if not short.any():
        return runs.frame, None
    names = tuple(final.loc[short, "arm"].unique()[:5])
    consequence = "left out: their last value is not that of a finished run"  # an outcome that nobody knows
    return runs.frame[~runs.frame["run"].isin(final.loc[short, "run"])], Problem(
        "runs that stop before most of their arm do", int(short.sum()), consequence, names, True
    )


# --- said


def _alike(runs: Runs, factors: Sequence[str], arms: Sequence[str]) -> Iterator[Problem]:
    """Arms, and tasks, whose runs are the same; of arms, those that claims speak of."""
    for column, what in (("arm", "arms"), ("task", "tasks")):
        beside = [other for other in ("arm", "task") if other != column]
        curves = runs.frame.groupby(column, sort=False)
        if curves.ngroups < 2 or curves.ngroups > 2000:
            continue
        prints: dict[int, list[str]] = {}
        for name, part in curves:
            rows = part[[*beside, "step", "value", *factors]].sort_values([*beside, "step", "value"])
            if part["value"].nunique() >= LEAST_VALUES:
                prints.setdefault(hash(tuple(pd.util.hash_pandas_object(rows, index=False))), []).append(str(name))
        twins = [names for names in prints.values() if len(names) > 1]
        if column == "arm" and arms:
            twins = [names for names in twins if {*names} & {*arms}]
        if twins:
            shown = tuple(" = ".join(names) for names in twins[:5])
            yield Problem(f"{what} whose runs are identical", sum(map(len, twins)), "a comparison of them means nothing", shown)


def _diverged(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    final = runs.final()
    bad = final[~np.isfinite(final["value"])]
    if len(bad):
        names = tuple(f"{arm}: {count}" for arm, count in bad["arm"].value_counts().head(5).to_dict().items())
        consequence = "outcomes: they count with the worst value seen"
        yield of_verdicts("runs that end without a finite number", len(bad), consequence, names)


def _lengths(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    """Arms that end at other steps than each other: their budgets differ."""
    final = runs.final()
    ends = final.groupby(["task", "arm"])["step"].median().dropna()
    if ends.empty or (ends.groupby("task").max() <= EQUAL_LENGTH * ends.groupby("task").min()).all():
        return
    medians = final.groupby("arm", sort=False)["step"].median()
    shown = tuple(f"{arm}: {step:g}" for arm, step in medians.head(5).to_dict().items())
    consequence = "each is judged at its own end; METRIC at STEP compares at equal steps"
    yield of_verdicts("arms that train for another number of steps than others", len(ends), consequence, shown)


def _single(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    counts = runs.final().groupby(["arm", "task", *factors], dropna=False).size()
    alone = counts[counts == 1]
    if len(alone):
        arms = tuple(dict.fromkeys(str(key[0]) for key in alone.index))
        yield of_verdicts("arms with a single run", len(alone), "no verdict on them is firm", arms[:5])


def _selected(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    """Traces of a best of n: a name, or an arm with far fewer runs than another."""
    if {"best", "min", "max"} & set(runs.metric.lower().replace("/", "_").replace(".", "_").split("_")):
        yield of_verdicts(
            "metrics that are a best", 1, "the best of several readings flatters noisy runs most", (runs.metric,), True
        )
    counts = runs.final().groupby("arm").size()
    few = counts[2 * counts <= counts.max()]
    if len(few) and not runs.tuned and counts.max() >= LEAST_VALUES:
        shown = tuple(f"{arm}: {count} of {counts.max()}" for arm, count in few.head(5).items())
        yield of_verdicts(
            "arms with half as many runs as others or fewer", len(few), "if the best were kept, their mean flatters", shown
        )


def _settings(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    """Settings that differ within an arm: the runs differ by more than the seed."""
    if runs.tuned:
        return
    final = runs.final()
    varying = []
    for column in (str(label) for label in final if str(label).startswith(PREFIX)):
        name = column.removeprefix(PREFIX)
        last = name.lower().split(".")[-1].split("/")[-1]
        if (last in SETTINGS or last.endswith("_lr")) and name not in factors:
            inside = final.groupby(["arm", "task", *factors], dropna=False)[column].nunique()
            varying += [name] * bool((inside > 1).any())
    if varying:
        consequence = "an arm mixes them: add them to --arm, keep one with --where, or say --tuned"
        yield Problem("settings that differ within an arm", len(varying), consequence, tuple(varying[:5]), True)


def _smoothed(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    """Arms whose curves are much smoother than another's, or columns that say so."""
    if "smooth" in runs.metric.lower() or "ema" in runs.metric.lower().replace("/", "_").split("_"):
        yield Problem("curves that were smoothed", 1, "a smoothed end lags behind the run and hides its noise", (runs.metric,))
        return
    rough: dict[str, float] = {}
    long = runs.frame[_rows_of_run(runs.frame) >= LEAST_SMOOTHED]
    for arm, part in long.groupby("arm", sort=False):
        curves = [curve for _, curve in part.groupby("run")]
        if curves and _cadence(curves[0]) == _cadence(runs.frame[runs.frame["run"] == runs.frame["run"].iloc[0]]):
            rough[str(arm)] = float(np.median([_roughness(curve["value"].to_numpy(float)) for curve in curves]))
    if not rough:
        return
    smooth = [arm for arm, value in rough.items() if SMOOTHER * value < max(rough.values())]
    if smooth:
        consequence = "if they were smoothed, their ends lag behind and hide noise; compare unsmoothed curves"
        yield Problem("arms with far smoother curves than others", len(smooth), consequence, tuple(smooth[:5]))


def _cadence(curve: pd.DataFrame) -> tuple[float, int]:
    """The usual distance of rows in the later half, and how many there are: curves are compared that were read alike."""
    later = curve["step"].to_numpy(float)[len(curve) // 2 :]
    return float(np.median(np.diff(later))), len(curve)


def _roughness(values: np.ndarray) -> float:
    """The spread of second differences over the later half, relative to the level."""
    later = values[len(values) // 2 :]
    later = later[np.isfinite(later)]
    return float(np.median(np.abs(np.diff(later, 2))) / max(float(np.median(np.abs(later))), 1e-300)) if len(later) > 4 else 0.0


def _in_sequence(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    """Arms whose rows follow each other like the steps of a curve, though no column says so: neighbours are alike, and the rows
    are not just sorted by value."""
    frame = runs.frame
    if frame["step"].notna().any() or frame["seed"].notna().any():
        return
    groups = frame.groupby(["arm", "task", *factors], sort=False, dropna=False)["value"]
    arms = list(dict.fromkeys(str(key[0]) for key, part in groups if _is_curve(part.to_numpy(float))))
    if arms:
        consequence = "if they are steps of one run, name their column with --step, or give the last row alone"
        yield Problem("arms whose rows look like steps of a run", len(arms), consequence, tuple(arms[:5]), True)


def _is_curve(values: np.ndarray) -> bool:
    """Whether von Neumann's ratio (1941) is small: near 2 for independent rows and near 0 for a smooth curve."""
    finite = values[np.isfinite(values)]
    changes = np.diff(finite)
    if len(finite) < LEAST_SMOOTHED or np.all(changes >= 0) or np.all(changes <= 0):
        return False
    return bool(np.mean(changes**2) < ALIKE * np.var(finite))


def _folds(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    """Folds that stand for seeds or runs: what shares most of its training data varies less than runs on fresh data."""
    columns = [str(name) for name in runs.frame if last_part(str(name).removeprefix(PREFIX)) in FOLDS]
    if last_part(runs.roles.get("seed", "")) in FOLDS or any(runs.frame[name].nunique() > 1 for name in columns):
        consequence = "they share training data and are no independent runs; give a row for each seed, too"
        yield of_verdicts("arms whose runs are folds of a cross-validation", len(runs.arms), consequence, doubtful=True)


def _direction(runs: Runs, factors: Sequence[str]) -> Iterator[Problem]:
    if runs.better is None:
        consequence = "< and > in a claim say it; diverged runs are counted by it (--minimize, --maximize)"
        yield of_verdicts("metrics of which it is unknown whether lower is better", 1, consequence, (runs.metric,))


LOOKS: tuple[Callable[[Runs, Sequence[str]], Iterator[Problem]], ...] = (
    _diverged, _lengths, _single, _selected, _smoothed, _direction, _in_sequence, _folds,
)  # fmt: skip
