"""Folklore in Python: what the commands do, with results as objects that show well in a notebook.

    from harness import load_study, run, trials, curves, verdicts, columns

Paths and stores are those of the command line; where no store is given it is FOLKLORE_STORE, else `results`.
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from harness import catalog, table
from harness.errors import UserError, unknown
from harness.judge import Verdict
from harness.options import Options
from harness.records import RecordSet
from harness.references import PUBLISHED, STORED, find_sets
from harness.spec import Measurement, Study, Training, Workload
from harness.store import Store
from harness.stored_studies import every_study, named_study
from harness.variation import Changes, Values

SOURCE = table.Column("source", None, "", "where the trial was read: this store, or published")
CURVE_COLUMNS = (
    table.Column("step", None, "steps", "the step a value belongs to, from 1"),
    table.Column("value", None, "", "the curve's value there, in the curve's own unit; nan where not finite"),
)
# Units of what may be a factor; all others have none.
UNITS = {
    "batch_size": "sequences or examples",
    "steps": "steps",
    "context": "tokens",
    "patience": "evaluations",
    "evaluation_examples": "sequences or examples",
    "final_examples": "sequences or examples",
}


class Verdicts(list[Verdict]):
    """Verdicts in the order of their claims; a table in a notebook."""

    def frame(self) -> pd.DataFrame:
        """One row a claim, scale and device: verdict, estimate and 95% interval in `unit`, seeds, trials, and the reason."""
        rows = [{**verdict.row(), "unit": verdict.unit} for verdict in self]
        names = ["study", "claim", "scale", "device", "verdict", "estimate", "low", "high", "unit", "seeds", "trials", "reason"]
        return pd.DataFrame(rows, columns=names)

    def of(self, claim: str) -> "Verdicts":
        """Those of one claim. Raises UserError where there is none."""
        found = Verdicts(each for each in self if each.claim == claim)
        if not found:
            raise unknown("claim among these verdicts", claim, {each.claim for each in self})
        return found

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return self.frame().to_html(index=False, escape=True, na_rep="–", float_format=lambda value: f"{value:.4g}")


def load_study(name: str, store: str | None = None) -> Study:
    """A study by its name, from a .json or .yaml file, or one that the store declares. Raises UserError."""
    return named_study(_store(store), name)


def trials(
    study: str | Study, scale: str | None = None, store: str | None = None, device: str | None = None, source: str | None = None
) -> pd.DataFrame:
    """One row a trial: the columns that `columns(study)` describes (also in `.attrs["columns"]`), a column for each factor.

    The store's trials, or where it has none the published ones. scale: one scale; default: all. device: cpu or cuda. source:
    stored or published alone. Raises UserError for what the study does not have; a frame without rows where nothing is there.
    """
    chosen = _study(study, store)
    sets = _sets(chosen, scale, store, device, source)
    # Curves have a frame of their own: `curves`.
    parts = [each.trials[_plain(each.trials)].assign(source=each.source) for each in sets]
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*table.SUMMARY, SOURCE.name])
    return _described(found, chosen)


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
    if curve not in table.STEPS_OF:
        raise unknown("curve", curve, table.STEPS_OF)
    chosen = _study(study, store)
    steps, values = (table.CURVE_PREFIX + name for name in (table.STEPS_OF[curve], curve))
    parts = []
    for each in _sets(chosen, scale, store, device, source):
        factors = [name for name in each.trials if name not in table.SCHEMA.names]
        kept = each.trials[["digest", "scale", "device", "arm", *factors, "seed", steps, values]]
        parts.append(kept.explode([steps, values], ignore_index=True).rename(columns={steps: "step", values: "value"}))
    named = ["digest", "scale", "device", "arm", "seed", "step", "value"]
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=named)
    unit = columns(chosen).loc[values, "unit"]
    found = found.astype({"step": "float64", "value": "float64"})
    described = _described(found, chosen)
    described.attrs["columns"]["value"]["unit"] = unit
    return described


def columns(study: str | Study | None = None) -> pd.DataFrame:
    """What the columns of `trials` and `curves` hold: name, unit and description. study: with its factors and its unit."""
    described = [*table.COLUMNS, SOURCE, *CURVE_COLUMNS]
    if study is not None:
        chosen = _study(study, None)
        described += [_factor(name) for name in _factors(chosen)]
        described = [replace(each, unit=_in_unit(each.unit, chosen.loss_unit)) for each in described]
    return pd.DataFrame(
        [{"column": each.name, "unit": each.unit, "description": each.description} for each in described]
    ).set_index("column")


def _in_unit(unit: str, of_loss: str) -> str:
    """A column's unit where the loss has its own; one without a unit leaves none."""
    return unit.replace("nats", of_loss) if of_loss or "nats" not in unit else ""


