"""The result of a computed job, as a store and the published evidence keep it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ...declare import canonical_json
from ...declare.computed import ComputedJob, Plot, Worked

# The most points that are kept of a curve, evenly on its axis, and the digits of each coordinate.
MOST_POINTS, DIGITS = 160, 5
# A number, or one for each seed.
Value = float | list[float]


@dataclass(frozen=True)
class Computation:
    """numbers: name -> value, or values in the order of the job's seeds. plots, tables: the dataclasses of declare/computed.py
    as dictionaries; of the first seed. environment: processor and libraries. seconds: of one core."""

    digest: str
    study: str
    study_version: int
    engine_version: int
    job: ComputedJob
    numbers: Mapping[str, Value]
    plots: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    environment: Mapping[str, str]
    seconds: float
    finished_at: str

    def values(self, number: str) -> dict[int | None, float]:
        """Seed -> value; of a job without seeds None -> value."""
        value = self.numbers[number]
        return dict(zip(self.job.seeds, value, strict=True)) if isinstance(value, list) else {None: value}

    def to_json(self) -> bytes:
        return (json.dumps(asdict(self), ensure_ascii=False, allow_nan=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes | str) -> "Computation":
        """Raises ValueError, TypeError or KeyError for what is no computation."""
        value = json.loads(content)
        job = ComputedJob(**{**value["job"], "seeds": tuple(value["job"]["seeds"])})
        computation = cls(**{**value, "job": job})
        if computation.digest != job.digest(computation.study, computation.study_version, computation.engine_version):
            raise ValueError("its digest is not that of its job")
        return computation


Computations = Mapping[str, Computation]


def computation(
    study: str,
    study_version: int,
    engine_version: int,
    job: ComputedJob,
    worked: list[Worked],
    environment: Mapping[str, str],
    seconds: float,
) -> Computation:
    """The computation of a job, from its calls: one, or one for each seed."""
    names = worked[0].numbers
    numbers: dict[str, Value] = {name: float(worked[0].numbers[name]) for name in names}
    if job.seeds:
        numbers = {name: [float(call.numbers[name]) for call in worked] for name in names}
    return Computation(
        job.digest(study, study_version, engine_version),
        study,
        study_version,
        engine_version,
        job,
        numbers,
        [_thinned(plot) for plot in worked[0].plots],
        [json.loads(canonical_json(asdict(table))) for table in worked[0].tables],
        environment,
        round(seconds, 3),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _thinned(plot: Plot) -> dict[str, Any]:
    curves = [asdict(curve) | _points(curve.x, curve.y, plot.log_x) for curve in plot.curves]
    bare = asdict(replace(plot, curves=()))
    return dict(json.loads(canonical_json({**bare, "curves": curves})))


def _points(x: Any, y: Any, log_x: bool) -> dict[str, list[float]]:
    if len(x) > MOST_POINTS:
        axis = np.log(x) if log_x else x
        chosen = np.unique(np.searchsorted(axis, np.linspace(axis[0], axis[-1], MOST_POINTS)).clip(max=len(x) - 1))
        x, y = x[chosen], y[chosen]
    return {name: [float(f"{value:.{DIGITS}g}") for value in values] for name, values in (("x", x), ("y", y))}
