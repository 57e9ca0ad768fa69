"""The pack loop: K trials of equal shape trained as one program.

A procedure says what a step sees, what it descends, what follows it and what is evaluated (procedures/); the loop takes the
steps, and measures. Randomness is keyed on seed and step, so a pack can stop after any step and go on from its state, and a
lane's curve does not depend on its neighbours beyond rounding (tests state how much).
"""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ..declare import Configuration
from ..errors import UserError
from .agreement import Agreement, LossCheck, Step, StepCheck
from .dropout import dropout_of
from .learner import Learner
from .measured_steps import probe_steps
from .parts import require_data, require_model
from .precisions import precision_named
from .probes import PROBES
from .probes.base import ProbedStep
from .procedures import Evaluation, make_procedure
from .programs import EAGER, Check, Program, StepRunner
from .records import Records
from .result import LOSSES, NORMS, LaneResult, lane_result
from .starting import LaneState, order_of
from .step_key import step_key
from .usage import Usage
from .workloads import workload_of
from .workloads.data import Dataset, Split

log = logging.getLogger(__name__)

# Batches on which the state that a module keeps follows other weights.
LATEST_STEPS = 64


@dataclass(frozen=True)
class Lane:
    """One trial's slot in a pack. start: where the trial stood that it starts from."""

    configuration: Configuration
    seed: int
    start: LaneState | None = None


