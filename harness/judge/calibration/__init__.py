"""Is the judge right as often as it says? Worlds whose truth is known, observed and judged by the thousand.

`conditions` says what makes worlds hard, `worlds` draws them, `cases` plants an effect for each kind of observation,
`measure` judges and counts. The statistics of the project are what is tested: `observe` and `judge` run as they do on trials.
"""

from .cases import BY_NAME, CASES
from .measure import SEEDS, calibrate

__all__ = ["BY_NAME", "CASES", "SEEDS", "calibrate"]
