"""Every name that a study may use exists: names of the spec against the registries that stand behind them; nothing silently
takes the place of what is missing."""

import importlib
import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from folklore.harness.declare import Study, Training, Workload
from folklore.harness.declare.computed import Function, registry
from folklore.harness.declare.configuration import OPTIMIZERS, PRECISIONS, SCHEDULES
from folklore.harness.declare.metrics.estimating import range_test_rules
from folklore.harness.errors import UserError
from folklore.harness.plan.store import trial_rows, trial_schema
from folklore.harness.train.optimizers import base, optimizer_kind
from folklore.harness.train.precisions import precision_named
from folklore.harness.train.schedules import schedule_named
from folklore.harness.train.workloads import workload_of
from folklore.models.parametrization import LR_RULES
from folklore.studies.computed import operations
from folklore.studies.metrics.lr_finder import FinderRule
from tests.harness.helpers import planned, result, rows
from tests.harness.train.contract import tried

ERROR = registry().named("operations.error")


@pytest.mark.parametrize(
    ("known", "registered"),
    [
        (get_args(FinderRule), {*range_test_rules.RULES, "divergence"}),
        (ERROR.parameters["operation"], operations.OPERATIONS),
        (ERROR.parameters["format"], operations.FORMATS),
        (ERROR.parameters["sums"], get_args(operations.Sums)),
    ],
)
def test_the_spec_names_what_is_registered(known: Iterable[Any], registered: Iterable[Any]) -> None:
    assert set(known) == set(registered)


@pytest.mark.parametrize("function", registry().functions.values(), ids=lambda function: function.name)
def test_a_function_is_there_and_takes_what_is_registered(function: Function) -> None:
    module, _, name = function.name.rpartition(".")
    called = getattr(importlib.import_module(f"{function.package}.{module}"), name)
    taken = set(inspect.signature(called).parameters)
    assert taken == {*function.parameters, *(["seed"] if function.by_seed else [])}
    assert inspect.getdoc(called)


def test_every_optimizer_is_one_and_says_what_it_reads() -> None:
    kinds = [optimizer_kind(name) for name in OPTIMIZERS]
    assert len(set(kinds)) == len(OPTIMIZERS)
    assert {kind.mup_rule for kind in kinds} == {*LR_RULES, None}
    for name, kind in zip(OPTIMIZERS, kinds, strict=True):
        assert issubclass(kind, base.PackedOptimizer)
        read = {"momentum": 0.5, "beta1": 0.5, "epsilon": 0.5}
        assert kind.words(Training(optimizer=name, **read)) != kind.words(Training(optimizer=name))
        for field, value in tried(kind.settings).items():
            assert kind.words(Training(optimizer=name, **{field: value})) != kind.words(Training(optimizer=name)), field


def test_an_optimizer_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UserError, match=f"no optimizer named 'qq': known: {', '.join(OPTIMIZERS)}"):
        optimizer_kind("qq")
    with pytest.raises(ValidationError, match=f"'{OPTIMIZERS[-1]}' or 'own'"):
        Training(optimizer="base")


def test_every_schedule_is_one() -> None:
    """Shapes start at the peak or end there, and no two are told by the same words."""
    schedules = {name: schedule_named(name) for name in SCHEDULES}
    assert len({schedule.words(Training()) for schedule in schedules.values()}) == len(SCHEDULES)
    progress = np.arange(100) / 100
    assert all(schedule.shape(Training(), progress).max() == 1.0 for schedule in schedules.values())
    with pytest.raises(UserError, match="no schedule named 'cosin': did you mean 'cosine'"):
        schedule_named("cosin")


def test_every_precision_is_one_that_a_gpu_has() -> None:
    for name in PRECISIONS:
        precision = precision_named(name)
        assert precision.activation_bytes == precision.dtype.itemsize
        assert precision.flops_per_second["cuda"] > 0
        assert callable(precision.product())
    with pytest.raises(UserError, match="no precision named 'fp7': did you mean 'fp8'"):
        precision_named("fp7")


def test_a_model_without_a_builder_trains_no_other() -> None:
    unknown = Workload(dataset="digits").model_copy(update={"model": "transformer"})
    with pytest.raises(UserError, match="no model named 'transformer': known: cnn, gpt, linear, mlp, quadratic"):
        workload_of(unknown)


def test_a_probe_without_a_column_is_not_lost(study: Study) -> None:
    trials = planned(study).trials[:1]
    with pytest.raises(AssertionError, match=r"no column for curve_probe_hessian: describe a curve in its probe"):
        rows(study, trials, lambda trial: result(2.0, probe_hessian=[1.0]))
    by_layer = replace(result(2.0), layer_curves={"probe_layer_rank": [[1.0]]})
    with pytest.raises(AssertionError, match="no column for curve_probe_layer_rank"):
        rows(study, trials, lambda trial: by_layer)


def test_a_column_is_not_left_empty(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_rows, "SUMMARY", (*trial_schema.SUMMARY, "joules"))
    with pytest.raises(AssertionError, match="nothing for column joules"):
        rows(study, planned(study).trials[:1], lambda trial: result(2.0))
