"""Two sets of trials side by side: what each says of the claims that both judge. The sets are never mixed."""

from dataclasses import dataclass

from ...errors import UserError
from ...judge.trial_sets import TrialSet
from ...judge.verdict import CriterionFinding


@dataclass(frozen=True)
class Side:
    """One side's estimate and 95% interval for a criterion, in its unit; None where there is no number."""

    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int
    reason: str


@dataclass(frozen=True)
class CriterionPair:
    """overlap: whether the two intervals have a value in common; None where one side has no number."""

    criterion: str
    unit: str
    a: Side | None
    b: Side | None
    overlap: bool | None


@dataclass(frozen=True)
class ClaimPair:
    """A claim's two verdicts; None where a side does not judge it."""

    claim: str
    a: str | None
    b: str | None
    criteria: tuple[CriterionPair, ...]


@dataclass(frozen=True)
class Compared:
    """One side of a comparison."""

    study: str
    version: int
    scale: str
    device: str
    source: str
    trials: int
    seeds: int

    @classmethod
    def of(cls, records: TrialSet) -> "Compared":
        study, scale = records.study, records.scale
        return cls(study.name, study.version, scale, records.device, records.source, len(records.trials), study.seeds_at(scale))

    @property
    def words(self) -> str:
        return (
            f"{self.study} version {self.version} · {self.scale} scale · {self.device} · {self.source}"
            f" · {self.trials} trials, {self.seeds} seeds"
        )


@dataclass(frozen=True)
class Comparison:
    a: Compared
    b: Compared
    claims: tuple[ClaimPair, ...]


def compare(left: TrialSet, right: TrialSet) -> Comparison:
    """Claim by claim and criterion by criterion, by their names. Raises UserError where nothing is judged on both sides."""
    verdicts = [{verdict.claim: verdict for verdict in records.verdicts()} for records in (left, right)]
    if not verdicts[0].keys() & verdicts[1].keys():
        raise UserError(f"'{left.study.name}' and '{right.study.name}' judge no claim in common: nothing to compare")
    units = {
        c.name: c.written_in for records in (left, right) for judgement in records.study.judgements for c in judgement.criteria
    }
    pairs = []
    for claim in [*verdicts[0], *(claim for claim in verdicts[1] if claim not in verdicts[0])]:
        sides = [by_claim.get(claim) for by_claim in verdicts]
        first, second = (None if side is None else side.verdict for side in sides)
        findings = [{finding.name: finding for finding in side.findings} if side else {} for side in sides]
        names = dict.fromkeys(name for by_name in findings for name in by_name)
        criteria = tuple(_pair(name, units[name], *(_side(by_name.get(name)) for by_name in findings)) for name in names)
        pairs.append(ClaimPair(claim, first, second, criteria))
    return Comparison(Compared.of(left), Compared.of(right), tuple(pairs))


def _pair(criterion: str, unit: str, a: Side | None, b: Side | None) -> CriterionPair:
    numbers = [(side.low, side.high) for side in (a, b) if side is not None and side.low is not None and side.high is not None]
    overlap = len(numbers) == 2 and max(low for low, _ in numbers) <= min(high for _, high in numbers)
    return CriterionPair(criterion, unit, a, b, overlap if len(numbers) == 2 else None)


def _side(finding: CriterionFinding | None) -> Side | None:
    if finding is None:
        return None
    return Side(finding.verdict, finding.estimate, finding.low, finding.high, finding.seeds, finding.reason)
