"""The least size that words ask for: the table's words, not other uses of them, and none where there are none."""

import pytest

from folklore.harness.declare import Claim, Regime
from folklore.harness.declare.claim_size import ClaimSize, claim_size

TRANSFORMER = {"parameters": 100_000, "tokens": 2_000_000, "steps": 1_000}
LARGE = {**TRANSFORMER, "parameters": 100_000_000}
LONG = {"tokens_per_parameter": 20, "steps": 10_000}


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("a post-norm transformer fails", TRANSFORMER),
        ("on language modelling", TRANSFORMER),
        ("large language models", LARGE),
        ("transformers at modern scale", LARGE),
        ("LLM pretraining", {**LARGE, **LONG}),
        ("what long runs may reach", LONG),
        ("tasks of large scale", {"parameters": 100_000_000}),
        ("models from 1B to 70B parameters", {"parameters": 10**9}),
        ("fine-tuning a pretrained model", {"pretrained": True}),
        ("mid-training or fine-tuning after pretraining", {"pretrained": True}),
        # Other uses of the same words.
        ("the loss falls in the long run", {}),
        ("a large batch, a large LR, gradients that are large", {}),
        ("modern GPUs", {}),
        ("SGD, and not modern language models", {}),
        ("Adam; transformers are not named", {}),
        ("larger networks", {}),
        ("SGD", {}),
    ],
)
def test_words_give_the_least_size(words: str, size: dict[str, int]) -> None:
    for claim in (
        Claim(id="own.a", paraphrase=words, measure="-"),
        Claim(id="own.a", paraphrase="it helps", measure="-", regime=words),
    ):
        assert claim_size(claim) == ClaimSize(**size)


def test_a_size_set_by_hand_is_told_where_sizes_come_from() -> None:
    with pytest.raises(ValueError, match="least_parameters = 1000: a claim's words give its least size; leave it out"):
        Regime.model_validate({"words": "large models", "least_parameters": 1000})
