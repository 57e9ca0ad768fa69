"""What do the parts of Adam do: bias correction, epsilon, the second moment and what it remembers?"""

from folklore.harness.observables import CurveMean, Exact, FallShare, Scaled, TunedLoss
from folklore.harness.spec import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Judgement,
    Measurement,
    Outside,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Within,
    Workload,
    log2_grid,
)

# Constant, so that what a run recovers from is not what its schedule does; no decay, which would move weights on its own.
CONSTANT = {"schedule": "constant", "warmup_fraction": 0.05, "steps": 800}
# Half-way, at the best LR or an octave beside it, wherever that turns out to be.
NEAR_LR = {"peak_lr": log2_grid(-8, -6, per_octave=1)}
LONG = {**CONSTANT, "steps": 1500}
LONG_LR = {"peak_lr": log2_grid(-8, -3, per_octave=1)}
SHORT = {"steps": 400, "schedule": "cosine"}
SHORT_LR = {"peak_lr": log2_grid(-9, -4, per_octave=1)}
# The second half of a run at a multiple of the LR that is best with a β2 of 0.95.
LATE = {"tuned_for": "beta2_0.95", "first": 0.5}
HIGH = {"4x": 4.0, "8x": 8.0}


def added(arm: str, first: float = 0.5, last: float = 1.0) -> FallShare:
    """Loss that an outlier adds in a window of the run."""
    window = {"curve": "train_loss", "tuned_for": "steady", "first": first, "last": last}
    return FallShare(left=CurveMean(arm=arm, **window), right=CurveMean(arm="steady", **window), best_of=("steady",))


def beta2_added(times: float) -> FallShare:
    """Late training loss with a β2 of 0.999 less that with 0.95, at a multiple of the latter's best LR."""
    left, right = (CurveMean(arm=f"beta2_{beta2}", curve="train_loss", times=times, **LATE) for beta2 in ("0.999", "0.95"))
    return FallShare(left=left, right=right, best_of=("beta2_0.95",))


def spikes(beta2: str, times: float) -> Scaled:
    """Spikes in 1,000 late steps."""
    return Scaled(of=CurveMean(arm=f"beta2_{beta2}", curve="train_loss_spikes", times=times, **LATE), by=1000.0)


