"""A named study with a user's workload in place of its own: a variation, with a name, a ledger and a page to itself."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from folklore.harness.errors import UserError, invalid
from folklore.harness.observables import Unmeasured
from folklore.harness.options import Options
from folklore.harness.own.address import own_title
from folklore.harness.own.finding import Found, find
from folklore.harness.planning.proving import require_proved
from folklore.harness.spec import Alternative, Criterion, Judgement, Reported, Study, Workload, canonical_json
from folklore.harness.spec.parts import relative_to_losses, with_other_arms
from folklore.harness.storing.store import Store
from folklore.harness.training.own_module import own_module
from folklore.harness.training.programs import EAGER
from folklore.models.reduction import Reduction

Observing = Criterion | Reported | Alternative
# Of the workload's identity in the variation's name.
DIGITS = 8
# The unit that studies declare thresholds of losses in.
NATS = "nats"


def own_study(study: Study, address: str, options: Options) -> Study:
    """The study on the workload at MODULE:ATTRIBUTE. What is compared, how it is trained and what decides stay as declared.

    Its name holds the workload's identity, so that a changed module is another variation. Raises UserError where the study or
    the options ask for what an own workload does not have.
    """
    if options.datasets:
        raise UserError(f"--data {next(iter(options.datasets))}: an own workload brings its data along; leave --data out")
    if options.program not in (None, EAGER.name):
        raise UserError(f"--program {options.program}: own workloads run eagerly; leave it out")
    if (lost := _lost_comparison(study)) is not None:
        raise UserError(f"study '{study.name}' cannot take an own workload: {lost}; choose a study that varies training alone")
    found = find(address)
    require_proved(found, Store(options.store))
    reduction = own_module(found.dataset).reduction
    recipes = {name: f"recipe_of_{name}" for name in study.arms} if _models_of_arms(study) else {}
    judgements = [_of_recipes(each, recipes, found) for each in study.judgements] if recipes else study.judgements
    dump = study.model_dump()
    dump |= {
        "name": f"{study.name}_own_{found.identity[:DIGITS]}",
        "variation_of": study.name,
        "title": own_title(study.title, found.workload.name),
        "workload": Workload(model="own", dataset=found.dataset).model_dump(),
        "departures": (*_departures(study, found, reduction), *study.departures),
        "judgements": [_of_its_loss(each, found).model_dump() for each in judgements],
        "loss_name": found.workload.loss_name,
        "loss_unit": found.workload.loss_unit,
    }
    if recipes:
        _name_arms_after(recipes, dump, found.workload.name)
    for arm in dump["arms"].values():
        arm["settings"] = _of_training(arm["settings"])
    for scale in dump["scales"].values():
        scale["workload"] = {}
        scale["arm_settings"] = {arm: _of_training(settings) for arm, settings in (scale["arm_settings"] or {}).items()}
    try:
        return Study.model_validate(dump)
    except ValidationError as error:
        raise invalid(f"study '{study.name}' on own workload '{found.workload.name}'", error) from None


def _of_recipes(judgement: Judgement, recipes: Mapping[str, str], found: Found) -> Judgement:
    """Where arms are named after models: a judgement whose criteria say that it is the model's recipe that is meant."""

    def changed(each: Observing) -> dict[str, Any]:
        name = each.name if isinstance(each, Alternative) else f"{each.name} (its recipe on {found.workload.name})"
        return {"name": name, "observe": with_other_arms(each.observe, recipes)}

    return _with_observations(judgement, changed)


def _name_arms_after(recipes: Mapping[str, str], dump: dict[str, Any], workload: str) -> None:
    """Gives the arms of a study's content, and what is said of them at a scale, the names of their recipes."""
    for content in (dump, *dump["scales"].values()):
        for field in {"arms", "arm_factors", "arm_settings"} & content.keys():
            content[field] = {recipes[arm]: said for arm, said in (content[field] or {}).items()}
    for arm in dump["arms"].values():
        arm["panel"] = arm["panel"] and f"{workload}, recipe of: {arm['panel']}"


