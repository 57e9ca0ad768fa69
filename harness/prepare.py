"""What a run needs before it trains: the plan, what is left of it, what it will cost; and bringing MLflow up to the ledger."""

import logging
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from harness import cost, data, table
from harness.cost import Estimate
from harness.errors import UserError, masked, one_line, unknown
from harness.ledger import Ledger
from harness.machine import Device, local_device, worker_memory_bytes
from harness.options import Options
from harness.packing import Packing, shapes
from harness.plan import Plan, PlannedPack, Setting, make_plan, settings
from harness.spec import Configuration, Study
from harness.store import Store
from harness.training.network import build
from harness.training.own_module import require_trainable
from harness.training.programs import program_named
from harness.tuning import searched_plan

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from harness.tracking import Tracker


@dataclass(frozen=True)
class Prepared:
    """A plan with everything that can be known before training.

    datasets: what a study calls a dataset -> the one used for it. left: what is to be trained; of a search, that of the
    rounds known so far and stand-ins for the rest.
    """

    plan: Plan
    datasets: Mapping[str, str]
    left: tuple[PlannedPack, ...]
    estimate: Estimate
    parameters: int
    device: Device
    packing: Packing
    ledger: Ledger


def default_scale(study: Study, device: Device | None = None) -> str:
    """The scale that fits a device, or this machine: gpu where there is one, laptop elsewhere."""
    wanted = "gpu" if (device or local_device()).kind == "cuda" else "laptop"
    return wanted if wanted in study.scales else next(iter(study.scales))


def prepare(
    study: Study, scale: str, options: Options, ledger: Ledger, only_plan: bool = False, cluster: Device | None = None
) -> Prepared:
    """Plan a study at a scale against what is done. Trains nothing; raises UserError where it could not be run.

    only_plan: assume the device the scale is meant for, and data that is still to be given. cluster: the devices it is trained
    on, where these are not this machine's.
    """
    resolved = settings(study, scale)
    configurations = list({each.pack_key: each for each in _configurations(study, scale, resolved)}.values())
    for configuration in configurations:
        require_trainable(configuration)
    datasets = _datasets(study, scale, configurations, options)
    facts = {name: data.describe(used) for name, used in datasets.items()}
    model_of = cache(lambda workload: build(workload, facts[workload.dataset]))
    for workload in {configuration.workload for configuration in configurations}:
        model_of(workload)
        if not only_plan:
            chosen = data.load(datasets[workload.dataset])
            chosen.check(workload.context)
            chosen.training_arrays(workload.label_noise)
    device = _device(
        study, scale, options, only_plan, cluster or local_device(), {each.training.precision for each in configurations}
    )
    if options.program is not None:
        program_named(options.program, torch.device(device.kind))
    free = worker_memory_bytes(device)
    heaviest = max(configurations, key=lambda each: cost.lane_bytes(each, model_of(each.workload)))
    if cost.lanes_that_fit(heaviest, model_of(heaviest.workload), free) < 1:
        need = cost.lane_bytes(heaviest, model_of(heaviest.workload))
        raise UserError(
            f"study '{study.name}' at scale '{scale}' needs {need / 2**30:.1f} GiB a lane, and {device.name} has"
            f" {free / 2**30:.1f} GiB free for each of {device.count} workers; choose a smaller scale"
            f"{'' if device.elsewhere else ' or fewer --workers'}"
        )
    hashes = {name: found.hash for name, found in facts.items()}
    plan = make_plan(study, scale, device.kind, hashes, resolved=resolved)
    if study.search_at(scale) is not None:
        plan = outline(searched_plan(plan, ledger.trials()))
    packing = Packing(ledger.store, device, model_of, options.lanes, options.program)
    plan = plan.with_lanes({key: each.lanes for key, each in packing.choices(shapes(plan.trials, datasets)).items()})
    left = plan.without(ledger.digests())
    estimate = cost.estimate(left, device, model_of, _measured(ledger, plan))
    parameters = max(sum(math.prod(p.shape) for p in model_of(each.workload).parameters) for each in configurations)
    return Prepared(plan, datasets, left, estimate, parameters, device, packing, ledger)


def _configurations(study: Study, scale: str, resolved: Iterable[Setting]) -> Iterator[Configuration]:
    yield from (setting.configuration for setting in resolved)
    for arm in study.arms_at(scale):
        if study.arms[arm].searched:
            yield study.configuration(scale, arm, {})


