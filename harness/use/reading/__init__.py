"""From a claim back to its trials: references, comparisons, provenance, and the pages of a store."""
