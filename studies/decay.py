"""Which shape of decay, and how far down?"""

from folklore.harness.observables import Computed, FallShare, FinalLoss, Gap, LossAfter, RelativeGap, Share, TunedLoss
from folklore.harness.spec import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Expected,
    Judgement,
    Measurement,
    OnEach,
    Outside,
    Published,
    Reported,
    Scale,
    Search,
    Study,
    Training,
    Within,
    Workload,
)

# Steps at which 6992 parameters have seen 2 to 80 tokens each, at 256 tokens a step.
STEPS_2, STEPS_5, STEPS_10 = {"steps": 55}, {"steps": 137}, {"steps": 273}
STEPS_20, STEPS_40, STEPS_80 = {"steps": 546}, {"steps": 1092}, {"steps": 2185}
ZERO, LINEAR, TRAPEZOID = {"final_fraction": 0.0}, {"schedule": "linear"}, {"schedule": "warmup_stable_decay"}
CONSTANT = {"schedule": "constant"}
# Half octaves of one lattice; a pilot on seeds from 90_000 showed that every optimum lies inside its window.
DECAYING = {"peak_lr": (2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5, 2.0**-5, 2.0**-4.5)}
LATE = {"peak_lr": (2.0**-8, 2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5, 2.0**-5)}
AT_ONE_LR = {"peak_lr": (2.0**-8.5, 2.0**-8, 2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5)}
WAITING = {"peak_lr": (2.0**-9, 2.0**-8.5, 2.0**-8, 2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6)}
SHORT = {"peak_lr": (2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5, 2.0**-5)}
MIDDLE = {"peak_lr": (2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5, 2.0**-5, 2.0**-4.5)}
LONG = {"peak_lr": (2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5)}
LONG_HIGHER = {"peak_lr": (2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5, 2.0**-5)}
LONG_LATE = {"peak_lr": (2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5)}
LONG_AT_ONE_LR = {"peak_lr": (2.0**-8.5, 2.0**-8, 2.0**-7.5, 2.0**-7, 2.0**-6.5)}
NOISY = {"peak_lr": (2.0**-9, 2.0**-8.5, 2.0**-8, 2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6, 2.0**-5.5)}

# Plateaus. The switch comes after two thirds of the run; equal seeds take equal steps up to it, so that what differs after it
# are continuations of one run. An evaluation falls on 60% of the run and one on the last steps before the switch.
PLATEAU = {
    "schedule": "step",
    "step_drops": (2 / 3,),
    "warmup_fraction": 0.02,
    "steps": 1500,
    "evaluations": 30,
}
TENTH, STAY, TWICE, TEN_TIMES = {"step_factor": 0.1}, {"step_factor": 1.0}, {"step_factor": 2.0}, {"step_factor": 10.0}
# The best constant LR of such a run, a 32nd of it, and 16 times it.
TOO_LOW, RIGHT, TOO_HIGH = {"peak_lr": (2.0**-12,)}, {"peak_lr": (2.0**-7,)}, {"peak_lr": (2.0**-3,)}
# An LR so low that the loss stays where it starts, for the MLP and SGD.
MLP = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2, "optimizer": "sgd", "batch_size": 32, "weight_decay": 0.0}
MLP_PLATEAU = {**PLATEAU, **MLP, "steps": 900}
MLP_TOO_LOW, MLP_TUNED = {"peak_lr": (2.0**-19,)}, {"peak_lr": (2.0**-7,)}

# 116M parameters beside the embeddings, and 20 tokens for each.
LARGE = {"width": 896, "depth": 12, "heads": 14, "context": 512, "batch_size": 512, "micro_batches": 8, "steps": 8900}
LARGE_LR = {"peak_lr": (2.0**-12, 2.0**-11, 2.0**-10, 2.0**-9, 2.0**-8)}

# The larger scales: steps for as many tokens a parameter, and LRs an octave apart.
GPU_STEPS = {
    "cosine": {"steps": 1200},
    "linear": {"steps": 1200},
    "zero_20": {"steps": 1200},
    "linear_zero_20": {"steps": 1200},
    "step": {"steps": 1200},
    "late_step": {"steps": 1200},
    "trapezoid": {"steps": 1200},
    "constant": {"steps": 1200},
    "tenth_2": {"steps": 120},
    "zero_2": {"steps": 120},
    "linear_zero_2": {"steps": 120},
    "tenth_5": {"steps": 300},
    "zero_5": {"steps": 300},
    "linear_zero_5": {"steps": 300},
    "tenth_40": {"steps": 2400},
    "zero_40": {"steps": 2400},
    "low_stay": {"steps": 600},
    "low_tenth": {"steps": 600},
    "low_twice": {"steps": 600},
    "low_ten_times": {"steps": 600},
    "right_stay": {"steps": 600},
    "right_tenth": {"steps": 600},
    "right_twice": {"steps": 600},
    "right_ten_times": {"steps": 600},
    "high_stay": {"steps": 600},
    "high_tenth": {"steps": 600},
    "high_twice": {"steps": 600},
    "high_ten_times": {"steps": 600},
}
GPU_DECAYING = {"peak_lr": (2.0**-10, 2.0**-9, 2.0**-8, 2.0**-7, 2.0**-6)}
GPU_LONG = {"peak_lr": (2.0**-10, 2.0**-9, 2.0**-8, 2.0**-7)}
GPU_AT_ONE_LR = {"peak_lr": (2.0**-11, 2.0**-10, 2.0**-9, 2.0**-8, 2.0**-7)}
GPU_LRS = {
    "cosine": GPU_DECAYING,
    "linear": GPU_DECAYING,
    "zero_20": GPU_DECAYING,
    "linear_zero_20": GPU_DECAYING,
    "step": GPU_DECAYING,
    "late_step": GPU_DECAYING,
    "trapezoid": GPU_DECAYING,
    "constant": GPU_AT_ONE_LR,
    "tenth_2": GPU_DECAYING,
    "zero_2": GPU_DECAYING,
    "linear_zero_2": GPU_DECAYING,
    "tenth_5": GPU_DECAYING,
    "zero_5": GPU_DECAYING,
    "linear_zero_5": GPU_DECAYING,
    "tenth_40": GPU_LONG,
    "zero_40": GPU_LONG,
    "low_stay": {"peak_lr": (2.0**-14,)},
    "low_tenth": {"peak_lr": (2.0**-14,)},
    "low_twice": {"peak_lr": (2.0**-14,)},
    "low_ten_times": {"peak_lr": (2.0**-14,)},
    "right_stay": {"peak_lr": (2.0**-9,)},
    "right_tenth": {"peak_lr": (2.0**-9,)},
    "right_twice": {"peak_lr": (2.0**-9,)},
    "right_ten_times": {"peak_lr": (2.0**-9,)},
    "high_stay": {"peak_lr": (2.0**-5,)},
    "high_tenth": {"peak_lr": (2.0**-5,)},
    "high_twice": {"peak_lr": (2.0**-5,)},
    "high_ten_times": {"peak_lr": (2.0**-5,)},
}

