"""Procedures: what a trial does beyond the plain loop, each a class around another one. The pack loop names none of them."""

from collections.abc import Sequence

from ...declare import Configuration
from ...randomness import Order
from ..learner import Learner
from ..optimizers import optimizer_kind
from ..schedules import schedule_named
from ..workloads.data import Dataset
from .accumulation import Accumulation
from .augmentation import Augmentation, require_images
from .base import Evaluation, Procedure
from .batch_ramp import BatchRamp
from .consolidation import Consolidation
from .continuation import Continuation
from .curvature import Curvature, require_classes
from .dead_units import DeadUnits, require_units
from .epochs import Epochs
from .faults import Faults, require_labels
from .full_batch import FullBatch
from .outlier import Outlier
from .plain import Plain
from .plateau import PlateauDrops
from .remedies import Remedies
from .summed import Summed
from .tasks import Tasks, require_tasks
from .token_rows import TokenRows, require_rows

SAMPLINGS: dict[str, type[Plain]] = {"replacement": Plain, "epochs": Epochs, "full": FullBatch}


def require_data(configuration: Configuration, dataset: Dataset) -> None:
    """Raises UserError for data that a configuration cannot be trained on."""
    SAMPLINGS[configuration.training.sampling].check(configuration, dataset)
    require_classes(configuration, dataset)
    require_rows(configuration)
    require_units(configuration)
    require_images(configuration, dataset)
    require_tasks(configuration, dataset)
    require_labels(configuration, dataset)


def make_procedure(lanes: Sequence[Configuration], orders: Sequence[Order], dataset: Dataset, learner: Learner) -> Procedure:
    """What a pack of these lanes does."""
    trainings, seeds = [lane.training for lane in lanes], [order.seed for order in orders]
    training, network = trainings[0], learner.network
    procedure: Procedure = SAMPLINGS[training.sampling](lanes[0], seeds, dataset, network)
    if any(each.starts_from is not None for each in trainings):
        procedure = Continuation(procedure, trainings, orders, learner)
    tasks = Tasks(procedure, lanes, seeds, dataset, learner) if lanes[0].workload.tasks > 1 else None
    procedure = tasks or procedure
    if training.batch_ramp:
        procedure = BatchRamp(procedure, training)
    if any(each.augmentation != "none" for each in trainings):
        procedure = Augmentation(procedure, trainings, orders, dataset, learner)
    if training.micro_batches > 1:
        procedure = Accumulation(procedure, network, training.micro_batch_size)
    if network.sums:
        procedure = Summed(procedure, network)
    if tasks is not None and any(each.consolidation for each in trainings):
        procedure = Consolidation(procedure, tasks, lanes, learner)
    if optimizer_kind(training.optimizer).estimates_curvature:
        procedure = Curvature(procedure, training, orders, learner)
    if any(schedule_named(each.schedule).waits for each in trainings):
        procedure = PlateauDrops(procedure, trainings, learner)
    if any(each.outlier != "none" for each in trainings):
        procedure = Outlier(procedure, trainings, learner)
    if any(each.fault != "none" for each in trainings):
        procedure = Faults(procedure, trainings, orders, dataset, learner)
    if any(each.remedy != "none" for each in trainings):
        procedure = Remedies(procedure, trainings, learner)
    if lanes[0].measurement.token_rows:
        procedure = TokenRows(procedure, lanes[0], dataset, network)
    if lanes[0].measurement.dead_units:
        procedure = DeadUnits(procedure, lanes[0], network)
    return procedure


__all__ = ["SAMPLINGS", "Evaluation", "Procedure", "make_procedure", "require_data"]
