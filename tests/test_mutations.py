"""Faults planted in a copy of the sources: each must be caught by a test that is there already.

What makes verdicts wrong without anything breaking: a sign, a swapped arm, seeds that both choose and judge, diverged runs
that are left out, a mean for a sum, errors that are too small. A list to add to whenever such a fault was found.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command_line import HANG_SECONDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = ("harness", "models", "reports", "studies")
COPIED = (*PACKAGES, "tests", "pyproject.toml")


@dataclass(frozen=True)
class Fault:
    """file: where `old` becomes `new`. test: what must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str


OBSERVE, BATCHES = "tests/harness/judging/test_observe.py::", "tests/harness/observables/test_batch_sizes.py::"
JUDGING = "tests/harness/judging/"
FAULTS = (
    Fault(
        "a wrong sign",
        "harness/observables/arithmetic.py",
        "(evaluate(self.left, trials, weights) - right) / right",
        "(right - evaluate(self.left, trials, weights)) / right",
        OBSERVE + "test_relative_gap_sign",
    ),
    Fault(
        "a swapped arm",
        "harness/observables/arithmetic.py",
        "evaluate(self.top, trials, weights) / evaluate(self.bottom, trials, weights)",
        "evaluate(self.bottom, trials, weights) / evaluate(self.top, trials, weights)",
        OBSERVE + "test_max_trainable_against_the_best_of_several_arms",
    ),
    Fault(
        "the LR is chosen on the split it is judged on",
        "harness/observables/estimating/weighted.py",
        'best = mean(trials.losses(arm, over, "validation_loss"), weights).argmin(axis=1)',
        'best = mean(trials.losses(arm, over, "test_loss"), weights).argmin(axis=1)',
        OBSERVE + "test_the_lr_is_chosen_on_validation_and_judged_on_test",
    ),
    Fault(
        "a seed chooses the LR it is judged at",
        "harness/observables/batch_sizes.py",
        "others = total_RG[:, :, None] - weights[:, None, :] * steps_GS[None]",
        "others = total_RG[:, :, None] - 0 * weights[:, None, :] * steps_GS[None]",
        BATCHES + "test_the_lr_is_chosen_on_the_other_seeds",
    ),
    Fault(
        "seeds are searched on and judged on",
        "harness/spec/study.py",
        "shared = set(search.seed_numbers) & set(self.seed_numbers_at(scale)) if search else set()",
        "shared = set()",
        "tests/harness/planning/test_proposals.py::test_seeds_of_search_and_judging_are_apart",
    ),
    Fault(
        "a diverged run is dropped",
        "harness/storing/trial_rows.py",
        "| ~(loss < initial), initial, loss)",
        "| ~(loss < initial), np.nan, loss)",
        OBSERVE + "test_a_diverged_run_counts_with_its_loss_at_initialization",
    ),
    Fault(
        "a mean of lane losses for their sum",
        "harness/training/network.py",
        "torch.autograd.grad(scaled_K.sum(), ",
        "torch.autograd.grad(scaled_K.mean(), ",
        "tests/harness/training/test_contract.py::test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost[gpt]",
    ),
    Fault(
        "seeds are resampled apart in the two arms of a gap",
        "harness/observables/arithmetic.py",
        "return evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights)",
        "return evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights[:, ::-1])",
        OBSERVE + "test_seeds_are_paired",
    ),
    Fault(
        "the error of resamples as if seeds were many",
        "harness/judging/intervals.py",
        "math.sqrt(sampled.seeds / (sampled.seeds - 1)))",
        "1.0)",
        OBSERVE + "test_tuned_loss",
    ),
    Fault(
        "one-sided p values for two-sided ones",
        "harness/judging/intervals.py",
        "min(1.0, 2 * max(scipy.stats.t.sf(",
        "min(1.0, 1 * max(scipy.stats.t.sf(",
        OBSERVE + "test_p_values_agree_with_intervals",
    ),
    Fault(
        "no correction for several workloads",
        "harness/judging/combining.py",
        "len(ordered) / (index + 1) * p for",
        "p for",
        JUDGING + "test_combining.py::test_partial_conjunction_of_all_is_the_largest_and_of_one_is_simes",
    ),
    Fault(
        "being better refutes",
        "harness/spec/criterion.py",
        "return AtMost(value=high), AtLeast(value=high)",
        "return Within(low=low, high=high), Outside(low=low, high=high)",
        JUDGING + "test_outcomes.py::test_being_better_never_refutes",
    ),
    Fault(
        "a toy decides about large models",
        "harness/judging/regimes.py",
        "count < regime.least_parameters",
        "count > regime.least_parameters",
        JUDGING + "test_judge.py::test_a_toy_refutes_no_claim_about_large_models",
    ),
    Fault(
        "a document is graded by the other side",
        "harness/judging/grading.py",
        "SUPPORTED if name == right else REFUTED",
        "REFUTED if name == right else SUPPORTED",
        JUDGING + "test_error_rates.py::test_documents_that_disagree_are_graded_by_their_own_side",
    ),
    Fault(
        "every look at the full level",
        "harness/judging/sequential.py",
        "found.append(float(2 * scipy.stats.norm.sf(boundary / math.sqrt(share))))",
        "found.append(alpha)",
        "tests/harness/judging/test_sequential.py::test_the_error_rate_of_t_tests_at_all_looks_together",
    ),
)


# Imports what takes long once, and runs each test in a fork of itself, in which the project's own modules are still to come.
DRIVER = """
import json, os, sys
import hypothesis, mlflow, numpy, pandas, pydantic, pyarrow, pytest, ray, scipy.stats, torch, yaml
found = {}
for name, path, old, new, node in json.load(sys.stdin):
    sound = open(path).read()
    open(path, "w").write(sound.replace(old, new) if old else sound)
    output = os.path.abspath("output.txt")
    child = os.fork()
    if not child:
        stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", node])
        sys.stdout.flush()
        os._exit(int(code))
    _, status = os.waitpid(child, 0)
    open(path, "w").write(sound)
    found[name] = [os.waitstatus_to_exitcode(status), open(output).read()]
print("RESULT" + json.dumps(found))
"""
SOUND = Fault("no fault at all", FAULTS[0].file, "", "", FAULTS[0].test)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Fault -> exit code and output of its test, in a copy of the sources without what others have written beside them."""
    copy = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "evidence", "results"))
        else:
            shutil.copy(source, copy / name)
    # Under the name by which it is imported, and before what is installed.
    (copy / "folklore").mkdir()
    for name in PACKAGES:
        (copy / "folklore" / name).symlink_to(copy / name, target_is_directory=True)
    for fault in FAULTS:
        said = (copy / fault.file).read_text().count(fault.old)
        assert said == 1, f"{fault.file} says {fault.old!r} {said} times: plant the fault '{fault.name}' anew"
    wanted = [[each.name, each.file, each.old, each.new, each.test] for each in (SOUND, *FAULTS)]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=copy,
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.partition("RESULT")[2])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault: Fault, runs: dict[str, tuple[int, str]]) -> None:
    code, output = runs[fault.name]
    assert code == 1, f"{fault.test} does not catch it:\n{output[-2000:]}"
    assert "= FAILURES =" in output, f"it broke, and was not caught:\n{output[-2000:]}"


def test_the_sound_copy_passes(runs: dict[str, tuple[int, str]]) -> None:
    """The same way without a fault: it is the faults that fail above."""
    code, output = runs[SOUND.name]
    assert code == 0, output[-2000:]
