"""The outcome of every claim at every scale: verdicts with how firm each stands. Index and document pages are drawn from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..harness.declare import Study
from ..harness.judge.error_rates import ARITHMETIC, ErrorRates, Place, error_rates, place_in_register, standing, why_fragile
from ..harness.judge.outcomes import DECIDED
from ..harness.judge.robustness import Robustness
from ..harness.judge.verdict import Verdict
from ..harness.judge.verdict_memory import JudgedTrials
from ..harness.plan.catalog import Register

# Small to large; scales with other names follow.
SCALES = ("laptop", "workstation", "gpu", "cluster")
# What a scale's verdicts speak for, as a reader who knows none of the studies understands it.
MACHINES = {
    "laptop": "small models on two CPU cores",
    "workstation": "small models in longer runs on two CPU cores",
    "gpu": "models that fit one GPU",
    "cluster": "models trained on many GPUs",
}

# Scale and kind of device.
Column = tuple[str, str]


@dataclass(frozen=True)
class TableOutcome:
    """A verdict, how firm it stands ("firm", "fragile", "exact" or ""), and why it is fragile."""

    verdict: Verdict
    standing: str = ""
    why_fragile: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        return self.verdict.verdict in DECIDED


@dataclass(frozen=True)
class OutcomeTable:
    """columns: small scales first. rates: of false verdicts, for each column. later: studies some of whose trials ran before
    their criteria were written as they are now."""

    columns: tuple[Column, ...] = ()
    outcomes: Mapping[Place, TableOutcome] = field(default_factory=dict)
    rates: Mapping[Column, ErrorRates] = field(default_factory=dict)
    later: tuple[str, ...] = ()

    def of(self, claim: str) -> list[TableOutcome | None]:
        """A claim's outcome in each column."""
        return [self.outcomes.get((claim, *column)) for column in self.columns]

    def speaking(self, claim: str) -> TableOutcome | None:
        """The outcome that speaks for a claim as a whole: of the largest scale that decides it, else of the largest judged."""
        outcomes = [outcome for outcome in self.of(claim) if outcome is not None]
        return next((outcome for outcome in reversed(outcomes) if outcome.decides), outcomes[-1] if outcomes else None)

    def without_rungs(self, studies: Iterable[Study]) -> "OutcomeTable":
        """The table without ladders' further rungs: few claims have them, and a word says how effects change over them."""
        rungs = {scale for study in studies for scale in study.ladder or ()} - set(SCALES)
        columns = tuple(column for column in self.columns if column[0] not in rungs)
        return replace(self, columns=columns, rates={column: self.rates[column] for column in columns})


def outcome_table(judged: Iterable[JudgedTrials], register: Register) -> OutcomeTable:
    """The table of the register's claims, at scales that are judged. If several studies judge a claim, the one it is filed
    under speaks for it. A register of a study's own claims gives the table of those."""
    judged = [judged_trials for judged_trials in judged if judged_trials.meant_to_be]
    verdicts = _by_place(judged, register)
    columns = tuple(sorted({place[1:] for place in verdicts}, key=_size))
    robust = {(v.study, *place_in_register(v)): r for judged_trials in judged for v, r in _with_robustness(judged_trials)}
    rates = {column: error_rates(v for place, v in verdicts.items() if place[1:] == column) for column in columns}
    outcomes = {
        place: _outcome(verdict, robust.get((verdict.study, *place)), rates[place[1], place[2]])
        for place, verdict in verdicts.items()
    }
    later = sorted(
        {
            v.study
            for judged_trials in judged
            if judged_trials.ran_under
            for v in judged_trials.verdicts
            if place_in_register(v) in verdicts
        }
    )
    return OutcomeTable(columns, outcomes, rates, tuple(later))


def _size(column: Column) -> tuple[int, Column]:
    return SCALES.index(column[0]) if column[0] in SCALES else len(SCALES), column


def _by_place(judged: Sequence[JudgedTrials], register: Register) -> dict[Place, Verdict]:
    filed = {claim.id: claim.study for claim in register.claims}
    verdicts: dict[Place, Verdict] = {}
    for verdict in (verdict for judged_trials in judged for verdict in judged_trials.verdicts if verdict.claim in filed):
        place = place_in_register(verdict)
        if place not in verdicts or filed.get(verdict.claim) == verdict.study:
            verdicts[place] = verdict
    return verdicts


def _with_robustness(judged: JudgedTrials) -> Iterable[tuple[Verdict, Robustness]]:
    known = {robustness.claim: robustness for robustness in judged.robustness}
    return [(verdict, known[verdict.claim]) for verdict in judged.verdicts if verdict.claim in known]


def _outcome(verdict: Verdict, robust: Robustness | None, rates: ErrorRates) -> TableOutcome:
    firmness = standing(verdict, robust, rates)
    fragile = robust is not None and firmness not in ("", *ARITHMETIC)
    return TableOutcome(verdict, firmness, tuple(why_fragile(verdict, robust, rates)) if fragile and robust is not None else ())
