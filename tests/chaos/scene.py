"""A small study and a store it is run into, again and again, until it is done; and what an undisturbed run gives."""

import os
import sqlite3
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from folklore.harness.declare import Arm, Measurement, Scale, Study, Training, Workload
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.command_line import FOLKLORE
from tests.processes import AGENTS, command_of, inheriting, wait_until_gone

INJECT = Path(__file__).parent / "inject"
# Lanes do not depend on their neighbours beyond this, in nats (CONTRIBUTING.md).
STATED_NATS = 2e-4
RUN_SECONDS, STRAY_SECONDS, AGENT_SECONDS = 240.0, 22.0, 90.0
# Every process of a scene inherits it: where it writes down what it trains, which is under the scene's folder.
MARK = "FOLKLORE_CHAOS_TRACE"

# About ten seconds of training on two cores, in packs of some seconds. The highest LR makes lanes diverge.
STUDY = Study(
    name="chaos",
    version=1,
    title="Chaos",
    question="Is anything lost?",
    workload=Workload(dataset="digits", model="mlp", width=64, depth=2),
    training=Training(optimizer="sgd", steps=2000, batch_size=32),
    measurement=Measurement(probes=3, evaluations=3, evaluation_examples=64, final_examples=64),
    arms={"plain": Arm(label="plain"), "warm": Arm(label="warm", settings={"warmup_fraction": 0.2})},
    factors={"peak_lr": (0.01, 0.1, 1.0, 100.0)},
    seeds=6,
    scales={"chaos": Scale(description="for make chaos", judged=False)},
)
LANES, WORKERS = 6, 2


@dataclass
class Run:
    """One start of the command, in a process group of its own. ended: seconds it took, when it has."""

    process: subprocess.Popen[bytes]
    output: Path
    started: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    def wait(self, seconds: float = RUN_SECONDS) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"a run hangs after {seconds:.0f} s:\n{self.text[-3000:]}") from None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def text(self) -> str:
        return self.output.read_text(errors="replace")


class Scene:
    """A store under `folder`; the same command is started again and again.

    patience: how many times longer than on a quiet machine Ray's processes may be left after a run.
    """

    def __init__(self, folder: Path, tracking: str | None = None, patience: float = 1.0):
        folder.mkdir(parents=True, exist_ok=True)
        # Beside the store: a disk with an open database on it cannot be made read-only.
        self.database = folder / "mlflow.db"
        self.patience = patience
        self.folder, self.tracking = folder, tracking or f"sqlite:///{self.database}"
        self.store_path = folder / "store"
        self.trace, self.memory = folder / "trace", folder / "memory"
        self.study = folder / "chaos.json"
        self.study.write_text(STUDY.canonical_json())
        self.runs = 0
        # What the next run is to say, and what it runs in.
        self.expected: list[str] = []
        self.next_environment: dict[str, str] = {}

    @property
    def ledger(self) -> Ledger:
        return Ledger(Store(str(self.store_path)), STUDY.name)

    def start(self, *more: str) -> Run:
        self.runs += 1
        output = self.folder / f"run{self.runs}.txt"
        command = [*FOLKLORE, "run", str(self.study), "--scale", "chaos"]
        command += ["--store", str(self.store_path), "--tracking", self.tracking]
        command += ["--lanes", str(LANES), "--workers", str(WORKERS), *more]
        everything = {**os.environ, **self.environment, **self.next_environment}
        self.next_environment = {}
        with output.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=everything, start_new_session=True)
        return Run(process, output)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that every process that trains needs to be watched."""
        path = os.pathsep.join(filter(None, (str(INJECT), os.environ.get("PYTHONPATH", ""))))
        return {
            MARK: str(self.trace),
            "FOLKLORE_CHAOS_MEMORY": str(self.memory),
            "FOLKLORE_CHECKPOINT_SECONDS": "0.5",
            "PYTHONPATH": path,
        }

    def finish(self) -> str:
        """One undisturbed run to the end; returns what it printed."""
        run = self.start()
        code = run.wait()
        assert code == 0, f"an undisturbed run ended with exit code {code}:\n{run.text[-3000:]}"
        return run.text

    def workers(self) -> list[psutil.Process]:
        """Ray's processes that train."""
        return self._processes("Trainable")

    def starting_workers(self) -> list[psutil.Process]:
        """Ray's processes that have no name yet. (Its raylet's command holds theirs.)"""
        return [
            process for process in self._processes("default_worker.py") if "--python_worker_command" not in command_of(process)
        ]

    def _processes(self, word: str) -> list[psutil.Process]:
        return [process for process in inheriting(MARK, self.folder) if word in command_of(process)]

    @property
    def complete(self) -> bool:
        return len(self.ledger.digests()) == len(STUDY.arms) * len(STUDY.factors["peak_lr"]) * STUDY.seeds

    def lane_steps(self) -> tuple[int, list[float]]:
        """Lane-steps that were trained in all, and when each stretch of them ended."""
        lines = [line.split() for line in self.trace.read_text().splitlines()] if self.trace.exists() else []
        return sum(int(lanes) * (int(after) - int(before)) for _, lanes, before, after in lines), [
            float(line[0]) for line in lines
        ]


