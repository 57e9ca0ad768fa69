"""How long a warmup is long enough?"""

from .kit import *

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, weight_decay=0.1, schedule="cosine", final_fraction=0.1, batch_size=8, steps=2000)
    | dict(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    version=6,  # why each version: reports/log
    factors=lr_grid(-8, -5),
    # Paired differences scatter by 0.8% (5% warmup) to 1.0% (0.5%) of the loss reduction in version 5: 40 seeds tell 0.7% from
    # the margin, as far as 0.5% warmup was from it.
    seeds=32,
    first_seed=112_000,
    answer=("warmup.duration",),
)

for length, fraction in {"none": 0.0, "0.5%": 0.005, "5%": 0.05, "20%": 0.2}.items():
    study.arm(length, f"{'no' if length == 'none' else length} warmup", warmup_fraction=fraction)

study.smoke(dict(steps=40, evaluation_examples=8, final_examples=16), factors=lr_grid(-8, -7))
study.laptop(
    "about four minutes of training",
    # In version 5 5% warmup was 0.2% from the margin, and 20% had its best LR in the middle of these in every resample.
    arm_seeds={"0.5%": 40, ("5%", "20%"): 96},
    arm_factors={"20%": lr_grid(-7, -5)},
)
study.gpu(
    "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
    GPU_GPT | dict(batch_size=32, precision="tf32", evaluation_examples=128, final_examples=512),
    # In standard parametrization the best LR falls with width (study mup_transfer).
    factors=lr_grid(-11, -6),
    seeds=15,
)
study.cluster(
    "many GPUs, hours: a 115M-parameter byte-level model on web text",
    CLUSTER_GPT
    | dict(batch_size=64, steps=10_000, precision="bf16")
    | dict(evaluation_examples=512, final_examples=2048, evaluations=20),
    factors=lr_grid(-12, -8),
    seeds=10,
)

# The longest warmup is what the shorter ones are compared with.
study.claim(
    "warmup.duration",
    no_worse(loss_gap("5%", "20%"), "tuned loss, 5% over 20% warmup", clause="a"),
    no_worse(loss_gap("0.5%", "20%"), "tuned loss, 0.5% over 20% warmup", clause="b"),
    reported(loss_gap("none", "20%")),
    reported(loss_gap("none", "5%")),
    reported(loss_gap("0.5%", "5%")),
)

STUDY = study.declared()
