"""Faults planted in a copy of the sources: each must be caught by a test that is there already.

What makes verdicts wrong without anything breaking: a sign, a swapped arm, seeds that both choose and judge, diverged runs
that are left out, a mean for a sum, errors that are too small. A list to add to whenever such a fault was found.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COPIED = ("harness", "models", "reports", "studies", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Fault:
    """file: where `old` becomes `new`. test: what must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str


OBSERVE, BATCHES = "tests/harness/test_observe.py::", "tests/harness/estimators/test_batch_sizes.py::"
JUDGE = "tests/harness/test_judge.py::"
FAULTS = (
    Fault(
        "a wrong sign",
        "harness/estimators/__init__.py",
        "(evaluate(observable.left, table, weights) - right) / right",
        "(right - evaluate(observable.left, table, weights)) / right",
        OBSERVE + "test_relative_gap_sign",
    ),
    Fault(
        "a swapped arm",
        "harness/estimators/__init__.py",
        "evaluate(observable.top, table, weights) / evaluate(observable.bottom, table, weights)",
        "evaluate(observable.bottom, table, weights) / evaluate(observable.top, table, weights)",
        OBSERVE + "test_max_trainable_against_the_best_of_several_arms",
    ),
    Fault(
        "the LR is chosen on the split it is judged on",
        "harness/estimators/common.py",
        'best = mean(table.losses(arm, over, "validation_loss"), weights).argmin(axis=1)',
        'best = mean(table.losses(arm, over, "test_loss"), weights).argmin(axis=1)',
        OBSERVE + "test_the_lr_is_chosen_on_validation_and_judged_on_test",
    ),
    Fault(
        "a seed chooses the LR it is judged at",
        "harness/estimators/batch_sizes.py",
        "others = total_RG[:, :, None] - weights[:, None, :] * steps_GS[None]",
        "others = total_RG[:, :, None] - 0 * weights[:, None, :] * steps_GS[None]",
        BATCHES + "test_the_lr_is_chosen_on_the_other_seeds",
    ),
    Fault(
        "seeds are searched on and judged on",
        "harness/spec/study.py",
        "shared = set(search.seed_numbers) & set(self.seed_numbers_at(scale)) if search else set()",
        "shared = set()",
        "tests/harness/test_search.py::test_seeds_of_search_and_judging_are_apart",
    ),
    Fault(
        "a diverged run is dropped",
        "harness/trial_table.py",
        "| ~(loss < initial), initial, loss)",
        "| ~(loss < initial), np.nan, loss)",
        OBSERVE + "test_a_diverged_run_counts_with_its_loss_at_initialization",
    ),
    Fault(
        "a mean of lane losses for their sum",
        "harness/training/network.py",
        "torch.autograd.grad(scaled_K.sum(), ",
        "torch.autograd.grad(scaled_K.mean(), ",
        "tests/harness/training/test_pack.py::test_packs_of_1_3_and_16_agree",
    ),
    Fault(
        "seeds are resampled apart in the two arms of a gap",
        "harness/estimators/__init__.py",
        "return evaluate(observable.left, table, weights) - evaluate(observable.right, table, weights)",
        "return evaluate(observable.left, table, weights) - evaluate(observable.right, table, weights[:, ::-1])",
        OBSERVE + "test_seeds_are_paired",
    ),
    Fault(
        "the error of resamples as if seeds were many",
        "harness/intervals.py",
        "math.sqrt(sampled.seeds / (sampled.seeds - 1)))",
        "1.0)",
        OBSERVE + "test_tuned_loss",
    ),
    Fault(
        "one-sided p values for two-sided ones",
        "harness/intervals.py",
        "min(1.0, 2 * max(stats.t.sf(",
        "min(1.0, 1 * max(stats.t.sf(",
        OBSERVE + "test_p_values_agree_with_intervals",
    ),
    Fault(
        "no correction for several claims",
        "harness/judge.py",
        "(len(p_values) - rank) * p_values[index]",
        "p_values[index]",
        JUDGE + "test_holm_against_statsmodels",
    ),
    Fault(
        "every look at the full level",
        "harness/sequential.py",
        "found.append(float(2 * stats.norm.sf(boundary / math.sqrt(share))))",
        "found.append(alpha)",
        "tests/harness/test_sequential.py::test_the_error_rate_of_t_tests_at_all_looks_together",
    ),
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, without what others have written beside them."""
    target = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "evidence", "results"))
        else:
            shutil.copy(source, target / name)
    return target


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault: Fault, copy: Path) -> None:
    path = copy / fault.file
    sound = path.read_text()
    assert sound.count(fault.old) == 1, f"{fault.file} no longer says {fault.old!r} once: plant the fault anew"
    path.write_text(sound.replace(fault.old, fault.new))
    try:
        run = _test(fault.test, copy)
    finally:
        path.write_text(sound)
    assert run.returncode == 1, f"{fault.test} does not catch it:\n{run.stdout[-2000:]}{run.stderr[-1000:]}"
    assert "= FAILURES =" in run.stdout, "it broke, and was not caught"


def test_the_sound_copy_passes(copy: Path) -> None:
    """The same tests, of which two are quick, without a fault: it is the faults that fail above."""
    run = _test(OBSERVE + "test_relative_gap_sign", copy)
    assert run.returncode == 0, run.stdout[-2000:]


def _test(node: str, copy: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", node]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=copy, capture_output=True, text=True, env=environment, check=False)
