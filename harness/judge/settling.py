"""How many more seeds would decide an open criterion."""

import math

from .outcomes import REFUTED, SUPPORTED, Question, deciding_regions, favours
from .statistics.intervals import Observation
from .statistics.seeds import MOST_ADVISED_SEEDS, seeds_needed


def turns_open_at(criterion: Question, verdict: str, low: float, high: float) -> float | None:
    """The bound at which a criterion that is supported or refuted would turn open: the end of its interval that lies next to
    the bound of the region that it lies in; None if no region's bound decides."""
    rule = {SUPPORTED: criterion.claimed, REFUTED: criterion.refuted}.get(verdict)
    ends = [
        (abs(end - bound), end)
        for piece in (rule.pieces if rule else ())
        if piece[0] <= low and high <= piece[1]
        for end, bound in zip((low, high), piece, strict=True)
        if math.isfinite(bound)
    ]
    return min(ends)[1] if ends else None


def what_would_settle(
    observation: Observation, criterion: Question, alpha: float, parts: int = 1, refuted: bool = False
) -> str:
    """How many more seeds would decide at the same estimate and spread, or why none would. parts: how many are tested on its
    workload; one alone refutes the claim at alpha over all of them. refuted: it does so at alpha already."""
    regions = [region for region in deciding_regions(criterion) if not (refuted and favours(criterion, region))]
    if not any(low <= observation.estimate <= high for low, high in regions):
        return "the estimate lies between the regions that decide, so more seeds would not settle it"
    level = 2 * alpha if criterion.one_sided else alpha
    by_piece = [
        seeds_needed(observation, (region,), level if favours(criterion, region) else level / parts) for region in regions
    ]
    needed = min((seeds for seeds in by_piece if seeds is not None), default=None)
    if needed is None:
        return f"not even {MOST_ADVISED_SEEDS} seeds would settle it at the same estimate and spread"
    more = needed - observation.seeds
    return f"about {more} more seed{'s' * (more != 1)} would settle it at the same estimate and spread"
