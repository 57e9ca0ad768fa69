"""Folklore in Python: what the commands do, with results as objects that show well in a notebook.

    from folklore.harness import load_study, run, trials, curves, verdicts, columns

Paths and stores are those of the command line; the default store is FOLKLORE_STORE, else `results`.
"""

import json
import os
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..declare import Measurement, Spec, Study, Training, Workload
from ..declare.base import unit_of
from ..declare.design import Value
from ..errors import UserError, unknown
from ..judge.trial_sets import TrialSet
from ..judge.verdict import Verdict
from ..launch.events import Silent
from ..launch.ray_connection import require_no_other
from ..launch.reporter import NullReporter
from ..launch.studies import changed_as_wished
from ..options import Options
from ..plan import catalog
from ..plan.store import trial_rows, trial_schema
from ..plan.store.store import Store
from ..plan.variation import Changes, Values
from .cli.terminal import Terminal
from .reading.references import PUBLISHED, STORED, find_sets
from .reading.stored_studies import every_study, named_study
from .run_studies import FAILED, INTERRUPTED, run_studies

if TYPE_CHECKING:
    from ..train.workloads.own.workload import OwnWorkload

SOURCE = trial_schema.Column("source", None, "", "where the trial was read: this store, or published")
CURVE_COLUMNS = (
    trial_schema.Column("step", None, "steps", "the step a value belongs to, from 1"),
    trial_schema.Column("value", None, "", "the curve's value there, in the curve's own unit; nan where not finite"),
)
# A column of frames that is text in the stored table.
FINISHED = trial_schema.Column("finished_at", None, "", "when its pack was done, a timestamp in UTC")
_COUNTED = "as it is judged: a run that diverged, or ended above its start, counts with its loss at initialization"
# Stored loss -> the loss that the judge reads in its place.
JUDGED = {
    "test_loss": trial_schema.Column("judged_loss", None, "nats", f"the test loss {_COUNTED}"),
    "validation_loss": trial_schema.Column("judged_validation_loss", None, "nats", f"the validation loss {_COUNTED}"),
}
PARTS: Mapping[str, type[Spec]] = {"workload": Workload, "training": Training, "measurement": Measurement}


class Verdicts(list[Verdict]):
    """Verdicts in the order of their claims; printed a line each, a table in a notebook."""

    def frame(self) -> pd.DataFrame:
        """One row a claim, scale and device: verdict, estimate and 95% interval in `unit`, seeds, trials, and the reason."""
        rows = [dict(verdict.row()) for verdict in self]
        names = ["study", "claim", "scale", "device", "verdict", "estimate", "low", "high", "unit", "seeds", "trials", "reason"]
        return pd.DataFrame(rows, columns=names)

    def of(self, claim: str) -> "Verdicts":
        """The verdicts on one claim. Raises UserError if there is none."""
        verdicts = Verdicts(verdict for verdict in self if verdict.claim == claim)
        if not verdicts:
            raise unknown("claim among these verdicts", claim, {verdict.claim for verdict in self})
        return verdicts

    def __str__(self) -> str:
        return "\n".join(f"{verdict.claim}: {verdict.verdict}. {verdict.plain_answer}" for verdict in self)

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return self.frame().to_html(index=False, escape=True, na_rep="–", float_format=lambda value: f"{value:.4g}")


def load_study(name: str, store: str | None = None) -> Study:
    """A study by its name, from a .json or .yaml file, or one that the store declares. Raises UserError."""
    return named_study(_store(store), name)


def trials(
    study: str | Study, scale: str | None = None, store: str | None = None, device: str | None = None, source: str | None = None
) -> pd.DataFrame:
    """One row a trial: the columns that `columns(study)` describes (also in `.attrs["columns"]`).

    Beside what is stored: losses as they are judged (`judged_loss`), and every field of the configuration, factors among them,
    as a column of its own by its plain name (`optimizer`, `batch_size`, `peak_lr`).

    The store's trials, or where it has none the published ones. scale: one scale; default: all. device: cpu or cuda. source:
    stored or published alone. Raises UserError for what the study does not have; a frame without rows where nothing is there.
    """
    chosen = _study(study, store)
    sets = _sets(chosen, scale, store, device, source)
    # Curves have a frame of their own: `curves`; a factor has the same values as the configuration, which all arms have.
    parts = [trial_set.trials[list(trial_schema.SUMMARY)].assign(source=trial_set.source) for trial_set in sets]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*trial_schema.SUMMARY, SOURCE.name])
    return _described(_tidy(frame), chosen)


