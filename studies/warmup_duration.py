"""How long a warmup is long enough?"""

from .kit import *

# Shares of the steps, by name; the longest is what the shorter ones are compared with.
LENGTHS = {"none": 0.0, "0.5%": 0.005, "5%": 0.05, "20%": 0.2}
REFERENCE = "20%"


def suffices(clause: str, length: str) -> Criterion:
    return no_worse(
        f"tuned loss, {length} over {REFERENCE} warmup",
        loss_gap(length, REFERENCE),
        f"{length} warmup {{costs}} of the loss reduction compared with {REFERENCE}",
        clause=clause,
    )


DURATION = judgement(
    "warmup.duration",
    suffices("a", "5%"),
    suffices("b", "0.5%"),
    reported={
        "tuned loss, no warmup over 20%": (loss_gap("none", REFERENCE), "relative"),
        "tuned loss, no warmup over 5%": (loss_gap("none", "5%"), "relative"),
        "tuned loss, 0.5% over 5% warmup": (loss_gap("0.5%", "5%"), "relative"),
    },
)

STUDY = study(
    __file__,
    # Until version 4 it was part of the study of warmup, whose trials its own would double; in version 5 all arms had 96 seeds.
    version=6,
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(
        optimizer="adamw", beta2=0.95, schedule="cosine", final_fraction=0.1, batch_size=8, steps=2000, weight_decay=0.1
    ),
    measurement=Measurement(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    arms={
        length: Arm(label=f"{'no' if length == 'none' else length} warmup", settings={"warmup_fraction": fraction})
        for length, fraction in LENGTHS.items()
    },
    factors=lr_grid(-8, -5),
    # Paired differences scatter by 0.8% (5% warmup) to 1.0% (0.5%) of the loss reduction in version 5: 40 seeds tell 0.7% from
    # the margin, as far as 0.5% warmup was from it.
    seeds=32,
    first_seed=112_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 40}, measurement={"evaluation_examples": 8, "final_examples": 16}, factors=lr_grid(-8, -7)
        ),
        "laptop": scales.laptop(
            "about four minutes of training",
            # In version 5 5% warmup was 0.2% from the margin, and 20% had its best LR in the middle of these in every resample.
            arm_seeds={"0.5%": 40, "5%": 96, REFERENCE: 96},
            arm_factors={REFERENCE: lr_grid(-7, -5)},
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 32, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            # In standard parametrization the best LR falls with width (study mup_transfer).
            factors=lr_grid(-11, -6),
            seeds=15,
        ),
        "cluster": scales.gpu(
            "many GPUs, hours: a 115M-parameter byte-level model on web text",
            workload={"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024},
            training={"batch_size": 64, "steps": 10_000, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048, "evaluations": 20},
            factors=lr_grid(-12, -8),
            seeds=10,
        ),
    },
    answer=("warmup.duration",),
    judgements=(DURATION,),
)