STUDY = Study(
    name="adam_internals",
    version=1,
    title="Inside Adam",
    question="What do the parts of Adam do: bias correction, epsilon, the second moment and what it remembers?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(optimizer="adamw", batch_size=16, weight_decay=0.0, warmup_fraction=0.0, beta2=0.999),
    measurement=Measurement(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    arms={
        "steady": Arm(panel="Outlier", label="no outlier", settings=CONSTANT, factors=NEAR_LR, reference=True),
        "whole": Arm(panel="Outlier", label="outlier", settings={**CONSTANT, "outlier": "whole"}, factors=NEAR_LR),
        "memory": Arm(panel="Outlier", label="its memory alone", settings={**CONSTANT, "outlier": "memory"}, factors=NEAR_LR),
        "kick": Arm(panel="Outlier", label="its own step alone", settings={**CONSTANT, "outlier": "kick"}, factors=NEAR_LR),
        "beta2_0.95": Arm(panel="β2", label="β2 0.95", settings={**LONG, "beta2": 0.95}, factors=LONG_LR, reference=True),
        "beta2_0.999": Arm(panel="β2", label="β2 0.999", settings={**LONG, "beta2": 0.999}, factors=LONG_LR),
        "corrected": Arm(panel="Correction", label="corrected", settings=SHORT, factors=SHORT_LR, reference=True),
        "uncorrected": Arm(
            panel="Correction", label="not corrected", settings={**SHORT, "bias_correction": False}, factors=SHORT_LR
        ),
        "corrected_warmup": Arm(
            panel="Correction", label="corrected, 20% warmup", settings={**SHORT, "warmup_fraction": 0.2}, factors=SHORT_LR
        ),
        "uncorrected_warmup": Arm(
            panel="Correction",
            label="not corrected, 20% warmup",
            settings={**SHORT, "warmup_fraction": 0.2, "bias_correction": False},
            factors=SHORT_LR,
        ),
    },
    factors=SHORT_LR,
    seeds=20,
    first_seed=22_000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            arm_settings={
                name: {"steps": 60}
                for name in ("steady", "whole", "memory", "kick", "beta2_0.95", "beta2_0.999", "corrected", "uncorrected")
            }
            | {name: {"steps": 60} for name in ("corrected_warmup", "uncorrected_warmup")},
            measurement={"evaluation_examples": 8, "final_examples": 16},
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about three minutes of training",
            departures=(
                "About 7,000 parameters, 1,500 steps at most: 'long' runs are 1.5 time constants of a β2 of 0.999.",
                "The outlier is a whole batch's gradient, 1000 times too large in every weight at once.",
            ),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: 0.4M parameters on Python's standard library",
            device="cuda",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 32, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            factors={"peak_lr": log2_grid(-12, -7, per_octave=1)},
            arm_factors={
                **{name: {"peak_lr": log2_grid(-11, -8, per_octave=1)} for name in ("steady", "whole", "memory", "kick")},
                **{name: {"peak_lr": log2_grid(-11, -5, per_octave=1)} for name in ("beta2_0.95", "beta2_0.999")},
                **{
                    name: {"peak_lr": log2_grid(-11, -6, per_octave=1)}
                    for name in ("corrected", "uncorrected", "corrected_warmup", "uncorrected_warmup")
                },
            },
            seeds=8,
        ),
    },
    departures=(
        "The exact claims are worked out with the optimizers that studies train with, at gradients that are given.",
        "The outlier is put into Adam's moments before its step: past any clipping, which is there to keep it out.",
        "'Its own step alone': 50 steps after it, when it has moved the weights, the second moment forgets it.",
    ),
    answer=("adam.bias", "adam.outlier", "adam.half_life", "adam.beta2_spikes"),
    judgements=(
        Judgement(
            claim="adam.bias",
            right={"supported": "1,000 steps", "refuted": "thousands"},
            criteria=(
                Criterion(
                    name="time constant of the uncorrected first moment, steps",
                    observe=Exact(check="adam_first_moment_steps"),
                    claimed=Within(low=5.0, high=20.0),
                    refuted=Outside(low=2.5, high=40.0),
                    says="Without correction the first moment is too small for {estimate}",
                    unit="steps",
                ),
                Criterion(
                    name="time constant of the uncorrected second moment, steps",
                    observe=Exact(check="adam_second_moment_steps"),
                    claimed=Within(low=500.0, high=2000.0),
                    refuted=Outside(low=250.0, high=4000.0),
                    says="The second moment is too small for {estimate}",
                    unit="steps",
                ),
                Criterion(
                    name="first step without correction over the first with it",
                    observe=Exact(check="adam_uncorrected_first_step"),
                    null=1.0,
                    claimed=AtLeast(value=1.1),
                    refuted=AtMost(value=0.9),
                    says="The first step is {larger} without correction",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="largest step over the one with correction",
                    observe=Exact(check="adam_uncorrected_largest_step"),
                    unit="x",
                ),
                Reported(name="the step at which that is", observe=Exact(check="adam_uncorrected_largest_at")),
                Reported(name="last step that is wrong by more than 10%", observe=Exact(check="adam_uncorrected_wrong_until")),
                Reported(
                    name="tuned loss without correction, less that with it, no warmup, of the fall",
                    observe=FallShare(left=TunedLoss(arm="uncorrected"), right=TunedLoss(arm="corrected")),
                    unit="relative",
                ),
                Reported(
                    name="the same with 20% warmup",
                    observe=FallShare(left=TunedLoss(arm="uncorrected_warmup"), right=TunedLoss(arm="corrected_warmup")),
                    unit="relative",
                ),
            ),
            note=(
                "A time constant is the number of steps until a moment has come to 1 - 1/e of a constant gradient. The first"
                " moment alone would make steps too small; the second, whose root divides, makes them too large, and wins."
            ),
            advice={
                "supported": "Keep the bias correction; without it the first steps are several times too large.",
                "partly": "Keep the bias correction.",
                "refuted": "Work out the first steps of your own betas before you drop the correction.",
            },
        ),
        Judgement(
            claim="adam.epsilon",
            criteria=(
                Criterion(
                    name="largest error of LR x gradient / epsilon as the step, far below epsilon",
                    observe=Exact(check="adam_epsilon_error"),
                    claimed=AtMost(value=0.02),
                    refuted=AtLeast(value=0.1),
                    says="A hundred times below epsilon and further, LR x gradient / epsilon is Adam's step to {estimate}",
                    unit="share",
                ),
                Criterion(
                    name="largest step over gradient, over LR / epsilon",
                    observe=Exact(check="adam_epsilon_cap"),
                    claimed=AtMost(value=1.001),
                    refuted=AtLeast(value=1.1),
                    says="Nowhere is the step more than {estimate} LR x gradient / epsilon",
                    unit="x",
                ),
            ),
            reported=(Reported(name="step over LR at gradients of 1e-12", observe=Exact(check="adam_tiny_step")),),
            note=(
                "That weights with tiny gradients still get sensible updates is the other way round: below epsilon a step"
                " vanishes with its gradient."
            ),
            advice={
                "supported": "Compare epsilon with the root of the second moment: weights far below it hardly move.",
                "refuted": "Measure the effective LR of weights with small gradients.",
            },
        ),
        Judgement(
            claim="adam.half_life",
            criteria=(
                Criterion(
                    name="half-life of an outlier in the second moment at β2 0.999, steps",
                    observe=Exact(check="second_moment_half_life"),
                    claimed=Within(low=630.0, high=770.0),
                    refuted=Outside(low=350.0, high=1400.0),
                    says="At a β2 of 0.999 an outlier's weight in the second moment halves every {estimate}",
                    unit="steps",
                ),
            ),
            reported=(
                Reported(
                    name="steps until Adam's step is within 10% again, after a gradient 1000 times too large",
                    observe=Exact(check="outlier_recovery"),
                    unit="steps",
                ),
            ),
            note="The step divides by the root, which forgets at half the speed: twelve half-lives for an outlier of 1000.",
            advice={
                "supported": "After a bad batch expect small steps for thousands of steps at a β2 of 0.999, hundreds at 0.95.",
                "refuted": "Work out the half-life of your own β2.",
            },
        ),
        Judgement(
            claim="adam.beta2_spikes",
            criteria=tuple(
                Criterion(
                    name=f"late training loss at {name} the best LR, β2 0.999 less 0.95, of the fall",
                    panel=f"{name} the best LR",
                    observe=beta2_added(times),
                    null=0.0,
                    margin=0.02,
                    claimed=AtLeast(value=0.02),
                    refuted=AtMost(value=0.0),
                    says=f"At {name} the best LR a β2 of 0.999 leaves the late loss {{higher}} than 0.95, of the fall",
                    unit="relative",
                )
                for name, times in HIGH.items()
            ),
            reported=(
                Reported(
                    name="the same at the best LR",
                    observe=beta2_added(1.0),
                    unit="relative",
                ),
                *(
                    Reported(name=f"spikes in 1,000 late steps at {name} the best LR, β2 {beta2}", observe=spikes(beta2, times))
                    for name, times in HIGH.items()
                    for beta2 in ("0.95", "0.999")
                ),
            ),
            note=(
                "Unstable means that the run does not come down at an LR at which it does with another β2. A spike is a step"
                " whose loss lies six robust deviations above the median of the 50 before; at this size there are hardly any."
            ),
            advice={
                "supported": "If a long run is unstable at an LR that it should bear, lower β2 to 0.95 before the LR.",
                "partly": "Try a β2 of 0.95 if a run is unstable at a high LR; it is no cure at all of them.",
                "refuted": "Look elsewhere than at β2 if a run is unstable.",
            },
        ),
        Judgement(
            claim="adam.rmsprop",
            criteria=(
                Criterion(
                    name="distance after 200 steps, of the way",
                    observe=Exact(check="adam_rmsprop_distance"),
                    claimed=AtMost(value=1e-6),
                    refuted=AtLeast(value=1e-3),
                    says="Adam without momentum and correction ends {estimate} of the way from RMSProp after 200 steps",
                ),
            ),
            note="Both are the engine's own, which tests hold against torch.optim's; epsilon stands outside the root in both.",
            advice={
                "supported": "Read results on RMSProp as results on Adam without momentum.",
                "refuted": "Tell the two apart in what you read.",
            },
        ),
        Judgement(
            claim="adam.outlier",
            right={"supported": "memory", "refuted": "kick"},
            criteria=(
                Criterion(
                    name="training loss that an outlier's memory adds, of the fall",
                    observe=added("memory"),
                    null=0.0,
                    margin=0.01,
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.0),
                    says="An outlier's memory alone leaves the loss {higher}, of the fall",
                    unit="relative",
                    alternatives=(
                        Alternative(name="in the tenth of the run after it", observe=added("memory", 0.5, 0.6)),
                        Alternative(name="in the last tenth", observe=added("memory", 0.9, 1.0)),
                    ),
                ),
            ),
            reported=(
                Reported(name="training loss that its own step adds, of the fall", observe=added("kick"), unit="relative"),
                Reported(name="training loss that all of it adds, of the fall", observe=added("whole"), unit="relative"),
                Reported(
                    name="all of it less its own step, in the last tenth: what the memory adds after the step",
                    observe=FallShare(
                        left=CurveMean(arm="whole", curve="train_loss", tuned_for="steady", first=0.9),
                        right=CurveMean(arm="kick", curve="train_loss", tuned_for="steady", first=0.9),
                        best_of=("steady",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="how far an outlier moves its weight at β2 0.999", observe=Exact(check="outlier_kick"), unit="LRs"
                ),
                Reported(
                    name="how far an outlier moves its weight at β2 0.95", observe=Exact(check="outlier_kick_095"), unit="LRs"
                ),
            ),
            note=(
                "The memory only makes later steps smaller. It harms after the outlier's own step, which has thrown the weights"
                " off: they come back more slowly. NaN and instability are not among what it does."
            ),
            advice={
                "supported": "After an outlier, reset Adam's second moment.",
                "refuted": "Keep outliers out by clipping: their own step is what harms, and it is over when one sees it.",
            },
        ),
    ),
    published=(
        Published(
            claim="adam.beta2_spikes",
            finding=(
                "Loss spikes in vision transformers follow an out-of-date second moment; a lower β2 or clipping the update"
                " removes them."
            ),
            source="Wortsman et al. 2023",
            link="https://arxiv.org/abs/2304.13013",
            how="reported",
        ),
    ),
)
