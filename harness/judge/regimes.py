"""Whether a scale is in the regime of a claim: of its kind of model and optimizer, and of its size.

A scale of another kind says nothing about a claim. One smaller than a claim's words ask for (declare/claim_size.py) is judged,
and its verdict says for which size.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from ..declare import Configuration, Criterion, Regime, Study, arms_of
from ..declare.claim_size import ClaimSize
from ..declare.design import Value
from ..train.workloads import workload_of

KINDS = {"mlp": "an MLP", "cnn": "a CNN", "gpt": "a GPT"}


def outside(regime: Regime, criterion: Criterion, study: Study, scale: str) -> str | None:
    """A clause on why not all arms that a criterion reads are of the kind a claim is about; None if they are, or if that cannot
    be checked."""
    arms = sorted(arms_of(criterion.observe) & set(study.arms_at(scale)))
    return next((reason for arm in arms if (reason := _objection(regime, study, scale, arm)) is not None), None)


def _objection(regime: Regime, study: Study, scale: str, arm: str) -> str | None:
    setting = largest(study, scale, arm)
    workload, optimizer = workload_of(setting.workload), setting.training.optimizer
    if regime.models and not workload.may_be(regime.models):
        return f"the claim is about {regime.words}; this is {KINDS.get(workload.model_name, workload.model_name)}"
    if regime.optimizers and optimizer not in regime.optimizers:
        return f"the claim is about {regime.words}; this is {optimizer}"
    return None


def largest(study: Study, scale: str, arm: str) -> Configuration:
    """The configuration of an arm, at the largest size if it is tried at several."""
    return study.configuration(
        scale, arm, {name: max(values, key=_size) for name, values in study.factors_at(scale, arm).items()}
    )


def _size(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True)
class RunSize:
    """The size of a run, as a claim asks for it. parameters: without embeddings; None if unknown. unit: of its data, tokens or
    examples."""

    parameters: int | None
    tokens: int
    steps: int
    pretrained: bool
    unit: str = "tokens"

    @property
    def tokens_per_parameter(self) -> float | None:
        return self.tokens / self.parameters if self.parameters else None

    @classmethod
    def of(cls, setting: Configuration) -> "RunSize":
        """The size of a run of this setting. Of several tasks, or texts one after the other, the later ones start
        pretrained."""
        workload = workload_of(setting.workload)
        per_step, unit = workload.batch(setting.training.batch_size)
        steps = setting.training.steps
        pretrained = setting.workload.tasks > 1 or "+" in setting.workload.dataset
        return cls(workload.hidden_parameters, per_step * steps, steps, pretrained, unit)


def run_size(criteria: Iterable[Criterion], study: Study, scale: str) -> RunSize | None:
    """The smallest size over criteria, each counting with the largest arm that it reads; None if no arm is read."""
    sizes = [size for criterion in criteria if (size := _largest_read(criterion, study, scale)) is not None]
    return min(sizes, key=_order, default=None)


def _largest_read(criterion: Criterion, study: Study, scale: str) -> RunSize | None:
    arms = sorted(arms_of(criterion.observe) & set(study.arms_at(scale)))
    return max((RunSize.of(largest(study, scale, arm)) for arm in arms), key=_order, default=None)


def _order(size: RunSize) -> tuple[int, int, int]:
    return size.parameters or 0, size.tokens, size.steps


def below(least: ClaimSize, size: RunSize | None) -> str:
    """A clause on what a run lacks of a claim's size; empty if nothing."""
    return ", ".join(_lacking(least, size)) if size is not None else ""


def _lacking(least: ClaimSize, size: RunSize) -> Iterator[str]:
    for field in fields(least):
        asked, here = getattr(least, field.name), getattr(size, field.name)
        if asked and here is not None and here < asked:
            yield _spelled(field.name, asked, here, size.unit)


def _spelled(field: str, asked: int, here: float, unit: str) -> str:
    if field == "pretrained":
        return "it starts from no checkpoint that was trained on other data"
    if field == "tokens_per_parameter":
        return f"{here:.2g} of {asked} {unit} a parameter"
    return f"{in_thousands(int(here))} of {in_thousands(asked)} {unit if field == 'tokens' else field}"


def in_thousands(count: int) -> str:
    """25k, 1.2M, 7B."""
    for size, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.2g}{letter}" if count < 10 * size else f"{count / size:.0f}{letter}"
    return str(count)
