"""Runs of one metric in one form, whatever they were read from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_numeric_dtype

from ..errors import UserError
from . import cells
from . import roles as finding
from .paths import SEED, placed
from .readers import read
from .roles import ReadingOptions
from .table import FILE, MOST_ROWS, ROLES, SOURCE, Problem, Role, Table

# A column made of the order of rows.
ORDER = "order of the rows"
# This number of rows of one seed in a file are a curve.
LEAST_CURVE = 10
# A column of more values tells runs apart, not kinds of runs.
MOST_LEVELS = 50


@dataclass(frozen=True)
class Runs:
    """What is judged, a metric's runs.

    frame: arm, run (a number), name (of the run, or missing), seed (text or missing), task, step (nan if there is none), value
    (nan or inf: diverged), the factors, and what other columns there are, named "column …". roles: role -> column, told_by:
    what told it. better: 'lower', 'higher', or None if that is unknown.
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
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(self.frame["task"]))

    def final(self) -> pd.DataFrame:
        """The last row of each run."""
        return self.frame.groupby("run", sort=False).tail(1).reset_index(drop=True)

    def with_problems(self, *more: Problem) -> "Runs":
        return replace(self, problems=(*self.problems, *more))


def runs_of(sources: Sequence[str], options: ReadingOptions) -> Runs:
    """The runs of all sources together. Raises UserError with the question if a column's role is not clear."""
    tables = [read(each) for each in sources]
    frame, roles = _combined(tables)
    frame = finding.kept(frame, options.where)
    frame, roles = finding.of_metric(frame, options.columns.get("metric"), roles)
    frame, roles = finding.lengthened(frame, roles, options)
    frame, in_paths = placed(frame, roles, options)
    chosen, told_by = finding.chosen_roles(frame, {**roles, **in_paths}, options)
    told_by.update(dict.fromkeys(in_paths, "the paths of the files"))
    frame, chosen = _in_order(frame, chosen, told_by)
    _require_arms(frame, chosen, options.arms)
    named = options.columns.get("metric", chosen["metric"])
    values, problems = _numbers(frame[chosen["metric"]], chosen["metric"])
    told = {str(each.frame.attrs["direction"]) for each in tables if "direction" in each.frame.attrs}
    direction = {"minimize": "lower", "maximize": "higher"}.get(told.pop()) if len(told) == 1 else None
    return Runs(
        _tidy(frame, chosen, values, options.factors),
        named,
        chosen,
        told_by,
        options.better or finding.direction_of(named) or direction,
        tuple(sources),
        tuple(dict.fromkeys(each.format for each in tables)),
        (*(problem for each in tables for problem in each.problems), *problems),
        options.tuned if options.tuned is not None else any(each.tuned for each in tables),
    )


def _combined(tables: Sequence[Table]) -> tuple[pd.DataFrame, dict[Role, str]]:
    """All rows, with the source of each if there are several. Formats agree on a role or leave it to be guessed."""
    frames = [each.frame.assign(**{SOURCE: each.source}) if len(tables) > 1 else each.frame for each in tables]
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0].reset_index(drop=True)
    if len(frame) > MOST_ROWS:
        raise UserError(
            f"{len(frame):,} rows: at most {MOST_ROWS:,} are read at once; thin out the steps, or name fewer sources"
        )
    if frame.empty:
        raise UserError(f"{', '.join(each.source for each in tables)}: holds no rows; name a source with runs in it")
    told = {role: {each.roles.get(role) for each in tables} for role in ROLES}
    return frame, {role: only for role, (only, *others) in told.items() if only is not None and not others}


def _numbers(column: pd.Series, name: str) -> tuple[pd.Series, tuple[Problem, ...]]:
    """The metric as floats: a blank is missing, 'nan' and 'inf' stay."""
    values = cells.numbers_of(column, name)
    if is_numeric_dtype(column):
        return values, ()
    text = column[values.isna() & column.notna()].astype(str)
    wrong = text[~text.str.strip().str.lower().isin(cells.BLANKS)]
    if len(wrong) == len(column.dropna()):
        raise UserError(f"'{name}' holds no numbers ('{wrong.iloc[0]:.40}'); name another column with --metric")
    problem = Problem("values that are not numbers", len(wrong), "left out", tuple(wrong.unique()[:3]))
    return values, (problem,) * bool(len(wrong))


def _require_arms(frame: pd.DataFrame, chosen: Mapping[Role, str], arms: Sequence[str]) -> None:
    """Raises UserError for arms that stand in no column, where none is called like arms."""
    if arms and "arm" not in chosen and len({*chosen.values()} & {*frame}) < len(frame.columns):
        names = _run_names(frame, chosen)
        if names is not None and names.str.extract(finding.SEED_IN_NAME, expand=False).notna().all():
            return
        where = finding.where_arms_stand(frame, arms)
        raise UserError(f"no column holds {' and '.join(map(repr, arms))} as arms: {where}; name their column with --arm")


def _in_order(frame: pd.DataFrame, chosen: dict[Role, str], told_by: dict[Role, str]) -> tuple[pd.DataFrame, dict[Role, str]]:
    """Files that are runs of a seed each and have several rows without a step: a row is a step."""
    if "step" in chosen or "seed" not in chosen:
        return frame, chosen
    if chosen["seed"] != SEED:  # told inside the files: each holds many rows of one seed
        if FILE not in frame or chosen["seed"] not in frame:
            return frame, chosen
        seeds = frame.groupby([each for each in (SOURCE, FILE) if each in frame])[chosen["seed"]]
        if seeds.nunique().max() != 1 or seeds.size().median() < LEAST_CURVE:
            return frame, chosen
    files = [each for each in (SOURCE, FILE, chosen.get("task", FILE)) if each in frame]
    places = frame.groupby(files, sort=False, dropna=False).cumcount()
    if not places.any():
        return frame, chosen
    told_by["step"] = "their files have no step"
    return frame.assign(**{ORDER: places}), {**chosen, "step": ORDER}


