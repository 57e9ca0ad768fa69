"""A named study with a user's workload in place of its own: a variation, with a name, a ledger and a page to itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..declare import Alternative, Change, Judgement, Study, Workload
from ..declare.criterion import Observing
from ..declare.metrics import Unmeasured
from ..declare.own_address import OWN
from ..declare.parts import relative_to_losses
from ..errors import UserError
from ..options import Options
from ..train.programs import EAGER
from ..train.workloads.own.finding import FoundWorkload, find, require_reproducible
from ..train.workloads.own.module import own_module
from ..train.workloads.own.workload import OwnWorkload
from .own_arms import RemainingArms, arms_left, judgement_left
from .store.remembered import remember
from .store.store import Store
from .variation import keep_arms, variation_name

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
    # Factors that every arm is tried at, by where they stand.
    of_scales = {f"a factor of scale '{name}'": scale.factors for name, scale in study.scales.items()}
    for where, varied in {"a factor": study.factors, **of_scales}.items():
        for field in varied.keys() & Workload.model_fields.keys():
            raise UserError(
                f"study '{study.name}' cannot take an own workload: {where} varies {field}, which only the models here have;"
                " choose a study that varies training alone"
            )
    if study.ladder is not None:
        raise UserError(
            f"study '{study.name}' cannot take an own workload: its ladder compares sizes of the models here; choose a study"
            " that varies training alone"
        )
    return _on(study, find(address))


def require_proved(found: FoundWorkload, store: Store) -> None:
    """Raises UserError for a workload that does not train as plain PyTorch trains it, or that another process finds
    otherwise. What that process found is remembered in the store by the workload's identity; it takes seconds."""
    proof = own_module(found.planned, "cpu", "fp32").proof
    name = f"own/{found.identity}.json"
    if store.exists(name):
        return
    require_reproducible(found)
    if not store.exists(""):
        return  # a plan writes nothing
    proved = {"workload": found.address, "proof": str(proof), "seconds": round(proof.seconds, 2), "parts": found.parts}
    remember(store, name, found.identity, proved)


def _on(study: Study, found: FoundWorkload) -> Study:
    """The study with what is left of its arms and judgements. Raises UserError where no claim is."""
    own, replaced = found.workload, _models_of_arms(study)
    left = arms_left(study, found.declared, "recipe_of_" * bool(replaced))
    made = {
        each.claim: judgement_left(each, left, f" (its recipe on {own.name})" * bool(replaced)) for each in study.judgements
    }
    judgements = [_of_its_loss(each, found) for each in made.values() if isinstance(each, Judgement)]
    unjudged = {claim: reason for claim, reason in made.items() if isinstance(reason, str)}
    if (study.judgements and not judgements) or not left.first:
        claim, reason = next(iter((unjudged or left.lost).items()))
        raise UserError(
            f"study '{study.name}' cannot take an own workload: nothing would be left ('{claim}': {reason}); choose a study"
            " that varies training alone"
        )
    content = study.model_dump()
    content |= {
        "name": variation_name(study, "own", found.identity),
        "title": f"{study.title}, on own workload '{own.name}'",
        "workload": found.declared.model_dump(),
        "judgements": [each.model_dump() for each in judgements],
        "answer": [claim for claim in study.answer if claim not in unjudged],
        # Of other models.
        "published": (),
        "loss_name": own.loss_name,
        "loss_unit": own.loss_unit,
    }
    keep_arms(content, left.first)
    # A step of all examples is one of all of one's own.
    whole, of_all = {"batch_size": len(own.examples["training"])}, list[str]()
    for name, arm in content["arms"].items():
        arm["settings"] = _of_training(arm["settings"], left)
        if replaced:
            arm["panel"] = arm["panel"] and f"{own.name}, recipe of: {arm['panel']}"
        if arm["settings"].get("sampling", study.training.sampling) == "full":
            arm["settings"] |= whole
            of_all.append(name)
    for scale in content["scales"].values():
        settings = {name: _of_training(each, left) for name, each in (scale["arm_settings"] or {}).items()}
        scale |= {"workload": {}, "arm_settings": settings | {name: settings.get(name, {}) | whole for name in of_all}}
    if own.optimizer is not None:
        _add_own_optimizer(content)
    untrained = (f"Not trained: arm '{arm}' ({reason})." for arm, reason in left.lost.items())
    not_judged = (f"Not judged: {claim} ({reason})." for claim, reason in unjudged.items())
    why = (*_departures(study, found, replaced), *untrained, *not_judged)
    return study.changed(Change(why=why, workload=own.name), **content)


def _add_own_optimizer(content: dict[str, Any]) -> None:
    """One more arm: the first one's training by the workload's own optimizer, judged by no claim and shown beside it."""
    name, (first, arm) = "own_optimizer", next(iter(content["arms"].items()))
    label = f"{arm['label']}, by the workload's own optimizer"
    content["arms"][name] = {**arm, "label": label, "settings": {**arm["settings"], "optimizer": OWN}, "reference": False}
    for scale in content["scales"].values():
        for field, more in (("arm_factors", {}), ("arm_settings", {"optimizer": OWN})):
            if first in scale[field]:
                scale[field][name] = {**scale[field][first], **more}
    content["departures"] = (*content["departures"], f"Arm '{name}' is arm '{first}' by the workload's own optimizer.")


def _of_training(settings: Mapping[str, Any], left: RemainingArms) -> dict[str, Any]:
    """What settings say beside the workload: the recipe that an arm keeps. What it starts from is called as it is here."""
    found = {name: value for name, value in settings.items() if name not in Workload.model_fields}
    start = found.get("starts_from")
    return {**found, "starts_from": left.names.get(start, start)} if start is not None else found


def _of_its_loss(judgement: Judgement, found: FoundWorkload) -> Judgement:
    """Spelled in the unit of the workload's loss, and unmeasured where shares of it are judged and mean nothing."""
    own, why = found.workload, _why_no_shares(found.workload)
    reason = f"the loss of own workload '{own.name}' {why}, and shares of it mean nothing: judge a difference instead"

    def spelled(each: Observing) -> Observing:
        lost = why and any(relative_to_losses(each.observe))
        fields: dict[str, Any] = {"observe": Unmeasured(reason=reason)} if lost else {}
        if not isinstance(each, Alternative) and each.unit == NATS:
            fields["unit"] = own.loss_unit
        return each.model_copy(update=fields)

    return judgement.with_observations(spelled)


def _departures(study: Study, found: FoundWorkload, replaced: Sequence[str]) -> Iterator[str]:
    """How the variation differs, and what of the study's claims this workload's loss leaves."""
    yield _departure(study, found, replaced)
    reduction = own_module(found.planned, "cpu", "fp32").reduction
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
    if lost and (may := _why_no_shares(found.workload)):
        yield f"Its loss {may}, and shares of it mean nothing: out of regime is {', '.join(lost)}."


def _why_no_shares(own: OwnWorkload) -> str:
    """What its loss may be or do, so that shares of it mean nothing; '' if they mean something."""
    return "may be negative" if own.loss_may_be_negative else "may rise" if own.loss_may_rise else ""


def _departure(study: Study, found: FoundWorkload, replaced: Sequence[str]) -> str:
    own = f"Own workload '{found.workload.name}' ({found.address})"
    speaks = f"this is a variation of study '{study.name}', and its verdicts speak of that workload alone."
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
