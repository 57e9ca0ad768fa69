"""Results of computed jobs: short enough for a page, plain, whole or set aside; and what a judge does without them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Reported, Study
from folklore.harness.declare.computed import Curve, Plot, registry
from folklore.harness.declare.metrics import Computed, Quotient
from folklore.harness.declare.observed import Observed
from folklore.harness.judge.judge import judge
from folklore.harness.judge.observe import observe
from folklore.harness.judge.robustness import robustness
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.judge.trial_sets import HERE, trial_sets
from folklore.harness.judge.verdict import Verdict
from folklore.harness.plan.computing import computed_jobs
from folklore.harness.plan.store.computations import MOST_POINTS, Computation, Computations, _thinned
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import bowl, computations, frame, result

CLAIM = "warmup.improves_best"
FIRST, LARGEST = (Computed(function="adam.uncorrected", number=number) for number in ("first_step", "largest_step"))
TINY = Computed(function="adam.small_gradients", number="tiny_step")
ROUNDED = Computed(function="operations.error", arguments={"operation": "gelu", "format": "bf16"}, number="over_unit_roundoff")


def criterion(observable: Observed) -> Criterion:
    return Criterion(name=str(observable), observe=observable, claimed=AtLeast(value=1.5), refuted=AtMost(value=0.1))


def asking(study: Study, *criteria: Criterion, reported: tuple[Observed, ...] = ()) -> Study:
    beside = tuple(Reported(name=str(metric), observe=metric) for metric in reported)
    judgement = Judgement(claim=CLAIM, criteria=criteria, reported=beside)
    return study.model_copy(update={"judgements": (judgement,)})


@pytest.fixture(scope="module")
def asked(study: Study) -> Study:
    return asking(study, criterion(FIRST), criterion(LARGEST), reported=(TINY,))


@pytest.fixture(scope="module")
def results(asked: Study) -> Computations:
    return computations(asked)


def verdict(study: Study, there: Computations) -> Verdict:
    trials = frame(study, lambda trial: result(bowl(trial, -7, 2.0)))
    (outcome,) = judge(study, "laptop", "cpu", trials, table=TrialArrays(study, "laptop", trials, computations=there))
    return outcome


def test_a_study_plans_each_job_once_and_none_at_a_scale_that_is_not_judged(asked: Study) -> None:
    assert [job.function for job in computed_jobs(asked, "laptop").values()] == ["adam.uncorrected", "adam.small_gradients"]
    assert computed_jobs(asked, "smoke") == {}
    inside = asking(asked, criterion(Quotient(top=FIRST, bottom=TINY)))
    assert computed_jobs(inside, "laptop").keys() == computed_jobs(asked, "laptop").keys()


def test_a_digest_is_of_all_that_a_number_depends_on(asked: Study) -> None:
    def digests(study: Study) -> set[str]:
        return set(computed_jobs(study, "laptop"))

    rounded = asking(asked, criterion(ROUNDED))
    others = [
        asking(asked, criterion(ROUNDED.model_copy(update={"arguments": {**ROUNDED.arguments, "offset": 3.0}}))),
        rounded.model_copy(update={"version": 2}),
        rounded.model_copy(update={"name": "another"}),
        rounded.model_copy(update={"first_seed": 77}),
    ]
    assert len(digests(rounded).union(*map(digests, others))) == 1 + len(others)


def test_a_function_whose_version_is_raised_is_computed_again(asked: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    before = computed_jobs(asked, "laptop")
    known = registry().functions["adam.uncorrected"]
    monkeypatch.setitem(registry().functions, "adam.uncorrected", replace(known, version=known.version + 1))  # type: ignore[arg-type]
    assert len(before.keys() & computed_jobs(asked, "laptop").keys()) == 1


def test_the_judge_reads_what_is_there(asked: Study, results: Computations) -> None:
    outcome = verdict(asked, results)
    assert (outcome.verdict, [finding.grade for finding in outcome.findings]) == ("supported", ["computed", "computed"])
    assert outcome.is_arithmetic
    numbers = {computation.job.function: computation.numbers for computation in results.values()}
    assert [finding.estimate for finding in outcome.findings] == [
        numbers["adam.uncorrected"][n] for n in ("first_step", "largest_step")
    ]
    trials = frame(asked, lambda trial: result(2.0))
    assert robustness(asked, "laptop", "cpu", trials, [outcome], results) == [], "no trial and no seed could change it"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "has no result"),
        ({"job": {"version": 7}}, "has a result of version 7 of its function, which is at version 1"),
        ({"study_version": 9}, "has a result of version 9 of the study and 1 of the engine"),
    ],
)
def test_without_its_result_a_claim_is_invalid_and_says_what_computes_it(
    asked: Study, results: Computations, change: dict[str, object] | None, reason: str
) -> None:
    there: dict[str, Computation] = {}
    for computation in results.values() if change else ():
        job = replace(computation.job, **change["job"]) if "job" in change else computation.job  # type: ignore[arg-type]
        changed = replace(computation, job=job, **{name: value for name, value in change.items() if name != "job"})  # type: ignore[arg-type]
        there[f"another {changed.digest}"] = changed
    outcome = verdict(asked, there)
    assert outcome.verdict == "invalid"
    assert f"the computed job adam.uncorrected() {reason}" in outcome.reason
    assert f"`folklore run {asked.name}` computes it" in outcome.reason


def test_a_measured_number_has_seeds_and_an_interval(study: Study) -> None:
    asked = asking(study, criterion(ROUNDED))
    (job,) = computed_jobs(asked, "laptop").values()
    assert job.seeds == tuple(asked.seed_numbers_at("laptop"))
    there = computations(asked)
    table = TrialArrays(asked, "laptop", frame(asked, lambda trial: result(2.0)), computations=there)
    estimate = observe(ROUNDED, table)
    (values,) = (computation.numbers["over_unit_roundoff"] for computation in there.values())
    assert estimate.estimate == pytest.approx(np.exp(np.mean(np.log(values))))
    assert estimate.low < estimate.estimate < estimate.high
    assert not verdict(asked, there).is_arithmetic
    fewer = TrialArrays(asked, "laptop", frame(asked, lambda trial: result(2.0)), None, job.seeds[1:], there)
    assert observe(ROUNDED, fewer).estimate == pytest.approx(np.exp(np.mean(np.log(values[1:]))))  # type: ignore[index]


def test_a_number_at_the_edge_of_a_region_is_in_neither(asked: Study, results: Computations) -> None:
    """Another machine may have it on the other side."""
    table = TrialArrays(asked, "laptop", frame(asked, lambda trial: result(2.0)), computations=results)
    estimate = observe(FIRST, table)
    margin = FIRST.margin(estimate.estimate)
    assert margin > 0
    for margins, p in ((0.1, 1.0), (2.0, 0.0)):
        assert estimate.p_in(AtLeast(value=estimate.estimate - margins * margin).pieces) == p
        assert estimate.p_in(AtMost(value=estimate.estimate + margins * margin).pieces) == p


def test_a_store_keeps_results_and_sets_damaged_ones_aside(
    tmp_path: object, asked: Study, results: Computations, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(Store(str(tmp_path)), asked.name)
    for computation in results.values():
        ledger.write_computation(computation)
    assert ledger.computations() == results
    state = ledger.state()
    assert set(ledger.not_projected("mlflow")) == results.keys()
    first, second = (name for name in state)
    ledger.store.write(first, ledger.store.read(first)[:-9])
    ledger.store.write(second.rsplit(".", 2)[0] + ".e3b0c44298fc1c14.json", b"")
    assert len(ledger.computations()) == 1
    assert "it is computed again" in caplog.text
    assert ledger.store.exists(f"{first}.damaged")


def test_a_result_that_is_not_its_jobs_is_refused(results: Computations) -> None:
    computation = next(iter(results.values()))
    fields = json.loads(computation.to_json())
    assert Computation.from_json(json.dumps(fields)) == computation
    with pytest.raises(ValueError, match="its digest is not that of its job"):
        Computation.from_json(json.dumps({**fields, "study_version": 5}))


def test_long_curves_are_thinned_and_keep_both_ends(results: Computations) -> None:
    (plot,) = next(computation.plots for computation in results.values() if computation.job.function == "adam.uncorrected")
    for curve in plot["curves"]:
        assert len(curve["x"]) == len(curve["y"]) <= MOST_POINTS
        assert (curve["x"][0], curve["x"][-1]) == (1.0, 3000.0)
        assert (np.diff(curve["x"]) > 0).all()
    ratio = plot["curves"][0]
    by_hand = [(1 - 0.9**step) / np.sqrt(1 - 0.999**step) for step in ratio["x"]]
    assert ratio["y"] == pytest.approx(by_hand, rel=1e-4), "an x keeps its own y"


@pytest.mark.parametrize("log_x", [False, True])
def test_points_are_kept_evenly_on_the_axis(log_x: bool) -> None:
    x = np.geomspace(1e-8, 1.0, 5001) if log_x else np.linspace(0.0, 7.0, 5001)
    plot = Plot("x", "y", (Curve("long", x, 2 * x), Curve("short", np.array([0.0, 1.0]), np.ones(2))), log_x=log_x)
    long, short = _thinned(plot)["curves"]
    kept = np.array(long["x"])
    gaps = np.diff(np.log(kept) if log_x else kept)
    assert (kept[0], kept[-1]) == (x[0], x[-1])
    assert MOST_POINTS * 0.9 < len(kept) <= MOST_POINTS
    assert gaps.max() < 1.2 * gaps.min()
    assert short["x"] == [0.0, 1.0], "short curves keep every point"


def test_what_a_claim_computes_is_shown_once(asked: Study, results: Computations) -> None:
    trials = frame(asked, lambda trial: result(bowl(trial, -7, 2.0)))
    (records,) = trial_sets(asked, trials, HERE, computations=results)
    shown = [plot["x_label"] for computation in records.computed_for(asked.judgements[0]) for plot in computation.plots]
    assert shown == ["training step", "root of the second moment"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"function": "adam.uncorected"}, "did you mean 'adam.uncorrected'"),
        ({"number": "first_stp"}, "did you mean 'first_step'"),
        ({"arguments": {"beta": 0.9}}, "no argument of adam.uncorrected named 'beta'"),
    ],
)
def test_what_no_function_computes_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Computed.model_validate({"function": "adam.uncorrected", "number": "first_step", **fields})


def test_an_argument_outside_of_its_choices_is_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'bf16'"):
        Computed(function="operations.error", arguments={"operation": "gelu", "format": "bf18"}, number="over_unit_roundoff")
    with pytest.raises(ValueError, match="'much': must be a number"):
        Computed(function="decay.shrinkage", arguments={"decay": "much"}, number="spread")
