"""What of a study an own workload leaves: arms that are another recipe for it and can be trained, and claims of these alone.

A study may train several models by one recipe, on purpose or to repeat a claim on each. On one workload these are one arm, and
what compares the models with each other says nothing any more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..declare import Alternative, Criterion, Judgement, Study, Workload, arms_of, canonical_json
from ..declare.criterion import Observing
from ..declare.parts import with_other_arms
from ..declare.starts import parents
from ..errors import UserError
from ..train.procedures import require_data
from ..train.suitability import lr_multipliers, require_suited
from ..train.workloads import workload_of

OTHER_MODEL = "it compares models, and there is one"
# How a model here is built, beside how large it is, and how much data it is given in which order: what arms of one model differ
# by in these is what a study is about.
DESIGN = (
    *("parametrization", "zero_readout", "activation", "norm", "residual", "init_gain", "norm_placement", "feature_scale"),
    *("loss", "training_set_size", "tasks", "scenario", "adapter_rank"),
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
        found: dict[str, str] = {}
        for arm, name in self.names.items():
            if arm not in self.lost and name not in found.values():
                found[arm] = name
        return found


def arms_left(study: Study, name_of: Callable[[str], str]) -> RemainingArms:
    """Of a study as it is declared; what a workload cannot be trained by is not known yet."""
    recipes: dict[str, str] = {}
    names, lost = {}, {}
    for arm in study.arms:
        names[arm] = name_of(recipes.setdefault(_recipe(study, arm), arm))
        varied = set(study.arms[arm].factors).union(*(scale.arm_factors.get(arm, {}) for scale in study.scales.values()))
        if fields := sorted(varied & Workload.model_fields.keys()):
            lost[arm] = f"it varies {fields[0]}, which only the models here have"
        elif field := _designed(study, arm):
            lost[arm] = f"it is about {field}, which only the models here have"
    lost = with_those_that_start_there(study, lost)
    return RemainingArms(names, {arm: _model(study, arm) for arm in study.arms}, lost)


def with_those_that_start_there(study: Study, lost: Mapping[str, str]) -> dict[str, str]:
    """The arms that are lost, with why, and those that start from them."""
    found, before = dict(lost), -1
    while len(found) > before:
        before = len(found)
        for scale in study.scales:
            for arm in study.arms_at(scale):
                for parent in parents(study, scale, arm):
                    if parent in found:
                        found.setdefault(arm, f"it starts from arm '{parent}', which is not trained")
    return found


def untrainable(study: Study) -> dict[str, str]:
    """Arm -> why the workload of a study cannot be trained by it."""
    found: dict[str, str] = {}
    for scale in study.scales:
        for arm in study.arms_at(scale):
            factors = study.factors_at(scale, arm)
            configuration = study.configuration(scale, arm, {name: values[0] for name, values in factors.items()})
            workload, training = configuration.workload, configuration.training
            own = workload_of(workload)
            dataset = own.data()
            model = own.model(dataset.facts)
            try:
                own.require_trainable(configuration)
                require_suited(training, workload, model)
                lr_multipliers(workload, training, model)
                require_data(configuration, dataset)
            except UserError as error:
                found.setdefault(arm, str(error))
    return found


def judgement_left(judgement: Judgement, left: RemainingArms, spelled: Callable[[str], str]) -> Judgement | str:
    """A judgement of what is left, each observation once; or why it cannot be made. spelled: a criterion's name -> one that
    says that the recipe is meant, where arms are named after models."""
    if not any(arms_of(each.observe) for each in judgement.criteria):
        return COMPUTED
    for criterion in judgement.criteria:
        if reason := _lost(criterion, left):
            return reason

    def renamed(each: Observing) -> Observing | None:
        if _lost(each, left):
            return None
        name = each.name if isinstance(each, Alternative) else spelled(each.name)
        return each.model_copy(update={"name": name, "observe": with_other_arms(each.observe, left.names)})

    made = judgement.with_observations(renamed)
    criteria: dict[str, Criterion] = {}
    for each in made.criteria:
        same = each.model_dump() | {"name": "", "panel": None, "says": "", "expected": None, "alternatives": None}
        criteria.setdefault(canonical_json(same), each)
    return made.model_copy(update={"criteria": tuple(criteria.values())})


def _lost(observing: Observing, left: RemainingArms) -> str:
    arms = arms_of(observing.observe)
    for arm in sorted(arms & left.lost.keys()):
        return f"arm '{arm}' is not trained: {left.lost[arm]}"
    return OTHER_MODEL if len({left.models[arm] for arm in arms}) > 1 else ""


def _designed(study: Study, arm: str) -> str:
    """By which part of the design an arm differs from others of its model; '' if by none."""
    settings = {name: {**study.workload.model_dump(), **each.settings} for name, each in study.arms.items()}
    alike = [each for each in settings.values() if each["model"] == settings[arm]["model"]]
    for field in DESIGN:
        own = settings[arm][field]
        if own != Workload.model_fields[field].default and any(each[field] != own for each in alike):
            return field
    return ""


def _model(study: Study, arm: str) -> str:
    settings = study.arms[arm].settings
    return canonical_json({name: settings[name] for name in Workload.model_fields if name in settings})


def _recipe(study: Study, arm: str) -> str:
    """What an arm says beside the workload."""
    declared = study.arms[arm]
    settings = {name: value for name, value in declared.settings.items() if name not in Workload.model_fields}
    return canonical_json([settings, declared.factors])
