"""A Lightning callback: `Trainer(callbacks=[LightningWatch()])`."""

from collections.abc import Mapping
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torch.optim import Optimizer

from .watch import Watch


class LightningWatch(Callback):
    """Watches the module and its first optimizer while it is fitted. options: those of Watch. watch: None before the fit; its
    report stays after it."""

    def __init__(self, **options: Any):
        self.options = options
        self.watch: Watch | None = None
        self._losses: list[Tensor] = []
        self._updates = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A training step need not call the module's forward, so units are listened to from the batch's start to the loss."""
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        self.watch = Watch(pl_module, trainer.optimizers[0], **{"scaler": scaler, **self.options})
        if self.watch.units:
            self.watch.units.close()

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self.watch is not None and self.watch.units:
            self.watch.units.begin(pl_module)

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        if self.watch is not None and self.watch.units:
            self.watch.units.end(pl_module)

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        """Gradients are unscaled by now, and not yet clipped."""
        if self.watch is not None and optimizer is self.watch.optimizer:
            self.watch.gradients()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """The last micro-batch of a step comes after its update, if there is one; Lightning divides losses by the number of
        micro-batches."""
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if self.watch is None or loss is None:
            return
        self._losses.append(loss)
        updates = self.watch.steps.updates
        if updates > self._updates or len(self._losses) >= trainer.accumulate_grad_batches:
            losses, self._losses, self._updates = self._losses, [], updates
            self.watch(sum(losses[1:], losses[0]) * (trainer.accumulate_grad_batches / len(losses)))

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.watch is not None:
            self.watch.close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        if self.watch is not None and self.watch.units:
            self.watch.units.end(pl_module)
        self.on_fit_end(trainer, pl_module)
