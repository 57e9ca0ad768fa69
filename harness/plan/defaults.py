"""The defaults of training that a user's study relies on: they shape its runs, whatever its optimizer."""

from typing import Any

from ..declare import Study, Training, fingerprint
from ..train.optimizers import optimizer_kind
from ..train.schedules import schedule_named
from ..train.schedules.base import to_the_end

# Fields whose defaults do something. (Where a default does nothing, such as no clipping, what is not stated does not happen.)
SHAPING = ("optimizer", "schedule", "warmup_fraction", "final_fraction", "momentum", "weight_decay", "batch_size", "steps")


def left_to_defaults(study: Study) -> dict[str, Any]:
    """Fields of training that shape some run of the study and that it does not state for it, with their defaults."""
    defaults: dict[str, Any] = {}
    for scale, chosen in study.scales.items():
        steps_follow = chosen.examples is not None or study.examples is not None
        for arm in study.arms_at(scale):
            first = {factor: values[0] for factor, values in study.factors_at(scale, arm).items()}
            training = study.configuration(scale, arm, first).training
            settings = (study.arms[arm].settings, (chosen.arm_settings or {}).get(arm, {}), chosen.training)
            stated = study.training.model_fields_set.union(*settings, first, ["steps"] * steps_follow)
            defaults |= {name: getattr(training, name) for name in SHAPING if name not in stated and _shapes(name, training)}
    return {name: defaults[name] for name in SHAPING if name in defaults}


def defaults_in_words(study: Study, file: str) -> str:
    """One line with these fields; '' if the study states all that shapes it."""
    values = ", ".join(f"{name}: {value}" for name, value in left_to_defaults(study).items())
    return f"{file} leaves to the defaults of training: {values}" if values else ""


def same_runs(study: Study) -> list[list[str]]:
    """Groups of arms that train the same runs at a scale that is judged: what tells them apart was not set, or is a default."""
    groups: dict[tuple[str, str], list[str]] = {}
    for scale in (name for name, scale_spec in study.scales.items() if scale_spec.judged):
        for arm in study.arms_at(scale):
            factors = study.factors_at(scale, arm)
            first = study.configuration(scale, arm, {factor: values[0] for factor, values in factors.items()})
            groups.setdefault((scale, fingerprint([first.model_dump(mode="json"), factors])), []).append(arm)
    return list(map(list, dict.fromkeys(tuple(arms) for arms in groups.values() if len(arms) > 1)))


def same_runs_in_words(study: Study) -> str:
    """One line that names such arms; '' if all arms differ."""
    groups = "; ".join(f"{' and '.join(map(repr, arms))} train the same runs" for arms in same_runs(study))
    return f"study '{study.name}': arms {groups}: set what tells them apart" if groups else ""


def _shapes(name: str, training: Training) -> bool:
    if name == "momentum":
        return name in optimizer_kind(training.optimizer).words(training)
    return name != "final_fraction" or to_the_end(training) in schedule_named(training.schedule).words(training)
