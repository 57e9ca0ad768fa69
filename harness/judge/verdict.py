"""The results on a claim, as data: a finding for each criterion, a panel for each workload, a verdict."""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Self

from pydantic import BeforeValidator

from ..declare.computed import Grade
from ..declare.level import ALPHA, LEVEL
from ..results import ForScripts, Result
from .outcomes import Question, outcome, probabilities
from .sentences import Sentence, plain
from .statistics.intervals import Observation

# Stored sentences are plain text; explaining.retold puts their numbers back.
Said = Annotated[Sentence, BeforeValidator(lambda said: Sentence((said,)) if isinstance(said, str) else said)]
Answer = Annotated[tuple[Sentence, ...], BeforeValidator(lambda said: (Sentence((said,)),) if isinstance(said, str) else said)]
# Factors for the distances of thresholds from no effect, and for widths of bands: in the logarithm for ratios.
THRESHOLDS = {"thresholds a quarter nearer": 0.75, "thresholds a quarter further": 1.25}


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
    below_size: str
    """what its trials lack of the size that the claim's words ask for; it then speaks of their size alone; empty: nothing"""
    new: str
    """why it is no repetition of an earlier version's verdict on fresh seeds; it is then not firm; empty: it is one"""
    rule_change: str
    """what was changed of its rule when the verdict by the rule before was known; empty: nothing"""
    so_far: str
    """of a run that is not at its end, the seeds that are judged; the verdict is not the declared one yet; empty: all are"""
    panels: ForScripts[dict[str, str]]
    withdrawn: ForScripts[dict[str, str] | None]
    unit: str | None = None
    """of these three: 'relative' is a share, 'difference of shares' 0.05 for 5 points; none: as in `reason`"""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An outcome on one workload or task. Numbers are None if there are none.

    seeds: runs of an arm. p_supported, p_refuted, p_direction: outcomes.Probabilities. panel: the workload. grade: exact,
    computed or measured (declare/computed.py).
    """

    name: str
    verdict: str
    estimate: float | None
    low: float | None = None
    high: float | None = None
    seeds: int
    p_supported: float = 1.0
    p_refuted: float = 1.0
    p_direction: float = 1.0
    reading: str = ""
    panel: str = ""
    precondition: bool = False
    grade: Grade = "measured"

    @classmethod
    def of(cls, question: Question, observation: Observation, alpha: float = ALPHA, **facts: Any) -> Self:
        """The outcome of a question on an observation. facts: the other fields."""
        numbers = {
            "estimate": observation.estimate,
            "low": observation.low,
            "high": observation.high,
            "seeds": observation.seeds,
        }
        return cls(**(numbers | facts), **decided(question, observation, alpha))


def decided(question: Question, observation: Observation, alpha: float = ALPHA) -> dict[str, Any]:
    """The fields of a finding that follow from a question."""
    p = probabilities(question, observation)
    verdict, reading = outcome(question, observation, p, alpha)
    certain = {"p_supported": p.supported, "p_refuted": p.refuted, "p_direction": p.direction}
    return {"verdict": verdict, "reading": reading, **certain}


@dataclass(frozen=True, kw_only=True)
class CriterionFinding(Finding):
    """One criterion on one table.

    level: of the interval. says: what it says of its numbers. cautions: what calibration says against the estimator in worlds
    like this one. surprise: see surprises.py. claimed: what is left open if it is open, a clause after "whether". settling:
    what would settle it if it is open, or if it refutes, but not surely over all parts of its workload.
    """

    unit: str
    reason: str = ""
    level: float = LEVEL
    says: Said = field(default_factory=Sentence)
    cautions: tuple[str, ...] = ()
    surprise: float | None = None
    claimed: str = ""
    settling: str = ""


# choice: what it is called on a page. moved: it moves the thresholds, and is no other reading of the data.
@dataclass(frozen=True)
class Alternative:
    """The verdict by another choice that is as reasonable."""

    choice: str
    verdict: str
    moved: ForScripts[bool] = False


@dataclass(frozen=True)
class Panel:
    """The outcome of a claim on one workload; name: '' if there is only one. p values as in outcomes.Probabilities."""

    name: str
    verdict: str
    reading: str
    p_supported: float = 1.0
    p_refuted: float = 1.0
    p_direction: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict:
    """The outcome of one claim, about a study's trials or about runs trained elsewhere.

    reading: why, in a word or two. reason: the rule that applied. estimate, low, high: in `unit`; None if there is no number
    for all of it together. p: of the verdict, against the claim's being otherwise.
    """

    findings: tuple[Finding, ...]
    verdict: str
    reading: str = ""
    reason: str
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Verdict(ClaimVerdict):
    """The verdict on one claim at one scale on one kind of device; the numbers are those of the deciding criterion.

    answer: what a reader takes away; advice: what to do. direction: where the effect surely lies, "claimed" or "opposite" of
    the null, or "none" within the margin; empty if that is not sure. panels: its outcome on each workload. right: the side of
    the documents that "supported" and "refuted" show to be right. surprise: how far it lies from what was expected
    (surprises.py). after_the_fact: criteria of its study were written after these trials had been seen. declared_otherwise:
    something else was declared before them, as its first caution says. below_size: what its trials lack of the size that the
    claim's words ask for. new: why it is no repetition of an earlier version's verdict. unrepeated: what that came to by the
    same rule, if to something else. rule_change: of its rule, when the verdict by the rule before was known. so_far: the judged
    seeds of an unfinished run. Empty: nothing.
    """

    study: str
    claim: str
    scale: str
    device: str
    seeds: int
    trials: int
    findings: tuple[CriterionFinding, ...]
    answer: Answer = ()
    advice: str = ""
    direction: str = ""
    cautions: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    right: dict[str, str] = field(default_factory=dict)
    surprise: float | None = None
    after_the_fact: bool = False
    declared_otherwise: bool = False
    below_size: str = ""
    new: str = ""
    unrepeated: str = ""
    rule_change: str = ""
    so_far: str = ""

    @property
    def is_arithmetic(self) -> bool:
        """Whether it rests on numbers without an error alone."""
        return bool(self.findings) and all(finding.grade != "measured" for finding in self.findings)

    @property
    def plain_answer(self) -> str:
        return plain(self.answer)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON has it: sentences are plain text, and no longer know their numbers."""
        findings = [{**asdict(finding), "says": str(finding.says)} for finding in self.findings]
        return {**asdict(self), "findings": findings, "answer": self.plain_answer}

    @property
    def withdrawn(self) -> dict[str, str] | None:
        """The withdrawn verdict, the date and the reason; None if it stands (withdrawing.py)."""
        return None

    def row(self) -> VerdictResult:
        """The flat form that `folklore verdicts --json` prints."""
        panels = {panel.name: panel.verdict for panel in self.panels if panel.name}
        flat = {"answer": self.plain_answer, "panels": panels, "withdrawn": self.withdrawn}
        return VerdictResult.model_validate({**vars(self), **flat})
