"""Trial tables made up in the shape the ledger stores, so that the truth is known."""

import zlib
from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import getitem
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.computed import called
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_sets import stored_sets
from folklore.harness.judge.verdict_memory import JudgedTrials
from folklore.harness.plan import catalog
from folklore.harness.plan.computing import computed_jobs
from folklore.harness.plan.plan import Plan, make_plan
from folklore.harness.plan.store import evidence, trial_rows, trial_schema
from folklore.harness.plan.store.computations import Computation, computation
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train import ENGINE_VERSION
from folklore.harness.train.result import NORMS, LaneResult
from folklore.harness.train.workloads.data import tokenize
from folklore.harness.train.workloads.data.text import Text

INITIAL_LOSS = 5.0


def published_names() -> list[str]:
    """Studies with published trials: a ladder may be declared and wait."""
    return [name for name in catalog.study_names() if list(evidence.FOLDER.glob(f"{name}-*.parquet"))]


@cache
def markov() -> Text:
    """Markov text over 17 symbols: long enough to split, quick to learn from."""
    generator = np.random.default_rng(7)
    transitions = generator.dirichlet(np.full(17, 0.3), size=17)
    state, symbols = 0, []
    for uniform in generator.random(60_000):
        state = min(16, int(np.searchsorted(transitions[state].cumsum(), uniform)))
        symbols.append(97 + state)
    return tokenize("markov", bytes(symbols))


def changed(study: Study, places: Mapping[str, Any] | None = None, **fields: Any) -> Study:
    """The study declared again with other fields. places: what stands elsewhere, such as {"arms.half.settings.steps": 20}."""
    dump = {**study.model_dump(), **fields}
    for path, value in (places or {}).items():
        *way, last = (int(name) if name.isdigit() else name for name in path.split("."))
        reduce(getitem, way, dump)[last] = value
    return Study.model_validate(dump)


def planned(study: Study, scale: str = "laptop") -> Plan:
    return make_plan(study, scale, "cpu", "data", lanes=16)


def result(
    test_loss: float, validation_loss: float | None = None, divergence_step: int | None = None, **curves: list[float]
) -> LaneResult:
    empty: dict[str, list[float]] = {name: [1.0] for name in trial_schema.CURVES if name != NORMS}
    return LaneResult(
        outcome="finished" if divergence_step is None else "diverged",
        divergence_step=divergence_step,
        initial_loss=INITIAL_LOSS,
        train_loss=test_loss,
        validation_loss=test_loss if validation_loss is None else validation_loss,
        test_loss=test_loss,
        lanes=1,
        program="eager",
        program_note=None,
        examples_per_second=1.0,
        seconds=0.5,
        peak_memory_bytes=1,
        step_seconds=None,
        layers=("a",),
        taps=("a",),
        curves={**empty, **curves},
        layer_curves={name: [[1.0]] for name in trial_schema.LAYER_CURVES},
    )


def rows(
    study: Study, trials: tuple[Trial, ...], outcome: Callable[[Trial], LaneResult], pack: str = "pack", scale: str = "laptop"
) -> pa.Table:
    return trial_rows.rows(
        study, scale, "cpu", "data", pack, trials, [outcome(trial) for trial in trials], {"device": "a <machine>"}
    )


def frame(study: Study, outcome: Callable[[Trial], LaneResult], scale: str = "laptop") -> pd.DataFrame:
    return trial_rows.frame(rows(study, planned(study, scale).trials, outcome, scale=scale))


def stored(study: Study, store: Store, outcome: Callable[[Trial], LaneResult], scale: str = "laptop") -> Ledger:
    """A store's ledger of the study, with all of its trials trained, pack by pack."""
    ledger = Ledger(store, study.name)
    for pack in planned(study, scale).packs:
        ledger.write(pack.key, rows(study, pack.trials, outcome, pack.key, scale))
    return ledger


def bowl(trial: Trial, optimum: float, floor: float, curvature: float = 0.05, noise: float = 0.0) -> float:
    """A loss quadratic in log2 of the LR around an optimum, with noise keyed on the trial."""
    peak_lr = trial.configuration.training.peak_lr
    generator = np.random.default_rng([trial.seed, zlib.crc32(trial.arm.encode()), int(peak_lr * 1e6)])
    return floor + curvature * (np.log2(peak_lr) - optimum) ** 2 + noise * generator.standard_normal()


def computations(study: Study, scale: str = "laptop") -> dict[str, Computation]:
    """Results of all computed jobs of a study, computed now."""
    results = {}
    for digest, job in computed_jobs(study, scale).items():
        worked = [called(job, seed) for seed in job.seeds or (None,)]
        results[digest] = computation(study.name, study.version, ENGINE_VERSION, job, worked, {}, 0.0)
    return results


def judge_stored(study: Study, store: Store) -> list[JudgedTrials]:
    return [JudgedTrials.of(records) for records in stored_sets(study, Ledger(store, study.name))]


def close(first: Any, second: Any) -> bool:
    """Equal up to the last digits of floats, which may differ between machines."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(close(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(close(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, float):
        return bool(first == pytest.approx(second, rel=1e-6, abs=1e-9, nan_ok=True))
    return bool(first == second)