def _of_training(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What settings say beside the workload: the recipe that an arm keeps."""
    return {name: value for name, value in settings.items() if name not in Workload.model_fields}


def _lost_comparison(study: Study) -> str | None:
    """Why an own workload would leave nothing to compare: a factor of the workload, or arms that differ in it alone."""
    factors = [("a factor", study.factors), *((f"arm '{name}'", arm.factors) for name, arm in study.arms.items())]
    for name, scale in study.scales.items():
        factors.append((f"a factor of scale '{name}'", scale.factors))
        factors += [(f"arm '{arm}' at scale '{name}'", varied) for arm, varied in scale.arm_factors.items()]
    for where, varied in factors:
        for field in varied.keys() & Workload.model_fields.keys():
            return f"{where} varies {field}, which only the models here have"
    for name, scale in study.scales.items():
        recipes: dict[str, tuple[str, dict[str, Any]]] = {}
        for arm in study.arms_at(name):
            settings = {**study.arms[arm].settings, **(scale.arm_settings or {}).get(arm, {})}
            other, others = recipes.setdefault(canonical_json(_of_training(settings)), (arm, settings))
            if others != settings:
                return f"arms '{other}' and '{arm}' differ only in the model"
    return None


def _of_its_loss(judgement: Judgement, found: Found) -> Judgement:
    """Spelled in the unit of the workload's loss, and unmeasured where shares of it are judged and it may be negative."""
    own = found.workload
    reason = f"the loss of own workload '{own.name}' may be negative, and shares of it mean nothing: judge a difference instead"

    def changed(each: Observing) -> dict[str, Any]:
        lost = own.loss_may_be_negative and any(relative_to_losses(each.observe))
        observed = {"observe": Unmeasured(reason=reason) if lost else each.observe}
        if isinstance(each, Alternative):
            return observed
        return {**observed, "unit": own.loss_unit if each.unit == NATS else each.unit}

    return _with_observations(judgement, changed)


def _with_observations(judgement: Judgement, changed: Callable[[Observing], dict[str, Any]]) -> Judgement:
    """With its criteria, their other readings, and what it reports, changed."""

    def of(criterion: Criterion) -> Criterion:
        others = criterion.alternatives and tuple(each.model_copy(update=changed(each)) for each in criterion.alternatives)
        return criterion.model_copy(update={**changed(criterion), "alternatives": others})

    criteria = tuple(of(each) for each in judgement.criteria)
    reported = tuple(each.model_copy(update=changed(each)) for each in judgement.reported)
    return judgement.model_copy(update={"criteria": criteria, "reported": reported})


def _departures(study: Study, found: Found, reduction: Reduction) -> Iterator[str]:
    """How the variation differs, and what of the study's claims this workload's loss leaves."""
    yield _departure(study, found)
    shown = ", descended as that and shown as their mean" if reduction.kind == "sum" else ""
    yield f"The loss of a batch is {reduction.words}{shown}."
    if found.workload.one_start:
        yield "All seeds start from the same weights: intervals are of batches and draws, and speak of this start alone."
    unit = found.workload.loss_unit
    if unit != NATS and any(each.unit == NATS for judgement in study.judgements for each in judgement.criteria):
        spelled = f"in {unit}" if unit else "without a unit"
        yield f"Its loss is measured {spelled}: thresholds that the study declares in nats are taken for as many of these."
    lost = [
        judgement.claim
        for judgement in study.judgements
        if any(any(relative_to_losses(each.observe)) for each in judgement.criteria)
    ]
    if found.workload.loss_may_be_negative and lost:
        yield f"Its loss may be negative, and shares of it mean nothing: out of regime is {', '.join(lost)}."


def _departure(study: Study, found: Found) -> str:
    own = f"Own workload '{found.workload.name}' ({found.address})"
    speaks = f"this is a variation of study '{study.name}', and its verdicts speak of that workload alone."
    replaced = _models_of_arms(study)
    if not replaced:
        others = study.workload.model_dump(exclude={"model", "dataset"}, exclude_defaults=True)
        spelled = "".join(f", {name} {value}" for name, value in others.items())
        return f"{own} in place of {study.workload.model} on {study.workload.dataset}{spelled}: {speaks}"
    return (
        f"{own} in place of {', '.join(replaced)}: {speaks} Arms, criteria and notes that are named after models stand for"
        " those models' recipes (optimizer, batch size, steps, LRs) on this one workload: where several agree it is one"
        " workload's word."
    )


def _models_of_arms(study: Study) -> list[str]:
    """MODEL on DATASET for every model that arms name; empty where none does."""
    named = [arm.settings for arm in study.arms.values() if "model" in arm.settings]
    return list(dict.fromkeys(f"{each['model']} on {each.get('dataset', study.workload.dataset)}" for each in named))