def curves(
    study: str | Study,
    curve: str = "train_loss",
    scale: str | None = None,
    store: str | None = None,
    device: str | None = None,
    source: str | None = None,
) -> pd.DataFrame:
    """A curve of every trial in long form: digest, scale, device, arm, seed, factors, and a row for each step and value.

    curve: train_loss, lr, evaluation_loss, or a probe, as `columns()` lists them without 'curve_'. The rest as in `trials`.
    """
    if curve not in trial_schema.STEPS_OF:
        raise unknown("curve", curve, trial_schema.STEPS_OF)
    chosen = _study(study, store)
    steps, values = (trial_schema.CURVE_PREFIX + name for name in (trial_schema.STEPS_OF[curve], curve))
    parts = []
    for trial_set in _sets(chosen, scale, store, device, source):
        # A factor of another version, whose trials lie in the same ledger, is left out.
        factors = [name for name in _factors(chosen) if name in trial_set.trials]
        kept = trial_set.trials[["digest", "scale", "device", "arm", *factors, "seed", steps, values]]
        kept = kept.astype({steps: object, values: object})  # read now
        parts.append(kept.explode([steps, values], ignore_index=True).rename(columns={steps: "step", values: "value"}))
    named = ["digest", "scale", "device", "arm", "seed", "step", "value"]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=named)
    unit = columns(chosen).loc[values, "unit"]
    frame = frame.astype({"step": "float64", "value": "float64"})
    described = _described(frame, chosen)
    described.attrs["columns"]["value"]["unit"] = unit
    return described


def columns(study: str | Study | None = None) -> pd.DataFrame:
    """Name, unit and description of the columns of `trials` and `curves`. study: marks its factors, and gives the unit of
    its loss."""
    chosen = None if study is None else _study(study, None)
    factors = [] if chosen is None else _factors(chosen)
    stored = [FINISHED if column.name == FINISHED.name else column for column in trial_schema.COLUMNS]
    fields = [_field(part, name, name in factors) for part, spec in PARTS.items() for name in spec.model_fields]
    described = [*stored, SOURCE, *JUDGED.values(), *fields, *CURVE_COLUMNS]
    of_loss = ("nats", None) if chosen is None else (chosen.loss_unit, chosen.squares_anywhere)
    described = [replace(column, unit=trial_schema.in_unit(column.unit, *of_loss)) for column in described]
    return pd.DataFrame(
        [{"column": column.name, "unit": column.unit, "description": column.description} for column in described]
    ).set_index("column")


def verdicts(
    study: str | Study | None = None,
    scale: str | None = None,
    store: str | None = None,
    device: str | None = None,
    source: str | None = None,
) -> Verdicts:
    """Verdicts on the claims, judged again from the store's trials, or if it has none from the published ones.

    study: one; default: all of the catalogue and of the store. The rest as in `trials`. Raises UserError.
    """
    chosen = every_study(_store(store), scale) if study is None else [_study(study, store)]
    sets = [records for chosen_study in chosen for records in _sets(chosen_study, scale, store, device, source)]
    return Verdicts(verdict for records in sets for verdict in records.verdicts())


def run(
    study: str | Study,
    scale: str | None = None,
    store: str | None = None,
    *,
    tracking: str | None = None,
    address: str | None = None,
    workers: int | None = None,
    lanes: int | None = None,
    program: str | None = None,
    datasets: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    only: Iterable[str] = (),
    workload: "str | OwnWorkload | None" = None,
    progress: bool = False,
) -> Verdicts:
    """`folklore run`: train what is missing, judge, write the page; returns the verdicts. Nothing is trained twice.

    progress: print what the command prints.

    workload: your own model, loss and data, by MODULE:ATTRIBUTE or, in a notebook, the object itself.
    settings, seeds, only: a variation, as by --set, --seeds and --only; of a factor a sequence of values. The other options
    are those of the command. Raises UserError where it cannot be run, RuntimeError where trials were given up or
    it could not go on, and KeyboardInterrupt where it was interrupted: what is finished is kept.
    """
    _require_main_thread()
    require_no_other()
    where = store or _default_store()
    for name, value in {"workers": workers, "lanes": lanes, "seeds": seeds}.items():
        if value is not None and value < 1:
            raise UserError(f"{name} = {value}: must be at least 1; leave it out for the default")
    options = Options(where, tracking, address, workers, lanes, program, dict(datasets or {}))
    chosen = catalog.judgeable(_study(study, where))

    def values(setting: Any) -> Values:
        several: Sequence[Value] = setting if isinstance(setting, Sequence) and not isinstance(setting, str) else (setting,)
        return tuple(several)

    changes = Changes({name: values(setting) for name, setting in (settings or {}).items()}, seeds, tuple(only))
    nobody, terminal = NullReporter(), Terminal(Silent())
    reporter = terminal if progress else nobody
    if workload is not None and not isinstance(workload, str):
        from ..train.workloads.own.finding import hand_over

        workload = hand_over(workload).address
    chosen, scale = changed_as_wished(chosen, scale, changes, workload, options, reporter.say)
    code = run_studies([chosen], scale, options, None, reporter=reporter)
    if code == INTERRUPTED:
        raise KeyboardInterrupt("what is finished is kept; the same call goes on")
    if code == FAILED:
        why = "; ".join(nobody.failures) or "the messages above say why"
        raise RuntimeError(f"trials of study '{chosen.name}' were given up: {why}")
    for warning in nobody.warnings:
        warnings.warn(warning, stacklevel=2)
    return verdicts(chosen, scale, where, source=STORED)


