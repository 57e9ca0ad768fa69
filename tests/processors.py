"""The same verdicts and numbers on every processor: published evidence judged, and computed jobs computed again, in child
processes that pretend to be other machines.

`python -m tests.processors` runs the whole matrix, with the numeric tests; tests/test_processors.py runs short forms of it. A
row is an environment; what a library does not have leaves the row as it is, and rows whose instructions this processor lacks
are left out: libraries that are told to use them do so unasked, and die.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.places import ROOT

ONE = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
TWO = dict.fromkeys((*ONE, "FOLKLORE_TEST_THREADS"), "2")
SSE = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "Nehalem"}
ROWS: dict[str, dict[str, str]] = {
    "this machine": ONE,
    "two threads": TWO,
    "SSE only": {**ONE, **SSE, "MKL_CBWR": "COMPATIBLE"},
    "SSE only, two threads": {**TWO, **SSE},
    "AVX2": {**ONE, "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "AVX2, AMD": {**ONE, "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Zen"},
    "AVX2, two threads": {**TWO, "ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "AVX-512": {
        **ONE,
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "OPENBLAS_CORETYPE": "SkylakeX",
    },
    "AVX-512, two threads": {**TWO, "ATEN_CPU_CAPABILITY": "avx512", "OPENBLAS_CORETYPE": "SkylakeX"},
    "unset": {},
}
# What a row asks of a processor, as torch calls it.
NEEDS = {"AVX-512": "avx512_f", "AVX2": "avx2"}
# Of numbers that judging works out with floating point, from the same stored trials.
JUDGED_TOLERANCE = 1e-6
NUMERIC_TESTS = ("tests/models", "tests/harness/training", "tests/studies/computed", "tests/harness/metrics")
# Functions that count the steps of large models: integers, and half a minute; and one that imports torch's compiler for two
# seconds.
LONG = ("memory.", "noise.", "constants.autocast")


@dataclass(frozen=True)
class Seen:
    """verdicts: STUDY SCALE CLAIM -> word and the numbers of its criteria. computed: FUNCTION(ARGUMENTS) -> numbers."""

    verdicts: Mapping[str, tuple[str, list[list[float | None]]]]
    computed: Mapping[str, Mapping[str, float]]


def lacking(row: str) -> str | None:
    """The instructions of a row that this processor does not have; None if it has all."""
    import torch

    return next((words for words, flag in NEEDS.items() if words in row and not torch.cpu.get_capabilities().get(flag)), None)


def seen_here(short: bool, judged: Sequence[str] = ()) -> Seen:
    """Verdicts and numbers of this process. short: without what takes long. judged: these studies alone."""
    from folklore.harness.declare.computed import called
    from folklore.harness.judge.trial_sets import published_sets
    from folklore.harness.plan import catalog
    from folklore.harness.plan.computing import computed_jobs

    studies = [catalog.load_study(name) for name in catalog.study_names()]
    verdicts = {}
    for records in (
        published_set for study in studies if not judged or study.name in judged for published_set in published_sets(study)
    ):
        for verdict in records.verdicts():
            numbers = [[finding.estimate, finding.low, finding.high] for finding in verdict.findings]
            verdicts[f"{verdict.study} {verdict.scale} {verdict.claim}"] = (f"{verdict.verdict} {verdict.reading}", numbers)
    jobs = {job.call: job for study in studies for job in computed_jobs(study, "laptop").values() if not job.seeds}
    # On as many threads as the row has, though workers take one: an exact or computed number knows no number of threads.
    computed = {
        call: {name: float(value) for name, value in called(job).numbers.items()}
        for call, job in jobs.items()
        if not (short and job.function.startswith(LONG))
    }
    return Seen(verdicts, computed)


def differences(expected: Seen, actual: Seen) -> Iterator[str]:
    """Words that differ, and numbers that differ by more than their tolerance."""
    from folklore.harness.declare.computed import registry

    for place, (word, numbers) in expected.verdicts.items():
        other, theirs = actual.verdicts[place]
        if word != other:
            yield f"{place}: {word} before, {other} here"
        for before, now in zip(itertools.chain(*numbers), itertools.chain(*theirs), strict=True):
            if not _near(before, now, JUDGED_TOLERANCE):
                yield f"{place}: {before} before, {now} here"
    for call, values in actual.computed.items():
        for name, value in values.items():
            tolerance = registry().numbers[f"{call.partition('(')[0]}:{name}"].tolerance
            if not _near(expected.computed[call][name], value, tolerance):
                yield f"{call} {name}: {expected.computed[call][name]!r} before, {value!r} here"


def _near(before: float | None, now: float | None, tolerance: float) -> bool:
    if before is None or now is None:
        return before is now
    return abs(before - now) <= tolerance * max(1.0, abs(before))


def published(judged: Sequence[str] = ()) -> Seen:
    """Verdicts and numbers that stand beside the evidence. judged: verdicts of these studies alone."""
    from folklore.harness.judge.verdict_memory import judged_evidence
    from folklore.harness.plan import catalog
    from folklore.harness.plan.store import evidence

    verdicts, computed = {}, {}
    for study in map(catalog.load_study, catalog.study_names()):
        wanted = judged_evidence(study) if not judged or study.name in judged else ()
        for verdict in (verdict for judged_trials in wanted for verdict in judged_trials.verdicts):
            numbers = [[finding.estimate, finding.low, finding.high] for finding in verdict.findings]
            verdicts[f"{verdict.study} {verdict.scale} {verdict.claim}"] = (f"{verdict.verdict} {verdict.reading}", numbers)
        for computation in evidence.computations(study.name).values():
            if not computation.job.seeds:
                computed[computation.job.call] = {name: computation.values(name)[None] for name in computation.numbers}
    return Seen(verdicts, computed)


def in_child(row: str, short: bool, judged: Sequence[str] = ()) -> Seen:
    """Verdicts and numbers of a process in the environment of a row, with compile caches of its own."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "tests.processors", "--child", *(["--short"] if short else []), *judged],
            env=_environment(row, cache),
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    value: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Seen({place: (word, numbers) for place, (word, numbers) in value["verdicts"].items()}, value["computed"])


