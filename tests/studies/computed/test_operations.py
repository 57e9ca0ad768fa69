"""Single operations in 16 bits against torch and theory."""

import numpy as np
import pytest
import torch

from folklore.studies.computed import operations


@pytest.mark.parametrize("operation", ["layer_norm", "variance", "softmax", "log_sum_exp", "matmul", "gelu"])
def test_operations_are_torchs(operation: str) -> None:
    """In FP64, step by step, each is what torch computes."""
    x = operations.inputs(3)
    weight = operations.OPERATIONS["matmul"](torch.eye(operations.WIDTH, dtype=torch.float64), "fp32")
    expected = {
        "layer_norm": torch.nn.functional.layer_norm(x, (operations.WIDTH,)),
        "variance": x.var(dim=1, correction=0, keepdim=True),
        "softmax": x.softmax(dim=1),
        "log_sum_exp": x.logsumexp(dim=1, keepdim=True),
        "matmul": x @ weight,
        "gelu": torch.nn.functional.gelu(x),
    }[operation]
    for sums in ("fp32", "same"):
        assert torch.allclose(operations.OPERATIONS[operation](x, sums), expected, rtol=1e-10, atol=1e-12)
    once = operations.relative_error(operation, "fp16", 3, stepwise=False)
    assert 1e-5 < once < 2**-11, "rounding once costs at most half a unit in the last of eleven bits"


def test_errors_are_over_what_they_are_said_to_be() -> None:
    """Rounding once is half a unit in the last place, which is 2^-8 of BF16's eight bits; inputs may lie elsewhere."""
    assert operations.unit_roundoff("bf16") == 2.0**-8
    assert operations.unit_roundoff("fp16") == 2.0**-11
    softmax = operations.error(3, "softmax", "bf16").numbers
    stepwise, once = (operations.relative_error("softmax", "bf16", 3, stepwise) for stepwise in (True, False))
    assert softmax == pytest.approx({"over_rounded_once": stepwise / once, "over_unit_roundoff": stepwise * 2**8})
    far = operations.error(3, "layer_norm", "fp16", offset=100.0, spread=0.1).numbers["over_unit_roundoff"]
    assert far == operations.relative_error("layer_norm", "fp16", 3, True, "fp32", 100.0, 0.1) * 2**11
    plain = operations.error(3, "layer_norm", "fp16").numbers["over_unit_roundoff"]
    assert plain < 2, "no cancellation, no more than a few roundings"


def test_cancellation_costs_layer_norm_what_theory_says() -> None:
    """The mean is rounded by up to half the distance of numbers near 100 (2^-5 in FP16), uniformly over rows; what it is
    centred by is off by that, against a spread of one."""
    error = operations.relative_error("layer_norm", "fp16", 7, True, "fp32", 100.0, 1.0)
    assert error == pytest.approx(2.0**-4 / np.sqrt(12), rel=0.25)
