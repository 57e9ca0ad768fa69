"""What is kept: the ledger of finished packs, declarations, the published evidence. A reader never sees half a file."""

# Here declarations are read, which takes all that a criterion can observe.
from .. import metrics  # noqa: F401
