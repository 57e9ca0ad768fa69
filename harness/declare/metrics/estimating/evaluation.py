"""The value of an observable on a table of trials, remembered."""

from ...observed import Observed
from ...trials import Numbers, Trials


def evaluate(observable: Observed, trials: Trials, weights: Numbers) -> Numbers:
    """The observable under every weighting of the seeds, [R]; nan where it does not exist.

    Remembered for the table's own resamples: criteria, what is reported and figures ask for the same things.
    """
    if weights is not trials.resamples:
        return observable.estimate(trials, weights)
    if observable not in trials.evaluated:
        trials.evaluated[observable] = observable.estimate(trials, weights)
    return trials.evaluated[observable].copy()
