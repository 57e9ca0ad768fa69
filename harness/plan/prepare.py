"""Prepares a run before it trains: the plan, what is left of it, what it will cost.

Torch is imported only if something is left to train, or if the cost of training is asked for: its import takes seconds.
"""

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from ..declare import Configuration, Study, Workload
from ..declare.computed import ComputedJob
from ..errors import UserError, unknown
from ..options import Options
from ..train.machine.description import Device, local_device, worker_memory_bytes
from ..train.parts import require_data, require_model
from ..train.precisions import precision_named
from ..train.workloads import data, workload_of
from . import cost
from .computing import computed_jobs
from .cost import NOTHING_LEFT, Estimate
from .plan import Plan, PlannedPack, Plans, Setting, settings
from .search_results import searched_plan
from .starts import nothing_left_of, require_same_parameters, tell_again
from .store.ledger import Ledger

log = logging.getLogger(__name__)

# Up to four epochs repeated data are worth nearly as much as new (Muennighoff et al. 2023).
MOST_EPOCHS = 4

if TYPE_CHECKING:
    from ...models import Model
    from .lanes import Choice, Packing, Shape


@dataclass(frozen=True)
class Prepared:
    """A plan with everything that can be known before training.

    datasets: what a plan calls its data (Workload.data) -> the dataset used for it; facts: what is known of each. left: what
    is to be trained; of a search, that of the rounds known so far and stand-ins for the rest. jobs, jobs_left: digest -> what
    is computed. plans: all that were made of its study.
    """

    plan: Plan
    plans: Plans
    datasets: Mapping[str, str]
    facts: Mapping[str, data.DataFacts]
    left: tuple[PlannedPack, ...]
    estimate: Estimate
    device: Device
    options: Options
    ledger: Ledger
    jobs: Mapping[str, ComputedJob] = field(default_factory=dict)
    jobs_left: Mapping[str, ComputedJob] = field(default_factory=dict)

    @property
    def data_hashes(self) -> dict[str, str]:
        """The study's name of a dataset -> the hash of its content."""
        return {name: dataset.hash for name, dataset in self.facts.items()}

    @cached_property
    def model_of(self) -> "Callable[[Workload], Model]":
        """Builds the model of a workload, each once; torch is imported with the first."""
        return cache(lambda workload: workload_of(workload).model(self.facts[workload.data]))

    @cached_property
    def packing(self) -> "Packing":
        from .lanes import Packing

        return Packing(self.ledger.store, self.device, self.model_of, self.options.lanes, self.options.program)

    @cached_property
    def shapes(self) -> "dict[str, Shape]":
        """Shape key -> what is to be trained of it."""
        from .lanes import shapes

        return shapes(self.plan.trials, self.datasets)

    def choices(self) -> "dict[str, Choice]":
        """Shape -> how many lanes its packs have, and as what program they run, as far as it is known now."""
        return self.packing.choices(self.shapes)

    @cached_property
    def proof(self) -> str:
        """The comparison of its workload with plain PyTorch, made before it is trained, in words; '' if there is none."""
        return workload_of(self.plan.study.workload).proof()

    @cached_property
    def parameters(self) -> int:
        """The number of parameters of the largest model."""
        workloads = {trial.configuration.workload for trial in self.plan.trials}
        return max(sum(math.prod(p.shape) for p in self.model_of(workload).parameters) for workload in workloads)


def default_scale(study: Study, device: Device | None = None) -> str:
    """The scale that fits a device, or this machine: gpu where there is one, laptop elsewhere. Without it, the first judged one
    of another name, else the first."""
    wanted = "gpu" if (device or local_device()).kind == "cuda" else "laptop"
    own = (
        name for name, scale in study.scales.items() if scale.judged and name not in ("laptop", "workstation", "gpu", "cluster")
    )
    return wanted if wanted in study.scales else next(own, next(iter(study.scales)))


def prepare(
    study: Study, scale: str, options: Options, ledger: Ledger, only_plan: bool = False, cluster: Device | None = None
) -> Prepared:
    """Plan a study at a scale against what is done. Trains nothing; raises UserError where it could not be run.

    only_plan: assume the device the scale is meant for, and data that is still to be given. cluster: the devices it is trained
    on, where these are not this machine's.
    """
    resolved = settings(study, scale)
    configurations = _configurations(study, scale, resolved)
    workloads = {configuration.workload.data: configuration.workload for configuration in configurations}
    datasets = _datasets(study, scale, workloads, options)
    facts = {name: data.describe(used, workloads[name].tokenizer) for name, used in datasets.items()}
    device = _device(study, scale, options, only_plan, cluster or local_device())
    plans, hashes = Plans(), {name: dataset.hash for name, dataset in facts.items()}
    plan = plans.plan(study, scale, device.kind, hashes, resolved=resolved)
    ready = Prepared(plan, plans, datasets, facts, (), NOTHING_LEFT, device, options, ledger)
    return _against_ledger(ready, configurations, only_plan)


