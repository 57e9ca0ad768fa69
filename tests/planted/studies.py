"""Studies whose answers are known beforehand: claims for every verdict and every reading, those among them that nothing could
decide.

EXPECTED says what has to become of each: verdict and reading. Thresholds lie around the truths of `truths.py`, which a test
checks.
"""

from collections.abc import Sequence
from typing import Any

from folklore.harness.declare import (
    Arm,
    AtLeast,
    AtMost,
    Claim,
    Criterion,
    Judgement,
    Measurement,
    Observable,
    Outside,
    Regime,
    Rule,
    Scale,
    Study,
    Training,
    Within,
    Workload,
    log2_grid,
)
from folklore.harness.declare.claims import Quantifier
from folklore.harness.declare.metrics import (
    FinalLoss,
    MaxTrainable,
    NoiseScale,
    Optimum,
    Quotient,
    RelativeGap,
    Share,
    Slope,
    TunedLoss,
)
from folklore.studies.metrics.critical_batch import critical_batch_size
from tests.planted import truths

SCALE = "laptop"
Outcome = tuple[str, str]
# Name and paraphrase of a claim, what is observed, the regions claimed and refuted (none: the test's own), what is expected.
Row = tuple[str, str, Observable, Rule | None, Rule | None, Outcome]
EXPECTED: dict[str, Outcome] = {}
SUPPORTED = ("supported", "")
OPEN = ("open", "too noisy")


def refuted(reading: str) -> Outcome:
    return "refuted", reading


def partly(reading: str) -> Outcome:
    return "partly", reading


