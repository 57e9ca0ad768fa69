"""The documents and all their claims, including those that no study judges yet.

Paraphrased, with the document's hedge; a source names the document and its section or question ("advanced" is the second quiz
of CP). `short` is for dense rows. `quantifier`: a recommendation is about most workloads, one of several options or causes
about some. `regime`: only if the document states one; its words, and the paraphrase's, give the claim's least size
(harness/declare/claim_size.py). `size` is a number of the document, never ours. `lost`: missing in our copies, and inferred.
`own`: no document claims it; its sources discuss the matter, and none is graded.

`sides`: what the documents say if they contradict each other or themselves, as "name: what it says [places]"; the paraphrase
states the first. Every place of a side is among the sources, too; a document that takes no side is only there. A side without a
source is right by arithmetic.

`measure`: what has to be measured, and the rule; η* is the LR with the lowest final loss, CI the 95% interval over seeds.
"(ours)" marks thresholds of ours. Each lettered clause has to hold, decided by criteria that name it; what is reported decides
nothing. Thresholds were fixed before the first run; a change needs a written reason and a new version of the study.
"""

from typing import Any

from ..harness.declare import Claim, Document, Regime
from .errata import ERRATA

__all__ = ["CLAIMS", "DOCUMENTS", "ERRATA"]

DOCUMENTS = (
    Document(key="TB", title="Training Behaviors — Deep Dive", file="000_c148b958bf6c2aa2.txt"),
    Document(key="TD", title="Training Dynamics", file="001_c140ab5e1c38563e.txt"),
    Document(key="CP", title="Common Problems", file="002_b93097a5f3a601a2.txt"),
    Document(key="GL", title="Gradient Descent & Learning Rate — Interview Grill", file="003_8426bab9041bdc05.txt"),
    Document(key="SG", title="Topic 16: Training Behaviors & Single GPU Optimization", file="004_5dc92ad687519313.txt"),
)


# Where a claim's prefix is not the name of its study.
STUDY_OF_PREFIX = {
    "finder": "lr_finder",
    "scaling": "batch_scaling",
    "crit": "critical_batch",
    "prec": "precision",
    "decay": "decay",
    "mup": "mup_transfer",
    "lr": "lr_regimes",
    "eos": "edge_of_stability",
    "noise": "gradient_noise",
    "gen": "generalization",
    "spike": "spikes",
    "wd": "weight_decay",
    "adam": "adam_internals",
    "opt": "optimizers",
    "mem": "memory",
    "flow": "gradient_flow",
    "fit": "overfitting",
    "forget": "forgetting",
    "ramp": "batch_ramp",
    "emb": "embedding_lr",
}
# Claims that another study judges.
STUDY_OF_CLAIM = {
    "adam.lr_tolerance": "lr_regimes",
    **dict.fromkeys(
        ("warmup.duration", "warmup.improves_best", "warmup.transformer_diverges", "warmup.early_gradients"), "warmup_duration"
    ),
    **dict.fromkeys(("warmup.late_nan", "warmup.clip_first"), "warmup_divergence"),
    **dict.fromkeys(("opt.muon_with_size", "opt.muon_speed_with_size", "opt.lion_with_size"), "optimizer_ladder"),
    **dict.fromkeys(("decay.zero_with_size", "decay.linear_zero_with_size", "decay.trapezoid_with_size"), "decay_ladder"),
    **dict.fromkeys(("scaling.exponent_with_size", "scaling.half_life_with_size"), "batch_ladder"),
    **dict.fromkeys(("lr.falls_with_length", "lr.rises_with_batch_and_length"), "length_ladder"),
    **dict.fromkeys(("finder.tenth_with_size", "finder.steepest_with_size"), "finder_ladder"),
    **dict.fromkeys(("crit.batch_with_tokens", "crit.batch_with_size"), "critical_ladder"),
    **dict.fromkeys(("prec.nearest_with_size", "prec.stochastic_with_size", "prec.fp8_with_size"), "precision_ladder"),
    "wd.batch_with_size": "weight_decay_ladder",
    "mup.depth_rule_with_size": "depth_ladder",
    **dict.fromkeys(("warmup.gain_with_size", "warmup.steps_with_size", "warmup.range_with_size"), "warmup_ladder"),
    **dict.fromkeys(("decay.plateau_rule", "decay.raise_lr"), "plateaus"),
    **dict.fromkeys(("warmup.post_norm", "warmup.pre_norm", "warmup.clip_post_norm"), "transformer_warmup"),
    **dict.fromkeys(
        ("gen.sgd_vs_adam", "gen.adam_transformer", "gen.lm_large_batch", "gen.adam_train_loss"), "optimizer_generalization"
    ),
}


