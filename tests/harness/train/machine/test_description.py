"""The description of this machine, made without torch if torch would see no GPU in any case."""

import ctypes
import sys

import pytest
import torch

from folklore.harness.train.machine import description


def _no_driver(name: str) -> None:
    raise OSError(f"{name}: cannot open shared object file")


@pytest.mark.parametrize(
    ("build", "driver", "may"),
    [
        ("2.13.0+cpu", True, False),
        ("2.13.0+cu130", True, True),
        ("2.13.0+cu130", False, False),
        ("2.13.0", True, True),
        ("2.13.0", False, False),
        ("2.13.0+rocm7.1", False, True),
    ],
)
def test_torch_is_asked_where_it_may_see_a_gpu(build: str, driver: bool, may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(description, "version", lambda package: build)
    monkeypatch.setattr(ctypes, "CDLL", (lambda name: None) if driver else _no_driver)
    assert description._may_have_gpu() is may


def test_no_gpu_is_missed_here() -> None:
    """On this machine, whatever it is."""
    assert description._may_have_gpu() or not torch.cuda.is_available()
