"""How a weight starts, by its role in the network.

Standard parametrization: normal with variance 1/fan_in, so that a layer keeps the scale of its input; embeddings start
at GPT-2's 0.02 (Radford et al. 2019, released code); the matrices that write into the residual stream are divided by
sqrt(2 * depth), so that the stream's variance does not grow with depth (Radford et al. 2019, section 2.3).
"""

import math

EMBEDDING_STD = 0.02


def hidden_std(fan_in: int) -> float:
    return 1.0 / math.sqrt(fan_in)


def residual_std(fan_in: int, depth: int) -> float:
    return hidden_std(fan_in) / math.sqrt(2 * depth)
