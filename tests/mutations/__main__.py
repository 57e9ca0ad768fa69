"""`python -m tests.mutations [WORD …]`: every planted fault, or those in whose name, file or test a word stands; the test that
must catch it, whether it does, and its CPU-seconds."""

import argparse
import resource
import sys
from collections.abc import Sequence

from tests.mutations.faults import FAULTS, Fault
from tests.mutations.planting import Outcome, misplaced, outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("words", metavar="WORD", nargs="*", help="of a fault's name, file or test; default: all faults")
    parser.add_argument("--verbose", action="store_true", help="what each test printed")
    wished = parser.parse_args(arguments)
    chosen = [fault for fault in FAULTS if not wished.words or any(word in _told(fault) for word in wished.words)]
    if lines := misplaced(chosen):
        print("\n".join(lines), file=sys.stderr)
        return 2
    tried, caught = outcomes(chosen), 0
    _, sound = next(tried)
    if not sound.passed:
        tried.close()
        print(f"without a fault these tests do not pass:\n{sound.output}", file=sys.stderr)
        return 1
    print("| fault | file | test that catches it | caught | CPU-seconds |\n|---|---|---|---|---|")
    for fault, outcome in tried:
        assert fault is not None
        caught += _caught(fault, outcome, wished.verbose)
    print(f"\n{caught} of {len(chosen)} caught; the same tests without a fault: {sound.seconds:.1f} CPU-seconds")
    print(f"all together: {_cpu_seconds():.1f} CPU-seconds")
    return 0 if caught == len(chosen) else 1


def _caught(fault: Fault, outcome: Outcome, verbose: bool) -> bool:
    """Print a fault's line of the table, and what its test printed if that is asked for or the fault was not caught."""
    test, said = fault.test.removeprefix("tests/"), "yes" if outcome.caught else "NO"
    print(f"| {fault.name} | {fault.file} | {test} | {said} | {outcome.seconds:.2f} |", flush=True)
    if verbose or not outcome.caught:
        print(outcome.output)
    return outcome.caught


def _told(fault: Fault) -> str:
    return f"{fault.name} {fault.file} {fault.test}"


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    sys.exit(main())
