"""Plans, trains, records and judges studies. See CONTRIBUTING.md for the way of the data and the direction of imports.

In Python: `from folklore.harness import load_study, run, trials, curves, verdicts, columns`; harness/use/api.py says what they
do. `OwnWorkload` is what a user's own model, loss and data are handed over in. `Watch`, `LightningWatch` and `HuggingFaceWatch`
watch a user's own training loop. All are imported when they are asked for, so that importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .elsewhere.watch.hugging_face import HuggingFaceWatch
    from .elsewhere.watch.lightning import LightningWatch
    from .elsewhere.watch.watch import Watch
    from .train.workloads.own.workload import OwnWorkload
    from .use.api import columns, curves, load_study, run, trials, verdicts

__all__ = [
    "HuggingFaceWatch",
    "LightningWatch",
    "OwnWorkload",
    "Watch",
    "columns",
    "curves",
    "load_study",
    "run",
    "trials",
    "verdicts",
]

# Name -> its module; all others are of harness/use/api.py.
ELSEWHERE = {
    "HuggingFaceWatch": "elsewhere.watch.hugging_face",
    "LightningWatch": "elsewhere.watch.lightning",
    "OwnWorkload": "train.workloads.own.workload",
    "Watch": "elsewhere.watch.watch",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module(f"folklore.harness.{ELSEWHERE.get(name, 'use.api')}"), name)
    raise AttributeError(f"module 'folklore.harness' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
