"""Quantities that vary together in a design, so that no verdict says which of them an effect comes from."""

from collections.abc import Iterable, Iterator

from ..declare import Configuration, Criterion, Study, arms_of
from ..train.workloads import workload_of
from .regimes import RunSize, in_thousands, largest

# Pairs of a run's quantities that a design can vary together, by name.
PAIRS = (("steps", "tokens a parameter"), ("batch size", "LR"), ("width", "tokens"))
# A quantity that varies by less is constant.
LEAST_FACTOR = 1.5


def confounded(criteria: Iterable[Criterion], study: Study, scale: str) -> list[str]:
    """A caution for each pair that varies together over the arms of a criterion, one value of the one for one of the other; by
    the first such criterion."""
    clauses: dict[tuple[str, str], str] = {}
    for criterion in criteria:
        clauses = {**dict(_of_arms(arms_of(criterion.observe), study, scale)), **clauses}
    return [clauses[pair] for pair in PAIRS if pair in clauses]


def _of_arms(arms: Iterable[str], study: Study, scale: str) -> Iterator[tuple[tuple[str, str], str]]:
    trained = [arm for arm in arms if arm in study.arms_at(scale)]
    runs = [_quantities(largest(study, scale, arm), tuned="peak_lr" in study.factors_at(scale, arm)) for arm in trained]
    for one, other in PAIRS:
        values = {(run[one], run[other]) for run in runs if one in run and other in run}
        ones, others = {value for value, _ in values}, {value for _, value in values}
        if len(values) == len(ones) == len(others) and min(map(_factor, (ones, others))) >= LEAST_FACTOR:
            ranges = f"{_range(ones)} and {_range(others)}"
            yield (one, other), f"{one} and {other} vary together here ({ranges}): which of them it is, is not shown"


def _quantities(setting: Configuration, tuned: bool) -> dict[str, float]:
    """A run's quantities by name. tuned: its LR is searched for, not chosen by the design."""
    size = RunSize.of(setting)
    quantities = {"steps": float(size.steps), "batch size": float(setting.training.batch_size), "tokens": float(size.tokens)}
    if size.tokens_per_parameter is not None and size.unit == "tokens":
        quantities["tokens a parameter"] = round(size.tokens_per_parameter, 1)
    if not tuned:
        quantities["LR"] = setting.training.peak_lr
    return quantities | (
        {} if workload_of(setting.workload).hidden_parameters is None else {"width": float(setting.workload.width)}
    )


def _factor(values: set[float]) -> float:
    low, high = min(values, default=1.0), max(values, default=1.0)
    return high / low if low > 0 else 1.0


def _range(values: Iterable[float]) -> str:
    low, high = min(values), max(values)
    return " to ".join(in_thousands(round(value)) if value >= 1000 else f"{value:.3g}" for value in (low, high))
