"""How a batch's loss follows from those of its examples: a mean, over examples or tokens or by weights, a sum, or neither."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten_with_path

from .objective import ABSENT, Tree

# The target that torch's losses leave out by default.
IGNORED = -100
# Other usual numbers for padding.
USUAL = (0, 255, -1)
# A sum in another order may differ by this, relative to its largest term; averages over draws by this many standard errors.
ROUNDING = 1e-4
STANDARD_ERRORS = 5.0
DRAWS = 64

Counts = Callable[[Tree, Tree], Tensor]  # a batch -> how much each of its examples counts, [B]
LossOf = Callable[[Sequence[int], int], float]  # which examples, key of draws -> their loss as a batch


@dataclass(frozen=True)
class Reduction:
    """kind: the loss of a batch is a 'mean' of its examples' by their counts, a 'sum' of them, or 'neither', of which no part
    tells anything. words: what it is. counts: None: one an example."""

    kind: str
    words: str
    counts: Counts | None = None

    def counts_of(self, inputs: Tree, targets: Tree, examples: int) -> Tensor:
        """[B], float64. Raises ValueError for counts of another shape."""
        if self.counts is None:
            return torch.ones(examples, dtype=torch.float64)
        counts = torch.as_tensor(self.counts(inputs, targets)).detach().double().cpu()
        if counts.shape != (examples,):
            raise ValueError(
                f"counts gives {list(counts.shape)} of {examples} examples: must give one number for each, [{examples}]"
            )
        return counts


EXAMPLES = Reduction("mean", "a mean over examples")
SUM = Reduction("sum", "a sum over examples")
NEITHER = Reduction("neither", "of a batch as a whole: neither a mean nor a sum over its examples")


def candidates(loss: object, inputs: Tree, targets: Tree, examples: int, user_counts: Counts | None) -> Iterator[Reduction]:
    """Means that a loss of this many examples may be, likeliest first. user_counts: the user's own counts of examples."""
    if user_counts is not None:
        yield Reduction("mean", "a mean by the counts that the workload gives", user_counts)
        return
    yield EXAMPLES
    ignored = getattr(loss, "ignore_index", IGNORED)
    weights = getattr(loss, "weight", None) if isinstance(loss, nn.Module) else None
    for path, values in _leaves(inputs, targets):
        if len(values) != examples:  # put together otherwise than example by example
            continue
        whole = not values.is_floating_point() and not values.is_complex()
        if whole and isinstance(weights, Tensor) and weights.dim() == 1:
            yield Reduction("mean", "a mean by the weights of classes", _weighing(path, weights, ignored))
        if values.is_floating_point() and values.dim() == 1 and bool((values >= 0).all()):
            yield Reduction("mean", f"a mean by the weights {_spelled(path)}", _counting(path, lambda entries: entries))
        if not values.is_complex() and bool(((values == 0) | (values == 1)).all()):
            yield Reduction("mean", f"a mean over what {_spelled(path)} marks", _counting(path, lambda entries: entries != 0))
        elif whole:
            for left_out in dict.fromkeys((ignored, *USUAL)):
                counts = _counting(path, lambda entries, left_out=left_out: entries != left_out)  # type: ignore[misc]
                yield Reduction("mean", f"a mean over targets that are not {left_out}", counts)
            # Of tokens that are shifted inside, a sequence's first has no prediction.
            yield Reduction(
                "mean",
                f"a mean over targets after the first that are not {ignored}",
                _counting(path, lambda entries: entries != ignored, 1),
            )


