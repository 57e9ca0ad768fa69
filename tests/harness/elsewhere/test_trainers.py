"""Logs as Hugging Face's and Lightning's trainers and TensorBoard's writer really make them."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from folklore.harness.elsewhere.readers import read
from folklore.harness.errors import UserError
from tests.harness.elsewhere.planted import told
from tests.places import SHARED

EVENTS = SHARED / "runs" / "events.out.tfevents.algoperf_wmt"


def examples(count: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, 4, generator=generator), torch.randn(count, 1, generator=generator)


class Regression(nn.Module):
    """A module that returns its loss, as Hugging Face's Trainer takes it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": ((self.layer(x) - labels) ** 2).mean()}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two output folders with two checkpoints each; one run saves its state at the end, and is evaluated once more."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("outputs")
    x, y = examples()
    data = [{"x": a, "labels": b} for a, b in zip(x, y, strict=True)]
    for name in ("sgd_seed0", "sgd_seed1"):
        arguments = transformers.TrainingArguments(
            **{"output_dir": str(folder / name), "max_steps": 20, "per_device_train_batch_size": 8, "optim": "sgd"},
            **{"logging_steps": 5, "eval_steps": 10, "save_steps": 10, "eval_strategy": "steps", "learning_rate": 0.1},
            **{"report_to": [], "use_cpu": True, "disable_tqdm": True},
        )
        trainer = transformers.Trainer(Regression(), arguments, train_dataset=data, eval_dataset=data[:16])
        trainer.train()
    trainer.eval_dataset = data[16:]
    trainer.evaluate()
    trainer.save_state()
    return folder


def test_states_of_hugging_face(outputs: Path) -> None:
    table = read(str(outputs))
    assert table.roles == {"run": "run", "step": "step"}
    assert table.frame["run"].tolist() == ["sgd_seed0"] * 4 + ["sgd_seed1"] * 4, "of two checkpoints the later one"
    for run, rows in table.frame.groupby("run"):
        log = json.loads((outputs / str(run) / "checkpoint-20" / "trainer_state.json").read_text())["log_history"]
        assert rows["step"].tolist() == [5, 10, 15, 20]
        assert rows["loss"].tolist() == [entry["loss"] for entry in log if "loss" in entry]
        assert rows["eval_loss"].dropna().tolist() == [entry["eval_loss"] for entry in log if "eval_loss" in entry]
        assert rows["eval_loss"].isna().tolist() == [True, False, True, False], "one row a step"
    assert told(table) == {"runs that logged a value twice at one step": 1}, "evaluated again, on other data"
    assert table.problems[0].examples == ("sgd_seed1",)
    assert not table.tuned


def test_a_run_is_its_output_folder_however_it_is_named(outputs: Path) -> None:
    for name in ("sgd_seed0", "sgd_seed0/checkpoint-10", "sgd_seed0/checkpoint-20/trainer_state.json"):
        frame = read(str(outputs / name)).frame
        assert set(frame["run"]) == {"sgd_seed0"}, name
        assert frame["step"].max() == (10 if "checkpoint-10" in name else 20)


