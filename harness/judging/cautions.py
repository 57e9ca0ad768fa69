"""What calibration says against an estimator in worlds like the one at hand, so that a verdict carries its own warning."""

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.spec import Observed


def cautions(observable: Observed, table: TrialArrays) -> tuple[str, ...]:
    return ()
