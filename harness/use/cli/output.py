"""Output of commands: tables for people, JSON for machines, one line for an error."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.progress import Progress
from rich.text import Text

from ...consoles import PlainConsole
from ...results import fields_of

if TYPE_CHECKING:
    from ...judge.lr_range import PickedLR
    from ...judge.power import Resolution
    from ...judge.verdict import Verdict
    from ...judge.withdrawing import WithdrawnVerdict
    from ...launch.facts import PlanFacts
    from ..reading.asked_claims import ClaimInBrief
    from ..reading.stored_studies import StudyRow
    from .doctor import Check

COLOURS = {"supported": "green", "partly": "cyan", "refuted": "red"}
INDENT, GAP = 2, 2


out, err = PlainConsole(), PlainConsole(stderr=True)


@dataclass(frozen=True)
class Column:
    """number: right-aligned."""

    name: str
    number: bool = False


@dataclass(frozen=True)
class Row:
    """A line of a table. explanations: sentences that stand under it, over the whole width; empty ones are left out."""

    cells: Sequence[str | Text]
    explanations: Sequence[str] = ()


def print_table(columns: Sequence[Column], rows: Sequence[Row], header: bool = True) -> None:
    """Prints names and numbers whole, whatever the width: if a line would not fit, each row becomes a block of lines.

    No cell is wrapped; sentences belong to a row's explanations. Not a rich Table: it fills lines with blanks to their end,
    also in a pipe, cuts or wraps names where they do not fit, and has no lines that span all columns.
    """
    names = [Text(column.name, style="bold") for column in columns]
    table = [[cell if isinstance(cell, Text) else Text(cell) for cell in row.cells] for row in rows]
    lined_up = [names, *table] if header else table
    widths = [max(cell.cell_len for cell in cells) for cells in zip(*lined_up, strict=True)]
    if sum(widths) + GAP * (len(widths) - 1) <= out.width:
        if header:
            _print_line(_aligned(columns, names, widths))
        lines = [[_aligned(columns, cells, widths)] for cells in table]
    else:
        lines = [list(_block(names if header else [], cells)) for cells in table]
    for row, block in zip(rows, lines, strict=True):
        for line in block:
            _print_line(line)
        for explanation in filter(None, row.explanations):
            print_wrapped(Text(explanation), INDENT)


def print_facts(facts: Mapping[str, str]) -> None:
    """A line for each name with its value, which goes on below itself where the terminal ends. Not rich's Table.grid: it fills
    lines with blanks to their end, and of names beside which nothing fits it shows no value."""
    beside = max((cell_len(name) for name in facts), default=0) + GAP
    for name, value in facts.items():
        label = Text(name + " " * (beside - cell_len(name)))
        if out.width < 2 * beside:
            _print_line(Text(name))
            print_wrapped(Text(value), INDENT)
            continue
        first, *others = Text(value).wrap(out, out.width - beside) or [Text("")]
        for line in (label + first, *(Text(" " * beside) + other for other in others)):
            _print_line(line)


def print_wrapped(text: Text, indent: int = 0) -> None:
    """Prints a text wrapped between words, every line indented."""
    for line in text.wrap(out, max(1, out.width - indent)):
        line.rstrip()
        _print_line(Text(" " * indent) + line)


def _aligned(columns: Sequence[Column], cells: Sequence[Text], widths: Sequence[int]) -> Text:
    aligned = [cell.copy() for cell in cells]
    for column, cell, width in zip(columns, aligned, widths, strict=True):
        cell.align("right" if column.number else "left", width)
    line = Text(" " * GAP).join(aligned)
    line.rstrip()
    return line


def _block(names: Sequence[Text], cells: Sequence[Text]) -> Iterator[Text]:
    """A row of a table wider than the terminal: its first cell, and below it the others, each with its column's name."""
    if cells[0]:
        yield cells[0]
    widest = max((name.cell_len for name in names[1:]), default=0)
    for index, cell in enumerate(cells[1:], start=1):
        if not cell:
            continue
        label = Text(" " * INDENT)
        if names:
            label += Text(names[index].plain + " " * (widest + GAP - names[index].cell_len))
        yield label + cell


