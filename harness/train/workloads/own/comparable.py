"""Two own workloads as the arms of one study: the judged number has to mean the same for both."""

from ....errors import UserError
from .finding import FoundWorkload, find, hand_over
from .workload import OwnWorkload

# What both are judged on.
JUDGED_ON = ("validation data", "test data")


def comparable(baseline: str | OwnWorkload, candidate: str | OwnWorkload, metric: str) -> tuple[FoundWorkload, FoundWorkload]:
    """Each by its address, or the object itself. Modules, training data and, where errors are judged, losses may differ.

    Raises UserError where the metric is another number of one than of the other.
    """
    first, other = (
        hand_over(workload) if isinstance(workload, OwnWorkload) else find(workload) for workload in (baseline, candidate)
    )
    both = f"workloads '{first.address}' and '{other.address}'"
    if first.address == other.address:
        raise UserError(f"{both}: must differ; give each a name of its own")
    judged_by = "metric" if metric.endswith("_error") else "loss"
    function = getattr(first.workload, judged_by)
    if function is None or function != getattr(other.workload, judged_by):
        way_out = "" if judged_by == "metric" else ", or compare them by metric='test_error' and a metric that they share"
        raise UserError(f"{both}: {judged_by} must be one function, so that {metric} is one number; give it to both{way_out}")
    for name in ("loss_name", "loss_unit"):
        if getattr(first.workload, name) != getattr(other.workload, name):
            raise UserError(f"{both}: {name} must be the same; give it to both")
    for data in JUDGED_ON:
        if first.parts[data] != other.parts[data]:
            raise UserError(f"{both}: their {data} must be the same; vary the module, the loss or the training data")
    return first, other
