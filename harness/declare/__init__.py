"""Says what a study may declare, which curves a run leaves, and what can be read off a table of trials. All of it is data.

In: a study, as its file or module declares it.
Out: a Study: validated, frozen, with canonical JSON and a hash; the metrics that its criteria name.
Imports: none of the other wings.
"""

from .base import Spec, canonical_json, fingerprint
from .change import Change
from .claims import Claim, Document, Regime, Side, Source
from .configuration import Configuration, Measurement, Training, Workload
from .criterion import Alternative, Criterion, Expected, Judgement, Reported
from .design import Arm, Range, Scale, Search, log2_grid
from .errata import Erratum
from .observed import POINTS, Observable, Observed
from .parts import arms_of, leaves
from .rules import AtLeast, AtMost, Outside, Rule, Within
from .study import Published, Study

# A study is whole once all that a criterion can observe is known.
from . import metrics  # noqa: F401  isort: skip

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
