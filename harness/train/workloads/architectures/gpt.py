"""A decoder of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....declare import Workload
from .base import Architecture

if TYPE_CHECKING:
    from .....models import Model, Parametrization
    from ..data import DataFacts


class Decoder(Architecture):
    reads_text = True
    drops = True
    settings = ("norm_placement", "tasks", "adapter_rank", "tokenizer", "base_depth")
    embedding = "embedding.token.weight"

    def check(self, workload: Workload) -> None:
        if workload.width % workload.heads:
            raise ValueError(f"heads = {workload.heads}: must divide width = {workload.width}")
        if workload.base_heads is not None and workload.base_width % workload.base_heads:
            raise ValueError(f"base_heads = {workload.base_heads}: must divide base_width = {workload.base_width}")
        if workload.base_depth is not None and workload.norm_placement == "post":
            raise ValueError(
                f"base_depth = {workload.base_depth}: no depth rule for norms after the sum; leave out norm_placement = post"
            )

    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        from .....models import GPT

        post = workload.norm_placement == "post"
        size = workload.width, workload.depth, workload.heads
        return GPT(facts.classes, workload.context, *size, scheme, post, workload.adapter_rank)

    def own_words(self, workload: Workload) -> str:
        grown = workload.parametrization == "mup" and workload.base_heads is not None
        heads = f", {workload.heads} heads{f' (muP from {workload.base_heads})' * grown}"
        words = f"{heads}, context {workload.context} tokens" + ", post-norm" * (workload.norm_placement == "post")
        words += "" if workload.base_depth is None else f", CompleteP from depth {workload.base_depth}"
        return words + f", adapters of rank {workload.adapter_rank}" * (workload.adapter_rank > 0)

    def hidden_parameters(self, workload: Workload) -> int:
        """Parameters of the blocks and, with pre-norm, of the last norm."""
        last = 2 * workload.width if workload.norm_placement == "pre" else 0
        return workload.depth * (12 * workload.width**2 + 13 * workload.width) + last


ARCHITECTURE = Decoder()
