"""Roles of columns, such as metric, arm, seed and step: said by the user or the format, else guessed from names and content.

No guess is made that could change the answer: if two columns would do, reading stops with the question.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..errors import UserError, nearest, unknown
from .cells import holds_numbers, numbers_of
from .table import FILE, SOURCE, UNNAMED, Role

# Names by which columns are known, the best first, in lower case and as the last part of a dotted or slashed name.
NAMES: Mapping[Role, tuple[str, ...]] = {
    "metric": (),  # METRIC_WORDS
    "arm": (
        "arm", "method", "treatment", "variant", "algorithm", "algo", "optimizer", "optim", "config_name", "group", "model",
        "experiment", "record", "setting", "condition", "agent", "policy", "strategy", "approach", "system", "method_name",
        "model_name", "algorithm_name", "optimizer_name", "name",
    ),
    "seed": ("seed", "random_seed", "rng_seed", "manual_seed", "global_seed", "fold", "seed_id", "random_state", "seed_idx"),
    "step": (
        "step", "_step", "global_step", "steps", "iteration", "iter", "update", "tokens", "tokens_seen", "timestep",
        "timesteps", "total_timesteps", "timesteps_total", "num_timesteps", "env_step", "env_steps", "frames", "frame",
        "training_step", "train_step", "training_iteration", "iterations", "epoch", "round",
    ),
    "task": (
        "task", "dataset", "data", "benchmark", "env", "environment", "game", "workload", "env_id", "env_name", "task_name",
        "dataset_name",
    ),
    "run": ("run_id", "run", "uuid", "run_name", "trial", "trial_id", "file", "id", "replicate", "rep", "repetition"),
    # Never guessed.
    "item": (),
    "cluster": (),
}  # fmt: skip
_LOSSES = (
    "loss", "error", "err", "perplexity", "ppl", "nll", "bpb", "bpc", "mse", "mae", "rmse", "wer", "cer", "fid", "regret",
)  # fmt: skip
LOWER = (*_LOSSES, "time", "seconds", "steps", "epochs", "samples", "tokens", "converge", "cost", "latency")
HIGHER = (
    "accuracy", "acc", "f1", "auc", "auroc", "bleu", "rouge", "score", "reward", "return", "precision", "recall", "map", "iou",
    "dice", "r2", "throughput", "top1", "top5", "elo", "winrate", "success",
)  # fmt: skip
# Words of metrics that are no shares: of 0.5 and 50 neither is a percentage.
NO_SHARES = {*LOWER} - {"error", "err", "wer", "cer"} | {"reward", "return", "throughput", "elo", "value"}
METRIC_WORDS = {*_LOSSES, *HIGHER, "value", "metric", "converge"}
# Words of columns that hold results of a run, beside those that are judged.
RESULTS = {*METRIC_WORDS, "best", "final", "converged", "diverged", "norm", "grad", "gradient", "memory"}
# Settings by their usual names, for which it does not matter how many values they have.
SETTINGS = {
    "lr", "learning_rate", "peak_lr", "max_lr", "base_lr", "weight_decay", "wd", "batch_size", "bs", "dropout", "warmup_steps",
    "warmup_ratio", "momentum", "beta1", "beta2", "width", "depth", "hidden_size", "num_layers", "n_layers", "epochs",
}  # fmt: skip
# Columns of the folds of a cross-validation.
FOLDS = ("fold", "cv_fold", "fold_id", "fold_idx")
# Roles of which the user may name several columns.
SEVERAL = ("arm", "task", "seed", "item", "cluster")
# Names that evals give a repeated answer to an item, beside a seed.
REPEATED_ANSWERS = ("epoch", "sample", "sample_id", "repeat", "trial", "attempt")
# Words of columns that hold how far runs differ, which are never what is judged unless they are named.
SPREADS = {"std", "stdev", "sd", "stddev", "stderr", "sem", "se", "ci", "var", "variance"}
# Names of the column of a long table that holds the metric's name in each row.
METRIC_NAMES = ("metric", "metric_name", "measure", "variable", "key", "tag")
# Columns of one repetition each: val_loss_seed_3, seed3.
_REPEATED = re.compile(r"^(?P<name>.*?)[_\-. /]?(?:seed|run|rep)[_\-=. ]?(?P<seed>\d+)$", re.IGNORECASE)
# A seed in the name of a run or folder: adam_seed3, lr0.1-s2.
SEED_IN_NAME = re.compile(r"[_\-./ ]?(?:seed|(?<![a-z])s)[_\-=]?(\d+)(?!\d|\.\d)", re.IGNORECASE)
_WHOLE = re.compile(r"[-+]?\d{1,30}")
# Floats hold all whole numbers up to this.
LARGEST_EXACT = 2**53
# Endings of files of runs.
_ENDING = re.compile(r"(?:\.(?:csv|tsv|tab|txt|log|jsonl?|ndjson|parquet|gz|zip|db))+$", re.IGNORECASE)


@dataclass(frozen=True)
class ReadingOptions:
    """The user's choices in reading runs.

    where: 'COLUMN=VALUE', rows to keep. arms: those that claims name; factors: columns that they name; compares: whether they
    compare arms at all. tuned: every run of an arm has other hyperparameters; None: as the format says. spread, count: columns
    of the standard deviation and number of the runs that a row is the mean of.
    """

    columns: Mapping[Role, str] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    compares: bool = True
    better: str | None = None
    tuned: bool | None = None
    spread: str | None = None
    count: str | None = None


def direction_of(metric: str) -> str | None:
    """Whether lower or higher values of a metric are better, by its name; None if the name does not tell."""
    words = words_of(metric)
    words |= {re.sub(r"e?s$", "", word) for word in words}  # test_losses
    matches = {"lower": words & {*LOWER}, "higher": words & {*HIGHER}}
    if words & {"to", "until"} and matches["lower"]:  # steps to an accuracy
        return "lower"
    directions = [side for side, hits in matches.items() if hits]
    return directions[0] if len(directions) == 1 else None


def words_of(name: str) -> set[str]:
    return {word for word in re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) if word}


def kept(frame: pd.DataFrame, where: Iterable[str]) -> pd.DataFrame:
    """The rows that every condition holds of: COLUMN=VALUE, !=, or an order of numbers."""
    for condition in where:
        match = re.match(r"^(?P<column>.+?)(?P<sign><=|>=|!=|=|<|>)(?P<value>.*)$", condition)
        if match is None:
            raise UserError(
                f"--where {condition}: must be COLUMN=VALUE, or with !=, <, <=, >, >=, for example --where optimizer=adam"
            )
        column, value = column_named(frame, match["column"].strip(), "--where"), match["value"].strip()
        rows = frame[_holds(frame[column], match["sign"], value, condition)]
        if rows.empty and match["sign"] == "=":
            raise unknown(f"value of {column}", value, texts(frame[column]).dropna().unique())
        if rows.empty:
            raise UserError(f"--where {condition}: leaves no row; {column} has other values")
        frame = rows.reset_index(drop=True)
    return frame


def _holds(column: pd.Series, sign: str, value: str, condition: str) -> pd.Series:
    if sign in ("=", "!="):
        same = texts(column) == text(value)
        return same.fillna(False) if sign == "=" else ~same.fillna(False)
    try:
        bound = float(value)
    except ValueError:
        raise UserError(f"--where {condition}: '{value}' is no number; < and > order numbers alone") from None
    numbers = pd.to_numeric(column, errors="coerce")
    compared = {"<": numbers.lt, "<=": numbers.le, ">": numbers.gt, ">=": numbers.ge}[sign]
    return compared(bound).fillna(False)


def of_metric(frame: pd.DataFrame, metric: str | None, roles: dict[Role, str]) -> tuple[pd.DataFrame, dict[Role, str]]:
    """The rows of this metric, from a long table in which one column names each row's metric and another holds its value."""
    if metric is None or metric in frame or "metric" in roles:
        return frame, roles
    columns = {last_part(str(column)): str(column) for column in frame}
    names = [columns[name] for name in METRIC_NAMES if name in columns and not holds_numbers(frame[columns[name]])]
    value = columns.get("value")
    rows = frame[texts(frame[names[0]]) == metric] if names and value else frame.head(0)
    if value is None or rows.empty:
        return frame, roles
    return _with_unmeasured(frame, rows, names[0], value), {**roles, "metric": value}


