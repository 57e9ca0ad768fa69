"""Tasks in sequence, of classes that are split in their order or of one text each: a task is trained for as many steps as any
other on examples of its own, with a share of earlier ones where they are replayed. Which layers go on learning after the first
task is set here, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...declare import Configuration, Training
from ...errors import UserError
from ...randomness import numpy_generator
from ..part import refuse
from ..result import ENDS
from ..schedules.base import percent
from ..workloads.data import Dataset, Index, Split
from .base import Evaluation, Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

    from ..learner import Learner
    from ..workloads.network import PackedNetwork

ADAPTERS = "adapter."
# Settings that only several tasks have, and those of them that only tasks of classes have.
OF_CLASSES = ("training.layer_lr_decay", "workload.scenario")
OF_TASKS = (
    *("training.task_order", "training.replay", "training.consolidation"),
    *(*OF_CLASSES, "training.later_lr", "workload.adapter_rank"),
)


class Tasks(Procedure):
    """Task t is trained from step t * steps / tasks on, rounded. Lanes of equal seed see equal examples of the task, and as
    many of earlier tasks as they replay, each with an equal chance. A replayed share that is no whole number of examples is
    rounded up or down at random, so that it is their mean."""

    place, setting, settings = 20, "workload.tasks", OF_TASKS
    excludes = {
        "workload.loss": "with several tasks it is cross_entropy; leave it out",
        "training.sampling": "each of several tasks draws with replacement; leave it out",
        "training.batch_ramp": "each of several tasks draws batches of one size; leave it out",
    }

    def prepare(self, making: Making) -> None:
        import torch

        lanes, dataset, learner = making.lanes, making.dataset, making.learner
        self.seeds, self.learner = tuple(order.seed for order in making.orders), learner
        self.lanes = making.trainings
        self.steps, self.batch_size = self.lanes[0].steps, self.lanes[0].batch_size
        self.dataset, self.context = dataset, lanes[0].workload.context
        self.tasks, self.classes = lanes[0].workload.tasks, dataset.facts.classes // lanes[0].workload.tasks
        self.starts = tuple(round(task * self.steps / self.tasks) for task in range(self.tasks))
        of_examples = dataset.tasks_of("train", self.tasks, self.context)
        self.examples = [np.flatnonzero(of_examples == task) for task in range(self.tasks)]
        self.before_task = {task: np.concatenate(self.examples[:task]) for task in range(1, self.tasks + 1)}
        self.current = 0
        first_KP, later_KP = (_multipliers(lanes, learner, later) for later in (False, True))
        self.learns_otherwise = bool((first_KP != 1).any() or (later_KP != 1).any())
        if self.learns_otherwise:
            own = learner.lr_multiplier
            base_KP = torch.ones_like(first_KP) if own is None else own.expand_as(first_KP)
            self.first_KP, self.later_KP = base_KP * first_KP, base_KP * later_KP
            learner.lr_multiplier = self.first_KP.clone()

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        if configuration.workload.model == "gpt":
            refuse(configuration, *OF_CLASSES, why="is of classes of an mlp or a cnn, and model = gpt; leave it out")

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        """Raises UserError for data that do not come in as many tasks of equal size, and tasks without examples or steps."""
        tasks, steps = configuration.workload.tasks, configuration.training.steps
        of_examples = dataset.tasks_of("train", tasks, configuration.workload.context)
        if tasks > steps:
            raise UserError(f"tasks = {tasks}: must be at most steps = {steps}, for each takes one or more")
        for task in range(tasks):
            if not (of_examples == task).any():
                raise UserError(f"tasks = {tasks}: dataset '{dataset.name}' has no example of task {task + 1}; choose fewer")

    @classmethod
    def words(cls, training: Training) -> str:
        said = ", all tasks at once" * (training.task_order == "joint")
        said += f", {percent(training.replay)} of a batch from earlier tasks" * (training.replay > 0)
        said += f", later tasks at {training.later_lr:g} times the LR" * (training.later_lr != 1)
        return said + f", their LR times {training.layer_lr_decay:g} a layer down" * (training.layer_lr_decay != 1)

    def task_of(self, step: int) -> int:
        """The task that a step, from 0, trains."""
        return sum(start <= step for start in self.starts) - 1

    def draw(self, block: int) -> Index:
        """A task's own examples are drawn by one sequence of random numbers, earlier ones by another."""
        first = block * self.steps_per_draw
        tasks = [self.task_of(min(step, self.steps - 1)) for step in range(first, first + self.steps_per_draw)]
        lanes = []
        for seed, training in zip(self.seeds, self.lanes, strict=True):
            generators = (numpy_generator(seed, name, block) for name in ("batches", "replay"))
            own, old = (generator.random((len(tasks), self.batch_size)) for generator in generators)
            replayed = np.floor(training.replay * self.batch_size + numpy_generator(seed, "replayed", block).random(len(tasks)))
            steps = zip(tasks, replayed.astype(int), own, old, strict=True)
            lanes.append([self._chosen(task, count, training.task_order, *row) for task, count, *row in steps])
        return np.array(lanes, dtype=np.int64).swapaxes(0, 1)

    def _chosen(self, task: int, replayed: int, order: str, own: NDArray[np.float64], old: NDArray[np.float64]) -> Index:
        """The examples of one step, by numbers from 0 to 1, [B] each."""
        if order == "joint":
            return _picked(self.before_task[self.tasks], own)
        if not task or not replayed:
            return _picked(self.examples[task], own)
        earlier = _picked(self.before_task[task], old[:replayed])
        return np.concatenate([earlier, _picked(self.examples[task], own[replayed:])])

    def before(self, step: int) -> None:
        super().before(step)
        self.current = self.task_of(step)
        if self.learns_otherwise:
            assert self.learner.lr_multiplier is not None
            self.learner.lr_multiplier.copy_(self.later_KP if self.current else self.first_KP)

    def evaluations(self) -> tuple[Evaluation, ...]:
        """Divergence is judged on the task a run ends with: forgotten tasks may end above their start."""
        evaluations = [
            replace(evaluation, among=self._among(evaluation.split, evaluation.examples, operator.eq))
            if evaluation.record in ENDS
            else evaluation
            for evaluation in self.inner.evaluations()
        ]
        on_the_way = next(evaluation for evaluation in evaluations if evaluation.record == "evaluation_loss")
        test = next(evaluation for evaluation in evaluations if evaluation.record == "test_loss")
        for name, counts in (("old", operator.lt), ("new", operator.eq)):
            among = self._among("test", test.examples, counts)
            record, accuracy = f"evaluation_{name}_loss", f"evaluation_{name}_accuracy"
            evaluations.append(Evaluation(record, "test", test.examples, on_the_way.after, True, among, accuracy))
        return tuple(evaluations)

    def _among(
        self, split: Split, examples: int, counts: Callable[[Tensor, int], Tensor]
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """Counts the examples whose task bears that relation to the current one."""
        import torch

        chosen = self.dataset.sample_index(split, examples, self.context)
        return partial(self._counted, counts, torch.from_numpy(self.dataset.tasks_of(split, self.tasks, self.context)[chosen]))

    def _counted(self, counts: Callable[[Tensor, int], Tensor], tasks: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        from ..workloads.network import NOT_COUNTED

        is_known = (tasks >= 0) & counts(tasks, self.current)
        left_out = ~is_known.to(targets.device).view(-1, *[1] * (targets.dim() - 1))
        return targets.masked_fill(left_out, NOT_COUNTED)


def _picked(examples: NDArray[np.int64], chances: NDArray[np.float64]) -> Index:
    return examples[(chances * len(examples)).astype(np.int64)]


def _multipliers(lanes: Sequence[Configuration], learner: Learner, later: bool) -> Tensor:
    """The factor of every entry's LR in the first task, or later, [K, P]."""
    import torch

    return torch.stack([learner.network.spread(_of_lane(lane, learner.network, later)) for lane in lanes])


def _of_lane(lane: Configuration, network: PackedNetwork, later: bool) -> list[float]:
    """The LR factor of each parameter of a lane. Adapters alone are trained later, and all else at first."""
    training, names = lane.training, [parameter.layer for parameter in network.model.parameters]
    layers = list(dict.fromkeys(name for name in names if not name.startswith(ADAPTERS)))
    below = {name: len(layers) - 1 - place for place, name in enumerate(layers)}
    multipliers = []
    for name in names:
        is_adapter = name.startswith(ADAPTERS)
        learns = is_adapter == (later and lane.workload.adapter_rank > 0)
        decay = training.layer_lr_decay ** below[name.removeprefix(ADAPTERS)]
        multipliers.append(float(learns) * (training.later_lr * decay if later else 1.0))
    return multipliers


PROCEDURE = Tasks
