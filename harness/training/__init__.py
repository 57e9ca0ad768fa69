"""The engine: trains packs of lanes. It knows configurations and data, nothing of sweeps, ledgers or studies.

ENGINE_VERSION is part of every trial's digest. Raise it by hand whenever a change here or in models/ changes the
numbers of a trial beyond rounding, or the default of a training field changes: results of older versions are then
trained again.
"""

ENGINE_VERSION = 1