def test_a_loss_of_nan_is_read_as_such(outputs: Path, tmp_path: Path) -> None:
    """As json.dumps writes it; and the state of a run that was killed has no later step."""
    state = json.loads((outputs / "sgd_seed0" / "checkpoint-20" / "trainer_state.json").read_text())
    state["log_history"][-1]["eval_loss"] = math.nan
    state["trial_params"] = {"learning_rate": 0.1}
    for run in ("run-0", "run-1"):
        (tmp_path / run / "checkpoint-20").mkdir(parents=True)
        (tmp_path / run / "checkpoint-20" / "trainer_state.json").write_text(json.dumps(state))
        state["trial_params"] = {"learning_rate": 0.2}
    table = read(str(tmp_path))
    last = table.frame.groupby("run")["eval_loss"].nth(-1)
    assert not last.isna().any()
    assert all(math.isnan(value) for value in last.to_numpy(float, na_value=0.0))
    assert table.frame["learning_rate"].notna().any()
    assert table.tuned, "a hyperparameter search gives each run others"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions; the second has a module among its hyperparameters."""
    lightning = pytest.importorskip("lightning")
    loggers = pytest.importorskip("lightning.pytorch.loggers")

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self, lr: float, epoch: int, net: nn.Module | None) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = nn.Linear(4, 1)

        def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
            loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
            self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean() * (math.nan if self.current_epoch else 1.0))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), self.hparams["lr"])

    folder = tmp_path_factory.mktemp("logs")
    loader = DataLoader(TensorDataset(*examples()), 8)
    for lr, net in ((0.1, None), (0.2, nn.Linear(1, 1))):
        trainer = lightning.Trainer(
            **{"max_epochs": 2, "log_every_n_steps": 4, "logger": loggers.CSVLogger(folder), "accelerator": "cpu"},
            **{"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False},
        )
        trainer.fit(Module(lr, 7, net), loader, loader)
    return folder


def test_logs_of_lightning(logs: Path) -> None:
    table = read(str(logs))
    frame = table.frame
    assert table.roles == {"run": "run", "step": "step"}
    assert frame["run"].tolist() == ["lightning_logs/version_0"] * 4 + ["lightning_logs/version_1"] * 4
    assert frame["step"].tolist() == [3, 7, 11, 15] * 2
    both = frame[frame["step"] == 7]
    assert both[["train_loss_step", "train_loss_epoch", "val_loss"]].notna().all(axis=None), "one row a step"
    assert frame["val_loss"].isna().tolist() == [True, False, True, False] * 2
    assert math.isnan(frame["val_loss"].to_numpy(float, na_value=0.0)[3]), "a nan that was logged is no blank"
    assert frame["lr"].tolist() == [0.1] * 4 + [0.2] * 4, "also beside a module, which is never made"
    assert set(frame["hparams.epoch"]) == {7}, "what a hyperparameter shares its name with stays what it is"
    assert told(table) == {"runs with hyperparameters that are no plain values": 1}


def test_one_version_and_one_file_have_the_same_run(logs: Path) -> None:
    version = logs / "lightning_logs" / "version_0"
    whole = read(str(version)).frame
    assert whole.equals(read(str(version / "metrics.csv")).frame)
    assert set(whole["run"]) == {"version_0"}


def test_no_object_is_made_from_hyperparameters(logs: Path, tmp_path: Path) -> None:
    shutil.copytree(logs / "lightning_logs" / "version_0", tmp_path / "v")
    touched = tmp_path / "touched"
    (tmp_path / "v" / "hparams.yaml").write_text(f"lr: 0.5\nx: !!python/object/apply:os.mknod ['{touched}']\n")
    frame = read(str(tmp_path / "v")).frame
    assert set(frame["lr"]) == {0.5}
    assert not touched.exists()
    bomb = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    bomb += [f"{name}: &{name} [{', '.join([f'*{chr(ord(name) - 1)}'] * 9)}]" for name in "bcdefghi"]
    (tmp_path / "v" / "hparams.yaml").write_text("\n".join(["lr: 0.5", *bomb]))
    assert set(read(str(tmp_path / "v")).frame["lr"]) == {0.5}


def test_another_table_named_metrics_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("seed,loss\n0,1\n1,2\n")
    assert read(str(tmp_path)).format == "CSV"


def events(folder: Path, values: list[tuple[int, float]], tag: str = "val/loss") -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for step, value in values:
            writer.add_scalar(tag, value, step)
            writer.add_text("notes", "none", step)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    pytest.importorskip("tbparse")
    for seed in range(2):
        events(tmp_path / f"seed{seed}", [(0, 4.0), (10, 2.0 + seed), (20, math.inf)])
    return tmp_path


def test_event_files(runs: Path) -> None:
    table = read(str(runs))
    assert table.roles == {"run": "run", "step": "step"}
    assert list(table.frame) == ["run", "step", "val/loss"], "scalars alone"
    assert table.frame["run"].tolist() == ["seed0"] * 3 + ["seed1"] * 3
    assert table.frame["val/loss"].tolist() == [4.0, 2.0, math.inf, 4.0, 3.0, math.inf]
    assert not table.problems


def test_a_run_that_was_started_again_counts_as_it_was_logged_last(runs: Path) -> None:
    events(runs / "seed0", [(10, 1.5), (20, 1.0)])
    table = read(str(runs / "seed0"))
    assert table.frame["val/loss"].tolist() == [4.0, 1.5, 1.0]
    assert told(table) == {"runs that were resumed at an earlier step": 1}


def test_event_files_of_a_folder_are_parts_of_a_run_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Weights were loaded and the counter began again; a learning rate begins again with its schedule."""
    pytest.importorskip("tbparse")
    from torch.utils.tensorboard import SummaryWriter

    for suffix, begun, losses in ((".b", 1000, [2.0, 1.0, 0.6]), (".a", 2000, [0.55, 0.5])):
        with SummaryWriter(str(tmp_path / "seed0"), filename_suffix=suffix) as writer:
            for step, loss in enumerate(losses, 1):
                writer.add_scalar("val/loss", loss, step, walltime=begun + step)
                writer.add_scalar("lr", 1 / step, step, walltime=begun + step)
    table = read(str(tmp_path))
    assert table.frame["step"].tolist() == [1, 2, 3, 4, 5]
    assert table.frame["val/loss"].tolist() == pytest.approx([2.0, 1.0, 0.6, 0.55, 0.5])
    assert table.frame["lr"].tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1, 1 / 2])
    assert told(table) == {"runs whose steps begin again while their values go on": 1}


