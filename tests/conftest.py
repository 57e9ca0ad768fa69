"""Shared by all tests: one thread a process, and a small study that exercises the whole path."""

import gc
import os

# All tests but those that need a GPU (`make test-gpu`) are written for a machine without one.
if os.environ.get("FOLKLORE_TEST_GPU") != "1":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
# Ray reads its token when it is imported, and here one process starts Ray several times.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from folklore.harness.__main__ import COLLECTED_AFTER
from folklore.harness.declare import Arm, AtLeast, AtMost, Criterion, Judgement, Measurement, Scale, Study, Training, Workload
from folklore.harness.declare.metrics import RelativeGap, TunedLoss
from folklore.harness.plan.store.store import SCHEMES
from folklore.harness.train.workloads.data.text import Text
from tests.cpu_seconds import CpuSeconds
from tests.harness.helpers import markov
from tests.shared_ray import shared_ray

# As commands do; what tests look at is at most the objects of one test.
gc.set_threshold(COLLECTED_AFTER)
# One, but where tests/processors.py asks for more.
torch.set_num_threads(int(os.environ.get("FOLKLORE_TEST_THREADS", "1")))

# Files whose tests start real runs, longest first: begun last, they would keep one process while the other has nothing left.
LONGEST = (
    "test_mutations",
    "test_end_to_end",
    "test_smoke",
    "test_mcp",
    "test_published",
    "test_programs",
    "test_planted",
    "test_ray_tune",
    "test_user_project",
    "test_own_workload",
    "test_cluster",
    "test_browser",
    "test_shared_places",
    "test_example",
    "test_events",
    "test_verdict_memory",
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuSeconds())


def pytest_collection_finish() -> None:
    """Libraries and thousands of tests stay to the end: looking through them again and again took the collector minutes."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


@pytest.fixture(scope="session")
def ray_address(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> str:
    """A Ray on this machine that tests share, for runs by --address and connections; it outlives each of them."""
    folder, owner = tmp_path_factory.getbasetemp(), os.getpid()
    if hasattr(request.config, "workerinput"):  # one of several processes that pytest-xdist started
        folder, owner = folder.parent, os.getppid()
    return shared_ray(Path(folder), owner)


@pytest.fixture(scope="session")
def text() -> Text:
    """Markov text, as all tests that train on text share it."""
    return markov()


@pytest.fixture(scope="module")
def few_calibrated() -> Iterator[None]:
    """The published calibration of relative gaps alone: all kinds of worlds are the longest page by far, whatever is shown. And
    in this process, which remembers templates and pictures: others take longer to start than such pages to write."""
    from folklore.reports import calibration, parallel

    few = [row for row in calibration.rows() if row["observable"] == "relative_gap"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "rows", lambda: few)
        patch.setattr(parallel, "available_cores", lambda: 1)
        yield


@pytest.fixture
def memory_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object store in this process: nobody's results are kept there, so users are refused it."""
    monkeypatch.setattr("folklore.harness.plan.store.store.SCHEMES", (*SCHEMES, "memory"))


@pytest.fixture(scope="session")
def study() -> Study:
    """Two arms, five learning rates, five seeds, one claim. Frozen, so all tests share it."""
    return Study(
        name="toy",
        version=1,
        title="A toy",
        question="Does <b>it</b> work?",
        workload=Workload(width=8, depth=1, heads=2, context=8),
        training=Training(steps=10, batch_size=4),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=4, final_examples=4),
        arms={
            "none": Arm(label="no <warmup>", settings={"warmup_fraction": 0.0}),
            "half": Arm(label="half warmup", settings={"warmup_fraction": 0.5}),
        },
        factors={"peak_lr": tuple(2.0**e for e in range(-9, -4))},
        seeds=5,
        scales={
            "laptop": Scale(description="small"),
            "smoke": Scale(description="smaller", training={"steps": 5}, seeds=1, judged=False),
        },
        judgements=(
            Judgement(
                claim="warmup.improves_best",
                criteria=(
                    Criterion(
                        name="tuned loss, none over half",
                        observe=RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")),
                        claimed=AtLeast(value=0.0),
                        refuted=AtMost(value=0.0),
                        unit="relative",
                    ),
                ),
            ),
        ),
    )
