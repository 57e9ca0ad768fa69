"""Programs of one kind of machine are not taken for those of another."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from folklore.harness.train import compile_cache, programs
from folklore.harness.train.compile_cache import PREFIX, VARIABLE, machine_kind, separate

CPU = torch.device("cpu")
# For a machine whose own vectors are as wide, those of the other entry are another width.
NARROWER = "avx2" if torch.backends.cpu.get_cpu_capability() == "AVX512" else "default"


@pytest.fixture(autouse=True)
def own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, os.environ.get(VARIABLE, ""))  # what a test makes of it is undone
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)


def test_a_kind_of_machine_is_known_by_its_instructions_and_its_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kinds = [machine_kind(), machine_kind()]
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "DEFAULT")
    kinds.append(machine_kind())
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert machine_kind() == kinds[-1]
    other = tmp_path / "c++"
    other.write_text("#!/bin/sh\necho another compiler 1.0\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    kinds.append(machine_kind())
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "another")
    kinds.append(machine_kind())
    assert kinds[0] == kinds[1]
    assert len(set(kinds)) == 4


def test_the_processor_is_its_model_and_instructions(tmp_path: Path) -> None:
    x86 = tmp_path / "x86"
    x86.write_text("processor\t: 0\nmodel name\t: A 1\nflags\t\t: fpu avx2\ncpu MHz\t: 1\n\nprocessor\t: 1\nmodel name\t: B\n")
    assert compile_cache._processor(x86) == ["1 A", "avx2 fpu"]
    arm = tmp_path / "arm"
    arm.write_text("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n")
    assert compile_cache._processor(arm) == ["asimd fp sve", "0x41"]
    assert compile_cache._processor(tmp_path / "none")


def test_the_folder_lies_in_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    folder = separate()
    assert folder == os.environ[VARIABLE] == str(tmp_path / f"{PREFIX}{machine_kind()}")
    assert separate() == folder, "once is enough"
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")  # a process started with another width inherits the variable
    assert Path(separate()).parent == tmp_path
    assert separate() != folder


def test_without_a_wish_it_lies_in_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    monkeypatch.delenv(VARIABLE)
    assert Path(separate()).parent == Path(default_cache_dir())


def test_what_is_compiled_uses_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Torch reads the variable at each compilation, whenever it was imported."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    cache_dir()
    programs.compiled(lambda: None)
    assert cache_dir() == str(tmp_path / f"{PREFIX}{machine_kind()}")


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1300)
@pytest.mark.skipif(programs.missing_compiler(CPU) != "", reason="no compiler here")
def test_a_cache_made_under_another_vector_width_does_no_harm(tmp_path: Path) -> None:
    """Loops written for one width and compiled for another gave losses off by 2 nats, or wrote beyond the end of tensors."""
    for capability in (NARROWER, ""):
        environment = {name: value for name, value in os.environ.items() if name != "ATEN_CPU_CAPABILITY"}
        environment |= {VARIABLE: str(tmp_path)} | ({"ATEN_CPU_CAPABILITY": capability} if capability else {})
        done = subprocess.run(
            [sys.executable, "-m", "tests.harness.train.plain_steps", "adamw"],
            env=environment, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"program": "compiled", "differences": []}
    assert len(list(tmp_path.iterdir())) == 2