def extended(ready: Prepared, study: Study) -> Prepared:
    """The same with the seeds that the study has by now; what is planned stays as it is. Raises UserError as `prepare` does."""
    plan = ready.plan.with_seeds(study)
    return _against_ledger(replace(ready, plan=plan), _configurations(study, plan.scale, plan.settings))


def _against_ledger(ready: Prepared, configurations: Sequence[Configuration], only_plan: bool = False) -> Prepared:
    """The same with the packs that are left of the plan, and their cost. Raises UserError if they cannot be trained."""
    plan, ledger, datasets = ready.plan, ready.ledger, ready.datasets
    if plan.study.search_at(plan.scale) is not None:
        plan = outline(searched_plan(plan, ledger.trials()))
    jobs, done = computed_jobs(plan.study, plan.scale), nothing_left_of(plan.trials, ledger.digests(), ledger.states)
    tell_again(plan.digests & ledger.digests(), done)
    computed = ledger.computations() if jobs else {}
    jobs_left = {digest: job for digest, job in jobs.items() if digest not in computed}
    ready = replace(ready, plan=plan, left=(), estimate=NOTHING_LEFT, jobs=jobs, jobs_left=jobs_left)
    # All is trained, and so could be: no check is needed for which torch would have to be imported.
    if not only_plan and ready.options.program is None and plan.digests <= done:
        return ready
    _require_trainable(ready, configurations)
    # A plan can be made without data that are still to be given by the user.
    available = [
        configuration
        for configuration in configurations
        if not only_plan or datasets[configuration.workload.data] not in data.BY_PATH
    ]
    _require_data(available, datasets, plan.scale in (plan.study.ladder or ()))
    plan = plan.with_lanes({key: choice.lanes for key, choice in ready.choices().items()})
    packs, measured = plan.without(done), _measured(ledger, plan)
    timed = _timed(packs, datasets, ready.device, measured)
    estimate = cost.estimate(packs, ready.device, ready.model_of, measured, timed)
    return replace(ready, plan=plan, left=packs, estimate=estimate)


def _require_trainable(ready: Prepared, configurations: Collection[Configuration]) -> None:
    """Raises UserError for a model that cannot be built, and for what this device cannot do or hold."""
    import torch

    from ..train.programs import program_named
    from ..train.workloads.own.finding import find_again
    from .own_study import require_proved

    study, scale, device, model_of = ready.plan.study, ready.plan.scale, ready.device, ready.model_of
    for own in {configuration.workload.own for configuration in configurations}:
        if own is not None:
            require_proved(find_again(own), ready.ledger.store)
    for configuration in configurations:
        workload_of(configuration.workload).require_trainable(configuration)
        require_model(configuration, model_of(configuration.workload))
    require_same_parameters(ready.plan.settings, model_of)
    _require_precisions(study, scale, device, {configuration.training.precision for configuration in configurations})
    if ready.options.program is not None:
        program_named(ready.options.program, torch.device(device.kind))
    free = worker_memory_bytes(device)
    heaviest = max(configurations, key=lambda configuration: cost.lane_bytes(configuration, model_of(configuration.workload)))
    if cost.lanes_that_fit(heaviest, model_of(heaviest.workload), free) < 1:
        need = cost.lane_bytes(heaviest, model_of(heaviest.workload))
        raise UserError(
            f"study '{study.name}' at scale '{scale}' needs {need / 2**30:.1f} GiB a lane, and {device.name} has"
            f" {free / 2**30:.1f} GiB free for each of {device.count} workers; choose a smaller scale"
            f"{'' if device.elsewhere else ' or fewer --workers'}"
        )


def _require_data(configurations: Iterable[Configuration], datasets: Mapping[str, str], rung: bool) -> None:
    """Raises UserError for data that a configuration cannot be trained on. rung: of a ladder, whose sizes would differ in how
    often they see their data."""
    for configuration in configurations:
        workload = configuration.workload
        dataset = data.load(datasets[workload.data], workload.tokenizer)
        require_data(configuration, dataset.limited(workload.training_set_size, workload.training_set == "drawn"))
        if rung and (epochs := data.epochs_of(configuration, dataset)) > MOST_EPOCHS:
            raise UserError(
                f"dataset '{workload.data}': a run of {configuration.training.steps:,} steps would see it {epochs:.1f} times,"
                f" and a rung of a ladder at most {MOST_EPOCHS}: give more with --data {workload.dataset}=text:PATH, or end the"
                " ladder below"
            )
    for workload in {configuration.workload for configuration in configurations}:
        data.load(datasets[workload.data], workload.tokenizer).training_arrays(workload.label_noise)


