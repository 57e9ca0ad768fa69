"""Settings of runs: those that both arms share become blocks or pairs, those that differ between the arms confound a claim.

Every column that is constant within a run counts, whatever it is called, but for identifiers, names, times, paths and results.
Of settings that tell the same runs apart, such as a width and the parameters that follow from it, the first counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from ..words import counted
from .claims import RunClaim
from .roles import NAMES, RESULTS, SETTINGS, last_part, texts, words_of
from .table import PREFIX

# Words of columns that say which run it is, where it lies, who made it and when.
BOOKKEEPING = {
    "checkpoint", "ckpt", "comment", "commit", "created", "date", "description", "dir", "directory", "duration", "elapsed",
    "export", "file", "finished", "folder", "git", "hash", "host", "hostname", "hours", "id", "index", "job", "metrics",
    "name", "node", "note", "notes", "path", "pid", "round", "run", "runtime", "seconds", "seed", "sha", "started", "state",
    "status", "summary", "sweep", "tag", "tags", "time", "timestamp", "uid", "unnamed", "updated", "url", "user", "uuid",
    "version", "walltime",
}  # fmt: skip
# Words whose name, version or path is a setting all the same; words that make a setting of a result, as in grad_clip.
SUBJECTS = {"dataset", "data", "model", "tokenizer", "corpus", "base", "teacher"}
QUALIFIERS = {"clip", "clipping", "coef", "coefficient", "weight", "scale", "smoothing", "size", "type", "max"}
# Columns of processes of one run.
PROCESSES = ("rank", "local_rank", "global_rank", "world_rank", "node_rank")
PATH = r"^[./~]|/.*/|\\|\.\w{1,5}$"
# Below this p value (Mann and Whitney, chi-square) settings of two arms lie apart.
APART = 0.01
# Words of columns that say which part of the data a number is of: rows of one run, which are no runs.
PARTS = {"split", "phase", "subset", "partition", "fold", "stage", "mode", "part"}
# Up to this number of blocks are shown by themselves; runs in more are paired.
MOST_BLOCKS = 12
# Blocks hold this share of the runs, or a setting that splits them further is no block.
LEAST_MATCHED = 0.5
LEAST_CELLS = 3
# A column most of whose values belong to one run is a result or an identifier.
MOST_ALONE = 0.5
# Settings that differ are named up to this number.
MOST_NAMED = 6
BLANK = "(blank)"


@dataclass(frozen=True)
class Layout:
    """Settings of two arms' runs: those that the arms share, and those in which they differ.

    blocks: settings whose values both arms have; coarser: those that follow from one of them, as a passage does from its
    question; between: settings that differ between the arms, with their values; varying: those of them that are numbers and
    vary within an arm, too.
    """

    blocks: tuple[str, ...] = ()
    coarser: tuple[str, ...] = ()
    between: tuple[tuple[str, str], ...] = ()
    varying: tuple[str, ...] = ()

    @property
    def confounds(self) -> str:
        """A clause on the settings that differ between the arms, and how to accept them; '' if none do."""
        if not self.between:
            return ""
        names = ", ".join(f"{name} ({values})" for name, values in self.between[:MOST_NAMED])
        names += f" and {len(self.between) - MOST_NAMED} more settings" if len(self.between) > MOST_NAMED else ""
        option = ",".join(name for name, _ in self.between)
        verb = "differs" if len(self.between) == 1 else "differ"
        return f"{names} {verb} between the arms, too; --also {option} accepts that"


def layout(values: pd.DataFrame, claim: RunClaim, constant: Sequence[str], accepted: Sequence[str]) -> Layout:
    """values: a row a run. constant: columns that hold one value in each run. accepted: those that may differ."""
    runs = values[values["arm"].isin(claim.arms)].reset_index(drop=True)
    is_arm = (runs["arm"] == claim.arm).to_numpy()
    plain = {name.removeprefix(PREFIX): runs[name] for name in constant if name.removeprefix(PREFIX) != claim.factor}
    levels = {name: _levels(runs["task"], column) for name, column in plain.items() if _is_setting(column, is_arm, name)}
    known = {_partition(levels[name]) for name in accepted if name in levels} - {_partition(runs["arm"])}
    levels = {name: column for name, column in levels.items() if name not in accepted and _partition(column) not in known}
    shared = [
        name
        for name, column in _independent(levels)
        if {*column[is_arm]} & {*column[~is_arm]} and makes_blocks(plain[name], name)
    ]
    blocks = _matching(levels, shared, is_arm)
    kept = {_partition(levels[name]) for name in blocks}
    coarser = [name for name in blocks if any(_follows(levels[name], levels[finer]) for finer in blocks if finer != name)]
    between = [name for name, column in levels.items() if _partition(column) not in kept and _differs(column, is_arm)]
    between = [name for name in between if not _names_the_arm(plain[name], is_arm, claim)]
    return Layout(
        tuple(name for name in blocks if name not in coarser),
        tuple(coarser),
        tuple((name, _values(plain[name], is_arm)) for name in between),
        tuple(name for name in between if _varies(plain[name], is_arm)),
    )


def constant_columns(frame: pd.DataFrame) -> list[str]:
    """The further columns of runs that hold one value in each run."""
    columns = [str(name) for name in frame if str(name).startswith(PREFIX)]
    if not frame["run"].duplicated().any():
        return columns
    first = ~frame["run"].duplicated()
    place = frame["run"].map(pd.Series(np.arange(first.sum()), index=frame.loc[first, "run"]))
    return [name for name in columns if _holds_one(frame[name], first.to_numpy(), place.to_numpy())]


def _holds_one(column: pd.Series, first: np.ndarray, place: np.ndarray) -> bool:
    """Whether each run has one value. first: which rows begin a run; place: which run a row is of."""
    codes, _ = pd.factorize(column)
    return bool((codes == codes[first][place]).all())


def _is_setting(column: pd.Series, is_arm: np.ndarray, name: str) -> bool:
    """Whether it was set and differs. A number that only one arm has, such as a beta of Adam, belongs to that arm."""
    if column.nunique(dropna=False) < 2 or not (is_setting(column, name) or _lies_apart(column, is_arm, name)):
        return False
    filled = _filled(column).to_numpy()
    return not is_numeric_dtype(column) or bool(filled[is_arm].any() and filled[~is_arm].any())


def is_setting(column: pd.Series, name: str) -> bool:
    """Whether a column of runs was set, and is no identifier, name, time, path or result."""
    return last_part(name) in SETTINGS or (not _is_about_the_run(column, name) and _repeats(column))


def makes_blocks(column: pd.Series, name: str) -> bool:
    """Whether runs of other values are other runs, and no other part of the data that the same runs were tried on."""
    return is_setting(column, name) and not words_of(name) & PARTS


def _is_about_the_run(column: pd.Series, name: str) -> bool:
    words, last = words_of(name), last_part(name)
    if last in (*NAMES["run"], *PROCESSES) or (words & BOOKKEEPING and not words & SUBJECTS):
        return True
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return bool(words & RESULTS) and not words & QUALIFIERS and not _are_counts(column)
    return not words & SUBJECTS and bool(column.astype(str).str.contains(PATH).any())


def _are_counts(column: pd.Series) -> bool:
    """Whether it holds whole numbers, such as bits or micro-batches; shares and ticks of what came out are none."""
    values = column.to_numpy(float, na_value=np.nan)
    values = values[np.isfinite(values)]
    return bool(len(values) and np.all(values % 1 == 0) and values.max() > 1)


def _repeats(column: pd.Series) -> bool:
    """Whether most runs share their value with another run."""
    return float((~column.duplicated(keep=False)).mean()) <= MOST_ALONE


def _lies_apart(column: pd.Series, is_arm: np.ndarray, name: str) -> bool:
    """Whether whole numbers that differ from run to run, as in a random search, are larger in one arm than in the other."""
    if not is_numeric_dtype(column) or is_bool_dtype(column) or _is_about_the_run(column, name):
        return False
    values = column.to_numpy(float, na_value=np.nan)
    sides = [side[np.isfinite(side)] for side in (values[is_arm], values[~is_arm])]
    if not all(map(len, sides)) or not np.all(np.concatenate(sides) % 1 == 0):
        return False
    return bool(scipy.stats.mannwhitneyu(*sides).pvalue < APART)


def _levels(task: pd.Series, column: pd.Series) -> pd.Series:
    """Values of a setting on each task, as texts."""
    return task.astype(str) + "\0" + _cells(column)


def _cells(column: pd.Series) -> pd.Series:
    """Values as texts; a blank, also one that is written as NaN, is a value of its own."""
    return texts(column).astype(object).where(_filled(column), BLANK).astype(str)


def _filled(column: pd.Series) -> pd.Series:
    return column.astype(float).notna() if is_numeric_dtype(column) else column.notna()


def _partition(column: pd.Series) -> tuple[int, ...]:
    """The runs that a column tells apart, as codes: equal for two columns one of which follows from the other."""
    return tuple(pd.factorize(column)[0])


def _follows(column: pd.Series, finer: pd.Series) -> bool:
    """Whether each value of another column goes with one value of this one, and not the other way round."""
    return bool(column.groupby(finer).nunique().max() == 1 and finer.groupby(column).nunique().max() > 1)


def _independent(levels: dict[str, pd.Series]) -> Iterator[tuple[str, pd.Series]]:
    """The settings, without those that tell the same runs apart as one before them."""
    known: set[tuple[int, ...]] = set()
    for name, column in levels.items():
        if (partition := _partition(column)) not in known:
            known.add(partition)
            yield name, column


def _matching(levels: dict[str, pd.Series], shared: Sequence[str], is_arm: np.ndarray) -> list[str]:
    """The shared settings within which runs are compared: all that leave each run a partner in the other arm and, if they
    differ between the arms, also those that leave most runs one."""
    blocks: list[str] = []
    cells = np.zeros(len(is_arm), int)
    for least, names in ((1.0, shared), (LEAST_MATCHED, [name for name in shared if _differs(levels[name], is_arm)])):
        for name in (name for name in names if name not in blocks):
            finer, _ = pd.factorize(cells * len(is_arm) + pd.factorize(levels[name])[0])
            if np.isin(finer, np.intersect1d(finer[is_arm], finer[~is_arm])).mean() >= least:
                blocks.append(name)
                cells = finer
    return [name for name in shared if name in blocks]


def _differs(column: pd.Series, is_arm: np.ndarray) -> bool:
    """Whether the arms differ in a setting: by a value that one of them lacks, or by how often they have each."""
    counts = pd.crosstab(column.to_numpy(), is_arm).to_numpy()
    return bool((counts == 0).any() or scipy.stats.chi2_contingency(counts).pvalue < APART)


def _names_the_arm(column: pd.Series, is_arm: np.ndarray, claim: RunClaim) -> bool:
    """Whether it says no more than the arm does: another name of it."""
    if is_numeric_dtype(column) or column[is_arm].nunique() > 1 or column[~is_arm].nunique() > 1:
        return False
    sides = [words_of(str(column[side].iloc[0])) for side in (is_arm, ~is_arm)]
    arms = [words_of(str(arm)) for arm in claim.arms]
    return all(arm and side and (arm <= side or side <= arm) for arm, side in zip(arms, sides, strict=True))


def _values(column: pd.Series, is_arm: np.ndarray) -> str:
    """'64 against 128'"""
    sides = [_cells(column[side]).unique() for side in (is_arm, ~is_arm)]
    return " against ".join("/".join(map(str, side[:3])) + "/…" * (len(side) > 3) for side in sides)


def _varies(column: pd.Series, is_arm: np.ndarray) -> bool:
    return bool(is_numeric_dtype(column) and max(column[is_arm].nunique(), column[~is_arm].nunique()) > 1)


def turned_by(values: pd.DataFrame, claim: RunClaim, layout: Layout) -> bool:
    """Whether the sign of the difference turns once the settings that vary within the arms, too, are held equal: by least
    squares on their ranks."""
    runs = values[values["arm"].isin(claim.arms)]
    is_arm = (runs["arm"] == claim.arm).to_numpy(float)
    ranks = [runs[PREFIX + name].astype(float).rank().to_numpy() for name in layout.varying]
    if not ranks or np.isnan(ranks).any():
        return False
    whole = float(runs["value"][is_arm == 1].mean() - runs["value"][is_arm == 0].mean())
    design = np.column_stack([is_arm, np.ones(len(runs)), *ranks])
    solution, *_ = np.linalg.lstsq(design.astype(float), runs["value"].to_numpy(float), rcond=None)
    adjusted = float(solution[0])
    return adjusted * whole < 0


@dataclass(frozen=True)
class Blocked:
    """values: the runs of a claim in their blocks, a row a run or, if they are paired by block, a row for each block of an arm.
    line: says so; '' if there are no blocks. by_cell: whether they are paired by block."""

    values: pd.DataFrame
    line: str = ""
    by_cell: bool = False


def blocked(values: pd.DataFrame, claim: RunClaim, blocks: Sequence[str]) -> Blocked:
    """Few blocks of several runs an arm become tasks; else runs are paired by block. Runs without a partner in their block are
    left out."""
    if not blocks:
        return Blocked(values)
    runs = values[values["arm"].isin(claim.arms)]
    if _seeds_hold(runs, blocks):
        return Blocked(values, f"{', '.join(blocks)} {'is' if len(blocks) == 1 else 'are'} equal within the pairs")
    labels = [name + " " + _cells(runs[PREFIX + name]) for name in blocks]
    cell = pd.Series([", ".join(label) for label in zip(*labels, strict=True)], index=runs.index)
    keys = [runs["task"], cell]
    matched = runs["arm"].groupby(keys).transform("nunique") == 2
    runs, cell = runs[matched], cell[matched]
    sizes = runs.groupby([runs["task"], cell, runs["arm"]]).size()
    cells, left_out = len(sizes) // 2, int((~matched).sum())
    lost = f"; {left_out} runs have no partner there and are left out" if left_out else ""
    if (sizes.min() > 1 and cells <= MOST_BLOCKS) or cells < LEAST_CELLS:
        names = [f"{task}, {name}" if task else name for task, name in zip(runs["task"], cell, strict=True)]
        return Blocked(runs.assign(task=names), f"compared within {', '.join(blocks)}: {counted(cells, 'block')}{lost}")
    return Blocked(_by_cell(runs, cell), f"paired by {', '.join(blocks)}: {cells} cells{lost}", by_cell=True)


def _seeds_hold(runs: pd.DataFrame, blocks: Sequence[str]) -> bool:
    """Whether pairs of one seed agree in the blocks already."""
    keys = ["task", "seed"]
    if runs["seed"].isna().any() or runs.duplicated(["arm", *keys]).any():
        return False
    groups = runs.groupby(keys, sort=False)
    same = all(groups[PREFIX + name].nunique(dropna=False).max() == 1 for name in blocks)
    return same and int((groups["arm"].nunique() == 2).sum()) >= LEAST_CELLS


def _by_cell(runs: pd.DataFrame, cell: pd.Series) -> pd.DataFrame:
    """A row for each cell of an arm: the mean of its runs, which stands for a run of the seed that is called like the cell."""
    grouped = runs.assign(cell=cell).groupby(["arm", "task", "cell"], sort=False)
    means = grouped[["value", "stop"]].mean()
    return means.assign(diverged=grouped["diverged"].any()).reset_index().rename(columns={"cell": "seed"})
