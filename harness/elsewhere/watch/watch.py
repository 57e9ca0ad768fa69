"""The documents' monitoring set on somebody's own training loop.

    from folklore.harness import Watch

    watch = Watch(model, optimizer)
    for x, y in batches:
        loss = loss_function(model(x), y)
        loss.backward()
        watch(loss)             # once a step, after backward or after the step; with accumulation, once a micro-batch
        optimizer.step()
        optimizer.zero_grad()
    print(watch)                # what was seen, which rules fired, and what the advice on them is worth

It reads and never writes: parameters end bit for bit as they would without it.
"""

import logging
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from . import readings
from .alarms import Alarms
from .layers import Layers, derived
from .pace import Pace, Stopwatch
from .readings import Readings
from .report import Report
from .rules import RULES
from .seen import WatchedRun
from .to_mlflow import MlflowRun
from .units import Units, is_compiled

log = logging.getLogger(__name__)

# Of a run's time, beside what every step costs: for gradient norms, for updates and units, for reading numbers and rules.
NORMS_SHARE, LOOKS_SHARE, READS_SHARE = 0.002, 0.003, 0.002
# On an accelerator, steps between two measurements at least: each waits for the device.
LEAST_STEPS = 10


class Watch:
    """Watches one model and one optimizer until it is closed; `with Watch(...) as watch` closes it at the end.

    every: updates between two measurements; by default as many as keep the cost below 3% of a step's time, as the report says.
    units: whether to look for units that are silent. scaler: the loop's GradScaler, so that updates that it skips are counted.
    mlflow: True for the active run, or a run's id; see to_mlflow.py.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        *,
        every: int | None = None,
        units: bool = True,
        scaler: torch.amp.GradScaler | None = None,
        mlflow: bool | str = False,
    ):
        self.layers, self.optimizer, self.scaler, self.updates = Layers(model, optimizer), optimizer, scaler, 0
        self.units = Units(model, self.layers.names_by_id) if units and not is_compiled(model) else None
        device = next((parameter.device for parameter in self.layers.parameters), torch.device("cpu"))
        self._stopwatch = Stopwatch(device)
        least = 1 if device.type == "cpu" else LEAST_STEPS
        self._norms, self._looks = (Pace(share, least, every) for share in (NORMS_SHARE, LOOKS_SHARE))
        self._reads = Pace(READS_SHARE, least)
        self._readings, self._losses = Readings(), list[Tensor | float]()
        self._alarms = Alarms(self.layers, self.units.names if self.units else ())
        self.seen = WatchedRun(self.layers, self.units.names if self.units else None)
        self._measured, self._is_after, self._before = False, False, list[Tensor]()
        self._copy_seconds, self._began = 0.0, time.perf_counter()
        self._begin_look()
        self._hooks = [
            optimizer.register_step_pre_hook(self._before_update),
            optimizer.register_step_post_hook(self._after_update),
        ]
        self._log = MlflowRun(None if mlflow is True else str(mlflow), self.seen) if mlflow else None

    def __call__(self, loss: Tensor | float) -> None:
        """Takes note of a loss. Losses between two updates are of one step, whose loss is their mean."""
        started = time.perf_counter()
        self._is_after |= self.updates > 0 and not self.seen.losses and not self._losses
        if isinstance(loss, Tensor):
            loss = loss.detach().item() if loss.device.type == "cpu" else loss.detach().clone()
        self._losses.append(loss)
        if self._is_after:
            self._end_losses()
        self.seen.own_seconds += time.perf_counter() - started

    def gradients(self) -> None:
        """Measures the gradients now, if it is time. For loops that clip: call it after `backward` (or `scaler.unscale_`) and
        before clipping; otherwise they are measured as the optimizer gets them."""
        if self._measured or not (self._is_looking or self._norms.is_due(self.updates)):
            return
        self._measured = True
        with self._stopwatch as watch:
            norms, step = self.layers.gradients(), self.updates + 1
            if (scale := getattr(self.optimizer, "grad_scale", None)) is not None:  # a fused optimizer unscales by itself
                norms = norms / scale
            self._readings.add(readings.GRADIENTS, step, norms)
            if (skipped := getattr(self.optimizer, "found_inf", None)) is not None:
                self._readings.add(readings.SKIPPED, step, skipped)
        self._norms.spent(self.updates, watch.seconds)
        self.seen.own_seconds += watch.seconds

    def report(self) -> Report:
        """What was seen up to now; `str(...)` is for people, `.to_dict()` for programs."""
        self._read()
        return Report.of(self.seen)

    def __str__(self) -> str:
        return str(self.report())

    def close(self) -> None:
        """Takes all hooks off model and optimizer, and logs what is left to MLflow. The report stays."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        if self.units:
            self.units.close()
        self._read()
        if self._log:
            self._log.flush()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def note_norm(self, step: int, norm: float) -> None:
        """A gradient norm that is known from elsewhere, as before clipping; its own ones are then those of layers alone."""
        self.seen.norm_is_given = True
        self._readings.add(readings.NORM, step, norm)

    def _before_update(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _closure(args, kwargs) is None:
            self.gradients()
        if self._is_looking:
            with self._stopwatch as watch:
                self._before = self.layers.copies()
            self._copy_seconds = watch.seconds
            self.seen.own_seconds += watch.seconds

    def _after_update(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        started, earlier = time.perf_counter(), self.seen.own_seconds
        if _closure(args, kwargs) is not None:
            self.gradients()
        self.updates += 1
        listened = self._end_look() if self._is_looking and self._before else 0.0
        if not self._is_after:
            self._end_losses()
        self._measured = False
        self._begin_look()
        if self._reads.is_due(self.updates):
            self._read()
            self._reads.spent(self.updates, time.perf_counter() - started)
        now = time.perf_counter()
        self.seen.own_seconds, self.seen.seconds = earlier + now - started + listened, now - self._began
        self.seen.updates = self.updates

    def _begin_look(self) -> None:
        """At the next update; its forward passes are listened to."""
        self._is_looking = self._looks.is_due(self.updates)
        if self.units:
            self.units.listens = self._is_looking

    def _end_look(self) -> float:
        """Seconds that listening took."""
        with self._stopwatch as watch:
            self._readings.add(readings.UPDATES, self.updates, self.layers.changes(self._before))
            self._readings.add(readings.LRS, self.updates, float(self.optimizer.param_groups[0]["lr"]))
            if self.units and self.units.names:
                self._readings.add(readings.SILENT, self.updates, self.units.shares())
            if self.scaler is not None and self.scaler.is_enabled():
                self._readings.add(readings.SCALE, self.updates, self.scaler.get_scale())
        listened = self.units.take_seconds() if self.units else 0.0
        self._looks.spent(self.updates - 1, self._copy_seconds + watch.seconds + listened)
        self._before = []
        return listened

    def _end_losses(self) -> None:
        """The losses since the last update become that of one step."""
        if self._losses:
            self._readings.add(readings.LOSS, self.updates, sum(self._losses) / len(self._losses))
            self._losses = []
            self.seen.losses += 1

    def _read(self) -> None:
        new = derived(self._readings.read(), self.layers, self.seen.norm_is_given)
        for event in self.seen.take(new, self._alarms.take(new)):
            log.warning("update %d: %s; print(watch) says what to do", event.step, RULES[event.rule].says)
        if self._log:
            self._log.add(new)


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an optimizer's step was called with; its gradients are there only afterwards."""
    return args[1] if len(args) > 1 else kwargs.get("closure")