def _tidy(frame: pd.DataFrame, chosen: Mapping[Role, str], values: pd.Series, factors: Sequence[str]) -> pd.DataFrame:
    """A row for each run and step that has a value, runs in the order of the table."""
    names = _run_names(frame, chosen)
    arm, seed = _arms(frame, chosen), finding.texts(frame[chosen["seed"]]) if "seed" in chosen else None
    of_names = arm if chosen.get("arm") == SOURCE else names  # adam_seed3 is the arm adam and the seed 3
    if of_names is not None and seed is None:
        found = of_names.str.extract(finding.SEED_IN_NAME, expand=False)
        if found.notna().all():
            seed = found
            if arm is None or arm is of_names:
                arm = of_names.str.replace(finding.SEED_IN_NAME, "", regex=True)
    tidy = pd.DataFrame({"arm": "all runs" if arm is None else arm, "seed": pd.NA if seed is None else seed}, index=frame.index)
    tidy["task"] = finding.texts(frame[chosen["task"]]) if "task" in chosen else ""
    tidy["step"] = cells.numbers_of(frame[chosen["step"]], chosen["step"]).astype(float) if "step" in chosen else np.nan
    tidy["value"] = values
    for each in factors:
        tidy[each] = frame[finding.column_named(frame, each, "the claim")]
    tidy["name"] = pd.NA if names is None else names
    tidy["run"] = _identities(frame, tidy, chosen)
    others = [each for each in frame if each not in chosen.values() and each not in tidy]
    tidy = pd.concat([tidy, frame[others].add_prefix("column ")], axis=1)
    has_value: pd.Series = values.notna() | np.isnan(values.to_numpy(float, na_value=0.0))  # a NaN that was written is no blank
    tidy = tidy[has_value]
    return tidy.assign(value=tidy["value"].astype(float)).sort_values(["run", "step"], kind="stable").reset_index(drop=True)


def _arms(frame: pd.DataFrame, chosen: Mapping[Role, str]) -> pd.Series | None:
    if "arm" not in chosen:
        return None
    if chosen["arm"] == SOURCE:
        stems = frame[SOURCE].map(lambda each: finding.without_ending(PurePath(each).name))
        return stems if stems.nunique() == frame[SOURCE].nunique() else frame[SOURCE]
    if chosen["arm"] in frame:
        return finding.texts(frame[chosen["arm"]]).fillna("(blank)")
    parts = [finding.texts(frame[finding.column_named(frame, each.strip(), "--arm")]) for each in chosen["arm"].split(",")]
    return pd.Series([", ".join(map(str, each)) for each in zip(*parts, strict=True)], index=frame.index)


def _identities(frame: pd.DataFrame, tidy: pd.DataFrame, chosen: Mapping[Role, str]) -> pd.Series:
    """A number for each run: what has the same arm, task, seed and name. Without steps every row is a run; where steps begin
    again another run begins, unless a further column tells the rows apart."""
    if "step" not in chosen:
        return pd.Series(np.arange(len(frame)), index=frame.index)
    keys = ["arm", "task", "seed", "name"]
    parts = _restarts(tidy, keys)
    others = frame[[each for each in frame if each not in chosen.values() and each not in tidy]]
    if parts.any() and not telling(tidy.join(others), [*keys, "step"], others):
        keys, tidy = [*keys, "part"], tidy.assign(part=parts)
    return tidy.groupby(keys, sort=False, dropna=False).ngroup()


def _restarts(frame: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Which of several runs that were written one after the other a row belongs to [n]: each begins where the first began."""
    by = [frame[each] for each in keys]
    groups = frame["step"].groupby(by, sort=False, dropna=False)
    first = groups.transform("first")
    again = (groups.diff() < 0) & (frame["step"] <= first) & (first == groups.transform("min"))
    return again.astype(int).groupby(by, sort=False, dropna=False).cumsum()


def telling(frame: pd.DataFrame, keys: Sequence[str], columns: Iterable[object]) -> str:
    """Of columns with few values the one that tells most of the rows apart that agree in the keys; empty if there is none."""
    again = int(frame.duplicated(list(keys)).sum())
    left = {
        str(each): int(frame.duplicated([*keys, each]).sum())
        for each in columns
        if not is_float_dtype(frame[each]) and 1 < frame[each].nunique() <= MOST_LEVELS
    }
    best = min(left, key=lambda each: left[each], default="")
    return best if best and 2 * left[best] <= again else ""


def _run_names(frame: pd.DataFrame, chosen: Mapping[Role, str]) -> pd.Series | None:
    """What all columns that name runs, files or sources say together: 'a.txt/0'."""
    named = [each for each in (SOURCE, FILE) if each in frame and each not in chosen.values()]
    named += [str(each) for each in frame if finding.last_part(str(each)) in finding.NAMES["run"] and each not in named]
    named += [chosen["run"]] if "run" in chosen and chosen["run"] not in named else []
    named = [each for each in named if frame[each].nunique() > 1] or named[:1]
    if not named:
        return None
    texts = [finding.texts(frame[each]).map(finding.without_ending, na_action="ignore") for each in named]
    if len(texts) == 1:
        return texts[0]
    return pd.Series(["/".join(map(str, each)) for each in zip(*texts, strict=True)], index=frame.index)
