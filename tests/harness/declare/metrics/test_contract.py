"""Rules that every observable keeps, in the worlds that calibration plants effects in; functions in a table of their own."""

from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from pydantic import TypeAdapter

from folklore.harness.declare import Observed, arms_of
from folklore.harness.declare.metrics.estimating.evaluation import evaluate
from folklore.harness.declare.observed import KINDS, Observable, ShareOfRuns
from folklore.harness.declare.trials import NotEstimableError, Numbers
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from tests.calibration import trial_rates as measure
from tests.calibration.conditions import PLAIN
from tests.calibration.planted_table import SCALE, Column, PlantedTable
from tests.calibration.trial_cases import CASES, Case
from tests.calibration.trial_rates import truths
from tests.calibration.trial_worlds import study
from tests.harness.declare.metrics.planted import on_losses, stored, world

SEEDS = 8
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
GENERATOR = np.random.default_rng(0)
ORDER = GENERATOR.permutation(SEEDS)
# Weights: all seeds once, and some several times.
WEIGHTS = np.vstack([np.ones(SEEDS), GENERATOR.multinomial(SEEDS, np.full(SEEDS, 1 / SEEDS), size=3)]).astype(float)
# Halves of the seeds are drawn by their places.
HALVES = {"mean_gap_absolute"}
# A seed's LR or limit is chosen on the others: a copy of it is none of these.
ON_OTHERS = {"steps_to_target", "critical_batch_size", "alarm_lead"}
# One world each: an interval that leaves out the truth once in ten thousand.
LEVEL = 0.9999


def value(observable: Observed, table: TrialArrays, weights: Numbers = WEIGHTS) -> Numbers:
    if isinstance(observable, ShareOfRuns):
        successes, runs = observable.counts(table)
        return np.array([successes / runs])
    return evaluate(observable, table, weights)


def values(case: Case, table: PlantedTable, weights: Numbers = WEIGHTS) -> list[Numbers]:
    return [value(observable, table, weights) for observable in case.observables]


@cache
def plain(case: Case) -> PlantedTable:
    """As it is drawn."""
    return world(case, SEEDS)


def is_weighted(case: Case) -> bool:
    return case.name not in HALVES | ON_OTHERS and not isinstance(case.observables[0], ShareOfRuns)


def assert_same(ours: list[Numbers], theirs: list[Numbers]) -> None:
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in HALVES], ids=lambda case: case.name)
def test_the_order_of_seeds_does_not_matter(case: Case) -> None:
    turned = world(case, SEEDS, lambda name, column: column[:, ORDER])
    assert_same(values(case, turned, WEIGHTS[:, ORDER]), values(case, plain(case)))


@pytest.mark.parametrize("case", [case for case in CASES if is_weighted(case)], ids=lambda case: case.name)
def test_a_weight_is_how_often_a_seed_is_there(case: Case) -> None:
    """In all arms, so that seeds stay paired, and for all that is selected."""
    whole = values(case, plain(case))
    for row, weights in enumerate(WEIGHTS):
        places = np.repeat(np.arange(SEEDS), weights.astype(int))
        repeated = world(case, SEEDS, lambda name, column, places=places: column[:, places])
        assert_same(values(case, repeated, np.ones((1, SEEDS))), [array[[row]] for array in whole])


@EVERY
def test_losses_mean_what_is_declared_of_them(case: Case) -> None:
    """Twice as large, and a nat higher: a loss follows both, a share of losses ignores the factor, a gap the shift."""
    doubled, raised = (world(case, SEEDS, on_losses(change)) for change in (lambda x: 2 * x, lambda x: x + 1))
    for observable in case.observables:
        was, means = value(observable, plain(case)), observable.of_losses
        # A level that is declared in nats moves with the losses.
        level = getattr(observable, "level", None)
        moved = [{}, {}] if level is None else [{"level": 2 * level}, {"level": level + 1}]
        twice, higher = (observable.model_copy(update=update) for update in moved)
        if means == "is one":
            assert_same([value(twice, doubled), value(higher, raised)], [2 * was, was + 1])
        elif means == "no zero":
            assert_same([value(higher, raised)], [was])
        else:
            assert_same([value(observable, doubled)], [was])


