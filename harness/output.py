"""What commands print: tables for people, JSON for machines, one line for an error."""

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from harness.judge import Verdict

COLOURS = {"supported": "green", "refuted": "red"}

out = Console()
err = Console(stderr=True)


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


def print_rows(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(list(rows))
        return
    table = Table(*(rows[0] if rows else ()))
    for row in rows:
        table.add_row(*(", ".join(value) if isinstance(value, list) else str(value) for value in row.values()))
    out.print(table)


def print_facts(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), str(value))
    out.print(table)


def print_verdicts(found: "Sequence[Verdict]", as_json: bool) -> None:
    if as_json:
        print_json([verdict.row() for verdict in found])
        return
    for place, group in groupby(found, key=lambda verdict: (verdict.study, verdict.scale, verdict.device)):
        verdicts_here = list(group)
        out.print(f"\n[bold]{place[0]}[/] · {place[1]} scale · {place[2]} · {verdicts_here[0].trials} trials", highlight=False)
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
