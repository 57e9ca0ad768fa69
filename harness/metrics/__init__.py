"""What can be observed in the trials of a study: one class for each kind, which says all there is to say of it.

Losses are test losses in nats, or half a squared error; a diverged run counts with the loss at initialization (it is never
dropped). The LR is tuned on validation loss and judged on test loss. `arm` names an arm of the study.

A new kind is a class in a module of this package, its own or one of a family: importing the package finds it, and from then on
studies can name it, `folklore schema` and `schema --explain` say it, and the judge judges it. harness/spec/observed.py says
what such a class declares. The names below are imported for studies and type checkers; nothing reads them as a list.

Studies cannot be read before their criteria can: `spec.Study` is whole once this package has been imported.
"""

import importlib
import pkgutil

from folklore.harness.metrics.arithmetic import (
    Gap,
    GrowthFactor,
    Log2,
    LossGap,
    Mean,
    MeanDistance,
    Quotient,
    RankCorrelation,
    RelativeGap,
    Scaled,
    Share,
    Slope,
)
from folklore.harness.metrics.batch_sizes import CriticalBatch, DoublingGain, FormGap, HyperbolaError, StepsToTarget
from folklore.harness.metrics.computed import Computed
from folklore.harness.metrics.curve import Curve
from folklore.harness.metrics.curves import (
    CurveDistance,
    CurveRatio,
    MeanActivationSlope,
    NoiseScale,
    UnderflowShare,
)
from folklore.harness.metrics.detection import AlarmLead, AlarmLimit, AlarmPrecision, DetectedShare
from folklore.harness.metrics.diagnosis import NormDiagnosis
from folklore.harness.metrics.divergence import CureRate, DivergenceTime, FailureRate
from folklore.harness.metrics.edge import EdgeLoss, EdgeSharpness
from folklore.harness.metrics.forgetting import TaskAccuracy, TaskLoss
from folklore.harness.metrics.hardware import MemoryRatio, OverheadBatch, SpeedUp
from folklore.harness.metrics.learning_rates import BasinWidth, MaxTrainable, Optimum
from folklore.harness.metrics.lengths import LengthRatio
from folklore.harness.metrics.lines import BetweenLines
from folklore.harness.metrics.losses import (
    FinalLoss,
    LossAfter,
    LossAt,
    LRSensitivity,
    MeanGap,
    TransferRegret,
    TunedLoss,
)
from folklore.harness.metrics.overfitting import StoppedLoss, TurningStep, TurnRate
from folklore.harness.metrics.range_tests import FinderPick, FinderRegret, SuggestionRate
from folklore.harness.metrics.recurrence import SpikeRecurrence
from folklore.harness.metrics.spikes import AlarmRate
from folklore.harness.metrics.stopped import SharpnessAtLoss, SharpnessCorrelation
from folklore.harness.metrics.unmeasured import Unmeasured
from folklore.harness.spec.criterion import Alternative, Criterion, Judgement, Reported
from folklore.harness.spec.observed import make_known
from folklore.harness.spec.study import Study

__all__ = [
    "AlarmLead",
    "AlarmLimit",
    "AlarmPrecision",
    "AlarmRate",
    "BasinWidth",
    "BetweenLines",
    "Computed",
    "CriticalBatch",
    "CureRate",
    "Curve",
    "CurveDistance",
    "CurveRatio",
    "DetectedShare",
    "DivergenceTime",
    "DoublingGain",
    "EdgeLoss",
    "EdgeSharpness",
    "FailureRate",
    "FinalLoss",
    "FinderPick",
    "FinderRegret",
    "FormGap",
    "Gap",
    "GrowthFactor",
    "HyperbolaError",
    "LRSensitivity",
    "LengthRatio",
    "Log2",
    "LossAfter",
    "LossAt",
    "LossGap",
    "MaxTrainable",
    "Mean",
    "MeanActivationSlope",
    "MeanDistance",
    "MeanGap",
    "MemoryRatio",
    "NoiseScale",
    "NormDiagnosis",
    "Optimum",
    "OverheadBatch",
    "Quotient",
    "RankCorrelation",
    "RelativeGap",
    "Scaled",
    "Share",
    "SharpnessAtLoss",
    "SharpnessCorrelation",
    "Slope",
    "SpeedUp",
    "SpikeRecurrence",
    "StepsToTarget",
    "StoppedLoss",
    "SuggestionRate",
    "TaskAccuracy",
    "TaskLoss",
    "TransferRegret",
    "TunedLoss",
    "TurnRate",
    "TurningStep",
    "UnderflowShare",
    "Unmeasured",
]


def complete() -> None:
    """Lets studies be read by all kinds that are there; again for whoever makes a kind later."""
    make_known([Alternative, Criterion, Reported, Judgement, Study])


for _module in pkgutil.iter_modules(__path__):
    if not _module.ispkg:
        importlib.import_module(f"{__name__}.{_module.name}")
complete()