def _claim(sides: tuple[str, ...] = (), kinds: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """The fields of a claim. By default it is empirical, and a disagreement if it has sides."""
    return {"kinds": kinds or ("empirical", *["disagreement"] * bool(sides)), "sides": sides, **fields}


# Sides of several claims.
TENTH = "10x below: a pick about 10x below the LR of divergence is good [TB 2]"
STEEPEST = "steepest: the LR of steepest descent, just before divergence, is good [TD Learning Rate Finder; CP advanced Q3]"
SAME_PLACE = "same place: 10x below divergence the loss still falls steeply, so both rules pick about the same LR [GL Q9]"
GAINS_LESS = "less: past the critical batch each doubling still gains, by less than 2x [TB 3; GL Q15]"
GAINS_NOTHING = "nothing: past the critical batch there is no further speedup [TB 11; GL Q33]"
SMALL_BATCH_FINE = "small batch: a large noise scale means that a small batch is fine [GL Q34]"
WARMUP_FIRST = "warmup first: the peak LR is too high, so warmup is added or made longer [GL Q39]"
CLIP_FIRST = "clip first: the gradients explode: clip them [CP Q1]"
ZEROS = "zeros: small gradients become zero, and learning stops (CP) [TB 7; TD Mixed Precision Training; CP advanced Q2]"
NAN = "NaN: training without gradient scaling gives NaN [SG Common Failure Modes]"
SMOOTH = "smooth: the loss falls smoothly at the right LR, and swings mean too high an LR [TB 1; TB 2]"
SPIKES = "spikes: the loss spikes or bounces now and then at the best LR [GL Q11; GL Q12; GL Q42]"
TOO_LOW = "too low: a plateau can mean that the LR is too low [GL Q37; TB 6]"

_CLAIMS = {
    "finder.margin": _claim(
        paraphrase="an LR about 10x below the LR at which the range test diverges is usually a usable pick to start from",
        short="An LR 10x below the range test's divergence is a usable pick",
        sources="TB 2; GL Q9; TD Learning Rate Finder; CP advanced Q3",
        quantifier="most",
        size="about 10x",
        sides=("10x below: a pick about 10x below the LR of divergence is good [TB 2; GL Q9]", STEEPEST),
        measure="regret at a tenth of the LR of divergence, 300-step ramp: CI ≤ 2% of the loss reduction (ours); refuted above",
    ),
    "finder.steepest": _claim(
        paraphrase="the LR at which the range test's loss falls fastest, typically just before divergence, is a good pick",
        short="The LR of steepest descent in the range test is a good pick",
        sources="TD Learning Rate Finder; CP advanced Q3; TB 2; GL Q9",
        quantifier="most",
        sides=(STEEPEST, TENTH, SAME_PLACE),
        measure="regret at the steepest point, 300-step ramp: CI ≤ 2% of the loss reduction (ours); refuted above",
    ),
    "finder.head_to_head": _claim(
        kinds=("disagreement",),
        paraphrase="the pick 10x below divergence is better than the steepest point of the same range test",
        short="The pick 10x below divergence beats the steepest point",
        sources="TB 2; TD Learning Rate Finder; CP advanced Q3; GL Q9",
        quantifier="most",
        own=True,
        sides=(TENTH, STEEPEST, SAME_PLACE),
        measure="regret at the steepest point less that at a tenth of divergence, of the loss reduction: CI > 0, refuted < 0",
    ),
    "finder.ramp": _claim(
        paraphrase="the range test's pick hardly depends on whether the ramp takes a few batches, hundreds of steps or an"
        " epoch",
        short="The range test's pick hardly depends on the length of the ramp",
        sources="TB 2; TD Learning Rate Finder; GL Q9; CP advanced Q3",
        quantifier="most",
        own=True,
        sides=(
            "hundreds: a ramp takes a few hundred steps, growing by a tenth or so in each [TB 2; GL Q9]",
            "one epoch: a ramp takes one epoch [TD Learning Rate Finder]",
            "few batches: a ramp from 1e-7 takes a few batches, so the LR would have to grow 25–50x in each [CP advanced Q3]",
        ),
        measure="pick of a 1000-step over that of a 100-step ramp (CNNs: 300): CI within 2x: (a) divergence; (b) steepest",
    ),
    "finder.ratio": _claim(
        paraphrase="updates are about 1e-3 of the weights in most layers over the first few thousand steps of a healthy run",
        short="Early updates are about 1e-3 of the weights in most layers",
        sources="GL Q9; GL Q10; GL Q60; CP Q5",
        quantifier="most",
        regime="healthy runs, the first few thousand steps",
        size="about 1e-3 (CP Q5)",
        lost="the target ratio in GL Q9, Q10 and Q60, and the lower bound in GL Q5",
        ungraded=("GL",),
        measure="median ratio over the weight matrices at η* of the longest runs: CI in [3e-4, 3e-3]",
    ),
    "finder.tenth_with_size": _claim(
        paraphrase="a tenth of the LR at which a range test diverges is a good LR, at each size of model",
        short="A tenth of the LR of divergence is a good LR for a GPT",
        sources="TB 2; GL Q9",
        own=True,
        follows="finder.margin",
        measure="loss of a whole run at a tenth of the LR of divergence, at each size: ≤ 2% of the loss reduction (ours); over"
        " sizes: its change for each tenfold of parameters, CI",
    ),
    "finder.steepest_with_size": _claim(
        paraphrase="the steepest point of a range test is a good LR, at each size of model",
        short="The steepest point of a range test is a good LR for a GPT",
        sources="TD Learning Rate Finder",
        own=True,
        follows="finder.steepest",
        measure="loss of a whole run at the LR of the steepest point, at each size: ≤ 2% of the loss reduction (ours); over"
        " sizes: its change for each tenfold of parameters, CI",
    ),
    "scaling.sgd_linear": _claim(
        paraphrase="SGD's LR, with warmup, must grow in proportion to the batch size, up to a limit, to keep training"
        " unchanged",
        short="For SGD, the LR grows in proportion to the batch size",
        sources="TB 3; TB 12; GL Q8; GL Q14; GL Q33; GL Q43",
        regime=Regime(
            words="SGD with warmup, up to the critical batch; ResNets up to batches of about 8192", optimizers=("sgd",)
        ),
        size="exponent 1",
        lost="the factors in TB 3, GL Q8 and Q14; the word linear remains",
        sides=(
            "SGD linear: the LR of SGD grows in proportion to the batch [GL Q8; GL Q14; GL Q33; GL Q43; TB 3; TB 12]",
            "always linear: the LR of every optimizer grows in proportion to the batch [TB 3; TB 12]",
        ),
        measure="slope of log η* on log B, for B ≤ B_crit/4: CI in [0.75, 1.25], nearer to 1 than to the square root's 1/2",
    ),
    "scaling.adam_sqrt": _claim(
        paraphrase="Adam's best LR grows roughly with the square root of the batch size, rather than in proportion",
        short="For Adam, the best LR grows roughly with the root of the batch size",
        sources="GL Q8; GL Q14; GL Q33; GL Q43; TB 3; TB 12",
        quantifier="most",
        regime=Regime(words="Adam; transformers are not named", optimizers=("adam", "adamw")),
        size="exponent 0.5, approximately",
        lost="the factors in GL Q8 and Q14; the words square root remain",
        sides=(
            "square root: the LR of Adam grows with the square root of the batch [GL Q8; GL Q14; GL Q33; GL Q43]",
            "always linear: the LR of every optimizer grows in proportion to the batch, also in LLMs [TB 3; TB 12]",
        ),
        measure="slope CI in [0.25, 0.75], nearer to 1/2 than to 0 and 1, with fixed betas; reported: rescaled betas",
    ),
    "scaling.breaks": _claim(
        paraphrase="the rule that scales the LR with the batch fails past the critical batch size, where larger batches gain"
        " less",
        short="The LR scaling rule fails past the critical batch size",
        sources="TB 11; TB 12; GL Q14; GL Q33; GL Q15; TB 3",
        regime="SGD and Adam, each with its rule",
        size="batches of about 8192 on ResNets (GL Q14)",
        sides=("less: past the critical batch, doubling the batch gains less than 2x [TB 3; GL Q15]", GAINS_NOTHING),
        measure="loss(rule LR) − loss(tuned LR), of the loss reduction: (a) > 2% from 2 B_noise on; (b) < 2% up to B_noise/4",
    ),
    "scaling.trajectory": _claim(
        paraphrase="with warmup, below the critical batch, scaling the LR with the batch keeps loss against examples unchanged",
        short="The scaled LR leaves the loss against examples seen unchanged",
        sources="GL Q8; GL Q14; TB 3",
        regime="below the critical batch, with warmup",
        size="no change; no tolerance is given",
        sides=(
            "per example: the rule keeps the progress per epoch and the training dynamics [GL Q8; GL Q14]",
            "per update: the rule keeps the step of each update [TB 3]",
        ),
        measure="mean gap of the two curves after the first 10%, of the loss reduction: ≤ 3% (ours) below B_crit",
    ),
    "scaling.warmup_with_batch": _claim(
        paraphrase="a larger batch, whose LR is scaled up, needs a longer warmup",
        short="A larger batch needs a longer warmup",
        sources="GL Q43; TB 8; TD Warmup",
        regime="LR scaled up with the batch",
        measure="gain from longer warmup at the rule's LR: larger by 1% of the loss reduction (ours) at a large batch than at a"
        " small one",
    ),
    "scaling.exponent_with_size": _claim(
        paraphrase="AdamW's best LR grows with the square root of the batch, at each size of model",
        short="AdamW's best LR goes with the root of the batch in tokens",
        sources="TB 3; GL Q11",
        own=True,
        follows="scaling.adam_sqrt",
        measure="slope of log η* on log B, 256 to 4,096 tokens, equal tokens, at each size: CI in [0.25, 0.75] (nearer to 1/2"
        " than to 0 or 1); over sizes: its change for each tenfold of parameters, CI",
    ),
    "scaling.half_life_with_size": _claim(
        paraphrase="with a small batch, a β2 that forgets by tokens gains over the usual one, at each size of model",
        short="With small batches, a β2 set by tokens gains",
        sources="GL Q11",
        own=True,
        follows="adam.beta2_tokens",
        measure="tuned loss at 256 tokens a step, β2 of 0.95 over the same half-life in tokens, at each size: CI ≥ 0.5% of the"
        " loss reduction (ours), refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "crit.hyperbola": _claim(
        paraphrase="past the critical batch size a doubled batch saves less than half the steps, even if the LR is tuned again",
        short="Past the critical batch, a doubled batch no longer halves the steps",
        sources="TB 3; GL Q15; TB 11; GL Q33",
        sides=(GAINS_LESS, GAINS_NOTHING),
        measure="S(B)/S(2B), tuned LR per B, at one B past B_crit: CI < 1.7 on every workload, refuted > 1.9 (ours)",
    ),
    "crit.noise_scale": _claim(
        paraphrase="the gradient noise scale is approximately the critical batch size, up to which larger batches pay off",
        short="The critical batch is about the gradient noise scale",
        sources="GL Q15; GL Q34; GL Q44",
        quantifier="most",
        size="about 1x",
        lost="the formula of the noise scale in GL Q34",
        ungraded=("GL",),
        sides=("pays: a larger batch pays off up to the noise scale [GL Q15; GL Q44; GL Q34]", SMALL_BATCH_FINE),
        measure="B_crit over the noise scale up to the target, CI in [1/3, 3] (ours), refuted outside: (a) mean over steps of"
        " the scale; (b) ratio of its parts' means",
    ),
    "crit.grows": _claim(
        paraphrase="the gradient noise scale grows during training, and the best batch size with it",
        short="The gradient noise scale grows during training",
        sources="GL Q15; GL Q34",
        measure="noise scale past the target over that of the first 5%: CI > 1.25 (ours) on every workload, refuted < 1;"
        " reported: a plateau",
    ),
    "crit.range": _claim(
        paraphrase="the critical batch size depends on the task, from about 1,000 to millions of tokens",
        short="The critical batch lies between 1,000 and millions of tokens, by task",
        sources="TB 3",
        regime=Regime(words="language models, whose batches are counted in tokens", models=("gpt",)),
        size="1,000 to over 1,000,000 tokens",
        measure="(a) B_crit of one model and images with noisy over clean labels: CI ≥ 2, refuted ≤ 1.25; (b) B_crit of a"
        " language model between 1,000 and 4 million tokens (2, 1.25 and 4 million ours)",
    ),
    "crit.small_batch_slow": _claim(
        paraphrase="slow progress per step probably means too low an LR, or a batch below the noise scale that should grow",
        short="Slow progress means too low an LR or a batch below the noise scale",
        sources="GL Q44; TB 3; GL Q34",
        quantifier="some",
        regime="runs that are stable and slow",
        sides=("larger batch: a batch below the noise scale makes each step gain little [GL Q44; TB 3]", SMALL_BATCH_FINE),
        measure="S(B)/S(2B), tuned LR per B, for one B ≤ B_crit/4: CI ≥ 1.5, refuted ≤ 1.25; theory predicts 1.67 to 2",
    ),
    "crit.definition": _claim(
        kinds=("exact", "doubted", "disagreement"),
        paraphrase="the noise scale is the gradient's variance over its squared mean, not the mean over the variance",
        short="The noise scale is variance over squared mean, not its inverse",
        sources="GL Q15; GL Q34",
        quantifier="exact",
        lost="the formula in GL Q34, whose words name the covariance first",
        sides=(
            "variance above: the noise scale is the gradient's covariance against its mean [GL Q34]",
            "mean above: the noise scale is the gradient's mean over the trace of its covariance [GL Q15]",
        ),
        measure="noise of twice the deviation must raise the noise scale 4x; refuted if it does not raise it",
    ),
    "crit.advice": _claim(
        kinds=("empirical", "disagreement", "doubted"),
        paraphrase="a small batch is fine if the noise scale is large, and a larger batch helps if it is small",
        short="A large noise scale means that a small batch is fine",
        sources="GL Q34; GL Q44; GL Q15",
        sides=(
            SMALL_BATCH_FINE,
            "large batch: a batch below the noise scale is too noisy, so a large noise scale asks for a large batch [GL Q44; GL"
            " Q15; GL Q34]",
        ),
        measure="S(16)/S(128) at a large measured noise scale (60% random labels) over that at a small one, same model and"
        " images: CI < 0.95, refuted > 1.05",
    ),
    "crit.ceiling": _claim(
        paraphrase="a batch larger than the critical batch size gives no further speed-up at all",
        short="Past the critical batch there is no further speed-up at all",
        sources="TB 11; GL Q33; TB 3; GL Q15",
        sides=(GAINS_NOTHING, GAINS_LESS),
        measure="S(B)/S(2B), tuned LR per B, at one B past B_crit: CI < 1.02 on every workload, refuted if one > 1.05 (ours)",
    ),
    "crit.batch_with_tokens": _claim(
        paraphrase="the batch that pays grows with the tokens of a run, at each size of model",
        short="The batch that pays grows with the tokens of a run",
        sources="GL Q15",
        own=True,
        follows="crit.grows",
        measure="tuned loss, 4,096 tokens a step over 1,024, 5 tokens a parameter less 80, at each size: CI ≥ 0.5% of the loss"
        " reduction (ours), refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "crit.batch_with_size": _claim(
        paraphrase="at fixed tokens, four times the batch costs loss, at each size of model",
        short="At fixed tokens, four times the batch costs loss",
        sources="GL Q15",
        own=True,
        measure="tuned loss after 369 thousand tokens, 4,096 tokens a step over 1,024, at each size: CI ≥ 0.5% of the loss"
        " reduction (ours), refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "warmup.widens": _claim(
        paraphrase="warmup stabilizes early training and prevents the divergence of runs that would diverge without it",
        short="Warmup stabilizes early training and prevents divergence",
        sources="TB 2; TB 11; TB 12; TD Warmup; CP Q2; CP Exercise 2; GL Q39",
        regime=Regime(
            words="TB: transformers and large models; CP: large language models; TD: Adam, large batches and transformers",
            models=("gpt",),
        ),
        measure="(a) largest trainable LR (within 5% of the best loss reduction) with over without: CI low ≥ 1.5; (b) share of"
        " the SGD runs diverging without that it saves: CI low ≥ 0.5 (ours)",
    ),
    "warmup.first_gradient": _claim(
        paraphrase="a second moment of Adam that starts at the first squared gradient (v0 = g0²), which makes early steps small"
        " by itself, widens the range of trainable LRs as much as warmup does",
        short="Adam with v0 = g0² widens the range of LRs as warmup does",
        sources="TD Warmup; GL Q13; GL Q23",
        regime="Adam and its relatives",
        own=True,
        measure="of the octaves of trainable LR (mean over bars of 5% and 10% of the best loss reduction) gained by 20% warmup,"
        " the share that v0 = g0² gains without: 1, as published; CI in [0.7, 1.3] (margin ours)",
    ),
    "warmup.mechanism": _claim(
        paraphrase="Adam's second moment, unreliable and low over the first few hundred steps, is one of several reasons why"
        " warmup is needed",
        short="Adam's early second moment is one of the reasons for warmup",
        sources="TD Warmup; GL Q13; GL Q23; TB 2; TB 12",
        quantifier="some",
        regime="TD: Adam and its relatives; GL: Adam and transformers",
        size="the first few hundred steps (GL Q13)",
        sides=(
            "low anyway: the early second moment is too low even after bias correction [TD Warmup; GL Q13]",
            "corrected: bias correction restores the size of the early second moment [GL Q23]",
        ),
        measure="(a) of the octaves gained by 20% warmup, CI low ≥ 0.5 is recovered by a second moment formed at LR zero; (b)"
        " SGD, which has no second moment, gains octaves, too: CI low ≥ 0.25 (ours)",
    ),
    "warmup.late_nan": _claim(
        paraphrase="too high a peak LR at the end of warmup is the usual cause of NaN at steps 100–500, cured by more warmup; a"
        " bad batch or an outlier in Adam's state, cured by clipping, can be another",
        short="NaN at steps 100–500 usually means too high a peak after warmup",
        sources="GL Q39; CP Q1",
        quantifier="most",
        regime="runs that reach NaN at steps 100–500",
        size="steps 100–500",
        sides=(WARMUP_FIRST, CLIP_FIRST),
        measure="(a) step of divergence over the end of warmup: CI in [0.5, 2]; (b) at one peak, the same for a warmup three"
        " times as long over that for the shorter: CI in [1/√3, √3], where 1 follows the end of warmup and 1/3 is one step for"
        " both; (c) largest peak at which half of the loss reduction is left, the longer over the shorter: CI low ≥ 1.4 (ours)",
    ),
    "warmup.clip_first": _claim(
        paraphrase="exploding gradients are the likeliest cause of NaN in a large transformer after hundreds of steps, and"
        " clipping is the cure",
        short="Clipping is the likeliest cure of NaN after hundreds of steps",
        sources="CP Q1; GL Q39",
        quantifier="most",
        regime=Regime(words="large transformers that reach NaN after hundreds of steps", models=("gpt",)),
        size="clipping at norm 1.0",
        sides=(CLIP_FIRST, WARMUP_FIRST),
        measure="(a) share of the runs diverging after hundreds of steps that clipping at 1.0 saves: over half; (b) share in"
        " which it does no worse than a warmup three times as long: ≥ 0.7, refuted under half; (c) share that the longer warmup"
        " alone saves: under 30%, refuted over half (ours)",
    ),
    "warmup.duration": _claim(
        paraphrase="warmup usually takes 0.5–5% of the steps, or in LLM pretraining 0.5–2% or about 2,000 steps, or 500–10,000"
        " by batch and model",
        short="Warmup usually takes 0.5–5% of the steps, or 500–10,000 steps",
        sources="GL Q13; GL Q17; TD Warmup",
        quantifier="most",
        regime=Regime(words="GL: LLM pretraining; TD: by batch size and model", models=("gpt",)),
        size="0.5–5% of the steps (GL Q13), 0.5–2% (GL Q17); 2,000 steps (GL Q13), 500–10,000 steps (TD)",
        sides=(
            "share: warmup takes a share of the steps, 0.5–5% or 0.5–2% [GL Q13; GL Q17]",
            "absolute: warmup takes a number of steps, 2,000 or 500–10,000 [TD Warmup; GL Q13]",
        ),
        measure="tuned loss in a run four times as long, if there is something to take over (20% warmup beats 5% in the short"
        " run): the same number of steps minus the same share: CI > 0 for a share, refuted < 0",
    ),
    "warmup.improves_best": _claim(
        paraphrase="warmup lowers the final loss even if the LR is tuned both with it and without it",
        short="Warmup lowers the final loss even if the LR is tuned in both arms",
        sources="TB 2; GL Q13",
        quantifier="most",
        own=True,
        measure="tuned loss without minus with warmup of every length, of the loss reduction: CI low ≥ 1%, refuted if the CI"
        " lies within ±1% or below 0 (ours)",
    ),
    "warmup.transformer_diverges": _claim(
        kinds=("empirical", "doubted", "disagreement"),
        paraphrase="transformers of modern scale diverge almost surely if trained without warmup",
        short="Transformers of modern scale diverge almost surely without warmup",
        sources="GL Q13; TB 2; CP Q2",
        regime=Regime(words="transformers at modern scale, at their usual peak LR", models=("gpt",)),
        size="nearly all runs",
        sides=(
            "almost surely: without warmup they diverge almost surely [GL Q13]",
            "unstable: large models become unstable if they start at the full LR [TB 2]",
            "can: starting at a large LR can destabilize training [CP Q2]",
        ),
        measure="failure rate without warmup at the η* of 5% warmup ≥ 0.8 (ours)",
    ),
    "warmup.early_gradients": _claim(
        kinds=("disagreement",),
        paraphrase="gradients early in training are large and noisy, not small",
        short="Early gradients are large and noisy, not small",
        sources="TB 2; TB 11; TB 12; TD Warmup; GL Q13; CP Q2",
        regime=Regime(words="TD and GL: transformers, near initialization", models=("gpt",)),
        sides=(
            "large, noisy: early gradients can be large (TB 11, GL Q13), noisy or unstable (CP, TB 12) or of high variance (TD)"
            " [TB 11; TB 12; TD Warmup; GL Q13; CP Q2]",
            "small: early gradients are small [TB 2]",
        ),
        measure="in the first 1% of the steps over the last 10%, CI > 1: (a) gradient norm; (b) gradient variance",
    ),
    "warmup.gain_with_size": _claim(
        paraphrase="with the LR tuned in both, 10% warmup gains over none, at each size of model",
        short="With tuned LRs, 10% warmup gains over none",
        sources="TB 2; GL Q13",
        own=True,
        follows="warmup.improves_best",
        measure="tuned loss, none over 10% warmup, 20 tokens a parameter, at each size: CI ≥ 0.5% of the loss reduction (ours),"
        " refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "warmup.steps_with_size": _claim(
        paraphrase="with tuned LRs, 60 steps of warmup are no worse than 10% of the run, at each size of model",
        short="60 steps of warmup are no worse than 10% of the run",
        sources="GL Q13; GL Q17; TD Warmup",
        own=True,
        follows="warmup.duration",
        measure="tuned loss, 60 steps of warmup over 10%, 20 tokens a parameter, at each size: CI ≤ 0.5% of the loss reduction"
        " (ours); over sizes: its change for each tenfold of parameters, CI",
    ),
    "warmup.range_with_size": _claim(
        paraphrase="10% warmup raises the largest LR that trains, at each size of model",
        short="10% warmup raises the largest LR that trains",
        sources="GL Q13; TD Warmup",
        own=True,
        follows="warmup.widens",
        measure="largest LR within 5% of the best loss reduction, 10% warmup over none, at each size: CI ≥ 1.2x, refuted ≤ 1x"
        " (ours); over sizes: the factor by which it changes for each tenfold of parameters, CI",
    ),
    "warmup.post_norm": _claim(
        paraphrase="at an LR at which transformers of both kinds train with warmup, a post-norm one fails without it and a"
        " pre-norm one does not",
        short="Without warmup a post-norm transformer fails, and a pre-norm one not",
        sources="GL Q13; TD Warmup; TB 2",
        regime=Regime(words="transformers", models=("gpt",)),
        own=True,
        measure="largest LR within 10% of the best loss reduction: (a) octaves gained by 10% warmup, post-norm minus pre-norm:"
        " CI > 0; (b) octaves from that of post-norm without warmup to that of pre-norm without: CI > 0; refuted below 0",
    ),
    "warmup.pre_norm": _claim(
        paraphrase="a pre-norm transformer ends as low without warmup as with it, each at its best LR",
        short="A pre-norm transformer ends as low without warmup as with it",
        sources="GL Q13; TD Warmup; TB 2",
        regime=Regime(words="transformers", models=("gpt",)),
        own=True,
        measure="tuned loss without warmup no worse than with 10% by 1% of the loss reduction (ours)",
    ),
    "warmup.clip_post_norm": _claim(
        paraphrase="a post-norm transformer that fails without warmup trains if gradients are clipped instead",
        short="Clipping replaces the warmup that a post-norm transformer needs",
        sources="CP Q1; GL Q39; GL Q13",
        regime=Regime(words="transformers", models=("gpt",)),
        own=True,
        measure="of what post-norm loses without warmup, if it trains with it, the share that clipping at 1.0 saves: ≥ half,"
        " refuted below (ours)",
    ),
    "prec.bf16_loss": _claim(
        paraphrase="BF16 training reaches a loss similar to FP32's and needs no loss scaling",
        short="BF16 reaches FP32's loss without loss scaling",
        sources="TB 7; TB 11; TB 12",
        regime="mixed precision with BF16 passes and FP32 weights",
        measure="where FP8 costs 0.5% of the loss reduction: no worse than FP32 by 0.5% (ours); reported: other workloads",
    ),
    "prec.bf16_weights": _claim(
        paraphrase="weights in BF16 lose small updates if they are rounded to the nearest, and stochastic rounding makes up for"
        " it",
        short="BF16 weights lose small updates; stochastic rounding restores them",
        sources="TB 7",
        own=True,
        quantifier="some",
        measure="weights in BF16 against FP32, LR tuned: (a) loss, rounded to nearest: CI ≥ 0.5% of the loss reduction (ours),"
        " refuted ≤ 0; (b) share of that which stochastic rounding makes up for: CI ≥ half, refuted ≤ 0",
    ),
    "prec.fp16_underflow": _claim(
        paraphrase="small gradients underflow to zero in FP16 training without loss scaling, and learning may stop",
        short="FP16 gradients underflow to zero without loss scaling",
        sources="TB 7; TD Mixed Precision Training; CP advanced Q2; SG Common Failure Modes",
        regime="FP16 training",
        sides=(ZEROS, NAN),
        measure="at 2M tokens per step: (a) ≥ 1% of non-zero activation gradients cast to 0; (b) loss worse than FP32's by 0.5%"
        " of the loss reduction; (c) 90% of it lost at FP32's LR, which is 'learning stops' (ours)",
    ),
    "prec.fp16_scaled": _claim(
        paraphrase="FP16 training with loss scaling reaches a loss similar to FP32's",
        short="FP16 with loss scaling reaches FP32's loss",
        sources="TB 7",
        regime="mixed precision with FP16 passes and FP32 weights",
        measure="at 2M tokens per step, if unscaled FP16 costs 0.5% of the loss reduction: no worse than FP32 by 0.5% (ours)",
    ),
    "prec.fp16_overflow": _claim(
        paraphrase="runs that overflow in FP16 survive in BF16",
        short="Runs that overflow in FP16 survive in BF16",
        sources="TB 7; TB 8; TB 11; TD Mixed Precision Training; GL Q38; CP advanced Q2",
        regime="FP16 runs that overflow; GL Q38: in the forward pass of step 1",
        size="FP16 ends at 65504 (CP)",
        measure="share of the runs that overflow in FP16, from large features or a high LR, that survive in BF16: most",
    ),
    "prec.grad_norms": _claim(
        paraphrase="gradient norms in mixed precision are similar to FP32's",
        short="Gradient norms in mixed precision are similar to FP32's",
        sources="TB 7",
        regime="mixed precision in BF16 or FP16",
        measure="median relative difference ≤ 5% (ours), beyond that of two FP32 runs if these differ",
    ),
    "prec.range": _claim(
        kinds=("exact",),
        paraphrase="FP16 spans about 5e-8 to 65504, and BF16 has FP32's exponent range",
        short="FP16 spans 5e-8 to 65504; BF16 has FP32's exponent range",
        sources="CP advanced Q2; TB 11; TD Mixed Precision Training",
        quantifier="exact",
        size="5e-8 to 65504 (CP)",
        measure="(a) largest FP16 number; (b) smallest, subnormal; (c) octaves of BF16's normal range over FP32's",
    ),
    "prec.sensitive_ops": _claim(
        paraphrase="some operations, such as layer norm, need more precision than 16 bits give",
        short="Some operations, such as layer norm, need more than 16 bits",
        sources="TB 7",
        quantifier="some",
        regime="mixed precision",
        measure="error in 16 bits against FP64: (a) ≥ 8 unit roundoffs (ours) for layer norm; (b) less for a matrix product",
    ),
    "prec.speed": _claim(
        kinds=("speed", "disagreement"),
        paraphrase="mixed precision is 1.5–2x as fast as FP32 on Volta GPUs or newer",
        short="Mixed precision is 1.5–2x as fast as FP32 on modern GPUs",
        sources="TB 7; TD Mixed Precision Training; SG Mixed Precision",
        regime="TB: Volta GPUs or newer; TD: FP16 on modern GPUs",
        size="1.5–2x (TB), about 2x (TD)",
        sides=(
            "1.5–2x: training is 1.5–2x as fast [TB 7]",
            "about 2x: training is about 2x as fast [TD Mixed Precision Training]",
            "often: throughput is often better [SG Mixed Precision]",
        ),
        measure="GPU only: steps per second at width 2048, BF16 over FP32: CI ≥ 1.5",
    ),
    "prec.memory": _claim(
        kinds=("speed", "disagreement"),
        paraphrase="mixed precision takes about half of the memory",
        short="Mixed precision takes about half of the memory",
        sources="SG Mixed Precision Training; SG Memory Optimization Checklist; SG Single GPU Training Strategy; TB 7; TD Mixed"
        " Precision Training",
        regime="SG: autocast and a gradient scaler on FP32 weights",
        size="about 50%",
        sides=(
            "half: training takes about half of the memory [SG Mixed Precision Training; SG Memory Optimization Checklist]",
            "7 GB: training saves 7 GB of parts that sum to 31 GB [SG Single GPU Training Strategy]",
            "weights stay: weights and optimizer state stay in FP32 [TB 7; TD Mixed Precision Training]",
        ),
        measure="GPU only: peak memory at width 2048, BF16 over FP32: ≤ 0.6, refuted ≥ 0.75 (ours)",
    ),
    "prec.fp8": _claim(
        kinds=("speed",),
        paraphrase="FP8 saves even more memory on Hopper and Blackwell GPUs, and needs careful scaling, one scale per tensor",
        short="FP8 saves even more memory and needs a scale per tensor",
        sources="TB 7",
        regime="Hopper and Blackwell GPUs",
        measure="(a) tuned loss with a scale per tensor (emulated) no worse than FP32's by 1% of the loss reduction; (b) loss"
        " without scales worse by 0.5% at 2M tokens per step (ours); (c) what it saves, on Hopper",
    ),
    "prec.fp16_nan": _claim(
        paraphrase="FP16 training without gradient scaling can give NaN",
        short="FP16 without gradient scaling can give NaN",
        sources="SG Common Failure Modes; TB 7; TD Mixed Precision Training; CP advanced Q2",
        quantifier="some",
        regime="FP16 training",
        sides=(NAN, ZEROS),
        measure="with underflowing gradients, a high LR or large features, supported if both hold in one case, refuted if in"
        " none: (a) most unscaled FP16 runs reach NaN; (b) most scaled ones do not",
    ),
    "prec.mixed_formats": _claim(
        kinds=("exact", "disagreement"),
        paraphrase="mixed precision runs the forward pass in FP16 and the backward pass in FP32",
        short="Mixed precision runs forward in FP16 and backward in FP32",
        sources="SG Mixed Precision Training; TB 7; TD Mixed Precision Training",
        quantifier="exact",
        regime="autocast with a gradient scaler",
        sides=(
            "FP32 backward: the backward pass runs in FP32 [SG Mixed Precision Training]",
            "16 bits: forward and backward pass both run in 16 bits [TB 7; TD Mixed Precision Training]",
        ),
        measure="number format of the backward pass's matrix products under autocast: supported if all are FP32, refuted if"
        " most have 16 bits",
    ),
    "prec.lr_range": _claim(
        paraphrase="the range of LRs at which training is stable can depend on the number format alone",
        short="The range of stable LRs can depend on the number format alone",
        sources="GL Q8",
        quantifier="some",
        measure="largest trainable LR in BF16 and in FP16 over FP32's, all else equal: a CI outside [0.8, 1.25], refuted if all"
        " are inside (ours)",
    ),
    "prec.nearest_with_size": _claim(
        paraphrase="BF16 weights that are rounded to the nearest cost loss, at each size of model",
        short="BF16 weights rounded to the nearest cost loss",
        sources="GL Q41",
        own=True,
        follows="prec.bf16_weights",
        measure="tuned loss, BF16 weights rounded to the nearest over FP32 weights, at each size: CI ≥ 0.5% of the loss"
        " reduction (ours), refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "prec.stochastic_with_size": _claim(
        paraphrase="BF16 weights that are rounded at random are as good as FP32 weights, at each size of model",
        short="BF16 weights rounded at random are as good as FP32 weights",
        sources="GL Q41",
        own=True,
        follows="prec.bf16_weights",
        measure="tuned loss, BF16 weights rounded at random over FP32 weights, at each size: CI ≤ 0.5% of the loss reduction"
        " (ours); over sizes: its change for each tenfold of parameters, CI",
    ),
    "prec.fp8_with_size": _claim(
        paraphrase="FP8 with a scale for each tensor is as good as BF16, at each size of model",
        short="FP8 scaled per tensor is as good as BF16",
        sources="GL Q41",
        own=True,
        follows="prec.fp8",
        measure="tuned loss, FP8 scaled per tensor over BF16, at each size: CI ≤ 0.5% of the loss reduction (ours); over sizes:"
        " its change for each tenfold of parameters, CI",
    ),
    "decay.cosine_vs_linear": _claim(
        paraphrase="linear decay is competitive with cosine decay",
        short="Linear decay is competitive with cosine decay",
        sources="GL Q18",
        regime=Regime(words="LLM pretraining", models=("gpt",)),
        measure="tuned loss no worse by 0.5% of the loss reduction, at 20 and 80 tokens per parameter",
    ),
    "decay.cosine_vs_step": _claim(
        paraphrase="cosine decay reaches a lower loss than step decay on most tasks of large scale",
        short="Cosine decay beats step decay on most tasks of large scale",
        sources="GL Q18",
        quantifier="most",
        regime=Regime(words="tasks of large scale"),
        measure="two step schedules, each at its best LR: worse than cosine decay by at least 0.5% of the loss reduction",
    ),
    "decay.beats_constant": _claim(
        paraphrase="an LR that decays reaches a lower loss than a constant one",
        short="A decaying LR reaches a lower loss than a constant one",
        sources="TB 2; GL Q17; GL Q18; CP Exercise 2",
        quantifier="most",
        regime=Regime(words="production runs, LLM pretraining", models=("gpt",)),
        own=True,
        measure="constant LR against five decaying shapes at 20 tokens per parameter and three at 80, each at its best LR:"
        " worse than most by at least 0.5% of the loss reduction",
    ),
    "decay.final_positive": _claim(
        kinds=("empirical", "doubted", "disagreement"),
        paraphrase="the LR usually ends at about 10% of its peak: at zero nothing is learnt and optimizer state may drift",
        short="The LR usually ends at about 10% of its peak, not at zero",
        sources="GL Q20; GL Q17; GL Q58; TB 2; CP Q4; CP Exercise 2",
        quantifier="most",
        regime=Regime(words="cosine decay, LLM pretraining", models=("gpt",)),
        size="10% of the peak (TB 2, GL Q17)",
        lost="the floor in GL Q20 and Q58",
        sides=(
            "10%: the LR ends above zero, at about 10% of its peak [GL Q20; GL Q17; TB 2]",
            "zero: the formula of cosine decay ends at zero [CP Q4; CP Exercise 2]",
        ),
        measure="tuned loss of cosine decay to zero minus that to 10%: ≥ 0.2% of the loss reduction (ours) at most of 20, 40"
        " and 80 tokens per parameter, in 2,185 steps",
    ),
    "decay.floor_and_length": _claim(
        paraphrase="the longer a run, the less a floor of 10% of the peak gains over cosine decay to zero",
        short="The longer a run, the less a floor of 10% gains over decay to zero",
        sources="GL Q20; GL Q17; TB 2",
        regime=Regime(words="cosine decay, LLM pretraining", models=("gpt",)),
        own=True,
        measure="change of (loss of decay to zero minus that to 10%), of the loss reduction, per doubling of the tokens from 20"
        " to 80 per parameter, in one batch: ≤ −0.1%, refuted ≥ 0 (ours)",
    ),
    "decay.steps_or_tokens": _claim(
        paraphrase="a floor of 10% gains less in longer runs because they have more steps, and not more tokens per parameter",
        short="A floor gains less in longer runs because of their steps, not tokens",
        sources="GL Q20; GL Q17; TB 2",
        regime=Regime(words="cosine decay, LLM pretraining", models=("gpt",)),
        own=True,
        measure="of the fall of (loss of decay to zero minus that to 10%) from 20 tokens per parameter in 546 steps to 80 in"
        " 2,185, the share that comes with the steps, in the mean over both orders: > 1/2 (1: steps alone; 0: tokens alone),"
        " refuted < 1/2",
    ),
    "decay.half_way": _claim(
        kinds=("exact",),
        paraphrase="cosine decay to zero is at half of the peak LR halfway from the end of warmup",
        short="Cosine decay to zero is at half of the peak LR halfway",
        sources="CP Q4",
        quantifier="exact",
        regime="cosine decay to zero, counted from the end of warmup",
        size="1/2",
        measure="computed: half of the peak",
    ),
    "decay.trapezoid": _claim(
        paraphrase="warmup, a long constant stretch and a final decay reach the loss of cosine decay",
        short="Warmup-stable-decay reaches the loss of cosine decay",
        sources="GL Q17",
        quantifier="most",
        regime=Regime(words="LLM pretraining", models=("gpt",)),
        own=True,
        measure="tuned loss no worse by 0.5% of the loss reduction, at 20 and 80 tokens per parameter",
    ),
    "decay.first_half": _claim(
        paraphrase="with cosine decay most progress is made in the first half of the steps, at the high LR",
        short="Most progress is made in the first half of the steps, at high LR",
        sources="GL Q18",
        regime=Regime(words="cosine decay in LLM pretraining", models=("gpt",)),
        size="most, that is more than half",
        measure="share of the loss reduction after warmup in the first half of the steps: (a) more than half with cosine decay;"
        " (b) larger with cosine decay than at a constant LR, refuted if smaller (ours); reported: linear and"
        " warmup-stable-decay",
    ),
    "decay.plateau_rule": _claim(
        paraphrase="on a plateau with underfitting lowering the LR helps and raising it does not; for runs of unknown length"
        " use ReduceLROnPlateau, by 10x",
        short="On a plateau, lowering the LR helps and raising it does not",
        sources="CP Q3; GL Q19; GL Q37; TB 6",
        regime="CP: underfitting after epoch 50; GL: fine-tuning, transfer and runs without a fixed budget",
        size="x0.1 (GL Q19)",
        sides=("lower: lower the LR; raising it only makes the loss oscillate [CP Q3; GL Q19]", TOO_LOW),
        measure="loss after x10, x1 and x0.1 from plateaus of too low, right and too high an LR, of small batches and of too"
        " small a model, where at most 0.5% of the loss reduction falls in the tenth of the steps before: (a) x0.1 gains ≥"
        " 0.5%; (b) x10 gains less, refuted at 2%",
    ),
    "decay.raise_lr": _claim(
        paraphrase="raising the LR on a plateau never helps, it only makes the loss oscillate",
        short="Raising the LR on a plateau never helps",
        sources="CP Q3; GL Q37; TB 6",
        regime="plateaus with underfitting",
        sides=("never: raising the LR on a plateau only makes the loss oscillate [CP Q3]", TOO_LOW),
        measure="loss after x10 from a plateau of too low an LR, on which the documents disagree, where at most 0.5% of the"
        " loss reduction falls in the tenth of the steps before: raising gains < 0.5%, refuted if ≥ 2% (ours); reported: other"
        " plateaus and x2",
    ),
    "decay.zero_with_size": _claim(
        paraphrase="cosine decay to zero gains over cosine decay to 10%, at each size of model",
        short="Cosine decay to zero gains over cosine decay to 10%",
        sources="TB 4; GL Q12",
        own=True,
        follows="decay.final_positive",
        measure="loss at the LR tuned for 10%, cosine to 10% over cosine to zero, 20 tokens a parameter, at each size: CI ≥"
        " 0.5% of the loss reduction (ours), refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "decay.linear_zero_with_size": _claim(
        paraphrase="linear decay to zero gains over cosine decay to 10%, at each size of model",
        short="Linear decay to zero gains over cosine decay to 10%",
        sources="TB 4; GL Q12",
        own=True,
        follows="decay.cosine_vs_linear",
        measure="tuned loss, cosine to 10% over linear to zero, 20 tokens a parameter, at each size: CI ≥ 0.5% of the loss"
        " reduction (ours), refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "decay.trapezoid_with_size": _claim(
        paraphrase="warmup-stable-decay is no worse than cosine decay, at each size of model",
        short="Warmup-stable-decay is no worse than cosine decay",
        sources="TB 4; GL Q12",
        own=True,
        follows="decay.trapezoid",
        measure="tuned loss, warmup-stable-decay over cosine, 20 tokens a parameter, at each size: CI ≤ 0.5% of the loss"
        " reduction (ours); over sizes: its change for each tenfold of parameters, CI",
    ),
    "mup.sp_shifts": _claim(
        paraphrase="larger models without muP often need a lower LR, by a ratio that depends on depth, width and other details",
        short="Without muP, larger models often need a lower LR",
        sources="GL Q16; GL Q35",
        quantifier="some",
        regime="models from 1B to 70B parameters",
        measure="slope of log2 η* on log2 width, heads of one size: CI < −0.3 (ours); early in training, or after 2,000 steps"
        " with cosine decay, without weight decay and with decay apart from the LR",
    ),
    "mup.invariant": _claim(
        paraphrase="the best LR under muP does not change with width",
        short="Under muP the best LR does not change with width",
        sources="GL Q16; GL Q35",
        regime="large language models that differ in width",
        size="no change",
        measure="slope CI in [−1/6, 1/6] about the published 0, half an octave over 8x in width (ours), over ≥ 4 widths and 8x,"
        " if the standard parametrization shifts; early in training, or after 2,000 steps with cosine decay, without weight"
        " decay and with decay apart from the LR",
    ),
    "mup.regret": _claim(
        paraphrase="under muP, hyperparameters tuned on a small model, such as the LR, suit the largest model, too",
        short="Under muP an LR tuned on a small model suits the largest one",
        sources="GL Q16; GL Q35",
        regime="from small models to 70B parameters",
        size="the same value",
        measure="regret from the smallest width to the largest (a) ≤ 1% of the loss reduction under muP; (b) larger by ≥ 1% in"
        " standard parametrization (ours); early in training, or after 2,000 steps, without weight decay and with decay apart"
        " from the LR",
    ),
    "mup.coord_check": _claim(
        paraphrase="activations under muP neither grow nor vanish with width",
        short="Under muP activations neither grow nor vanish with width",
        sources="GL Q35",
        own=True,
        measure="slope of log activation size on log width, over steps 1–5, within ±0.1 (ours): (a) logits; (b) last block",
    ),
    "mup.depth": _claim(
        paraphrase="without muP the best LR depends not only on width, but also on depth and architectural details",
        short="Without muP the best LR depends on depth too, not only on width",
        sources="GL Q16",
        regime="models from 1B to 70B parameters",
        measure="slope of log2 η* on log2 depth, 1 to 8 (2 to 32 on a GPU), at the base width, where muP and the standard"
        " parametrization agree: CI outside [−0.1, 0.1], refuted inside (ours)",
    ),
    "mup.depth_rule_with_size": _claim(
        paraphrase="with a rule for depth the best LR of a shallow model stays the best of a deeper one, and without it does"
        " not, at each size of model",
        short="With a depth rule the best LR stays as a model deepens",
        sources="GL Q16",
        own=True,
        follows="mup.depth",
        measure="slope of log2 η* on log2 depth, same width: (a) CompleteP's rule, 2 to 16, within ±1/6; (b) GPT-2's start, 2"
        " to 8, less (a): CI ≤ -1/6, refuted ≥ 0 (ours); over sizes: their change for each tenfold of parameters, CI",
    ),
    "lr.sharp": _claim(
        paraphrase="a 2–3x change of the LR often decides whether a run diverges or is among the best",
        short="A 2–3x change of LR often decides whether a run diverges",
        sources="TB 2",
        quantifier="some",
        regime="a fixed architecture near the state of the art",
        size="2–3x",
        measure="(a) factor from the last LR within 5% of the loss reduction to one that loses half of it: ≤ 3; (b) share lost"
        " at 3x η*: ≥ a quarter, refuted ≤ 5%; 'often' means on most workloads (shares ours)",
    ),
    "lr.too_low": _claim(
        paraphrase="too low an LR trains very slowly, may run out of budget, and may get stuck at saddles and shallow minima",
        short="Too low an LR trains very slowly and may run out of budget",
        sources="TB 2; GL Q5",
        lost="the lower bound of the update-to-weight ratio in GL Q5",
        ungraded=("GL",),
        measure="at η*/10: (a) steps to 80% of the loss reduction over those at η*: ≥ 3, refuted ≤ 1.5; (b) share of it lost at"
        " equal steps: ≥ 5%, refuted ≤ 1% (ours); reported: the share at η*/100",
    ),
    "lr.too_high": _claim(
        paraphrase="too high an LR makes the loss bounce and the gradient norm large, and the run may diverge",
        short="Too high an LR makes the loss bounce, and the run may diverge",
        sources="TB 2; TB 11; GL Q4",
        quantifier="some",
        regime="GL Q4: plain gradient descent, and Adam apart",
        size="NaN within hundreds of steps (GL Q4)",
        lost="the lower number of steps in GL Q4",
        ungraded=("GL",),
        sides=(
            "possibly: the loss bounces and possibly diverges [TB 2]",
            "surely: swings grow until the loss is NaN; with Adam, spikes may recover [GL Q4]",
        ),
        measure="at the first LR that loses a tenth of the loss reduction, against η*: (a) share of evaluations with a rise by"
        " 1% of it larger by 0.1; (b) gradient norm 2x (ours); diverged runs count as bouncing",
    ),
    "lr.norm_falls": _claim(
        paraphrase="at a good LR the loss falls smoothly and the gradient norm decreases over time",
        short="At a good LR the gradient norm falls during training",
        sources="TB 2; TB 4; TB 1; GL Q11; GL Q12; GL Q42",
        regime="an LR in the sweet spot",
        sides=(SMOOTH, SPIKES),
        measure="slope of log norm on log step after a tenth: CI ≤ −0.1 (ours), refuted ≥ 0; reported: at a constant LR",
    ),
    "lr.layers_differ": _claim(
        paraphrase="a good-looking loss can hide one layer that hardly moves and another that explodes; update-to-weight ratios"
        " per layer show them",
        short="A good loss can hide a layer that is stuck and one that explodes",
        sources="GL Q7; GL Q10; TB 4; TD Gradient Flow Diagnostics",
        quantifier="some",
        regime="any network; GL Q7: embeddings and early layers against later ones",
        lost="the ratios of the stuck and of the exploding layer in GL Q10",
        ungraded=("GL",),
        sides=(
            "differ: layers may behave differently, although the loss looks fine [GL Q7; GL Q10; TB 4]",
            "similar: gradients are of similar size in all layers of a healthy run [TD Gradient Flow Diagnostics]",
        ),
        measure="loss no worse by 5% of the loss reduction, if a stuck matrix makes the spread of update ratios 10x wider"
        " (ours): (a) a matrix at a hundredth of the LR; (b) one at thirty times it; reported: a healthy run's spread",
    ),
    "lr.phases": _claim(
        paraphrase="a healthy training loss typically falls fast, then steadily, then flattens; validation loss is close, and"
        " may rise late",
        short="A healthy loss typically falls fast, then steadily, then flattens",
        sources="TB 1",
        quantifier="most",
        regime="healthy runs",
        measure="of the loss reduction (ours): (a) ≤ half is left a tenth of the run after warmup; (b) the loss flattens by 1%"
        " from the first third to the second; (c) by 0.5% to the last; (d) half way validation is ≤ 10% above training",
    ),
    "lr.grad_not_loss": _claim(
        paraphrase="the gradient norm shows why a loss is flat: near zero means a critical point, normal too small an LR, huge"
        " too large an LR",
        short="The gradient norm shows why a loss is flat",
        sources="GL Q37; TB 4; TB 11; TD Loss Landscape and Optimization Trajectory",
        regime="flat losses",
        sides=(
            "critical point: a norm near zero means a critical point [GL Q37]",
            "vanishing: a norm near zero means vanishing gradients [TB 4; TB 11]",
            "plateau: a norm near zero means a plateau, which momentum crosses [TD Loss Landscape and Optimization Trajectory]",
        ),
        measure="balanced accuracy of classifying flat runs by their norm, with cuts fitted on other seeds: near zero vanishing"
        " gradients and dead networks, normal LR/1000, huge runs that swing: ≥ 0.9, refuted ≤ 0.6 (ours); reported: each cause",
    ),
    "lr.smooth": _claim(
        paraphrase="the best LR gives a smooth loss curve, and oscillation means that the LR is too high",
        short="The best LR gives a smooth curve; oscillation means too high an LR",
        sources="TB 1; TB 2; GL Q11; GL Q12; GL Q42",
        sides=(SMOOTH, SPIKES),
        measure="share of evaluations with a rise by 1% of the loss reduction, η* minus η*/4: ≤ 0.1, refuted above (ours);"
        " reported: spikes of single batches",
    ),
    "lr.most_important": _claim(
        paraphrase="the LR is the most important hyperparameter",
        short="The LR is the most important hyperparameter",
        sources="TB 2",
        measure="mean distance of the losses at x2 and x10, up and down, at equal examples, from the unchanged one, of LR,"
        " weight decay, β2 or momentum (at equal LR / (1 - momentum)), batch, warmup and clipping norm: the LR's is largest, by"
        " a tenth, on at least 3 of 4 workloads, refuted if on at most 1",
    ),
    "adam.lr_tolerance": _claim(
        paraphrase="Adam removes most of SGD's sensitivity to the LR",
        short="Adam removes most of SGD's sensitivity to the LR",
        sources="GL Q21; GL Q45",
        regime="ill-conditioned problems; transformers and embeddings",
        size="most, that is more than half",
        measure="octaves of LR within 5% of the loss reduction to the lower best loss of both, Adam over SGD: at least twice as"
        " wide",
    ),
    "lr.falls_with_length": _claim(
        paraphrase="with the batch fixed, the best LR falls with the length of the run as D^-0.32, at each size of model",
        short="With a fixed batch the best LR falls as D^-0.32",
        sources="TB 2",
        own=True,
        measure="slope of log η* on log tokens, 5 to 80 a parameter, batch 1,024 tokens, at each size: CI in [-0.48, -0.16]"
        " (nearer to -0.32 than to 0); over sizes: its change for each tenfold of parameters, CI",
    ),
    "lr.rises_with_batch_and_length": _claim(
        paraphrase="with a batch that grows as the root of the length, the best LR rises, at each size of model",
        short="With a growing batch the best LR rises with the length",
        sources="TB 2",
        own=True,
        measure="slope of log η* on log tokens, 5 to 80 a parameter, batch as their root, at each size: CI > 0, refuted < 0;"
        " over sizes: its change for each tenfold of parameters, CI",
    ),
    "eos.quadratic": _claim(
        kinds=("exact",),
        paraphrase="gradient descent on a quadratic converges only below an LR of 2/λmax, fastest at 2/(λmax+λmin), at a rate"
        " set by the condition number",
        short="On a quadratic, gradient descent converges only below 2/λmax",
        sources="GL Q3",
        quantifier="exact",
        regime="quadratic losses",
        lost="all three formulas in GL Q3",
        ungraded=("GL",),
        measure="(a) descent converges at LRs around 2/λmax if and only if below it; (b) it is fastest at 2/(λmax+λmin), to"
        " 0.1%; (c) by (κ−1)/(κ+1) per step, to 0.1%; (d) most runs diverge at 2.01/λmax; (e) most do not at 1.99/λmax",
    ),
    "eos.sharpness": _claim(
        paraphrase="training drives a deep network's sharpness up to the stability limit 2/LR and holds it there",
        short="Training drives the sharpness up to 2/LR and holds it there",
        sources="GL Q11",
        regime="deep networks, any training",
        size="the stability limit itself",
        lost="the limit in GL Q11, 2/LR",
        ungraded=("GL",),
        measure="LR x sharpness over the limit of 2: median within [0.9, 1.2], refuted outside (ours), at the edge in full"
        " batches at three LRs, and in mini-batches over the second half of the run; reported: heavy-ball, Nesterov and Adam",
    ),
    "eos.batch_sharpness": _claim(
        paraphrase="in mini-batch SGD the curvature of a batch's loss along its own gradient settles at 2/LR, and the largest"
        " curvature of the whole loss below it",
        short="In mini-batches it is batch sharpness that settles at 2/LR",
        sources="GL Q11",
        own=True,
        regime="SGD without momentum",
        measure="batch sharpness, the mean over batches of g'Hg over |g|² (arXiv 2412.20553), which begins below the limit and"
        " exceeds it at half the LR: (a) LR x batch sharpness over 2 is 1 within a factor of 1.1 over a run's second half; (b)"
        " that of its last quarter is that of its third within a factor of 1.1 (ours); (c) LR x sharpness over 2 is below 1",
    ),
    "eos.nonmonotone": _claim(
        paraphrase="at the edge of stability the loss bounces from step to step but falls in the long run, in healthy training",
        short="At the edge of stability the loss bounces, and falls in the long run",
        sources="GL Q11; GL Q12; GL Q42; TB 1; TB 2",
        regime="deep networks at the edge of stability",
        sides=(
            "healthy: bouncing at the edge of stability can be part of a healthy run [GL Q11; GL Q12; GL Q42]",
            "concerning: healthy training is smooth, and oscillation there is a concern [TB 1; TB 2]",
        ),
        measure="at the edge the loss (a) rises in ≥ 10% of the steps, refuted at 2%; (b) falls in ≥ 80% of windows of"
        " LR x steps = 15, refuted at half (ours)",
    ),
    "eos.newton": _claim(
        kinds=("exact",),
        paraphrase="Newton's method near a minimum converges quadratically, and gradient descent linearly",
        short="Near a minimum Newton converges quadratically, descent linearly",
        sources="GL Q6",
        quantifier="exact",
        regime="near a minimum",
        size="order 2 and order 1",
        measure="order of convergence: (a) 2 for Newton's method; (b) 1 for descent",
    ),
    "noise.variance": _claim(
        paraphrase="the gradient's variance over mini-batches falls as one over the batch size",
        short="Gradient variance falls as one over the batch size",
        sources="TB 3; GL Q2",
        quantifier="exact",
        regime="independent samples",
        lost="the formula in TB 3 and in GL Q2, one over the batch size",
        ungraded=("TB", "GL"),
        measure="slope of log variance on log B at fixed weights: in [−1.1, −0.9]; reported: sampling without replacement",
    ),
    "noise.step_cost": _claim(
        kinds=("exact", "speed"),
        paraphrase="the compute of a step is linear in the batch size",
        short="The compute of a step is linear in the batch size",
        sources="TB 3",
        quantifier="exact",
        size="linear",
        measure="FLOPs of a step against B, of a 7B GPT and with the update of a small MLP: on a straight line to a tenth;"
        " reported: its constant; step time, our question",
    ),
    "noise.memory": _claim(
        kinds=("speed", "disagreement"),
        paraphrase="training memory is linear in the batch size, 4x less for a batch of 8 than for one of 32",
        short="Training memory is linear in the batch size",
        sources="TB 3; SG Memory Optimization Checklist; SG Single GPU Training Strategy; SG Edge Cases and Follow-Up"
        " Questions",
        regime="SG: training on one GPU",
        size="linear; 4x less for batch 32 to 8 (SG)",
        sides=(
            "linear: memory is linear in the batch, 4x less for batch 32 to 8 [TB 3; SG Memory Optimization Checklist]",
            "6 GB: batch 32 to 8 saves 6 GB of parts that sum to 31 GB [SG Single GPU Training Strategy]",
            "not always: a smaller batch does not always cure running out of memory [SG Edge Cases and Follow-Up Questions]",
        ),
        measure="memory of a 7B GPT, to a tenth: (a) on a straight line in B from 4 on; (b) at 1, too; (c) 4x at batch 32 over"
        " 8; reported: the line's constant",
    ),
    "noise.temperature": _claim(
        paraphrase="SGD's implicit regularization is set by the ratio of LR to batch size",
        short="The ratio of LR to batch size sets SGD's implicit regularization",
        sources="GL Q32; GL Q47; GL Q14",
        regime=Regime(words="SGD", optimizers=("sgd",)),
        lost="the ratio in GL Q32 and Q47, LR over batch size",
        ungraded=("GL",),
        sides=(
            "in proportion: the LR must change in proportion to the batch to keep the regularization [GL Q32; GL Q47]",
            "square root: the LR of Adam changes with the square root of the batch [GL Q14]",
        ),
        measure="share of the variance between lines of equal η/B, at equal η x steps: ≥ 0.75, refuted ≤ 0.25 (ours): (a) of"
        " final sharpness; (b) of test loss; more than lines of equal η/√B (CI > 0): (c) of sharpness; (d) of test loss;"
        " reported: lines of equal η",
    ),
    "gen.small_batch": _claim(
        paraphrase="small batches generalize better than large ones in some cases",
        short="Small batches generalize better in some cases",
        sources="TB 3; TD Loss Landscape and Optimization Trajectory; GL Q33",
        quantifier="some",
        regime="TB: SGD, and not modern language models",
        sides=(
            "sometimes: small batches generalize better in some cases [TB 3; GL Q33]",
            "plainly: small batches with suitable noise find minima that generalize better [TD Loss Landscape and Optimization"
            " Trajectory]",
        ),
        measure="a large batch minus a small one, tuned LRs, equal epochs or updates (ours): (a) test loss, ≥ 1% of the loss"
        " reduction, refuted below half of it; (b) test error, ≥ half a point, refuted below; reported: one LR",
    ),
    "gen.sharper": _claim(
        paraphrase="large batches of SGD find sharper minima than small ones with suitable noise (one document: a hypothesis)",
        short="Large batches of SGD find sharper minima than small ones",
        sources="TD Loss Landscape and Optimization Trajectory; TB 3",
        regime=Regime(words="SGD", optimizers=("sgd",)),
        measure="λmax, large batch over small: ≥ 1.5x, refuted < 1x (ours): (a) at one LR, at equal training loss; (b) at the"
        " end of equal epochs, mean over the LRs of each that one run could not tell from the best",
    ),
    "gen.flat_minima": _claim(
        paraphrase="flat minima generalize better than sharp ones",
        short="Flat minima generalize better than sharp ones",
        sources="TD Loss Landscape and Optimization Trajectory",
        measure="rank correlation of λmax with validation loss at the end of training: CI > 0.3, refuted < 0.1 (ours): (a) of"
        " runs that learn the true labels; (b) of runs that end at one training loss",
    ),
    "gen.sgd_vs_adam": _claim(
        paraphrase="well-tuned SGD with momentum generalizes better than Adam on many vision tasks; AdamW narrows the gap",
        short="Well-tuned SGD generalizes better than Adam on many vision tasks",
        sources="GL Q29; GL Q30; GL Q45",
        quantifier="some",
        regime=Regime(words="vision tasks, CNNs, both optimizers tuned", models=("cnn",)),
        measure="test error at equal tuning budget, refuted if lower: (a) Adam's exceeds SGD's by half a point (ours); (b)"
        " Adam's exceeds AdamW's",
    ),
    "gen.adam_transformer": _claim(
        paraphrase="AdamW always beats SGD on large language models",
        short="AdamW always beats SGD on large language models",
        sources="GL Q29; GL Q45",
        regime=Regime(words="large language models", models=("gpt",)),
        measure="at equal tuning budget SGD's loss is higher by ≥ 1% of the loss reduction (ours), refuted if lower",
    ),
    "gen.lm_large_batch": _claim(
        kinds=("empirical", "doubted", "disagreement"),
        paraphrase="large batches with a linearly scaled LR work fine for modern language models on web data, without loss of"
        " generalization",
        short="Large batches with a linear LR are fine for modern language models",
        sources="TB 3; GL Q14; GL Q33; GL Q43",
        quantifier="most",
        regime=Regime(words="modern large language models on web data", models=("gpt",)),
        sides=(
            "linear: large batches work fine with a linearly scaled LR [TB 3]",
            "square root: the LR of Adam grows with the square root of the batch [GL Q14; GL Q33; GL Q43]",
        ),
        measure="large batch with linear LR against small: (a) gap of test to training loss no larger by 0.02 nats; (b) test"
        " loss at equal tokens within 2% of the loss reduction, refuted at 5% (ours); reported: square-root and tuned LR",
    ),
    "gen.adam_train_loss": _claim(
        paraphrase="on tasks on which Adam validates worse than SGD, its training loss is as low or lower; a last phase with"
        " SGD, longer training or regularization narrows the gap",
        short="Adam trains as low as SGD even if it validates worse",
        sources="GL Q30",
        quantifier="some",
        regime="tasks on which Adam validates worse than SGD",
        measure="on one task at least Adam's test error is higher than SGD's where the training loss of each first comes to 0.1"
        " nats (ours), refuted if it is not; each seed draws its images; reported: errors at the end with a last phase of SGD,"
        " longer training and L2",
    ),
    "spike.clip": _claim(
        paraphrase="clipping the gradient at norm 1.0 keeps rare bad batches from making a run explode",
        short="Clipping at norm 1.0 absorbs rare bad batches",
        sources="TB 4; TB 8; CP Q1; GL Q12; GL Q31; GL Q42",
        regime="TB: transformers; GL: LLM pretraining and RNNs",
        size="norm 1.0",
        lost="the norm in GL Q31; 1.0 is in TB 4, TB 8, CP Q1 and GL Q12",
        measure="share of what injected bad batches cost at the end that is left with clipping, (a) of a gradient 300 times too"
        " large, (b) of five batches of random labels: at most a quarter, refuted from all of it up (ours)",
    ),
    "spike.playbook": _claim(
        paraphrase="a run can recover from a spike by skipping the batch, rolling back to a checkpoint, a temporarily lower LR,"
        " clipping if it was off, or BF16 instead of FP16",
        short="Skipping, rollback, a lower LR, clipping or BF16 can cure a spike",
        sources="TB 8; TB 11; TB 12; CP Solutions & Tips; SG Common Causes; SG Detection Code; SG Why Loss Spikes Happen; GL"
        " Q12; GL Q42",
        quantifier="some",
        regime="after a spike or a divergence",
        size="LR x0.5 (SG)",
        sides=(
            "lower LR: a lower LR is among the remedies [TB 8; TB 11; TB 12; CP Solutions & Tips; SG Common Causes; SG"
            " Detection Code]",
            "not first: a lower LR is not the first response [GL Q12; GL Q42]",
        ),
        measure="share of what a fault costs a GPT at the end that a remedy at alarms undoes, steps lost made up, (a) of a"
        " gradient 300 times too large, (b) of five batches of random labels, per remedy: at least half, refuted at a tenth"
        " (ours); reported: noise on the weights",
    ),
    "spike.detector": _claim(
        paraphrase="a loss above 2x the mean of the nine steps before it is a spike",
        short="A loss above 2x the mean of the nine steps before is a spike",
        sources="SG Detection Code; TB 8",
        quantifier="exact",
        size="2x",
        sides=(
            "2x: a spike is a loss above 2x the recent mean [SG Detection Code]",
            "10x: a spike is a sudden jump of the loss by 10x [TB 8]",
        ),
        measure="of a GPT, (a) share of runs in which it finds batches of random labels: 70%, refuted at 50%; (b) share of runs"
        " without a fault in which it gives an alarm: 30%, refuted at 50% (ours); reported: other faults, MLPs",
    ),
    "spike.deviations": _claim(
        paraphrase="counting deviations of the loss or of the gradient norm finds more spikes than a multiple of the recent"
        " mean loss, at equal false alarms",
        short="At equal false alarms, deviations find more spikes than a ratio",
        sources="SG Detection Code; TB 8; TB 4",
        quantifier="most",
        own=True,
        measure="at limits that give one alarm in 1,000 steps of sound runs of other seeds, OLMo's rule and ZClip against a"
        " loss over the mean of nine: of the runs that only one of the two finds, share that the former finds, (a) noise on"
        " the weights, (b) the 50 steps before an explosion: more than half, refuted below (ours); reported: recall, robust"
        " deviations too",
    ),
    "spike.once": _claim(
        paraphrase="a spike that recovers by itself is probably no reason to lower the LR at first; clipping and inspecting the"
        " batch come before",
        short="A spike that recovers by itself is probably no reason to lower the LR",
        sources="GL Q12; GL Q42; SG Detection Code; TB 8; TB 11; CP Solutions & Tips",
        quantifier="most",
        regime="healthy pretraining",
        size="LR x0.5 (SG)",
        sides=(
            "leave it: do not lower the LR at first, unless spikes grow worse or NaN comes [GL Q12; GL Q42]",
            "lower it: lower the LR: halve it (SG), for a time (TB 8), after a divergence (CP) [SG Detection Code; TB 8; TB 11;"
            " CP Solutions & Tips]",
        ),
        measure="final loss after a spike, unchanged LR against halved LR: no worse by 0.5% of the loss reduction (ours)",
    ),
    # Of all workloads and not of some: that planted causes make spikes on one of them could hardly fail.
    "spike.batch_or_state": _claim(
        paraphrase="some spikes come from a bad batch, others from numerics, curvature, the LR or the optimizer's state",
        short="Some spikes come from a bad batch, others from the state",
        sources="TB 8; SG Common Causes; SG Common Failure Modes; GL Q12; GL Q42",
        sides=(
            "several causes: a bad batch is one of four or five causes [TB 8; SG Common Causes; GL Q12; GL Q42]",
            "data: the data is often at fault and not the optimizer [SG Common Failure Modes]",
        ),
        measure="share of runs with a spike (a) after planted bad batches, (b) without any bad batch, in full batches under a"
        " rising LR: more than half; share of spikes by themselves that come again (c) with the same batches from another"
        " state, (d) with other batches from the same state: 10 points more than by chance (ours)",
    ),
    "spike.warning": _claim(
        paraphrase="the gradient norm warns of trouble before the loss spikes or turns NaN",
        short="The gradient norm warns before the loss spikes or turns NaN",
        sources="TB 4; CP Q5",
        measure="of runs that explode under a rising LR, from the loss's minimum on: share in which the norm gives an alarm"
        " before the loss does, both scored alike, at one alarm in 1,000 sound steps: more than half, refuted below"
        " (ours); reported: spikes by themselves",
    ),
    "spike.cut_wastes": _claim(
        paraphrase="lowering the LR after occasional spikes of a healthy run may slow it down and waste compute",
        short="Lowering the LR after occasional spikes wastes compute",
        sources="GL Q12; TB 8; CP Solutions & Tips; SG Detection Code",
        quantifier="some",
        regime="healthy pretraining with occasional spikes",
        sides=(
            "waste: a lower LR leaves the edge of stability and may waste compute [GL Q12]",
            "lower it: lower the LR after a spike [TB 8; CP Solutions & Tips; SG Detection Code]",
        ),
        measure="steps to a target loss after a spike, LR halved over LR unchanged: CI > 1.05 (ours), refuted < 1",
    ),
    "wd.adamw_vs_l2": _claim(
        paraphrase="decoupled decay shrinks all weights by the same fraction, while L2 inside Adam shrinks those with a large"
        " second moment less",
        short="Decoupled decay shrinks weights evenly, L2 inside Adam does not",
        sources="CP advanced Q4; GL Q25; TB 5",
        quantifier="exact",
        regime="Adam against AdamW",
        sides=(
            "second moment: L2 is weaker for weights whose second moment is large [GL Q25]",
            "weakened: L2 is divided by the root of the momentum, and weaker for all weights [CP advanced Q4]",
        ),
        measure="(a) spread of the shares that decoupled decay takes off, over their mean: ≤ 0.1%; (b) rank correlation of what"
        " L2 inside Adam takes off with the root of the second moment: ≤ −0.5 (ours)",
    ),
    "wd.sgd_identity": _claim(
        kinds=("exact",),
        paraphrase="for SGD, weight decay and L2 in the loss are identical; they differ only with preconditioning",
        short="For SGD, weight decay and L2 are identical",
        sources="GL Q26",
        quantifier="exact",
        regime="SGD",
        size="identity",
        measure="L2 and decoupled decay give trajectories equal to rounding: (a) plain SGD; (b) SGD with momentum",
    ),
    "wd.growth": _claim(
        paraphrase="weights end training much larger than they started, and without decay they grow without bound",
        short="Weights grow a lot in training, without bound if not decayed",
        sources="TB 5",
        regime="healthy training",
        measure="(a) norm of the weights, end over start: ≥ 2; (b) late slope of the log norm without decay: ≥ 0.02 (ours)",
    ),
    "wd.batch_with_size": _claim(
        paraphrase="at one LR and length the best weight decay is proportional to the batch, at each size of model",
        short="The best weight decay is proportional to the batch",
        sources="GL Q25",
        own=True,
        measure="slope of log of the best decay on log B, 256 to 4,096 tokens, at each size: CI in [0.5, 1.5] (nearer to 1 than"
        " to 0); over sizes: its change for each tenfold of parameters, CI",
    ),
    "adam.bias": _claim(
        kinds=("exact", "empirical", "disagreement"),
        paraphrase="without bias correction Adam's early steps have the wrong size, for about 10 steps due to the first moment"
        " and about 1,000 due to the second",
        short="Without correction Adam's first 10 to 1,000 steps have the wrong size",
        sources="GL Q22; GL Q23",
        quantifier="exact",
        regime="Adam's default betas",
        size="about 10 and about 1,000 steps (GL Q23); a few thousand steps (GL Q22)",
        lost="the default betas in GL Q22 and Q23",
        sides=(
            "1,000 steps: the second moment is too low for about 1,000 steps, which makes steps too large [GL Q23]",
            "thousands: the correction matters for a few thousand steps, and without it steps are too small [GL Q22]",
        ),
        measure="without correction: (a) time constant of the first moment within 2x of 10 steps; (b) of the second within 2x"
        " of 1,000; (c) first step over that with correction: ≥ 1.1 (ours)",
    ),
    "adam.epsilon": _claim(
        kinds=("exact",),
        paraphrase="epsilon caps Adam's effective LR: the step is LR x gradient / epsilon if the root of the second moment is"
        " far below epsilon",
        short="Far below epsilon, Adam's step is LR x gradient / epsilon",
        sources="GL Q24",
        quantifier="exact",
        regime="Adam",
        lost="the condition, the step and the larger epsilon in GL Q24",
        ungraded=("GL",),
        measure="step over η·g/ε: (a) within 2% of 1 at second moments far below ε; (b) at most 1 at all of them",
    ),
    "adam.half_life": _claim(
        kinds=("exact",),
        paraphrase="an outlier's weight in Adam's second moment halves about every 700 steps at a β2 of 0.999",
        short="At β2 = 0.999 an outlier's weight halves about every 700 steps",
        sources="GL Q50",
        quantifier="exact",
        regime="Adam with a β2 of 0.999",
        size="about 700 steps",
        lost="the β2 in GL Q50, 0.999",
        measure="computed, with one injected outlier: within 10% of 700 steps, refuted beyond 2x (ours)",
    ),
    "adam.beta2_spikes": _claim(
        paraphrase="a β2 that does not suit a long run can make it unstable late; some recipes choose a more robust one",
        short="A β2 that does not suit a long run can make it unstable",
        sources="GL Q50",
        quantifier="some",
        regime="long pretraining",
        lost="both β2 in GL Q50, the robust one and the one for long runs",
        ungraded=("GL",),
        measure="β2 0.999 minus 0.95, second half of 10,000 steps: (a) spikes at the best LR, if there is one in 1,000 steps:"
        " CI > 0, refuted < 0; (b) loss at 8 times that LR: CI ≥ 2% of the loss reduction (ours), refuted ≤ 0; (c) the same"
        " less that in the second tenth: CI > 0, refuted < 0; that the lower β2 is more robust is our reading",
    ),
    "adam.beta2_tokens": _claim(
        paraphrase="as the batch size changes, Adam's second moment should keep its half-life in tokens, and not its β2",
        short="Adam's β2 should keep its half-life in tokens as the batch changes",
        sources="GL Q50",
        own=True,
        measure="equal tokens, LR tuned at each batch: exponent of the batch size in the best half-life in steps: CI within -1"
        " ± 0.5 (Marek et al. 2025: -1; β2 kept: 0), refuted outside",
    ),
    "adam.rmsprop": _claim(
        kinds=("exact",),
        paraphrase="RMSProp is Adam without momentum and without bias correction",
        short="RMSProp is Adam without momentum and bias correction",
        sources="GL Q27",
        quantifier="exact",
        size="identity",
        measure="trajectories equal to rounding",
    ),
    "adam.outlier": _claim(
        kinds=("empirical", "exact", "doubted"),
        paraphrase="an outlier that stays in Adam's second moment can cause NaN or instability later",
        short="An outlier kept in Adam's state can cause NaN or instability later",
        sources="GL Q39; GL Q50",
        quantifier="some",
        regime="Adam, also in long pretraining",
        sides=(
            "memory: the outlier's memory in the second moment harms later steps [GL Q39; GL Q50]",
            "kick: the memory only shrinks later steps; what harms is the outlier's own step, about 32 LRs at a β2 of 0.999",
        ),
        measure="loss added by an outlier's memory, CI > 1% of the loss reduction, refuted if neither: (a) alone; (b) after its"
        " own step; reported: the effect of its own step",
    ),
    "opt.lion": _claim(
        kinds=("empirical", "speed"),
        paraphrase="Lion keeps half of Adam's state, works best at a 3–10x lower LR, and on language modelling is sometimes as"
        " good as AdamW or better",
        short="Lion keeps half of Adam's state and is sometimes as good as AdamW",
        sources="GL Q28",
        quantifier="some",
        regime=Regime(words="language modelling", models=("gpt",)),
        size="about half of Adam's memory; LR 3–10x lower",
        measure="at one of two batch sizes at least: (a) half of AdamW's state bytes; (b) η*Adam/η*Lion CI in [3, 10]; (c)"
        " tuned loss no worse by 0.5% of the loss reduction",
    ),
    "opt.sophia": _claim(
        paraphrase="Sophia needs fewer steps and less compute than Adam on language models; whether it wins at scale is open",
        short="Sophia needs fewer steps and less compute than Adam",
        sources="GL Q46",
        regime=Regime(words="language modelling; open at scale", models=("gpt",)),
        measure="to AdamW's tuned loss, over AdamW's, with a tuned clipping factor, and own schedule and LR per length: (a)"
        " steps: below 0.8; (b) gradients including the estimator's: below 0.9 (ours)",
    ),
    "opt.layerwise": _claim(
        paraphrase="LARS and LAMB make training with very large batches possible",
        short="LARS and LAMB make training with very large batches possible",
        sources="TD Layer-wise Adaptive Rate Scaling; GL Q36",
        regime="very large batches, of CNNs (LARS) and of transformers (LAMB)",
        size="batches of 64k (BERT, TD)",
        measure="loss of Nesterov and AdamW with the LR of the scaling rule over that of LARS and LAMB, same batch: ≥ 2% of the"
        " loss reduction (ours); reported: tuned ones, which no document claims",
    ),
    "opt.layerwise_ratio": _claim(
        kinds=("exact", "disagreement"),
        paraphrase="LARS and LAMB hold the ratio of update to weight constant in each layer",
        short="LARS and LAMB hold each layer's ratio of update to weight constant",
        sources="GL Q36; TD Layer-wise Adaptive Rate Scaling",
        quantifier="exact",
        regime="LARS and LAMB",
        size="constant",
        sides=(
            "constant ratio: each layer's update is a constant share of its weights [GL Q36; TD Layer-wise Adaptive Rate"
            " Scaling]",
            "gradient norm: both divide by the norm of the gradient [TD Layer-wise Adaptive Rate Scaling]",
            "update norm: LAMB divides by the norm of Adam's update",
        ),
        measure="largest over smallest update-to-weight ratio over matrices and steps, 1 to rounding: (a) LAMB; (b) LARS"
        " without momentum and decay; (c) with both",
    ),
    "opt.lion_sensitive": _claim(
        paraphrase="Lion is more sensitive than AdamW to the choice of LR and weight decay",
        short="Lion is more sensitive than AdamW to the LR and to decay",
        sources="GL Q28",
        regime=Regime(words="language modelling", models=("gpt",)),
        measure="octaves within 5% of the best, Lion over AdamW, both CIs < 1, refuted if one is > 1 (ours): (a) of LR; (b) of"
        " weight decay, open ranges counted from the same LR x decay",
    ),
    "opt.muon_with_size": _claim(
        paraphrase="Muon gains over AdamW, both with tuned LRs, at each size of model",
        short="Muon gains over AdamW, both with tuned LRs",
        sources="GL Q28",
        own=True,
        measure="tuned loss, AdamW over Muon, 20 tokens a parameter, at each size: CI ≥ 0.5% of the loss reduction (ours),"
        " refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "opt.muon_speed_with_size": _claim(
        paraphrase="tuned AdamW needs more than 1.4 times Muon's steps for the same loss",
        short="AdamW needs 1.4 times Muon's steps",
        sources="GL Q28",
        own=True,
        measure="tuned loss, AdamW with 1.4 times the steps over Muon, at each size: CI > 0, refuted < 0; over sizes: its"
        " change for each tenfold of parameters, CI",
    ),
    "opt.lion_with_size": _claim(
        paraphrase="Lion gains over AdamW, both with tuned LRs, at each size of model",
        short="Lion gains over AdamW, both with tuned LRs",
        sources="GL Q28",
        own=True,
        follows="opt.lion",
        measure="tuned loss, AdamW over Lion, 20 tokens a parameter, at each size: CI ≥ 0.5% of the loss reduction (ours),"
        " refuted ≤ 0; over sizes: its change for each tenfold of parameters, CI",
    ),
    "mem.accumulation": _claim(
        kinds=("exact",),
        paraphrase="k accumulated micro-batches give the gradient of one batch k times as large",
        short="Accumulated micro-batches give the large batch's gradient",
        sources="TD Gradient Accumulation; CP advanced Q1; SG Gradient Accumulation",
        quantifier="exact",
        regime="equal micro-batches, no batch norm",
        size="effective batch B·k",
        measure="gradients equal to rounding; reported: time per update against one micro-batch (k times, as in CP) and against"
        " the large batch",
    ),
    "mem.accumulation_peak": _claim(
        kinds=("speed",),
        paraphrase="peak activation memory follows the micro-batch and hardly changes with accumulation",
        short="Peak activation memory follows the micro-batch",
        sources="SG Gradient Accumulation; CP advanced Q1",
        measure="log-log slope of the peak on k: (a) 0 for micro-batches of one size; (b) ≤ −0.9 for parts of one batch (ours)",
    ),
    "mem.checkpoint_memory": _claim(
        kinds=("speed", "disagreement"),
        paraphrase="with checkpoints at the best places activation memory grows with the square root of depth instead of depth",
        short="With checkpoints, activation memory grows as the root of depth",
        sources="TD Gradient Checkpointing; SG Single GPU Training Strategy",
        quantifier="exact",
        regime="checkpoints placed optimally",
        size="√L (TD)",
        sides=(
            "square root: activation memory falls to the square root of the depth [TD Gradient Checkpointing]",
            "all: checkpointing saves 2 GB, all activations of the budget [SG Single GPU Training Strategy]",
        ),
        measure="log-log slope on depth: (a) ≈ 0.5 with √depth checkpoints; (b) ≈ 1 without",
    ),
    "mem.checkpoint_cost": _claim(
        kinds=("exact", "speed"),
        paraphrase="checkpointing costs about 33% more compute",
        short="Checkpointing costs about 33% more compute",
        sources="TD Gradient Checkpointing",
        quantifier="exact",
        size="+33% compute",
        measure="operations of a step with every block recomputed, over those without: 1.30 to 1.36",
    ),
    "mem.checkpoint_time": _claim(
        kinds=("speed",),
        paraphrase="checkpointing makes training 20–30% slower",
        short="Checkpointing makes training 20–30% slower",
        sources="CP advanced Q5",
        quantifier="most",
        size="20–30% more time",
        measure="step time with every block recomputed over that without, trained solo: CI in [1.2, 1.3]",
    ),
    "mem.budget": _claim(
        kinds=("exact", "doubted"),
        paraphrase="the FP32 weights of a model of 7B parameters take 7 GB",
        short="A 7B model's FP32 weights take 7 GB",
        sources="SG Memory Budget Breakdown",
        quantifier="exact",
        regime="7B parameters in FP32",
        size="7 GB",
        sides=(
            "7 GB: the weights and the gradients take 7 GB each, Adam's state 14 GB [SG Memory Budget Breakdown]",
            "28 GB: 7B parameters of 4 bytes take 28 GB, as the gradients do, and Adam's state takes 56 GB",
        ),
        measure="arithmetic: GB of 7 billion FP32 numbers, within 10% of 7",
    ),
    "mem.adam_states": _claim(
        kinds=("exact",),
        paraphrase="Adam's state takes twice the memory of the weights",
        short="Adam's state takes twice the memory of the weights",
        sources="SG Memory Budget Breakdown",
        quantifier="exact",
        regime="Adam in FP32",
        size="2x",
        measure="bytes of the state over those of the weights: 2",
    ),
    "mem.levers": _claim(
        kinds=("exact", "doubted"),
        paraphrase="batch 32 to 8 takes 4x less memory, half the sequence 2x less and FP16 2x less, on a model of 7B parameters"
        " and a GPU of 24 GB",
        short="A quarter of the batch saves 4x memory, half the sequence or FP16 2x",
        sources="SG Single GPU Training Strategy; SG Memory Optimization Checklist; SG Memory Budget Breakdown",
        quantifier="exact",
        regime="a 7B model on one GPU of 24 GB",
        size="4x, 2x and 2x; in GB 6, 1 and 7 of parts that sum to 31, and 2 by checkpoints",
        sides=(
            "as listed: each lever divides the memory by what is listed [SG Single GPU Training Strategy; SG Memory"
            " Optimization Checklist; SG Memory Budget Breakdown]",
            "only activations: a lever divides the activations; weights, gradients and state stay",
        ),
        measure="counted memory by lever, supported if the factors agree within 10% (ours), refuted if not: (a) batch; (b)"
        " sequence; (c) precision; reported: what checkpoints save, and the sum of the document's GB",
    ),
    "mem.checkpoint_size": _claim(
        kinds=("speed",),
        paraphrase="checkpointing allows models or batches 2–3x as large",
        short="Checkpointing allows models or batches 2–3x as large",
        sources="CP advanced Q5",
        size="2–3x",
        measure="largest batch and model that fit with over without checkpointing, for models bound by activations and by"
        " weights: ratio in [2, 3], refuted < 1.5 (ours)",
    ),
    "flow.healthy": _claim(
        paraphrase="gradient norms are of similar size in all layers of a healthy network",
        short="In a healthy network, gradient norms are similar in all layers",
        sources="TD Gradient Flow Diagnostics; TB 4; GL Q7",
        regime="healthy training",
        sides=(
            "similar: gradient norms are similar in all layers [TD Gradient Flow Diagnostics]",
            "differ: layers may differ, embeddings and early layers above all [TB 4; GL Q7]",
        ),
        measure="largest over smallest gradient norm of a hidden matrix, on fixed examples, ≤ 10 (ours): (a) at the start; (b)"
        " after a quarter; (c) at the end; (d) likewise of all matrices at the start",
    ),
    "flow.vanishing": _claim(
        paraphrase="if gradient norms in early layers are orders of magnitude below those in later ones, gradients vanish, and"
        " early layers stop learning",
        short="Vanishing gradients: early norms orders smaller, learning stalls",
        sources="TD Gradient Flow Diagnostics; TB 4",
        regime="networks whose gradients vanish",
        size="orders of magnitude",
        measure="in deep sigmoid networks whose gradients vanish (ours): (a) movement of the first layer ≤ 0.1 of the last"
        " one's; (b) gain from training the first half of the layers ≤ 5% of the loss reduction; reported: other activations",
    ),
    "flow.dead_relu": _claim(
        paraphrase="a dead ReLU is zero on every input and has zero gradient, so the share of zeros is worth logging",
        short="A dead ReLU is always zero and has zero gradient",
        sources="TD Gradient Flow Diagnostics; TB 4",
        quantifier="exact",
        regime="ReLU networks",
        measure="gradient of ReLUs that are zero on all training examples: 0; reported: what held-out examples activate, and"
        " what recovers, which no document claims",
    ),
    "flow.zero_is_not_converged": _claim(
        paraphrase="a gradient norm near zero may mean vanishing gradients instead of convergence",
        short="A gradient norm near zero may mean vanishing, not convergence",
        sources="TB 11; TB 4; GL Q37",
        quantifier="some",
        sides=(
            "possibly: a norm near zero possibly means vanishing gradients [TB 11]",
            "vanishing: a norm near zero means vanishing gradients [TB 4]",
            "critical point: a norm near zero means a critical point [GL Q37]",
        ),
        measure="at the end (ours): (a) gradient norm on all training examples ≤ 1% of a healthy network's first; (b) ≥ 90% of"
        " its loss reduction lost",
    ),
    "fit.small_data": _claim(
        paraphrase="big models overfit small data fast, and may never overfit large data",
        short="Big models overfit small data fast, large data perhaps never",
        sources="TB 9",
        regime="big models; TB 9: large language models too",
        measure="(a) step of the validation minimum against data size: exponent at least 0.25, refuted at zero; (b) share of"
        " seeds whose validation loss turns up where no token is seen twice: less than half, refuted from there up (ours)",
    ),
    "fit.val_turns": _claim(
        paraphrase="a validation loss that flattens and then rises while the training loss falls means overfitting, which long"
        " runs may reach",
        short="A validation loss that turns up while training falls is overfitting",
        sources="TB 6; TD Loss Curves; TB 1",
        quantifier="some",
        regime="long runs",
        measure="share of seeds whose validation loss turns up while the training loss falls: (a) more than half with small"
        " data; (b) fewer than half with large data (ours)",
    ),
    "fit.train_above_val": _claim(
        paraphrase="the training loss can lie above the validation loss because of dropout, augmentation, batch-norm statistics"
        " or an easier validation set",
        short="Training loss can lie above validation, by dropout or augmentation",
        sources="TB 6; TB 11; TB 12",
        quantifier="some",
        regime="dropout, augmentation, batch norm or an easier validation set",
        measure="sign of the gap per arm",
    ),
    "fit.early_stopping": _claim(
        paraphrase="stopping at the lowest validation loss keeps the best model; noise sometimes selects a wrong one, so the"
        " last one is kept, too",
        short="Early stopping keeps the best model, but noise can mislead it",
        sources="TB 6",
        quantifier="most",
        measure="(a) test loss at the best validation loss against the end: lower by 0.5% of the loss reduction, refuted at"
        " zero; (b) chosen by few examples against chosen by many: higher by as much (ours)",
    ),
    "fit.lr_is_not_the_lever": _claim(
        paraphrase="against overfitting, regularization, early stopping and augmentation work better than a lower LR, which may"
        " help",
        short="Regularization helps more against overfitting than a lower LR",
        sources="GL Q40",
        regime="runs that overfit",
        measure="test loss of a quarter of the LR for four times the steps, each run where its validation loss is lowest: above"
        " that of (a) dropout, (b) weight decay, (c) early stopping alone, (d) augmentation, refuted if it is not (ours);"
        " dropout and weight decay are tuned by Optuna; reported: where runs end",
    ),
    "forget.happens": _claim(
        paraphrase="training on a new task or on new data erases what a network could do before",
        short="Training on a new task erases what was learned before",
        sources="TB 10; TD Catastrophic Forgetting",
        regime="fine-tuning a pretrained model, narrow data, RL on tasks in sequence",
        sides=(
            "wipes out: training on a new task wipes out the old ability [TB 10]",
            "may degrade: fine-tuning may degrade the old task [TD Catastrophic Forgetting]",
        ),
        measure="accuracy on the old task before and after, in each scenario (task, domain, class), and loss on an old text: 20"
        " points, or 20% of the loss reduction, worse than in joint training, refuted at 5 (ours)",
    ),
    "forget.replay": _claim(
        paraphrase="mixing about 5–15% of the original data into training reduces forgetting",
        short="Replay of about 5–15% of the original data reduces forgetting",
        sources="TB 10; TB 12",
        quantifier="most",
        regime="fine-tuning or mid-training after pretraining",
        size="about 5–15% of the data",
        measure="of a GPT that reads one text after another, and forgets at least 5% of the loss reduction: share of the gap"
        " between none and joint training on the old text that is recovered with (a) 5% and (b) 15% of each batch: a quarter,"
        " refuted at 5% (ours); the document claims a reduction without a share",
    ),
    "forget.ewc": _claim(
        paraphrase="EWC, a penalty on changes of important weights, reduces forgetting",
        short="EWC reduces forgetting",
        sources="TB 10; TB 12; TD Catastrophic Forgetting",
        quantifier="most",
        regime="fine-tuning a pretrained model",
        measure="on old tasks, where the new one comes to 90%, or on texts to a loss: share of the gap between none there and"
        " joint training that is recovered at its tuned strength: a fifth, refuted at 5% (ours)",
    ),
    "forget.small_lr": _claim(
        paraphrase="a smaller LR in fine-tuning reduces forgetting",
        short="A smaller LR in fine-tuning reduces forgetting",
        sources="TB 10; TB 12; TD Catastrophic Forgetting",
        quantifier="most",
        regime="fine-tuning a pretrained model",
        measure="accuracy on the old task where that on the new one comes to 90%: 5 points more, refuted at 2; on text the loss"
        " on the old one at equal loss on the new one, by 5% of the loss reduction, refuted at 2% (ours)",
    ),
    "forget.lora": _claim(
        paraphrase="low-rank adapters preserve what the base model can do",
        short="Low-rank adapters preserve what the base model can do",
        sources="TB 10; TB 12",
        quantifier="most",
        regime="fine-tuning a pretrained model",
        measure="accuracy on the old task where that on the new one comes to 90%, against full fine-tuning: 5 points more,"
        " refuted at 2; on text the loss on the old one at equal loss on the new one, by 5% of the loss reduction, refuted at"
        " 2% (ours)",
    ),
    "forget.layerwise_lr": _claim(
        paraphrase="a lower LR in early layers reduces forgetting",
        short="A lower LR in early layers reduces forgetting",
        sources="TD Catastrophic Forgetting",
        quantifier="most",
        regime="fine-tuning a pretrained model whose early layers hold general features",
        measure="accuracy on the old task where that on the new one comes to 90%: 5 points more, refuted at 2 (ours)",
    ),
    "ramp.equivalent": _claim(
        paraphrase="raising the batch size during training instead of lowering the LR gives equivalent dynamics and better"
        " hardware use",
        short="Raising the batch instead of lowering the LR is equivalent",
        sources="GL Q47",
        regime="SGD",
        size="no change",
        measure="equal examples, below the noise scale, if lowering the LR matters: final loss within 1% of the loss reduction,"
        " refuted at 3%, (a) at the tuned LR; (b) at twice that; (c) time ≤ 0.9 (ours)",
    ),
    "emb.rare_tokens": _claim(
        paraphrase="plain Adam can update the embedding rows of rare tokens too much and those of common tokens too little",
        short="Adam can update the rows of rare tokens too much",
        sources="GL Q49",
        quantifier="some",
        regime="embedding tables, whose gradients are sparse",
        measure="(a) exponent of a row's movement per occurrence on token frequency, Adam's less SGD's: CI < −0.25, refuted"
        " > −0.05; (b) loss on the rarest quarter with ε, β2 or a lower LR, each tuned: gain ≥ 1% (ours); (c) likewise on the"
        " most common quarter with a higher LR",
    ),
}


def _study(claim: str) -> str:
    """The study that judges it, or will."""
    prefix = claim.partition(".")[0]
    return STUDY_OF_CLAIM.get(claim) or STUDY_OF_PREFIX.get(prefix, prefix)


CLAIMS = tuple(Claim(id=claim, study=_study(claim), **fields) for claim, fields in _CLAIMS.items())
