"""`make chaos`: strikes runs at random moments and sees whether every trial still ends with one result, the undisturbed one."""

import argparse
import secrets
import sys

from tests.chaos import campaign


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--injections", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="default: drawn, and printed")
    parser.add_argument("--only", nargs="+", metavar="FAULT", help="faults by their names in faults.py; default: all")
    chosen = parser.parse_args()
    seed = secrets.randbelow(2**31) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    totals = campaign.run(chosen.injections, seed, lambda text: print(text, flush=True), kinds=chosen.only)
    for problem in totals.problems:
        print(f"problem: {problem}")
    print(totals.line)
    sys.exit(0 if totals.fine else 1)


if __name__ == "__main__":
    main()
