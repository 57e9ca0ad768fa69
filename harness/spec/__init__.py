"""What a study may say. Everything here is data: validated, frozen, and with a canonical JSON form."""

from folklore.harness.spec.base import Spec, canonical_json, fingerprint
from folklore.harness.spec.change import Change
from folklore.harness.spec.claims import Claim, Document, Regime, Side, Source
from folklore.harness.spec.configuration import Configuration, Measurement, Training, Workload
from folklore.harness.spec.criterion import Alternative, Criterion, Expected, Judgement, Reported
from folklore.harness.spec.errata import Erratum, RuleChange
from folklore.harness.spec.observed import POINTS, Observable, Observed
from folklore.harness.spec.parts import arms_of, leaves
from folklore.harness.spec.rules import AtLeast, AtMost, Outside, Rule, Within
from folklore.harness.spec.study import Arm, Published, Range, Scale, Search, Study, log2_grid

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
