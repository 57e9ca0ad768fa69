"""What the tools return beside the results that stand where they are computed: lists of those, and of runs and of what others
trained the part of `folklore … --json` that an agent needs."""

from ...elsewhere.noise import Compared, Needed, Visible
from ...judge.verdict import VerdictResult
from ...results import Result
from ..reading.provenance import Explanation
from ..reading.stored_studies import StudyRow
from .arguments import Fields


class Studies(Result):
    studies: list[StudyRow]


class Verdicts(Result):
    verdicts: list[VerdictResult]
    """empty: no trials are stored; run the study, or ask for the published ones"""


class Run(Result):
    study: str
    scale: str
    departures: list[str]
    """of a variation: what differs from the declared study"""
    trials: int
    trained: int
    """in this call"""
    given_up: int
    """trials that failed again and again; claims that need them are invalid"""
    unfinished: bool
    """whether trials are left: the same call goes on; until then no verdict is final"""
    seconds: float
    verdicts: list[VerdictResult]
    pages: list[str]
    messages: list[str]
    """the last ones that a person at a terminal would have been told"""


class Explanations(Result):
    explanations: list[Explanation]
    """one for each scale and kind of device"""


class Columns(Fields):
    """How the rows of stored runs are to be read; what is left out is guessed, or asked for in the error."""

    metric: str | None = None
    """column of the number"""
    arm: str | None = None
    """column of what is compared"""
    seed: str | None = None
    """column of the repetition"""
    step: str | None = None
    """column of the training step"""
    task: str | None = None
    """column of the dataset or benchmark"""
    where: list[str] = []
    """COLUMN=VALUE: rows to keep"""


class Column(Result):
    column: str
    told_by: str
    """the user, the format, or a guess"""


class Read(Result):
    """Check that these are the runs you meant before you believe a verdict on them."""

    metric: str
    better: str | None
    """lower or higher"""
    columns: dict[str, Column]
    runs: int
    arms: dict[str, int]
    """runs of each"""
    tasks: list[str]


class Problem(Result):
    what: str
    count: int
    consequence: str
    examples: list[str]


class TaskPart(Result):
    task: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    runs: list[int]
    """of both arms"""
    method: str


class JudgedClaim(Result):
    """A verdict on these runs; nothing was declared beforehand unless you say so yourself."""

    claim: str
    verdict: str
    """supported, partly, refuted, open, out of regime, invalid or withdrawn"""
    reading: str
    answer: str
    estimate: float | None
    low: float | None
    high: float | None
    unit: str
    """'relative' is a share of the other arm; empty: the metric's own"""
    p: float
    smallest_visible: float | None
    """the effect that such runs show in four of five repetitions"""
    strength: str
    """firm, fragile, or empty if nothing is decided; of one or two runs an arm never firm"""
    fragile: list[str]
    """what the verdict does not survive"""
    reason: str
    settling: str
    """what would settle an open one"""
    notes: list[str]
    parts: list[TaskPart]


class JudgedRunsResult(Result):
    claims: list[JudgedClaim]
    problems: list[Problem]
    """what is wrong with the runs: tell it with the verdict"""
    read: list[Read]


class Noise(Result):
    answer: str
    metric: str
    runs: int
    mean: float
    standard_deviation: float
    """over seeds"""
    interval: list[float]
    """of the standard deviation, 95%"""
    seed_is_used: bool
    """false: all runs end at the same number, and nothing was measured"""
    visible: list[Visible]
    needed: list[Needed]
    compared: list[Compared]
    """the differences asked for, or the last two between arms"""
    diverged: int
    stopped_early: int
    cautions: list[str]
