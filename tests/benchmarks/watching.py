"""The cost of `Watch`, and how often its rules fire without a cause: `python -m tests.benchmarks.watching`.

Cost: two runs take turns of a quarter of a second, one with a watch, in one process and thread. The watch's clock stands
still in the other's turns. On a CPU the thread's own time counts, and not other work on the machine. False alarms:
sound runs with warmup and cosine decay at a good LR. Ten minutes on two cores.
"""

import argparse
import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from folklore.harness import Watch
from folklore.harness.declare import Workload
from folklore.harness.elsewhere.watch import pace as pace_module
from folklore.harness.elsewhere.watch import watch as watch_module
from folklore.harness.train.machine.description import environment, local_device
from folklore.harness.train.workloads.data import DataFacts
from tests.benchmarks import results
from tests.benchmarks.plain import PlainCNN, PlainGPT

Batches = Callable[[], tuple[Tensor, Tensor]]
# Of a turn, and the number of pairs of turns.
TURN_SECONDS, PAIRS = 0.25, 200
SOUND_STEPS, SEEDS = 600, 20


@dataclass(frozen=True)
class Work:
    """A model with its batches of random data."""

    model: Callable[[], nn.Module]
    batches: Batches


class Clock:
    """A clock that stands still between turns; takes the place of `time` in the watch's modules."""

    def __init__(self) -> None:
        self.stood, self._since = 0.0, time.perf_counter()

    def perf_counter(self) -> float:
        return time.perf_counter() - self.stood

    def stop(self) -> None:
        self._since = time.perf_counter()

    def go_on(self) -> None:
        self.stood += time.perf_counter() - self._since


def mlp(width: int = 256) -> nn.Module:
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def gpt(width: int = 128, depth: int = 4, context: int = 64, classes: int = 97) -> nn.Module:
    workload = Workload(model="gpt", dataset="python-docs", width=width, depth=depth, heads=4, context=context)
    return PlainGPT(workload, DataFacts(hash="", classes=classes))


def cnn(width: int = 16) -> nn.Module:
    workload = Workload(model="cnn", dataset="digits", width=width, depth=2)
    return PlainCNN(workload, DataFacts(hash="", classes=10, features=(8, 8)))


def _vectors() -> tuple[Tensor, Tensor]:
    return torch.randn(128, 64), torch.randint(0, 10, (128,))


def _tokens(examples: int = 8) -> tuple[Tensor, Tensor]:
    text = torch.randint(0, 97, (examples, 65))
    return text[:, :-1], text[:, 1:].flatten()


WORKS = {"MLP": Work(mlp, _vectors), "GPT": Work(gpt, _tokens)}


class Loop:
    """A training loop that goes on for a turn at a time."""

    def __init__(self, work: Work, device: str, watches: bool):
        torch.manual_seed(0)
        self.model, self.device = work.model().to(device), device
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.x, self.y = (tensor.to(device) for tensor in work.batches())
        self.watch = Watch(self.model, self.optimizer) if watches else None

    def step_seconds(self) -> float:
        """Seconds of a step, on average over a turn."""
        now = time.thread_time if self.device == "cpu" else time.perf_counter
        _finish(self.device)
        started, steps = now(), 0
        while now() - started < TURN_SECONDS:
            loss = nn.functional.cross_entropy(self.model(self.x).flatten(0, -2), self.y)
            loss.backward()
            if self.watch:
                self.watch(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            steps += 1
        _finish(self.device)
        return (now() - started) / steps


def _finish(device: str) -> None:
    if device != "cpu":
        torch.accelerator.synchronize()


def cost(name: str, pairs: int = PAIRS) -> dict[str, Any]:
    """Ratio of a step with a watch to one without, by pair of turns: median, and a 95% interval of it. of_quick_turns: the
    ratio of lower quartiles, which other work on the machine moves least."""
    clock, device, turns = Clock(), local_device().kind, list[tuple[float, float]]()
    with patch.object(watch_module, "time", clock), patch.object(pace_module, "time", clock):
        loops = {watches: Loop(WORKS[name], device, watches) for watches in (True, False)}
        clock.stop()
        for pair in range(-2, pairs):
            seconds = dict[bool, float]()
            for watches in (True, False) if pair % 2 else (False, True):
                clock.go_on() if watches else None
                seconds[watches] = loops[watches].step_seconds()
                clock.stop() if watches else None
            turns.append((seconds[True], seconds[False]))
        clock.go_on()
        assert loops[True].watch is not None
        report = loops[True].watch.report().to_dict()
    watched, plain = np.array(turns[2:]).T
    medians = np.median(np.random.default_rng(0).choice(watched / plain, (2000, pairs)), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975]).tolist()
    return {
        "work": name,
        "step_ms": 1e3 * float(np.median(plain)),
        "ratio": float(np.median(watched / plain)),
        "low": low,
        "high": high,
        "of_quick_turns": float(np.quantile(watched, 0.25) / np.quantile(plain, 0.25)),
        **{key: report[key] for key in ("updates", "measured", "own_share")},
    }


