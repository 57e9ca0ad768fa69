"""Samples of the machine, with a stand-in for `nvidia-smi` that answers as the real one prints."""

from pathlib import Path

import pytest

from folklore.harness.train.machine.load import gpu_load, system_load


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_every_gpu_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    stand_in(tmp_path, monkeypatch, f'echo "$@" > {asked}; echo "87, 1000, 301.50"; echo "[N/A], 500, [N/A]"')
    assert gpu_load() == {
        "gpu_0_utilization_percentage": 87.0,
        "gpu_0_memory_usage_megabytes": pytest.approx(1048.576),  # nvidia-smi counts in MiB
        "gpu_0_power_usage_watts": 301.5,
        "gpu_1_memory_usage_megabytes": pytest.approx(524.288),
    }
    assert asked.read_text().strip() == "--query-gpu=utilization.gpu,memory.used,power.draw --format=csv,noheader,nounits"
    assert {"cpu_utilization_percentage", "system_memory_usage_megabytes", "gpu_0_power_usage_watts"} <= system_load().keys()


@pytest.mark.parametrize("script", ["exit 9", "echo 'NVIDIA-SMI has failed because it could not communicate'", ""])
def test_a_driver_that_does_not_answer_is_no_error(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, script)
    assert gpu_load() == {}


def test_one_that_hangs_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folklore.harness.train.machine.load.QUERY_SECONDS", 0.2)
    monkeypatch.setattr("folklore.harness.train.machine.load._hangs", False)
    stand_in(tmp_path, monkeypatch, f"echo asked >> {tmp_path / 'asked'}; exec sleep 60")
    assert gpu_load() == {}
    assert gpu_load() == {}
    assert (tmp_path / "asked").read_text().split() == ["asked"]


def test_a_machine_without_gpus_tells_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert gpu_load() == {}
    assert system_load()["system_memory_usage_megabytes"] > 0
