"""Rounds of faults: each on a fresh store, until the study is done, compared with the undisturbed trials."""

import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from tests.chaos import faults
from tests.chaos.faults import Fault
from tests.chaos.scene import Scene, compare, losses, needed_lane_steps, stray_agents, strays
from tests.chaos.servers import MlflowServer, Nodes, mlflow_down, node_lost


@dataclass
class Totals:
    injections: int = 0
    lost: int = 0
    doubled: int = 0
    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    redone: list[float] = field(default_factory=list)
    resumes: list[float] = field(default_factory=list)

    @property
    def line(self) -> str:
        redone = 100 * statistics.mean(self.redone) if self.redone else 0.0
        resume = statistics.median(self.resumes) if self.resumes else 0.0
        return (
            f"chaos: {self.injections} injections, {self.lost} lost, {self.doubled} doubled, {redone:.1f}% redone,"
            f" {resume:.1f} s to resume"
        )

    @property
    def fine(self) -> bool:
        return not (self.lost or self.doubled or self.problems)


def run(
    injections: int,
    seed: int,
    say: Callable[[str], None],
    folder: Path | None = None,
    kinds: Sequence[str] | None = None,
    patience: float = 1.0,
) -> Totals:
    """Strike so many times; every kind of fault comes before any comes again. kinds: only these, without the last wait."""
    draw, totals = random.Random(seed), Totals()
    base = Path(tempfile.mkdtemp(prefix="folklore-chaos-", dir=folder))
    try:
        campaign = Campaign(base, _undisturbed(base / "undisturbed", say), draw, totals, say, patience)
        passing = _in_turn([f.__name__ for f in faults.PASSING if kinds is None or f.__name__ in kinds], draw)
        ending = _in_turn(list(kinds) if kinds is not None else _available(totals), draw)
        while totals.injections < injections:
            campaign.round(passing, ending, injections)
        if kinds is None:
            totals.problems += [f"{process} is left at the end" for process in stray_agents(base)]
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for reason in totals.skipped:
        say(f"not injected: {reason}")
    return totals


def _available(totals: Totals) -> list[str]:
    """Faults that end a run, or have one of their own; and what cannot be done on this machine."""
    names = [fault.__name__ for fault in faults.ENDING] * 2 + ["mlflow_down", "node_lost"]
    names += [fault.__name__ for fault in faults.LOSING_RAY]
    if faults.can_mount():
        names += [fault.__name__ for fault in faults.WITH_MOUNTS]
    else:
        totals.skipped.append("a store that is full or read-only (this user cannot mount a small disk)")
    return names


def _in_turn(names: list[str], draw: random.Random) -> Iterator[str]:
    while names:
        draw.shuffle(names)
        yield from names


def _undisturbed(folder: Path, say: Callable[[str], None]) -> pd.DataFrame:
    scene = Scene(folder)
    started = time.monotonic()
    scene.finish()
    trials = losses(scene.ledger)
    diverged = (trials["outcome"] == "diverged").sum()
    say(f"undisturbed: {len(trials)} trials, {diverged} diverged, {time.monotonic() - started:.0f} s")
    return trials


@dataclass
class Campaign:
    folder: Path
    reference: pd.DataFrame
    draw: random.Random
    totals: Totals
    say: Callable[[str], None]
    patience: float

    def round(self, passing: Iterator[str], ending: Iterator[str], most: int) -> None:
        """Strikes one store until all its trials are there: each run by some faults it survives, and then by one it does not.

        Faults that need a server or a cluster have stores of their own.
        """
        folder = self.folder / f"round{len(self.totals.redone)}"
        scene = Scene(folder, patience=self.patience)
        while self.totals.injections < most and not scene.complete:
            last = next(ending)
            if last == "mlflow_down":
                self._with_server(folder / f"server{self.totals.injections}")
            elif last == "node_lost":
                self._with_nodes(folder / f"cluster{self.totals.injections}")
            else:
                room = most - self.totals.injections - 1
                some = [name for _, name in zip(range(min(room, self.draw.choice([0, 1, 2, 2]))), passing, strict=False)]
                self._strike(scene, [getattr(faults, name) for name in dict.fromkeys([*some, last])])
        if scene.runs:
            self._judge(scene, scene.database)

    def _with_server(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        server = MlflowServer(folder)
        server.start()
        try:
            scene = Scene(folder / "scene", server.uri, self.patience)
            self._strike(scene, [_named(partial(mlflow_down, server=server), "mlflow_down")])
            self._judge(scene, server.database)
        finally:
            server.stop()

    def _with_nodes(self, folder: Path) -> None:
        scene = Scene(folder, patience=self.patience)
        nodes = Nodes((1, 1, 1), scene.environment)
        try:
            fault = _named(partial(node_lost, nodes=nodes), "node_lost")
            self._strike(scene, [fault], ("--address", nodes.address), look_for_strays=False)
            self._judge(scene, scene.database)
        finally:
            nodes.shutdown()

    def _strike(
        self, scene: Scene, struck: Sequence[Fault], arguments: Sequence[str] = (), look_for_strays: bool = True
    ) -> None:
        """One run and what is done to it; then it is waited for, unless it has ended by that."""
        started, known, expected = time.monotonic(), len(scene.lane_steps()[1]), scene.expected
        scene.expected = []
        run = scene.start(*arguments)
        what = []
        try:
            for fault in struck:
                self.totals.injections += 1
                name = fault.__name__  # type: ignore[attr-defined]
                what.append(f"{name} ({fault(scene, run, self.draw)})")
                if fault in faults.PASSING and run.over:
                    faults.ends_well(run)  # it may have finished meanwhile, and must not have ended by that
            if not run.over:
                faults.ends_well(run)
                for message in expected:
                    assert message in run.text, f"'{message}' is not in\n{run.text}"
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            self.totals.problems.append(f"{name}: {error}")
            what.append(f"{name}: PROBLEM {error}")
            run.kill()
        scene.memory.unlink(missing_ok=True)
        trained_at = scene.lane_steps()[1][known:]
        if trained_at:
            self.totals.resumes.append(min(trained_at) - started)
        if look_for_strays:
            self.totals.problems += [f"{name}: {process} is left" for process in strays(scene)]
        self.say(f"{self.totals.injections:4d} {', '.join(what)}: {time.monotonic() - started:.0f} s")

    def _judge(self, scene: Scene, database: Path) -> None:
        """Let it finish undisturbed, and compare."""
        totals = self.totals
        try:
            scene.finish()
        except AssertionError as error:
            totals.problems.append(str(error))
        findings = compare(scene, self.reference, database)
        totals.lost += len(findings.lost)
        totals.doubled += len(findings.doubled)
        totals.problems += [f"trial {digest} differs from the undisturbed one" for digest in findings.differ]
        if findings.open_runs:
            totals.problems.append(f"{findings.open_runs} runs are left open in MLflow")
        trained, _ = scene.lane_steps()
        totals.redone.append(trained / needed_lane_steps() - 1)
        if trained < needed_lane_steps() / 2:
            totals.problems.append("steps were trained that nothing noted: the injection does not watch the training")
        self.say(f"     {'fine' if findings.fine else findings}, {totals.redone[-1]:.1%} redone")


def _named(fault: Fault, name: str) -> Fault:
    fault.__name__ = name  # type: ignore[attr-defined]
    return fault
