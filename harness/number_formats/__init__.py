"""Number formats of products and activations, a module each, which calls it FORMAT: to add one is to add a module.

Weights and optimizer states stay in FP32 (Micikevicius et al. 2018, section 3.1). Precision is explicit and not autocast's. A
module is imported without torch, for what plans need to know.
"""

from ..spec.names import registered
from .base import NumberFormat


def format_named(precision: str) -> NumberFormat:
    """Raises UserError for an unknown name."""
    found: NumberFormat = registered("number format", "number_formats", "FORMAT", precision)
    return found
