"""Whether a scale is in the regime of a claim: a claim about large transformers is neither shown nor refuted by a toy."""

from ..declare import Criterion, Regime, Study, arms_of
from ..declare.design import Value
from ..train.workloads import workload_of

KINDS = {"mlp": "an MLP", "cnn": "a CNN", "gpt": "a GPT"}


def outside(regime: Regime, criterion: Criterion, study: Study, scale: str) -> str | None:
    """Why not all arms that a criterion reads are of a claim's regime, a clause; None if they are, or nothing of that can be
    checked."""
    arms = sorted(arms_of(criterion.observe) & set(study.arms_at(scale)))
    return next((reason for arm in arms if (reason := _objection(regime, study, scale, arm)) is not None), None)


def _objection(regime: Regime, study: Study, scale: str, arm: str) -> str | None:
    """Of an arm that is tried at several sizes the largest counts."""
    point = {name: max(values, key=_size) for name, values in study.factors_at(scale, arm).items()}
    setting = study.configuration(scale, arm, point)
    workload, optimizer = workload_of(setting.workload), setting.training.optimizer
    if regime.models and not workload.may_be(regime.models):
        return f"the claim is about {regime.words}; this is {KINDS.get(workload.model_name, workload.model_name)}"
    if regime.optimizers and optimizer not in regime.optimizers:
        return f"the claim is about {regime.words}; this is {optimizer}"
    count = workload.hidden_parameters
    if regime.least_parameters is not None and count is not None and count < regime.least_parameters:
        least, here = in_thousands(regime.least_parameters), in_thousands(count)
        counted = "parameters without embeddings" if workload.model_name == "gpt" else "parameters"
        return f"the claim is about {regime.words}, from {least} {counted} up; this model has {here}"
    batch, unit = workload.batch(setting.training.batch_size)
    if regime.least_batch is not None and batch < regime.least_batch:
        return f"the claim is about {regime.words}; a step here sees {batch:,} {unit}"
    return None


def _size(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def in_thousands(count: int) -> str:
    """25k, 1.2M, 7B."""
    for size, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.2g}{letter}" if count < 10 * size else f"{count / size:.0f}{letter}"
    return str(count)
