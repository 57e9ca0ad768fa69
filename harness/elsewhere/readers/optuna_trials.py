"""Trials of Optuna studies, from a database or a journal: each trial has hyperparameters of its own."""

import json
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError, quoted, unknown
from ...input_files import open_regular
from ..table import Role, Table
from .columns import beside, flat, frame_of
from .databases import OF_OPTUNA, tables_of
from .source import Source, problem, readable, text_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage

NAMED = "optuna:"
LEFT_OUT = "left out, and with them those whose loss was nan: Optuna counts them as failed"


def recognizes(source: Source) -> bool:
    """Databases by their tables, journals by their first line, addresses of other databases by 'optuna:' before them."""
    if source.path is None:
        return source.address.startswith(NAMED) and "://" in source.address
    return not source.is_folder and (tables_of(source.path) >= OF_OPTUNA or _is_journal(source.path))


def read(source: Source) -> Table:
    """study, number, value (values_0 … of several objectives), hyperparameters and user attributes of each complete trial.
    frame.attrs["direction"] is minimize or maximize. If no study is named, each of several is an arm. Raises UserError."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _read(source, _storage(source))
    except UserError:
        raise
    except Exception as error:  # Optuna lets the errors of its databases through
        raise source.error(f"Optuna cannot read it ({quoted(error)})", "fix that, or export them as CSV") from None
    finally:
        optuna.logging.set_verbosity(before)


def _read(source: Source, storage: "BaseStorage") -> Table:
    import optuna

    names = optuna.get_all_study_names(storage)
    if source.part and source.part not in names:
        raise unknown(f"study in {source.shown}", source.part, names)
    studies = [optuna.load_study(study_name=name, storage=storage) for name in ([source.part] if source.part else names)]
    directions = {",".join(direction.name.lower() for direction in study.directions) for study in studies}
    if len(directions) != 1:
        raise source.error(f"holds {len(names)} studies of other directions ({', '.join(names[:8])})", "name one as FILE#STUDY")
    direction = directions.pop()
    rows = [row for study in studies for row in _rows(study)]
    if not rows:
        raise source.error("holds no complete trial", "name another study as FILE#STUDY")
    with readable(source.place):
        frame = frame_of(rows)
    frame.attrs["direction"] = direction
    others = Counter(trial.state.name.lower() for study in studies for trial in study.trials) - Counter(complete=len(rows))
    roles: dict[Role, str] = {"run": "number", **({"metric": "value"} if "," not in direction else {})}
    roles |= {"arm": "study"} if len(studies) > 1 else {}
    counts = [f"{count} {state}" for state, count in others.items()]
    problems = problem("trials that are not complete", sum(others.values()), LEFT_OUT, counts)
    return Table(frame, source.shown, f"Optuna trials, {direction}", roles, problems, tuned=True)


def _rows(study: "Study") -> list[dict[str, Any]]:
    rows = []
    for trial in study.trials:
        if trial.state.name == "COMPLETE":
            values = {
                f"values_{index}" if len(trial.values) > 1 else "value": value for index, value in enumerate(trial.values)
            }
            own = {"study": study.study_name, "number": trial.number, **values}
            attributes = flat(trial.user_attrs)
            parameters = beside(flat(trial.params), {*own, *attributes}, "params_")
            rows.append({**parameters, **beside(attributes, own, "user_attrs_"), **own})
    return rows


def _storage(source: Source) -> "BaseStorage":
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if source.path is not None and _is_journal(source.path):
        text_of(source.path)  # within bounds
        return JournalStorage(JournalFileBackend(str(source.path)))
    return RDBStorage(f"sqlite:///{source.path.absolute()}" if source.path else source.address.removeprefix(NAMED))


def _is_journal(path: Path) -> bool:
    with readable(path), open_regular(path) as file:
        line = file.readline(100_000)
        try:
            return line.startswith(b"{") and "op_code" in json.loads(line)
        except ValueError:
            return False
