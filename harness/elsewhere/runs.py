"""Runs of one metric in one form, whatever they were read from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from ..errors import UserError
from . import cells
from . import roles as finding
from .blocks import makes_blocks
from .paths import SEED, placed
from .readers import read
from .readers.restarts import problems_of, restarts_of
from .roles import ReadingOptions
from .summaries import spread_out
from .table import FILE, MOST_ROWS, ROLES, SOURCE, Problem, Role, Table

# What the column of runs holds, as it stands there.
RUN_LABEL = "run label"
# A column made of the order of rows.
ORDER = "order of the rows"
# This number of rows of one seed in a file are a curve.
LEAST_CURVE = 10
# The arm of rows whose column of arms is blank.
BLANK_ARM = "(blank)"
# The end of the name of a further run that was written to the same place.
PART_IN_NAME = r"#\d+$"
# A column of more values tells runs apart, not kinds of runs.
MOST_LEVELS = 50


@dataclass(frozen=True)
class Runs:
    """A metric's runs, which are judged.

    frame: arm, run (a number), name (of the run, or missing), seed (text or missing), task, step (nan if there is none), value
    (nan or inf: diverged), for an eval item and cluster, the factors, and all other columns, named "column …". A row of an eval
    is an answer. roles: role -> column, told_by: what told it. better: 'lower', 'higher', or None: unknown.
    """

    frame: pd.DataFrame
    metric: str
    roles: Mapping[Role, str]
    told_by: Mapping[Role, str]
    better: str | None
    sources: tuple[str, ...]
    formats: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    tuned: bool = False

    @property
    def arms(self) -> list[str]:
        return list(dict.fromkeys(self.frame["arm"]))

    @property
    def of_items(self) -> bool:
        """Whether its rows are answers to the items of an eval."""
        return "item" in self.roles

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(self.frame["task"]))

    def final(self) -> pd.DataFrame:
        """The last row of each run."""
        return self.frame.groupby("run", sort=False).tail(1).reset_index(drop=True)

    def with_problems(self, *more: Problem) -> "Runs":
        return replace(self, problems=(*self.problems, *more))


def runs_of(sources: Sequence[str], options: ReadingOptions) -> Runs:
    """The runs of all sources together. Raises UserError with the question if a column's role is not clear."""
    tables = [read(source) for source in sources]
    frame, roles = _combined(tables)
    problems = tuple(problem for table in tables for problem in table.problems)
    rows, frame = frame, finding.kept(frame, options.where)
    problems = tuple(_still_there(problems, rows, frame))
    frame, roles = finding.of_metric(frame, options.columns.get("metric"), roles)
    frame, summed_up = spread_out(frame, options)
    frame, roles = finding.lengthened(frame, roles, options)
    frame, in_paths = placed(finding.joined(frame, options), roles, options)
    chosen, told_by = finding.chosen_roles(frame, {**roles, **in_paths}, options)
    told_by.update(dict.fromkeys(in_paths, "the paths of the files"))
    folds: tuple[Problem, ...] = ()
    if "item" not in chosen:
        frame, chosen = _in_order(frame, chosen, told_by)
        frame, folds = _over_folds(frame, chosen)
    _require_arms(frame, chosen, options.arms)
    named = options.columns.get("metric", chosen["metric"])
    values = _numbers(frame[chosen["metric"]], chosen["metric"])
    directions = {str(table.frame.attrs["direction"]) for table in tables if "direction" in table.frame.attrs}
    direction = {"minimize": "lower", "maximize": "higher"}.get(directions.pop()) if len(directions) == 1 else None
    tidy, restarts = _tidy(frame, chosen, values, options)
    return Runs(
        tidy,
        named,
        chosen,
        told_by,
        options.better or finding.direction_of(named) or direction,
        tuple(sources),
        tuple(dict.fromkeys(table.format for table in tables)),
        (*problems, *summed_up, *folds, *restarts),
        options.tuned if options.tuned is not None else any(table.tuned for table in tables),
    )


def _combined(tables: Sequence[Table]) -> tuple[pd.DataFrame, dict[Role, str]]:
    """All rows, with the source of each if there are several. Formats agree on a role or leave it to be guessed."""
    frames = [table.frame.assign(**{SOURCE: table.source}) if len(tables) > 1 else table.frame for table in tables]
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0].reset_index(drop=True)
    if len(frame) > MOST_ROWS:
        raise UserError(
            f"{len(frame):,} rows: at most {MOST_ROWS:,} are read at once; thin out the steps, or name fewer sources"
        )
    if frame.empty:
        raise UserError(f"{', '.join(table.source for table in tables)}: holds no rows; name a source with runs in it")
    roles = {role: {table.roles.get(role) for table in tables} for role in ROLES}
    return frame, {role: only for role, (only, *others) in roles.items() if only is not None and not others}


