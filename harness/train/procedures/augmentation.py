"""Augmentation: training images are shifted, and mirrored, at each step again. Evaluations see images as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Configuration, Training
from ...errors import UserError
from ...words import counted
from ..workloads.data import Dataset
from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor


class Augmentation(Procedure):
    """Moves each image by two whole numbers from -shift_pixels to shift_pixels, each as likely. What comes in from beyond the
    border is the lowest value of the training images: black, as in torchvision's RandomCrop with padding.

    What is done to an image depends on the lane's seed, the step and its number in the batch. Lanes without augmentation see
    what they would see alone.
    """

    place, setting = 40, "training.augmentation"

    def prepare(self, making: Making) -> None:
        import torch

        from ..counted import Counted

        dataset, lanes, clock = making.dataset, making.trainings, making.learner.clock
        self.drawn, self.sides = Counted(making.orders, "augmentation", clock), dataset.facts.features[-2:]
        self.black = float(dataset.arrays("train")[0].min())
        asked = [lane.shift_pixels * (lane.augmentation != "none") for lane in lanes]
        self.most, device = max(asked), clock.device
        self.shift_K1 = torch.tensor(asked, device=device).unsqueeze(1)
        self.flips_K1 = torch.tensor([lane.augmentation == "flip_and_shift" for lane in lanes], device=device).unsqueeze(1)

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        """Raises UserError for examples that are no images, and for shifts that leave nothing of one."""
        training, features = configuration.training, dataset.facts.features
        if len(features) not in (2, 3):
            what = f"of shape {features}" if features else "a text"
            raise UserError(
                f"augmentation = {training.augmentation}: the examples of dataset '{dataset.name}' are {what} and no images;"
                " leave it at none"
            )
        if training.shift_pixels >= min(features[-2:]):
            raise UserError(
                f"shift_pixels = {training.shift_pixels}: must be less than a side of the images of dataset '{dataset.name}',"
                f" {features[-2]} x {features[-1]} pixels"
            )

    @classmethod
    def words(cls, training: Training) -> str:
        mirrored = " and half of them mirrored" * (training.augmentation == "flip_and_shift")
        return f", images shifted by up to {counted(training.shift_pixels, 'pixel')}{mirrored}"

    def batch(self, index_KB: Tensor) -> tuple[Tensor, Tensor]:
        inputs, targets = super().batch(index_KB)
        return self._moved(inputs), targets

    def _moved(self, x_KB: Tensor) -> Tensor:
        """Images [K, B, H, W] or [K, B, C, H, W]."""
        import torch

        lanes, batch = x_KB.shape[:2]
        height, width = self.sides
        rows_KB, columns_KB = (self._shift(name, batch) for name in ("rows", "columns"))
        mirrored_KB = self.flips_K1 & (self.drawn.bits("flip", batch) & 1 == 1)
        upright = torch.arange(width, device=x_KB.device)
        across = torch.where(mirrored_KB.flatten()[:, None], width - 1 - upright, upright)
        x = self.most + columns_KB.flatten()[:, None] + across
        y = self.most + rows_KB.flatten()[:, None] + torch.arange(height, device=x_KB.device)
        padded = torch.nn.functional.pad(x_KB.reshape(lanes * batch, -1, height, width), (self.most,) * 4, value=self.black)
        channels = padded.shape[1]
        taken = padded.gather(2, y[:, None, :, None].expand(-1, channels, -1, padded.shape[3]))
        return taken.gather(3, x[:, None, None, :].expand(-1, channels, height, -1)).view(x_KB.shape)

    def _shift(self, place: str, batch: int) -> Tensor:
        """[K, B], from minus to plus the lane's largest shift."""
        sizes_K1 = 2 * self.shift_K1 + 1
        return (self.drawn.bits(place, batch) * sizes_K1 >> 32) - self.shift_K1


PROCEDURE = Augmentation