def _environment(row: str, cache: str) -> dict[str, str]:
    own = {name for variables in ROWS.values() for name in variables}
    kept = {name: value for name, value in os.environ.items() if name not in own}
    return {**kept, **ROWS[row], "TORCHINDUCTOR_CACHE_DIR": cache}


def tests_pass(row: str, tests: Sequence[str]) -> str:
    """The last line that pytest prints in the environment of a row, and which tests fail there."""
    with tempfile.TemporaryDirectory() as cache:
        # No more threads than cores: that costs many times what it gains.
        processes = "1" if ROWS[row].get("OMP_NUM_THREADS") == "2" else "2"
        command = [sys.executable, "-m", "pytest", "-n", processes, "-m", "not gpu and not slow", *tests]
        done = subprocess.run(command, env=_environment(row, cache), cwd=ROOT, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    return "\n  ".join([lines[-1], *(line for line in lines if line.startswith(("FAILED", "ERROR")))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"default: all of {', '.join(map(repr, ROWS))}")
    parser.add_argument("--short", action="store_true", help="without the steps of large models")
    parser.add_argument("--no-tests", action="store_true", help="without the numeric tests")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)  # of these studies
    options = parser.parse_args()
    if options.child:
        actual = seen_here(options.short, options.rows)
        print(json.dumps({"verdicts": actual.verdicts, "computed": actual.computed}))
        return
    expected, failed = published(), False
    for row in options.rows or ROWS:
        if lacking(row):
            print(f"{row}: left out, this processor has no {lacking(row)}", flush=True)
            continue
        actual = in_child(row, options.short)
        mismatches = list(differences(expected, actual))
        tests = "not run" if options.no_tests else tests_pass(row, NUMERIC_TESTS)
        failed |= bool(mismatches) or "failed" in tests or "error" in tests
        said = f"{len(actual.verdicts)} verdicts, {len(actual.computed)} computed jobs"
        print(f"{row}: {said}: {len(mismatches)} differ; tests: {tests}", *mismatches, sep="\n  ", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