def _datasets(study: Study, scale: str, configurations: Iterable[Configuration], options: Options) -> dict[str, str]:
    names = sorted({each.workload.dataset for each in configurations})
    for given in options.datasets:
        if given not in names:
            raise unknown(f"dataset of study '{study.name}' at scale '{scale}'", given, names)
    return {name: options.datasets.get(name, name) for name in names}


def datasets_named(study: Study, scale: str) -> set[str]:
    """What a study calls the datasets it trains on at a scale."""
    return {configuration.workload.dataset for configuration in _configurations(study, scale, settings(study, scale))}


def outline(plan: Plan) -> Plan:
    """A searched plan with stand-ins for the proposals that are still to be made, for counting and costing."""
    search = plan.study.search_at(plan.scale)
    assert search is not None
    proposals = {arm: list(values) for arm, values in plan.proposals.items()}
    for arm in plan.study.arms_at(plan.scale):
        if plan.study.arms[arm].searched:
            known = proposals.setdefault(arm, [])
            missing = max(0, search.budget - len(known))
            known += [float(value) for value in np.geomspace(search.low, search.high, missing)]
    stand_in = math.sqrt(search.low * search.high)
    return plan.with_search(proposals, {arm: plan.chosen.get(arm, stand_in) for arm in proposals})


def _device(study: Study, scale: str, options: Options, only_plan: bool, found: Device, precisions: Collection[str]) -> Device:
    """The device to run on; a precision it does not have is refused. A plan may assume a GPU that is not here."""
    device = found if options.workers is None else replace(found, count=options.workers)
    if only_plan and study.scale(scale).device == "cuda" and device.kind == "cpu":
        return replace(cost.ASSUMED_GPU, count=options.workers or 1)
    for precision in sorted(precisions):
        if precision not in cost.RATES[device.kind].flops_per_second:
            raise UserError(
                f"study '{study.name}' at scale '{scale}': precision {precision} needs a CUDA GPU and"
                f" {'this cluster' if found.elsewhere else 'this machine'} has none; choose another --scale (it fits"
                f" {default_scale(study, found)})"
            )
    return device


def progress(prepared: Prepared) -> tuple[int, int]:
    """Trials that are stored now, and all that the plan comes to; of a search, as far as its proposals are known."""
    plan = prepared.plan
    if plan.study.search_at(plan.scale) is not None:
        plan = outline(searched_plan(plan.with_search({}, {}), prepared.ledger.trials()))
    return len(plan.digests & prepared.ledger.digests()), len(plan.digests)


def sync(study: Study, options: Options, ledger: Ledger, everything: bool = False) -> int:
    """Project what this MLflow lacks; returns the number of packs projected. Raises UserError where it cannot.

    everything: look at every pack, also those that are marked as projected into this MLflow.
    """
    from harness.projector import Sink

    tracker = open_tracker(study, options, ledger.store)
    if everything:
        ledger.forget_projections(tracker.identity)
    sink = Sink(ledger, lambda: tracker)
    sink.open()
    for pack in sorted(sink.missing):
        try:
            sink.project(pack)
        except Exception as error:  # whatever MLflow's backend raises
            raise UserError(f"MLflow at {masked(tracker.uri)}: did not take pack {pack} ({one_line(error)[:200]})") from None
    return sink.projected


def open_tracker(study: Study, options: Options, store: Store) -> "Tracker":
    from harness.tracking import Tracker
    from harness.tracking_uri import default_uri

    local = Path(store.root) if store.is_local else Path("results").absolute()
    if options.tracking is None:
        local.mkdir(parents=True, exist_ok=True)
    uri = options.tracking or default_uri(local)
    return Tracker(uri, study, artifacts=local / "mlartifacts" if uri.startswith("sqlite:") else None)


def _measured(ledger: Ledger, plan: Plan) -> dict[str, float]:
    """Mean seconds a trial of each shape took on this kind of device, from the ledger."""
    trials = ledger.trials(table.SUMMARY)
    if trials.empty:
        return {}
    keys = {trial.digest: trial.configuration.pack_key for trial in plan.trials}
    same = trials[trials["device"] == plan.device]
    return {str(key): float(value) for key, value in same.groupby(same["digest"].map(keys))["seconds"].mean().items()}
