"""The command that counts the memory of a model's training."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError
from rich.text import Text

from ...errors import UserError, invalid, unknown
from ...words import counted
from . import choices
from .base import AsJson, command
from .output import out, print_facts, print_json, print_wrapped

if TYPE_CHECKING:
    from ...train.budget import Budget, Subject

GIB = 2**30
MODELS = ("gpt", "mlp", "cnn")
# A real step holds what was counted if neither is more than the other times this.
AS_COUNTED = 1.01


@command(
    "budget",
    "folklore budget gpt --width 4096 --depth 32 --heads 32 --context 2048 --vocabulary 32000 --memory 80",
    "folklore budget my_module:workload --batch-size 256 --precision bf16 --memory 24   # your own model",
)
def budget(
    model: Annotated[str, typer.Argument(help="gpt, mlp or cnn, or MODULE:ATTRIBUTE of your own workload")],
    batch_size: Annotated[int, typer.Option("--batch-size", help="sequences or examples of a step")] = 8,
    precision: Annotated[str, typer.Option("--precision", help="of products: fp32 or bf16; weights are FP32")] = "fp32",
    optimizer: Annotated[str, typer.Option("--optimizer", help="adamw, sgd or another that a study may name")] = "adamw",
    memory: Annotated[str | None, typer.Option("--memory", metavar="GIB", help="of a GPU: the largest batch it holds")] = None,
    width: Annotated[int, typer.Option("--width")] = 256,
    depth: Annotated[int, typer.Option("--depth")] = 4,
    heads: Annotated[int, typer.Option("--heads", help="of a gpt")] = 4,
    context: Annotated[int, typer.Option("--context", help="tokens a sequence, of a gpt")] = 256,
    vocabulary: Annotated[int, typer.Option("--vocabulary", help="of a gpt")] = 50_257,
    dataset: Annotated[str, typer.Option("--data", help="of an mlp or cnn: digits, mnist-5k or images:PATH")] = "digits",
    as_json: AsJson = False,
) -> None:
    """Count what training a model takes in memory: weights, gradients, optimizer state, activations, with and without
    recomputing them. Nothing is trained, and no size is too large. A step that is made here is "as counted" within 1% both
    ways."""
    from ...declare.configuration import OPTIMIZERS
    from ...train import budget as counted
    from ...train import real_step

    if precision not in counted.PRECISIONS:
        raise unknown("number format", precision, counted.PRECISIONS)
    if optimizer not in OPTIMIZERS:
        raise unknown("optimizer", optimizer, OPTIMIZERS)
    batch, limit = choices.count("--batch-size", batch_size) or 1, _bytes_of(memory)
    if ":" in model:
        from ...train.workloads.own.budget import own
        from ...train.workloads.own.finding import find

        subject = own(find(model).workload, precision)
    else:
        fields = {"model": model, "width": width, "depth": depth, "heads": heads, "context": context, "dataset": dataset}
        subject = _built_in(fields, vocabulary, precision, batch)
    plain, held = counted.budget(subject, batch, optimizer), None
    if plain.total <= real_step.MOST_BYTES and precision == "fp32":
        held = real_step.real_peak(subject, batch)
    more = max(1.0, held / plain.step.peak) if held else 1.0
    if limit is not None:
        plain = counted.budget(subject, batch, optimizer, limit, more=more)
    again = counted.budget(subject, batch, optimizer, limit, recompute=True, more=more) if subject.recomputed else None
    facts = {
        "parameters": plain.step.parameters,
        "weights_bytes": plain.step.weights,
        "gradients_bytes": plain.step.gradients,
        "optimizer_state_bytes": plain.state,
        "activations_bytes": plain.step.kept,
        "of_these_constant_bytes": plain.constant,
        "peak_bytes": plain.total,
        "peak_of_a_real_step_bytes": None if held is None else plain.total - plain.step.peak + held,
        "largest_batch": plain.largest,
        "recomputed": None
        if again is None
        else {"activations_bytes": again.step.kept, "peak_bytes": again.total, "largest_batch": again.largest},
    }
    if as_json:
        print_json({"model": model, "batch_size": batch, "products": precision, "optimizer": optimizer, **facts})
        return
    print_facts(_lines(plain, again, subject.recomputed, optimizer, limit, held))
    out.print()
    print_wrapped(
        Text(
            "Leave a tenth free: these numbers leave out what an allocator rounds up and keeps, and libraries' workspaces."
            " They are of plain training in PyTorch, whose optimizers hold as much as the weights for a moment;"
            " kernels that write attention's matrix out hold more."
        )
    )


def _real(plain: "Budget", held: int | None) -> str:
    """Memory that one such step held on this machine, compared with the count."""
    if held is None:
        return "not run here: it is too large to try, or multiplies in 16 bits"
    counted = plain.step.peak
    if max(held, counted) <= AS_COUNTED * min(held, counted):
        said = f"as counted, within {AS_COUNTED - 1:.0%}"
    else:
        said = f"{_spelled(counted)} were counted"
    return f"one made here held {_spelled(held)} of batch, activations and gradients; {said}"


def _built_in(fields: dict[str, Any], vocabulary: int, precision: str, batch: int) -> "Subject":
    from ...declare import Workload
    from ...train.budget import best_segments, built_in
    from ...train.workloads import data, workload_of

    if fields["model"] not in MODELS:
        raise unknown("model", fields["model"], MODELS)
    try:
        workload = Workload.model_validate(fields)
    except ValidationError as error:
        raise invalid("budget", error) from None
    if workload_of(workload).reads_text:
        facts = data.DataFacts(hash="", classes=choices.count("--vocabulary", vocabulary) or 1)
    else:
        facts = data.describe(workload.dataset)
    return built_in(workload, facts, precision, best_segments(workload, facts, precision, batch))


def _bytes_of(memory: str | None) -> int | None:
    """'80', '80GiB' or '23.5' in bytes."""
    if memory is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:GiB|GB|G)?", memory.strip())
    if match is None or not float(match[1]):
        raise UserError(f"--memory {memory}: give a number of GiB, such as 24 or 79.6")
    return int(float(match[1]) * GIB)


def _lines(
    plain: "Budget", again: "Budget | None", recomputed: str, optimizer: str, limit: int | None, held: int | None
) -> dict[str, str]:
    """Printed lines: name -> text."""
    from ...train.budget import state_numbers

    step, numbers = plain.step, state_numbers(optimizer)
    rest = step.weights - step.gradients
    lines = {
        "weights": f"{_spelled(step.weights)}: {step.parameters:,} parameters in FP32"
        + f", and {_spelled(rest)} that are not trained" * (rest > 0),
        "gradients": _spelled(step.gradients),
        "optimizer state": f"{_spelled(plain.state)}: {optimizer} keeps {counted(numbers, 'number')} a weight here",
        "activations": f"{_kept(plain)} for the backward pass, of a batch of {plain.batch}",
        "worst moment of a step": _spelled(plain.total),
    }
    lines["a real step"] = _real(plain, held)
    if limit is not None:
        lines["largest batch"] = _largest(plain, limit)
    if again is None:
        lines["recomputed"] = (
            "its blocks are not known: no ModuleList or Sequential of two or more modules that can be computed again"
        )
        return lines
    lines["recomputed"] = f"{_kept(again)}, {recomputed}; worst moment {_spelled(again.total)}"
    if limit is not None:
        lines["recomputed"] += f"; {_largest(again, limit)}"
    return lines


def _kept(budget: "Budget") -> str:
    """Memory kept for the backward pass; its constant part, such as weights in BF16, stands apart above a hundredth."""
    text = f"{_spelled(budget.step.kept - budget.constant)} kept"
    return text + f" and {_spelled(budget.constant)} whatever the batch" * (100 * budget.constant > budget.step.kept)


def _largest(budget: "Budget", limit: int) -> str:
    from ...train.budget import LARGEST_BATCH

    memory, largest = f"{limit / GIB:.4g} GiB", budget.largest or 0
    if not largest:
        return f"{memory} do not hold a batch of 1"
    text = f"a batch of {'at least ' * (largest >= LARGEST_BATCH)}{largest:,} fits in {memory}"
    return text if budget.step.pretended else f"{text}, by a line through two batches: its forward pass looks at numbers"


def _spelled(size: int) -> str:
    """Three digits of GiB, or of MiB below a hundredth of one."""
    return f"{size / GIB:.3g} GiB" if size >= GIB / 100 else f"{size / 2**20:.3g} MiB"