def _store(uri: str | None) -> Store:
    return Store(uri or _default_store())


def _default_store() -> str:
    return os.environ.get("FOLKLORE_STORE", "results")


def _require_main_thread() -> None:
    if threading.current_thread() is not threading.main_thread():
        raise UserError("a run is started from the main thread, where interrupts arrive; use `folklore run` in a process else")


def _study(study: str | Study, store: str | None) -> Study:
    return load_study(study, store) if isinstance(study, str) else study


def _sets(study: Study, scale: str | None, store: str | None, device: str | None, source: str | None) -> list[TrialSet]:
    if source not in (None, STORED, PUBLISHED):
        raise unknown("source", str(source), (STORED, PUBLISHED))
    return find_sets(_store(store), study, scale, device, source)


def _tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with losses as they are judged beside the raw ones, dates as dates, and the configuration as columns."""
    outcome, initial = frame["outcome"].to_numpy(), frame["initial_loss"].to_numpy(dtype=np.float64)
    tidy = frame.assign(finished_at=pd.to_datetime(frame["finished_at"], utc=True, format="ISO8601"))
    for loss, column in JUDGED.items():
        judged = trial_rows.judged_losses(frame[loss].to_numpy(dtype=np.float64), initial, outcome)
        tidy.insert(list(tidy.columns).index(loss) + 1, column.name, judged)
    resolved = {text: _fields(text) for text in frame["configuration"].unique()}
    names = [name for part in PARTS.values() for name in part.model_fields]
    fields = pd.DataFrame([resolved[text] for text in frame["configuration"]], columns=names, index=frame.index)
    # None, such as that of no clipping, is nan among numbers, also where all are none.
    numbers = [name for part in PARTS.values() for name, field in part.model_fields.items() if field.annotation == float | None]
    return pd.concat([tidy, fields.astype(dict.fromkeys(numbers, "float64"))], axis=1)


def _fields(configuration: str) -> dict[str, Any]:
    """A stored configuration's fields by name. A field newer than the trial has its default, which changes nothing."""
    stored = json.loads(configuration)
    fields: dict[str, Any] = {}
    for part, spec in PARTS.items():
        defaults = {name: field.default for name, field in spec.model_fields.items()}
        fields |= {**defaults, **{name: value for name, value in stored[part].items() if name in defaults}}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _factors(study: Study) -> list[str]:
    declared = [study.factors, *(arm.factors for arm in study.arms.values())]
    for scale in study.scales.values():
        declared += [scale.factors, *scale.arm_factors.values()]
    return list(dict.fromkeys([*(name for factors in declared for name in factors), *sorted(study.searched_factors)]))


def _field(part: str, name: str, is_factor: bool) -> trial_schema.Column:
    """A field of the configuration as a column."""
    about = PARTS[part].model_fields[name].description or name.replace("_", " ").replace(" lr", " LR")
    return trial_schema.Column(
        name, None, unit_of(PARTS[part], name), f"{'factor of the study' if is_factor else part}: {about}"
    )


def _described(frame: pd.DataFrame, study: Study) -> pd.DataFrame:
    about = columns(study).to_dict("index")
    frame.attrs["columns"] = {str(name): dict(about[name]) for name in frame.columns}
    return frame
