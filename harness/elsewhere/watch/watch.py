"""The documents' monitoring set on somebody's own training loop.

    from folklore.harness import Watch

    watch = Watch(model, optimizer)
    for x, y in batches:
        loss = loss_function(model(x), y)
        loss.backward()
        watch(loss)             # once a step, after backward or after the step; with accumulation, once a micro-batch
        optimizer.step()
        optimizer.zero_grad()
    print(watch)                # what was measured, and which rules fired
    print(watch.evidence())     # what the documents advise on those, and what that advice is worth

It reads and never writes: parameters end bit for bit as they would without it.
"""

import logging
import math
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ...errors import UserError
from . import readings
from .alarms import Alarms
from .hooks import heard_optimizer
from .layers import Layers, derived
from .pace import Pace, Stopwatch
from .readings import Readings
from .report import Report
from .rules import RULES
from .seen import WatchedRun
from .steps import Steps
from .to_mlflow import MlflowRun
from .units import Units, is_compiled

log = logging.getLogger(__name__)

# Shares of a run's time, beside what every step costs: for gradient norms, updates and units, reading numbers and rules.
NORMS_SHARE, LOOKS_SHARE, READS_SHARE = 0.002, 0.003, 0.002
# On an accelerator, steps between two measurements at least: each waits for the device.
LEAST_STEPS = 10
# Numbers that wait to be read, at most.
MOST_UNREAD = 256


