"""Origin of a run in MLflow's own terms, as its columns `Dataset`, `Source` and `Version` show it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mlflow.entities import Dataset, DatasetInput, InputTag

SOURCE, SOURCE_TYPE, COMMIT = "mlflow.source.name", "mlflow.source.type", "mlflow.source.git.commit"
CONTEXT = "mlflow.data.context"
# MLflow's limits on a dataset's name and digest.
LONGEST_NAME, LONGEST_DIGEST = 500, 36


@dataclass(frozen=True)
class Origin:
    """datasets: the study's name for each -> the hash of its content. commit: of the code, '' if it is not known."""

    study: str
    scale: str
    datasets: Mapping[str, str]
    commit: str = ""

    @property
    def tags(self) -> dict[str, str]:
        tags = {SOURCE: f"folklore run {self.study} --scale {self.scale}", SOURCE_TYPE: "LOCAL"}
        # The mark of a working copy that was changed is no part of a commit's name.
        return tags | ({COMMIT: self.commit.rstrip("+")} if self.commit else {})

    @property
    def inputs(self) -> list[DatasetInput]:
        return [_input(name, digest) for name, digest in self.datasets.items()]


def _input(name: str, digest: str) -> DatasetInput:
    source = json.dumps({"tags": {SOURCE: name, SOURCE_TYPE: "LOCAL"}})
    dataset = Dataset(name=name[:LONGEST_NAME], digest=digest[:LONGEST_DIGEST], source_type="code", source=source)
    return DatasetInput(dataset, [InputTag(CONTEXT, "training")])
