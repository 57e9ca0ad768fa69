"""Shifted and mirrored images against numpy, image by image."""

from functools import partial

import numpy as np
import pytest
import torch

from folklore.harness.train.pack import Pack
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.data.base import DataFacts
from folklore.harness.train.workloads.data.examples import Examples
from tests.harness.train import contract
from tests.harness.train.contract import CNN

lane = partial(contract.lane, CNN, optimizer="sgd", peak_lr=0.02, batch_size=8)


def batch(pack: Pack, step: int) -> torch.Tensor:
    pack.step = step
    pack.clock.fill_(step)
    pack._draw()
    return pack._batch()[0]


def moved(image: np.ndarray, dy: int, dx: int, mirrored: bool, black: float) -> np.ndarray:
    """By loops over pixels; the last two axes are an image's."""
    height, width = image.shape[-2:]
    shifted = np.full_like(image, black)
    for y in range(height):
        for x in range(width):
            source_y, source_x = y + dy, x + dx
            source_x = width - 1 - source_x + 2 * dx if mirrored else source_x
            if 0 <= source_y < height and 0 <= source_x < width:
                shifted[..., y, x] = image[..., source_y, source_x]
    return shifted


def coloured() -> Examples:
    generator = np.random.default_rng(0)
    images = generator.random((40, 3, 6, 9)).astype(np.float32)
    labels = generator.integers(0, 4, 40)
    return Examples("colours", DataFacts("x", 4, (3, 6, 9)), dict.fromkeys(("train", "validation", "test"), (images, labels)))


@pytest.mark.parametrize("dataset", ["digits", "colours"])
@pytest.mark.parametrize("kind", ["shift", "flip_and_shift"])
def test_every_image_is_one_of_the_shifts_and_all_of_these_occur(kind: str, dataset: str) -> None:
    data = load("digits") if dataset == "digits" else coloured()
    plain, augmented = Pack([lane()], data), Pack([lane(augmentation=kind, shift_pixels=2)], data)
    black = float(data.arrays("train")[0].min())
    mirrorings = (False, True) if kind == "flip_and_shift" else (False,)
    moves = []
    for step in range(12):
        for before, after in zip(batch(plain, step)[0].numpy(), batch(augmented, step)[0].numpy(), strict=True):
            fits = [
                (dy, dx, mirrored)
                for dy in range(-2, 3)
                for dx in range(-2, 3)
                for mirrored in mirrorings
                if np.array_equal(moved(before, dy, dx, mirrored, black), after)
            ]
            assert fits
            moves.append(fits[0])
    assert {move[0] for move in moves} == {move[1] for move in moves} == {-2, -1, 0, 1, 2}
    assert {move[2] for move in moves} == set(mirrorings)


def test_samples_are_as_they_are() -> None:
    data = load("digits")
    augmented, plain = (Pack([lane(augmentation=kind)], data).procedure for kind in ("shift", "none"))
    assert torch.equal(augmented.sample("validation", 9)[0], plain.sample("validation", 9)[0])
    assert torch.equal(augmented.sample("test", 9)[0], plain.sample("test", 9)[0])
    assert torch.equal(augmented.training_sample(9)[0], plain.training_sample(9)[0])
