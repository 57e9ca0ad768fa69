"""Which trials leave checkpoints for others to start from, and which are trained again because theirs are not there."""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from ..declare import Workload
from ..declare.trial import Start, Trial
from ..errors import UserError

if TYPE_CHECKING:
    from ...models import Model
    from .plan import Setting

log = logging.getLogger(__name__)


def starts_of(trials: Iterable[Trial]) -> list[Start]:
    """The checkpoints that trials start from, each once."""
    return list(dict.fromkeys(trial.start for trial in trials if trial.start is not None))


def kept_steps(trials: Iterable[Trial]) -> dict[str, tuple[int, ...]]:
    """Digest -> the steps after which a trial leaves a checkpoint, because one of these trials starts from it."""
    steps_of: dict[str, set[int]] = defaultdict(set)
    for start in starts_of(trials):
        steps_of[start.digest].add(start.step)
    return {digest: tuple(sorted(steps)) for digest, steps in steps_of.items()}


def nothing_left_of(trials: Iterable[Trial], done: Collection[str], states: Callable[[], Collection[Start]]) -> set[str]:
    """The digests that are done and need not be trained again. A trial that is done needs it if one that is not done starts
    from it and its checkpoint is missing. states: returns the checkpoints that are stored; called only if trials start from
    any."""
    kept = set(done)
    starting = sorted((trial for trial in trials if trial.start is not None), key=lambda trial: -trial.generation)
    there = states() if starting else ()
    for trial in starting:
        if trial.start is not None and trial.digest not in kept and trial.start not in there:
            kept.discard(trial.start.digest)
    return kept


def tell_again(trials: Collection[str], done: Collection[str]) -> None:
    """Logs a line if trials that were done are trained again."""
    if again := len(set(trials) - set(done)):
        log.warning("%d trials are trained again: checkpoints that others start from are not in the store", again)


def require_same_parameters(settings: Iterable["Setting"], model_of: "Callable[[Workload], Model]") -> None:
    """Raises UserError for a trial that starts from one of another network."""
    pairs = {
        (setting.configuration.workload, setting.parent.configuration.workload): (setting.arm, setting.parent.arm)
        for setting in settings
        if setting.parent is not None
    }
    for workloads, (arm, parent) in pairs.items():
        own, theirs = ([(p.name, p.shape) for p in model_of(workload).parameters] for workload in workloads)
        if own != theirs:
            name = next((one[0] for one, other in zip(own, theirs, strict=False) if one != other), "their number")
            raise UserError(
                f"arm '{arm}' starts from arm '{parent}', whose network has other parameters ({name}); give both the same model"
                " and data of as many classes"
            )
