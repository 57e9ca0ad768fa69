"""`python -m tests.calibration [--runs | --ladders]`: draws worlds whose truth is known, judges them, and counts."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from folklore.harness.errors import UserError, unknown
from folklore.harness.train.machine.description import available_cores
from tests.calibration import ladder_rates, run_rates, trial_rates
from tests.calibration.trial_cases import BY_NAME

Row = dict[str, Any]
# Names of what is counted, the column that they stand in, and what counts.
KINDS: dict[str, tuple[Sequence[str], str, Callable[..., list[Row]]]] = {
    "trials": (tuple(BY_NAME), "observable", trial_rates.calibrate),
    "runs": (run_rates.tests(), "test", run_rates.rows),
    "ladders": (tuple(ladder_rates.WORLDS), "world", ladder_rates.rows),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    kinds, named, count = KINDS[options.kind]
    try:
        for name in options.only:
            if name not in kinds:
                raise unknown("kind of observation" if named == "observable" else named, name, kinds)
        others = _rows_of(options.output, named) if options.only and options.output else []
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows = count(options.worlds, options.seed, options.only, processes=available_cores(), progress=_progress)
    if options.output:
        whole = among_others(rows, others, named, kinds)
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in whole)
        options.output.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(pd.DataFrame(rows).dropna(axis="columns", how="all").to_string(index=False))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--worlds", type=_positive, default=300, help="for each kind, condition, number of seeds and effect")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="of observation or test; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the worlds")
    instead = parser.add_mutually_exclusive_group()
    runs, ladders = "the tests of `folklore judge` instead, on simulated runs", "trends along ladders of models instead"
    instead.add_argument("--runs", dest="kind", action="store_const", const="runs", default="trials", help=runs)
    instead.add_argument("--ladders", dest="kind", action="store_const", const="ladders", help=ladders)
    parser.add_argument("--output", type=Path, help="a .json file for the results; with --only, other kinds' stay in it")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: must be at least 1")
    return number


def _progress(done: int, planned: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {planned} kinds of worlds", end="" if done < planned else "\n", file=sys.stderr, flush=True)


def _rows_of(file: Path, named: str) -> list[Row]:
    """The rows that an earlier calibration wrote; none if there is no file. Raises UserError if it is something else."""
    if not file.exists():
        return []
    try:
        return [{**row, named: row[named]} for row in json.loads(file.read_text("utf-8"))]
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"--output {file}: holds no such calibration to go into; name another file") from None


def among_others(rows: Sequence[Row], others: Sequence[Row], named: str, kinds: Sequence[str]) -> list[Row]:
    """These in place of the others of the same kinds, in the order of all kinds."""
    new = {row[named] for row in rows}
    order = {kind: place for place, kind in enumerate(kinds)}
    whole = [*(row for row in others if row[named] not in new), *rows]
    return sorted(whole, key=lambda row: order.get(row[named], len(order)))


if __name__ == "__main__":
    sys.exit(main())
