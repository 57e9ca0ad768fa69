"""How weights start, and how they and their learning rates depend on width and depth.

Standard: hidden weights normal with variance 1/fan_in, so that a layer keeps the scale of its input; embeddings at
GPT-2's 0.02 (Radford et al. 2019, released code); matrices that write into the residual stream divided by
sqrt(2 * depth), so that the stream's variance does not grow with depth (ibid., section 2.3). One LR for all.

muP (Yang et al. 2022, table 8): with m = width / base_width, hidden matrices learn at LR/m under Adam; vector-like
parameters (embeddings, biases, gains, readout) learn at LR*m under SGD; the readout keeps the variance it has at the base
width and its input is divided by m; attention scores are divided by the head's size and not by its root, so that they
follow the head's growth: where a wider model has more heads of the same size, they stay. At the base width both
parametrizations are the same.

CompleteP's depth rule (Dey et al. 2025, table 1, alpha = 1), beside either: what a block adds to the stream is multiplied by
base_depth / depth, and its matrices start as at the base depth; LRs stay. Their epsilon of Adam, which falls with the
gradients of the blocks, is left out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

EMBEDDING_STD = 0.02


# Rule -> muP's factor of the LR, by width / base_width and the number of a parameter's sides that grow with the width.
# The table gives Adam and SGD; an optimizer names its rule.
LR_RULES: dict[str, Callable[[float, int], float]] = {
    "adaptive": lambda multiplier, growing_sides: 1.0 / multiplier if growing_sides == 2 else 1.0,
    "gradient_descent": lambda multiplier, growing_sides: multiplier if growing_sides == 1 else 1.0,
}


@dataclass(frozen=True)
class Parametrization:
    """`multiplier` is width / base_width under muP, and None in standard parametrization; `head_multiplier` likewise the head's
    size over that at the base width, and None where it grows as the width does. `base_depth` is None without a depth rule."""

    multiplier: float | None = None
    zero_readout: bool = False
    head_multiplier: float | None = None
    base_depth: int | None = None

    def hidden_std(self, fan_in: int) -> float:
        return 1.0 / math.sqrt(fan_in)

    def residual_std(self, fan_in: int, depth: int) -> float:
        return self.hidden_std(fan_in) / math.sqrt(2 * (self.base_depth or depth))

    def branch_multiplier(self, depth: int) -> float:
        """The factor of what a block adds to the stream."""
        return (self.base_depth or depth) / depth

    def readout_std(self, fan_in: int) -> float:
        return 0.0 if self.zero_readout else math.sqrt((self.multiplier or 1.0) / fan_in)

    @property
    def readout_multiplier(self) -> float:
        """The factor of the readout's input, not of its bias."""
        return 1.0 / (self.multiplier or 1.0)

    def attention_scale(self, head_width: int) -> float:
        """1/sqrt(d), or sqrt(d at the base width)/d under muP, for heads of size d."""
        return 1.0 / math.sqrt(head_width * (self.head_multiplier or self.multiplier or 1.0))

    def lr_multiplier(self, growing_sides: int, rule: str | None) -> float:
        """The factor of the LR of a parameter with this many sides that grow with the width, under muP by a rule of LR_RULES
        (AssertionError)."""
        if self.multiplier is None:
            return 1.0
        assert rule in LR_RULES, f"muP has no LR rule '{rule}'"
        return LR_RULES[rule](self.multiplier, growing_sides)
