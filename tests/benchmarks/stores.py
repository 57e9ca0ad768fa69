"""How commands that only read stand a store of many trials: seconds, CPU-seconds and most memory, as they find it and again."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from folklore.harness.declare import Arm, AtLeast, AtMost, Claim, Criterion, Judgement, Scale, Source, Study, Training, Workload
from folklore.harness.declare.metrics import RelativeGap, TunedLoss
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store import trial_rows
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import environment
from folklore.harness.train.result import LaneResult
from folklore.harness.train.workloads import data

PANELS, ARMS = 5, 10
TRIALS, LANES, POINTS, LAYERS, PROBES = 50_000, 16, 60, 10, 40
LRS = tuple(2.0**-exponent for exponent in range(10))
# What is kept of a training run with its probes, without heavy curves.
CURVES = ("train_loss", "lr", "evaluation_loss")
PROBED = ("probe_gradient_norm", "probe_gradient_variance", "probe_update_ratio", "probe_weight_norm")
STEPS = {"step": POINTS, "evaluation_step": POINTS, "probe_step": PROBES}
COMMANDS = {
    "list": ["list"],
    "plan": ["plan", "STUDY", "--scale", "laptop"],
    "verdicts": ["verdicts", "STUDY"],
    "report": ["report"],
}


def study_of(trials: int) -> Study:
    """Five panels of ten arms, each with ten LRs, as many seeds as it takes, and a claim of each panel."""
    source = Source(document="TB", section="2")
    claim = Claim(
        id="many.warmup", kinds=("empirical",), paraphrase="warmup helps", sources=(source,), measure="the tuned losses"
    )
    criteria = tuple(
        Criterion(
            name=f"tuned loss, panel {panel}",
            observe=RelativeGap(left=TunedLoss(arm=f"{panel}.0"), right=TunedLoss(arm=f"{panel}.9")),
            claimed=AtLeast(value=0.02),
            refuted=AtMost(value=0.0),
            unit="relative",
        )
        for panel in range(PANELS)
    )
    return Study(
        name="many_trials",
        version=1,
        title="Many trials",
        question="How long does it take to read them?",
        workload=Workload(model="mlp", dataset="digits", width=32, depth=2),
        training=Training(optimizer="adamw", batch_size=32, steps=300),
        factors={"peak_lr": LRS},
        arms={
            f"{panel}.{arm}": Arm(
                label=f"warmup {arm / 10:g}",
                panel=f"width {8 << panel}",
                settings={"warmup_fraction": arm / 10, "width": 8 << panel},
            )
            for panel in range(PANELS)
            for arm in range(ARMS)
        },
        seeds=trials // (PANELS * ARMS * len(LRS)),
        scales={"laptop": Scale(description="two cores")},
        claims=(claim,),
        judgements=(Judgement(claim=claim.id, criteria=criteria),),
    )


def fill(folder: Path, trials: int, say: Callable[[str], None] = lambda text: None) -> Path:
    """A store of so many trials, as workers would have written it; returns the study's file."""
    study, draw = study_of(trials), np.random.default_rng(0)
    file = folder / "many_trials.json"
    file.write_text(json.dumps(study.model_dump(mode="json", exclude_none=True)))
    plan = make_plan(study, "laptop", "cpu", {"digits": data.describe("digits").hash}, lanes=LANES)
    store = Store(str(folder / "store"))
    declare(store, study, "laptop", 0)
    ledger, machine = Ledger(store, study.name), environment()
    for index, pack in enumerate(plan.packs):
        results = [_result(trial.configuration.training.peak_lr, draw) for trial in pack.trials]
        hashes = pack.trials[0].data_hash
        ledger.write(pack.key, trial_rows.rows(study, "laptop", "cpu", hashes, pack.key, pack.trials, results, machine))
        if index % 500 == 0:
            say(f"{index} of {len(plan.packs)} packs written")
    return file


def _result(lr: float, draw: np.random.Generator) -> LaneResult:
    loss = 0.5 + 0.01 * np.log2(lr * 2**5) ** 2 + 0.01 * draw.standard_normal()
    falling = (loss + np.exp(-np.linspace(0, 5, POINTS)) + 0.01 * draw.standard_normal(POINTS)).astype(np.float32)
    probed = draw.random((len(PROBED), PROBES)).astype(np.float32)
    layers = draw.random((PROBES, LAYERS)).astype(np.float32)
    return LaneResult(
        outcome="finished",
        divergence_step=None,
        initial_loss=2.3,
        train_loss=loss,
        validation_loss=loss,
        test_loss=loss,
        lanes=LANES,
        program="eager",
        program_note=None,
        examples_per_second=1e4,
        seconds=0.5,
        peak_memory_bytes=10**9,
        step_seconds=None,
        layers=("a",) * LAYERS,
        taps=(),
        curves={
            **{name: np.arange(1, count + 1, dtype=np.float32) for name, count in STEPS.items()},
            **dict.fromkeys(CURVES, falling),
            **dict(zip(PROBED, probed, strict=True)),
        },
        layer_curves=dict.fromkeys(("probe_layer_gradient_norm", "probe_layer_update_ratio"), layers.tolist()),
    )


def command(arguments: list[str], folder: Path) -> dict[str, float]:
    """Seconds, CPU-seconds with those of children, and megabytes at the most, of one process or its largest child."""
    script = (
        "import resource, sys, time; from folklore.harness.use.cli import app; started = time.perf_counter()\n"
        "try: app(sys.argv[1:], standalone_mode=False)\n"
        "finally:\n"
        "    kinds = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
        "    print('COST', time.perf_counter() - started, sum(k.ru_utime + k.ru_stime for k in kinds),"
        " max(k.ru_maxrss for k in kinds) / 1000)"
    )
    command_line = [sys.executable, "-c", script, *arguments, "--store", str(folder / "store")]
    done = subprocess.run(command_line, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    wall, cpu, megabytes = map(float, done.stdout.splitlines()[-1].split()[1:])
    return {"seconds": round(wall, 2), "cpu_seconds": round(cpu, 2), "megabytes": round(megabytes)}


def measure(say: Callable[[str], None], trials: int = TRIALS) -> dict[str, Any]:
    """First each command as it finds the store, then as it is found by whoever comes next."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = fill(folder, trials, say)
        costs: dict[str, Any] = {"machine": environment(), "trials": trials}
        for when in ("first", "again"):
            for name, words in COMMANDS.items():
                costs[f"{name} {when}"] = command([str(file) if word == "STUDY" else word for word in words], folder)
                say(f"{name} {when}: {costs[f'{name} {when}']}")
        return costs


if __name__ == "__main__":
    print(json.dumps(measure(print, int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS), indent=1))
