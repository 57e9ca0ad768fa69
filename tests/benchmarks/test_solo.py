"""What packs are measured against is the same training: a lane's curve is that of the trial trained alone by torch's own,
to what a bench asks for before it writes a ratio."""

import json

import pytest
import torch

from harness.training.pack import Pack
from tests.benchmarks.results import FOLDER
from tests.benchmarks.solo import Solo, Way
from tests.benchmarks.works import AGREEMENT_STEPS, WORKS, Work

# The rounding that the engine states for lanes. Convolutions drift more from torch's own: for them a bench's gate holds.
STATED_NATS = 2e-4
ROW = {"work", "device", "lanes", "against", "ratio", "low", "high", "makespan_ratio", "agreement", "versions"}


@pytest.mark.parametrize("work", [work for work in WORKS["cpu"] if "430k" not in work.name], ids=lambda work: work.name)
def test_a_lane_is_the_plain_trial(work: Work) -> None:
    steps = AGREEMENT_STEPS
    pack = Pack([work.lane(trial) for trial in range(3)], work.dataset())
    pack.advance()
    tolerance = work.tolerance_nats if work.workload.model == "cnn" else STATED_NATS
    solo = Solo(work.configuration(0), work.dataset(), "cpu", Way(fused=True))
    for trial in (0, 2):
        alone = torch.tensor(solo.train(work.configuration(trial), trial))[:steps]
        assert float((pack.records["train_loss"][:steps, trial] - alone).abs().max()) < tolerance


def test_published_results_are_as_the_bench_writes_them() -> None:
    files = [path for path in FOLDER.glob("*.json") if not path.stem.endswith(("-raw", "-harness", "-roofline", "-scale"))]
    for path in files:
        for row in json.loads(path.read_text()):
            assert row.keys() == ROW
            assert row["low"] <= row["ratio"] <= row["high"]
