"""Verdicts whose question was found to be wrong: shown as withdrawn, and counted as nothing else, until it is asked again.

An erratum (declare/errata.py) speaks of one version of a study, at every scale and in every store: what is wrong is the
question, whoever asks it. Stored and published verdicts stay as they were judged; they are withdrawn when they are read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from ..declare import Erratum, Study
from ..plan.catalog import register
from .outcomes import DECIDED, OPEN, WITHDRAWN
from .sentences import Sentence
from .verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class WithdrawnVerdict(Verdict):
    """A verdict that does not stand. Its numbers are what was measured; whatever was concluded from them is in `judged`."""

    erratum: Erratum
    judged: Verdict

    @property
    def is_arithmetic(self) -> bool:
        """Nothing is settled."""
        return False

    @property
    def withdrawn(self) -> dict[str, str]:
        grounds = {"date": self.erratum.date, "reason": self.erratum.reason}
        return {"verdict": self.judged.verdict, "reading": self.judged.reading, **grounds}


def as_they_stand(study: Study, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """A study's verdicts; those that an erratum names are withdrawn, if they concluded anything."""
    name = study.variation_of or study.name
    errata = {
        erratum.claim: erratum for erratum in register().errata if (erratum.study, erratum.version) == (name, study.version)
    }
    return [
        _withdrawn(verdict, errata[verdict.claim])
        if verdict.claim in errata and verdict.verdict in (*DECIDED, OPEN)
        else verdict
        for verdict in verdicts
    ]


def as_judged(verdict: Verdict) -> Verdict:
    """The verdict as trials and criteria have it, withdrawn or not."""
    return verdict.judged if isinstance(verdict, WithdrawnVerdict) else verdict


def _withdrawn(verdict: Verdict, erratum: Erratum) -> WithdrawnVerdict:
    kept = {field.name: getattr(verdict, field.name) for field in fields(Verdict)}
    nothing = {"reading": "", "advice": "", "p": 1.0, "direction": "", "panels": (), "right": {}, "surprise": None}
    withdrawal = {"verdict": WITHDRAWN, "reason": erratum.reason, "answer": (Sentence((erratum.reason,)),)}
    return WithdrawnVerdict(**{**kept, **nothing, **withdrawal}, erratum=erratum, judged=verdict)
