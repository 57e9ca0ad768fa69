"""Names and sentences of what is observed, from the metric and the labels of its arms: for whoever gives none."""

from collections.abc import Mapping

from .design import Arm
from .metrics.arithmetic import Gap, LossGap, Quotient, RelativeGap
from .metrics.computed import Computed
from .observed import ArmRole, FactorRole, Observed
from .parts import arms_of, marks, parts

# Two metrics of one kind: the words between the two arms in a name, and the sentence.
COMPARISONS: dict[type[Observed], tuple[str, str]] = {
    LossGap: ("against", "In {noun}, {one} {{costs}} of the loss reduction compared with {other}"),
    RelativeGap: ("against", "The {noun} of {one} is {{higher}} than that of {other}"),
    Gap: ("against", "The {noun} of {one} is {{higher}} than that of {other}"),
    Quotient: ("over", "The {noun} of {one} is {{larger}} than that of {other}"),
}


def name_of(observable: Observed, arms: Mapping[str, Arm]) -> str:
    """tuned loss, AdamW against SGD"""
    if isinstance(observable, Computed):
        return f"{observable.function}: {_spaced(observable.number)}"
    if _compares(observable):
        one, other = parts(observable)
        between, _ = COMPARISONS[type(observable)]
        return f"{_noun(one)}, {_labels(one, arms)} {between} {_labels(other, arms)}"
    if inner := parts(observable):
        return f"{_noun(observable)} of {' and of '.join(name_of(part, arms) for part in inner)}"
    return f"{_noun(observable)}, {_labels(observable, arms)}"


def sentence_of(observable: Observed, arms: Mapping[str, Arm], panel: str | None = None) -> str:
    """A comparison of two metrics of one kind as a criterion's sentence; empty for any other, which is told by its name."""
    if not _compares(observable):
        return ""
    one, other = parts(observable)
    _, sentence = COMPARISONS[type(observable)]
    said = sentence.format(noun=_noun(one), one=_labels(one, arms), other=_labels(other, arms))
    return f"{panel}: {said[0].lower()}{said[1:]}" if panel else said


def _compares(observable: Observed) -> bool:
    """Whether it sets one metric of an arm beside the same metric of another arm."""
    if type(observable) not in COMPARISONS:
        return False
    one, other = parts(observable)
    return not parts(one) and not parts(other) and _noun(one) == _noun(other)


def _noun(observable: Observed) -> str:
    """Its kind, and the fields that were set: finder pick (rule steepest)."""
    arms = {*marks(type(observable), ArmRole), *marks(type(observable), FactorRole)}
    fields = observable.model_dump(exclude_defaults=True, exclude={"kind", *arms, *_parts_of(observable)})
    details = ", ".join(f"{_spaced(name)} {_spelled(value)}" for name, value in fields.items())
    noun = _spaced(str(type(observable).model_fields["kind"].default))
    return f"{noun} ({details})" if details else noun


def _parts_of(observable: Observed) -> set[str]:
    return {name for name, value in observable if isinstance(value, Observed | tuple) and name != "kind"}


def _labels(observable: Observed, arms: Mapping[str, Arm]) -> str:
    names = sorted(arms_of(observable), key=list(arms).index) if arms_of(observable) <= arms.keys() else []
    return " and ".join(arms[name].label for name in names)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _spelled(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else _spaced(str(value))
