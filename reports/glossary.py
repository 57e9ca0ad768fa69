"""The words of the pages, each explained in a sentence or two."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """also: other words for the same. see: ids of terms that belong to it."""

    name: str
    means: str
    also: tuple[str, ...] = ()
    see: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its place on the page."""
        return self.name.lower().replace(" ", "-").replace("'", "")


VERDICTS = (
    Term(
        "supported",
        "The interval lies wholly inside the region that the study declares to support the claim. In counts: holds.",
    ),
    Term(
        "partly",
        "Something of the claim holds, and not all. Smaller or larger: the effect surely has the direction claimed, and"
        " surely not the size. Direction: it has the direction, and the size is not sure. Some parts: one part holds, another"
        " fails. Untested parts: one holds, another cannot be tested. Some workloads: it depends on the workload; the sentence"
        " names them. In counts: holds in part.",
        see=("panel",),
    ),
    Term(
        "refuted",
        "The interval lies wholly inside a region that refutes the claim. No effect: the effect is too small to matter."
        " Opposite: it has the other direction. Smaller or larger: it has another size than claimed. Worse: it lies behind by"
        " more than the margin. Different: two things that should be equal differ. In counts: fails.",
        see=("margin", "null"),
    ),
    Term(
        "open",
        "The trials do not decide. Too noisy: the interval is too wide; what decided it says how many more seeds would, if any."
        " Between: the value surely lies between the regions that decide. Multiplicity: a single part or workload would decide"
        " it, but several were tested, and over all of them that may be chance.",
    ),
    Term(
        "out of regime",
        "This scale or device cannot show the effect, and the sentence says why: the claim speaks of large models, or a GPU is"
        " needed, or what the claim presupposes does not occur here. In counts: not testable here.",
    ),
    Term(
        "withdrawn",
        "The question was found to be wrong after the verdict was published. It counts neither for nor against the claim and"
        " grades no document, until a new version of the study asks again. The claim's card says what is wrong.",
    ),
    Term("invalid", "Trials are missing or crashed, so there is no number. A diverged trial is an outcome; a crash is not."),
    Term(
        "firm",
        "The verdict repeats on fresh seeds what the version before it came to by the same rule, is of the size that the claim"
        " speaks of, and survives every check: the correction for the number of claims that are tested, leaving out any single"
        " seed, every other reading of the data, tuned losses at a vertex, its bounds moved by a quarter, and no best value at"
        " an end of its grid or read off a grid coarser than half octaves.",
    ),
    Term(
        "new",
        "The verdict survives every check of a firm one, but was asked once, or by a rule that is new. It waits for a"
        " repetition.",
    ),
    Term("fragile", "The verdict fails at least one of the checks of a firm one. The page says which."),
    Term(
        "below the claim's size",
        "The claim's words ask for more than was trained: a transformer for 100k parameters, 2M tokens and 1,000 steps,"
        " pretraining and long runs for 20 tokens a parameter and 10,000 steps, large and modern models for 100M parameters,"
        " fine-tuning for a checkpoint of other data. The verdict speaks of models of the size trained, and grades no"
        " document.",
    ),
    Term(
        "as models grow",
        "How an effect changes along a ladder, by a line in the logarithm of the size. Holds: it is there at the largest model,"
        " and a tenfold changes it by less than half. Grows, fades: it surely changes, away from no effect or towards it."
        " Turns: it has opposite signs at the two ends. No effect: it is too small to matter at every size. Open: none of"
        " these is sure. What is said of sizes beyond the ladder is an extrapolation, and marked as one. Where larger models"
        " are trained for longer, a change may come from their size or from the length of their runs.",
        see=("ladder",),
    ),
    Term(
        "exact", "The number is counted or follows from a closed form, and so has no error: 65504 is the largest FP16 number."
    ),
    Term(
        "computed",
        "The number is worked out in 64 bits and not measured: it is the same on every machine, up to a stated tolerance that"
        " is far smaller than what decides.",
    ),
    Term(
        "expected false verdicts",
        "Each claim is tested at 5%. If none of 40 tested claims were decidable, two would still come out decided by chance:"
        " at most this many of the decided verdicts are expected to be wrong.",
        see=("firm",),
    ),
    Term(
        "grade",
        "A verdict as it counts for one document. A document that gives no number is graded by the direction of the effect. If"
        " documents disagree, each is graded by its own side. Our own questions and numbers lost in our copy grade nobody.",
    ),
)
MEASURES = (
    Term("LR", "The learning rate: the factor between gradient and step.", also=("learning rate", "η", "step size")),
    Term("octave", "A factor of two. Three octaves are a factor of eight."),
    Term(
        "best LR", "The LR with the lowest loss, from a parabola through the points around the lowest.", also=("η*", "tuned LR")
    ),
    Term("usable LR", "An LR at which training still ends near the best loss and does not diverge.", also=("trainable LR",)),
    Term("regret", "How much higher the loss ends with a picked setting than with the best one."),
    Term(
        "loss reduction",
        "How far training lowers the loss: the loss at initialization minus the best loss. Differences of losses are given as"
        " shares of it, which can be compared between models.",
        also=("the fall",),
    ),
    Term("points", "Percentage points, the difference of two shares: from 40% to 45% are 5 points.", also=("point",)),
    Term("seed", "The number that fixes initialization and data order of a trial."),
    Term("paired seeds", "All arms share their seeds, so a seed's luck cancels where arms are compared."),
    Term(
        "interval",
        "The range that holds the true value in 95% of cases (90% if it says so), from a bootstrap over seeds.",
        also=("CI",),
    ),
    Term("null", "The value that means no effect: 0 for a difference, 1 for a ratio."),
    Term(
        "margin",
        "A distance from the null that is too small to matter. The page says if it was declared late.",
    ),
    Term(
        "non-inferiority",
        "The question whether something is no worse than something else by more than the margin. Being better never"
        " refutes it.",
        also=("matches", "is enough", "competes"),
    ),
    Term("equivalence", "The question whether two things are equal within the margin, on both sides."),
    Term("power", "The chance that a study would show an effect of the size that theory or publications lead one to expect."),
    Term("surprise", "How far a number lies from what was expected, as a multiple of the expected effect."),
)
STUDIES = (
    Term("claim", "One statement about training, in our words, with the places where documents make it."),
    Term("study", "The declaration of how claims are judged: what is varied, what is measured, what would support or refute."),
    Term(
        "scale",
        "How large a study is run: laptop (two CPU cores), workstation (the same, for up to an hour and a half), gpu (one GPU),"
        " cluster (many GPUs).",
    ),
    Term(
        "ladder",
        "Scales of a study that differ in the size of the model alone: the same arms, from the smallest model to the largest.",
        see=("rung", "as-models-grow"),
    ),
    Term(
        "rung",
        "One scale of a ladder. Before it is trained the rungs below say what it will show; a hit lies in the interval that"
        " they predict.",
    ),
    Term("arm", "One of the settings that a study compares, such as 5% warmup."),
    Term("trial", "One training run: one arm, one value of every factor, one seed."),
    Term("panel", "One of the workloads on which a claim is tested.", also=("workload",)),
    Term(
        "divergence", "The loss becomes infinite or leaves all bounds. A diverged trial counts with its loss at initialization."
    ),
)
TRAINING = (
    Term("warmup", "A ramp of the LR from near zero to its peak in the first steps.", also=("ramp",)),
    Term("schedule", "How the LR changes over training: constant, cosine, linear, in steps.", also=("scheduler", "decay")),
    Term("warmup-stable-decay", "A schedule: warmup, a long constant part, a short decay.", also=("WSD", "trapezoid")),
    Term("range test", "A short run in which the LR grows at every step, to find a good LR by the curve.", also=("LR finder",)),
    Term("noise scale", "The batch size at which the noise of the gradient is as large as the gradient itself."),
    Term("critical batch size", "The batch size beyond which a larger batch hardly saves steps.", also=("B_crit",)),
    Term(
        "muP",
        "A parametrization that scales initialization and LR of each layer with width, so that the best LR stays where it is.",
        also=("maximal update parametrization", "μP"),
    ),
    Term("loss scaling", "The loss is multiplied before the backward pass and gradients divided after it, so that FP16 does not"
         " flush small ones to zero."),
    Term("update-to-weight ratio", "The size of a step over the size of the weights that it changes."),
    Term("sharpness", "The largest eigenvalue of the Hessian: how steeply the loss curves."),
)  # fmt: skip

GROUPS = {"Verdicts": VERDICTS, "Numbers": MEASURES, "Studies": STUDIES, "Training": TRAINING}


def content() -> dict[str, object]:
    """The values of the page's template: groups of terms, in alphabetical order but for verdicts."""
    ordered = {
        name: terms if name == "Verdicts" else sorted(terms, key=lambda t: t.name.lower()) for name, terms in GROUPS.items()
    }
    return {"groups": ordered, "names": {term.id: term.name for terms in GROUPS.values() for term in terms}}
