"""The least size of what a claim speaks of, by its words: a claim about large language models is not shown by a toy.

One table for all claims, fixed before any verdict was judged by it. What it reads is a claim's paraphrase and the words of
its regime, without what these say that the claim is not about.
"""

import re
from dataclasses import dataclass, fields
from typing import Self

from .claims import Claim

MILLION, BILLION = 10**6, 10**9


@dataclass(frozen=True)
class ClaimSize:
    """The least that a claim speaks of; 0: it says nothing of it. parameters: without embeddings. pretrained: the run starts
    from a checkpoint that was trained on other data."""

    parameters: int = 0
    tokens: int = 0
    tokens_per_parameter: int = 0
    steps: int = 0
    pretrained: bool = False

    def with_all(self, other: Self) -> Self:
        """The size of a claim whose words ask for both."""
        return type(self)(**{field.name: max(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)})


# Words -> the least size that they ask for.
TABLE: tuple[tuple[str, ClaimSize], ...] = (
    (r"transformers?|language model(s|ling|ing)?|LLMs?", ClaimSize(parameters=100_000, tokens=2 * MILLION, steps=1_000)),
    (r"(?<!after )pretraining|(?<!in the )long (runs?|training)", ClaimSize(tokens_per_parameter=20, steps=10_000)),
    (
        r"LLMs?|at scale|(large|modern|frontier) (\w+ )?(models?|transformers?|networks?|scale)",
        ClaimSize(parameters=100 * MILLION),
    ),
    (r"fine-tuning .*\bpretrain(ed|ing)", ClaimSize(pretrained=True)),
)
# A number of parameters in a claim's own words.
NUMBER = re.compile(r"\b(?P<number>\d+(\.\d+)?)(?P<unit>[MB])\b(?=[^;]* parameters)")
# "SGD, and not modern language models", "Adam; transformers are not named".
NOT_MEANT = re.compile(r"\bnot [^;,]*|[^;,]* (is|are) not named")


def claim_size(claim: Claim) -> ClaimSize:
    """The least size that a claim's words ask for; ClaimSize() if they ask for none."""
    words = NOT_MEANT.sub("", f"{claim.paraphrase}; {claim.regime.words if claim.regime else ''}")
    least = ClaimSize(parameters=_smallest_named(words))
    for pattern, size in TABLE:
        if re.search(rf"\b({pattern})\b", words):
            least = least.with_all(size)
    return least


def _smallest_named(words: str) -> int:
    units = {"M": MILLION, "B": BILLION}
    return min((int(float(named["number"]) * units[named["unit"]]) for named in NUMBER.finditer(words)), default=0)