def sound_run(name: str, seed: int) -> tuple[dict[str, int], float]:
    """Rule -> updates at which it fired in a sound run, and the run's last loss."""
    torch.manual_seed(seed)
    model, lr, sgd, batch = SOUND[name]
    network = model()
    optimizer = torch.optim.SGD(network.parameters(), lr, momentum=0.9) if sgd else torch.optim.AdamW(network.parameters(), lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _warmup_and_decay)
    loss = torch.zeros(())
    with Watch(network, optimizer, every=2) as watch:
        for _ in range(SOUND_STEPS):
            x, y = batch()
            loss = nn.functional.cross_entropy(network(x).flatten(0, -2), y)
            loss.backward()
            watch(loss)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    return {rule: fired.count for rule, fired in watch.seen.fired.items()}, loss.item()


def _warmup_and_decay(step: int) -> float:
    """5% warmup, cosine to 10%."""
    if step < 0.05 * SOUND_STEPS:
        return (step + 1) / (0.05 * SOUND_STEPS)
    return 0.55 + 0.45 * math.cos(math.pi * step / SOUND_STEPS)


@cache
def _digits() -> tuple[Tensor, Tensor]:
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels)


def _digit_batch() -> tuple[Tensor, Tensor]:
    images, labels = _digits()
    chosen = torch.randint(0, len(labels), (32,))
    return images[chosen], labels[chosen]


def _image_batch() -> tuple[Tensor, Tensor]:
    images, labels = _digit_batch()
    return images.view(-1, 1, 8, 8), labels


@cache
def _text() -> tuple[Tensor, int]:
    """The source text of Python's own library, a token a character."""
    text = "".join(path.read_text(errors="ignore") for path in sorted(Path(json.__file__).parents[1].glob("*.py"))[:40])
    signs = sorted(set(text))
    return torch.tensor([signs.index(sign) for sign in text[:300_000]]), len(signs)


def _text_batch() -> tuple[Tensor, Tensor]:
    text, _ = _text()
    at = torch.randint(0, len(text) - 33, (16, 1)) + torch.arange(33)
    return text[at][:, :-1], text[at][:, 1:].flatten()


SOUND: dict[str, tuple[Callable[[], nn.Module], float, bool, Batches]] = {
    "MLP, SGD": (lambda: mlp(64), 2.0**-5, True, _digit_batch),
    "MLP, AdamW": (lambda: mlp(64), 2.0**-8, False, _digit_batch),
    "CNN, AdamW": (cnn, 2.0**-7, False, _image_batch),
    "GPT, AdamW": (lambda: gpt(32, 2, 32, _text()[1]), 2.0**-8, False, _text_batch),
}


def false_alarms(name: str, seeds: int = SEEDS) -> dict[str, Any]:
    """Rule -> share of sound runs in which it fires."""
    runs = [sound_run(name, seed) for seed in range(seeds)]
    rules = sorted({rule for fired, _ in runs for rule in fired})
    shares = {rule: sum(rule in fired for fired, _ in runs) / seeds for rule in rules}
    silent = sum(not fired for fired, _ in runs) / seeds
    return {
        "work": name,
        "runs": seeds,
        "silent": silent,
        "fires": shares,
        "last_loss": float(np.median([loss for _, loss in runs])),
    }


def main() -> Path:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.watching", description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of turns, for the cost")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="sound runs of each workload, for false alarms")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("folklore").setLevel(logging.ERROR)
    measurements: dict[str, Any] = {"environment": environment()}
    for part, works, measure in (
        ("cost", WORKS, lambda name: cost(name, chosen.pairs)),
        ("false_alarms", SOUND, lambda name: false_alarms(name, chosen.seeds)),
    ):
        measurements[part] = [measure(name) for name in works]
        print(*measurements[part], sep="\n", flush=True)
    return results.save("watching", measurements)


if __name__ == "__main__":
    print("written:", main())
