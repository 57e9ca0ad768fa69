"""Every study through Ray and MLflow to its page, at smoke scale. (warmup is looked at closely in test_end_to_end.py.)"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.catalog import study_names
from harness.ledger import Ledger
from harness.store import Store


@pytest.mark.parametrize("name", [name for name in study_names() if name != "warmup"])
def test_a_study_from_end_to_end(name: str, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "harness", "run", name.replace("_", "-"), "--scale", "smoke", "--store", str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    trained, planned = map(int, re.findall(r"(\d+) of (\d+) trials", done.stderr)[-1])
    trials = Ledger(Store(str(tmp_path)), name).trials()
    assert trained == planned == len(trials) > 0
    assert (tmp_path / "pages" / f"{name}.html").exists()
    assert "given up" not in done.stderr