CLUSTER_STEPS = {
    "cosine": {"steps": 3860},
    "linear": {"steps": 3860},
    "zero_20": {"steps": 3860},
    "linear_zero_20": {"steps": 3860},
    "step": {"steps": 3860},
    "late_step": {"steps": 3860},
    "trapezoid": {"steps": 3860},
    "constant": {"steps": 3860},
    "on_plateau": {"steps": 3860},
    "cosine_searched": {"steps": 3860},
    "tenth_2": {"steps": 386},
    "zero_2": {"steps": 386},
    "linear_zero_2": {"steps": 386},
    "tenth_5": {"steps": 965},
    "zero_5": {"steps": 965},
    "linear_zero_5": {"steps": 965},
    "tenth_10": {"steps": 1930},
    "zero_10": {"steps": 1930},
    "tenth_40": {"steps": 7720},
    "zero_40": {"steps": 7720},
    "tenth_80": {"steps": 15440},
    "zero_80": {"steps": 15440},
    "linear_80": {"steps": 15440},
    "linear_zero_80": {"steps": 15440},
    "trapezoid_80": {"steps": 15440},
    "constant_80": {"steps": 15440},
    "small_batch": {"steps": 15440, "batch_size": 64},
    "low_stay": {"steps": 6000},
    "low_tenth": {"steps": 6000},
    "low_twice": {"steps": 6000},
    "low_ten_times": {"steps": 6000},
    "right_stay": {"steps": 6000},
    "right_tenth": {"steps": 6000},
    "right_twice": {"steps": 6000},
    "right_ten_times": {"steps": 6000},
    "high_stay": {"steps": 6000},
    "high_tenth": {"steps": 6000},
    "high_twice": {"steps": 6000},
    "high_ten_times": {"steps": 6000},
}
CLUSTER_DECAYING = {"peak_lr": (2.0**-11, 2.0**-10, 2.0**-9, 2.0**-8, 2.0**-7)}
CLUSTER_AT_ONE_LR = {"peak_lr": (2.0**-12, 2.0**-11, 2.0**-10, 2.0**-9, 2.0**-8)}
CLUSTER_LRS = {
    "cosine": CLUSTER_DECAYING,
    "linear": CLUSTER_DECAYING,
    "zero_20": CLUSTER_DECAYING,
    "linear_zero_20": CLUSTER_DECAYING,
    "step": CLUSTER_DECAYING,
    "late_step": CLUSTER_DECAYING,
    "trapezoid": CLUSTER_DECAYING,
    "constant": CLUSTER_AT_ONE_LR,
    "on_plateau": CLUSTER_AT_ONE_LR,
    "tenth_2": CLUSTER_DECAYING,
    "zero_2": CLUSTER_DECAYING,
    "linear_zero_2": CLUSTER_DECAYING,
    "tenth_5": CLUSTER_DECAYING,
    "zero_5": CLUSTER_DECAYING,
    "linear_zero_5": CLUSTER_DECAYING,
    "tenth_10": CLUSTER_DECAYING,
    "zero_10": CLUSTER_DECAYING,
    "tenth_40": CLUSTER_DECAYING,
    "zero_40": CLUSTER_DECAYING,
    "tenth_80": CLUSTER_DECAYING,
    "zero_80": CLUSTER_DECAYING,
    "linear_80": CLUSTER_DECAYING,
    "linear_zero_80": CLUSTER_DECAYING,
    "trapezoid_80": CLUSTER_DECAYING,
    "constant_80": CLUSTER_AT_ONE_LR,
    "small_batch": CLUSTER_AT_ONE_LR,
    "low_stay": {"peak_lr": (2.0**-15,)},
    "low_tenth": {"peak_lr": (2.0**-15,)},
    "low_twice": {"peak_lr": (2.0**-15,)},
    "low_ten_times": {"peak_lr": (2.0**-15,)},
    "right_stay": {"peak_lr": (2.0**-10,)},
    "right_tenth": {"peak_lr": (2.0**-10,)},
    "right_twice": {"peak_lr": (2.0**-10,)},
    "right_ten_times": {"peak_lr": (2.0**-10,)},
    "high_stay": {"peak_lr": (2.0**-6,)},
    "high_tenth": {"peak_lr": (2.0**-6,)},
    "high_twice": {"peak_lr": (2.0**-6,)},
    "high_ten_times": {"peak_lr": (2.0**-6,)},
}

# A difference of 0.5% of the fall does not matter; being better never refutes.
NO_WORSE = {"test": "no_worse", "null": 0.0, "margin": 0.005, "unit": "relative"}
# Above by what matters; at the null, below it, or surely within what does not matter, it is not.
HIGHER = {
    "null": 0.0,
    "margin": 0.005,
    "claimed": AtLeast(value=0.005),
    "refuted": AtMost(value=0.0),
    "unit": "relative",
}
# A floor of the LR costs nothing, so that small differences matter, too. Shapes and floors differ by 0.1 to 0.8% of the loss in
# publications (reported), and two runs of one setting by 0.2% (GPT-2 124M, standard error 0.004 of 2.853 each, reported): what
# lies below that no single run would show.
FLOOR = {
    "null": 0.0,
    "margin": 0.002,
    "claimed": AtLeast(value=0.002),
    "refuted": AtMost(value=0.0),
    "unit": "relative",
}
# A plateau: over the last tenth of the steps before the switch the loss falls by no more than what raising has to gain.
FLAT = {"claimed": AtMost(value=0.02), "refuted": AtLeast(value=0.02), "unit": "relative", "precondition": True}
# Raising lowers nothing that matters; it is refuted by a gain of 2% of the fall.
NO_GAIN = {"claimed": AtLeast(value=-0.005), "refuted": AtMost(value=-0.02), "unit": "relative"}
# More than half.
MOST = {"null": 0.5, "claimed": AtLeast(value=0.5), "refuted": AtMost(value=0.5), "unit": "share"}

