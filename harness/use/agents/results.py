"""Results of the tools, beside those defined where they are computed: lists of those, and the outcome of a run."""

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
