"""The pack loop: K trials of equal shape trained as one program.

Randomness is keyed on seed and step, so a pack can stop after any step and go on from its state, and a lane's curve
does not depend on its neighbours beyond rounding (tests state how much).
"""

import math
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from folklore.harness.data import STEPS_PER_DRAW, Dataset, Split
from folklore.harness.errors import UserError
from folklore.harness.spec import Configuration
from folklore.harness.spec.configuration import LOSS_SCALES
from folklore.harness.training.agreement import StepCheck
from folklore.harness.training.clipping import clip_factor, clip_limits
from folklore.harness.training.loss_scaling import LossScaler
from folklore.harness.training.measured_steps import evaluation_steps, probe_steps
from folklore.harness.training.network import lr_multipliers
from folklore.harness.training.number_formats import format_named
from folklore.harness.training.optimizers import make_optimizer
from folklore.harness.training.own_network import make_network
from folklore.harness.training.plateau import PlateauRule
from folklore.harness.training.probes import PROBES
from folklore.harness.training.probes.base import ProbedStep
from folklore.harness.training.programs import EAGER, Program, StepRunner
from folklore.harness.training.result import LaneResult, lane_result
from folklore.harness.training.schedules import learning_rate_table


@dataclass(frozen=True)
class Lane:
    """One trial's slot in a pack."""

    configuration: Configuration
    seed: int


