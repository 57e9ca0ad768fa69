"""The report of a watch: what was measured and how often, which rules fired and which could not; and, on request, what the
documents advise on each, and what Folklore's evidence says of that advice."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from . import readings
from .enough import lacking
from .evidence import quotes
from .notes import notes
from .readings import Numbers
from .rules import RULES, Rule
from .seen import Fired, Span, WatchedRun

# Layers of a report: those that move most and least.
SHOWN = 4


@dataclass(frozen=True)
class FiredRule:
    """A rule that fired. updates: at how many steps."""

    rule: Rule
    updates: int
    first: int
    last: int
    value: float
    where: str

    def __str__(self) -> str:
        times = f"step {self.first}" if self.updates == 1 else f"{self.updates:,} times, steps {self.first} to {self.last}"
        where = f", {self.where}" if self.where else ""
        size = f"{self.value:.3g} {self.rule.unit}".strip()
        return f"- {self.rule.says}: {times} (last: {size}{where})"


@dataclass(frozen=True)
class Report:
    """steps: with losses or an update. measured: at how many of them. own_share: the watch's share of the run's time. layers:
    name -> gradient norm and update-to-weight ratio (a matrix's without its bias) when last measured; nan: never, or its
    weights were zero. lrs: of the optimizer's groups when last measured. units: activation -> share of its units that were
    silent; -1: too few examples yet; None: not measured. skipped: steps that had no update. notes: what a reader has to know
    beside it.
    lacking: rule -> what it has seen too little of to fire."""

    updates: int
    steps: int
    measured: dict[str, int]
    own_share: float
    spans: dict[str, Span]
    layers: dict[str, tuple[float, float]]
    lrs: tuple[float, ...]
    units: dict[str, float] | None
    skipped: int
    notes: tuple[str, ...]
    findings: tuple[FiredRule, ...]
    lacking: dict[str, str]

    @classmethod
    def of(cls, run: WatchedRun) -> "Report":
        names, latest = run.layers.names, run.latest
        columns = (_filled(latest.get(name), len(names)) for name in (readings.GRADIENTS, readings.RATIOS))
        return cls(
            updates=run.steps.updates,
            steps=run.steps.done,
            measured={"losses": run.losses, "gradients": run.gradients, "looks": run.looks},
            own_share=run.own_seconds / run.seconds if run.seconds else 0.0,
            spans=run.spans,
            layers=dict(zip(names, zip(*columns, strict=True), strict=True)),
            lrs=tuple(_filled(latest.get(readings.LRS))),
            units=None if run.units is None else dict(zip(run.units.names, _filled(latest.get(readings.SILENT)), strict=False)),
            skipped=run.skipped,
            notes=tuple(notes(run)),
            findings=tuple(_finding(RULES[name], run.fired[name]) for name in RULES if name in run.fired),
            lacking=lacking(run),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them, and the evidence by claim."""
        known = quotes(self._claims())
        return {**asdict(self), "evidence": {quote.claim: asdict(quote) for quote in known}}

    def evidence(self) -> str:
        """Each rule that fired with its threshold, the documents' advice, and Folklore's verdicts on it. Takes a second."""
        known, above, lines = {quote.claim: str(quote) for quote in quotes(self._claims())}, set[str](), list[str]()
        for finding in self.findings:
            rule = finding.rule
            advice = "as above" if rule.playbook in above else rule.playbook
            lines += [str(finding), f"    threshold: {rule.source}", f"    the documents advise: {advice}"]
            unknown = "no published verdict on "
            lines += [f"    Folklore: {known.get(claim, unknown + claim)}" for claim in rule.claims if claim not in above]
            if repeated := [claim for claim in rule.claims if claim in above]:
                lines.append(f"    and above: {', '.join(repeated)}")
            above |= {rule.playbook, *rule.claims}
        return "\n".join(lines or ["No rule has fired."])

    def __str__(self) -> str:
        return "\n".join(
            [
                self._measured(),
                *(f"  {name}: {span}{self._groups() if name == readings.LRS else ''}" for name, span in self.spans.items()),
                *self._layers(),
                *(f"  {name}: {share:.0%} silent" for name, share in sorted((self.units or {}).items()) if share > 0),
                *(f"note: {note}" for note in self.notes),
                *(str(finding) for finding in self.findings),
                *self._silent_rules(),
            ]
        )

    def _measured(self) -> str:
        among = f" in {self.steps:,} steps" if self.steps > self.updates else ""
        return (
            f"{self.updates:,} updates{among}; measured: the loss of {self.measured['losses']:,}, gradients of"
            f" {self.measured['gradients']:,}, updates and units of {self.measured['looks']:,}; own time {self.own_share:.1%}"
            " of the run's"
        )

    def _groups(self) -> str:
        """The range of the LRs, if there is one: the line says what the largest did."""
        if len(set(self.lrs)) < 2:
            return ""
        return f"; its {len(self.lrs)} groups at last: {min(self.lrs):.3g} to {max(self.lrs):.3g}"

    def _layers(self) -> list[str]:
        moved = sorted((item for item in self.layers.items() if item[1][1] == item[1][1]), key=lambda item: -item[1][1])
        shown = moved if len(moved) <= 2 * SHOWN else [*moved[:SHOWN], *moved[-SHOWN:]]
        return [f"  {name}: gradient norm {norm:.3g}, update/weight {ratio:.2g}" for name, (norm, ratio) in shown]

    def _silent_rules(self) -> list[str]:
        """Lines on the rules that did not fire, and on those that have not seen enough."""
        which = f"{len(RULES) - len(self.lacking)} rules that saw enough" if self.lacking else f"{len(RULES)} rules"
        lines = ["print(watch.evidence()) says what to do."] if self.findings else [f"None of the {which} has fired."]
        missing = ", ".join(f"{rule} ({what})" for rule, what in self.lacking.items())
        return [*lines, *([f"Rules that have not seen enough: {missing}."] if missing else [])]

    def _claims(self) -> dict[str, None]:
        return dict.fromkeys(claim for finding in self.findings for claim in finding.rule.claims)


def _finding(rule: Rule, fired: Fired) -> FiredRule:
    return FiredRule(rule, fired.count, fired.first.step, fired.last.step, fired.last.value, fired.last.where)


def _filled(values: Numbers | None, count: int = 0) -> list[float]:
    """A list with a nan for each layer that joined after the measurement."""
    known = [] if values is None else values.tolist()
    return known + [math.nan] * (count - len(known))
