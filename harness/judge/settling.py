"""How many more seeds would decide an open criterion."""

import math

from .outcomes import REFUTED, SUPPORTED, Question, deciding_regions, favours
from .statistics.intervals import Observation
from .statistics.seeds import MOST_ADVISED_SEEDS, seeds_needed


def turns_open_at(criterion: Question, verdict: str, low: float, high: float) -> float | None:
    """The bound at which a criterion that is supported or refuted would turn open: the end of its interval that lies next to
    the bound of the region that it lies in; None where no region's bound decides."""
    rule = {SUPPORTED: criterion.claimed, REFUTED: criterion.refuted}.get(verdict)
    ends = [
        (abs(end - bound), end)
        for piece in (rule.pieces if rule else ())
        if piece[0] <= low and high <= piece[1]
        for end, bound in zip((low, high), piece, strict=True)
        if math.isfinite(bound)
    ]
    return min(ends)[1] if ends else None


def what_would_settle(seen: Observation, criterion: Question, alpha: float, parts: int = 1, refuted: bool = False) -> str:
    """How many more seeds would decide at the same estimate and spread, or why none would. parts: how many are tested on its
    workload; one alone refutes the claim at alpha over all of them. refuted: it does so at alpha already."""
    regions = [each for each in deciding_regions(criterion) if not (refuted and favours(criterion, each))]
    if not any(low <= seen.estimate <= high for low, high in regions):
        return "the estimate lies between the regions that decide, so more seeds would not settle it"
    level = 2 * alpha if criterion.one_sided else alpha
    by_piece = [seeds_needed(seen, (each,), level if favours(criterion, each) else level / parts) for each in regions]
    needed = min((each for each in by_piece if each is not None), default=None)
    if needed is None:
        return f"not even {MOST_ADVISED_SEEDS} seeds would settle it at the same estimate and spread"
    more = needed - seen.seeds
    return f"about {more} more seed{'s' * (more != 1)} would settle it at the same estimate and spread"
