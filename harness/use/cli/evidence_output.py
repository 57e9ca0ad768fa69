"""Output of `why`, `show` and `compare` for people."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.text import Text

from ...declare import Workload
from ...declare.level import LEVEL
from ...judge.explaining import asked_of_workloads
from ...judge.spelling import spell, spell_interval
from ...judge.verdict import Verdict
from ...judge.withdrawing import WithdrawnVerdict, as_judged
from ...train.workloads import workload_of
from ..reading.compare import Comparison, Side
from ..reading.provenance import Basis, Explanation, sparkline
from .output import COLOURS, Column, Row, coloured, out, print_facts, print_table, print_wrapped, qualifications, was

# At most this many digests of an arm are printed unless all are asked for.
DIGESTS_SHOWN = 4


def print_explanations(explanations: Sequence[Explanation], every_trial: bool) -> None:
    """The claim once, then each verdict with what it rests on. every_trial: all digests."""
    claim = explanations[0]
    _line(f"[bold]{claim.claim}[/] ({', '.join(claim.kinds)}): {escape(claim.paraphrase)}")
    for source in claim.sources:
        _line(f"  {source['document']}, {escape(source['title'])}: {escape(source['section'])}")
    _line(f"  to be measured: {escape(claim.measure)}")
    for explanation in explanations:
        _print_explanation(explanation, every_trial)


def _print_explanation(explanation: Explanation, every_trial: bool) -> None:
    verdict: Verdict = explanation.whole_verdict
    _line(
        f"\n{explanation.study} version {explanation.version} · {explanation.scale} scale"
        f" · {explanation.device} · {explanation.source}"
    )
    _line(f"[{COLOURS.get(verdict.verdict, 'yellow')}]{_read(verdict)}[/]: {escape(verdict.plain_answer)}")
    asked = asked_of_workloads(verdict, explanation.quantifier) or ""
    late = "its criteria were written after these trials had been seen" * verdict.after_the_fact
    _print_labelled(
        ("", was(verdict) if isinstance(verdict, WithdrawnVerdict) else ""),
        ("by the rule: ", as_judged(verdict).reason),
        ("", asked[:1].lower() + asked[1:]),
        ("caution: ", late),
        *((f"{label}: ", text) for label, text in qualifications(verdict)),
        ("note: ", explanation.note),
    )
    for basis in explanation.criteria:
        _print_basis(basis)
    _print_labelled(*(("beside it: ", line) for line in explanation.reported), *_robustness(explanation))
    _print_trials(explanation, every_trial)


def _print_labelled(*lines: tuple[str, str]) -> None:
    for label, text in lines:
        if text:
            _line(f"  {label}{escape(text)}")


def _read(judged: Verdict | Basis) -> str:
    return f"{judged.verdict} ({judged.reading})" if judged.reading else f"{judged.verdict}"


def _print_basis(basis: Basis) -> None:
    _line(f"\n  [bold]{escape(basis.criterion)}[/]" + (f": {_read(basis)}" if basis.verdict else ""))
    _line(f"    claimed {basis.claimed}; refuted {basis.refuted}")
    if basis.estimate is not None:
        assert basis.low is not None
        assert basis.high is not None
        interval = spell_interval(basis.estimate, basis.low, basis.high, basis.unit)
        level = "" if basis.level == LEVEL else f", a {basis.level:.0%} interval"
        _line(f"    {interval} from {basis.seeds} seeds{level}".replace("[", "\\["))
    elif basis.reason is not None:
        _line(f"    {escape(basis.reason)}")
    if basis.by_seed:
        numbers = (f"{seed}: {'–' if value is None else spell(value, basis.unit)}" for seed, value in basis.by_seed.items())
        _line(f"    on each seed alone: {', '.join(numbers)}")


def _robustness(explanation: Explanation) -> list[tuple[str, str]]:
    if explanation.robustness is None:
        return []
    return [
        ("", "firm, if it survives the correction over all claims (see the index)" * (explanation.standing == "firm")),
        ("fragile: ", "; ".join(explanation.fragile)),
        ("without single seeds: ", explanation.robustness.seeds_in_words),
        ("other choices: ", explanation.robustness.choices_in_words),
    ]


def _print_trials(explanation: Explanation, every_trial: bool) -> None:
    _line(f"\n  rests on {len(explanation.trials)} trials (folklore show DIGEST):")
    for arm in dict.fromkeys(trial.arm for trial in explanation.trials):
        trials = [trial for trial in explanation.trials if trial.arm == arm]
        shown = trials if every_trial else trials[:DIGESTS_SHOWN]
        rest = len(trials) - len(shown)
        diverged = sum(trial.outcome == "diverged" for trial in trials)
        counted = f"{len(trials)} trials, {len({trial.seed for trial in trials})} seeds, {diverged} diverged"
        digests = " ".join(trial.digest for trial in shown)
        _line(f"    {escape(arm)}: {counted}: {digests}{f' … {rest} more (--trials)' if rest else ''}")


def print_trial(facts: Mapping[str, Any]) -> None:
    """facts: see `trial_facts`."""
    point = ", ".join(f"{name} = {value}" for name, value in facts["point"].items())
    _line(
        f"[bold]{facts['digest']}[/] · {facts['study']} version {facts['version']} · {facts['scale']} scale · {facts['source']}"
    )
    _line(f"arm {escape(facts['arm'])} · {escape(point)} · seed {facts['seed']}")
    at = f" at step {facts['divergence_step']}" if facts["divergence_step"] is not None else ""
    _line(f"{facts['outcome']}{at}")
    shown = dict[str, str]()
    workload = workload_of(Workload.model_validate(facts["differs_from_defaults"].get("workload", {})))
    unit = f" {workload.loss_unit}".rstrip()
    for name in ("initial_loss", "train_loss", "validation_loss", "test_loss"):
        value = facts[name]
        shown[name.replace("_", " ")] = "not finite" if value is None else f"{value:.4f}{unit}"
    for name, values in facts["curves"].items():
        if name in ("train_loss", "evaluation_loss", "lr", "probe_gradient_norm"):
            finite = [value for value in values if value is not None]
            ends = f"{finite[0]:.3g} to {finite[-1]:.3g}" if finite else "nowhere finite"
            shown[f"curve of {name.removeprefix('probe_').replace('_', ' ')}"] = f"{sparkline(values)}  {ends}"
    for name, line in facts["recipe"].items():
        shown[name] = line
    for part, fields in facts["differs_from_defaults"].items():
        settings = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
        if settings:
            shown[f"set of {part}"] = settings
    shown["trained"] = f"{facts['seconds']:.2f} s, one of {facts['lanes']} lanes, {facts['program'] or 'eager'}"
    shown["pack"] = f"{facts['pack']}, finished {facts['finished_at']}"
    shown["data hash"] = facts["data_hash"]
    shown["environment"] = ", ".join(f"{name} {value}" for name, value in facts["environment"].items())
    print_facts(shown)


def print_comparison(comparison: Comparison) -> None:
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        _line(f"{letter}: {escape(side.words)}")
    overlaps = {True: Text("overlap"), False: Text("apart", style="bold"), None: Text("nothing to compare")}
    rows = []
    for pair in comparison.claims:
        rows.append(Row((pair.claim, _verdict(pair.a), _verdict(pair.b), "")))
        for criterion_pair in pair.criteria:
            sides = (_interval(side, criterion_pair.unit) for side in (criterion_pair.a, criterion_pair.b))
            rows.append(Row(("", *sides, overlaps[criterion_pair.overlap]), (criterion_pair.criterion,)))
    out.print()
    print_table((Column("claim"), Column("A", number=True), Column("B", number=True), Column("intervals")), rows)
    _line("\nIntervals that overlap do not show that two are equal; intervals that lie apart show that they differ.")


def _verdict(verdict: str | None) -> Text:
    return Text("not judged") if verdict is None else coloured(verdict)


def _interval(side: Side | None, unit: str) -> str:
    if side is None or side.estimate is None or side.low is None or side.high is None:
        return "–"
    return spell_interval(side.estimate, side.low, side.high, unit)


def _line(text: str) -> None:
    """Prints markup, wrapped between words and indented as it begins."""
    if text.startswith("\n"):
        out.print()
    content = text.lstrip()
    print_wrapped(Text.from_markup(content), len(text.lstrip("\n")) - len(content))