def _with_unmeasured(frame: pd.DataFrame, rows: pd.DataFrame, name: str, value: str) -> pd.DataFrame:
    """The rows of a metric, and one without a value for each run that has rows of other metrics alone."""
    steps = [str(column) for column in frame if last_part(str(column)) in NAMES["step"]]
    keys = [str(column) for column in frame if column not in (name, value, *steps)]
    if steps or not keys:
        return rows.drop(columns=name).reset_index(drop=True)
    known = frame.drop_duplicates(keys)
    measured = pd.MultiIndex.from_frame(rows[keys].astype(str))
    others = known[~pd.MultiIndex.from_frame(known[keys].astype(str)).isin(measured)]
    return pd.concat([rows, others.assign(**{value: None})]).drop(columns=name).reset_index(drop=True)


def lengthened(frame: pd.DataFrame, roles: dict[Role, str], options: ReadingOptions) -> tuple[pd.DataFrame, dict[Role, str]]:
    """Wide tables with a row for each run (and step): columns that are repetitions, or the arms that claims name."""
    columns = [str(column) for column in frame.columns]
    repeated = {column: match for column in columns if (match := _REPEATED.match(column)) and _has_numbers(frame[column])}
    if len(repeated) > 1:
        absent = _trailing_blanks(frame[list(repeated)].T).T
        long = frame.melt([column for column in columns if column not in repeated], list(repeated), "_column", "_value")
        long = long[~absent.to_numpy().ravel(order="F")].reset_index(drop=True)
        parts = long.pop("_column").map(repeated)
        names = parts.map(lambda match: match["name"] or "value")
        long["seed"] = parts.map(lambda match: match["seed"])
        if names.nunique() == 1:
            return long.rename(columns={"_value": names.iloc[0]}), {**roles, "seed": "seed", "metric": names.iloc[0]}
        return long.assign(arm=names).rename(columns={"_value": "value"}), {
            **roles, "seed": "seed", "metric": "value", "arm": "arm"
        }  # fmt: skip
    if len(options.arms) > 1 and set(options.arms) <= set(columns) and not options.columns.get("arm"):
        others = {name for role in ("seed", "step", "run", "task") for name in NAMES[role]}
        free = [column for column in columns if last_part(column) not in others and holds_numbers(frame[column])]
        arms = [column for column in columns if column in options.arms or column in free]
        absent = _trailing_blanks(frame[arms])
        frame = frame.assign(**{column: numbers_of(frame[column], column) for column in arms})
        if UNNAMED in frame and not holds_numbers(frame[UNNAMED]):  # benchmarks, whose names stand below no header
            roles = {**roles, "task": roles.get("task", UNNAMED)}
        long = frame.melt([column for column in columns if column not in arms], arms, "arm", "value")
        long = long[~absent.to_numpy().ravel(order="F")].reset_index(drop=True)
        return long, {**roles, "arm": "arm", "metric": "value"}
    return frame, roles


