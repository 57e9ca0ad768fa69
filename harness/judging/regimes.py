"""Whether a scale is of what a claim speaks of: a claim about large transformers is neither shown nor refuted by a toy."""

from folklore.harness.spec import Criterion, Regime, Study, Workload, arms_of
from folklore.harness.spec.configuration import OWN
from folklore.harness.spec.study import Value
from folklore.harness.workloads.architectures import architecture_named


def outside(regime: Regime, criterion: Criterion, study: Study, scale: str) -> str | None:
    """Why not all arms that a criterion reads are of a claim's regime, a clause; None if they are, or nothing of that can be
    checked."""
    arms = sorted(arms_of(criterion.observe) & set(study.arms_at(scale)))
    return next((reason for arm in arms if (reason := _objection(regime, study, scale, arm)) is not None), None)


def _objection(regime: Regime, study: Study, scale: str, arm: str) -> str | None:
    """Of an arm that is tried at several sizes the largest counts."""
    point = {name: max(values, key=_size) for name, values in study.factors_at(scale, arm).items()}
    setting = study.configuration(scale, arm, point)
    model, optimizer = setting.workload.model, setting.training.optimizer
    # Of an own model only whoever brings it knows what it is.
    if regime.models and model not in (*regime.models, OWN):
        return f"the claim speaks of {regime.words}; this is {model}"
    if regime.optimizers and optimizer not in regime.optimizers:
        return f"the claim speaks of {regime.words}; this is {optimizer}"
    count = hidden_parameters(setting.workload)
    if regime.least_parameters is not None and count is not None and count < regime.least_parameters:
        return f"the claim speaks of {regime.words}; this model has {in_thousands(count)} parameters"
    return None


def _size(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def hidden_parameters(workload: Workload) -> int | None:
    """Parameters beside those of the input and the output, which depend on the data (Kaplan et al. 2020, section 2.1)."""
    return None if workload.model == OWN else architecture_named(workload.model).hidden_parameters(workload)


def in_thousands(count: int) -> str:
    """25k, 1.2M, 7B."""
    for size, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.2g}{letter}" if count < 10 * size else f"{count / size:.0f}{letter}"
    return str(count)
