"""A callback for the Trainer of Hugging Face's transformers: `Trainer(..., callbacks=[HuggingFaceWatch()])`."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .hooks import Hook
from .watch import Watch


class HuggingFaceWatch(TrainerCallback):
    """Watches the model and its optimizer while it is trained. options: those of Watch. watch: None before training; its report
    stays after it.

    The Trainer tells callbacks no loss between logs, so it is heard from the model's output. The gradient norm is the Trainer's
    own, before clipping, at its logging steps: set logging_steps=1 for every step.
    """

    def __init__(self, **options: Any):
        self.options = options
        self.watch: Watch | None = None
        self._losses: list[Tensor] = []
        self._hook: Any = None
        self._are_parts = False

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        model = kwargs["model"]
        self.watch = Watch(model, kwargs["optimizer"], **self.options)
        self.watch.seen.norm_is_given = args.max_grad_norm > 0
        self._hook = model.register_forward_hook(Hook(self._hear), with_kwargs=True)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self.watch is not None and self._losses:
            losses, self._losses = self._losses, []
            self.watch(sum(losses[1:], losses[0]) / (1 if self._are_parts else len(losses)))

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        logs = kwargs.get("logs") or {}
        if self.watch is not None and "grad_norm" in logs and args.max_grad_norm > 0:
            self.watch.note_norm(self.watch.steps.done, float(logs["grad_norm"]))

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self.watch is not None:
            self._hook.remove()
            self.watch.close()

    def _hear(self, module: nn.Module, args: Any, kwargs: Mapping[str, Any], output: Any) -> None:
        """The loss of a micro-batch: with num_items_in_batch its part of the whole step's, else a mean of its own."""
        loss = output.get("loss") if isinstance(output, Mapping) else None
        if module.training and isinstance(loss, Tensor):
            self._losses.append(loss.detach())
            self._are_parts = "num_items_in_batch" in kwargs