def _still_there(problems: Iterable[Problem], rows: pd.DataFrame, kept: pd.DataFrame) -> Iterator[Problem]:
    """The problems without the runs that --where excludes, as far as the names of a problem's runs stand in the rows."""
    named = [name for name in rows if finding.last_part(str(name)) in (*finding.NAMES["run"], "name", SOURCE)]
    before, after = ({*frame[named].astype(str).to_numpy().ravel()} for frame in (rows, kept))
    for problem in problems:
        names = tuple(name for name in problem.names if name in after)
        if len(rows) == len(kept) or not problem.names or not before.issuperset(problem.names):
            yield problem
        elif names:
            yield replace(problem, count=len(names), examples=names[:3], names=names)


def _numbers(column: pd.Series, name: str) -> pd.Series:
    """The metric as floats. A cell without a number is missing, whatever it holds: blank, NaN, '-' or a word such as OOM."""
    values = cells.numbers_of(column, name).astype(float)
    texts = column[values.isna() & column.notna()].astype(str)
    if len(texts) == column.notna().sum() and len(words := texts[~texts.str.strip().str.lower().isin(cells.BLANKS)]):
        raise UserError(f"'{name}' holds no numbers ('{words.iloc[0]:.40}'); name another column with --metric")
    return values


def _require_arms(frame: pd.DataFrame, chosen: Mapping[Role, str], arms: Sequence[str]) -> None:
    """Raises UserError for arms that stand in no column, if none is called like arms."""
    if arms and "arm" not in chosen and len({*chosen.values()} & {*frame}) < len(frame.columns):
        names = _run_names(frame, chosen)
        if names is not None and names.str.extract(finding.SEED_IN_NAME, expand=False).notna().all():
            return
        where = finding.where_arms_stand(frame, arms)
        raise UserError(f"no column holds {' and '.join(map(repr, arms))} as arms: {where}; name their column with --arm")


def _in_order(frame: pd.DataFrame, chosen: dict[Role, str], told_by: dict[Role, str]) -> tuple[pd.DataFrame, dict[Role, str]]:
    """Numbers the rows of files that are runs of one seed each and have no step: a row is a step."""
    if "step" in chosen or "seed" not in chosen:
        return frame, chosen
    if chosen["seed"] != SEED:  # seeds stand inside the files: each holds many rows of one seed
        if FILE not in frame or chosen["seed"] not in frame:
            return frame, chosen
        seeds = frame.groupby([column for column in (SOURCE, FILE) if column in frame])[chosen["seed"]]
        if seeds.nunique().max() != 1 or seeds.size().median() < LEAST_CURVE:
            return frame, chosen
    files = [column for column in (SOURCE, FILE, chosen.get("task", FILE)) if column in frame]
    places = frame.groupby(files, sort=False, dropna=False).cumcount()
    if not places.any():
        return frame, chosen
    told_by["step"] = "their files have no step"
    return frame.assign(**{ORDER: places}), {**chosen, "step": ORDER}


