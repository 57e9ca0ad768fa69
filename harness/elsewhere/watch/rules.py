"""The rules that a run is watched by: every threshold with its source, what the documents advise, and the claims behind it.

Documents: TB Training Behaviors — Deep Dive, TD Training Dynamics, CP Common Problems, GL Gradient Descent & Learning Rate —
Interview Grill, SG Topic 16: Training Behaviors & Single GPU Optimization. "Ours" is a choice of this project.
"""

from dataclasses import dataclass

# Factors, windows and deviations of the rules on losses and norms: harness/declare/metrics/detectors.py, which studies judge
# them with. Ours: a rise of the loss by less than this share of the loss reduction so far is minor, however many times the mean
# it is. Below this share of the first losses, near the floor, it takes a larger rise, and a gradient norm is always minor;
# elsewhere if it is below the first ones. In sound runs whose loss nears zero these rules fire all the time (claim
# spike.detector; counted in tests/benchmarks/watching.py).
MINOR_RISE, FLOOR, MINOR_RISE_AT_FLOOR = 0.1, 0.2, 0.5
# The documents' update-to-weight ratio is about 1e-3 (GL Q10, CP Q5). Ours: at best LRs, medians over the matrices were 5e-4 to
# 1.6e-2 (claim finder.ratio and what is reported beside it); six times the largest, and a fiftieth of the smallest.
UPDATE_MOST, UPDATE_LEAST = 0.1, 1e-5
# Ours: an update larger than the weights themselves needs no second look. After a few of them the weights have grown, and the
# ratio looks healthy again.
UPDATE_ABSURD = 1.0
# Ours: layers differ if one's ratio is this many times the median's, or that part of it. In healthy runs the largest was up to
# 5 times the smallest, with a hidden matrix at 30 times the LR up to 28 times (reported beside claim lr.layers_differ).
LAYER_FACTOR = 10.0
# "Orders of magnitude" between early and later layers (TD Gradient Flow Diagnostics); ours, as in claim flow.vanishing: two.
VANISHED = 0.01
# "Drops to ~0" (TB 4); ours, as in claim flow.zero_is_not_converged: a hundredth of the first norms.
NEAR_ZERO, FIRST_NORMS = 0.01, 5
# Ours: a loss above this share of the first ones is high: a run that has converged is not one whose gradients vanished.
HIGH_LOSS, FIRST_LOSSES = 0.5, 10
# Ours: what holds at this many looks in a row is no accident of a batch.
LOOKS = 5
# "Always zero" (TD Gradient Flow Diagnostics); ours: on this many examples in a row. In claim flow.dead_relu it is 1,079.
SILENT_EXAMPLES = 1000
# Ours: outputs of GELU and SiLU this close to 0, of sigmoid to 0 or 1, and of tanh to -1 or 1, have next to no gradient.
SILENT_OUTPUT = 0.01
# Ours: in the networks of claim flow.dead_relu, which lost 20 to 70% of the loss reduction, half of the units were dead.
SILENT_SHARE = 0.5
# Ours: a loss scale below 1 makes gradients smaller, which is the opposite of what it is for.
LEAST_SCALE = 1.0


@dataclass(frozen=True)
class Rule:
    """says: what has happened if it fires. unit: of an event's value. source: of its threshold. playbook: what the documents
    advise. claims: behind rule and advice, the first decides whether the rule is worth listening to."""

    name: str
    says: str
    unit: str
    source: str
    playbook: str
    claims: tuple[str, ...]


_SPIKE = (
    "TB 8: skip the batch, restart from a checkpoint, lower the LR for a time, clip, BF16 instead of FP16. GL Q42: clip and"
    " inspect the batch; lower the LR only if spikes get worse or end in NaN. SG Detection Code: halve the LR."
)
_TOO_HIGH = "TD Loss Curves: lower the LR, add warmup or clip."

RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "nonfinite",
            "the loss or the gradient is not finite",
            "",
            "CP Q5",
            "GL Q38, at the first steps: LR 10x lower; if still NaN, look for FP16 overflow, initialization, division by zero."
            " GL Q39, at steps 100 to 500: lower the peak LR or warm up for longer; clip. CP Solutions & Tips: restart from the"
            " last good checkpoint with a lower LR.",
            ("warmup.late_nan", "warmup.clip_first", "prec.fp16_overflow", "prec.fp16_nan"),
        ),
        Rule(
            "loss_ratio",
            "the loss is above twice the mean of the nine before it",
            "x",
            "SG Detection Code",
            _SPIKE,
            ("spike.detector", "spike.playbook", "spike.once", "spike.clip"),
        ),
        Rule(
            "deviations",
            "the loss or the gradient norm is six standard deviations above the mean of the 128 before it",
            "deviations",
            "OLMo team 2025, skip step",
            _SPIKE,
            ("spike.detector", "spike.playbook", "spike.once", "spike.clip"),
        ),
        Rule(
            "spike",
            "the loss is six robust deviations above the median of the 50 before it",
            "deviations",
            "ours, as claim spike.batch_or_state counts spikes",
            _SPIKE,
            ("spike.batch_or_state", "spike.playbook", "spike.once"),
        ),
        Rule(
            "norm_ratio",
            "the gradient norm is above three times the median of the 50 before it",
            "x",
            "ours, as claim spike.warning counts warnings",
            "TB 4: instability is brewing, by a bad batch or the optimizer's state; clip at 1.0.",
            ("spike.warning", "spike.clip"),
        ),
        Rule(
            "update_large",
            f"the median matrix moves by more than {UPDATE_MOST:g} of its weights per update, {LOOKS} looks in a row, or once"
            " by more than all of them",
            "of the weights",
            "GL Q10 and CP Q5 say about 1e-3; this limit is ours",
            _TOO_HIGH + " GL Q4: the loss may become NaN, or spike and recover.",
            ("finder.ratio", "lr.too_high"),
        ),
        Rule(
            "update_small",
            f"the median matrix moves by less than {UPDATE_LEAST:g} of its weights per update, {LOOKS} looks in a row, and the"
            " loss is still high",
            "of the weights",
            "GL Q5 and Q37 say that a low ratio means too low an LR; this limit is ours",
            "GL Q5, Q37, Q44: raise the LR.",
            ("finder.ratio", "lr.too_low"),
        ),
        Rule(
            "layers_differ",
            f"a matrix's update-to-weight ratio is {LAYER_FACTOR:g} times the median matrix's, or a"
            f" {LAYER_FACTOR:g}th of it, {LOOKS} looks in a row",
            "x the median",
            "GL Q10 says that a loss curve hides it; this limit is ours",
            "GL Q41: an LR for each layer (LARS, LAMB, muP), or a higher LR for the lagging one.",
            ("lr.layers_differ", "opt.layerwise_ratio"),
        ),
        Rule(
            "vanishing",
            f"a matrix in the first half has less than {VANISHED:g} of the gradient norm of one in the second,"
            f" {LOOKS} looks in a row",
            "x",
            "TD Gradient Flow Diagnostics says orders of magnitude; two are ours",
            "TD Gradient Flow Diagnostics: learning stalls in early layers. TB 11: check activations.",
            ("flow.vanishing", "flow.healthy"),
        ),
        Rule(
            "gradient_zero",
            f"the gradient norm is below {NEAR_ZERO:g} of the first ones, {LOOKS} looks in a row, and the loss is still high",
            "x the first norms",
            "TB 4 says about 0; this limit is ours",
            "TB 11: possibly vanishing gradients and no convergence; check activations. GL Q37: a critical point; warm restart"
            " or perturbation.",
            ("flow.zero_is_not_converged", "lr.grad_not_loss"),
        ),
        Rule(
            "silent_units",
            f"more than {SILENT_SHARE:.0%} of a layer's units were zero or saturated on {SILENT_EXAMPLES:,} examples in a row",
            "of the units",
            "TD Gradient Flow Diagnostics says to monitor the share; this limit is ours",
            "TD Gradient Flow Diagnostics: their gradient is always zero. TB 4: the gradient may vanish. None names a cure.",
            ("flow.dead_relu",),
        ),
        Rule(
            "loss_scale",
            f"the loss scale has fallen below {LEAST_SCALE:g}",
            "",
            "ours",
            "TB 7: FP16 overflows; BF16 needs no loss scaling.",
            ("prec.fp16_overflow", "prec.fp16_scaled", "prec.bf16_loss"),
        ),
    )
}