def _configurations(study: Study, scale: str, resolved: Iterable[Setting]) -> list[Configuration]:
    """One configuration of each shape and length."""
    known = [setting.configuration for setting in resolved]
    known += [study.configuration(scale, arm, {}) for arm in study.arms_at(scale) if study.arms[arm].searched]
    return list({configuration.pack_key: configuration for configuration in known}.values())


def _datasets(study: Study, scale: str, workloads: Mapping[str, Workload], options: Options) -> dict[str, str]:
    names = sorted({workload.dataset for workload in workloads.values()})
    for name in options.datasets:
        if name not in names:
            raise unknown(f"dataset of study '{study.name}' at scale '{scale}'", name, names)
    return {name: options.datasets.get(workloads[name].dataset, workloads[name].dataset) for name in sorted(workloads)}


def datasets_named(study: Study, scale: str) -> set[str]:
    """The study's names of the datasets that it trains on at a scale."""
    return {configuration.workload.dataset for configuration in _configurations(study, scale, settings(study, scale))}


def outline(plan: Plan) -> Plan:
    """A searched plan with stand-ins for the proposals that are still to be made, for counting and costing."""
    searches = plan.study.searches_at(plan.scale)
    proposals = {arm: list(plan.proposals.get(arm, ())) for arm in searches}
    for arm, search in searches.items():
        proposals[arm] += search.spread(max(0, search.budget - len(proposals[arm])))
    return plan.with_search(proposals, {arm: plan.chosen.get(arm, search.middle) for arm, search in searches.items()})


def _device(study: Study, scale: str, options: Options, only_plan: bool, machine: Device) -> Device:
    """The device to run on. A plan may assume a GPU that is not here."""
    device = machine if options.workers is None else replace(machine, count=options.workers)
    if only_plan and study.scale(scale).device == "cuda" and device.kind == "cpu":
        return replace(cost.ASSUMED_GPU, count=options.workers or 1)
    return device


def _require_precisions(study: Study, scale: str, device: Device, precisions: Collection[str]) -> None:
    """Raises UserError for a precision that the device does not have."""
    for precision in sorted(precisions):
        if device.kind not in precision_named(precision).flops_per_second:
            raise UserError(
                f"study '{study.name}' at scale '{scale}': precision {precision} needs a CUDA GPU and"
                f" {'this cluster' if device.elsewhere else 'this machine'} has none; choose another --scale (it fits"
                f" {default_scale(study, device)})"
            )


def progress(prepared: Prepared) -> tuple[int, int]:
    """The number of trials and computed jobs stored now, and that of all in the plan; of a search, as far as its proposals are
    known."""
    plan = prepared.plan
    if plan.study.search_at(plan.scale) is not None:
        plan = outline(searched_plan(plan.with_search({}, {}), prepared.ledger.trials()))
    computed = prepared.jobs.keys() & prepared.ledger.computations().keys() if prepared.jobs else set[str]()
    return len(plan.digests & prepared.ledger.digests()) + len(computed), len(plan.digests) + len(prepared.jobs)


def _timed(
    packs: Iterable[PlannedPack], datasets: Mapping[str, str], device: Device, measured: Mapping[str, float]
) -> dict[str, float]:
    """Shape key -> seconds of a lane's step, of workloads whose cost is not counted and of which nothing is stored. Timed on
    the device that they will train on, if it is here; a step is little beside their training."""
    step_seconds: dict[str, float] = {}
    if device.elsewhere or device.kind != local_device().kind:
        return step_seconds
    for pack in packs:
        configuration, lanes = pack.trials[0].configuration, len(pack.trials)
        key = configuration.shape_key
        workload = workload_of(configuration.workload)
        if not workload.cost_is_counted and configuration.pack_key not in measured and key not in step_seconds:
            from ..train.throughput import time_one_step

            with workload.raising():
                dataset = workload.data(datasets[configuration.workload.data])
                step_seconds[key] = time_one_step(configuration, dataset, device.kind, lanes) / lanes
    return step_seconds


def _measured(ledger: Ledger, plan: Plan) -> dict[str, float]:
    """Mean seconds a trial of each shape took on this kind of device, from the ledger."""
    keys, times = {trial.digest: trial.configuration.pack_key for trial in plan.trials}, defaultdict(list)
    for rows in ledger.tables(["digest", "device", "seconds"]):
        for digest, device, seconds in zip(*(rows[name].to_pylist() for name in ("digest", "device", "seconds")), strict=True):
            if device == plan.device and digest in keys:
                times[keys[digest]].append(seconds)
    return {key: fmean(seconds) for key, seconds in times.items()}
