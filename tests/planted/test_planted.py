"""Studies with known answers through the real path: files, Ray, packs, ledger, judge, command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.criterion import READINGS
from folklore.harness.judge.outcomes import INVALID, MULTIPLICITY, VERDICTS
from folklore.harness.options import Options
from folklore.harness.plan.catalog import judgeable, load_study
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.workloads.data import load
from folklore.harness.use.run_studies import run_studies
from tests.command_line import folklore_here
from tests.planted import studies, truths


@pytest.fixture(scope="module")
def store(ray_address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them trained, judged and shown: one campaign of studies from files."""
    store = tmp_path_factory.mktemp("planted")
    for study in studies.STUDIES:
        file_of(study, store).write_text(study.canonical_json())
    declared = [judgeable(load_study(str(file_of(study, store)))) for study in studies.STUDIES]
    assert run_studies(declared, studies.SCALE, Options(str(store), address=ray_address, workers=2), None) == 0
    return store


def file_of(study: Study, store: Path) -> Path:
    return store / f"{study.name}.json"


@pytest.mark.slow
@pytest.mark.parametrize("study", studies.STUDIES, ids=lambda study: study.name)
def test_known_answers_are_found(study: Study, store: Path) -> None:
    """Every claim gets the verdict and the reading that its truth has, and what nothing could decide stays open."""
    verdicts = json.loads(folklore_here("verdicts", file_of(study, store), "--store", store, "--json").stdout)
    by_claim = {verdict["claim"]: verdict for verdict in verdicts}
    expected = {judgement.claim: studies.EXPECTED[judgement.claim] for judgement in study.judgements}
    outcomes = {claim: (verdict["verdict"], verdict["reading"]) for claim, verdict in by_claim.items()}
    assert outcomes == expected, [verdict["reason"] for verdict in verdicts]
    page = (store / "pages" / f"{study.name}.html").read_text()
    assert all(claim.paraphrase in page for claim in study.claims)


def test_every_verdict_and_reading_is_planted() -> None:
    """But for what no truth brings about: trials that are missing, and p values between the level of one part and that of all
    (tests/harness/judge/test_judge.py)."""
    assert {verdict for verdict, _ in studies.EXPECTED.values()} == {*VERDICTS} - {INVALID}
    readings = {reading for verdict, reading in studies.EXPECTED.values() if verdict in ("partly", "refuted", "open")}
    assert readings == {*READINGS} - {MULTIPLICITY}


@pytest.mark.slow
def test_a_bowl_is_trained_as_the_recursion_says() -> None:
    """The mean loss of many seeds against the exact expectation, with momentum and a ramp."""
    (bowl, *_) = studies.STUDIES
    point = {"peak_lr": 2.0**-1}
    for arm, momentum, warmup in (("plain", 0.0, 0), ("momentum", 0.9, 0), ("warmup", 0.0, 12)):
        lanes = [Lane(bowl.configuration(studies.SCALE, arm, point), seed) for seed in range(64)]
        pack = Pack(lanes, load(bowl.workload.dataset))
        pack.advance()
        losses = np.array([result.test_loss for result in pack.results()])
        size, steps, batch = studies.SIZE, studies.EDGE_STEPS, studies.EDGE_BATCH
        expected = truths.bowl_losses(size, 0.5, steps, batch, momentum, warmup)[-1]
        floor = float(
            (load(bowl.workload.dataset).arrays("test")[0].square().mean(0).numpy() * truths.curvatures(size)).sum() / 2
        )
        # The held-out examples have a floor of their own; what is above it is the bowl's.
        above = expected - truths.curvatures(size).sum() / 2
        assert losses.mean() - floor == pytest.approx(above, abs=5 * losses.std() / 8 + 0.02)


def test_thresholds_lie_around_the_truth() -> None:
    """Planted truths are true by the recursion, and planted falsehoods are not."""
    size = studies.SIZE
    edges = {
        name: _edge(momentum, warmup) for name, momentum, warmup in (("plain", 0, 0), ("momentum", 0.9, 0), ("warmup", 0, 12))
    }
    assert edges["momentum"] / edges["plain"] > 1.55
    assert edges["warmup"] / edges["plain"] < 1.2
    lrs = [2.0 ** (exponent / 2) for exponent in range(-12, 3)]
    best = min(lrs, key=lambda lr: truths.bowl_losses(size, lr, studies.NOISE_STEPS, studies.NOISE_BATCH)[-1])
    around = [
        truths.noise_scale(size, lr, studies.NOISE_STEPS, studies.NOISE_BATCH, studies.NOISE_WINDOW)
        for lr in (best, best * 1.41)
    ]
    assert 2.0 < min(around) < max(around) < 4.5
    batches = tuple(studies.SWEEP)
    grid = tuple(2.0 ** (exponent / 2) for exponent in range(-10, 5))
    end = min(truths.bowl_losses(size, lr, studies.SWEEP_STEPS, 8)[-1] for lr in grid)
    start = truths.bowl_losses(size, 0.1, 1, 8)[0]
    target = start - studies.SWEEP_SHARE * (start - end)
    assert 18 * 1.3 < truths.critical_batch(size, batches, grid, studies.SWEEP_STEPS, target) < 75 / 1.3
    assert 0.85 < studies.BATCH_SLOPE < 1.05
    assert -1.05 < studies.WIDTH_SLOPE < -0.75


def _edge(momentum: float, warmup: int) -> float:
    """The largest LR of the grid whose expected loss stays within the share of the least."""
    losses = [
        truths.bowl_losses(studies.SIZE, lr, studies.EDGE_STEPS, studies.EDGE_BATCH, momentum, warmup)[-1]
        for lr in studies.EDGE_GRID
    ]
    return max(lr for lr, loss in zip(studies.EDGE_GRID, losses, strict=True) if loss <= (1 + studies.EDGE_SHARE) * min(losses))
