"""Procedures: what a trial does beyond the plain loop, each a class behind one protocol. The pack loop names none of them."""

from collections.abc import Sequence

from folklore.harness.data import Dataset
from folklore.harness.spec import Configuration
from folklore.harness.training.network import PackedNetwork
from folklore.harness.training.procedures.accumulation import Accumulation
from folklore.harness.training.procedures.base import Around, Evaluation, Procedure
from folklore.harness.training.procedures.epochs import Epochs
from folklore.harness.training.procedures.full_batch import FullBatch
from folklore.harness.training.procedures.plain import Plain
from folklore.harness.training.procedures.plateau import PlateauDrops

SAMPLINGS: dict[str, type[Plain]] = {"replacement": Plain, "epochs": Epochs, "full": FullBatch}


def require_data(configuration: Configuration, dataset: Dataset) -> None:
    """Raises UserError for data that a configuration cannot be trained on."""
    SAMPLINGS[configuration.training.sampling].check(configuration, dataset)


def make_procedure(lanes: Sequence[Configuration], seeds: Sequence[int], dataset: Dataset, network: PackedNetwork) -> Procedure:
    """What a pack of these lanes does. Raises UserError for data that it cannot be done with."""
    training = lanes[0].training
    require_data(lanes[0], dataset)
    procedure: Procedure = SAMPLINGS[training.sampling](lanes[0], seeds, dataset, network)
    if training.micro_batches > 1:
        procedure = Accumulation(procedure, network, training.micro_batch_size)
    if any(lane.training.schedule == "reduce_on_plateau" for lane in lanes):
        procedure = PlateauDrops(procedure, [lane.training for lane in lanes], network.flat_KP.device)
    return procedure


__all__ = ["Around", "Evaluation", "Procedure", "make_procedure", "require_data"]