class _Claims:
    """Collects a study's claims and judgements, and what is expected of them."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.judgements: list[Judgement] = []

    def add(self, *rows: Row, **fields: Any) -> None:
        """fields: of all their criteria."""
        for name, says, observe, claimed, refuted, expected in rows:
            criterion = {"name": says, "observe": observe, "claimed": claimed, "refuted": refuted, **fields}
            self.together(name, says, (criterion,), expected)

    def together(
        self,
        name: str,
        says: str,
        criteria: Sequence[dict[str, Any]],
        expected: Outcome,
        regime: Regime | None = None,
        quantifier: Quantifier = "all",
    ) -> None:
        said = {"paraphrase": says, "measure": "known in closed form", "regime": regime, "quantifier": quantifier}
        self.claims.append(Claim.model_validate({"id": name, "kinds": ("empirical",), **said}))
        made = tuple(
            Criterion.model_validate({key: value for key, value in criterion.items() if value is not None})
            for criterion in criteria
        )
        self.judgements.append(Judgement(claim=name, criteria=made))
        EXPECTED[name] = expected


# So many dimensions that a run's loss is near its expectation: with 16, single runs pass the target early enough to move the
# critical batch size from 38 to 21 (by drawing such bowls).
SIZE = 128
# Down to 2^-6, since the bar stands on the lowest loss, which momentum reaches at 2^-4.
EDGE_BATCH, EDGE_STEPS, EDGE_GRID, EDGE_SHARE = 256, 60, log2_grid(-6, 2, 4), 0.5
NOISE_BATCH, NOISE_STEPS, NOISE_WINDOW = 8, 60, 0.2
SWEEP_STEPS, SWEEP_SHARE = 200, 0.95
# Batch size -> where on the log2 axis its LR grid begins; it has thirteen points, two an octave. That of the anchor reaches
# down to the LR that ends lowest, which is smaller than the one that gets to the target soonest.
SWEEP = {2: -5.5, 4: -4.5, 8: -5.0, 16: -3.0, 32: -3.0, 64: -3.0}


def _bowl_study() -> Study:
    own = _Claims()

    def edge(arm: str) -> MaxTrainable:
        return MaxTrainable(arm=arm, within=EDGE_SHARE)

    by_momentum, by_warmup = (Quotient(top=edge(arm), bottom=edge("plain")) for arm in ("momentum", "warmup"))
    noise = NoiseScale(arm="noisy", last=NOISE_WINDOW)
    sweep = critical_batch_size(points=tuple((batch, f"b{batch}") for batch in SWEEP), anchor="b8", share=SWEEP_SHARE)
    one_more = RelativeGap(left=TunedLoss(arm="longer"), right=TunedLoss(arm="noisy"))
    raised, not_raised = AtLeast(value=1.5), AtMost(value=1.2)
    unchanged, changed = Within(low=0.8, high=1.25), Outside(low=0.66, high=1.5)
    small_noise, large_noise = Within(low=2.0, high=4.5), Outside(low=1.0, high=9.0)
    near, far = Within(low=18.0, high=75.0), Outside(low=9.0, high=150.0)
    own.add(
        ("bowl.momentum", "Momentum 0.9 raises the largest stable LR", by_momentum, raised, not_raised, SUPPORTED),
        ("bowl.momentum_not", "Momentum leaves that LR alone", by_momentum, unchanged, changed, refuted("larger")),
        ("bowl.warmup", "Warmup raises the largest stable LR", by_warmup, raised, AtMost(value=1.25), refuted("smaller")),
        ("bowl.noise", "The noise scale is that of the bowl", noise, small_noise, large_noise, SUPPORTED),
        ("bowl.noise_large", "It is at least 16", noise, AtLeast(value=16.0), AtMost(value=9.0), refuted("smaller")),
        ("bowl.critical", "The critical batch size is that of the bowl", sweep, near, far, SUPPORTED),
        ("bowl.critical_large", "It is at least 300", sweep, AtLeast(value=300.0), AtMost(value=150.0), refuted("smaller")),
        ("bowl.one_more_step", "One step more ends lower", one_more, AtMost(value=0.0), AtLeast(value=0.0), OPEN),
    )
    _add_readings(own, by_momentum, one_more)
    large = {"batch_size": EDGE_BATCH, "steps": EDGE_STEPS}
    noisy = log2_grid(-6, 1)
    return Study(
        name="planted_bowl",
        version=1,
        title="A noisy bowl",
        question="Is what is known of a quadratic found?",
        workload=Workload(model="quadratic", dataset=f"quadratic:{SIZE}"),
        training=Training(
            optimizer="sgd",
            momentum=0.0,
            weight_decay=0.0,
            schedule="constant",
            warmup_fraction=0.0,
            batch_size=NOISE_BATCH,
            steps=NOISE_STEPS,
        ),
        measurement=Measurement(probes=20, evaluations=4, evaluation_examples=2048, final_examples=2048),
        arms={
            "plain": Arm(label="plain", settings=large),
            "momentum": Arm(label="momentum 0.9", settings={**large, "momentum": 0.9}),
            "warmup": Arm(label="a fifth of warmup", settings={**large, "warmup_fraction": 0.2}),
            "noisy": Arm(label="batches of 8", settings={"probes": NOISE_STEPS}, factors={"peak_lr": noisy}),
            "longer": Arm(label="batches of 8, one step more", settings={"steps": NOISE_STEPS + 1}, factors={"peak_lr": noisy}),
            **{
                f"b{batch}": Arm(
                    label=f"batches of {batch}",
                    settings={
                        "batch_size": batch,
                        "steps": SWEEP_STEPS,
                        "evaluations": SWEEP_STEPS,
                        "evaluation_examples": 512,
                    },
                    factors={"peak_lr": tuple(2.0 ** (first + index / 2) for index in range(13))},
                )
                for batch, first in SWEEP.items()
            },
        },
        factors={"peak_lr": EDGE_GRID},
        seeds=8,
        scales={SCALE: Scale(description="planted")},
        claims=tuple(own.claims),
        judgements=tuple(own.judgements),
    )


def _add_readings(own: _Claims, by_momentum: Quotient, one_more: RelativeGap) -> None:
    """Momentum makes the largest stable LR about 1.6 times larger; one step more of sixty changes next to nothing."""
    ratio, difference = {"null": 1.0, "unit": "x"}, {"null": 0.0}
    lower, higher = AtMost(value=0.8), AtLeast(value=4.0)
    own.add(("bowl.momentum_lowers", "Momentum lowers it", by_momentum, lower, higher, refuted("opposite")), **ratio)
    fifth, half = AtMost(value=-0.2), AtLeast(value=0.5)
    helps: Row = ("bowl.one_more_helps", "One step more ends a fifth lower", one_more, fifth, half, refuted("no effect"))
    own.add(helps, margin=0.15, **difference)
    same: Row = ("bowl.one_more_equal", "One step more ends the same", one_more, None, None, SUPPORTED)
    own.add(same, test="equivalence", margin=0.15, **difference)
    same = ("bowl.momentum_equal", "Momentum does nothing", by_momentum, None, None, refuted("different"))
    own.add(same, test="equivalence", margin=1.1, **ratio)
    harmless: Row = ("bowl.momentum_no_worse", "Momentum does no harm", by_momentum, None, None, SUPPORTED)
    own.add(harmless, test="no_worse", margin=1.1, better="higher", **ratio)
    harmless = (
        "bowl.momentum_no_better",
        "Momentum keeps the largest stable LR down",
        by_momentum,
        None,
        None,
        refuted("worse"),
    )
    own.add(harmless, test="no_worse", margin=1.1, **ratio)
    own.together(
        "bowl.modern",
        "Momentum raises the largest stable LR of a transformer",
        ({"name": "ratio", "observe": by_momentum, "claimed": AtLeast(value=1.5), "refuted": AtMost(value=1.2)},),
        ("out of regime", "regime"),
        regime=Regime(words="transformers", models=("gpt",)),
    )


BATCHES, FEATURES = (4, 8, 16, 32), 256
WIDTHS, WIDTH_BATCH = (32, 64, 128, 256), 8
# Steps are this over the best LR, so that every arm gets equally far.
REACH = 4.0
BATCH_SLOPE = truths.slope(BATCHES, [truths.best_regression_lr(FEATURES, batch) for batch in BATCHES])
WIDTH_SLOPE = truths.slope(WIDTHS, [truths.best_regression_lr(features, WIDTH_BATCH) for features in WIDTHS])


def _width_arm(features: int) -> str:
    return f"b{WIDTH_BATCH}" if features == FEATURES else f"d{features}"


def _add_combinations(own: _Claims, by_batch: Slope, by_width: Slope) -> None:
    """The best LR grows about as fast as the batch, and falls about as fast as the width grows."""
    null = {"null": 0.0}
    no_growth = AtMost(value=0.1)
    partial: tuple[Row, ...] = (
        ("regression.surely", "It grows faster", by_batch, AtLeast(value=BATCH_SLOPE), no_growth, partly("direction")),
        ("regression.square", "It grows as the square", by_batch, AtLeast(value=1.8), no_growth, partly("smaller")),
        ("regression.slowly", "It grows slowly", by_batch, Within(low=0.2, high=0.5), no_growth, partly("larger")),
    )
    own.add(*partial, **null)
    band, far = Within(low=0.4, high=0.6), Outside(low=0.1, high=1.5)
    own.add(("regression.no_band", "The exponent is about 0.5", by_batch, band, far, ("open", "between")))
    linear = {"claimed": AtLeast(value=0.5), "refuted": AtMost(value=0.2), **null}
    batch, width = ({**linear, "name": name, "observe": slope} for name, slope in (("batch", by_batch), ("width", by_width)))
    on_batch, on_width = {**batch, "panel": "batches"}, {**width, "panel": "widths"}
    own.together("regression.both", "The best LR grows with batch and width", (batch, width), partly("some parts"))
    # It falls with the width: there is no growth to take a share of.
    share = {**linear, "name": "share", "observe": Share(part=by_batch, whole=by_width, whole_at_least=0.2)}
    untested = "It grows with the batch, and half of what it grows by with the width"
    own.together("regression.half", untested, (batch, share), partly("untested parts"))
    own.together("regression.any", "The best LR grows with anything", (on_batch, on_width), partly("some workloads"))
    own.together("regression.some", "It grows with something", (on_batch, on_width), SUPPORTED, quantifier="some")
    condition = {**width, "precondition": True}
    own.together("regression.if", "If with width, then with batch", (batch, condition), ("out of regime", "precondition"))


def _regression_study() -> Study:
    own = _Claims()
    by_batch = Slope(points=tuple((batch, Optimum(arm=f"b{batch}")) for batch in BATCHES))
    by_width = Slope(points=tuple((features, Optimum(arm=_width_arm(features))) for features in WIDTHS))
    proportional, apart = Within(low=0.85, high=1.05), Outside(low=0.75, high=1.15)
    root, no_root = Within(low=0.4, high=0.6), Outside(low=0.25, high=0.75)
    inverse, not_inverse = Within(low=-1.05, high=-0.75), Outside(low=-1.2, high=-0.6)
    still, moved = Within(low=-0.1, high=0.1), Outside(low=-0.25, high=0.25)
    above, below = AtLeast(value=BATCH_SLOPE), AtMost(value=BATCH_SLOPE)
    own.add(
        ("regression.linear", "The best LR grows in proportion to the batch", by_batch, proportional, apart, SUPPORTED),
        ("regression.root", "The best LR grows as the root of the batch", by_batch, root, no_root, refuted("larger")),
        ("regression.width", "The best LR falls as one over the width", by_width, inverse, not_inverse, SUPPORTED),
        ("regression.still", "The best LR does not move with the width", by_width, still, moved, refuted("smaller")),
        ("regression.exactly", "The exponent is above its true value", by_batch, above, below, OPEN),
    )
    _add_combinations(own, by_batch, by_width)

    def arm(label: str, features: int, batch: int) -> Arm:
        best = truths.best_regression_lr(features, batch)
        return Arm(
            label=label,
            settings={"dataset": f"regression:{features}", "batch_size": batch, "steps": round(REACH / best)},
            factors={"peak_lr": tuple(best * 2.0 ** (index / 2) for index in range(-3, 3))},
        )

    return Study(
        name="planted_regression",
        version=1,
        title="Linear regression",
        question="Is the best LR of least squares found?",
        workload=Workload(model="linear", dataset=f"regression:{FEATURES}"),
        training=Training(optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=2048, final_examples=2048),
        arms={
            **{f"b{batch}": arm(f"batches of {batch}", FEATURES, batch) for batch in BATCHES},
            **{
                f"d{features}": arm(f"{features} features", features, WIDTH_BATCH)
                for features in WIDTHS
                if features != FEATURES
            },
        },
        factors={"peak_lr": (0.01,)},
        seeds=10,
        scales={SCALE: Scale(description="planted")},
        claims=tuple(own.claims),
        judgements=tuple(own.judgements),
    )


SYMBOLS = 8


def _markov_study() -> Study:
    from folklore.harness.train.workloads.data.synthetic import entropy

    least = entropy(SYMBOLS)
    own = _Claims()
    loss = FinalLoss(arm="gpt")
    within_reach, missed = AtMost(value=1.05 * least), AtLeast(value=1.1 * least)
    beyond, reached = AtMost(value=0.95 * least), AtLeast(value=0.97 * least)
    own.add(
        ("markov.reached", "A GPT comes within 5% of the entropy", loss, within_reach, missed, SUPPORTED),
        ("markov.beaten", "A GPT goes 5% below the entropy", loss, beyond, reached, refuted("larger")),
    )
    return Study(
        name="planted_markov",
        version=1,
        title="A Markov chain",
        question="Is the entropy reached, and not more?",
        workload=Workload(model="gpt", dataset=f"markov:{SYMBOLS}", width=16, depth=1, context=16),
        training=Training(steps=300, batch_size=16, weight_decay=0.0),
        measurement=Measurement(probes=2, evaluations=1, final_examples=1024),
        arms={"gpt": Arm(label="a small GPT")},
        factors={"peak_lr": (2.0**-6,)},
        seeds=5,
        scales={SCALE: Scale(description="planted")},
        claims=tuple(own.claims),
        judgements=tuple(own.judgements),
    )


STUDIES = (_bowl_study(), _regression_study(), _markov_study())
