"""Rules that a later version of a study changed: what was asked before, and the verdict by it.

A new version has fresh seeds, and its rule was written before they were trained, but after the old verdict was known. A reader
who knows both can judge the change. Written from the log's tables.
"""

from ..harness.declare import RuleChange

# Study and its new version -> claim -> the verdict before, and what has changed since.
CHANGES = {
    ("warmup", 3): {
        "warmup.widens": (
            "partly (direction)",
            "The LR still trains within 5% of the loss reduction, not of the loss; saving diverged SGD runs was added.",
        ),
        "warmup.improves_best": (
            "open",
            "Every length is judged, over 2,000 steps, with a margin of 1% of the loss reduction.",
        ),
        "warmup.mechanism": ("open", "A second moment formed at LR 0 was added, and SGD has the same bar as AdamW."),
        "warmup.late_nan": ("open", "Ramps are 120 and 360 steps long, not 15, and the shift of the edge is judged."),
    },
    ("warmup_duration", 3): {
        "warmup.duration": (
            "refuted (worse)",
            "The margin is 1% of the loss reduction for 5% warmup, where it was 0.5% for 5% and 0.5% warmup in 300 steps.",
        ),
    },
    ("lr_finder", 2): {
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
    ("batch_scaling", 5): {
        "scaling.sgd_linear": ("partly (direction)", "The rival is an exponent of 1/2, not 0, and the bound lies midway."),
        "scaling.adam_sqrt": ("partly (direction)", "Nearer to 1/2 than to 0 and 1; rescaled betas are only reported."),
        "scaling.breaks": ("partly (direction)", "2% of the loss reduction, not 5% of the loss; 64 updates, not 16."),
        "scaling.trajectory": ("refuted (larger)", "A mean gap without its noise is judged, not the largest of noisy points."),
        "scaling.warmup_with_batch": (
            "open",
            "The gain from longer warmup at the rule's LR is judged, not a rank correlation.",
        ),
    },
    ("critical_batch", 5): {
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
        "crit.small_batch_slow": ("partly (direction)", "The bar is 1.5x up to a quarter of the critical batch; it was 1.8x."),
    },
    ("critical_batch", 8): {
        "crit.hyperbola": (
            "supported",
            "The curve is judged, within 0.1 or not within 0.15, and was a precondition; the gain is that of one doubling"
            " fixed beforehand, not of those that the curve places past the critical batch.",
        ),
        "crit.ceiling": ("refuted (larger)", "One doubling, fixed beforehand, for those that the curve chose."),
        "crit.small_batch_slow": ("supported", "The smallest batch is doubled, for all that the curve chose."),
    },
    ("mup_transfer", 3): {
        "mup.invariant": (
            "open (too noisy)",
            "Widths begin at 32, not 16, and the margin is half an octave over 8x (1/6, not 0.2).",
        ),
        "mup.regret": ("supported", "A share of the loss reduction, not of the loss; without muP at least 1% more is lost."),
        "mup.coord_check": (
            "open (too noisy)",
            "Mean slopes with their sign over five steps, not the largest absolute one of 20.",
        ),
    },
    ("precision", 4): {
        "prec.fp16_underflow": ("supported", "Flushed gradients, a higher loss and learning that stops are judged apart."),
        "prec.range": ("supported", "The smallest FP16 number lies within 4.5e-8 and 6.5e-8; it was 4e-8 to 7e-8."),
        "prec.sensitive_ops": (
            "partly (smaller)",
            "The bar is 8 unit roundoffs, near and far from zero; it was 2x. Softmax is out.",
        ),
    },
    ("memory", 2): {
        "mem.accumulation_peak": ("supported", "Within 0.02, as first written; it had been widened to 0.05 after a pilot."),
        "mem.checkpoint_time": ("partly", "Refuted outside of 1.1 to 1.4, as first written, not outside of 1.2 to 1.3."),
        "mem.checkpoint_size": ("partly", "Refuted below 1.5x alone, as first written, not above 4x, too."),
    },
    ("edge_of_stability", 3): {
        "eos.sharpness": (
            "supported",
            "Mini-batches are a workload, too, and both have one region, 0.9 to 1.2; 0.7 and 1.5 refuted before.",
        ),
        "eos.nonmonotone": ("open (too noisy)", "Windows are equally long in LR x steps (15), not 100 steps at every LR."),
    },
    ("decay", 3): {
        "decay.plateau_rule": (
            "partly (some workloads)",
            "A plateau falls by at most 0.5% of the loss reduction, not 2%: the LR at which raising helped is out.",
        ),
        "decay.raise_lr": ("refuted (smaller), withdrawn", "A plateau falls by at most 0.5% of the loss reduction, not 2%."),
        "decay.first_half": ("supported", "The first half must also make more of it than at a constant LR."),
    },
    ("batch_scaling", 6): {
        "scaling.trajectory": (
            "open (too noisy)",
            "The two arms that left it open have 60 seeds; bar and workloads are the same.",
        ),
    },
    ("warmup", 5): {
        "warmup.late_nan": (
            "open (multiplicity)",
            "The share that a longer warmup saves is judged, not how far it moves the edge (by 1.4x).",
        ),
    },
    ("warmup", 6): {
        "warmup.late_nan": (
            "open (too noisy)",
            "The two arms that left it open have 48 seeds, not 22; bar and criteria are the same.",
        ),
    },
    ("warmup_duration", 5): {
        "warmup.duration": (
            "supported, withdrawn",
            "The margin is 0.5% of the loss reduction, not 1%, and 0.5% warmup is judged beside 5%.",
        ),
    },
    ("generalization", 3): {
        "gen.small_batch": (
            "supported",
            "Test error must be higher, too, and one LR at equal updates (243 epochs against 15) is only reported.",
        ),
        "gen.sharper": (
            "partly (smaller)",
            "Sharpness is read at the end of training, not at a training loss of 0.8 nats, and the LR grid is finer.",
        ),
        "gen.flat_minima": (
            "refuted (opposite), withdrawn",
            "Runs are read at the end of training, not where their training loss first reaches 0.8 nats.",
        ),
    },
    ("generalization", 4): {
        "gen.small_batch": (
            "open (too noisy)",
            "Both parts are read on MNIST with 2,000 test images, not on 359 digits, and an error that is surely higher by"
            " less than half a point refutes: before, it decided nothing.",
        ),
    },
    ("optimizer_generalization", 2): {
        "gen.adam_train_loss": (
            "open (too noisy)",
            "The direction is judged; a training loss higher by 0.5% of the loss reduction counted as equal before.",
        ),
    },
    ("optimizer_generalization", 3): {
        "gen.adam_train_loss": (
            "open (precondition)",
            "Adam's test error must be higher, as the document says, not its test loss; the tasks are linear classifiers on"
            " few examples, where that is so.",
        ),
    },
    ("lr_regimes", 3): {
        "lr.most_important": ("open (too noisy)", "The batch size is changed at equal examples, not at equal steps."),
        "adam.lr_tolerance": (
            "partly (smaller)",
            "Both optimizers have one bar, above the lower of their best losses, not each its own.",
        ),
    },
    ("gradient_noise", 2): {
        "noise.step_cost": ("supported", "Linear means a straight line with a constant, to a tenth, not an exponent of 1."),
        "noise.memory": (
            "refuted (smaller), withdrawn",
            "Linear means a straight line with a constant, to a tenth, not an exponent of 1.",
        ),
        "noise.temperature": ("partly (direction)", "LR over batch must also explain more than LR over the root of the batch."),
    },
    ("gradient_flow", 3): {
        "flow.healthy": (
            "open (multiplicity)",
            "Hidden matrices are judged three times in the run, all matrices at the start alone.",
        ),
        "flow.dead_relu": (
            "open (too noisy)",
            "By its definition: no gradient. What held-out examples activate, and what recovers, is only reported.",
        ),
    },
    ("embedding_lr", 2): {
        "emb.rare_tokens": (
            "partly (some parts)",
            "The contrast with SGD is judged; movement over the row's norm, as steep with SGD, is only reported.",
        ),
    },
    ("lr_regimes", 4): {
        "lr.grad_not_loss": (
            "refuted (smaller)",
            "The cuts of the norm are fitted on other seeds, runs at too large an LR have to swing, dead ones count as at a"
            " critical point, and better than guessing a third is partly.",
        ),
    },
    ("adam_internals", 2): {
        "adam.beta2_spikes": (
            "supported",
            "The direction at 8 times the best LR is judged; at 8 and 16 times, by at least 2%, before.",
        ),
    },
    ("optimizers", 2): {
        "opt.sophia": (
            "out of regime (regime)",
            "Gamma is a pilot's best, not 0.05, and batches of 128 tokens, too few for its curvature, are out.",
        ),
        "opt.layerwise": (
            "open (too noisy)",
            "LRs are half octaves, and there are more seeds; bar, batches and workloads are the same.",
        ),
    },
    ("lr_finder", 3): {
        "finder.head_to_head": (
            "open (too noisy)",
            "The CNNs have 44 seeds, the other workloads 20; all had 16. Rule and workloads are the same.",
        ),
    },
    ("forgetting", 4): {
        "forget.happens": ("partly (smaller)", "Images of MNIST and a GPT on two texts are judged beside digits."),
        "forget.replay": ("supported", "Images of MNIST and a GPT on two texts are judged beside digits."),
        "forget.ewc": ("supported", "Images of MNIST are judged beside digits; the strength is one of four, not of eight."),
        "forget.small_lr": (
            "supported",
            "At most 2 points more refute, not none; MNIST and a GPT on two texts are judged beside digits.",
        ),
        "forget.lora": (
            "open (too noisy)",
            "At most 2 points more refute, not none; MNIST and a GPT on two texts are judged beside digits.",
        ),
        "forget.layerwise_lr": (
            "partly (some workloads)",
            "At most 2 points more refute, not none; MNIST is judged beside digits.",
        ),
    },
    ("overfitting", 4): {
        "fit.small_data": (
            "supported",
            "Three sizes of each kind, not five; the GPT has half the tokens and 320 steps, not 800.",
        ),
        "fit.val_turns": (
            "supported",
            "The GPT has half the tokens and 320 steps, not 800; MLPs train 1,600 steps, not 2,000.",
        ),
        "fit.early_stopping": (
            "partly (some workloads)",
            "The GPT has half the tokens and 320 steps, not 800; MLPs train 1,600 steps, not 2,000.",
        ),
        "fit.lr_is_not_the_lever": (
            "refuted (opposite)",
            "Optuna tunes levers, where grids of six values did; dropout may be 0; a GPT is judged beside MLPs.",
        ),
    },
    ("forgetting", 5): {
        "forget.happens": (
            "partly (smaller)",
            "Two tasks of five classes are judged; of five tasks of two, MNIST's alone, where more was forgotten than on"
            " digits.",
        ),
        "forget.replay": (
            "supported",
            "Two tasks of five classes are judged; of five tasks of two, MNIST's alone, where replay did less than on digits.",
        ),
        "forget.ewc": (
            "supported",
            "Two tasks of five classes are judged; of five tasks of two, MNIST's alone. The strength is one of three, not of"
            " four.",
        ),
        "forget.lora": ("supported", "16 seeds, not 32, where classes of MNIST compete within their task; 8 elsewhere."),
    },
    ("decay", 6): {
        "decay.final_positive": (
            "open (multiplicity)",
            "At 20 tokens per parameter both arms have 24 seeds, not 12; bar and lengths are the same.",
        ),
        "decay.plateau_rule": (
            "open (precondition)",
            "Two plateaus that do not come from the LR are judged too, and falls before the switch are read of more seeds.",
        ),
    },
    ("batch_scaling", 8): {
        "scaling.trajectory": (
            "open (too noisy)",
            "The two arms that left it open have 45 seeds, not 15; bar and workloads are the same.",
        ),
        "scaling.warmup_with_batch": (
            "open (multiplicity)",
            "The arms of the workload that fails have 45 seeds, not 15; bar and workloads are the same.",
        ),
    },
    ("warmup", 7): {
        "warmup.late_nan": (
            "open (too noisy)",
            "The arms that left it open have 96 seeds, not 48, at the edge of divergence; bar and criteria are the same.",
        ),
        "warmup.improves_best": ("open (multiplicity)", "All lengths have 44 seeds, not 22; bar and criteria are the same."),
    },
    ("spikes", 5): {
        "spike.batch_or_state": (
            "supported",
            "Spikes that come by themselves, of two MLPs, count beside planted ones, and all have to agree.",
        ),
    },
    ("critical_batch", 9): {
        "crit.small_batch_slow": (
            "supported",
            "The smallest batches train for longer, so that no run ends short of its target; before, two of four workloads had"
            " no number.",
        ),
    },
    ("optimizer_generalization", 4): {
        "gen.adam_train_loss": (
            "refuted (opposite)",
            "One task with a worse error and a training loss at most 1% higher is enough; before, the training loss had to be"
            " lower on every task with a worse error, with no margin. An MLP is judged beside linear classifiers.",
        ),
    },
    ("optimizer_generalization", 5): {
        "gen.adam_train_loss": (
            "supported",
            "The training loss may be 0.5% higher, not 1%, as everywhere here. 67 images of MNIST for 100 digits, whose 359"
            " images for the test and 359 for validation disagree.",
        ),
    },
    ("forgetting", 6): {
        "forget.ewc": ("supported", "On most scenarios; before, one was enough."),
        "forget.small_lr": ("supported", "On most scenarios; before, one was enough."),
        "forget.lora": (
            "supported",
            "On most scenarios; before, one was enough. Arms whose interval was too wide have 16 seeds, not 8.",
        ),
        "forget.layerwise_lr": (
            "supported",
            "On most scenarios; before, one was enough. Arms whose interval was too wide have 16 seeds, not 8.",
        ),
    },
}
RULE_CHANGES = tuple(
    RuleChange(claim=claim, study=study, version=version, was=was, change=change)
    for (study, version), changes in CHANGES.items()
    for claim, (was, change) in changes.items()
)
