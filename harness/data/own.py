"""The tensors of a user's own workload as a dataset."""

from typing import Any

from torch import Tensor

from folklore.harness.data.base import DataFacts, Split
from folklore.harness.data.examples import Examples
from folklore.harness.own.finding import find_again
from folklore.harness.own.identity import data_hash


def own_examples(name: str) -> Examples:
    """The dataset own:MODULE:ATTRIBUTE@IDENTITY. What its targets mean its own loss knows. Raises UserError."""
    workload = find_again(name).workload
    pairs: dict[Split, tuple[Tensor, Tensor]] = {
        "train": workload.training,
        "validation": workload.validation,
        "test": workload.test,
    }

    def array(tensor: Tensor) -> Any:
        return tensor.detach().cpu().contiguous().numpy()

    return Examples(
        name=name,
        facts=DataFacts(hash=data_hash(workload), classes=0, features=tuple(workload.training[0].shape[1:])),
        splits={split: (array(inputs), array(targets)) for split, (inputs, targets) in pairs.items()},
    )