class Pack:
    """Trains its lanes side by side. Call `advance` until `done`, then `results`.

    What a plain step needs lies on the device, the number of the step (`clock`) among it; program says how it is run. Probed
    steps are always run eagerly.
    Raises UserError for lanes that cannot share a pack, and for data that do not fit the model.
    """

    def __init__(self, lanes: Sequence[Lane], dataset: Dataset, device: str = "cpu", program: Program = EAGER):
        first = lanes[0].configuration
        if any(lane.configuration.pack_key != first.pack_key for lane in lanes):
            raise UserError("lanes of a pack must agree in everything but per-lane hyper-parameters; plan them apart")
        dataset.check(first.workload.context)
        self.lanes = tuple(lanes)
        self.workload, self.training, self.measurement = first.workload, first.training, first.measurement
        self.dataset, self.device = dataset, torch.device(device)
        self.trainings = [lane.configuration.training for lane in lanes]
        self.seeds = [lane.seed for lane in lanes]
        tensor_cores = format_named(self.training.precision).tensor_cores
        torch.backends.cuda.matmul.allow_tf32 = tensor_cores
        torch.backends.cudnn.allow_tf32 = tensor_cores  # an own module's convolutions
        self.network = make_network(self.workload, dataset.facts, self.seeds, self.device, self.training.precision)
        self.optimizer = make_optimizer(self.trainings, self.network.flat_KP, self.network.decays_P)
        self.scaler = LossScaler(self.trainings, self.device)
        self.lr_SK = torch.from_numpy(learning_rate_table(self.trainings)).float().to(self.device)
        self.plateau = PlateauRule(self.trainings, self.device)
        multipliers = lr_multipliers(self.workload, self.training, self.network.model)
        self.lr_multiplier_P = None
        if any(multiplier != 1.0 for multiplier in multipliers):
            self.lr_multiplier_P = self.network.spread(multipliers)
        self.arrays = tuple(array.to(self.device) for array in dataset.training_arrays(self.workload.label_noise))
        self.probe_steps = probe_steps(self.training.steps, self.measurement)
        self.evaluation_steps = evaluation_steps(self.training.steps, self.measurement)
        self.taps = self._tap_names()
        self.probes = [probe for probe in PROBES if probe.serves(self.measurement)]
        self.clip_limit_K = clip_limits(self.trainings, self.device)
        self.step = 0
        self.clock = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.seconds = 0.0
        self.step_times: list[float] = []  # of plain steps that prepare nothing
        self.plain_peak_bytes = 0
        self.records = self._empty_records()
        self._drawn: int | None = None
        self._draws = torch.zeros((STEPS_PER_DRAW, len(lanes), self.training.batch_size), dtype=torch.int64, device=self.device)
        # What an own module does in a step is not known to be safe to compile or capture.
        program = program if self.network.shows else EAGER
        self.runner = StepRunner(self._plain_step, program, self.device, None if program == EAGER else self._step_check())

    @property
    def done(self) -> bool:
        return self.step >= self.training.steps

    def advance(self, seconds: float = math.inf) -> None:
        """Train until the end, or for about so many seconds, one step at the least."""
        started = time.perf_counter()
        if self.step == 0:
            sample = self._sample("validation", self.measurement.evaluation_examples)
            self.records["initial_loss"].copy_(self.network.evaluate(*sample))
        while not self.done:
            self._timed_step() if self.measurement.solo else self._train_step()
            if time.perf_counter() - started >= seconds:
                break
        if self.done:
            for split in ("validation", "test"):
                sample = self._sample(split, self.measurement.final_examples)
                self.records[f"{split}_loss"].copy_(self.network.evaluate(*sample))
        self.seconds += time.perf_counter() - started

    def time_steps(self, count: int) -> float:
        """Mean time of so many plain steps, in seconds, to choose a width by. The first step is repeated: the pack is of no
        further use."""
        self._draw()
        self._synchronize()
        started = time.perf_counter()
        for _ in range(count):
            self.clock.zero_()
            self.runner()
        self._synchronize()
        return (time.perf_counter() - started) / count

    def _timed_step(self) -> None:
        """A step with the device's queue empty before and after it, so that its time is its own."""
        plain = self.step > 0 and self.step not in self._probe_index and self.step not in self._evaluation_index
        self._synchronize()
        if plain and self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)  # probes and evaluations are not the run's own
        settled, started = self.runner.settled, time.perf_counter()
        self._train_step()
        self._synchronize()
        if plain:
            if settled:
                self.step_times.append(time.perf_counter() - started)
            # A replayed graph allocates nothing that is counted: the steps that prepare it show what it takes.
            if self.device.type == "cuda":
                self.plain_peak_bytes = max(self.plain_peak_bytes, torch.cuda.max_memory_allocated(self.device))

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _train_step(self) -> None:
        self._draw()
        self.network.step = self.step
        if self.step in self._probe_index:
            self._probed_step(self._probe_index[self.step])
        else:
            self.runner()
        if self.step in self._evaluation_index:
            sample = self._sample("validation", self.measurement.evaluation_examples)
            evaluated_K = self.network.evaluate(*sample)
            self.records["evaluation_loss"][self._evaluation_index[self.step]] = evaluated_K
            if self.plateau.any_follows:
                self.lr_SK[self.step + 1 :] *= self.plateau.drops(evaluated_K)
        self.step += 1

    def _plain_step(self) -> None:
        """A step that measures nothing but its loss, on tensors of the device alone."""
        inputs, targets = self._batch()
        losses_K, gradient_KP = self.network.gradient(
            inputs, targets, scale_K=self.scaler.scale, out_KP=self.optimizer.gradient_KP
        )
        self._learn(losses_K, gradient_KP)

    def _step_check(self) -> StepCheck:
        """Compares a program with the eager step in all that a step could change."""
        tensors = {name: each for name, each in self.state().items() if name != "progress"} | {"clock": self.clock}
        return StepCheck(
            tensors,
            self.optimizer,
            lambda clipped_KP: self._update(clipped_KP, clipped_KP),
            self.network.layer_sizes,
            self.network.decays_P,
            self.training.precision,
        )

    def _probed_step(self, row: int) -> None:
        """The same step with everything that is looked at."""
        inputs, targets = self._batch()
        scale_K = self.scaler.scale
        losses_K, gradient_KP = self.network.gradient(inputs, targets, scale_K=scale_K)
        step, found = ProbedStep(self.network, inputs, targets, gradient_KP, scale_K, self.taps), dict[str, Tensor]()
        with self.network.buffers_kept():
            for probe in self.probes:
                found |= probe.before_update(step)
        before_KP = self.network.flat_KP.clone()
        self._learn(losses_K, gradient_KP)
        for probe in self.probes:
            found |= probe.after_update(step, before_KP)
        for name, value in found.items():
            self.records[name][row] = value

    @torch.no_grad()
    def _learn(self, losses_K: Tensor, gradient_KP: Tensor) -> None:
        """Note the losses, clip, update the parameters, and move the clock on."""
        self.records["train_loss"].index_copy_(0, self.clock, losses_K.unsqueeze(0))
        clipped_KP = gradient_KP
        if self.clip_limit_K is not None:
            clipped_KP = gradient_KP * clip_factor(gradient_KP.norm(dim=1), self.clip_limit_K)
        self._update(gradient_KP, clipped_KP)
        self.clock.add_(1)

    def _update(self, gradient_KP: Tensor, clipped_KP: Tensor) -> None:
        """Apply the optimizer; with dynamic loss scaling a lane whose gradient is not finite stays as it is."""
        lr = self.lr_SK.index_select(0, self.clock).view(-1, 1)
        if self.lr_multiplier_P is not None:
            lr = lr * self.lr_multiplier_P
        parameters_KP = self.network.flat_KP
        if not self.scaler.skips:
            self.optimizer.update(parameters_KP, clipped_KP, lr, self.clock.double().view(1, 1))
            return
        finite_K = gradient_KP.isfinite().all(dim=1)
        changed = [parameters_KP, *self.optimizer.state.values()]
        before = [tensor.clone() for tensor in changed]
        self.optimizer.update(parameters_KP, clipped_KP, lr, self.scaler.state["updates"].double().unsqueeze(1))
        for tensor, old in zip(changed, before, strict=True):
            tensor.copy_(torch.where(finite_K.unsqueeze(1), tensor, old))
        self.scaler.update(finite_K)

    def _draw(self) -> None:
        """Put the batches of the steps around this one where `_batch` finds them; lanes of equal seed see equal ones."""
        draw = self.step // STEPS_PER_DRAW
        if self._drawn == draw:
            return
        by_seed = {
            seed: self.dataset.batch_index(seed, draw, self.training.batch_size, self.workload.context)
            for seed in dict.fromkeys(self.seeds)
        }
        self._draws.copy_(torch.from_numpy(np.stack([by_seed[seed] for seed in self.seeds], axis=1)))
        self._drawn = draw

    def _batch(self) -> tuple[Tensor, Tensor]:
        """This step's training examples, [K, B, ...]."""
        index_KB = self._draws.index_select(0, self.clock % STEPS_PER_DRAW)[0]
        return self.dataset.gather(self.arrays, index_KB, self.workload.context)

    def _sample(self, split: Split, examples: int) -> tuple[Tensor, Tensor]:
        """The fixed examples a split is evaluated on, [examples, ...]."""
        index = torch.from_numpy(self.dataset.sample_index(split, examples, self.workload.context)).to(self.device)
        return self.dataset.gather(self._arrays(split), index, self.workload.context)

    def _arrays(self, split: Split) -> tuple[Tensor, ...]:
        return tuple(array.to(self.device) for array in self.dataset.arrays(split))

    @torch.no_grad()
    def _tap_names(self) -> tuple[str, ...]:
        """What the model notes of its activations, in order; asked of one example."""
        if not self.network.shows:
            return ()
        shown: dict[str, Tensor] = {}
        inputs, targets = self._sample("validation", 1)
        lanes = len(self.lanes)
        self.network.losses(inputs.expand(lanes, *inputs.shape), targets.expand(lanes, *targets.shape), shown.__setitem__)
        return tuple(shown)

    def _empty_records(self) -> dict[str, Tensor]:
        """Everything measured stays on the device until the pack ends; nan marks what was not reached."""
        self._probe_index = {step: row for row, step in enumerate(self.probe_steps)}
        self._evaluation_index = {step: row for row, step in enumerate(self.evaluation_steps)}
        lanes, probed = len(self.lanes), len(self.probe_steps)
        across = {"": (), "layers": self.network.layers, "taps": self.taps, "loss_scales": LOSS_SCALES}
        widths = {name: (len(each),) if name else () for name, each in across.items()}
        shapes: dict[str, tuple[int, ...]] = {
            "initial_loss": (lanes,),
            "validation_loss": (lanes,),
            "test_loss": (lanes,),
            "train_loss": (self.training.steps, lanes),
            "evaluation_loss": (len(self.evaluation_steps), lanes),
        }
        recorded = [curve for probe in self.probes for curve in probe.curves if not curve.derived]
        shapes |= {curve.name: (probed, lanes, *widths[curve.across]) for curve in recorded}
        return {name: torch.full(shape, float("nan"), device=self.device) for name, shape in shapes.items()}

    def close(self) -> None:
        """Give back what it holds, as soon as nobody else holds it; it is of no further use."""
        self.runner.close()

    def best(self) -> tuple[int, float] | None:
        """The lane with the lowest recent training loss, and that loss: for a progress display only."""
        recent = self.records["train_loss"][max(0, self.step - 20) : self.step].mean(0)
        finite = torch.where(recent.isfinite(), recent, math.inf)
        if not self.step or not finite.isfinite().any():
            return None
        lane = int(finite.argmin())
        return lane, float(finite[lane])

    def diverged_lanes(self) -> int:
        """Lanes whose training loss is not finite any more; once the pack is done, also those that ended above their start."""
        if not self.step:
            return 0
        lost_K = ~self.records["train_loss"][: self.step].isfinite().all(0)
        if self.done:
            lost_K |= ~(self.records["test_loss"] < self.records["initial_loss"])
        return int(lost_K.sum())

    def gpu_memory_bytes(self) -> int | None:
        """The most the pack has held on a GPU so far; None on a CPU."""
        return self._peak_memory_bytes() if self.device.type == "cuda" else None

    def state(self) -> dict[str, Tensor]:
        """All that is needed to go on from here, as tensors."""
        return {
            "weights": self.network.flat_KP,
            "progress": torch.tensor([self.step, self.seconds], dtype=torch.float64),
            "lr": self.lr_SK,
            **{f"buffer.{name}": value for name, value in self.network.buffers.items()},
            **{f"optimizer.{name}": value for name, value in self.optimizer.state.items()},
            **{f"scaler.{name}": value for name, value in self.scaler.state.items()},
            **{f"plateau.{name}": value for name, value in self.plateau.state.items()},
            **{f"record.{name}": value for name, value in self.records.items()},
        }

    def load(self, state: dict[str, Tensor]) -> bool:
        """Go on from a state of a pack of the same lanes; False, and nothing changed, where it is of other shapes."""
        own = self.state()
        if {name: value.shape for name, value in state.items()} != {name: value.shape for name, value in own.items()}:
            return False
        for name, value in state.items():
            own[name].copy_(value)
        self.step, self.seconds = int(state["progress"][0]), float(state["progress"][1])
        self.clock.fill_(self.step)
        return True

    def results(self) -> list[LaneResult]:
        """One result a lane, in lane order."""
        if not self.done:
            raise ValueError(f"step {self.step} of {self.training.steps}: results exist when the pack is done; advance it")
        records = {name: value.cpu().numpy().astype(np.float64) for name, value in self.records.items()}
        lr_SK = self.lr_SK.cpu().numpy().astype(np.float64)
        return [
            lane_result(
                {name: value[:, lane] if value.ndim > 1 else value[lane] for name, value in records.items()},
                lr=lr_SK[:, lane],
                probes=self.probes,
                curve_points=self.measurement.curve_points,
                probe_steps=self.probe_steps,
                evaluation_steps=self.evaluation_steps,
                layers=self.network.layers,
                taps=self.taps,
                lanes=len(self.lanes),
                program=self.runner.program.name,
                program_note=self.runner.note or None,
                examples_per_second=self.training.steps * self.training.batch_size * len(self.lanes) / self.seconds,
                pack_seconds=self.seconds,
                peak_memory_bytes=self._peak_memory_bytes(),
                step_seconds=float(np.median(self.step_times)) if self.step_times else None,
            )
            for lane in range(len(self.lanes))
        ]

    def _peak_memory_bytes(self) -> int:
        """Of the whole pack: the device's allocator on a GPU (of a lane trained alone, over its plain steps), the process's
        resident set on a CPU."""
        if self.plain_peak_bytes:
            return self.plain_peak_bytes
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
