"""From a study at a scale to trials with digests, packs, and what they cost. Trains nothing."""

# Here studies are read, which takes all that a criterion can observe.
from .. import metrics  # noqa: F401
