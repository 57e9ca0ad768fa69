"""Arms, seeds and tasks that stand in the paths of files: results/adam/seed3.csv, adam_3/log.csv, sac/walker-walk.csv.

Only what the claims name is looked for. What else differs between the paths of an arm's files is its seed if it is a number,
and its task if the same names lie under several arms and seeds are told inside the files.
"""

import re

import pandas as pd

from .roles import NAMES, ReadingOptions, last_part, text, without_ending
from .table import FILE, SOURCE, Role

ARM, SEED, TASK = "arm in the path", "seed in the path", "task in the path"
_NUMBERED = re.compile(r"^(?P<name>.*?)[_\-. ]*(?:(?:seed|run|rep|trial|version|s)[_\-=. ]?)?(?P<number>\d+)$", re.IGNORECASE)


def placed(frame: pd.DataFrame, roles: dict[Role, str], options: ReadingOptions) -> tuple[pd.DataFrame, dict[Role, str]]:
    """With columns for what the paths tell, and their roles."""
    wanted, files = {text(each) for each in options.arms}, [each for each in (SOURCE, FILE) if each in frame]
    if not wanted or not files or "arm" in roles or "arm" in options.columns:
        return frame, {}
    if any(wanted <= {text(each) for each in frame[name].unique()} for name in frame if name not in files):
        return frame, {}
    paths = frame[files[0]].astype(str).map(without_ending)
    for each in files[1:]:
        paths += "/" + frame[each].astype(str).map(without_ending)
    found = _arm_of(_parts(paths), wanted)
    if found is None:
        return frame, {}
    arm, seed, others = found
    has_seed = any(last_part(str(each)) in NAMES["seed"] for each in frame)
    if seed is None and not has_seed:
        seed, others = _seed_of(others)
    told: dict[Role, pd.Series] = {"arm": arm}
    if seed is not None and not has_seed:
        told["seed"] = seed
    if not others.empty and _is_task(frame, paths, arm, others, has_seed):
        told["task"] = others.apply("/".join, axis=1)
    names = {"arm": ARM, "seed": SEED, "task": TASK}
    return frame.assign(**{names[role]: paths.map(each) for role, each in told.items()}), {role: names[role] for role in told}


def _parts(paths: pd.Series) -> pd.DataFrame:
    """Path -> its parts that are not the same in all of them, counted from the left."""
    unique = paths.unique()
    parts = pd.DataFrame([each.split("/") for each in unique], index=unique).fillna("")
    return parts.loc[:, parts.nunique() > 1]


def _arm_of(parts: pd.DataFrame, wanted: set[str]) -> tuple[pd.Series, pd.Series | None, pd.DataFrame] | None:
    """The arm of each path, the seed if it stands in the same part, and the other parts."""
    for place in parts:
        if wanted <= {text(each) for each in parts[place]}:
            return parts[place], None, parts.drop(columns=place)
    for place in parts:
        halves = parts[place].str.extract(_NUMBERED)
        if wanted <= {text(each) for each in halves["name"].dropna()}:
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
    if others.empty or any(last_part(str(each)) in NAMES["task"] for each in frame):
        return False
    arms_of = arm.groupby([others[place] for place in others]).nunique()
    if not has_seed:
        return bool((arms_of > 1).all())
    seed = next(str(each) for each in frame if last_part(str(each)) in NAMES["seed"])
    several = frame.groupby(paths, sort=False)[seed].nunique() > 1
    return bool(several.mean() > 0.5 and (arms_of > 1).any())