def _print_line(line: Text) -> None:
    out.print(line)


def told(what: str) -> Callable[[int, int], None]:
    """Shows how many studies are done: on a terminal on one line that the next output takes, elsewhere a line a study."""

    def tell(count: int, of: int) -> None:
        line = f"{what}: {count} of {of} studies"
        if not err.is_terminal:
            err.print(line)
        else:
            err.print(line if count < of else " " * len(line), end="\r")

    return tell


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False, default=fields_of)
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


def print_checks(checks: "Sequence[Check]", as_json: bool) -> None:
    """Prints the doctor's checks."""
    if as_json:
        rows = ((c.name, "yes" if c.ok else "NO", c.found, "" if c.ok else c.fix) for c in checks)
        print_json([dict(zip(("check", "ok", "found", "fix"), row, strict=True)) for row in rows])
        return
    print_facts({c.name: c.found if c.ok else f"NO: {c.found}; to fix: {c.fix}" for c in checks})


def print_studies(rows: "Sequence[StudyRow]", as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    columns = Column("study"), Column("judges", number=True), Column("trials here"), Column("scales")
    print_table(
        columns,
        [
            Row(
                (row.study, str(row.judges), _counted(row.trials), ", ".join(row.scales)),
                ("" if row.name == row.study else row.name, row.question),
            )
            for row in rows
        ],
    )


def _counted(trials: Mapping[str, int]) -> str:
    """Trials by scale."""
    return ", ".join(f"{count} {scale}" for scale, count in trials.items()) or "–"


def print_plan(facts: "PlanFacts", as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    apart = ("recipe", "power", "slopes")
    print_facts({name.replace("_", " "): str(value) for name, value in fields_of(facts).items() if name not in apart})
    out.print("\nthe recipe:")
    print_facts(facts.recipe)
    if facts.slopes:
        out.print("\nwhat the ladder up to this rung would show in four of five tries, for each tenfold of parameters:")
        print_facts(facts.slopes)
    if (power := facts.power) is None:
        out.print("\nno trials to take spreads from: what the seeds can resolve is not known yet")
        return
    out.print(f"\nwhat {power.seeds} seeds show in four of five repetitions, by the spread of {power.spread_of}:")
    numbers = ("pilot", "margin", "expected", "power", "seeds")
    rows = [Row((resolution.claim, *_resolved(resolution)), _beside(resolution)) for resolution in power.criteria]
    print_table((Column("claim"), *(Column(name, number=True) for name in numbers)), rows)
    out.print(
        "\npilot: the estimate of those seeds; margin: how far inside its region a value must lie to be decided; expected: the"
        " value predicted beforehand; power: how often these seeds would show it; seeds: as many as give the expected value 80%"
        " power, or without one a value like the pilot's",
    )


def _beside(resolution: "Resolution") -> tuple[str, ...]:
    from ...judge.statistics.power import POWER

    weak = resolution.power is not None and resolution.power < POWER
    return (
        resolution.criterion,
        resolution.reason,
        f"declared all the same: {resolution.underpowered}" * (weak and bool(resolution.underpowered)),
    )


def _resolved(resolution: "Resolution") -> tuple[str, ...]:
    from ...judge.spelling import spell, spell_declared

    def spelled(value: float | None, spell: Callable[[float, str], str] = spell) -> str:
        return "–" if value is None else spell(value, resolution.unit)

    reach = "–"
    if resolution.resolves is not None:
        reach = f"a factor of {resolution.resolves:.3g}" if resolution.log_axis else spelled(resolution.resolves).lstrip("+")
    expected = spelled(resolution.expected, spell_declared) + f" ({resolution.verdict})" * bool(resolution.verdict)
    power = "–" if resolution.power is None else f"{resolution.power:.0%}"
    decidable = resolution.pilot is not None or resolution.power is not None
    seeds = str(resolution.seeds) if resolution.seeds is not None else "none would do" if decidable else "–"
    return spelled(resolution.pilot), reach, expected, power, seeds


def print_verdicts(verdicts: "Sequence[Verdict]", as_json: bool, readable: Mapping[str, str] | None = None) -> None:
    """readable: names of studies as people read them, where they have other ones."""
    if as_json:
        print_json([verdict.row() for verdict in verdicts])
        return
    from ...judge.withdrawing import as_judged
    from ...plan.variation import is_variation

    for (study, scale, device), group in groupby(verdicts, key=lambda verdict: (verdict.study, verdict.scale, verdict.device)):
        verdicts_here = list(group)
        called = (readable or {}).get(study, study)
        place = f" · {called}" * (called != study) + f" · {scale} scale · {device} · {verdicts_here[0].trials} trials"
        place += f" · so far, {verdicts_here[0].so_far}" if verdicts_here[0].so_far else ""
        out.print()
        print_wrapped(Text(study, style="bold") + Text(place, style="not bold"))
        if is_variation(study):
            line = "a variation: these are not verdicts of the study as it is declared"
            print_wrapped(Text(line, style="yellow"), INDENT)
        if all(not verdict.findings for verdict in verdicts_here):
            print_wrapped(Text(as_judged(verdicts_here[0]).reason), INDENT)
            continue
        if any(verdict.after_the_fact for verdict in verdicts_here):
            print_wrapped(Text("its criteria were written after these trials had been seen", style="yellow"), INDENT)
        rows = [Row((coloured(verdict.verdict, verdict.reading), verdict.claim), _answer(verdict)) for verdict in verdicts_here]
        print_table((Column("verdict"), Column("claim")), rows, header=False)


def print_claims(rows: "Sequence[ClaimInBrief]") -> None:
    """A line for each: id, verdict, what it claims."""
    for row in rows:
        verdict = coloured(row.verdict, row.reading) + Text(f" at {row.scale} scale") if row.verdict else Text("not yet tested")
        print_wrapped(Text(f"{row.claim}: ", style="bold") + verdict + Text(f": {row.title}", style="not bold"))
    print_wrapped(Text(f"`folklore why {rows[0].claim}` tells what a verdict rests on"))


def _answer(verdict: "Verdict") -> tuple[str, ...]:
    from ...judge.withdrawing import WithdrawnVerdict

    if isinstance(verdict, WithdrawnVerdict):
        return verdict.plain_answer, was(verdict)
    return (verdict.plain_answer, *(f"{label}: {text}" for label, text in qualifications(verdict)))


def qualifications(verdict: "Verdict") -> list[tuple[str, str]]:
    """Advice after a verdict and its qualifications, as label and text."""
    lines = [
        ("what to do", verdict.advice),
        ("below the claim's size", verdict.below_size),
        ("new", verdict.new),
        ("rule", verdict.rule_change),
        *(("caution", caution) for caution in verdict.cautions),
    ]
    return [(label, text) for label, text in lines if text]


def was(verdict: "WithdrawnVerdict") -> str:
    """The answer of a verdict before it was withdrawn."""
    reading = f" ({verdict.judged.reading})" if verdict.judged.reading else ""
    return f"until {verdict.erratum.date} it was {verdict.judged.verdict}{reading}: {verdict.judged.plain_answer}"


def coloured(verdict: str, reading: str = "") -> Text:
    return Text(f"{verdict} ({reading})" if reading else verdict, style=COLOURS.get(verdict, "yellow"))


def print_picks(rows: "Sequence[PickedLR]") -> None:
    """Prints the LRs that the rules pick in an LR range test, and the meaning of each rule."""
    from ...declare.metrics.estimating.range_test_rules import MEANINGS

    columns = Column("rule"), Column("LR", number=True), Column("over seeds", number=True), Column("seeds", number=True)
    lines = []
    for row in rows:
        if row.lr is None:
            cells, missing = ("–", "–", "0"), f"no suggestion: {row.no_suggestion}"
        else:
            cells, missing = (f"{row.lr:.3g}", f"{row.lowest:.3g} to {row.highest:.3g}", str(row.seeds)), ""
        lines.append(Row((row.rule, *cells), (MEANINGS[row.rule], missing)))
    print_table(columns, lines)