def test_a_run_in_the_folder_of_another_is_one_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("tbparse")
    events(tmp_path / "seed0", [(0, 4.0), (10, 2.0), (20, 1.0)])
    events(tmp_path / "seed0", [(0, 3.9), (10, 1.9)])
    table = read(str(tmp_path))
    assert table.frame["run"].tolist() == ["seed0"] * 3 + ["seed0#2"] * 2
    assert told(table) == {"runs that begin again at their first step and value": 1}


def test_folders_of_ranks_are_one_run(tmp_path: Path) -> None:
    pytest.importorskip("tbparse")
    for rank in range(3):
        events(tmp_path / "seed0" / f"rank_{rank}", [(0, 4.0 + rank), (10, 2.0 + rank)])
    table = read(str(tmp_path))
    assert table.frame["run"].tolist() == ["seed0"] * 2
    assert table.frame["val/loss"].tolist() == [4.0, 2.0]
    assert told(table) == {"further ranks of runs": 2}


@pytest.mark.parametrize("damage", ["cut off", "flipped"])
def test_damage_to_an_event_file_is_said(runs: Path, damage: str) -> None:
    """TensorBoard itself stops at it without a word."""
    (path,) = (runs / "seed0").iterdir()
    content = path.read_bytes()
    last = content.rindex(b"val/loss")
    path.write_bytes(content[:last] if damage == "cut off" else content[: last + 1] + b"X" + content[last + 2 :])
    table = read(str(runs))
    assert told(table) == {"event files that are damaged or cut off": 1}
    assert table.frame["run"].tolist() == ["seed0"] * 2 + ["seed1"] * 3


def test_without_tbparse_a_line_says_what_to_install(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tbparse", None)
    with pytest.raises(UserError, match=r"tbparse is not installed.*make setup EXTRAS=runs.*folklore-harness\[runs\]"):
        read(str(runs))


@pytest.mark.skipif(not EVENTS.is_file(), reason="needs ../shared/runs")
def test_the_event_file_of_algoperf() -> None:
    """Its scalars are tensors to their writer."""
    pytest.importorskip("tbparse")
    frame = read(str(EVENTS)).frame
    validation: Any = frame["validation/bleu"].dropna()
    assert len(validation) == 48
    assert frame["step"].max() == 110_446
    assert frame["step"].is_unique