# Runs of 80 tokens a parameter take more than a GPU's four minutes; the plumbing is tried with every arm.
LONGEST, NOT_GPU = ("laptop", "cluster"), ("smoke", "laptop", "cluster")

SAME_AS_COSINE = "the claim itself: the same loss as cosine decay's"
BERGSMA = "Bergsma et al. 2025 (reported): from about 4 tokens a parameter on, zero is no worse"

AT_20, AT_40, AT_80 = "20 tokens a parameter", "40 tokens a parameter", "80 tokens a parameter"
SMALL_BATCH = "20 tokens a parameter, batches of 64 tokens"
COSINE_20, LINEAR_20, TRAPEZOID_20 = f"cosine, {AT_20}", f"linear, {AT_20}", f"warmup-stable-decay, {AT_20}"
COSINE_80, LINEAR_80, TRAPEZOID_80 = f"cosine, {AT_80}", f"linear, {AT_80}", f"warmup-stable-decay, {AT_80}"
LATE_20, EARLY_20 = f"step at 80% and 90%, {AT_20}", f"step at 50% and 75%, {AT_20}"
GPT_LOW, GPT_RIGHT, GPT_HIGH = "GPT, AdamW, LR a 32nd of the best", "GPT, AdamW, best LR", "GPT, AdamW, LR 16 times the best"
# What the arms of two lengths are called.
LENGTHS = {
    AT_20: {"tokens": "20", "cosine": "cosine", "linear": "linear", "trapezoid": "trapezoid"},
    AT_80: {"tokens": "80", "cosine": "tenth_80", "linear": "linear_80", "trapezoid": "trapezoid_80"},
}
# How the arms of each plateau begin, and what sentences call it.
PLATEAUS = {
    GPT_LOW: {"arm": "low", "at": "with an LR a 32nd of the best"},
    GPT_RIGHT: {"arm": "right", "at": "at the best LR"},
    GPT_HIGH: {"arm": "high", "at": "with an LR 16 times the best"},
}
MLP_LOW = "MLP, SGD, an LR too low to leave the start"