class Pack:
    """Trains its lanes side by side. Call `advance` until `done`, then `results`.

    What a plain step needs lies on the device, the number of the step (`clock`) among it; program says how it is run. Probed
    steps are always run eagerly. agreed: keys of steps (step_key.py) whose program is known to agree with the eager one; the
    pack adds those that it has compared.
    Raises UserError for lanes that cannot share a pack, and for data that do not fit the model or the procedure.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        dataset: Dataset,
        device: str = "cpu",
        program: Program = EAGER,
        agreed: set[str] | None = None,
    ):
        configurations = [lane.configuration for lane in lanes]
        first = configurations[0]
        if any(configuration.pack_key != first.pack_key for configuration in configurations):
            raise UserError("lanes of a pack must agree in everything but per-lane hyperparameters; plan them apart")
        self.lanes, self.device = tuple(lanes), torch.device(device)
        self.training, self.measurement = first.training, first.measurement
        self.trainings, self.seeds = [configuration.training for configuration in configurations], [lane.seed for lane in lanes]
        number_format = precision_named(self.training.precision)
        torch.backends.cuda.matmul.allow_tf32 = number_format.tensor_cores
        torch.backends.cudnn.allow_tf32 = number_format.tensor_cores  # of convolutions
        self.agreed, self.data_hash = set() if agreed is None else agreed, dataset.facts.hash
        dataset = dataset.limited(first.workload.training_set_size, first.workload.training_set == "drawn")
        for configuration in configurations:
            require_data(configuration, dataset)
        workload, precision = workload_of(first.workload), self.training.precision
        self.network = workload.network(dataset.facts, self.seeds, self.device, precision)
        for configuration in configurations:
            require_model(configuration, self.network.model)
        self.network.segments = self.training.recompute_segments
        self.learner = Learner(configurations, self.network)
        self.optimizer, self.scaler = self.learner.optimizer, self.learner.scaler
        self.lr_SK, self.clock = self.learner.lr_SK, self.learner.clock
        for number, lane in enumerate(lanes):
            if lane.start is not None:
                self.learner.start(number, lane.start.tensors)
        self.orders = [order_of(lane.configuration.training, lane.seed, lane.start) for lane in lanes]
        if number_format.weights is not None:
            self.learner.round_weights(self.orders, number_format.weights)
        self.network.orders = self.orders
        self.network.drop = dropout_of(self.trainings, self.orders, self.learner)
        self.procedure = make_procedure(configurations, self.orders, dataset, self.learner)
        self.probe_steps = probe_steps(self.training, self.measurement)
        self._probe_index = {step: row for row, step in enumerate(self.probe_steps)}
        self.evaluations = self.procedure.evaluations()
        self._due = _due(self.evaluations)
        self.taps = self._tap_names()
        self.probes = [probe for probe in PROBES if probe.applies(first)]
        self.memory = {
            name: tensor
            for probe in self.probes
            for name, tensor in probe.memory(self.measurement, self.network.flat_KP).items()
        }
        self.records = Records(first, self.network, self.evaluations, self.probes, len(self.probe_steps), self.taps)
        self.usage = Usage(self.device)
        self.step = 0
        self._draws, self._drawn = torch.from_numpy(self.procedure.draw(0)).to(self.device), 0
        self._first_drawn = torch.zeros_like(self.clock)  # the step of the first row
        # A module that shows nothing may not be safe to compile or capture, and compilers do not follow recomputation: a trace
        # that fails leaves torch.func's state behind, and nothing trains in that process any more.
        program = program if self.network.shows and not self.network.segments else EAGER
        self.runner = self._runner(program)

    def _runner(self, program: Program) -> StepRunner:
        runner = StepRunner(self._plain_step, program, self.device)
        if runner.program != EAGER:
            configurations = [lane.configuration for lane in self.lanes]
            shape = self._draws.shape
            key = step_key(configurations, runner.program, self.learner, self.procedure, shape, self.data_hash)
            look = self._beside(self._loss_check())
            first = look if key in self.agreed else self._beside(self._step_check())
            runner.compare_by(first, look, partial(self.agreed.add, key))
        return runner

    @property
    def done(self) -> bool:
        return self.step >= self.training.steps

    def advance(self, seconds: float = math.inf, until: int | None = None) -> None:
        """Train until the end or a step, or for about this many seconds, one step at the least."""
        started = time.perf_counter()
        if self.step == 0:
            with self.learner.as_initialized():
                self._evaluate()
        while not self.done:
            self._timed_step() if self.measurement.solo else self._train_step()
            if self.step == until or time.perf_counter() - started >= seconds:
                break
        self.usage.seconds += time.perf_counter() - started
        if self.done and self.network.rule and self.records.rose():
            log.warning(self.network.rule)

    def time_steps(self, count: int) -> float:
        """Mean time of this many plain steps, in seconds, to choose lanes by. The first step that moves all lanes is repeated:
        the pack is of no further use."""
        first = max((training.warmup_steps for training in self.trainings if training.ramp == "held"), default=0)
        self._draw()
        self.usage.synchronize()
        started = time.perf_counter()
        for _ in range(count):
            self.clock.fill_(first)
            self.runner()
        self.usage.synchronize()
        return (time.perf_counter() - started) / count

    def _timed_step(self) -> None:
        plain = self.step > 0 and self.step not in self._probe_index and self.step + 1 not in self._due
        with self.usage.step(plain, self.runner.settled):
            self._train_step()

    def _train_step(self) -> None:
        self._draw()
        self.network.step = self.step
        self.procedure.before(self.step)
        probed = self.step in self._probe_index
        if probed:
            self._probed_step(self._probe_index[self.step])
        else:
            self.runner()
        if self._follow() or probed:
            self.runner.interrupted()

    def _follow(self) -> bool:
        """Evaluate and run the procedure between two steps; returns whether something was evaluated."""
        self.step += 1
        losses = self._evaluate()
        of_step = {name: self.records[name][self.step - 1] for name in (LOSSES, NORMS) if name in self.records}
        self.procedure.after(self.step, losses | of_step)
        return bool(losses)

    def _evaluate(self) -> dict[str, Tensor]:
        """Make the evaluations that are due now; their losses by record, [K] each."""
        losses = {}
        for evaluation in self._due.get(self.step, ()):
            inputs, targets = self._sample(evaluation.split, evaluation.examples)
            if evaluation.among is not None:
                targets = evaluation.among(inputs, targets)
            if evaluation.by_start:
                scores = self.network.scores_of_start(inputs, self.records.risen(), self._latest_batches())
            else:
                scores = self.network.scores(inputs, targets)
            losses[evaluation.record] = scores.loss
            self.records.note_evaluation(evaluation, self.step, scores)
        return losses

    def _plain_step(self) -> None:
        """A step that measures nothing but its loss, on tensors of the device alone."""
        losses_K, gradient_KP = self.procedure.gradient(
            *self._batch(), scale_K=self.scaler.scale, out_KP=self.optimizer.gradient_KP
        )
        self._learn(losses_K, gradient_KP)

    def _step_check(self) -> StepCheck:
        """Compares a program with the eager step in all that a step could change."""
        return StepCheck(self._tensors(), self.learner, self.training.precision)

    def _loss_check(self) -> LossCheck:
        """Compares the losses of a program's step with those of the eager network."""

        def losses() -> Tensor:
            gradient = partial(self.procedure.gradient, scale_K=self.scaler.scale, out_KP=self.optimizer.gradient_KP)
            return gradient(*self._batch())[0]

        return LossCheck(self._tensors(), losses, self.training.precision)

    def _beside(self, check: Check) -> Check:
        """The check as no part of the training: what it holds on a device is not the pack's."""

        def compare(eager: Step, program: Step) -> Agreement:
            with self.usage.beside():
                return check(eager, program)

        return compare

    def _tensors(self) -> dict[str, Tensor]:
        """All that a step could change."""
        return {name: tensor for name, tensor in self.state().items() if name != "progress"} | {"clock": self.clock}

    def _probed_step(self, row: int) -> None:
        """The same step with all its probes."""
        inputs, targets = self._batch()
        scale_K = self.scaler.scale
        losses_K, gradient_KP = self.procedure.gradient(inputs, targets, scale_K=scale_K, out_KP=self.optimizer.gradient_KP)
        step = ProbedStep(
            self.network,
            self.procedure,
            inputs,
            targets,
            gradient_KP,
            scale_K,
            self.taps,
            self.seeds,
            self.measurement,
            self.procedure.training_sample,
            last=self.step + 1 == self.training.steps,
            tallies=self.procedure.tallies(),
            preconditioner=self.learner.preconditioner,
            memory=self.memory,
        )
        curves: dict[str, Tensor] = {}
        with self.network.buffers_kept():
            for probe in self.probes:
                curves |= probe.before_update(step)
        before_KP = self.network.flat_KP.clone()
        self._learn(losses_K, gradient_KP)
        for probe in self.probes:
            curves |= probe.after_update(step, before_KP)
        for name, value in curves.items():
            self.records[name][row] = value

    @torch.no_grad()
    def _learn(self, losses_K: Tensor, gradient_KP: Tensor) -> None:
        self.records[LOSSES].index_copy_(0, self.clock, losses_K.unsqueeze(0))
        if NORMS in self.records:
            self.records[NORMS].index_copy_(0, self.clock, gradient_KP.norm(dim=1).unsqueeze(0))
        self.learner.learn(gradient_KP)

    def _draw(self) -> None:
        """Put the batches of the steps around this one where `_batch` finds them."""
        block, first = self.procedure.block_of(self.step)
        if self._drawn == block:
            return
        drawn = torch.from_numpy(self.procedure.draw(block))
        if drawn.shape == self._draws.shape:
            self._draws.copy_(drawn)
        else:
            self._change_shape(drawn)
        self._first_drawn.fill_(first)
        self._drawn = block

    def _change_shape(self, drawn: Tensor) -> None:
        """Batches of another size have a program of their own, which is made and compared again; a program that failed before
        is not attempted again."""
        before = self.runner
        before.close()
        self._draws = drawn.to(self.device)
        self.runner = self._runner(before.program)
        self.runner.note, self.runner.differs = before.note, before.differs

    def _batch(self) -> tuple[Tensor, Tensor]:
        """This step's training examples, [K, B, ...]."""
        return self.procedure.batch(self._draws.index_select(0, (self.clock - self._first_drawn) % len(self._draws))[0])

    def _latest_batches(self) -> Iterator[Tensor]:
        """Inputs of the steps before this one, [K, B, ...]."""
        for step in range(max(0, self.step - LATEST_STEPS), self.step):
            yield self.procedure.batch(self.procedure.examples_of(step).to(self.device))[0]

    def _sample(self, split: Split, examples: int) -> tuple[Tensor, Tensor]:
        """The fixed examples a split is evaluated on, [examples, ...]."""
        return self.procedure.sample(split, examples)

    @torch.no_grad()
    def _tap_names(self) -> tuple[str, ...]:
        """Names of the activations that the model shows, in order; found with one example."""
        if not self.network.shows:
            return ()
        shown: dict[str, Tensor] = {}
        inputs, targets = self._sample("validation", 1)
        lanes = len(self.lanes)
        self.network.losses(inputs.expand(lanes, *inputs.shape), targets.expand(lanes, *targets.shape), shown.__setitem__)
        return tuple(shown)

    def close(self) -> None:
        """Give back what it holds, as soon as nobody else holds it; it is of no further use."""
        self.runner.close()

    def best(self) -> tuple[int, float] | None:
        """The lane with the lowest recent training loss, and that loss: for a progress display only."""
        return self.records.best(self.step)

    def diverged_lanes(self) -> int:
        """Lanes whose training loss is not finite any more; once the pack is done, also those that ended above their start."""
        return self.records.diverged_lanes(self.step, self.done)

    def gpu_memory_bytes(self) -> int | None:
        """The most the pack has held on a GPU so far; None on a CPU."""
        return self.usage.peak_memory_bytes() if self.device.type == "cuda" else None

    def state(self) -> dict[str, Tensor]:
        """All that is needed to go on from here, as tensors."""
        return {
            "progress": torch.tensor([self.step, self.usage.seconds, self.network.keeps()], dtype=torch.float64),
            **self.learner.state(),
            **self.procedure.state(),
            **{f"probe.{name}": value for name, value in self.memory.items()},
            **{f"record.{name}": value for name, value in self.records.items()},
        }

    def load(self, state: dict[str, Tensor]) -> bool:
        """Go on from a state of a pack of the same lanes; False, and nothing changed, where it is of other shapes, or a module
        or an optimizer keeps what no state holds."""
        own = self.state()
        shapes, ours = ({name: value.shape for name, value in tensors.items()} for tensors in (state, own))
        if self.network.keeps() or self.optimizer.keeps_apart or shapes != ours or float(state["progress"][2]):
            return False
        for name, value in state.items():
            own[name].copy_(value)
        self.learner.initial = {}
        self.step, self.usage.seconds = int(state["progress"][0]), float(state["progress"][1])
        self.clock.fill_(self.step)
        return True

    def lane_state(self, lane: int) -> LaneState:
        """Where a lane stands, for others to start from. Raises UserError where a module keeps what no state holds."""
        if self.network.keeps():
            raise UserError("a module that keeps something beside its tensors leaves no checkpoint to start from")
        return LaneState(self.learner.lane_state(lane), self.orders[lane].after(self.step))

    def results(self) -> list[LaneResult]:
        """One result a lane, in lane order."""
        if not self.done:
            raise ValueError(f"step {self.step} of {self.training.steps}: results exist when the pack is done; advance it")
        lr_SK = self.lr_SK.cpu().double().numpy()
        examples, seconds = self.training.examples * len(self.lanes), self.usage.seconds
        return [
            lane_result(
                records,
                lr=lr_SK[:, lane],
                probes=self.probes,
                curve_points=self.measurement.curve_points,
                probe_steps=self.probe_steps,
                evaluation_steps=[
                    done - 1
                    for evaluation in self.evaluations
                    if evaluation.record == "evaluation_loss"
                    for done in evaluation.after
                ],
                layers=self.network.layers,
                taps=self.taps,
                lanes=len(self.lanes),
                program=self.runner.program.name,
                program_note=self.runner.note or None,
                examples_per_second=examples / seconds,
                seconds=seconds / len(self.lanes),
                peak_memory_bytes=self.usage.peak_memory_bytes(),
                step_seconds=self.usage.step_seconds,
            )
            for lane, records in enumerate(self.records.of_lanes())
        ]


def _due(evaluations: Sequence[Evaluation]) -> dict[int, list[Evaluation]]:
    """Steps done -> the evaluations that are then due."""
    due: dict[int, list[Evaluation]] = defaultdict(list)
    for evaluation in evaluations:
        for step in evaluation.after:
            due[step].append(evaluation)
    return due
