"""What `why`, `show` and `compare` print for people."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from harness.compare import Comparison, Side
from harness.judge import region, spell
from harness.output import COLOURS, out
from harness.provenance import Basis, Explanation, sparkline

# So many digests of an arm are printed unless all are asked for.
DIGESTS_SHOWN = 4


def print_explanations(found: Sequence[Explanation], every_trial: bool) -> None:
    """The claim once, then each verdict with what it rests on. every_trial: all digests."""
    claim, documents = found[0].claim, found[0].documents
    _line(f"[bold]{claim.id}[/] ({', '.join(claim.kinds)}): {escape(claim.paraphrase)}")
    for source in claim.sources:
        _line(f"  {source.document}, {escape(documents[source.document].title)}: {escape(source.section)}")
    _line(f"  to be measured: {escape(claim.measure)}")
    for each in found:
        _print_explanation(each, every_trial)


def _print_explanation(each: Explanation, every_trial: bool) -> None:
    records, verdict = each.records, each.verdict
    place = (
        f"{records.study.name} version {records.study.version} · {records.scale} scale · {records.device} · {records.source}"
    )
    _line(f"\n{place}")
    _line(f"[{COLOURS.get(verdict.verdict, 'yellow')}]{verdict.verdict}[/]: {escape(verdict.reason)}")
    if each.judgement.note:
        _line(f"  note: {escape(each.judgement.note)}")
    for basis in each.bases:
        _print_basis(basis)
    for line in each.reported():
        _line(f"  beside it: {escape(line)}")
    for line in _robustness(each):
        _line(f"  {escape(line)}")
    _print_trials(each, every_trial)


def _print_basis(basis: Basis) -> None:
    criterion, finding = basis.criterion, basis.finding
    _line(f"\n  [bold]{escape(criterion.name)}[/]" + (f": {finding.verdict}" if finding else ""))
    _line(f"    supported {region(criterion.supported, criterion)}; refuted {region(criterion.refuted, criterion)}")
    if finding is not None and finding.estimate is not None:
        assert finding.low is not None
        assert finding.high is not None
        estimate, low, high = (spell(value, criterion.unit) for value in (finding.estimate, finding.low, finding.high))
        _line(f"    {estimate} [{low}, {high}] from {finding.seeds} seeds".replace("[", "\\["))
    elif finding is not None:
        _line(f"    {escape(finding.reason)}")
    if basis.by_seed:
        numbers = (f"{seed}: {'–' if value is None else spell(value, criterion.unit)}" for seed, value in basis.by_seed.items())
        _line(f"    on each seed alone: {', '.join(numbers)}")


def _robustness(each: Explanation) -> list[str]:
    found = each.robustness
    if found is None:
        return []
    return [f"without single seeds: {found.seeds_in_words}", f"other choices: {found.choices_in_words}"]


def _print_trials(each: Explanation, every_trial: bool) -> None:
    _line(f"\n  rests on {len(each.trials)} trials (folklore show DIGEST):")
    for arm, group in each.trials.groupby("arm", sort=False):
        digests = list(group["digest"])
        shown = digests if every_trial else digests[:DIGESTS_SHOWN]
        rest = len(digests) - len(shown)
        diverged = int((group["outcome"] == "diverged").sum())
        counted = f"{len(digests)} trials, {group['seed'].nunique()} seeds, {diverged} diverged"
        _line(f"    {escape(str(arm))}: {counted}: {' '.join(shown)}{f' … {rest} more (--trials)' if rest else ''}")


def print_trial(facts: Mapping[str, Any]) -> None:
    """facts: see `trial_facts`."""
    point = ", ".join(f"{name} = {value}" for name, value in facts["point"].items())
    _line(
        f"[bold]{facts['digest']}[/] · {facts['study']} version {facts['version']} · {facts['scale']} scale · {facts['source']}"
    )
    _line(f"arm {escape(facts['arm'])} · {escape(point)} · seed {facts['seed']}")
    at = f" at step {facts['divergence_step']}" if facts["divergence_step"] is not None else ""
    _line(f"{facts['outcome']}{at}")
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name in ("initial_loss", "train_loss", "validation_loss", "test_loss"):
        value = facts[name]
        table.add_row(name.replace("_", " "), "not finite" if value is None else f"{value:.4f} nats")
    for name, values in facts["curves"].items():
        if name in ("train_loss", "evaluation_loss", "lr", "probe_gradient_norm"):
            finite = [value for value in values if value is not None]
            ends = f"{finite[0]:.3g} to {finite[-1]:.3g}" if finite else "nowhere finite"
            table.add_row(name.removeprefix("probe_").replace("_", " "), f"{sparkline(values)}  {ends}")
    for part, fields in facts["differs_from_defaults"].items():
        settings = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
        if settings:
            table.add_row(part, escape(settings))
    table.add_row("trained", f"{facts['seconds']:.2f} s, one of {facts['lanes']} lanes, {facts['program'] or 'eager'}")
    table.add_row("pack", f"{facts['pack']}, finished {facts['finished_at']}")
    table.add_row("data", facts["data_hash"])
    table.add_row("environment", escape(", ".join(f"{name} {value}" for name, value in facts["environment"].items())))
    out.print(table)


def print_comparison(comparison: Comparison) -> None:
    for letter, side in (("A", comparison.left), ("B", comparison.right)):
        _line(f"{letter}: {side.words}")
    for pair in comparison.claims:
        left, right = (_verdict(side) for side in (pair.left, pair.right))
        _line(f"\n[bold]{pair.claim}[/]: {left} · {right}")
        for each in pair.criteria:
            overlap = {True: "overlap", False: "[bold]apart[/]", None: "nothing to compare"}[each.overlap]
            _line(
                f"  {escape(each.criterion)}: {_interval(each.left, each.unit)} · {_interval(each.right, each.unit)}: {overlap}"
            )
    _line("\nIntervals that overlap do not show that two are equal; intervals that lie apart show that they differ.")


def _verdict(verdict: str | None) -> str:
    return "not judged" if verdict is None else f"[{COLOURS.get(verdict, 'yellow')}]{verdict}[/]"


def _interval(side: Side | None, unit: str) -> str:
    if side is None or side.estimate is None or side.low is None or side.high is None:
        return "–"
    return f"{spell(side.estimate, unit)} \\[{spell(side.low, unit)}, {spell(side.high, unit)}]"


def _line(text: str) -> None:
    out.print(text, highlight=False, soft_wrap=True)
