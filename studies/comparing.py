"""One question as a study: is one of two settings, or of two workloads, better than the other?"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..harness.declare import *
from ..harness.declare.metrics import *
from ..harness.declare.own_address import comparable
from .criteria import exceeds

# What `compare` trains with where it is told nothing: no warmup, no decay, no regularizer that nobody asked for.
PLAIN_TRAINING = {
    "optimizer": "adamw",
    "schedule": "constant",
    "warmup_fraction": 0.0,
    "weight_decay": 0.0,
    "batch_size": 32,
    "steps": 300,
}
PLAIN_WORKLOAD = {"model": "mlp", "dataset": "digits", "width": 32, "depth": 2}
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
    if metric not in METRICS:
        raise ValueError(f"metric = '{metric}': must be one of {', '.join(METRICS)}")
    if better not in ("lower", "higher"):
        raise ValueError(f"better = '{better}': must be lower or higher")
    if not by > 0:
        raise ValueError(f"by = {by}: must be positive, the smallest difference that matters")
    old, new = labels
    names: dict[str, Any] = {}
    if not isinstance(baseline, Mapping):
        first, other = comparable(baseline, candidate, metric)
        workload = first.declared.model_dump(include={"model", "dataset"})
        baseline, candidate = {}, {"dataset": other.declared.dataset}
        names = {"loss_name": first.workload.loss_name, "loss_unit": first.workload.loss_unit}
    return Study(
        **names,
        name=name,
        version=1,
        title=f"Comparison of {new} with {old}",
        question=f"Is the {_words(metric)} of {new} {better} than that of {old} by {_size(metric, by)}?",
        workload=Workload(**workload),
        training=Training(**{**PLAIN_TRAINING, **(training or {})}),
        measurement=Measurement(
            probes=2, evaluation_examples=256, final_examples=1024, training_examples=256 if metric.startswith("final") else 0
        ),
        factors={"peak_lr": tuple(peak_lrs)},
        arms={
            "baseline": Arm(label=old, settings=dict(baseline), reference=True),
            "candidate": Arm(label=new, settings=dict(candidate)),
        },
        seeds=seeds,
        scales={
            "laptop": Scale(description="two CPU cores"),
            "smoke": Scale(description="plumbing, never judged", training={"steps": 20}, seeds=1, judged=False),
        },
        claims=(
            Claim(
                id=f"{name}.{better}",
                paraphrase=f"the {_words(metric)} of {new} is {better} than that of {old} by at least {_size(metric, by)}",
                measure="both at their own best LR, paired by seed",
            ),
        ),
        judgements=(_comparison(f"{name}.{better}", metric, better, by, labels),),
    )


def _comparison(claim: str, metric: str, better: str, by: float, labels: tuple[str, str]) -> Judgement:
    """Judges how much higher the first of the two ends: of a metric that is to fall that is the baseline."""
    (first, one), (second, other) = zip(("baseline", "candidate"), labels, strict=True)
    if better == "higher":
        (first, one), (second, other) = (second, other), (first, one)
    of = None if metric == "test_loss" else metric
    left, right = TunedLoss(arm=first, of=of), TunedLoss(arm=second, of=of)
    words, is_error = _words(metric), metric.endswith("_error")
    gap = Gap if is_error else LossGap
    criterion = exceeds(
        gap(left=left, right=right),
        words,
        f"{one} ends {{higher}} in {words} than {other}"
        if is_error
        else f"In {words}, {one} {{costs}} of the loss reduction compared with {other}",
        by,
        unit="share" if is_error else "relative",
    )
    old, new = labels
    advice = {
        "supported": f"Expect a {better} {words} from {new}.",
        "refuted": f"Do not expect {new} to make the {words} {better} by as much as matters.",
        "refuted: opposite": f"Expect a {better} {words} from {old}.",
    }
    return Judgement(claim=claim, criteria=(criterion,), advice=advice)


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _size(metric: str, by: float) -> str:
    size = f"{100 * by:.3g}"
    return f"{size} point{'s' * (size != '1')}" if metric.endswith("_error") else f"{size}% of the loss reduction"
