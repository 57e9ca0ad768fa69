"""What a study may say. Everything here is data: validated, frozen, and with a canonical JSON form."""

from harness.spec.base import Spec, canonical_json, fingerprint
from harness.spec.claims import Claim, Document, Source
from harness.spec.configuration import Configuration, Measurement, Training, Workload
from harness.spec.observables import (
    CureRate,
    CurveRatio,
    DivergenceTime,
    FailureRate,
    Gap,
    Log2,
    LRSensitivity,
    MaxTrainable,
    Observable,
    Quotient,
    RelativeGap,
    Share,
    TunedLoss,
)
from harness.spec.rules import AtLeast, AtMost, Outside, Rule, Within
from harness.spec.study import Arm, Criterion, Judgement, Published, Scale, Study, log2_grid

__all__ = [
    "Arm",
    "AtLeast",
    "AtMost",
    "Claim",
    "Configuration",
    "Criterion",
    "CureRate",
    "CurveRatio",
    "DivergenceTime",
    "Document",
    "FailureRate",
    "Gap",
    "Judgement",
    "LRSensitivity",
    "Log2",
    "MaxTrainable",
    "Measurement",
    "Observable",
    "Outside",
    "Published",
    "Quotient",
    "RelativeGap",
    "Rule",
    "Scale",
    "Share",
    "Source",
    "Spec",
    "Study",
    "Training",
    "TunedLoss",
    "Within",
    "Workload",
    "canonical_json",
    "fingerprint",
    "log2_grid",
]
