"""Training as a user could do it without packs: the same trials one by one, as plainly or as well as PyTorch allows.

Model, batches, LR table, number format, evaluations and what is logged are those of a pack; the code is torch's own.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from folklore.harness.declare import Configuration
from folklore.harness.train.programs import STEPS_BEFORE_CAPTURE
from folklore.harness.train.schedules import learning_rates
from folklore.harness.train.workloads.data import STEPS_PER_DRAW, Dataset
from tests.benchmarks.plain import plain_model

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Way:
    """How a trial is trained alone. captured: the whole step as a CUDA graph."""

    compiled: bool = False
    fused: bool = False
    captured: bool = False

    @property
    def name(self) -> str:
        return " ".join(word for word in ("compiled", "fused", "captured") if getattr(self, word)) or "eager"


EAGER = Way()


def ways(device: str) -> tuple[Way, ...]:
    """All ways among which the best one is chosen."""
    candidates = (EAGER, Way(fused=True), Way(compiled=True, fused=True))
    return (
        candidates
        if device == "cpu"
        else (*candidates, Way(fused=True, captured=True), Way(compiled=True, fused=True, captured=True))
    )


class Solo:
    """Trains one trial after the other in one process; what was compiled or captured serves all of them."""

    def __init__(self, configuration: Configuration, dataset: Dataset, device: str, way: Way):
        self.configuration, self.dataset, self.device, self.way = configuration, dataset, torch.device(device), way
        self.workload, self.training, self.measurement = (
            configuration.workload,
            configuration.training,
            configuration.measurement,
        )
        torch.backends.cuda.matmul.allow_tf32 = self.training.precision == "tf32"
        torch.backends.cudnn.allow_tf32 = self.training.precision == "tf32"
        self.model = plain_model(self.workload, dataset.facts, 0).to(self.device)
        self.loss = torch.compile(self._loss) if way.compiled else self._loss
        self.arrays = tuple(array.to(self.device) for array in dataset.training_arrays(self.workload.label_noise))
        self.samples = {split: self._sample(split) for split in ("validation", "test")}
        self.losses = torch.zeros(self.training.steps, device=self.device)
        self.clock = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.draws = torch.zeros((STEPS_PER_DRAW, self.training.batch_size), dtype=torch.int64, device=self.device)
        self.lr = torch.zeros(self.training.steps, device=self.device)
        self.optimizer = self._optimizer()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.steps_run = 0

    def train(self, configuration: Configuration, seed: int) -> list[float]:
        """One trial from its initial weights; returns its training losses."""
        self.start(configuration, seed)
        evaluations = set(np.linspace(0, self.training.steps, self.measurement.evaluations + 1).round().astype(int)[1:])
        self._evaluate("validation")
        for step in range(self.training.steps):
            self.step(step)
            if step + 1 in evaluations:
                self._evaluate("validation")
        self._evaluate("validation")
        self._evaluate("test")
        losses: list[float] = self.losses.tolist()
        return losses

    def start(self, configuration: Configuration, seed: int) -> None:
        """Weights, optimizer state, LR table and batches of a trial, in the places that a capture knows."""
        self.seed = seed
        with torch.no_grad():
            for mine, fresh in zip(
                self.model.parameters(), plain_model(self.workload, self.dataset.facts, seed).parameters(), strict=True
            ):
                mine.copy_(fresh)
            for state in self.optimizer.state.values():
                for value in state.values():
                    if isinstance(value, Tensor):
                        value.zero_()
        self.lr.copy_(torch.from_numpy(learning_rates(configuration.training)).float())
        self.table = learning_rates(configuration.training).tolist()
        self.clock.zero_()

    def step(self, step: int) -> None:
        if step % STEPS_PER_DRAW == 0:
            index = self.dataset.batch_index(self.seed, step // STEPS_PER_DRAW, self.training.batch_size, self.workload.context)
            self.draws.copy_(torch.from_numpy(index))
        if not self.way.captured:
            for group in self.optimizer.param_groups:
                group["lr"] = self.table[step]
            inputs, targets = self.dataset.gather(self.arrays, self.draws[step % STEPS_PER_DRAW], self.workload.context)
            self.losses[step] = self._update(inputs, targets)
        elif self.graph is not None:
            self.graph.replay()
        else:
            self._approach_capture()

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(self.model(inputs).float().flatten(0, -2), targets.flatten())

    def _update(self, inputs: Tensor, targets: Tensor) -> Tensor:
        with self._format():
            loss = self.loss(inputs, targets)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=not self.way.captured)
        return loss.detach()

    def _captured_step(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"].copy_(self.lr.index_select(0, self.clock)[0])
        index = self.draws.index_select(0, self.clock % STEPS_PER_DRAW)[0]
        loss = self._update(*self.dataset.gather(self.arrays, index, self.workload.context))
        self.losses.index_copy_(0, self.clock, loss.view(1))
        self.clock.add_(1)

    def _approach_capture(self) -> None:
        """Torch's recipe: a few steps on a side stream, then the capture."""
        self.steps_run += 1
        if self.steps_run <= STEPS_BEFORE_CAPTURE:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._captured_step()
            torch.cuda.current_stream().wait_stream(stream)
            return
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._captured_step()
        graph.replay()
        self.graph = graph

    def _optimizer(self) -> torch.optim.Optimizer:
        training, parameters = self.training, list(self.model.parameters())
        groups = [
            {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": training.weight_decay},
            {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
        ]
        lr = torch.tensor(0.0, device=self.device) if self.way.captured else training.peak_lr
        fused = True if self.way.fused else None
        if training.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=lr, momentum=training.momentum, fused=fused)
        betas = (training.beta1, training.beta2)
        return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=training.epsilon, fused=fused, capturable=self.way.captured)

    def _sample(self, split: str) -> tuple[Tensor, Tensor]:
        examples = self.measurement.evaluation_examples if split == "validation" else self.measurement.final_examples
        index = torch.from_numpy(self.dataset.sample_index(split, examples, self.workload.context)).to(self.device)
        arrays = tuple(array.to(self.device) for array in self.dataset.arrays(split))
        return self.dataset.gather(arrays, index, self.workload.context)

    @torch.no_grad()
    def _evaluate(self, split: str) -> Tensor:
        with self._format():
            return self._loss(*self.samples[split])

    def _format(self) -> torch.autocast:
        dtype = DTYPES[self.training.precision]
        return torch.autocast(self.device.type, dtype, enabled=dtype != torch.float32)
