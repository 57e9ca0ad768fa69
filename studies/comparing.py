"""One question as a study: is one of two settings, or of two workloads, better than the other?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..harness.declare import *
from ..harness.declare.metrics import *
from ..harness.declare.own_address import comparable
from .criteria import exceeds

# The settings of `compare` unless it is told others: no warmup, no decay, no regularizer that nobody asked for.
PLAIN_TRAINING = {
    "optimizer": "adamw",
    "schedule": "constant",
    "warmup_fraction": 0.0,
    "weight_decay": 0.0,
    "batch_size": 32,
    "steps": 300,
}
PLAIN_WORKLOAD = {"model": "mlp", "dataset": "digits", "width": 32, "depth": 2}
SCALES = {
    "laptop": Scale(description="two CPU cores"),
    "smoke": Scale(description="plumbing, never judged", training={"steps": 20}, seeds=1, judged=False),
}
METRICS = ("test_loss", "test_error", "final_training_loss", "final_training_error")


def compare(
    baseline: Any,
    candidate: Any,
    metric: str = "test_loss",
    better: Literal["lower", "higher"] = "lower",
    by: float = 0.005,
    *,
    name: str = "comparison",
    labels: tuple[str, str] = ("baseline", "candidate"),
    workload: Mapping[str, Any] = PLAIN_WORKLOAD,
    training: Mapping[str, Any] | None = None,
    peak_lrs: Sequence[float] = log2_grid(-11, 1, 1),
    seeds: int = 10,
) -> Study:
    """A study of one question: is the candidate's metric better than the baseline's by at least `by`?

    baseline, candidate: settings in which the two differ, of training, workload or measurement ({"momentum": 0.9}); or two
    workloads of your own, as objects or by MODULE:ATTRIBUTE, with one loss (or, for an error, one metric) and one test set.
    Both are trained at every peak LR with the same seeds and judged at their own best, chosen by validation loss.
    metric: of METRICS. better: "lower"; "higher" where the claim is that the candidate raises it. by: what matters, for a loss
    as a share of the loss reduction, for an error as a share of examples. training: over PLAIN_TRAINING.
    Raises ValueError for another metric and for a `by` that is not positive, UserError for workloads that cannot be compared.
    """
    question = Question(metric, better, by, *labels)
    fields: dict[str, Any] = {"workload": Workload(**workload)}
    if not isinstance(baseline, Mapping):
        fields, candidate = _own_workloads(baseline, candidate, metric)
        baseline = {}
    return Study(
        name=name,
        version=1,
        title=question.title,
        question=question.text,
        training=Training(**{**PLAIN_TRAINING, **(training or {})}),
        measurement=question.measurement,
        factors={"peak_lr": tuple(peak_lrs)},
        arms={
            "baseline": Arm(label=question.baseline, settings=dict(baseline), reference=True),
            "candidate": Arm(label=question.candidate, settings=dict(candidate)),
        },
        seeds=seeds,
        scales=SCALES,
        claims=(question.claim(f"{name}.{better}"),),
        judgements=(question.judgement(f"{name}.{better}"),),
        **fields,
    )


def _own_workloads(baseline: Any, candidate: Any, metric: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the study of two workloads, and the settings of the second."""
    first, second = comparable(baseline, candidate, metric)
    workload = Workload(**first.declared.model_dump(include={"model", "dataset"}))
    names = {"loss_name": first.workload.loss_name, "loss_unit": first.workload.loss_unit}
    return {"workload": workload, **names}, {"dataset": second.declared.dataset}


@dataclass(frozen=True)
class Question:
    """Is a metric of the candidate better by at least `by` than that of the baseline? Both are the arms' labels."""

    metric: str
    better: str
    by: float
    baseline: str
    candidate: str

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"metric = '{self.metric}': must be one of {', '.join(METRICS)}")
        if self.better not in ("lower", "higher"):
            raise ValueError(f"better = '{self.better}': must be lower or higher")
        if not self.by > 0:
            raise ValueError(f"by = {self.by}: must be positive, the smallest difference that matters")

    @property
    def noun(self) -> str:
        return self.metric.replace("_", " ")

    @property
    def is_error(self) -> bool:
        return self.metric.endswith("_error")

    @property
    def size(self) -> str:
        """The least difference that matters, in words."""
        size = f"{100 * self.by:.3g}"
        return f"{size} point{'s' * (size != '1')}" if self.is_error else f"{size}% of the loss reduction"

    @property
    def title(self) -> str:
        return f"Comparison of {self.candidate} with {self.baseline}"

    @property
    def text(self) -> str:
        return f"Is the {self.noun} of {self.candidate} {self.better} than that of {self.baseline} by {self.size}?"

    @property
    def measurement(self) -> Measurement:
        examples = 256 if self.metric.startswith("final") else 0
        return Measurement(probes=2, evaluation_examples=256, final_examples=1024, training_examples=examples)

    def claim(self, claim: str) -> Claim:
        paraphrase = (
            f"the {self.noun} of {self.candidate} is {self.better} than that of {self.baseline} by at least {self.size}"
        )
        return Claim(id=claim, paraphrase=paraphrase, measure="both at their own best LR, paired by seed")

    @property
    def criterion(self) -> Criterion:
        """How much higher one arm ends than the other: of a metric that is to fall, the baseline."""
        arms = {"baseline": self.baseline, "candidate": self.candidate}
        (first, one), (second, other) = arms.items() if self.better == "lower" else reversed(arms.items())
        of = None if self.metric == "test_loss" else self.metric
        left, right = TunedLoss(arm=first, of=of), TunedLoss(arm=second, of=of)
        if self.is_error:
            says = f"{one} ends {{higher}} in {self.noun} than {other}"
            return exceeds(Gap(left=left, right=right), self.noun, says, self.by, unit="share")
        says = f"In {self.noun}, {one} {{costs}} of the loss reduction compared with {other}"
        return exceeds(LossGap(left=left, right=right), self.noun, says, self.by)

    def judgement(self, claim: str) -> Judgement:
        advice = {
            "supported": f"Expect a {self.better} {self.noun} from {self.candidate}.",
            "refuted": f"Do not expect {self.candidate} to make the {self.noun} {self.better} by as much as matters.",
            "refuted: opposite": f"Expect a {self.better} {self.noun} from {self.baseline}.",
        }
        return Judgement(claim=claim, criteria=(self.criterion,), advice=advice)
