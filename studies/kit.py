"""All that studies are written with, in one import: `from folklore.studies.kit import *`.

What a study declares, every metric that several studies use, the usual scales, grids, regions and comparisons. Each function
returns a metric, or what is declared of one, like any other.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..harness.declare import *
from ..harness.declare.metrics import *
from ..harness.declare.own_address import comparable
from ..harness.declare.prose import read_prose
from . import scales as scales


def study(file: str, *, scales: Mapping[str, Scale], judgements: Sequence[Judgement] = (), **fields: Any) -> Study:
    """The study of a module, with the words of the Markdown file beside it (harness/declare/prose.py). file: `__file__`, whose
    name is the study's. Raises UserError for words about what the study does not have, and without advice on a claim."""
    prose = read_prose(Path(file).with_suffix(".md"))
    prose.require([judgement.claim for judgement in judgements], scales)
    return Study(
        name=Path(file).stem,
        title=prose.title,
        question=prose.question,
        published=prose.published,
        departures=prose.departures,
        scales={name: prose.on_scale(name, scale) for name, scale in scales.items()},
        judgements=tuple(map(prose.on_claim, judgements)),
        **fields,
    )


def peak_lrs(*exponents: float) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: a peak LR of 2 to the power of each exponent."""
    return {"peak_lr": tuple(2.0**exponent for exponent in exponents)}


def lr_grid(low: float, high: float, per_octave: int = 1) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: peak LRs from 2^low to 2^high, both included."""
    count = round((high - low) * per_octave) + 1
    return peak_lrs(*(low + index / per_octave for index in range(count)))


def computed(function: str, number: str, **arguments: Any) -> Computed:
    """A number of a function in studies/computed, which trains nothing: `module.function`."""
    return Computed(function=function, arguments=arguments, number=number)


def loss_gap(arm: str, reference: str, metric: Any = TunedLoss, best_of: tuple[str, ...] = (), **options: Any) -> LossGap:
    """How much higher the arm ends than the reference, paired by seed, as a share of the loss reduction.

    metric: the loss of each, a kind such as TunedLoss, FinalLoss or LossAt; options: its other fields. best_of: the arms whose
    lowest loss ends the reduction; none: both.
    """
    return LossGap(left=metric(arm=arm, **options), right=metric(arm=reference, **options), best_of=best_of)


def reported_gap(arm: str, reference: str, **options: Any) -> tuple[LossGap, str]:
    """A loss gap with its unit, as `reported` takes it."""
    return loss_gap(arm, reference, **options), "relative"


def relative_loss_gap(arm: str, reference: str, metric: Any = TunedLoss, **options: Any) -> RelativeGap:
    """The same as a share of the reference's loss."""
    return RelativeGap(left=metric(arm=arm, **options), right=metric(arm=reference, **options))


def above(claimed: float, refuted: float | None = None, **options: Any) -> dict[str, Any]:
    """The regions of a criterion: claimed from a value up, refuted from there down, or from another."""
    return {"claimed": AtLeast(value=claimed), "refuted": AtMost(value=claimed if refuted is None else refuted), **options}


def below(claimed: float, refuted: float | None = None, **options: Any) -> dict[str, Any]:
    """The regions of a criterion: claimed from a value down, refuted from there up, or from another."""
    return {"claimed": AtMost(value=claimed), "refuted": AtLeast(value=claimed if refuted is None else refuted), **options}


def inside(low: float, high: float, refuted: Rule | tuple[float, float] | None = None, **options: Any) -> dict[str, Any]:
    """The regions of a criterion: claimed within a range, refuted outside of it, or of a wider one, or where `refuted` says."""
    if refuted is None:
        refuted = (low, high)
    if isinstance(refuted, tuple):
        refuted = Outside(low=refuted[0], high=refuted[1])
    return {"claimed": Within(low=low, high=high), "refuted": refuted, **options}


def outside(low: float, high: float, **options: Any) -> dict[str, Any]:
    """The regions of a criterion: claimed outside of a range, refuted within it."""
    return {"claimed": Outside(low=low, high=high), "refuted": Within(low=low, high=high), **options}


def predicted(value: float, source: str, spread: float | None = None, scales: tuple[str, ...] | None = None) -> Expected:
    """What theory or a publication predicts for a criterion. spread: between seeds, as a pilot had it."""
    return Expected(value=value, source=source, spread=spread, scales=scales)


def no_worse(name: str, observe: Any, says: str, margin: float = 0.005, **options: Any) -> Criterion:
    """Non-inferiority: at most `margin` higher than the reference; being better never refutes."""
    return Criterion(
        **{"test": "no_worse", "null": 0.0, "margin": margin, "unit": "relative", **options},
        name=name,
        observe=observe,
        says=says,
    )


def exceeds(name: str, observe: Any, says: str, by: float = 0.005, **options: Any) -> Criterion:
    """Above zero by at least what matters; refuted at zero and below, and where it is surely smaller than that."""
    return Criterion(
        **{"null": 0.0, "margin": by, **above(by, 0.0, unit="relative"), **options}, name=name, observe=observe, says=says
    )


def judgement(
    claim: str,
    *criteria: Criterion,
    if_supported: str = "",
    if_refuted: str = "",
    if_partly: str = "",
    if_opposite: str = "",
    advice: Mapping[str, str] | None = None,
    **options: Any,
) -> Judgement:
    """How a claim is decided: all of its criteria have to hold.

    if_supported ...: what a practitioner is told to do after such a verdict; opposite: refuted by an effect the other way.
    advice: the same after any other reading of a verdict (Judgement.advice). options: other fields of a Judgement.
    """
    told = {"supported": if_supported, "partly": if_partly, "refuted": if_refuted, "refuted: opposite": if_opposite}
    given = {verdict: what for verdict, what in told.items() if what}
    return Judgement(claim=claim, criteria=criteria, advice={**given, **(advice or {})}, **options)


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
        words,
        gap(left=left, right=right),
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