def verdicts(
    study: str | Study | None = None,
    scale: str | None = None,
    store: str | None = None,
    device: str | None = None,
    source: str | None = None,
) -> Verdicts:
    """What becomes of the claims: judged anew from the store's trials, or where it has none from the published ones.

    study: one; default: all of the catalogue and of the store. The rest as in `trials`. Raises UserError.
    """
    chosen = every_study(_store(store), scale) if study is None else [_study(study, store)]
    sets = [records for each in chosen for records in _sets(each, scale, store, device, source)]
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
) -> Verdicts:
    """`folklore run`: train what is missing, judge, write the page; returns the verdicts. Nothing is trained twice.

    settings, seeds, only: a variation, as by --set, --seeds and --only; of a factor a sequence of values. The other options
    are those of the command. Raises UserError where it cannot be run, RuntimeError where trials were given up or
    it could not go on, and KeyboardInterrupt where it was interrupted: what is finished is kept.
    """
    from harness.launch import FAILED, INTERRUPTED, launch, varied
    from harness.ray_connection import require_no_other
    from harness.spec.study import Value

    _require_main_thread()
    require_no_other()
    where = store or _default_store()
    for name, value in {"workers": workers, "lanes": lanes, "seeds": seeds}.items():
        if value is not None and value < 1:
            raise UserError(f"{name} = {value}: must be at least 1; leave it out for the default")
    options = Options(where, tracking, address, workers, lanes, program, dict(datasets or {}))
    chosen = catalog.judgeable(_study(study, where))

    def values(given: Any) -> Values:
        several: Sequence[Value] = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        return tuple(several)

    changes = Changes({name: values(given) for name, given in (settings or {}).items()}, seeds, tuple(only))
    if changes:
        chosen, scale = varied(chosen, scale, changes, options)
    code = launch([chosen], scale, options, None)
    if code == INTERRUPTED:
        raise KeyboardInterrupt("what is finished is kept; the same call goes on")
    if code == FAILED:
        raise RuntimeError(f"trials of study '{chosen.name}' were given up; the messages above say why")
    return verdicts(chosen, scale, where, source=STORED)


def _store(given: str | None) -> Store:
    return Store(given or _default_store())


def _default_store() -> str:
    return os.environ.get("FOLKLORE_STORE", "results")


def _require_main_thread() -> None:
    if threading.current_thread() is not threading.main_thread():
        raise UserError("a run is started from the main thread, where interrupts arrive; use `folklore run` in a process else")


def _study(study: str | Study, store: str | None) -> Study:
    return load_study(study, store) if isinstance(study, str) else study


def _sets(study: Study, scale: str | None, store: str | None, device: str | None, source: str | None) -> list[RecordSet]:
    if source not in (None, STORED, PUBLISHED):
        raise unknown("source", str(source), (STORED, PUBLISHED))
    return find_sets(_store(store), study, scale, device, source)


def _plain(found: pd.DataFrame) -> list[str]:
    """Columns with one value a trial."""
    return [str(name) for name in found if name in table.SUMMARY or name not in table.SCHEMA.names]


def _factors(study: Study) -> list[str]:
    searched = [study.search.factor] if study.search else []
    declared = [study.factors, *(arm.factors for arm in study.arms.values())]
    for scale in study.scales.values():
        declared += [scale.factors, *scale.arm_factors.values()]
    return list(dict.fromkeys([*(name for each in declared for name in each), *searched]))


def _factor(name: str) -> table.Column:
    for part in (Workload, Training, Measurement):
        if name in part.model_fields:
            about = part.model_fields[name].description or name.replace("_", " ").replace(" lr", " LR")
            return table.Column(name, None, UNITS.get(name, ""), f"factor of the study: {about}")
    raise AssertionError(f"'{name}' is no field of a configuration, so no factor")


def _described(found: pd.DataFrame, study: Study) -> pd.DataFrame:
    about = columns(study).to_dict("index")
    # A factor of another version, whose trials lie in the same ledger.
    found = found.drop(columns=[name for name in found if name not in about and found[name].isna().all()])
    found.attrs["columns"] = {str(name): dict(about[name]) for name in found.columns}
    return found
