"""What a study may name is what there is: names of the spec against the registries that stand behind them, and nothing that
silently takes the place of what is missing."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import pytest

from folklore.harness.data import DataFacts
from folklore.harness.observables import FormGap, OperationError
from folklore.harness.observables.estimating import fits, operations, range_test_rules
from folklore.harness.observables.estimating.exact import CHECKS
from folklore.harness.observables.numerics import ExactCheck
from folklore.harness.observables.range_tests import FinderRule
from folklore.harness.spec import Study, Workload
from folklore.harness.spec.configuration import OptimizerName, PrecisionName, ScheduleName
from folklore.harness.storing import trial_rows, trial_schema
from folklore.harness.training import network, optimizers, precision, schedules
from folklore.models.parametrization import LR_RULES
from tests.harness.helpers import planned, result, rows


def names(spec: type[Any], field: str) -> tuple[str, ...]:
    return get_args(spec.model_fields[field].annotation)


@pytest.mark.parametrize(
    ("known", "registered"),
    [
        (names(Workload, "model"), {*network.BUILDERS, "own"}),
        (get_args(OptimizerName), optimizers.KINDS),
        (get_args(OptimizerName), LR_RULES),
        (get_args(ScheduleName), schedules.SHAPES),
        (get_args(PrecisionName), precision.FORMATS),
        (get_args(FinderRule), {*range_test_rules.RULES, "divergence"}),
        (get_args(ExactCheck), CHECKS),
        (names(OperationError, "operation"), operations.OPERATIONS),
        (names(OperationError, "format"), operations.FORMATS),
        (names(OperationError, "sums"), get_args(operations.Sums)),
        (names(FormGap, "left"), get_args(fits.Form)),
        (names(FormGap, "right"), get_args(fits.Form)),
    ],
)
def test_the_spec_names_what_is_registered(known: Iterable[Any], registered: Iterable[Any]) -> None:
    assert set(known) == set(registered)


def test_a_model_without_a_builder_trains_no_other() -> None:
    unknown = Workload(dataset="digits").model_copy(update={"model": "transformer"})
    with pytest.raises(AssertionError, match="model 'transformer' has no builder"):
        network.build(unknown, DataFacts("x", 10, (64,)))


def test_a_probe_without_a_column_is_not_lost(study: Study) -> None:
    trials = planned(study).trials[:1]
    with pytest.raises(AssertionError, match=r"no column for curve_probe_hessian: add it to storing/trial_schema\.py"):
        rows(study, trials, lambda trial: result(2.0, probe_hessian=[1.0]))
    by_layer = replace(result(2.0), layer_curves={"probe_layer_rank": [[1.0]]})
    with pytest.raises(AssertionError, match="no column for curve_probe_layer_rank"):
        rows(study, trials, lambda trial: by_layer)


def test_a_column_is_not_left_empty(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_rows, "SUMMARY", (*trial_schema.SUMMARY, "joules"))
    with pytest.raises(AssertionError, match="nothing for column joules"):
        rows(study, planned(study).trials[:1], lambda trial: result(2.0))
