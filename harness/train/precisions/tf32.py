"""TF32: FP32 whose products a GPU's matrix units round to 10 bits, by a switch that the pack sets."""

from .base import Precision

PRECISION = Precision(
    loss=2**-9,
    gradient=2**-7,
    flops_per_second={"cuda": 1.2e14},
    of_any_module=True,
    tensor_cores=True,
)
