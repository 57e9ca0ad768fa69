"""The observables of a study's trials: one class for each kind, which says all there is to say of it.

Losses are test losses in nats, or half a squared error; a diverged run counts with the loss at initialization (it is never
dropped). The LR is tuned on validation loss and judged on test loss. `arm` names an arm of the study.

A metric that several studies use is a class in a module of this package; one that a single study uses is a function in
studies/metrics (functions.py makes a kind of it). Importing this package finds both, and then studies can name the kind,
`folklore schema` and `schema --explain` say it, and the judge judges it. harness/declare/observed.py says what a kind declares.
The names below are imported for studies and type checkers; nothing reads them as a list.

A study cannot be read before its criteria can: declare.Study is whole once this package has been imported, which importing
`declare` does.
"""

import importlib
import pkgutil
import warnings
from typing import Any

from ...folders import PROJECT
from ..criterion import Alternative, Criterion, Judgement, Reported
from ..observed import KINDS, make_known
from ..study import Study
from .arithmetic import (
    Gap,
    Log2,
    LossGap,
    Mean,
    Quotient,
    RelativeGap,
    Scaled,
    Share,
    Slope,
)
from .batch_sizes import StepsToTarget
from .computed import Computed
from .curve import Curve
from .curves import NoiseScale
from .divergence import FailureRate
from .hardware import SpeedUp
from .learning_rates import BasinWidth, MaxTrainable, Optimum
from .losses import FinalLoss, LossAfter, LossAt, MeanGap, TunedLoss
from .matched import Matched
from .unmeasured import LEFT, Left, Unmeasured

__all__ = [
    "BasinWidth",
    "Computed",
    "Curve",
    "FailureRate",
    "FinalLoss",
    "Gap",
    "Left",
    "Log2",
    "LossAfter",
    "LossAt",
    "LossGap",
    "Matched",
    "MaxTrainable",
    "Mean",
    "MeanGap",
    "NoiseScale",
    "Optimum",
    "Quotient",
    "RelativeGap",
    "Scaled",
    "Share",
    "Slope",
    "SpeedUp",
    "StepsToTarget",
    "TunedLoss",
    "Unmeasured",
]


def __getattr__(name: str) -> Any:
    """Answers for one version names that left, and those of metrics that are functions beside their study now."""
    for metric, instead in LEFT.items():
        if _was_called(name, metric):
            raise ImportError(f"Folklore no longer has the metric {name}: {instead}")
    for kind, moved in KINDS.items():
        if _was_called(name, kind):
            now = f"{moved.__module__}.{moved.__name__}"
            warnings.warn(f"{__name__}.{name} is called {now} now", FutureWarning, stacklevel=2)
            return moved
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _was_called(name: str, kind: str) -> bool:
    return kind.replace("_", "") in (name.lower(), f"{name.lower()}size")  # the class of critical_batch_size: CriticalBatch


def complete() -> None:
    """Lets studies be read by all kinds that are there; again for whoever makes a kind later."""
    make_known([Alternative, Criterion, Reported, Judgement, Study])


# Found in the folder, for no study need be read to know its metrics.
BESIDE_STUDIES = PROJECT / "studies" / "metrics"
for _package, _path in ((__name__, __path__), ("folklore.studies.metrics", [str(BESIDE_STUDIES)])):
    for _module in pkgutil.iter_modules(_path):
        if not _module.ispkg:
            importlib.import_module(f"{_package}.{_module.name}")
complete()
