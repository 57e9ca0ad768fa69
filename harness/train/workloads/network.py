"""A pack's parameters in one flat buffer, and the losses and gradients of all lanes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from ....models import Drop, Model, Parameter, Tap, View
from ...declare import Workload
from ...randomness import Order, torch_generator
from ..precisions import precision_named
from .data import DataFacts
from .data.base import EVALUATION_TARGETS

# In the place of a target that an evaluation does not count; torch's own.
NOT_COUNTED = -100


@lru_cache(maxsize=1)
def initial_values(parameters: tuple[Parameter, ...], seed: int) -> Tensor:
    """One lane's starting point, [P]; it depends on the seed and the shapes alone.

    The last one is kept: packs of one lane that differ in their precision follow each other, and drawing 200 million numbers
    takes seconds. Whoever asks copies it.
    """
    generator = torch_generator(seed, "initialization")
    return torch.cat([_drawn(parameter, generator).flatten() for parameter in parameters])


def _drawn(parameter: Parameter, generator: torch.Generator) -> Tensor:
    shape = parameter.shape[::-1] if parameter.drawn_transposed else parameter.shape
    values = torch.randn(math.prod(shape), generator=generator).view(shape) * parameter.initial_std + parameter.initial_mean
    return values.t() if parameter.drawn_transposed else values


def joined(parameters: Sequence[Parameter], values: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """Values of all parameters, [K, *shape], as they lie in a pack's buffer: [K, P]."""
    pairs = zip(values, parameters, strict=True)
    rows = [(value.reshape(len(value), -1), parameter.padding) for value, parameter in pairs]
    return torch.cat([F.pad(row, (0, padding)) if padding else row for row, padding in rows], dim=1, out=out)


@dataclass(frozen=True)
class Scores:
    """Scores of an evaluation, [K] each. accuracy: share of the targets that have the largest logit, the first of equal ones;
    nan where the loss is not finite; None where targets are no classes, or a user's loss alone knows what they are."""

    loss: Tensor
    accuracy: Tensor | None