def find(loss_of: LossOf, examples: int, among: Sequence[tuple[Reduction, Tensor]], draws: bool) -> Reduction:
    """The first of the candidates, each with the counts of the examples, by which the loss of all is the mean of parts'; or a
    sum; or neither. draws: the loss draws random numbers, so that averages over many draws are compared."""
    everyone = list(range(examples))
    cuts = (
        [everyone[0::2], everyone[: max(2, examples // 8)], everyone[: max(2, examples // 2)]]
        if examples > 3
        else [everyone[:1]]
    )
    # Where ways of counting are told apart: those that count less by one of them, apart from the others.
    cuts += [fewer for _, counts in among if (fewer := _less(counts))]
    parts = [part for cut in cuts for part in (cut, [example for example in everyone if example not in cut])]
    keys = range(DRAWS if draws else 1)
    averages = {tuple(part): _average([loss_of(part, key) for key in keys]) for part in (everyone, *parts)}
    everything = averages[tuple(everyone)]
    pairs = list(zip(parts[::2], parts[1::2], strict=True))

    def holds(share: Callable[[list[int]], float]) -> bool:
        return all(
            _agree(everything, [(share(part), *averages[tuple(part)]) for part in pair if share(part)]) for pair in pairs
        )

    for reduction, counts in among:
        total = float(counts.sum())
        if total and holds(lambda part, counts=counts, total=total: float(counts[part].sum()) / total):  # type: ignore[misc]
            return reduction
    return SUM if holds(lambda part: 1.0) else NEITHER


def _less(counts: Tensor) -> list[int]:
    """The examples that count less than most, two at least and not nearly all; none where all count alike."""
    less = (counts < counts.median()).nonzero().flatten().tolist()
    less = less or (counts <= counts.median()).nonzero().flatten().tolist()
    return less if 2 <= len(less) <= len(counts) - 2 else []


def _average(values: list[float]) -> tuple[float, float]:
    """Mean and its squared standard error."""
    losses = torch.tensor(values, dtype=torch.float64)
    return float(losses.mean()), float(losses.var() / len(values)) if len(values) > 1 else 0.0


def _agree(everything: tuple[float, float], parts: list[tuple[float, float, float]]) -> bool:
    expected = sum(share * value for share, value, _ in parts)
    noise = everything[1] + sum(share**2 * error for share, _, error in parts)
    largest = max(abs(everything[0]), *(abs(share * value) for share, value, _ in parts))
    tolerance: float = ROUNDING * largest + 1e-7 + STANDARD_ERRORS * noise**0.5
    return abs(everything[0] - expected) <= tolerance


def _leaves(inputs: Tree, targets: Tree) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Path -> tensor: of the targets, and of inputs by name or one after another, where labels, weights and masks are."""
    sides = [(1, targets)] if targets is not ABSENT else []
    sides += [(0, inputs)] if isinstance(inputs, dict | tuple) else []
    for side, tree in sides:
        for path, value in tree_flatten_with_path(tree)[0]:
            if isinstance(value, Tensor):
                yield (side, *path), value


def _at(path: tuple[Any, ...], inputs: Tree, targets: Tree) -> Tensor:
    value = (inputs, targets)[path[0]]
    for step in path[1:]:
        value = step.get(value)
    tensor: Tensor = value
    return tensor


def _counting(path: tuple[Any, ...], counts: Callable[[Tensor], Tensor], first: int = 0) -> Counts:
    """first: from which target of an example on."""

    def count(inputs: Tree, targets: Tree) -> Tensor:
        values = _at(path, inputs, targets)
        return _sums(counts(values[:, first:] if first and values.dim() > 1 else values))

    return count


def _weighing(path: tuple[Any, ...], weights: Tensor, ignored: int) -> Counts:
    def count(inputs: Tree, targets: Tree) -> Tensor:
        classes = _at(path, inputs, targets).long()
        counted = (classes != ignored) & (classes >= 0) & (classes < len(weights))
        counts = weights.detach().to(classes.device)[classes.clamp(0, len(weights) - 1)].double() * counted
        return _sums(counts)

    return count


def _sums(values: Tensor) -> Tensor:
    return values.reshape(len(values), -1).double().sum(1)


def _spelled(path: tuple[Any, ...]) -> str:
    return ("inputs", "targets")[path[0]] + "".join(map(str, path[1:]))
