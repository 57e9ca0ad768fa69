"""The callbacks in the real Trainers of Lightning and Hugging Face."""

import logging
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from tests.harness.elsewhere.watch.helpers import batches, mlp


@cache
def data() -> TensorDataset:
    return TensorDataset(*next(batches(1, size=256)))


def lightning_fit(folder: Path, callbacks: list[Any], accumulate: int) -> nn.Module:
    pl = pytest.importorskip("lightning.pytorch")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(pl.LightningModule):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp()

        def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
            return F.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=3e-3)

    quiet = dict.fromkeys(("logger", "enable_progress_bar", "enable_model_summary", "enable_checkpointing"), False)
    settings = {"max_epochs": 3, "accumulate_grad_batches": accumulate, "gradient_clip_val": 1e-3, "accelerator": "cpu"}
    trainer = pl.Trainer(callbacks=callbacks, default_root_dir=folder, **settings, **quiet)
    module = Module()
    trainer.fit(module, DataLoader(data(), batch_size=32))
    return module


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accumulate", [1, 4])
def test_lightning(tmp_path: Path, accumulate: int) -> None:
    pytest.importorskip("lightning.pytorch")
    from folklore.harness import LightningWatch

    callback = LightningWatch(every=1)
    watched = lightning_fit(tmp_path, [callback], accumulate)
    plain = lightning_fit(tmp_path, [], accumulate)
    for ours, theirs in zip(watched.parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert callback.watch is not None
    report, updates = callback.watch.report(), 24 // accumulate
    assert report.measured == {"losses": updates, "gradients": updates, "looks": updates}
    assert report.spans["gradient_norm"].least > 0.01  # before clipping
    assert set(report.layers) == {"net.0", "net.2", "net.4"}
    assert set(report.units or {}) == {"relu after net.0", "relu after net.2"}
    assert report.spans["loss"].first == pytest.approx(1.1, abs=0.1)


class Net(nn.Module):
    """A model as the Trainer of Hugging Face takes it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = mlp()

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.net(x)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


class Items(torch.utils.data.Dataset[dict[str, Tensor]]):
    def __len__(self) -> int:
        return 256

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        x, y = data()[i]
        return {"x": x, "labels": y}


def hugging_face_train(folder: Path, model: nn.Module, data: Any, *callbacks: Any, **settings: Any) -> list[dict[str, float]]:
    """The Trainer's log of each step."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    quiet = {"logging_steps": 1, "report_to": [], "use_cpu": True, "disable_tqdm": True, "save_strategy": "no"}
    arguments = transformers.TrainingArguments(output_dir=folder, **quiet, **settings)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=data, callbacks=[*callbacks])
    trainer.train()
    return [row for row in trainer.state.log_history if "loss" in row]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accumulate", [1, 4])
def test_hugging_face(tmp_path: Path, accumulate: int) -> None:
    """Losses and gradient norms are those that the Trainer logs."""
    pytest.importorskip("transformers")
    from folklore.harness import HuggingFaceWatch

    callback = HuggingFaceWatch(every=1)
    settings = {"per_device_train_batch_size": 32, "gradient_accumulation_steps": accumulate, "num_train_epochs": 2}
    settings |= {"learning_rate": 3e-3, "max_grad_norm": 1e-3}
    watched, plain = Net(), Net()
    logs = hugging_face_train(tmp_path, watched, Items(), callback, **settings)
    hugging_face_train(tmp_path, plain, Items(), **settings)
    for ours, theirs in zip(watched.parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert callback.watch is not None
    report, updates = callback.watch.report(), 16 // accumulate
    assert report.measured == {"losses": updates, "gradients": updates, "looks": updates}
    assert [report.spans["loss"].first, report.spans["loss"].last] == pytest.approx(
        [logs[0]["loss"], logs[-1]["loss"]], abs=1e-3
    )
    assert report.spans["gradient_norm"].last == pytest.approx(logs[-1]["grad_norm"], rel=1e-3)
    assert set(report.units or {}) == {"relu after net.0", "relu after net.2"}
    assert not watched._forward_hooks


@pytest.mark.filterwarnings("ignore")
def test_a_language_model_whose_loss_is_a_part_of_the_step(tmp_path: Path) -> None:
    """It is told how many tokens the whole step has, and its micro-batches' losses add up."""
    transformers = pytest.importorskip("transformers")
    from folklore.harness import HuggingFaceWatch

    config = transformers.GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config)
    tokens = [{"input_ids": row, "labels": row} for row in torch.randint(0, 50, (32, 16))]
    callback = HuggingFaceWatch(every=1)
    settings = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 3}
    logs = hugging_face_train(tmp_path, model, tokens, callback, **settings)
    assert callback.watch is not None
    span = callback.watch.report().spans["loss"]
    assert [span.first, span.last] == pytest.approx([logs[0]["loss"], logs[-1]["loss"]], abs=1e-3)