@EVERY
def test_a_trial_that_is_missing_makes_it_invalid(case: Case) -> None:
    planted = plain(case)
    rows = stored(planted)
    for observable in case.observables:
        whole = value(observable, TrialArrays(planted.study, SCALE, rows))
        assert_same([whole], [value(observable, planted)])
        for arm in arms_of(observable):
            without = TrialArrays(planted.study, SCALE, rows.drop(index=rows.index[rows["arm"] == arm][-1]))
            with pytest.raises(NotEstimableError, match=r"1 of \d+ trials of .* missing or crashed") as caught:
                observe(observable, without)
            assert caught.value.verdict == "invalid"


@EVERY
def test_the_planted_truth_lies_in_the_interval(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth of 400 seeds: its own error makes the distance from an estimate of 20 a fortieth larger."""
    monkeypatch.setattr(measure, "TRUTH_SEEDS", 400)
    table = world(case, 20)
    for observable, truth in zip(case.observables, truths(case, PLAIN, case.effects[2]), strict=True):
        observation = observe(observable, table, LEVEL)
        assert observation.low <= observation.estimate <= observation.high
        assert not case.has_truth or observation.low <= truth <= observation.high


@EVERY
def test_it_is_written_and_read(case: Case) -> None:
    for observable in case.observables:
        assert TypeAdapter(Observable).validate_json(observable.model_dump_json()) == observable


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_every_kind_is_one(kind: str) -> None:
    example = {"kind": kind, **KINDS[kind].EXAMPLE}
    assert isinstance(TypeAdapter(Observable).validate_python(example), KINDS[kind])


@EVERY
def test_without_trials_it_is_invalid(case: Case) -> None:
    planted = plain(case)
    table = TrialArrays(planted.study, SCALE, stored(planted).iloc[:0])
    for observable in case.observables:
        with pytest.raises(NotEstimableError, match="missing or crashed") as caught:
            observe(observable, table)
        assert caught.value.verdict == "invalid"


@EVERY
@pytest.mark.filterwarnings("error")
def test_a_seed_that_diverges_leaves_a_number_or_a_reason(case: Case) -> None:
    """From its first step on, in all arms."""

    def first_lost(name: str, column: Column) -> Column:
        changed = column.copy()
        if name.endswith("_loss") and name != "initial_loss":
            changed[:, 0] = [np.full_like(curve, np.nan) for curve in column[:, 0]] if column.dtype == object else np.nan
        return changed

    table = world(case, SEEDS, first_lost)
    for observable in case.observables:
        with suppress(NotEstimableError):
            assert not np.isnan(value(observable, table)[0])


FUNCTIONS = {name: kind for name, kind in KINDS.items() if kind.PLANTED}
# Columns of every run if nothing else is planted; a validation loss is the test loss.
USUAL = {"outcome": "finished", "initial_loss": 5.0, "test_loss": 1.0, "environment": '{"device": ""}'}


def planted_beside(kind: type[Observed], order: slice) -> PlantedTable:
    """The values that a function plants, its seeds in this order."""
    arms, _, settings = (*kind.PLANTED, {})[:3]
    by_lr = {arm: rows if isinstance(next(iter(rows)), float) else {0.01: rows} for arm, rows in arms.items()}
    columns: dict[str, dict[str, Column]] = {}
    for arm, rows in by_lr.items():
        for row, planted in enumerate(rows.values()):
            seeds = len(next(iter(planted.values())))
            usual = {name: [value] * seeds for name, value in USUAL.items()}
            for name, values in (usual | {"validation_loss": planted.get("test_loss", usual["test_loss"])} | planted).items():
                by_arm = columns.setdefault(name, {})
                by_arm.setdefault(arm, np.empty((len(rows), seeds), dtype=object))[row] = values[order]
    return PlantedTable(study({arm: settings.get(arm, {}) for arm in arms}, by_lr, seeds), columns)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["in order", "backwards"])
@pytest.mark.parametrize("kind", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_comes_to_its_planted_truth(kind: type[Observed], order: slice) -> None:
    table = planted_beside(kind, order)
    assert value(kind(**kind.EXAMPLE), table, np.ones((1, table.seeds))) == pytest.approx([kind.PLANTED[1]])