STUDY = Study(
    name="decay",
    # Version 2: comparisons by shares of the fall on one grid of LRs, lengths as panels, and plateaus of too low, right and too
    # high an LR; version 1 compared arms whose LRs a short search had missed by up to an octave.
    version=2,
    title="Learning-rate decay",
    question="Which shape of decay, and how far down?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(
        optimizer="adamw", schedule="cosine", final_fraction=0.1, warmup_fraction=0.05, batch_size=16, beta2=0.95
    ),
    measurement=Measurement(probes=2, evaluations=20, evaluation_examples=128, final_examples=1024),
    arms={
        "cosine": Arm(label="cosine to 10%", panel=AT_20, settings={**STEPS_20}, factors=DECAYING, reference=True),
        "linear": Arm(label="linear to 10%", panel=AT_20, settings={**STEPS_20, **LINEAR}, factors=DECAYING),
        "zero_20": Arm(label="cosine to 0%", panel=AT_20, settings={**STEPS_20, **ZERO}, factors=DECAYING),
        "linear_zero_20": Arm(label="linear to 0%", panel=AT_20, settings={**STEPS_20, **LINEAR, **ZERO}, factors=DECAYING),
        "step": Arm(
            label="step, x0.1 at 50% and 75%", panel=AT_20, settings={**STEPS_20, "schedule": "step"}, factors=DECAYING
        ),
        "late_step": Arm(
            label="step, x0.32 at 80% and 90%",
            panel=AT_20,
            settings={**STEPS_20, "schedule": "step", "step_drops": (0.8, 0.9), "step_factor": 0.316},
            factors=LATE,
        ),
        "trapezoid": Arm(label="warmup, stable, decay", panel=AT_20, settings={**STEPS_20, **TRAPEZOID}, factors=LATE),
        "constant": Arm(label="constant", panel=AT_20, settings={**STEPS_20, **CONSTANT}, factors=AT_ONE_LR),
        "on_plateau": Arm(
            label="reduce on plateau",
            panel=AT_20,
            settings={**STEPS_20, "schedule": "reduce_on_plateau", "patience": 1, "evaluations": 40},
            factors=WAITING,
            scales=NOT_GPU,
        ),
        "cosine_searched": Arm(
            label="cosine to 10%, LR by search", panel=AT_20, settings={**STEPS_20}, searched=True, scales=NOT_GPU
        ),
        "tenth_2": Arm(
            label="cosine to 10%", panel="2 tokens a parameter", settings={**STEPS_2}, factors=SHORT, reference=True
        ),
        "zero_2": Arm(label="cosine to 0%", panel="2 tokens a parameter", settings={**STEPS_2, **ZERO}, factors=SHORT),
        "linear_zero_2": Arm(
            label="linear to 0%", panel="2 tokens a parameter", settings={**STEPS_2, **LINEAR, **ZERO}, factors=SHORT
        ),
        "tenth_5": Arm(
            label="cosine to 10%", panel="5 tokens a parameter", settings={**STEPS_5}, factors=MIDDLE, reference=True
        ),
        "zero_5": Arm(label="cosine to 0%", panel="5 tokens a parameter", settings={**STEPS_5, **ZERO}, factors=MIDDLE),
        "linear_zero_5": Arm(
            label="linear to 0%", panel="5 tokens a parameter", settings={**STEPS_5, **LINEAR, **ZERO}, factors=MIDDLE
        ),
        "tenth_10": Arm(
            label="cosine to 10%",
            panel="10 tokens a parameter",
            settings={**STEPS_10},
            factors=MIDDLE,
            reference=True,
            scales=NOT_GPU,
        ),
        "zero_10": Arm(
            label="cosine to 0%", panel="10 tokens a parameter", settings={**STEPS_10, **ZERO}, factors=MIDDLE, scales=NOT_GPU
        ),
        "tenth_40": Arm(label="cosine to 10%", panel=AT_40, settings={**STEPS_40}, factors=LONG_HIGHER, reference=True),
        "zero_40": Arm(label="cosine to 0%", panel=AT_40, settings={**STEPS_40, **ZERO}, factors=LONG_HIGHER),
        "tenth_80": Arm(
            label="cosine to 10%", panel=AT_80, settings={**STEPS_80}, factors=LONG, reference=True, scales=NOT_GPU
        ),
        "zero_80": Arm(label="cosine to 0%", panel=AT_80, settings={**STEPS_80, **ZERO}, factors=LONG, scales=NOT_GPU),
        "linear_80": Arm(label="linear to 10%", panel=AT_80, settings={**STEPS_80, **LINEAR}, factors=LONG, scales=NOT_GPU),
        "linear_zero_80": Arm(
            label="linear to 0%", panel=AT_80, settings={**STEPS_80, **LINEAR, **ZERO}, factors=LONG_HIGHER, scales=NOT_GPU
        ),
        "trapezoid_80": Arm(
            label="warmup, stable, decay", panel=AT_80, settings={**STEPS_80, **TRAPEZOID}, factors=LONG_LATE, scales=NOT_GPU
        ),
        "constant_80": Arm(
            label="constant", panel=AT_80, settings={**STEPS_80, **CONSTANT}, factors=LONG_AT_ONE_LR, scales=NOT_GPU
        ),
        # A quarter of the batch, so that gradient noise weighs more, for as many tokens.
        "small_batch": Arm(
            label="cosine to 10%", panel=SMALL_BATCH, settings={"steps": 2184, "batch_size": 4}, factors=NOISY, scales=NOT_GPU
        ),
        # Three runs of 116M parameters: the claim on step decay speaks of large scale.
        "cosine_large": Arm(
            label="cosine to 10%", panel="116M parameters", settings={**LARGE}, factors=LARGE_LR, scales=("cluster",)
        ),
        "step_large": Arm(
            label="step, x0.1 at 50% and 75%",
            panel="116M parameters",
            settings={**LARGE, "schedule": "step"},
            factors=LARGE_LR,
            scales=("cluster",),
        ),
        "late_step_large": Arm(
            label="step, x0.32 at 80% and 90%",
            panel="116M parameters",
            settings={**LARGE, "schedule": "step", "step_drops": (0.8, 0.9), "step_factor": 0.316},
            factors=LARGE_LR,
            scales=("cluster",),
        ),
        "low_stay": Arm(label="x1", panel=GPT_LOW, settings={**PLATEAU, **STAY}, factors=TOO_LOW, reference=True),
        "low_tenth": Arm(label="x0.1", panel=GPT_LOW, settings={**PLATEAU, **TENTH}, factors=TOO_LOW),
        "low_twice": Arm(label="x2", panel=GPT_LOW, settings={**PLATEAU, **TWICE}, factors=TOO_LOW),
        "low_ten_times": Arm(label="x10", panel=GPT_LOW, settings={**PLATEAU, **TEN_TIMES}, factors=TOO_LOW),
        "right_stay": Arm(label="x1", panel=GPT_RIGHT, settings={**PLATEAU, **STAY}, factors=RIGHT, reference=True),
        "right_tenth": Arm(label="x0.1", panel=GPT_RIGHT, settings={**PLATEAU, **TENTH}, factors=RIGHT),
        "right_twice": Arm(label="x2", panel=GPT_RIGHT, settings={**PLATEAU, **TWICE}, factors=RIGHT),
        "right_ten_times": Arm(label="x10", panel=GPT_RIGHT, settings={**PLATEAU, **TEN_TIMES}, factors=RIGHT),
        "high_stay": Arm(label="x1", panel=GPT_HIGH, settings={**PLATEAU, **STAY}, factors=TOO_HIGH, reference=True),
        "high_tenth": Arm(label="x0.1", panel=GPT_HIGH, settings={**PLATEAU, **TENTH}, factors=TOO_HIGH),
        "high_twice": Arm(label="x2", panel=GPT_HIGH, settings={**PLATEAU, **TWICE}, factors=TOO_HIGH),
        "high_ten_times": Arm(label="x10", panel=GPT_HIGH, settings={**PLATEAU, **TEN_TIMES}, factors=TOO_HIGH),
        "mlp_stay": Arm(label="x1", panel=MLP_LOW, settings={**MLP_PLATEAU, **STAY}, factors=MLP_TOO_LOW, reference=True),
        "mlp_twice": Arm(label="x2", panel=MLP_LOW, settings={**MLP_PLATEAU, **TWICE}, factors=MLP_TOO_LOW),
        "mlp_ten_times": Arm(label="x10", panel=MLP_LOW, settings={**MLP_PLATEAU, **TEN_TIMES}, factors=MLP_TOO_LOW),
        "mlp_tuned": Arm(label="its best LR", panel=MLP_LOW, settings={**MLP_PLATEAU, **STAY}, factors=MLP_TUNED),
    },
    factors={},
    search=Search(low=2.0**-9, high=2.0**-3, rounds=3, proposals=4, seeds=3, first_seed=20_000),
    seeds=12,
    first_seed=2000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 40},
            measurement={"evaluations": 20, "evaluation_examples": 8, "final_examples": 16},
            arm_settings={
                "cosine": {"steps": 40},
                "linear": {"steps": 40},
                "zero_20": {"steps": 40},
                "linear_zero_20": {"steps": 40},
                "step": {"steps": 40},
                "late_step": {"steps": 40},
                "trapezoid": {"steps": 40},
                "constant": {"steps": 40},
                "on_plateau": {"steps": 40},
                "cosine_searched": {"steps": 40},
                "tenth_2": {"steps": 20},
                "zero_2": {"steps": 20},
                "linear_zero_2": {"steps": 20},
                "tenth_5": {"steps": 20},
                "zero_5": {"steps": 20},
                "linear_zero_5": {"steps": 20},
                "tenth_10": {"steps": 20},
                "zero_10": {"steps": 20},
                "tenth_40": {"steps": 40},
                "zero_40": {"steps": 40},
                "tenth_80": {"steps": 40},
                "zero_80": {"steps": 40},
                "linear_80": {"steps": 40},
                "linear_zero_80": {"steps": 40},
                "trapezoid_80": {"steps": 40},
                "constant_80": {"steps": 40},
                "small_batch": {"steps": 40},
                "low_stay": {"steps": 60},
                "low_tenth": {"steps": 60},
                "low_twice": {"steps": 60},
                "low_ten_times": {"steps": 60},
                "right_stay": {"steps": 60},
                "right_tenth": {"steps": 60},
                "right_twice": {"steps": 60},
                "right_ten_times": {"steps": 60},
                "high_stay": {"steps": 60},
                "high_tenth": {"steps": 60},
                "high_twice": {"steps": 60},
                "high_ten_times": {"steps": 60},
                "mlp_stay": {"steps": 60},
                "mlp_twice": {"steps": 60},
                "mlp_ten_times": {"steps": 60},
                "mlp_tuned": {"steps": 60},
            },
            search={"rounds": 2, "proposals": 2, "seeds": 1},
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, seven minutes of training: the length of a run is what the question turns on, and two"
            " fifths of the time go to runs of 80 tokens a parameter"
        ),
        "gpu": Scale(
            description="one GPU, about four minutes: a 0.49M-parameter GPT on the source text of Python's standard library",
            device="cuda",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 128},
            training={"batch_size": 64, "precision": "bf16"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            arm_settings=GPU_STEPS,
            arm_factors=GPU_LRS,
            search={"low": 2.0**-12, "high": 2.0**-5, "proposals": 4, "seeds": 2},
            seeds=5,
            departures=(
                "0.49M parameters: 20 tokens a parameter are a little more than one pass over the text, 40 are two and a half."
                " LRs stand an octave apart. Runs of 80 tokens a parameter are left to the other scales.",
                "That the LRs of the plateaus are a 32nd, one and 16 times the best was not tried at this size; a panel whose"
                " loss is not flat before the switch does not count.",
            ),
        ),
        "cluster": Scale(
            description="many GPUs, hours: a 25M-parameter GPT on web text at 2 to 80 tokens a parameter, step decay at 116M",
            device="cuda",
            workload={"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 512},
            training={"batch_size": 256, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 4096},
            arm_settings=CLUSTER_STEPS,
            arm_factors=CLUSTER_LRS,
            search={"low": 2.0**-13, "high": 2.0**-6, "proposals": 4, "seeds": 2},
            seeds=5,
            departures=(
                "25M parameters, and 116M for step decay, at five LRs an octave apart.",
                "That the LRs of the plateaus are a 32nd, one and 16 times the best was not tried at this size; a panel whose"
                " loss is not flat before the switch does not count.",
            ),
        ),
    },
    departures=(
        "At laptop scale a GPT of 6992 parameters, embeddings included, on one text of 0.5 MB: 80 tokens a parameter are about"
        " one pass. Every comparison states its tokens a parameter.",
        "Differences are shares of the fall: of the loss at initialization less the lowest tuned loss of the two arms. What"
        " does not matter is 0.5% of it between shapes and 0.2% between floors: a floor costs nothing, and 0.2% of the loss is"
        " about what two runs of GPT-2 differ by from seed to seed (reported).",
        "Every arm is trained at LRs of one half-octave lattice and judged at its best, by validation loss. One arm's LR is"
        " searched by Optuna's TPE instead, on seeds of its own, to show what twelve proposals on three seeds are worth.",
        "A plateau is a loss that falls by at most 2% of the fall over the last tenth of the steps before the switch. A GPT"
        " with too low an LR falls slowly, far above the best loss: the loss that hardly moves of GL Q37. It does not stop, as"
        " the plateau of CP Q3 does; in pilots no LR below the best made it stop, neither AdamW's nor SGD's.",
        "The MLP at its best LR fits its data and does not underfit, so that it has no panel among the plateaus.",
    ),
    answer=("decay.final_positive", "decay.beats_constant", "decay.trapezoid", "decay.raise_lr"),
    judgements=(
        Judgement(
            claim="decay.cosine_vs_linear",
            criteria=OnEach(
                panels=LENGTHS,
                of=Criterion(
                    name="linear against cosine, both to 10%, <panel>",
                    panel="<panel>",
                    observe=FallShare(left=TunedLoss(arm="<linear>"), right=TunedLoss(arm="<cosine>")),
                    says="At <panel> linear decay to 10% ends {higher}, as a share of the fall, than cosine decay",
                    expected=Expected(value=0.0, source=SAME_AS_COSINE, spread=0.005, scales=("laptop",)),
                    alternatives=(
                        Alternative(
                            name="both to zero",
                            observe=FallShare(left=TunedLoss(arm="linear_zero_<tokens>"), right=TunedLoss(arm="zero_<tokens>")),
                        ),
                        Alternative(
                            name="as a share of the loss",
                            observe=RelativeGap(left=TunedLoss(arm="<linear>"), right=TunedLoss(arm="<cosine>")),
                        ),
                    ),
                    **NO_WORSE,
                ),
                fields={AT_80: {"spread": 0.002, "scales": LONGEST}},
            ).specs,
            reported=(
                Reported(
                    name="cosine, LR by search against LR by grid",
                    observe=FallShare(left=TunedLoss(arm="cosine_searched"), right=TunedLoss(arm="cosine")),
                    unit="relative",
                ),
            ),
            note="Non-inferiority: a linear decay that is better does not speak against it.",
            advice={
                "supported": "Choose linear or cosine decay as you like: linear costs no measurable loss here.",
                "partly": "Choose linear or cosine decay by the length of your own run.",
                "refuted": "Prefer cosine decay to linear decay.",
            },
        ),
        Judgement(
            claim="decay.cosine_vs_step",
            criteria=(
                Criterion(
                    name="step decay at 50% and 75% against cosine",
                    observe=FallShare(left=TunedLoss(arm="step"), right=TunedLoss(arm="cosine")),
                    says="Step decay, x0.1 at 50% and 75%, ends {higher}, as a share of the fall, than cosine decay",
                    scales=("laptop", "gpu"),
                    **HIGHER,
                ),
                Criterion(
                    name="step decay at 80% and 90% against cosine",
                    observe=FallShare(left=TunedLoss(arm="late_step"), right=TunedLoss(arm="cosine")),
                    says="Step decay, x0.32 at 80% and 90%, ends {higher}, as a share of the fall, than cosine decay",
                    scales=("laptop", "gpu"),
                    **HIGHER,
                ),
                Criterion(
                    name="step decay at 50% and 75% against cosine at 116M parameters",
                    observe=FallShare(left=TunedLoss(arm="step_large"), right=TunedLoss(arm="cosine_large")),
                    says=(
                        "Step decay, x0.1 at 50% and 75%, ends {higher}, as a share of the fall, than cosine decay at 116M"
                        " parameters"
                    ),
                    scales=("cluster",),
                    **HIGHER,
                ),
                Criterion(
                    name="step decay at 80% and 90% against cosine at 116M parameters",
                    observe=FallShare(left=TunedLoss(arm="late_step_large"), right=TunedLoss(arm="cosine_large")),
                    says=(
                        "Step decay, x0.32 at 80% and 90%, ends {higher}, as a share of the fall, than cosine decay at 116M"
                        " parameters"
                    ),
                    scales=("cluster",),
                    **HIGHER,
                ),
            ),
            note="Two step schedules, each at its own best LR: one that drops early and far, one that keeps the peak to 80%.",
            advice={
                "supported": "Prefer cosine decay to a step schedule.",
                "partly": "If you step, step late: drops at 80% and 90% of the run, not at half of it.",
                "refuted": "Use step decay if it is at hand: cosine decay lowers no loss.",
                "refuted: opposite": "Prefer step decay to cosine decay.",
            },
        ),
        Judgement(
            claim="decay.beats_constant",
            criteria=(
                *OnEach(
                    panels={
                        COSINE_20: {"decay": "cosine decay", "arm": "cosine"},
                        LINEAR_20: {"decay": "linear decay", "arm": "linear"},
                        TRAPEZOID_20: {"decay": "warmup-stable-decay", "arm": "trapezoid"},
                        LATE_20: {"decay": "step decay at 80% and 90%", "arm": "late_step"},
                        EARLY_20: {"decay": "step decay at 50% and 75%", "arm": "step"},
                    },
                    of=Criterion(
                        name="constant against <decay>, 20 tokens a parameter",
                        panel="<panel>",
                        observe=FallShare(left=TunedLoss(arm="constant"), right=TunedLoss(arm="<arm>")),
                        says="At 20 tokens a parameter a constant LR ends {higher}, as a share of the fall, than <decay>",
                        **HIGHER,
                    ),
                ).specs,
                *OnEach(
                    panels={
                        COSINE_80: {"decay": "cosine decay", "arm": "tenth_80"},
                        LINEAR_80: {"decay": "linear decay", "arm": "linear_80"},
                        TRAPEZOID_80: {"decay": "warmup-stable-decay", "arm": "trapezoid_80"},
                    },
                    of=Criterion(
                        name="constant against <decay>, 80 tokens a parameter",
                        panel="<panel>",
                        observe=FallShare(left=TunedLoss(arm="constant_80"), right=TunedLoss(arm="<arm>")),
                        says="At 80 tokens a parameter a constant LR ends {higher}, as a share of the fall, than <decay>",
                        scales=LONGEST,
                        **HIGHER,
                    ),
                ).specs,
            ),
            note=(
                "Both at their best LRs: an LR that is kept has to be lower, and that is part of the comparison. A shape at a"
                " length counts as a workload, and most of them have to beat a constant LR; a step that drops at half time is"
                " among them."
            ),
            advice={
                "supported": "Decay the LR even if its peak is tuned.",
                "partly": "Decay the LR, and late: keep the peak through most of the run, and do not drop it at half.",
                "refuted": "If the LR is tuned, do not expect decay to lower the loss.",
                "refuted: opposite": "If the LR is tuned, keep it constant in a run as short as these.",
            },
        ),
        Judgement(
            claim="decay.final_positive",
            right={"supported": "10%", "refuted": "zero"},
            criteria=OnEach(
                panels={
                    AT_20: {"tokens": "20", "cosine": "cosine"},
                    AT_40: {"tokens": "40", "cosine": "tenth_40"},
                    AT_80: {"tokens": "80", "cosine": "tenth_80"},
                },
                of=Criterion(
                    name="cosine to zero against to 10%, <panel>",
                    panel="<panel>",
                    observe=FallShare(left=TunedLoss(arm="zero_<tokens>"), right=TunedLoss(arm="<cosine>")),
                    says="At <panel> cosine decay to zero ends {higher}, as a share of the fall, than to 10% of the peak",
                    expected=Expected(value=0.0, source=BERGSMA, spread=0.0017, scales=("laptop",)),
                    alternatives=(
                        Alternative(
                            name="as a share of the loss",
                            observe=RelativeGap(left=TunedLoss(arm="zero_<tokens>"), right=TunedLoss(arm="<cosine>")),
                        ),
                    ),
                    **FLOOR,
                ),
                fields={
                    AT_40: {
                        "spread": 0.002,
                        "underpowered": (
                            "no difference would be shown in 77% of cases, and in more than 90% at the other two lengths"
                        ),
                    },
                    AT_80: {"spread": 0.0015, "scales": LONGEST},
                },
            ).specs,
            reported=(
                *OnEach(
                    panels={"2": {}, "5": {}, "10": {}},
                    of=Reported(
                        name="cosine to zero against to 10%, <panel> tokens a parameter",
                        observe=FallShare(left=TunedLoss(arm="zero_<panel>"), right=TunedLoss(arm="tenth_<panel>")),
                        unit="relative",
                    ),
                ).specs,
                *OnEach(
                    panels={
                        "2": {"cosine": "tenth_2"},
                        "5": {"cosine": "tenth_5"},
                        "20": {"cosine": "cosine"},
                        "80": {"cosine": "tenth_80"},
                    },
                    of=Reported(
                        name="linear to zero against cosine to 10%, <panel> tokens a parameter",
                        observe=FallShare(left=TunedLoss(arm="linear_zero_<panel>"), right=TunedLoss(arm="<cosine>")),
                        unit="relative",
                    ),
                ).specs,
            ),
            note=(
                "Judged at 20 tokens a parameter and more, as models are trained; shorter runs stand beside it and show the"
                " trend. Bergsma et al. compare linear decay to zero with cosine decay to 10%, which changes shape and floor at"
                " once: that comparison stands beside it too, and tells the shape's part from the floor's."
            ),
            advice={
                "supported": "End the decay at about 10% of the peak, not at zero, up to 80 tokens a parameter.",
                "partly": "Compare a floor of zero with one of 10% at the length of your own runs.",
                "refuted": "Decay to zero if you like: it costs no measurable loss here.",
                "refuted: opposite": "Decay to zero rather than to 10% of the peak.",
            },
        ),
        Judgement(
            claim="decay.half_way",
            criteria=(
                Criterion(
                    name="LR of the cosine schedule half-way, over the peak",
                    observe=Computed(function="constants.cosine", number="half_way"),
                    claimed=Within(low=0.4999, high=0.5001),
                    refuted=Outside(low=0.4999, high=0.5001),
                    says="Half-way through a cosine decay to zero, the learning rate is {estimate} of its peak",
                    unit="share",
                ),
            ),
            note="Of a decay to zero without warmup. A decay to 10% stands at 55% half-way.",
            advice={
                "supported": "Expect half of the peak half-way through a decay to zero, and 55% with a floor of 10%.",
                "refuted": "Look at the schedule that your code computes before you compare runs half-way.",
            },
        ),
        Judgement(
            claim="decay.trapezoid",
            criteria=OnEach(
                panels=LENGTHS,
                of=Criterion(
                    name="warmup-stable-decay against cosine, <panel>",
                    panel="<panel>",
                    observe=FallShare(left=TunedLoss(arm="<trapezoid>"), right=TunedLoss(arm="<cosine>")),
                    says=(
                        "At <panel> warmup, a constant stretch and a final decay end {higher}, as a share of the fall, than"
                        " cosine decay"
                    ),
                    expected=Expected(value=0.0, source=SAME_AS_COSINE, spread=0.002, scales=("laptop",)),
                    alternatives=(
                        Alternative(
                            name="against linear decay",
                            observe=FallShare(left=TunedLoss(arm="<trapezoid>"), right=TunedLoss(arm="<linear>")),
                        ),
                        Alternative(
                            name="as a share of the loss",
                            observe=RelativeGap(left=TunedLoss(arm="<trapezoid>"), right=TunedLoss(arm="<cosine>")),
                        ),
                    ),
                    **NO_WORSE,
                ),
                fields={
                    AT_20: {
                        "spread": 0.0075,
                        "underpowered": (
                            "equal losses would be shown in two cases of three only: optima an octave apart differ by 0.75%"
                            " from seed to seed in the pilot; a trapezoid better by 0.2% or more is seen to be no worse in"
                            " nine of ten"
                        ),
                    },
                    AT_80: {"scales": LONGEST},
                },
            ).specs,
            note="Non-inferiority: a trapezoid that is better does not speak against it. It decays over the last fifth.",
            advice={
                "supported": (
                    "If the length of the run is not known, keep the peak and decay at the end: no loss is seen from it."
                ),
                "partly": "Compare warmup-stable-decay with cosine decay at the length of your own run.",
                "refuted": "If the length of the run is known, prefer cosine decay to warmup-stable-decay.",
            },
        ),
        Judgement(
            claim="decay.plateau_rule",
            right={"supported": "lower", "refuted": "too low"},
            criteria=OnEach(
                panels=PLATEAUS,
                of=(
                    Criterion(
                        name="the fall in the last tenth before the switch, <at>",
                        panel="<panel>",
                        observe=FallShare(
                            left=LossAfter(arm="<arm>_stay", share=0.6),
                            right=LossAfter(arm="<arm>_stay", share=2 / 3),
                            best_of=("right_tenth",),
                        ),
                        says="Over the last tenth of the steps before the switch the loss falls by {estimate} of the fall",
                        **FLAT,
                    ),
                    Criterion(
                        name="staying against x0.1, <at>",
                        panel="<panel>",
                        observe=FallShare(
                            left=FinalLoss(arm="<arm>_stay"), right=FinalLoss(arm="<arm>_tenth"), best_of=("right_tenth",)
                        ),
                        says="From a plateau <at>, staying ends {higher}, as a share of the fall, than a tenth of the LR",
                        **HIGHER,
                    ),
                    Criterion(
                        name="x10 against staying, <at>",
                        panel="<panel>",
                        observe=FallShare(
                            left=FinalLoss(arm="<arm>_ten_times"), right=FinalLoss(arm="<arm>_stay"), best_of=("right_tenth",)
                        ),
                        says="From a plateau <at>, ten times the LR ends {higher}, as a share of the fall, than staying",
                        **NO_GAIN,
                    ),
                ),
            ).specs,
            reported=OnEach(
                panels={
                    "constant": {"arm": "constant"},
                    "cosine": {"arm": "cosine"},
                    "warmup-stable-decay": {"arm": "trapezoid"},
                },
                of=Reported(
                    name="reduce on plateau against <panel>, 20 tokens a parameter",
                    observe=FallShare(left=TunedLoss(arm="on_plateau"), right=TunedLoss(arm="<arm>")),
                    unit="relative",
                ),
            ).specs,
            note=(
                "All continuations of one run from two thirds of it on, at a tenth and at ten times the LR. No document says"
                " which rival reduce-on-plateau has in runs of unknown length: it stands beside three and decides nothing."
            ),
            advice={
                "supported": "On a plateau, lower the LR and do not raise it.",
                "partly": (
                    "Before you lower the LR on a plateau, branch the run: try a tenth and ten times the LR, and keep what"
                    " helps."
                ),
                "refuted": "Do not lower the LR only because the loss is flat.",
            },
        ),
        Judgement(
            claim="decay.raise_lr",
            right={"supported": "never", "refuted": "too low"},
            criteria=(
                Criterion(
                    name="the fall in the last tenth before the switch, with an LR a 32nd of the best",
                    observe=FallShare(
                        left=LossAfter(arm="low_stay", share=0.6),
                        right=LossAfter(arm="low_stay", share=2 / 3),
                        best_of=("right_tenth",),
                    ),
                    says="Over the last tenth of the steps before the switch the loss falls by {estimate} of the fall",
                    **FLAT,
                ),
                Criterion(
                    name="ten times the LR against staying, with an LR a 32nd of the best",
                    observe=FallShare(
                        left=FinalLoss(arm="low_ten_times"), right=FinalLoss(arm="low_stay"), best_of=("right_tenth",)
                    ),
                    says=(
                        "From a plateau with an LR a 32nd of the best, ten times the LR ends {higher}, as a share of the fall,"
                        " than staying"
                    ),
                    **NO_GAIN,
                ),
            ),
            reported=(
                Reported(
                    name="the fall in the last tenth before the switch, MLP with an LR too low to leave the start",
                    observe=FallShare(
                        left=LossAfter(arm="mlp_stay", share=0.6),
                        right=LossAfter(arm="mlp_stay", share=2 / 3),
                        best_of=("mlp_tuned",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="ten times the LR against staying, MLP with an LR too low to leave the start",
                    observe=FallShare(
                        left=FinalLoss(arm="mlp_ten_times"), right=FinalLoss(arm="mlp_stay"), best_of=("mlp_tuned",)
                    ),
                    unit="relative",
                ),
                Reported(
                    name="twice the LR against staying, with an LR a 32nd of the best",
                    observe=FallShare(
                        left=FinalLoss(arm="low_twice"), right=FinalLoss(arm="low_stay"), best_of=("right_tenth",)
                    ),
                    unit="relative",
                ),
                Reported(
                    name="twice the LR against staying, MLP with an LR too low to leave the start",
                    observe=FallShare(left=FinalLoss(arm="mlp_twice"), right=FinalLoss(arm="mlp_stay"), best_of=("mlp_tuned",)),
                    unit="relative",
                ),
                *OnEach(
                    panels={GPT_RIGHT: PLATEAUS[GPT_RIGHT], GPT_HIGH: PLATEAUS[GPT_HIGH]},
                    of=(
                        Reported(
                            name="twice the LR against staying, <at>",
                            observe=FallShare(
                                left=FinalLoss(arm="<arm>_twice"), right=FinalLoss(arm="<arm>_stay"), best_of=("right_tenth",)
                            ),
                            unit="relative",
                        ),
                        Reported(
                            name="ten times the LR against staying, <at>",
                            observe=FallShare(
                                left=FinalLoss(arm="<arm>_ten_times"),
                                right=FinalLoss(arm="<arm>_stay"),
                                best_of=("right_tenth",),
                            ),
                            unit="relative",
                        ),
                    ),
                ).specs,
            ),
            note=(
                "Never is said of every plateau, and the documents disagree on one kind: a loss that hardly falls because the"
                " LR is too low. That kind decides. At the best LR and above it nobody says that raising helps: those outcomes"
                " stand beside it. The GPT's loss falls slowly, by at most 2% of its fall in a tenth of the run. The MLP's is"
                " flatter, near its start, where a higher LR can hardly fail: it stands beside it, too."
            ),
            advice={
                "supported": "Do not raise the LR on a plateau.",
                "partly": "On a plateau try ten times the LR on a branch of the run before you lower it: it may be too low.",
                "refuted": (
                    "On a plateau find out first whether the LR is too low: try ten times the LR on a branch of the run. At the"
                    " best LR it does harm."
                ),
            },
        ),
        Judgement(
            claim="decay.first_half",
            criteria=OnEach(
                panels={
                    AT_20: {"arm": "cosine", "where": "at 20 tokens a parameter"},
                    AT_80: {"arm": "tenth_80", "where": "at 80 tokens a parameter"},
                    SMALL_BATCH: {"arm": "small_batch", "where": "in batches of 64 tokens"},
                },
                of=Criterion(
                    name="share of the fall after warmup that the first half makes, <where>",
                    panel="<panel>",
                    observe=Share(
                        part=Gap(left=LossAfter(arm="<arm>", share=0.05), right=LossAfter(arm="<arm>", share=0.5)),
                        whole=Gap(left=LossAfter(arm="<arm>", share=0.05), right=LossAfter(arm="<arm>", share=1.0)),
                        whole_at_least=0.1,
                    ),
                    says="Under cosine decay <where>, the first half of the steps makes {estimate} of the fall after warmup",
                    alternatives=(
                        Alternative(
                            name="counted from 10% of the run",
                            observe=Share(
                                part=Gap(left=LossAfter(arm="<arm>", share=0.1), right=LossAfter(arm="<arm>", share=0.5)),
                                whole=Gap(left=LossAfter(arm="<arm>", share=0.1), right=LossAfter(arm="<arm>", share=1.0)),
                                whole_at_least=0.1,
                            ),
                        ),
                        Alternative(
                            name="counted from 20% of the run",
                            observe=Share(
                                part=Gap(left=LossAfter(arm="<arm>", share=0.2), right=LossAfter(arm="<arm>", share=0.5)),
                                whole=Gap(left=LossAfter(arm="<arm>", share=0.2), right=LossAfter(arm="<arm>", share=1.0)),
                                whole_at_least=0.1,
                            ),
                        ),
                    ),
                    **MOST,
                ),
                fields={AT_80: {"scales": LONGEST}, SMALL_BATCH: {"scales": LONGEST}},
            ).specs,
            reported=OnEach(
                panels={
                    "linear decay": {"arm": "linear"},
                    "warmup-stable-decay": {"arm": "trapezoid"},
                    "a constant LR": {"arm": "constant"},
                },
                of=Reported(
                    name="<panel>, 20 tokens a parameter",
                    observe=Share(
                        part=Gap(left=LossAfter(arm="<arm>", share=0.05), right=LossAfter(arm="<arm>", share=0.5)),
                        whole=Gap(left=LossAfter(arm="<arm>", share=0.05), right=LossAfter(arm="<arm>", share=1.0)),
                        whole_at_least=0.1,
                    ),
                    unit="share",
                ),
            ).specs,
            note=(
                "From the end of warmup, at 5% of the run, to its end. Any curve that flattens falls more in its first half,"
                " with or without decay: the constant LR stands beside it. Counting from later leaves out the steep start."
            ),
            advice={
                "supported": "Expect most of the fall in the first half, and judge a schedule by its end all the same.",
                "partly": "Do not judge a run of cosine decay at half time.",
                "refuted": "Do not judge a run of cosine decay at half time: most of the fall is still to come.",
            },
        ),
    ),
    published=(
        Published(
            claim="decay.final_positive",
            finding=(
                "610M parameters, 20 tokens a parameter: linear to zero beats cosine to 10% by 0.77%; at 2 tokens it is worse,"
                " with a crossover near 4."
            ),
            source="Bergsma et al. 2025",
            link="https://arxiv.org/abs/2502.15938",
            how="reported",
        ),
        Published(
            claim="decay.cosine_vs_linear",
            finding="Linear is at least as good as cosine over ten problems.",
            source="Defazio et al. 2023",
            link="https://arxiv.org/abs/2310.07831",
            how="reported",
        ),
        Published(
            claim="decay.trapezoid",
            finding="Shapes of cooldown differ by 0.02 to 0.05 in perplexity, 1 - sqrt(t) ahead of linear, cosine and square.",
            source="comparison of cooldown shapes, secondary summary",
            how="reported",
        ),
    ),
)
