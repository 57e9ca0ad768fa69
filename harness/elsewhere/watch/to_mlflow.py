"""A watch's series in an MLflow run, in batches."""

import os
import time
from collections.abc import Sequence

from ...errors import UserError
from . import readings
from .pace import Pace
from .readings import Reading
from .seen import WatchedRun, series_of

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

# The share of a run's time for batches; the numbers that MLflow takes in one.
SHARE, BATCH = 0.005, 1000
PREFIX = "watch/"


class MlflowRun:
    """Writes into the active run, or one that is named by its id; ends none."""

    def __init__(self, run_id: str | None, run: WatchedRun):
        import mlflow

        active = mlflow.active_run()
        if run_id is None and active is None:
            raise UserError("mlflow=True: no MLflow run is active; begin one with mlflow.start_run(), or name its id")
        self.client, self.run_id, self.seen = mlflow.MlflowClient(), run_id or active.info.run_id, run
        self._waiting: list[tuple[str, float, int, int]] = []
        self._pace = Pace(SHARE)

    def add(self, new: Sequence[Reading]) -> None:
        now = int(1000 * time.time())
        rows = (row for reading in new for row in self._rows(reading))
        self._waiting += [(PREFIX + name, value, now, step) for name, step, value in rows]
        if len(self._waiting) >= BATCH and self._pace.is_due(self.seen.steps.done):
            self.flush()

    def flush(self) -> None:
        from mlflow.entities import Metric

        started, waiting = time.perf_counter(), self._waiting
        self._waiting = []
        for start in range(0, len(waiting), BATCH):
            self.client.log_batch(self.run_id, metrics=[Metric(*row) for row in waiting[start : start + BATCH]])
        self._pace.spent(self.seen.steps.done, time.perf_counter() - started)

    def _rows(self, reading: Reading) -> list[tuple[str, int, float]]:
        """Name, step, value: of the series that a reading comes to, and of each layer or activation."""
        parts = {
            readings.GRADIENTS: ("gradient_norm", self.seen.layers.names),
            readings.RATIOS: ("update_ratio", self.seen.layers.names),
            readings.SILENT: ("silent_units", self.seen.units.names if self.seen.units else ()),
        }
        rows = list[tuple[str, int, float]]()
        if (series := series_of(reading, self.seen.layers)) is not None:
            rows += [
                (series.name, step, value) for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True)
            ]
        if reading.name in parts:
            name, layers = parts[reading.name]
            by_layer = zip(layers, reading.values.tolist(), strict=False)
            rows += [(f"{name}/{_spelled(layer)}", int(reading.steps[0]), value) for layer, value in by_layer if value >= 0]
        return rows


def _spelled(layer: str) -> str:
    """MLflow takes neither brackets nor most signs."""
    return "".join(sign if sign.isalnum() or sign in "_-. /" else "_" for sign in layer)
