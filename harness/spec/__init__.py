"""What a study may say. Everything here is data: validated, frozen, and with a canonical JSON form."""

from .base import Spec, canonical_json, fingerprint
from .change import Change
from .claims import Claim, Document, Regime, Side, Source
from .configuration import Configuration, Measurement, Training, Workload
from .criterion import Alternative, Criterion, Expected, Judgement, Reported
from .design import Arm, Range, Scale, Search, log2_grid
from .errata import Erratum, RuleChange
from .observed import POINTS, Observable, Observed
from .parts import arms_of, leaves
from .rules import AtLeast, AtMost, Outside, Rule, Within
from .study import Published, Study

__all__ = [
    "POINTS",
    "Alternative",
    "Arm",
    "AtLeast",
    "AtMost",
    "Change",
    "Claim",
    "Configuration",
    "Criterion",
    "Document",
    "Erratum",
    "Expected",
    "Judgement",
    "Measurement",
    "Observable",
    "Observed",
    "Outside",
    "Published",
    "Range",
    "Regime",
    "Reported",
    "Rule",
    "RuleChange",
    "Scale",
    "Search",
    "Side",
    "Source",
    "Spec",
    "Study",
    "Training",
    "Within",
    "Workload",
    "arms_of",
    "canonical_json",
    "fingerprint",
    "leaves",
    "log2_grid",
]
