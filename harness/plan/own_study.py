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


def require_proved(finding: FoundWorkload, store: Store) -> None:
    """Raises UserError for a workload that does not train as plain PyTorch trains it, or that another process finds
    different. The store remembers what that process found by the workload's identity; it takes seconds."""
    proof = own_module(finding.planned, "cpu", "fp32").proof
    name = f"own/{finding.identity}.json"
    if store.exists(name):
        return
    require_reproducible(finding)
    if not store.exists(""):
        return  # a plan writes nothing
    proved = {"workload": finding.address, "proof": str(proof), "seconds": round(proof.seconds, 2), "parts": finding.parts}
    remember(store, name, finding.identity, proved)


def _on(study: Study, finding: FoundWorkload) -> Study:
    """The study with its remaining arms and judgements. Raises UserError if no claim remains."""
    own, replaced = finding.workload, _models_of_arms(study)
    remaining = arms_left(study, finding.declared, "recipe_of_" * bool(replaced))
    made = {
        judgement.claim: judgement_left(judgement, remaining, f" (its recipe on {own.name})" * bool(replaced))
        for judgement in study.judgements
    }
    judgements = [_of_its_loss(judgement, finding) for judgement in made.values() if isinstance(judgement, Judgement)]
    unjudged = {claim: reason for claim, reason in made.items() if isinstance(reason, str)}
    if (study.judgements and not judgements) or not remaining.first:
        claim, reason = next(iter((unjudged or remaining.lost).items()))
        raise UserError(
            f"study '{study.name}' cannot take an own workload: nothing would be left ('{claim}': {reason}); choose a study"
            " that varies training alone"
        )
    content = study.model_dump()
    content |= {
        "name": variation_name(study, "own", finding.identity),
        "title": f"{study.title}, on own workload '{own.name}'",
        "workload": finding.declared.model_dump(),
        "judgements": [judgement.model_dump() for judgement in judgements],
        "answer": [claim for claim in study.answer if claim not in unjudged],
        # Of other models.
        "published": (),
        "loss_name": own.loss_name,
        "loss_unit": own.loss_unit,
    }
    keep_arms(content, remaining.first)
    # A step of all examples takes all examples of the user's workload.
    whole, of_all = {"batch_size": len(own.examples["training"])}, list[str]()
    for name, arm in content["arms"].items():
        arm["settings"] = _of_training(arm["settings"], remaining)
        if replaced:
            arm["panel"] = arm["panel"] and f"{own.name}, recipe of: {arm['panel']}"
        if arm["settings"].get("sampling", study.training.sampling) == "full":
            arm["settings"] |= whole
            of_all.append(name)
    for scale in content["scales"].values():
        settings = {name: _of_training(arm_settings, remaining) for name, arm_settings in (scale["arm_settings"] or {}).items()}
        scale |= {"workload": {}, "arm_settings": settings | {name: settings.get(name, {}) | whole for name in of_all}}
    if own.optimizer is not None:
        _add_own_optimizer(content)
    untrained = (f"Not trained: arm '{arm}' ({reason})." for arm, reason in remaining.lost.items())
    not_judged = (f"Not judged: {claim} ({reason})." for claim, reason in unjudged.items())
    why = (*_departures(study, finding, replaced), *untrained, *not_judged)
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


def _of_training(settings: Mapping[str, Any], remaining: RemainingArms) -> dict[str, Any]:
    """The settings beside those of the workload: the recipe that an arm keeps. The arm that it starts from has its name
    here."""
    recipe = {name: value for name, value in settings.items() if name not in Workload.model_fields}
    start = recipe.get("starts_from")
    return {**recipe, "starts_from": remaining.names.get(start, start)} if start is not None else recipe


def _of_its_loss(judgement: Judgement, finding: FoundWorkload) -> Judgement:
    """The judgement in the unit of the workload's loss; what judges shares of it is unmeasured if they mean nothing."""
    own, why = finding.workload, _why_no_shares(finding.workload)
    reason = f"the loss of own workload '{own.name}' {why}, and shares of it mean nothing: judge a difference instead"

    def spelled(observing: Observing) -> Observing:
        lost = why and any(relative_to_losses(observing.observe))
        fields: dict[str, Any] = {"observe": Unmeasured(reason=reason)} if lost else {}
        if not isinstance(observing, Alternative) and observing.unit == NATS:
            fields["unit"] = own.loss_unit
        return observing.model_copy(update=fields)

    return judgement.with_observations(spelled)


def _departures(study: Study, finding: FoundWorkload, replaced: Sequence[str]) -> Iterator[str]:
    """Sentences on how the variation differs, and on which claims of the study this workload's loss leaves."""
    yield _departure(study, finding, replaced)
    reduction = own_module(finding.planned, "cpu", "fp32").reduction
    shown = ", descended as that and shown as their mean" if reduction.kind == "sum" else ""
    yield f"The loss of a batch is {reduction.words}{shown}."
    if finding.workload.one_start:
        yield "All seeds start from the same weights: intervals are of batches and draws, and speak of this start alone."
    unit = finding.workload.loss_unit
    if unit != NATS and any(criterion.unit == NATS for judgement in study.judgements for criterion in judgement.criteria):
        spelled = f"in {unit}" if unit else "without a unit"
        yield f"Its loss is measured {spelled}: thresholds that the study declares in nats are taken for as many of these."
    lost = [
        judgement.claim
        for judgement in study.judgements
        if any(any(relative_to_losses(criterion.observe)) for criterion in judgement.criteria)
    ]
    if lost and (may := _why_no_shares(finding.workload)):
        yield f"Its loss {may}, and shares of it mean nothing: out of regime is {', '.join(lost)}."


def _why_no_shares(own: OwnWorkload) -> str:
    """The property of its loss for which shares of it mean nothing; '' if they mean something."""
    return "may be negative" if own.loss_may_be_negative else "may rise" if own.loss_may_rise else ""


def _departure(study: Study, finding: FoundWorkload, replaced: Sequence[str]) -> str:
    own = f"Own workload '{finding.workload.name}' ({finding.address})"
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
    return list(
        dict.fromkeys(f"{settings['model']} on {settings.get('dataset', study.workload.dataset)}" for settings in named)
    )
