"""FP16 products and activations."""

from .base import Precision

PRECISION = Precision(
    loss=2**-9,
    # 64 unit roundoffs: a chain of roundings from layer to layer, and rows of embeddings that are summed in the format.
    gradient=2**-5,
    # A CPU sums gains and biases over thousands of examples in the format itself (reports/log).
    of_vectors=4,
    flops_per_second={"cpu": 1.0e10, "cuda": 2.5e14},
    activations="float16",
    activation_bytes=2,
    of_any_module=True,
)
