"""Observables of probes and of single operations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.observables import (
    CurveDistance,
    CurveMedian,
    FinalLoss,
    MemoryRatio,
    OperationError,
    RelativeGap,
    SpeedUp,
    UnderflowShare,
    Unmeasured,
)
from folklore.harness.observables.estimating import operations
from folklore.harness.spec import Arm, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.spec.trials import UndecidableError
from folklore.harness.training.result import LaneResult
from tests.harness.helpers import bowl, frame, result


@pytest.fixture
def wide(study: Study) -> Study:
    dump = {**study.model_dump(), "judgements": (), "factors": {"peak_lr": tuple(2.0**e for e in range(-10, -2))}}
    dump["arms"]["alone"] = Arm(label="alone", settings={"warmup_fraction": 0.3}, factors={"peak_lr": (0.01,)})
    dump["arms"]["other"] = Arm(label="other", settings={"warmup_fraction": 0.4}, factors={"peak_lr": (0.01,)})
    dump["arms"]["elsewhere"] = Arm(
        label="elsewhere", settings={"warmup_fraction": 0.6}, factors={"peak_lr": (0.01,)}, scales=("smoke",)
    )
    return Study.model_validate(dump)


def outcome(trial: Trial) -> LaneResult:
    seed, tuned = trial.seed, trial.configuration.training.peak_lr == 2.0**-7
    base = result(
        bowl(trial, -7, 2.0),
        probe_step=[1.0, 5.0, 10.0],
        probe_median_update_ratio=[1.0, 1e-3 * (seed + 1), 1e-3 * (seed + 1)] if tuned else [9.0] * 3,
        probe_gradient_norm=[2.0, 1.0, 1.0] if trial.arm == "half" else [2.1, 1.02, 0.99],
    )
    shares = [[0.02 * (seed + 1)] * 17, [0.0] * 17]
    return replace(
        base,
        step_seconds=0.5 if trial.arm == "alone" else 1.0,
        peak_memory_bytes=100 if trial.arm == "alone" else 400,
        layer_curves={**base.layer_curves, "probe_layer_underflow_weight": shares},
    )


@pytest.fixture
def table(wide: Study) -> TrialArrays:
    return TrialArrays(wide, "laptop", frame(wide, outcome))


def test_the_median_of_a_curve_at_the_tuned_lr(table: TrialArrays) -> None:
    seen = observe(CurveMedian(arm="none", curve="median_update_ratio"), table)
    assert seen.estimate == pytest.approx(1e-3 * np.exp(np.log(np.arange(1, 6)).mean()), rel=1e-5)


def test_the_distance_of_two_curves(table: TrialArrays) -> None:
    seen = observe(CurveDistance(arm="none", reference="half"), table)
    assert seen.estimate == pytest.approx(np.median([0.05, 0.02, 0.01]), rel=1e-4)
    with pytest.raises(UndecidableError, match="different grids"):
        observe(CurveDistance(arm="alone", reference="half"), table)


def test_the_share_of_underflow(table: TrialArrays) -> None:
    seen = observe(UnderflowShare(arm="none", of="weight", scale_exponent=3), table)
    assert seen.estimate == pytest.approx(0.5 * 0.02 * 3, rel=1e-5)


def test_underflow_that_was_not_measured(wide: Study) -> None:
    def without(trial: Trial) -> LaneResult:
        found = outcome(trial)
        curves = {name: value for name, value in found.layer_curves.items() if "underflow" not in name}
        return replace(found, layer_curves=curves)

    with pytest.raises(UndecidableError, match="underflow was not measured in"):
        observe(UnderflowShare(arm="none", of="activation"), TrialArrays(wide, "laptop", frame(wide, without)))


def test_times_and_memory_are_ratios(table: TrialArrays) -> None:
    assert observe(SpeedUp(arm="alone", reference="other"), table).estimate == pytest.approx(2.0)
    assert observe(MemoryRatio(arm="alone", reference="other"), table).estimate == pytest.approx(0.25)


def test_an_arm_of_another_scale_is_out_of_regime(table: TrialArrays) -> None:
    with pytest.raises(UndecidableError, match="trained at scale smoke only") as error:
        observe(SpeedUp(arm="elsewhere", reference="alone"), table)
    assert error.value.verdict == "out of regime"
    with pytest.raises(UndecidableError, match="no such thing here"):
        observe(Unmeasured(reason="no such thing here"), table)


def test_the_loss_of_an_arm_with_one_point(table: TrialArrays) -> None:
    seen = observe(FinalLoss(arm="alone"), table)
    assert seen.estimate == pytest.approx(2.0 + 0.05 * (np.log2(0.01) + 7) ** 2)
    same = RelativeGap(left=FinalLoss(arm="alone"), right=FinalLoss(arm="other"))
    assert observe(same, table).estimate == pytest.approx(0.0)


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


def test_operation_errors_are_means_of_ratios(table: TrialArrays) -> None:
    seen = observe(OperationError(operation="softmax", format="bf16"), table)
    by_hand = [
        operations.relative_error("softmax", "bf16", seed, True) / operations.relative_error("softmax", "bf16", seed, False)
        for seed in range(5)
    ]
    assert seen.estimate == pytest.approx(np.exp(np.log(by_hand).mean()))


def test_operation_errors_in_unit_roundoffs(table: TrialArrays) -> None:
    """Rounding once is half a unit in the last place, which is 2^-8 of BF16's eight bits; inputs may lie elsewhere."""
    assert operations.unit_roundoff("bf16") == 2.0**-8
    assert operations.unit_roundoff("fp16") == 2.0**-11
    plain = {"operation": "layer_norm", "format": "fp16", "over": "unit_roundoff"}
    far = OperationError(**plain, offset=100.0, spread=0.1)
    by_hand = [operations.relative_error("layer_norm", "fp16", seed, True, "fp32", 100.0, 0.1) * 2**11 for seed in range(5)]
    assert observe(far, table).estimate == pytest.approx(np.exp(np.log(by_hand).mean()))
    assert observe(OperationError(**plain), table).estimate < 2, "no cancellation, no more than a few roundings"


def test_cancellation_costs_layer_norm_what_theory_says() -> None:
    """The mean is rounded by up to half the distance of numbers near 100 (2^-5 in FP16), uniformly over rows; what it is
    centred by is off by that, against a spread of one."""
    seen = operations.relative_error("layer_norm", "fp16", 7, True, "fp32", 100.0, 1.0)
    assert seen == pytest.approx(2.0**-4 / np.sqrt(12), rel=0.25)
