"""Names and sentences of what is observed, from the metric and the labels of its arms: for whoever gives none."""

from collections.abc import Mapping

from .design import Arm
from .metrics.arithmetic import Gap, LossGap, Quotient, RelativeGap
from .metrics.computed import Computed
from .observed import ArmRole, FactorRole, Observed
from .parts import marks, parts

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
    if _compares(observable, arms):
        one, other = parts(observable)
        between, _ = COMPARISONS[type(observable)]
        return f"{_noun(one, arms)}, {_label(one, arms)} {between} {_label(other, arms)}"
    if inner := parts(observable):
        return f"{_noun(observable, arms)} of {' and of '.join(name_of(part, arms) for part in inner)}"
    return f"{_noun(observable, arms)}, {_label(observable, arms)}"


def sentence_of(observable: Observed, arms: Mapping[str, Arm], panel: str | None = None) -> str:
    """A comparison of two metrics of one kind as a criterion's sentence; empty for any other, which is told by its name."""
    if not _compares(observable, arms):
        return ""
    one, other = parts(observable)
    _, sentence = COMPARISONS[type(observable)]
    said = sentence.format(noun=_noun(one, arms), one=_label(one, arms), other=_label(other, arms))
    return f"{panel}: {said[0].lower()}{said[1:]}" if panel else said


def _compares(observable: Observed, arms: Mapping[str, Arm]) -> bool:
    """Whether it sets one metric of an arm beside the same metric of another arm."""
    if type(observable) not in COMPARISONS:
        return False
    one, other = parts(observable)
    return not parts(one) and not parts(other) and _noun(one, arms) == _noun(other, arms)


def _noun(observable: Observed, arms: Mapping[str, Arm]) -> str:
    """Its kind, the fields that were set and the arms that it reads beside its own: max trainable (within 0.1)."""
    other_arms = [*marks(type(observable), ArmRole)][1:]
    shown = {name: value for name, value in observable if name in observable.model_fields_set and _is_detail(observable, name)}
    shown |= {name: _label_of(value, arms) for name, value in shown.items() if name in other_arms}
    details = ", ".join(f"{_spaced(name)} {_spelled(value)}" for name, value in shown.items())
    noun = _spaced(str(type(observable).model_fields["kind"].default))
    return f"{noun} ({details})" if details else noun


def _is_detail(observable: Observed, field: str) -> bool:
    """Whether a field says more than what is observed, of which arm, of which parts."""
    kind, value = type(observable), getattr(observable, field)
    first = next(iter(marks(kind, ArmRole)), "")
    own_arm = field != first and field in marks(kind, ArmRole) and value == getattr(observable, first)
    default = value == kind.model_fields[field].default
    return not (field in ("kind", first, *marks(kind, FactorRole)) or isinstance(value, Observed) or own_arm or default)


def _label(observable: Observed, arms: Mapping[str, Arm]) -> str:
    first = next(iter(marks(type(observable), ArmRole)), "")
    return _label_of(getattr(observable, first), arms) if first else ""


def _label_of(names: str | tuple[str, ...], arms: Mapping[str, Arm]) -> str:
    several = (names,) if isinstance(names, str) else names
    return " and ".join(arms[name].label if name in arms else name for name in several)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _spelled(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else _spaced(str(value))
