"""Arms, seeds and tasks that stand in the paths of files: results/adam/seed3.csv, adam_3/log.csv, sac/walker-walk.csv.

Only arms that the claims name are looked for. Another part in which the paths of an arm's files differ is the seed if it is a
number, and the task if the same names lie under several arms and seeds stand inside the files.
"""

import re

import pandas as pd

from .roles import NAMES, ReadingOptions, last_part, text, without_ending
from .table import FILE, SOURCE, Role

ARM, SEED, TASK = "arm in the path", "seed in the path", "task in the path"
_NUMBERED = re.compile(r"^(?P<name>.*?)[_\-. ]*(?:(?:seed|run|rep|trial|version|s)[_\-=. ]?)?(?P<number>\d+)$", re.IGNORECASE)


def placed(frame: pd.DataFrame, roles: dict[Role, str], options: ReadingOptions) -> tuple[pd.DataFrame, dict[Role, str]]:
    """The frame with columns for arms, seeds and tasks in the paths, and the roles of these columns."""
    wanted, files = {text(arm) for arm in options.arms}, [column for column in (SOURCE, FILE) if column in frame]
    if not wanted or not files or "arm" in roles or "arm" in options.columns:
        return frame, {}
    if any(wanted <= {text(cell) for cell in frame[name].unique()} for name in frame if name not in files):
        return frame, {}
    paths = frame[files[0]].astype(str).map(without_ending)
    for column in files[1:]:
        paths += "/" + frame[column].astype(str).map(without_ending)
    placement = _arm_of(_parts(paths), wanted)
    if placement is None:
        return frame, {}
    arm, seed, others = placement
    has_seed = any(last_part(str(column)) in NAMES["seed"] for column in frame)
    if seed is None and not has_seed:
        seed, others = _seed_of(others)
    columns: dict[Role, pd.Series] = {"arm": arm}
    if seed is not None and not has_seed:
        columns["seed"] = seed
    if not others.empty and _is_task(frame, paths, arm, others, has_seed):
        columns["task"] = others.apply("/".join, axis=1)
    names = {"arm": ARM, "seed": SEED, "task": TASK}
    return frame.assign(**{names[role]: paths.map(values) for role, values in columns.items()}), {
        role: names[role] for role in columns
    }


def _parts(paths: pd.Series) -> pd.DataFrame:
    """Path -> its parts that are not the same in all of them, counted from the left."""
    unique = paths.unique()
    parts = pd.DataFrame([path.split("/") for path in unique], index=unique).fillna("")
    return parts.loc[:, parts.nunique() > 1]


def _arm_of(parts: pd.DataFrame, wanted: set[str]) -> tuple[pd.Series, pd.Series | None, pd.DataFrame] | None:
    """The arm of each path, the seed if it stands in the same part, and the other parts."""
    for place in parts:
        if wanted <= {text(part) for part in parts[place]}:
            return parts[place], None, parts.drop(columns=place)
    for place in parts:
        halves = parts[place].str.extract(_NUMBERED)
        if wanted <= {text(name) for name in halves["name"].dropna()}:
            return halves["name"].fillna(parts[place]), halves["number"], parts.drop(columns=place)
    return None


def _seed_of(others: pd.DataFrame) -> tuple[pd.Series | None, pd.DataFrame]:
    """The one part that is a number, alone or after a word for seeds; and the parts without it."""
    numbered = {place: others[place].str.extract(_NUMBERED) for place in others}
    fitting = [place for place, halves in numbered.items() if halves["number"].notna().all() and halves["name"].nunique() == 1]
    if len(fitting) != 1:
        return None, others
    return numbered[fitting[0]]["number"], others.drop(columns=fitting)


def _is_task(frame: pd.DataFrame, paths: pd.Series, arm: pd.Series, others: pd.DataFrame, has_seed: bool) -> bool:
    """Whether the same names lie under several arms, and the files hold several seeds each if seeds stand in them."""
    if others.empty or any(last_part(str(column)) in NAMES["task"] for column in frame):
        return False
    arms_of = arm.groupby([others[place] for place in others]).nunique()
    if not has_seed:
        return bool((arms_of > 1).all())
    seed = next(str(column) for column in frame if last_part(str(column)) in NAMES["seed"])
    several = frame.groupby(paths, sort=False)[seed].nunique() > 1
    return bool(several.mean() > 0.5 and (arms_of > 1).any())
