"""The engine: trains packs of lanes, and knows no sweep, ledger or claim.

In: configurations with seeds, the data and the network of a workload, the machine.
Out: for each lane a result: losses, accuracies, curves, and what it ran as.
Imports: declare, models.
"""

# Part of every trial's digest. Raise it by hand whenever a change here or in models/ changes the numbers of a trial beyond
# rounding, or the default of a training field changes: results of older versions are then trained again.
ENGINE_VERSION = 1