def _has_numbers(column: pd.Series) -> bool:
    """Whether any cell is a number, whatever the others hold."""
    return bool(pd.to_numeric(column, errors="coerce").notna().any())


def _trailing_blanks(cells: pd.DataFrame) -> pd.DataFrame:
    """Mask of blank cells that no other cell of their column follows: runs that never were, in arms with fewer runs."""
    blank = cells.isna() | cells.astype(str).apply(lambda column: column.str.strip().eq(""))
    return pd.DataFrame(np.logical_and.accumulate(blank.to_numpy(bool)[::-1])[::-1], cells.index, cells.columns)


def chosen_roles(
    frame: pd.DataFrame, roles: Mapping[Role, str], options: ReadingOptions
) -> tuple[dict[Role, str], dict[Role, str]]:
    """Role -> column, and role -> who said so: you, the format, the claims, or a guess."""
    chosen: dict[Role, str] = {}
    told_by: dict[Role, str] = {}

    def choose(role: Role, column: str | None, by: str) -> None:
        if column is not None and role not in chosen:
            chosen[role], told_by[role] = column, by

    for role, name in options.columns.items():
        if role == "metric":
            choose(role, _metric_named(frame, name, roles), "you")
        else:
            choose(role, column_named(frame, name, f"--{role}"), "you")
    for role, column in roles.items():
        choose(role, column, "its format")
    # Every row of an eval is an answer: none is a step, and none a run of its own.
    for role in ("seed", "task") if "item" in chosen else ("seed", "step", "run", "task"):
        choose(role, _by_name(frame, role, chosen), "a guess from its name")
    choose("arm", _arm_in_claims(frame, options.arms, chosen), "the claims")
    if "metric" not in chosen:
        choose("metric", _only_metric(frame, chosen, options), "a guess from its name")
    if "arm" not in chosen and options.compares:
        choose("arm", _arm_by_name(frame, chosen, options), "a guess from its name")
    return chosen, told_by


