"""Rules that a later version of a study changed: what was asked before, and the verdict by it.

A new version has fresh seeds, and its rule was written before they were trained, but after the old verdict was known. A reader
who knows both can judge the change. Written from the log's tables.
"""

from collections.abc import Mapping

from folklore.harness.spec import RuleChange


def _version(study: str, version: int, changes: Mapping[str, tuple[str, str]]) -> tuple[RuleChange, ...]:
    """Of a version of a study: claim -> the verdict before, and what has changed since."""
    return tuple(
        RuleChange(claim=claim, study=study, version=version, was=was, change=change)
        for claim, (was, change) in changes.items()
    )


RULE_CHANGES = (
    *_version(
        "warmup",
        3,
        {
            "warmup.widens": (
                "partly (direction)",
                "The LR still trains within 5% of the loss reduction, not of the loss; saving diverged SGD runs was added.",
            ),
            "warmup.improves_best": (
                "open",
                "Every length is judged, over 2,000 steps, with a margin of 1% of the loss reduction.",
            ),
            "warmup.duration": (
                "refuted (worse)",
                "The margin is 1% of the loss reduction for 5% warmup, where it was 0.5% for 5% and 0.5% warmup in 300 steps.",
            ),
            "warmup.mechanism": ("open", "A second moment formed at LR 0 was added, and SGD has the same bar as AdamW."),
            "warmup.late_nan": ("open", "Ramps are 120 and 360 steps long, not 15, and the shift of the edge is judged."),
        },
    ),
    *_version(
        "lr_finder",
        2,
        {
            "finder.margin": (
                "refuted",
                "The loss at a tenth of the LR of divergence is judged, not its distance from the best LR.",
            ),
            "finder.steepest": (
                "open",
                "The steepest point is the middle of a decade, not of one step; losses count from the start.",
            ),
            "finder.ramp": ("refuted", "Picks of 1,000 and 100 steps are compared, without the lag of the smoothing."),
            "finder.ratio": ("refuted", "The median over weight matrices counts, without gains and biases, after warmup."),
        },
    ),
    *_version(
        "batch_scaling",
        5,
        {
            "scaling.sgd_linear": ("partly (direction)", "The rival is an exponent of 1/2, not 0, and the bound lies midway."),
            "scaling.adam_sqrt": ("partly (direction)", "Nearer to 1/2 than to 0 and 1; rescaled betas are only reported."),
            "scaling.breaks": ("partly (direction)", "2% of the loss reduction, not 5% of the loss; 64 updates, not 16."),
            "scaling.trajectory": (
                "refuted (larger)",
                "A mean gap without its noise is judged, not the largest of noisy points.",
            ),
            "scaling.warmup_with_batch": (
                "open",
                "The gain from longer warmup at the rule's LR is judged, not a rank correlation.",
            ),
        },
    ),
    *_version(
        "critical_batch",
        5,
        {
            "crit.hyperbola": (
                "open (too noisy)",
                "The gain of a doubling is judged; the fit is a precondition, within 0.15 for 0.08.",
            ),
            "crit.noise_scale": (
                "supported",
                "Within a factor of 3 or not, with nothing between, from the first step to the target.",
            ),
            "crit.grows": ("open (too noisy)", "The bar is 1.25x on all four workloads; it was 3x."),
            "crit.range": ("open (too noisy)", "Noisy labels against clean ones, at least 2x; it was 10x between tasks."),
            "crit.small_batch_slow": (
                "partly (direction)",
                "The bar is 1.5x up to a quarter of the critical batch; it was 1.8x.",
            ),
        },
    ),
    *_version(
        "mup_transfer",
        3,
        {
            "mup.invariant": (
                "open (too noisy)",
                "Widths begin at 32, not 16, and the margin is half an octave over 8x (1/6, not 0.2).",
            ),
            "mup.regret": (
                "supported",
                "A share of the loss reduction, not of the loss; without muP at least 1% more is lost.",
            ),
            "mup.coord_check": (
                "open (too noisy)",
                "Mean slopes with their sign over five steps, not the largest absolute one of 20.",
            ),
        },
    ),
    *_version(
        "precision",
        4,
        {
            "prec.fp16_underflow": ("supported", "Flushed gradients, a higher loss and learning that stops are judged apart."),
            "prec.range": ("supported", "The smallest FP16 number lies within 4.5e-8 and 6.5e-8; it was 4e-8 to 7e-8."),
            "prec.sensitive_ops": (
                "partly (smaller)",
                "The bar is 8 unit roundoffs, near and far from zero; it was 2x. Softmax is out.",
            ),
        },
    ),
    *_version(
        "memory",
        2,
        {
            "mem.accumulation_peak": ("supported", "Within 0.02, as first written; it had been widened to 0.05 after a pilot."),
            "mem.checkpoint_time": ("partly", "Refuted outside of 1.1 to 1.4, as first written, not outside of 1.2 to 1.3."),
            "mem.checkpoint_size": ("partly", "Refuted below 1.5x alone, as first written, not above 4x, too."),
        },
    ),
    *_version(
        "edge_of_stability",
        3,
        {
            "eos.sharpness": (
                "supported",
                "Mini-batches are a workload, too, and both have one region, 0.9 to 1.2; 0.7 and 1.5 refuted before.",
            ),
            "eos.nonmonotone": ("open (too noisy)", "Windows are equally long in LR x steps (15), not 100 steps at every LR."),
        },
    ),
    *_version(
        "decay",
        3,
        {
            "decay.plateau_rule": (
                "partly (some workloads)",
                "A plateau falls by at most 0.5% of the loss reduction, not 2%: the LR at which raising helped is out.",
            ),
            "decay.raise_lr": (
                "refuted (smaller), withdrawn",
                "A plateau falls by at most 0.5% of the loss reduction, not 2%.",
            ),
            "decay.first_half": ("supported", "The first half must also make more of it than at a constant LR."),
        },
    ),
)
