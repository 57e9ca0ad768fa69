"""BF16 products, activations and weights, which every update rounds to the nearest; optimizer states stay in FP32."""

from dataclasses import replace

from . import bf16

PRECISION = replace(bf16.PRECISION, weights="nearest")
