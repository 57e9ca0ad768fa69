"""What commands print: tables for people, JSON for machines, one line for an error."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

if TYPE_CHECKING:
    from harness.judge import Verdict

COLOURS = {"supported": "green", "refuted": "red"}

out = Console()
err = Console(stderr=True)


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


def json_lines(rows: Sequence[dict[str, Any]]) -> str:
    """A list with one row a line, so that differences read."""
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, and nothing elsewhere."""
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)


def print_rows(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(list(rows))
        return
    table = Table(*(rows[0] if rows else ()))
    for row in rows:
        table.add_row(*(", ".join(value) if isinstance(value, list) else str(value) for value in row.values()))
    out.print(table)


def print_plan(facts: dict[str, Any], power: dict[str, Any] | None, as_json: bool) -> None:
    """power: what the seeds can resolve, where there is a pilot."""
    if as_json:
        print_json({**facts, "power": power})
        return
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), str(value))
    out.print(table)
    if power is None:
        out.print("no trials to take spreads from: what the seeds can resolve is not known yet", highlight=False)
        return
    out.print(
        f"\nwhat {power['seeds']} seeds decide in four of five repetitions, by the spread of {power['from']},"
        f" once corrected for {power['claims']} claims:",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("claim", "pilot", "decided if inside by", "seeds for one like it", "criterion"):
        table.add_column(column)
    for each in power["criteria"]:
        table.add_row(each["claim"], *_resolved(each), escape(each["criterion"]))
    out.print(table)


def _resolved(each: dict[str, Any]) -> tuple[str, str, str]:
    from harness.judge import spell

    if each["pilot"] is None:
        return "–", "–", escape(each["reason"])
    reach = f"a factor of {each['resolves']:.3g}" if each["log_axis"] else spell(each["resolves"], each["unit"]).lstrip("+")
    return spell(each["pilot"], each["unit"]), reach, "none would do" if each["seeds"] is None else str(each["seeds"])


def print_calibration(rows: Sequence[dict[str, Any]]) -> None:
    """A line for each kind of observation and number of seeds: the worst over its worlds."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("observable", "seeds", "coverage", "false supported", "false refuted", "power (plain)"):
        table.add_column(column)
    for (observable, seeds), group in groupby(
        sorted(rows, key=lambda row: (row["observable"], row["seeds"])), key=lambda row: (row["observable"], row["seeds"])
    ):
        worlds = list(group)
        covered = [row["coverage"] for row in worlds if row["coverage"] is not None]
        coverage = f"{min(covered):.1%} to {max(covered):.1%}" if covered else "–"
        rates = [[row[name] for row in worlds if row[name] is not None] for name in ("false_supported", "false_refuted")]
        wrong = [f"{max(each):.1%}" if each else "–" for each in rates]
        table.add_row(observable, str(seeds), coverage, *wrong, f"{worlds[0]['power']:.0%}")
    out.print(table)


def print_verdicts(found: "Sequence[Verdict]", as_json: bool) -> None:
    if as_json:
        print_json([verdict.row() for verdict in found])
        return
    from harness.variation import is_variation

    for place, group in groupby(found, key=lambda verdict: (verdict.study, verdict.scale, verdict.device)):
        verdicts_here = list(group)
        out.print(f"\n[bold]{place[0]}[/] · {place[1]} scale · {place[2]} · {verdicts_here[0].trials} trials", highlight=False)
        if is_variation(place[0]):
            out.print("  a variation: these are not verdicts of the study as it is declared", style="yellow", highlight=False)
        if all(not verdict.findings for verdict in verdicts_here):
            out.print(f"  {verdicts_here[0].reason}", highlight=False)
            continue
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column()
        for verdict in verdicts_here:
            table.add_row(f"[{COLOURS.get(verdict.verdict, 'yellow')}]{verdict.verdict}", verdict.claim, escape(verdict.reason))
        out.print(table)


def print_picks(rows: Sequence[dict[str, Any]]) -> None:
    """What the rules of an LR range test read off it."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("rule", "LR", "over seeds"):
        table.add_column(column)
    for row in rows:
        if row["lr"] is None:
            table.add_row(row["rule"], "no suggestion", escape(row["no_suggestion"]))
        else:
            table.add_row(
                row["rule"], f"{row['lr']:.3g}", f"{row['lowest']:.3g} to {row['highest']:.3g} ({row['seeds']} seeds)"
            )
    out.print(table)
