"""The part of the project that Ray's nodes are sent."""

import os
import subprocess
import sys
from pathlib import Path

from folklore.harness.declare.observed import KINDS
from folklore.harness.launch.ray_connection import _shipped

READ = (
    "from folklore.harness import declare; from folklore.harness.declare.observed import KINDS; print(declare.__file__, *KINDS)"
)


def test_a_node_knows_every_metric(tmp_path: Path) -> None:
    (package,) = _shipped(tmp_path)["py_modules"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    read = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, cwd=tmp_path, env=environment)
    file, *kinds = read.stdout.split()
    assert file.startswith(package)
    assert set(kinds) == KINDS.keys()
