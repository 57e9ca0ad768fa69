"""Claims and the documents they stand in."""

from typing import Literal

from pydantic import Field

from folklore.harness.spec.base import Spec

Kind = Literal["empirical", "exact", "speed", "disagreement", "doubted"]


class Document(Spec):
    """A source of claims: a short key (TB), its title, and its file name among the sources."""

    key: str
    title: str
    file: str


class Source(Spec):
    """Where a claim stands: a document's key and the section or question there."""

    document: str = Field(min_length=1)
    section: str = Field(min_length=1)


class Claim(Spec):
    """One statement in our own words.

    kinds: empirical (seeds and intervals), exact (an identity or constant), speed (time or memory; needs a GPU to be
    judged in full), disagreement (documents contradict each other), doubted (expected to fail as written).
    measure: what has to be measured, and the rule fixed beforehand.
    """

    id: str
    kinds: tuple[Kind, ...]
    paraphrase: str
    sources: tuple[Source, ...] = ()
    measure: str

    @property
    def study(self) -> str:
        """The study a claim is filed under, whether or not it is written yet."""
        prefix = self.id.partition(".")[0]
        return STUDY_OF_PREFIX.get(prefix, prefix)


STUDY_OF_PREFIX = {
    "finder": "lr_finder",
    "scaling": "batch_scaling",
    "crit": "critical_batch",
    "warmup": "warmup",
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
