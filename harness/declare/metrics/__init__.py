"""What can be observed in the trials of a study: one class for each kind, which says all there is to say of it.

Losses are test losses in nats, or half a squared error; a diverged run counts with the loss at initialization (it is never
dropped). The LR is tuned on validation loss and judged on test loss. `arm` names an arm of the study.

A new kind is a class in a module of this package, its own or one of a family: importing the package finds it, and from then on
studies can name it, `folklore schema` and `schema --explain` say it, and the judge judges it. harness/declare/observed.py says
what such a class declares. The names below are imported for studies and type checkers; nothing reads them as a list.

A study cannot be read before its criteria can: declare.Study is whole once this package has been imported, which importing
`declare` does.
"""

import importlib
import pkgutil
from typing import NoReturn

from ..criterion import Alternative, Criterion, Judgement, Reported
from ..observed import make_known
from ..study import Study
from .arithmetic import (
    Gap,
    GrowthFactor,
    Log2,
    LossGap,
    Mean,
    MeanDistance,
    Quotient,
    RelativeGap,
    Scaled,
    Share,
    Slope,
)
from .batch_sizes import CriticalBatch, HyperbolaError, StepsToTarget
from .computed import Computed
from .curve import Curve
from .curves import CurveDistance, CurveRatio, MeanActivationSlope, NoiseScale, UnderflowShare
from .detection import AlarmLead, AlarmLimit, AlarmPrecision, DetectedShare
from .diagnosis import NormDiagnosis
from .divergence import CureRate, DivergenceTime, FailureRate
from .edge import EdgeLoss, EdgeSharpness
from .forgetting import TaskAccuracy, TaskLoss
from .hardware import MemoryRatio, OverheadBatch, SpeedUp
from .learning_rates import BasinWidth, MaxTrainable, Optimum
from .lengths import LengthRatio
from .lines import BetweenLines
from .losses import FinalLoss, LossAfter, LossAt, LRSensitivity, MeanGap, TransferRegret, TunedLoss
from .overfitting import StoppedLoss, TurningStep, TurnRate
from .range_tests import FinderPick, FinderRegret, SuggestionRate
from .recurrence import SpikeRecurrence
from .spikes import AlarmRate
from .stopped import SharpnessAtLoss, SharpnessCorrelation
from .unmeasured import LEFT, Left, Unmeasured

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
    "EdgeLoss",
    "EdgeSharpness",
    "FailureRate",
    "FinalLoss",
    "FinderPick",
    "FinderRegret",
    "Gap",
    "GrowthFactor",
    "HyperbolaError",
    "LRSensitivity",
    "Left",
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


def __getattr__(name: str) -> NoReturn:
    for metric, instead in LEFT.items():
        if name == metric.title().replace("_", ""):
            raise ImportError(f"Folklore no longer has the metric {name}: {instead}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def complete() -> None:
    """Lets studies be read by all kinds that are there; again for whoever makes a kind later."""
    make_known([Alternative, Criterion, Reported, Judgement, Study])


for _module in pkgutil.iter_modules(__path__):
    if not _module.ispkg:
        importlib.import_module(f"{__name__}.{_module.name}")
complete()
