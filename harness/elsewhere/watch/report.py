"""What a watch tells: what was measured and how often; and of each rule that fired, what the documents advise and what
Folklore's evidence says of that advice."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import readings
from .evidence import Quote, quotes
from .rules import RULES, Rule
from .seen import Fired, Span, WatchedRun

# Layers of a report: those that move most and least.
SHOWN = 4
# Gradients are clipped if more than this share of their norms is the largest of them.
CLIPPED = 0.1


@dataclass(frozen=True)
class FiredRule:
    """A rule that fired, and what is known of it. updates: at how many."""

    rule: Rule
    updates: int
    first: int
    last: int
    value: float
    where: str
    evidence: tuple[Quote, ...]

    def lines(self, told: set[str]) -> list[str]:
        """told: advice and claims that stand above, which are only named; those of this rule are added."""
        times = f"update {self.first}" if self.updates == 1 else f"{self.updates:,} times, updates {self.first} to {self.last}"
        where = f", {self.where}" if self.where else ""
        size = f"{self.value:.3g} {self.rule.unit}".strip()
        advice = "as above" if self.rule.playbook in told else self.rule.playbook
        said = [f"- {self.rule.says}: {times} (last: {size}{where})", f"    threshold: {self.rule.source}"]
        said.append(f"    the documents advise: {advice}")
        quoted = {quote.claim: f"Folklore: {quote}" for quote in self.evidence}
        unknown = "Folklore has no published verdict on "
        said += [f"    {quoted.get(claim, unknown + claim)}" for claim in self.rule.claims if claim not in told]
        if above := [claim for claim in self.rule.claims if claim in told]:
            said.append(f"    and above: {', '.join(above)}")
        told |= {self.rule.playbook, *self.rule.claims}
        return said


@dataclass(frozen=True)
class Report:
    """measured: at how many updates. own_share: of the run's time, the watch's own. layers: name -> gradient norm and
    update-to-weight ratio (a matrix's without its bias) when last measured; nan: never, or its weights were zero. units:
    activation -> share of its units that were silent; -1: too few examples yet; None: not measured. notes: what a reader has
    to know beside it."""

    updates: int
    measured: dict[str, int]
    own_share: float
    spans: dict[str, Span]
    layers: dict[str, tuple[float, float]]
    units: dict[str, float] | None
    skipped: int
    notes: tuple[str, ...]
    findings: tuple[FiredRule, ...]

    @classmethod
    def of(cls, seen: WatchedRun) -> "Report":
        missing = np.full(len(seen.layers.names), np.nan)
        gradients, ratios = (seen.latest.get(name, missing).tolist() for name in (readings.GRADIENTS, readings.RATIOS))
        shares = seen.latest.get(readings.SILENT, np.zeros(0)).tolist()
        return cls(
            updates=seen.updates,
            measured={"losses": seen.losses, "gradients": seen.gradients, "looks": seen.looks},
            own_share=seen.own_seconds / seen.seconds if seen.seconds else 0.0,
            spans=seen.spans,
            layers=dict(zip(seen.layers.names, zip(gradients, ratios, strict=True), strict=True)),
            units=None if seen.activations is None else dict(zip(seen.activations, shares, strict=False)),
            skipped=seen.skipped,
            notes=tuple(_notes(seen)),
            findings=_findings(seen.fired),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return asdict(self)

    def __str__(self) -> str:
        measured, told = self.measured, set[str]()
        moved = sorted((item for item in self.layers.items() if item[1][1] == item[1][1]), key=lambda item: -item[1][1])
        shown = moved if len(moved) <= 2 * SHOWN else [*moved[:SHOWN], *moved[-SHOWN:]]
        said = [
            f"{self.updates:,} updates; measured: the loss of {measured['losses']:,}, gradients of {measured['gradients']:,},"
            f" updates and units of {measured['looks']:,}; own time {self.own_share:.1%} of the run's",
            *(f"  {name}: {span}" for name, span in self.spans.items()),
            *(f"  {name}: gradient norm {norm:.3g}, update/weight {ratio:.2g}" for name, (norm, ratio) in shown),
            *(f"  {name}: {share:.0%} silent" for name, share in sorted((self.units or {}).items()) if share > 0),
            *(f"note: {note}" for note in self.notes),
            *(line for finding in self.findings for line in finding.lines(told)),
        ]
        return "\n".join(said if self.findings else [*said, f"None of the {len(RULES)} rules has fired."])


def _findings(fired: dict[str, Fired]) -> tuple[FiredRule, ...]:
    claims = dict.fromkeys(claim for name in fired for claim in RULES[name].claims)
    known = quotes(claims)

    def finding(name: str, fired: Fired) -> FiredRule:
        rule, last = RULES[name], fired.last
        evidence = tuple(quote for claim in rule.claims for quote in known if quote.claim == claim)
        return FiredRule(rule, fired.count, fired.first.step, last.step, last.value, last.where, evidence)

    return tuple(finding(name, fired[name]) for name in RULES if name in fired)


def _notes(seen: WatchedRun) -> list[str]:
    layers, notes = seen.layers, list[str]()
    if seen.skipped:
        notes.append(f"the loss scaler skipped {seen.skipped} updates at least; a few are normal")
    if layers.left_out:
        notes.append(f"{layers.left_out} parameters take gradients and are not in the optimizer")
    if layers.frozen:
        notes.append(f"{layers.frozen} parameters were frozen when the watch began")
    if seen.activations is None:
        notes.append("units were not measured: the model is compiled, or units=False")
    elif not seen.activations and seen.looks:
        notes.append("units were not measured: the model's forward pass calls no ReLU, GELU, SiLU, sigmoid or tanh")
    norms = seen.spans.get(readings.NORM)
    if norms is not None and norms.count > 1 and norms.at_most > CLIPPED * norms.count:
        notes.append("the gradient norms are of clipped gradients: call watch.gradients() before you clip")
    for rule, count in seen.minor.items():
        notes.append(
            f"minor, and no alarm (updates: {count:,}): {RULES[rule].says}, but little of the loss reduction was lost, the norm"
            " was below the first ones, or the loss was near its floor"
        )
    if seen.gradients < seen.updates:
        notes.append("rules on the gradient norm count measurements, not updates")
    return notes
