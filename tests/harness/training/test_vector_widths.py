"""The numeric tests on vectors of another width than this machine's own: their bounds must not hang on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from folklore.harness.training.compile_cache import VARIABLE

ROOT = Path(__file__).parents[3]
FOLDERS = ("tests/harness/training", "tests/models")
# Of torch's kernels and of oneDNN's.
WIDTHS = {"avx2": "AVX2", "default": "SSE41"}
NARROWER = "avx2" if torch.backends.cpu.get_cpu_capability() == "AVX512" else "default"
HANG_SECONDS = 900


@pytest.mark.slow
@pytest.mark.timeout(HANG_SECONDS + 60)
def test_the_numeric_tests_hold_on_narrower_vectors(tmp_path: Path) -> None:
    """What is compiled is compiled anew; the tests that start processes for other widths are left out."""
    environment = {
        **os.environ,
        "ATEN_CPU_CAPABILITY": NARROWER,
        "ONEDNN_MAX_CPU_ISA": WIDTHS[NARROWER],
        VARIABLE: str(tmp_path),
    }
    without = [f"--ignore=tests/harness/training/{name}.py" for name in ("test_vector_widths", "test_compile_cache")]
    # Without the plug-in of the run this one is part of, and without the compiled variants but one: seconds, not minutes.
    options = ("-q", "-x", "-m", "not slow and not gpu", "-p", "no:xdist", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *without, *FOLDERS],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
