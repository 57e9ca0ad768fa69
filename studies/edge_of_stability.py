"""What does the curvature of a loss say about the learning rate?"""

from folklore.harness.observables import Exact, FailureRate
from folklore.harness.spec import (
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
)

# The largest curvature of the bowl is 1, so that these are LRs times it.
BELOW, ABOVE = 1.99, 2.01
ONCE = {"refuted": AtMost(value=0.5), "claimed": AtLeast(value=0.5), "unit": "share"}

STUDY = Study(
    name="edge_of_stability",
    version=1,
    title="Curvature and the learning rate",
    question="What does the curvature of a loss say about the learning rate?",
    # Batches, and not all examples, so that runs differ: their noise is the same wherever the weights are, and moves no limit.
    workload=Workload(model="quadratic", dataset="quadratic:16"),
    training=Training(
        optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=256, steps=2000
    ),
    measurement=Measurement(probes=10, evaluations=20, evaluation_examples=2048, final_examples=2048),
    arms={
        "below": Arm(panel="Bowl", label="LR x λmax 1.99", factors={"peak_lr": (BELOW,)}),
        "above": Arm(panel="Bowl", label="LR x λmax 2.01", factors={"peak_lr": (ABOVE,)}),
    },
    factors={"peak_lr": (BELOW,)},
    seeds=12,
    first_seed=23_000,
    scales={
        "smoke": Scale(description="plumbing in seconds, never judged", training={"steps": 60}, seeds=2, judged=False),
        "laptop": Scale(description="two CPU cores, seconds of training"),
        "gpu": Scale(
            description="one GPU, seconds of training: 256 dimensions", device="cuda", workload={"dataset": "quadratic:256"}
        ),
        "cluster": Scale(
            description="a GPU of a cluster, a minute: 1,024 dimensions",
            device="cuda",
            workload={"dataset": "quadratic:1024"},
            training={"steps": 4000},
        ),
    },
    departures=(
        "Quadratics, and one convex loss: what holds near a minimum, not what a deep network does on its way.",
        "Exact numbers have no seeds: their regions were written when they were known, most of them from designs of before.",
    ),
    answer=("eos.quadratic", "eos.newton"),
    judgements=(
        Judgement(
            claim="eos.quadratic",
            criteria=(
                Criterion(
                    name="share of LRs around 2/λmax at which descent converges if and only if it is below",
                    observe=Exact(check="quadratic_threshold"),
                    claimed=AtLeast(value=0.999),
                    refuted=AtMost(value=0.9),
                    says="Of six learning rates around 2/λmax, {estimate} converge if below it and do not if above",
                    unit="share",
                ),
                Criterion(
                    name="the fastest LR over 2 / (λmax + λmin)",
                    observe=Exact(check="quadratic_best_lr"),
                    claimed=Within(low=0.999, high=1.001),
                    refuted=Outside(low=0.95, high=1.05),
                    says="The fastest is {estimate} 2/(λmax + λmin)",
                    unit="x",
                ),
                Criterion(
                    name="error left a step at the fastest LR, over (κ - 1) / (κ + 1)",
                    observe=Exact(check="quadratic_best_rate"),
                    claimed=Within(low=0.999, high=1.001),
                    refuted=Outside(low=0.95, high=1.05),
                    says="It leaves {estimate} (κ - 1)/(κ + 1) of the error a step",
                    unit="x",
                ),
                Criterion(
                    name="share of runs that diverge at 2.01/λmax",
                    observe=FailureRate(arm="above", tuned_for="above"),
                    says="Trained with noisy batches, {estimate} of the runs at 2.01/λmax diverge",
                    **ONCE,
                ),
                Criterion(
                    name="share of runs that diverge at 1.99/λmax",
                    observe=FailureRate(arm="below", tuned_for="below"),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="At 1.99/λmax {estimate} do",
                    unit="share",
                ),
            ),
            note="The engine's own SGD on 16 curvatures from λmax/κ to λmax, at condition numbers κ of 2, 10 and 100.",
            advice={
                "supported": "Where the curvature is known, set the learning rate below 2/λmax.",
                "refuted": "Do not take quadratic theory for a bound on the learning rate.",
            },
        ),
        Judgement(
            claim="eos.newton",
            criteria=(
                Criterion(
                    name="order of Newton's method",
                    observe=Exact(check="newton_order"),
                    claimed=Within(low=1.85, high=2.15),
                    refuted=AtMost(value=1.5),
                    says="Near a minimum Newton's error goes with the power {estimate} of the one before",
                ),
                Criterion(
                    name="order of gradient descent",
                    observe=Exact(check="descent_order"),
                    claimed=Within(low=0.95, high=1.05),
                    refuted=AtLeast(value=1.5),
                    says="Gradient descent's goes with the power {estimate}",
                ),
            ),
            reported=(
                Reported(
                    name="error that descent leaves a step, over (κ - 1) / (κ + 1)",
                    observe=Exact(check="descent_rate"),
                    unit="x",
                ),
            ),
            note="Logistic regression on zeros and ones of the digits, FP64: Newton from zero weights, descent from close by.",
            advice={
                "supported": "Expect Newton's method to double the digits a step, close to a minimum and not before.",
                "refuted": "Do not count on quadratic convergence.",
            },
        ),
    ),
    published=(
        Published(
            claim="eos.quadratic",
            finding="Gradient descent on a quadratic converges if and only if the LR is below 2/λmax.",
            source="Cohen et al. 2021, section 2",
            link="https://arxiv.org/abs/2103.00065",
            how="reported",
        ),
    ),
)
