"""How sure a verdict has to be: fixed for all studies, before any of them."""

# The level of intervals, and the error that the verdict on one claim may have.
LEVEL, ALPHA = 0.95, 0.05
