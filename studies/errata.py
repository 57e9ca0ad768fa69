"""Published verdicts that are withdrawn, newest last: by their own or their documents' words, their questions were wrong.

An erratum says what is wrong in two sentences, with numbers of the published trials or of the study's own file. It speaks of
one version of a study: the next one asks again and is judged as usual. Entries stay, for the list of all that ever changed.
"""

from ..harness.declare import Erratum

ERRATA = (
    Erratum(
        claim="gen.flat_minima",
        study="generalization",
        version=1,
        date="2026-11-25",
        reason=(
            "The claim is about minima, and every run is read when its training loss first reaches 0.8 nats: half"
            " of the runs get there after a third of their steps, with the LR still at three quarters of its peak."
            " At their end, the same runs have a rank correlation of +0.48 (0.38 to 0.59), the opposite sign."
        ),
        scale="laptop",
        verdict="refuted",
        reading="opposite",
        number="−0.34 (−0.49 to −0.19)",
    ),
    Erratum(
        claim="warmup.clip_first",
        study="warmup_divergence",
        version=4,
        date="2026-11-25",
        reason=(
            "The register supports the claim only if a longer warmup alone saves under 30% of the diverged runs, and"
            " no criterion judges that: 60% warmup saves 16 of the 17, clipping all 17. The document is about large"
            " transformers, and this one has 3,300 parameters without embeddings."
        ),
        scale="laptop",
        verdict="supported",
        number="100% (80–100)",
    ),
    Erratum(
        claim="opt.sophia",
        study="optimizers",
        version=1,
        date="2026-11-25",
        reason=(
            "GL Q46 is about training large language models, and this GPT has 3,300 parameters without embeddings: on"
            " the same one gen.adam_transformer is out of regime. Sophia's gamma, which decides how much is clipped,"
            " was left at 0.05, and its curvature came from 128 or 1,024 tokens at a time."
        ),
        scale="laptop",
        verdict="refuted",
        reading="opposite",
        number="1.51x (1.44–1.58)",
    ),
    Erratum(
        claim="noise.memory",
        study="gradient_noise",
        version=1,
        date="2026-11-25",
        reason=(
            "“Linear in the batch size” occurs twice in TB 3 and was read in two ways: noise.step_cost leaves out what"
            " does not grow with the batch (exponent 1; with it 0.896, which its own rule refutes), and here weights,"
            " gradients and Adam's state are included (0.66; activations alone have 1). SG's “4x less” does fail, and"
            " is judged with the same number in mem.levers."
        ),
        scale="laptop",
        verdict="refuted",
        reading="smaller",
        number="2.93x",
    ),
    Erratum(
        claim="decay.raise_lr",
        study="plateaus",
        version=2,
        date="2026-11-25",
        reason=(
            "CP Q3 is about a loss that has stopped decreasing, and there is no such plateau: at a constant LR the"
            " validation loss falls from 2.757 nats at the switch to 2.628, as the study itself says. It shows only"
            " that an LR of a 32nd of the best is too low."
        ),
        scale="laptop",
        verdict="refuted",
        reading="smaller",
        number="−7.3% (−7.7 to −6.9)",
    ),
    Erratum(
        claim="warmup.duration",
        study="warmup_duration",
        version=4,
        date="2026-11-25",
        reason=(
            "Version 2 refuted the claim for 5% and 0.5% warmup, at a margin of 0.5% of the loss; since version 3 the"
            " margin is 1% of the loss reduction, and 0.5% warmup is no longer judged at this scale. The test hardly"
            " distinguishes 5% warmup from none: against 20% they cost 0.66% (90% CI 0.40–0.91%) and 0.79% (95% CI"
            " 0.37–1.21%)."
        ),
        scale="laptop",
        verdict="supported",
        number="0.66% (0.40–0.91)",
    ),
)