class PackedNetwork:
    """K copies of one model, one per seed in `seeds`, with parameters [K, P] that an optimizer may change in place.

    shows: whether it shows its activations to a tap. step: the one that is being trained; the pack sets it. part: which part of
    a batch is being differentiated, if it is so in parts.
    """

    shows = True
    # Stretches of blocks that are recomputed in the backward pass; who makes a network for training sets it.
    segments = 0
    # Whether a training descends the sum over a batch in place of its mean.
    sums = False
    # Which parameters of each lane took part in the latest loss, [K, parameters]; None: all do. Others take no step.
    took_part: Tensor | None = None
    # The rule by which its runs diverge and the way out, for a person to read; '' of the models here, which follow one rule.
    rule = ""
    # The orders by which lanes draw in training; the pack sets them.
    orders: Sequence[Order] = ()
    # Drops activations in training; evaluations and curvature are of the whole network.
    drop: Drop | None = None

    def __init__(
        self,
        model: Model,
        workload: Workload,
        facts: DataFacts,
        seeds: Sequence[int],
        device: torch.device,
        precision: str,
    ):
        self.model = model
        self.classifies = self.measures = facts.classes > 0
        self.squares = workload.loss == "squared_error"
        self.scenario, self.classes_a_task = workload.scenario, facts.classes // workload.tasks
        chosen = precision_named(precision)
        self.dtype, self.product = chosen.dtype, chosen.product()
        self.feature_scale = workload.feature_scale
        self.step = self.part = 0
        # What a module keeps beside its parameters, name -> [K, ...]: none of the models here keeps anything.
        self.buffers: dict[str, Tensor] = {}
        self.flat_KP = self.starts(seeds).to(device)
        self.sizes = [p.size for p in self.model.parameters]
        self.views = {name: view.requires_grad_() for name, view in self.views_of(self.flat_KP).items()}
        self.decays_P = self.spread([float(p.decays) for p in self.model.parameters])
        # A layer's parameters lie side by side, so that a layer is one slice of the buffer.
        grouped = groupby(zip(self.model.parameters, self.sizes, strict=True), key=lambda pair: pair[0].layer)
        slices = [(layer, sum(size for _, size in pairs)) for layer, pairs in grouped]
        self.layers, self.layer_sizes = tuple(layer for layer, _ in slices), [size for _, size in slices]
        assert len(set(self.layers)) == len(self.layers), "a layer's parameters are apart"

    def starts(self, seeds: Sequence[int]) -> Tensor:
        """Where each lane starts, [K, P]."""
        parameters = tuple(self.model.parameters)
        drawn = {seed: initial_values(parameters, seed) for seed in dict.fromkeys(seeds)}
        return torch.stack([drawn[seed] for seed in seeds])

    def keeps(self) -> bool:
        """Whether it keeps what no state of a pack holds."""
        return False

    def share(self, part: Tensor, whole: Tensor, axis: int = 0) -> float | Tensor:
        """The weight of the mean loss of a part of the targets in that of all, along their axis of examples."""
        return part.shape[axis] / whole.shape[axis]

    def counted(self, targets: Tensor) -> Tensor:
        """How much each lane's examples [K, B, ...] count in its mean, [K]."""
        return torch.full(targets.shape[:1], float(targets.shape[1]), device=targets.device)

    def examples_at_once(self, targets: Tensor) -> int:
        """How many of these examples [N, ...] an evaluation takes at once."""
        return max(1, EVALUATION_TARGETS * len(targets) // targets.numel())

    @contextmanager
    def buffers_kept(self) -> Iterator[None]:
        """Restores the buffers afterwards: measuring must not change a training."""
        before = {name: buffer.clone() for name, buffer in self.buffers.items()}
        yield
        for name, buffer in before.items():
            self.buffers[name].copy_(buffer)

    @contextmanager
    def in_fp32(self) -> Iterator[None]:
        """Losses inside come from FP32 products without recomputation, whatever a training does."""
        before = self.dtype, self.product, self.segments
        self.dtype, self.product, self.segments = torch.float32, precision_named("fp32").product(), 0
        try:
            yield
        finally:
            self.dtype, self.product, self.segments = before

    def views_of(self, flat_KP: Tensor) -> dict[str, Tensor]:
        """The buffer as parameters, name -> [K, *shape]."""
        pieces = torch.split(flat_KP, self.sizes, dim=1)
        return {
            p.name: piece[:, : p.size - p.padding].view(-1, *p.shape)
            for p, piece in zip(self.model.parameters, pieces, strict=True)
        }

    @property
    def leaves(self) -> list[Tensor]:
        """The tensors that losses are differentiated by."""
        return list(self.views.values())

    def as_leaves(self, values_KP: Tensor) -> list[Tensor]:
        return list(self.views_of(values_KP).values())

    def joined(self, leaves: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
        """Tensors of the leaves' shapes, one for each, as [K, P]."""
        return joined(self.model.parameters, leaves, out)

    def over_entries(self, values_KN: Tensor) -> Tensor:
        """One value for each lane and parameter, repeated over its entries, [K, P]."""
        return values_KN.to(self.flat_KP.device).repeat_interleave(torch.tensor(self.sizes, device=self.flat_KP.device), dim=1)

    def spread(self, values: Sequence[float]) -> Tensor:
        """One value a parameter, repeated over its entries, [P]."""
        parts = [torch.full((size,), value) for value, size in zip(values, self.sizes, strict=True)]
        return torch.cat(parts).to(self.flat_KP.device)

    def losses(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        views: dict[str, Tensor] | None = None,
        drop: Drop | None = None,
    ) -> Tensor:
        """Mean loss of each lane, [K]; inputs and targets are [K, B, ...]. Cross-entropy in nats, or half the squared error
        where targets are numbers, or the workload's loss is that, summed over those of an example. views: in place of its own.
        drop: None: nothing is dropped.
        """
        # A tap must not be shown an activation twice, and without a backward pass nothing is kept.
        segments = self.segments if tap is None and torch.is_grad_enabled() else 0
        return self._losses_of(self.outputs(inputs, tap, views, segments, drop), targets)

    def _losses_of(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = outputs.float()
        if not self.classifies:
            return 0.5 * (logits - targets).square().sum(dim=-1).mean(dim=1)
        if self.squares:
            return 0.5 * (logits - F.one_hot(targets, logits.shape[-1])).square().sum(dim=-1).mean(dim=1)
        logits, targets = self.competing(logits, targets)
        losses = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
        return losses.view(targets.shape[0], -1).mean(dim=1)

    def competing(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and targets as the workload's scenario has its tasks' classes compete: of the task of an example alone, or
        numbered within it; NOT_COUNTED stays."""
        if self.scenario == "class":
            return logits, targets
        if self.scenario == "domain":
            return logits[..., : self.classes_a_task], torch.where(targets < 0, targets, targets % self.classes_a_task)
        tasks = torch.arange(logits.shape[-1], device=logits.device) // self.classes_a_task
        others = tasks != targets.clamp(min=0).unsqueeze(-1) // self.classes_a_task
        return logits.masked_fill(others, -math.inf), targets

    def outputs(
        self,
        inputs: Tensor,
        tap: Tap | None = None,
        views: dict[str, Tensor] | None = None,
        segments: int = 0,
        drop: Drop | None = None,
    ) -> Tensor:
        """Each lane's logits, or numbers, in the number format of activations, [K, B, ..., classes]."""
        view = View(self.views if views is None else views, self.product, segments, drop)
        if self.feature_scale != 1.0:
            inputs = inputs * self.feature_scale
        if self.dtype != torch.float32:
            view = View({name: tensor.to(self.dtype) for name, tensor in view.items()}, self.product, segments, drop)
            inputs = inputs.to(self.dtype) if inputs.is_floating_point() else inputs
        return self.model(view, inputs, tap)

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Losses [K] and gradients [K, P]. The sum of the lane losses is differentiated: a mean would scale the LR by 1/K.

        scale_K: what each loss is multiplied by for the backward pass, and its gradient divided by afterwards. out_KP: where
        the gradients are to lie.
        """
        if torch.compiler.is_compiling():
            losses_K, gradient_KP = self._traced_gradient(inputs, targets, scale_K)
            gradient_KP = gradient_KP if out_KP is None else out_KP.copy_(gradient_KP)
        else:
            losses_K = self.losses(inputs, targets, tap, drop=self.drop)
            scaled_K = losses_K if scale_K is None else losses_K * scale_K
            gradient_KP = self.joined(torch.autograd.grad(scaled_K.sum(), self.leaves), out_KP)
        return losses_K.detach(), gradient_KP if scale_K is None else gradient_KP.div_(scale_K.unsqueeze(1))

    def _traced_gradient(self, inputs: Tensor, targets: Tensor, scale_K: Tensor | None) -> tuple[Tensor, Tensor]:
        """As `gradient`, by torch.func: the compiler follows it, and does not follow torch.autograd.grad."""

        def scaled(flat_KP: Tensor) -> tuple[Tensor, Tensor]:
            losses_K = self.losses(inputs, targets, views=self.views_of(flat_KP), drop=self.drop)
            return (losses_K if scale_K is None else losses_K * scale_K).sum(), losses_K

        gradient_KP, losses_K = torch.func.grad(scaled, has_aux=True)(self.flat_KP)
        return losses_K, gradient_KP

    def scores_of_start(self, inputs: Tensor, wanted_K: Tensor, batches: Iterator[Tensor]) -> Scores:
        """Scores of the weights at initialization, by what the loss measures now; nan where that cannot have changed, and for
        lanes that are not wanted. batches: inputs that were trained on, [K, B, ...]."""
        return Scores(torch.full_like(self.flat_KP[:, 0], math.nan), None)

    def evaluate(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Each lane's mean loss over the same examples [N, ...], [K], as `scores` has it."""
        return self.scores(inputs, targets).loss

    @torch.no_grad()
    def scores(self, inputs: Tensor, targets: Tensor) -> Scores:
        """Each lane's mean loss and accuracy over the same examples [N, ...], in one forward pass; of classes, over the targets
        that are not NOT_COUNTED, nan if none is."""
        lanes, examples = self.flat_KP.shape[0], len(targets)
        chunk = self.examples_at_once(targets)
        total_K, right_K = torch.zeros(2, lanes, device=self.flat_KP.device)
        for part, answers in zip(torch.split(inputs, chunk), torch.split(targets, chunk), strict=True):
            losses_K, found_K = self._scored(part.expand(lanes, *part.shape), answers.expand(lanes, *answers.shape))
            total_K += losses_K * len(answers)
            right_K += found_K
        counted = int((targets != NOT_COUNTED).sum()) if self.classifies else targets.numel()
        loss_K = total_K / examples * (targets.numel() / counted if counted else math.nan)
        if not self.classifies:
            return Scores(loss_K, None)
        return Scores(loss_K, torch.where(loss_K.isfinite(), right_K / max(1, counted), math.nan))

    def _scored(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Each lane's mean loss over a chunk, and how many of its targets have the largest logit, [K] each; zero where targets
        are numbers."""
        outputs = self.outputs(inputs)
        losses_K = self._losses_of(outputs, targets)
        if not self.classifies:
            return losses_K, torch.zeros_like(losses_K)
        outputs, targets = self.competing(outputs, targets)
        return losses_K, (outputs.argmax(dim=-1) == targets).flatten(1).sum(dim=1)

    def layer_norms(self, values_KP: Tensor) -> Tensor:
        """Euclidean norm of each layer's slice, [K, layers]."""
        return torch.stack([part.norm(dim=1) for part in torch.split(values_KP, self.layer_sizes, dim=1)], dim=1)

    def matrix_norms(self, values_KP: Tensor) -> Tensor:
        """Euclidean norm of each weight matrix's slice, [K, matrices]: of parameters with two sides or more."""
        parts = zip(self.model.parameters, torch.split(values_KP, self.sizes, dim=1), strict=True)
        norms = [part.norm(dim=1) for parameter, part in parts if len(parameter.shape) > 1]
        return torch.stack(norms, dim=1) if norms else values_KP.new_empty(len(values_KP), 0)
