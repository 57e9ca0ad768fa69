"""Facts of a prepared study and its cost, for `folklore plan` and the lines before training."""

from typing import Any

from pydantic import Field

from ..judge.power import Resolution, pilot_of, resolutions, whole_seeds
from ..judge.trends import slopes_in_view
from ..judge.trial_sets import TrialSet, Wanted, everywhere, published_sets, stored_sets
from ..plan.prepare import Prepared
from ..plan.recipe import study_recipe
from ..results import ForScripts, Result
from .progress import duration


class PowerFacts(Result):
    spread_of: str = Field(alias="from")
    """the trials that the spread was taken from"""
    seeds: int
    claims: ForScripts[int]
    criteria: list[Resolution]


class PlanFacts(Result):
    study: str
    version: ForScripts[int]
    study_hash: ForScripts[str]
    scale: str
    device: str
    datasets: str
    data_read: ForScripts[str] = ""
    workload: ForScripts[str] = ""
    parameters: ForScripts[int]
    arms: ForScripts[int]
    seeds: int
    trials: int
    trials_left: int
    """not stored yet: what a run would train"""
    computed_jobs: ForScripts[int]
    computed_jobs_left: ForScripts[int]
    packs_left: ForScripts[int]
    workers: int
    seconds: float
    """expected time of training, s"""
    time: ForScripts[str]
    time_from: str
    """what that time rests on"""
    lanes: ForScripts[str]
    memory_gib: float
    recipe: dict[str, str]
    power: PowerFacts | None
    """none: no trials to take a spread from, or a scale that is never judged"""
    slopes: dict[str, str] = {}
    """of a rung of a ladder: criterion -> the change for each tenfold of parameters that the ladder up to here would show in
    four of five tries"""


def run_facts(ready: Prepared) -> dict[str, Any]:
    """Facts of a plan that a run states before it trains: fields of PlanFacts that need no torch."""
    plan, estimate = ready.plan, ready.estimate
    return {
        "study": plan.study.name,
        "version": plan.study.version,
        "study_hash": plan.study.hash,
        "scale": plan.scale,
        "device": f"{ready.device.count} x {ready.device.name}",
        "seeds": plan.study.seeds_at(plan.scale),
        "trials": len(plan.digests),
        "trials_left": sum(len(pack.trials) for pack in ready.left),
        "computed_jobs": len(ready.jobs),
        "computed_jobs_left": len(ready.jobs_left),
        "packs_left": len(ready.left),
        "workers": estimate.workers,
        "seconds": round(estimate.seconds, 1),
        "time": duration(estimate.seconds),
        "time_from": estimate.source,
    }


def plan_facts(ready: Prepared) -> PlanFacts:
    """`run_facts`, what training takes, and what it can show."""
    plan, estimate = ready.plan, ready.estimate
    own = {"data_read": _read(ready), "workload": ready.proof}
    return PlanFacts(
        **run_facts(ready),
        **{name: value for name, value in own.items() if value},
        datasets=", ".join(f"{used} ({ready.data_hashes[name]})" for name, used in ready.datasets.items()),
        parameters=ready.parameters,
        arms=len(plan.study.arms),
        lanes=_lanes(ready),
        memory_gib=round(estimate.workers * estimate.pack_bytes / 2**30, 2),
        recipe=study_recipe(plan.study, plan.scale),
        power=power_facts(ready),
        slopes=_slopes(ready),
    )


def _slopes(ready: Prepared) -> dict[str, str]:
    study, scale = ready.plan.study, ready.plan.scale
    if scale not in (study.ladder or ()):
        return {}
    verdicts = [verdict for trial_set in known_sets(ready) if trial_set.complete for verdict in trial_set.verdicts()]
    return dict(slopes_in_view(study, scale, verdicts))


def power_facts(ready: Prepared) -> PowerFacts | None:
    """Power of the plan's seeds, by the spread of stored or published trials, or the one that the study declares; None if
    there is neither."""
    study, scale = ready.plan.study, ready.plan.scale
    if not study.scale(scale).judged:
        return None
    pilot = pilot_of(known_sets(ready), scale)
    criteria = list(resolutions(study, scale, study.seeds_at(scale), pilot))
    if pilot is None and all(criterion.power is None for criterion in criteria):
        return None
    spread = "what the study declares of a pilot"
    if pilot is not None:
        spread = f"{len(whole_seeds(pilot))} seeds at scale {pilot.scale} ({pilot.device}, {pilot.source})"
    fields = {"from": spread, "seeds": study.seeds_at(scale), "claims": len(study.judgements), "criteria": criteria}
    return PowerFacts.model_validate(fields)


def known_sets(ready: Prepared, wanted: Wanted = everywhere) -> list[TrialSet]:
    """Trials of a study, stored and published, that a pilot can be taken from."""
    study, plans = ready.plan.study, ready.plans
    return [*stored_sets(study, ready.ledger, wanted, plans), *published_sets(study, wanted, plans)]


def _read(ready: Prepared) -> str:
    """Contents read of a user's data; several datasets by name."""
    said = {used: ready.facts[name].contents for name, used in ready.datasets.items() if ready.facts[name].contents}
    return "; ".join(f"{used}: {contents}" for used, contents in said.items()) if len(said) > 1 else "".join(said.values())


def _lanes(ready: Prepared) -> str:
    """Lanes of the packs, their programs, and the sources of both."""
    choices = ready.choices().values()
    if not choices:
        return "1 (alone)"
    few, many = min(choice.lanes for choice in choices), max(choice.lanes for choice in choices)
    sources, programs = sorted({choice.source for choice in choices}), sorted({choice.program for choice in choices})
    return f"{few} to {many} ({', '.join(sources)}; {', '.join(programs)})"
