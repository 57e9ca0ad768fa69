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
    """What trials start from, each once."""
    return list(dict.fromkeys(each.start for each in trials if each.start is not None))


def kept_steps(trials: Iterable[Trial]) -> dict[str, tuple[int, ...]]:
    """Digest -> the steps after which a trial leaves a checkpoint, because one of these trials starts from it."""
    found: dict[str, set[int]] = defaultdict(set)
    for start in starts_of(trials):
        found[start.digest].add(start.step)
    return {digest: tuple(sorted(steps)) for digest, steps in found.items()}


def nothing_left_of(trials: Iterable[Trial], done: Collection[str], states: Callable[[], Collection[Start]]) -> set[str]:
    """Of the digests that are done, those that need not be trained again: a trial that is done is, if another one is left that
    starts from it and its checkpoint is not there. states: the checkpoints that are; asked for if trials start from any."""
    left = set(done)
    starting = sorted((each for each in trials if each.start is not None), key=lambda each: -each.generation)
    there = states() if starting else ()
    for trial in starting:
        if trial.start is not None and trial.digest not in left and trial.start not in there:
            left.discard(trial.start.digest)
    return left


def tell_again(trials: Collection[str], done: Collection[str]) -> None:
    """A line if trials that were done are trained again."""
    if again := len(set(trials) - set(done)):
        log.warning("%d trials are trained again: checkpoints that others start from are not in the store", again)


def require_same_parameters(settings: Iterable["Setting"], model_of: "Callable[[Workload], Model]") -> None:
    """Raises UserError for a trial that starts from one of another network."""
    pairs = {
        (each.configuration.workload, each.parent.configuration.workload): (each.arm, each.parent.arm)
        for each in settings
        if each.parent is not None
    }
    for workloads, (arm, parent) in pairs.items():
        own, theirs = ([(p.name, p.shape) for p in model_of(each).parameters] for each in workloads)
        if own != theirs:
            name = next((one[0] for one, other in zip(own, theirs, strict=False) if one != other), "their number")
            raise UserError(
                f"arm '{arm}' starts from arm '{parent}', whose network has other parameters ({name}); give both the same model"
                " and data of as many classes"
            )