def _over_folds(frame: pd.DataFrame, chosen: Mapping[Role, str]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The frame with each run's mean over the folds that all runs have, in place of a row for each fold, if rows have a seed
    beside their fold. The mean of a run that lacks a value in one of them is missing."""
    folds = [str(name) for name in frame if finding.last_part(str(name)) in finding.FOLDS and name not in chosen.values()]
    if not folds or "seed" not in chosen or "step" in chosen:
        return frame, ()
    metric, fold = chosen["metric"], folds[0]
    # Each fold may have a run and a name of its own.
    roles = [chosen[role] for role in ("arm", "task", "seed") if chosen.get(role) in frame]
    settings = [str(name) for name in frame if makes_blocks(frame[name], str(name))]
    keys = [name for name in dict.fromkeys([*roles, *settings]) if name not in (metric, *folds)]
    rows = frame.assign(**{metric: cells.numbers_of(frame[metric], metric).astype(float)})
    runs = rows.groupby(keys, sort=False, dropna=False)
    if runs[fold].nunique().max() < 2:
        return frame, ()
    sizes = rows.groupby(fold).size()
    common = sizes.index[sizes >= runs.ngroups]
    if common.empty:
        return frame, ()
    kept = rows[rows[fold].isin(common)].groupby(keys, sort=False, dropna=False)
    means = kept.first().assign(**{metric: kept[metric].agg(lambda values: values.mean(skipna=False))}).reset_index()
    consequence = f"the mean over {len(common)} folds that all runs have counts, for they share training data"
    return means.drop(columns=folds), (Problem("runs that are told fold by fold", len(means), consequence),)


def _tidy(
    frame: pd.DataFrame, chosen: Mapping[Role, str], values: pd.Series, options: ReadingOptions
) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """A row for each run and step that has a value, runs in the order of the table."""
    names = _run_names(frame, chosen)
    arm, seed = _arms(frame, chosen), finding.texts(frame[chosen["seed"]]) if "seed" in chosen else None
    of_names = arm if chosen.get("arm") == SOURCE else names  # adam_seed3 is the arm adam and the seed 3
    if of_names is not None and seed is None:
        seeds = of_names.str.extract(finding.SEED_IN_NAME, expand=False)
        if seeds.notna().all():
            seed = seeds
            if arm is None or arm is of_names:
                arm = of_names.str.replace(finding.SEED_IN_NAME, "", regex=True).str.replace(PART_IN_NAME, "", regex=True)
    tidy = pd.DataFrame({"arm": "all runs" if arm is None else arm, "seed": pd.NA if seed is None else seed}, index=frame.index)
    tidy["task"] = finding.texts(frame[chosen["task"]]) if "task" in chosen else ""
    tidy["step"] = cells.numbers_of(frame[chosen["step"]], chosen["step"]).astype(float) if "step" in chosen else np.nan
    tidy["value"] = values
    for role in ("item", "cluster"):
        if role in chosen:
            tidy[role] = finding.texts(frame[chosen[role]]).fillna("")
    for factor in options.factors:
        tidy[factor] = frame[finding.column_named(frame, factor, "the claim")]
    tidy["name"] = pd.NA if names is None else names
    if "run" in chosen:
        tidy[RUN_LABEL] = finding.texts(frame[chosen["run"]])
    tidy, problems = _identified(frame, tidy, chosen)
    others = [column for column in frame if column not in chosen.values() and column not in tidy]
    tidy = pd.concat([tidy, frame.loc[tidy.index, others].add_prefix("column ")], axis=1)
    tidy = tidy.sort_values(["run", "step"], kind="stable")
    rows = tidy if "item" in chosen else _measured(tidy, options.arms)
    return rows.reset_index(drop=True), problems


def _measured(rows: pd.DataFrame, arms: Sequence[str]) -> pd.DataFrame:
    """Rows with a value, and the last row of each run that has none at its end: missing there, it is an outcome of the run.

    arms: those that claims name; others count if they were measured at all. A row of a sparse log holds no value between two
    values, and up to their usual distance behind the last one.
    """
    has_value = rows["value"].notna()
    if has_value.all():
        return rows
    is_curve = rows["step"].notna().any()
    runs_of_row = rows["run"] if is_curve else _names_of_runs(rows)
    measured = has_value.groupby(runs_of_row).transform("any")
    lost = ~measured if not is_curve else ~measured | _ends_without(rows, has_value)
    is_last = ~runs_of_row.duplicated(keep="last")
    in_use = has_value.groupby([rows["arm"], rows["task"]]).transform("any") | rows["arm"].isin(arms)
    belongs = (rows["arm"] != BLANK_ARM) & in_use
    return rows[has_value | (lost & is_last & belongs)]


def _names_of_runs(rows: pd.DataFrame) -> pd.Series:
    """Run numbers of rows without steps: one arm, task, seed and name are one run, unless neither seed nor name is known."""
    keys = ["arm", "task", "seed", "name"]
    named = rows["seed"].notna() | rows["name"].notna()
    groups = rows.groupby(keys, sort=False, dropna=False).ngroup()
    return groups.where(named, -1 - rows["run"])


def _ends_without(rows: pd.DataFrame, has_value: pd.Series) -> pd.Series:
    """Whether the run of a row goes on for longer without a value than its values lie apart."""
    steps = rows["step"].where(has_value)
    by_run = steps.groupby(rows["run"])
    gaps = rows.loc[has_value, "step"].groupby(rows.loc[has_value, "run"]).diff()
    usual = gaps.groupby(rows["run"]).median().fillna(gaps.median())
    behind = rows["step"].groupby(rows["run"]).max() - by_run.max()
    return rows["run"].map((behind > 0) & (behind >= usual.reindex(behind.index).fillna(0.0)))


def _arms(frame: pd.DataFrame, chosen: Mapping[Role, str]) -> pd.Series | None:
    if "arm" not in chosen:
        return None
    if chosen["arm"] == SOURCE:
        stems = frame[SOURCE].map(lambda source: finding.without_ending(PurePath(source).name))
        return stems if stems.nunique() == frame[SOURCE].nunique() else frame[SOURCE]
    return finding.texts(frame[chosen["arm"]]).fillna(BLANK_ARM)


def _identified(
    frame: pd.DataFrame, tidy: pd.DataFrame, chosen: Mapping[Role, str]
) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The rows with a number for each run, those of one arm, task, seed and name. Without steps every row is a run. If steps
    begin again, the run goes on if its values do; else another run begins, unless a further column tells the rows apart."""
    if "step" not in chosen:
        return tidy.assign(run=np.arange(len(frame))), ()
    keys = ["arm", "task", "seed", "name"]
    problems: tuple[Problem, ...] = ()
    others = frame[[name for name in frame if name not in chosen.values() and name not in tidy]]
    settings = _settings_of_runs(tidy, others, keys)
    keys, tidy = [*keys, *settings], tidy.join(others[settings])
    parts = _restarts(tidy, keys)
    if parts.any() and not telling(tidy.join(others), [*keys, "step"], others):
        tidy, problems = _continued(tidy, keys, parts)
        keys = [*keys, "part"]
    runs = tidy.groupby(keys, sort=False, dropna=False).ngroup()
    return tidy.drop(columns=[*settings, "part"], errors="ignore").assign(run=runs), problems


def _settings_of_runs(tidy: pd.DataFrame, others: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Settings without which several curves would be one: each tells most of the rows apart that share a step."""
    settings: list[str] = []
    candidates = [str(name) for name in others if makes_blocks(others[name], str(name))]
    rows = tidy.join(others[candidates])
    while candidates:
        known = [*keys, *settings, "step"]
        again = int(rows.duplicated(known).sum())
        counts = {name: int(rows.duplicated([*known, name]).sum()) for name in candidates}
        best = min(counts, key=lambda name: counts[name])
        if not again or 2 * counts[best] > again or _changes_in_runs(rows, [*keys, *settings, best]):
            return settings
        settings.append(best)
        candidates.remove(best)
    return settings


def _changes_in_runs(rows: pd.DataFrame, keys: Sequence[str]) -> bool:
    """Whether what would be a run has a single step: a column that changes as a run goes on is none of its settings."""
    return bool(rows.groupby(list(keys), sort=False, dropna=False)["step"].nunique().median() < 2)


def _continued(tidy: pd.DataFrame, keys: Sequence[str], parts: pd.Series) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The rows with their part, and with steps that go on if a counter began again in the middle of a run."""
    tidy = tidy.assign(part=parts)
    again = parts.groupby([tidy[name] for name in keys], dropna=False).transform("max") > 0
    restarts, superseded = {}, list[int]()
    for key, rows in tidy[again].groupby(list(keys), sort=False, dropna=False):
        measured = rows[rows["value"].notna()]
        restart = restarts_of(measured["step"].tolist(), measured["value"].tolist())
        if restart.recounted:
            restarts["/".join(text for part in key if (text := str(part)) not in ("", "<NA>", "nan"))] = restart
            tidy.loc[measured.index, "step"] = restart.steps
            superseded += [row for row, counts in zip(measured.index, restart.counts, strict=True) if not counts]
            tidy.loc[rows.index, "part"] = pd.Series(restart.run, index=measured.index).reindex(rows.index).ffill().fillna(0)
    return tidy.drop(index=superseded), problems_of(restarts) if restarts else ()


def _restarts(frame: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """The run that each row belongs to [n], of several written one after the other: each begins where the first began."""
    by = [frame[key] for key in keys]
    groups = frame["step"].groupby(by, sort=False, dropna=False)
    first = groups.transform("first")
    again = (groups.diff() < 0) & (frame["step"] <= first) & (first == groups.transform("min"))
    return again.astype(int).groupby(by, sort=False, dropna=False).cumsum()


def telling(frame: pd.DataFrame, keys: Sequence[str], columns: Iterable[object]) -> str:
    """The column with few values that tells most of the rows apart that agree in the keys; empty if there is none."""
    again = int(frame.duplicated(list(keys)).sum())
    counts = {
        str(column): int(frame.duplicated([*keys, column]).sum())
        for column in columns
        if not is_float_dtype(frame[column]) and 1 < frame[column].nunique() <= MOST_LEVELS
    }
    best = min(counts, key=lambda column: counts[column], default="")
    return best if best and 2 * counts[best] <= again else ""


def _run_names(frame: pd.DataFrame, chosen: Mapping[Role, str]) -> pd.Series | None:
    """The joined values of all columns that name runs, files or sources: 'a.txt/0'."""
    named = [column for column in (SOURCE, FILE) if column in frame and column not in chosen.values()]
    named += [str(column) for column in frame if finding.last_part(str(column)) in finding.NAMES["run"] and column not in named]
    named += [chosen["run"]] if "run" in chosen and chosen["run"] not in named else []
    named = [column for column in named if frame[column].nunique() > 1] or named[:1]
    if not named:
        return None
    texts = [finding.texts(frame[column]).map(finding.without_ending, na_action="ignore") for column in named]
    if len(texts) == 1:
        return texts[0]
    return pd.Series(["/".join(map(str, parts)) for parts in zip(*texts, strict=True)], index=frame.index)