class Watch:
    """Watches one model and one optimizer until it is closed; `with Watch(...) as watch` closes it at the end.

    optimizer: itself or a wrapper, as accelerate makes them. every: updates between two measurements; by default as many as
    keep the cost below 3% of a step's time, as the report says. units: whether to look for units that are silent. scaler: the
    loop's GradScaler, whose scale is then watched, too; by default that of accelerate's wrapper, if it has one.
    mlflow: True for the active run, or a run's id; see to_mlflow.py.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Any,
        *,
        every: int | None = None,
        units: bool = True,
        scaler: torch.amp.GradScaler | None = None,
        mlflow: bool | str = False,
    ):
        if not isinstance(model, nn.Module):
            raise UserError(
                f"model: a {type(model).__name__} is no torch.nn.Module; Watch(model, optimizer) takes the one that is called"
            )
        self.optimizer, self.steps = heard_optimizer(optimizer), Steps()
        own = getattr(optimizer, "scaler", None)
        self.scaler = own if scaler is None and isinstance(own, torch.amp.GradScaler) else scaler
        self.layers = Layers(model, self.optimizer)
        self.units = Units(model, self.layers.names_by_id) if units and not is_compiled(model) else None
        device = next((parameter.device for parameter in self.layers.parameters), torch.device("cpu"))
        self._stopwatch = Stopwatch(device)
        least = 1 if device.type == "cpu" else LEAST_STEPS
        self._norms, self._looks = (Pace(share, least, every) for share in (NORMS_SHARE, LOOKS_SHARE))
        self._reads = Pace(READS_SHARE, least)
        self._readings = Readings()
        self._alarms = Alarms(self.layers, self.units.names if self.units else ())
        self.seen = WatchedRun(self.layers, self.steps, self.units)
        self._measured, self._before = False, list[Tensor]()
        self._copy_seconds, self._began = 0.0, time.perf_counter()
        self._begin_look()
        self._hooks = [
            self.optimizer.register_step_pre_hook(self._before_update),
            self.optimizer.register_step_post_hook(self._after_update),
        ]
        self._log = MlflowRun(None if mlflow is True else str(mlflow), self.seen) if mlflow else None

    def __call__(self, loss: Tensor | float) -> None:
        """Takes note of a loss. Losses between two updates are of one step, whose loss is their mean; if there are more of them
        than a step has, their update never came."""
        started, idle = time.perf_counter(), self.steps.idle
        value = _value(loss)
        self._readings.add(readings.LOSS, self.steps.take_loss(), value)
        if self.steps.idle > idle:
            self._end_idle_step()
        # A loss that is on the host already is reported at once.
        if isinstance(value, float) and not math.isfinite(value) and "nonfinite" not in self.seen.fired:
            self._read()
        self._read_if_due(started)
        self._account(started, self.seen.own_seconds)

    @property
    def updates(self) -> int:
        return self.steps.updates

    def gradients(self) -> None:
        """Measures the gradients now, if it is time. For loops that clip: call it after `backward` (or `scaler.unscale_`) and
        before clipping; otherwise they are measured as the optimizer gets them."""
        if self._measured or not (self._is_looking or self._norms.is_due(self.steps.updates)):
            return
        self._measured = True
        with self._stopwatch as watch:
            self._look_up()
            norms, step = self.layers.gradients(max(1, self.steps.since_update)), self.steps.done + 1
            if (scale := getattr(self.optimizer, "grad_scale", None)) is not None:  # a fused optimizer unscales by itself
                norms = norms / scale
            self._readings.add(readings.GRADIENTS, step, norms)
            if (skipped := getattr(self.optimizer, "found_inf", None)) is not None:
                self._readings.add(readings.SKIPPED, step, skipped)
        self._norms.spent(self.steps.updates, watch.seconds)
        self.seen.own_seconds += watch.seconds

    def report(self) -> Report:
        """The report up to now; `str(...)` is for people, `.to_dict()` for programs."""
        self._read()
        return Report.of(self.seen)

    def __str__(self) -> str:
        return str(self.report())

    def evidence(self) -> str:
        """Each rule that fired, with its threshold, what the documents advise, and what Folklore's verdicts say of that."""
        return self.report().evidence()

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
        """Takes a gradient norm known from elsewhere, as before clipping; the watch's own norms are then of layers alone."""
        self.seen.norm_is_given = True
        self._readings.add(readings.NORM, step, norm)

    def _before_update(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _closure(args, kwargs) is None:
            self.gradients()
        elif self._is_looking:
            self._look_up()
        if self._is_looking:
            with self._stopwatch as watch:
                self._before = self.layers.copies()
            self._copy_seconds = watch.seconds
            self.seen.own_seconds += watch.seconds

    def _after_update(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        started, earlier = time.perf_counter(), self.seen.own_seconds
        if _closure(args, kwargs) is not None:
            self.gradients()
        self.steps.take_update()
        listened = self._end_look() if self._is_looking and self._before else 0.0
        self._measured = False
        self._begin_look()
        self._read_if_due(started)
        self._account(started, earlier + listened)

    def _end_idle_step(self) -> None:
        """The step before had losses and no update. Gradients that a scaler found infinite are no alarm."""
        if self.steps.stalls:
            name, losses = type(self.optimizer).__name__, self.steps.since_update
            log.warning(
                "step %d: no update of the watched %s in %d losses; print(watch) says more", self.steps.done, name, losses
            )
        self._measured = False
        if self.units:
            self.units.listens = False
        if self._scales():
            self._readings.add(readings.SKIPPED, self.steps.done, 1.0)
        else:
            self.seen.skipped += 1

    def _account(self, started: float, earlier: float) -> None:
        """earlier: seconds of its own before what has just ended."""
        now = time.perf_counter()
        self.seen.own_seconds, self.seen.seconds = earlier + now - started, now - self._began

    def _look_up(self) -> None:
        """Looks up the layers if other parameters are trained by now; measurements of the former ones are read first."""
        if self.layers.has_changed():
            self._read(self.steps.done)
            self.layers.look_up()

    def _scales(self) -> bool:
        return self.scaler is not None and self.scaler.is_enabled()

    def _begin_look(self) -> None:
        """Decides whether to look at the next update, whose forward passes are then listened to."""
        self._is_looking = self._looks.is_due(self.steps.updates)
        if self.units:
            self.units.listens = self._is_looking

    def _end_look(self) -> float:
        """Seconds that listening took."""
        with self._stopwatch as watch:
            self._readings.add(readings.UPDATES, self.steps.done, self.layers.changes(self._before))
            if lrs := self.layers.lrs():
                self._readings.add(readings.LRS, self.steps.done, np.array(lrs))
            if self.units and self.units.names:
                self._readings.add(readings.SILENT, self.steps.done, self.units.shares())
        listened = self.units.take_seconds() if self.units else 0.0
        self._looks.spent(self.steps.updates - 1, self._copy_seconds + watch.seconds + listened)
        self._before = []
        return listened

    def _read_if_due(self, started: float) -> None:
        """Reads by losses as well as by updates, of which either may stay away."""
        count = max(self.steps.updates, self.steps.losses)
        if self._readings.unread >= MOST_UNREAD or self._reads.is_due(count):
            self._read(self.steps.done)
            if self._readings.unread >= MOST_UNREAD:
                self._read()
            self._reads.spent(count, time.perf_counter() - started)

    def _read(self, last: int | None = None) -> None:
        """last: the last step that is done; None to read what is of an unfinished one, too."""
        if self.scaler is not None and self._scales():
            self._readings.add(readings.SCALE, self.steps.done, self.scaler.get_scale())
        new = derived(self._readings.read(last), self.layers, self.seen.norm_is_given)
        for event in self.seen.take(new, self._alarms.take(new)):
            log.warning("step %d: %s; print(watch.evidence()) says what to do", event.step, RULES[event.rule].says)
        if self._log:
            self._log.add(new)


def _value(loss: Tensor | float) -> Tensor | float:
    """A number, or a copy that waits on its device."""
    if not isinstance(loss, Tensor):
        return float(loss)
    return loss.detach().item() if loss.device.type == "cpu" else loss.detach().clone()


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The closure that an optimizer's step was called with; its gradients are there only afterwards."""
    return args[1] if len(args) > 1 else kwargs.get("closure")