def joined(frame: pd.DataFrame, options: ReadingOptions) -> pd.DataFrame:
    """The frame with one column in place of several named for a role as A,B. Raises UserError for one that is not there."""
    for role, named in options.columns.items():
        if role not in SEVERAL or "," not in named or named in frame:
            continue
        columns = [column_named(frame, name.strip(), f"--{role}") for name in named.split(",")]
        parts = [texts(frame[name]).fillna("").astype(str) for name in columns]
        together = pd.Series([", ".join(cells) for cells in zip(*parts, strict=True)], index=frame.index)
        frame = frame.drop(columns=[name for name in columns if name not in options.factors]).assign(**{named: together})
    return frame


def column_named(frame: pd.DataFrame, name: str, option: str) -> str:
    """A column by its name, or by the last part of it. Raises UserError with the nearest one."""
    if name in frame:
        return name
    same = [str(column) for column in frame if last_part(str(column)) == name.lower()]
    if len(same) == 1:
        return same[0]
    near = nearest(name, [str(column) for column in frame])
    hint = f"did you mean '{near}'?" if near else f"there are {listed(frame.columns)}"
    raise UserError(f"{option}: no column named '{name}'; {hint}")


def _metric_named(frame: pd.DataFrame, name: str, roles: Mapping[Role, str]) -> str:
    """The column that a claim or --metric names: by its name, or as the only one that holds all of its words."""
    if name in frame:
        return name
    if roles.get("metric") == "value":  # a long table has the name of its metric elsewhere
        return "value"
    alike = [str(column) for column in frame if words_of(name) <= words_of(str(column)) and holds_numbers(frame[column])]
    alike = [column for column in alike if not words_of(column) & SPREADS] or alike
    if len(alike) > 1:
        raise UserError(f"metric '{name}' could be {listed(alike)}: say which with --metric")
    return alike[0] if alike else column_named(frame, name, "metric")


def _only_metric(frame: pd.DataFrame, chosen: Mapping[Role, str], options: ReadingOptions) -> str:
    """The one column that can be judged. Raises UserError with the question if several can."""
    free = [str(column) for column in frame if column not in chosen.values() and column not in (FILE, SOURCE, *options.factors)]
    numeric = [column for column in free if holds_numbers(frame[column])]
    alike = [column for column in numeric if words_of(column) & METRIC_WORDS and not words_of(column) & SPREADS]
    candidates = alike or numeric
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise UserError(f"no column holds numbers to judge; there are {listed(frame.columns)}; name one with --metric")
    raise UserError(f"the metric could be {listed(candidates)}: say which with --metric")


