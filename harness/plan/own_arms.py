"""Which arms and claims of a study remain on a user's workload: arms that are another recipe for it and can be trained, and
claims of these alone.

A study may train several models by one recipe, on purpose or to repeat a claim on each. On one workload these are one arm, and
what compares the models with each other says nothing any more.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..declare import Alternative, Criterion, Judgement, Study, Workload, arms_of, canonical_json
from ..declare.criterion import Observing
from ..declare.parts import with_other_arms
from ..declare.starts import parents
from ..train.parts import check, require_data, require_model
from ..train.workloads import workload_of

OTHER_MODEL = "it compares models, and there is one"
# How a model is built, beside how large it is, and how much data it gets in which order: a study is about those of these in
# which arms of one model differ. The scale of first weights (init_gain) is a choice of the recipe.
DESIGN = (
    *("parametrization", "zero_readout", "activation", "norm", "residual", "norm_placement", "feature_scale"),
    *("loss", "training_set_size", "training_set", "tasks", "scenario", "adapter_rank"),
)
COMPUTED = "it is computed, of no workload"


@dataclass(frozen=True)
class RemainingArms:
    """names: arm -> what it is called here; those of one recipe are called alike. models: arm -> what model of the study it
    trains. lost: arm -> why it is not trained."""

    names: Mapping[str, str]
    models: Mapping[str, str]
    lost: Mapping[str, str]

    @property
    def first(self) -> dict[str, str]:
        """Arm -> its name, of the first arm of each recipe."""
        first: dict[str, str] = {}
        for arm, name in self.names.items():
            if arm not in self.lost and name not in first.values():
                first[arm] = name
        return first


def arms_left(study: Study, declared: Workload, prefix: str) -> RemainingArms:
    """The arms of a study that remain on a declared own workload. prefix: of the arms' names here."""
    recipes: dict[str, str] = {}
    names = {arm: prefix + recipes.setdefault(_recipe(study, arm), arm) for arm in study.arms}
    lost = {arm: f"{why}, which only the models here have" for arm in study.arms if (why := _of_models(study, arm))}
    lost |= _untrainable(study, lost.keys(), declared)
    while more := {
        arm: f"it starts from arm '{parent}', which is not trained"
        for scale in study.scales
        for arm in study.arms_at(scale)
        for parent in parents(study, scale, arm)
        if parent in lost and arm not in lost
    }:
        lost |= more
    of_model = Workload.model_fields.keys()
    models = {
        arm: canonical_json({name: arm_spec.settings[name] for name in arm_spec.settings.keys() & of_model})
        for arm, arm_spec in study.arms.items()
    }
    return RemainingArms(names, models, lost)


def _of_models(study: Study, arm: str) -> str:
    """Says which property of the models here an arm varies or is about; '' if none."""
    varied = set(study.arms[arm].factors).union(*(scale.arm_factors.get(arm, {}) for scale in study.scales.values()))
    if fields := sorted(varied & Workload.model_fields.keys()):
        return f"it varies {fields[0]}"
    field = _designed(study, arm)
    return field and f"it is about {field}"


def _untrainable(study: Study, lost: Collection[str], declared: Workload) -> dict[str, str]:
    """Arm -> why it cannot train the workload, of the arms that are not lost."""
    own = workload_of(declared)
    dataset = own.data()
    model, reasons = own.model(dataset.facts), dict[str, str]()
    for scale, arm in ((name, arm) for name in study.scales for arm in study.arms_at(name) if arm not in lost):
        point = {name: values[0] for name, values in study.factors_at(scale, arm).items()}
        configuration = study.configuration(scale, arm, point)
        training = configuration.training
        if training.sampling == "full":
            training = training.model_copy(update={"batch_size": len(dataset.arrays("train")[0])})
        configuration = configuration.model_copy(update={"workload": declared, "training": training})
        try:
            check(configuration)
            own.require_trainable(configuration)
            require_model(configuration, model)
            require_data(configuration, dataset)
        except ValueError as error:
            reasons.setdefault(arm, str(error))
    return reasons


def judgement_left(judgement: Judgement, remaining: RemainingArms, ending: str) -> Judgement | str:
    """A judgement of the remaining arms, each observation once; or why it cannot be made. ending: of the names of criteria,
    where arms are named after models."""
    if not any(arms_of(criterion.observe) for criterion in judgement.criteria):
        return COMPUTED
    for criterion in judgement.criteria:
        if reason := _lost(criterion, remaining):
            return reason

    def renamed(observing: Observing) -> Observing | None:
        if _lost(observing, remaining):
            return None
        name = observing.name if isinstance(observing, Alternative) else observing.name + ending
        return observing.model_copy(update={"name": name, "observe": with_other_arms(observing.observe, remaining.names)})

    made = judgement.with_observations(renamed)
    criteria: dict[str, Criterion] = {}
    for criterion in made.criteria:
        same = criterion.model_dump() | {"name": "", "panel": None, "says": "", "expected": None, "alternatives": None}
        criteria.setdefault(canonical_json(same), criterion)
    return made.model_copy(update={"criteria": tuple(criteria.values())})


def _lost(observing: Observing, remaining: RemainingArms) -> str:
    arms = arms_of(observing.observe)
    for arm in sorted(arms & remaining.lost.keys()):
        return f"arm '{arm}' is not trained: {remaining.lost[arm]}"
    return OTHER_MODEL if len({remaining.models[arm] for arm in arms}) > 1 else ""


def _designed(study: Study, arm: str) -> str:
    """The part of the design by which an arm differs from others of its model; '' if none."""
    settings = {name: {**study.workload.model_dump(), **arm_spec.settings} for name, arm_spec in study.arms.items()}
    alike = [other for other in settings.values() if other["model"] == settings[arm]["model"]]
    for field in DESIGN:
        own = settings[arm][field]
        if own != Workload.model_fields[field].default and any(other[field] != own for other in alike):
            return field
    return ""


def _recipe(study: Study, arm: str) -> str:
    """The settings and factors of an arm, without those of the workload."""
    declared = study.arms[arm]
    settings = {name: value for name, value in declared.settings.items() if name not in Workload.model_fields}
    return canonical_json([settings, declared.factors])