def losses(ledger: Ledger) -> pd.DataFrame:
    trials = ledger.trials().set_index("digest").sort_index()
    return trials[["train_loss", "validation_loss", "test_loss", "outcome", "divergence_step"]]


@dataclass
class Findings:
    """Trials that a disturbed store lacks or has too often, against the undisturbed ones."""

    lost: list[str]
    doubled: list[str]
    differ: list[str]
    open_runs: int

    @property
    def fine(self) -> bool:
        return not (self.lost or self.doubled or self.differ or self.open_runs)


def compare(scene: Scene, reference: pd.DataFrame, database: Path) -> Findings:
    """The final trial table and MLflow against the undisturbed ones."""
    trials = scene.ledger.trials()
    own_losses = losses(scene.ledger)
    both = reference.index.intersection(own_losses.index)
    numbers = ["train_loss", "validation_loss", "test_loss", "divergence_step"]
    close = np.isclose(own_losses.loc[both, numbers], reference.loc[both, numbers], rtol=0, atol=STATED_NATS, equal_nan=True)
    same = close.all(axis=1) & (own_losses.loc[both, "outcome"] == reference.loc[both, "outcome"]).to_numpy()
    shown, open_runs = in_mlflow(database)
    doubled = [digest for digest, count in Counter([*trials["digest"]]).items() if count > 1]
    doubled += [f"{digest} in MLflow" for digest, count in shown.items() if count > 1]
    lost = [*reference.index.difference(own_losses.index)]
    lost += [f"{digest} in MLflow" for digest in reference.index if digest not in shown]
    return Findings(lost, doubled, [*both[~same]], open_runs)


def in_mlflow(database: Path) -> tuple[Counter[str], int]:
    """Finished trials by digest, and runs that are still open, read from MLflow's database itself."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            "SELECT tags.value FROM runs JOIN tags USING (run_uuid)"
            " WHERE tags.key = 'folklore.digest' AND runs.status = 'FINISHED' AND runs.lifecycle_stage = 'active'"
        ).fetchall()
        (open_runs,) = connection.execute(
            "SELECT COUNT(*) FROM runs WHERE status = 'RUNNING' AND lifecycle_stage = 'active'"
        ).fetchone()
    return Counter(digest for (digest,) in rows), int(open_runs)


def strays(scene: Scene) -> list[str]:
    """Processes of the runs into this scene's folder that are left after some seconds."""
    return wait_until_gone(MARK, scene.folder, AGENTS, STRAY_SECONDS * scene.patience)


def stray_agents(folder: Path) -> list[str]:
    """The processes that are left long after the last run."""
    return wait_until_gone(MARK, folder, (), AGENT_SECONDS)


def needed_lane_steps() -> int:
    return len(STUDY.arms) * len(STUDY.factors["peak_lr"]) * STUDY.seeds * STUDY.training.steps
