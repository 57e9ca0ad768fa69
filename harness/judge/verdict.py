"""What is found out about a claim, as data: a finding for each criterion, a panel for each workload, a verdict."""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator

from ..declare.computed import Grade
from ..declare.level import LEVEL
from ..results import ForScripts, Result
from .sentences import Sentence, plain

# Stored sentences are plain text; explaining.retold puts their numbers back.
Said = Annotated[Sentence, BeforeValidator(lambda said: Sentence((said,)) if isinstance(said, str) else said)]
Answer = Annotated[tuple[Sentence, ...], BeforeValidator(lambda said: (Sentence((said,)),) if isinstance(said, str) else said)]


class VerdictResult(Result):
    """Of one claim at one scale on one kind of device; it says nothing about other scales."""

    study: str
    claim: str
    scale: str
    device: str
    verdict: str
    """supported, partly, refuted, open, out of regime, invalid or withdrawn"""
    estimate: float | None
    low: float | None
    """lower end of the 95% interval"""
    high: float | None
    seeds: int
    trials: int
    reason: str
    """the rule that applied, with its numbers"""
    reading: str
    """why, in a word or two; empty if the verdict says it"""
    answer: str
    """the sentence to take away; quote it with the scale"""
    advice: str
    p: float | None
    direction: ForScripts[str]
    cautions: list[str]
    """what speaks against this verdict: tell them with it"""
    surprise: ForScripts[float | None]
    after_the_fact: bool
    """whether criteria were written after these trials had been seen"""
    declared_otherwise: bool
    """whether it is judged by other than was declared before these trials"""
    panels: ForScripts[dict[str, str]]
    withdrawn: ForScripts[dict[str, str] | None]
    unit: str | None = None
    """of these three: 'relative' is a share, 'difference of shares' 0.05 for 5 points; none: as in `reason`"""


@dataclass(frozen=True, kw_only=True)
class CriterionFinding:
    """One criterion on one table. Numbers are None where there are none.

    p_supported, p_refuted, p_direction: outcomes.Probabilities. level: of the interval. says: what it says of its numbers.
    cautions: what calibration says against the estimator in worlds like this one. surprise: see surprises.py. grade: exact,
    computed or measured (declare/computed.py). claimed: what is left open if it is open, a clause after "whether". settling:
    what would settle it if it is open, or if it refutes, but not surely over all parts of its workload.
    """

    name: str
    unit: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int
    p_supported: float
    p_refuted: float
    reason: str
    reading: str = ""
    p_direction: float = 1.0
    level: float = LEVEL
    panel: str = ""
    precondition: bool = False
    says: Said = field(default_factory=Sentence)
    cautions: tuple[str, ...] = ()
    surprise: float | None = None
    grade: Grade = "measured"
    claimed: str = ""
    settling: str = ""


@dataclass(frozen=True)
class Panel:
    """What becomes of a claim on one workload; name: '' if it has but one. p values as in outcomes.Probabilities."""

    name: str
    verdict: str
    reading: str
    p_supported: float = 1.0
    p_refuted: float = 1.0
    p_direction: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What becomes of one claim at one scale on one kind of device; the numbers are those of the deciding criterion.

    reading: why, in a word or two. answer: what a reader takes away; advice: what to do. p: of the verdict, against the claim's
    being otherwise. direction: where the effect surely lies, "claimed" or "opposite" of the null, or "none" within the
    margin; empty if that is not sure. panels: what becomes of it on each workload. right: the side of the documents that
    "supported" and "refuted" show to be right. surprise: how far it lies from what was expected (surprises.py).
    after_the_fact: criteria of its study were written after these trials had been seen. declared_otherwise: something else
    was declared before them, as its first caution says.
    """

    study: str
    claim: str
    scale: str
    device: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int
    trials: int
    reason: str
    unit: str
    findings: tuple[CriterionFinding, ...]
    reading: str = ""
    answer: Answer = ()
    advice: str = ""
    p: float = 1.0
    direction: str = ""
    cautions: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    right: dict[str, str] = field(default_factory=dict)
    surprise: float | None = None
    after_the_fact: bool = False
    declared_otherwise: bool = False

    @property
    def is_arithmetic(self) -> bool:
        """Whether it rests on numbers without an error alone."""
        return bool(self.findings) and all(each.grade != "measured" for each in self.findings)

    @property
    def plain_answer(self) -> str:
        return plain(self.answer)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: sentences are plain text, and no longer know their numbers."""
        findings = [{**asdict(each), "says": str(each.says)} for each in self.findings]
        return {**asdict(self), "findings": findings, "answer": self.plain_answer}

    @property
    def withdrawn(self) -> dict[str, str] | None:
        """What it was, the date and the reason; None of one that stands (withdrawing.py)."""
        return None

    def row(self) -> VerdictResult:
        """The flat form that `folklore verdicts --json` prints."""
        panels = {each.name: each.verdict for each in self.panels if each.name}
        flat = {"answer": self.plain_answer, "panels": panels, "withdrawn": self.withdrawn}
        return VerdictResult.model_validate({**vars(self), **flat})
