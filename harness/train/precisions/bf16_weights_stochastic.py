"""BF16 products, activations and weights, which every update rounds at random; optimizer states stay in FP32."""

from dataclasses import replace

from . import bf16

PRECISION = replace(bf16.PRECISION, weights="stochastic")