def _by_name(frame: pd.DataFrame, role: Role, chosen: Mapping[Role, str]) -> str | None:
    free = {last_part(str(column)): str(column) for column in reversed(frame.columns) if column not in chosen.values()}
    names = (*NAMES[role], *REPEATED_ANSWERS) if role == "seed" and "item" in chosen else NAMES[role]
    columns = [free[name] for name in names if name in free]
    if role == "step":  # rounds of a competition have names, and epochs that are the same in all rows are a setting
        columns = [column for column in columns if holds_numbers(frame[column]) and frame[column].nunique() > 1]
    return next(iter(columns), None)


def _arm_in_claims(frame: pd.DataFrame, arms: Sequence[str], chosen: Mapping[Role, str]) -> str | None:
    """The column whose values hold all the arms that claims name. Raises UserError if there is none, or more than one."""
    if not arms or "arm" in chosen:
        return None
    wanted = {text(arm) for arm in arms}
    holding = [str(column) for column in frame if column not in chosen.values() and wanted <= {*texts(frame[column]).unique()}]
    if len(holding) > 1:
        named = [column for column in holding if last_part(column) in NAMES["arm"]]
        if len(named) != 1:
            raise UserError(f"'{arms[0]}' stands in the columns {listed(holding)}: say which holds the arms with --arm")
        holding = named
    return holding[0] if holding else None


def where_arms_stand(frame: pd.DataFrame, arms: Sequence[str]) -> str:
    """For the error that an arm is not there: which of the arms stand in which column, if not all stand in one."""
    clauses = []
    for arm in dict.fromkeys(arms):
        values = {str(column): {str(value) for value in texts(frame[column]).dropna().unique()} for column in frame}
        exact = [f"'{arm}' stands in {column}" for column, cells in values.items() if text(arm) in cells]
        alike = [
            f"'{cell}' stands in {column}" for column, cells in values.items() for cell in cells if cell.lower() == arm.lower()
        ]
        clauses.append((exact or alike or [f"'{arm}' stands in no column"])[0])
    return "; ".join(clauses)


def _arm_by_name(frame: pd.DataFrame, chosen: Mapping[Role, str], options: ReadingOptions) -> str | None:
    """The one column that is called like arms and has several values; of several sources, the source."""
    free = [str(column) for column in frame if column not in chosen.values() and column not in (FILE, *options.factors)]
    named = [column for column in free if last_part(column) in NAMES["arm"] and frame[column].nunique() > 1]
    if len(named) > 1:
        raise UserError(f"the arms could be {listed(named)}: say which with --arm (several as A,B)")
    return named[0] if named else SOURCE if SOURCE in frame else None


def texts(column: pd.Series) -> pd.Series:
    """Values as people write them: 3 for 3.0, and names as they are."""
    if is_numeric_dtype(column):
        return column.map(text, na_action="ignore")
    return column.astype(object).map(lambda value: value if isinstance(value, str) else text(value), na_action="ignore")


def text(value: object) -> str:
    """1, 1.0 and '1' alike; whole numbers with all their digits, for they may be identifiers."""
    try:
        number = float(str(value))
    except ValueError:
        return str(value)
    if isinstance(value, bool):
        return str(value)
    if _WHOLE.fullmatch(str(value)):
        return str(int(str(value)))
    return str(int(number)) if number.is_integer() and abs(number) < LARGEST_EXACT else f"{number:.10g}"


def without_ending(name: str) -> str:
    """A file's name without .csv.gz."""
    return _ENDING.sub("", name)


def last_part(column: str) -> str:
    """params.seed and config/seed as seed."""
    return re.split(r"[./]", column.lower())[-1].strip()


def listed(names: Iterable[object]) -> str:
    several = [f"'{name}'" for name in names]
    return ", ".join(several[:8]) + (f" and {len(several) - 8} more" if len(several) > 8 else "")
