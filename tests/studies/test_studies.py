import math
import re

import pytest

from folklore.harness.declare import AtMost, Criterion, Study, arms_of
from folklore.harness.errors import UserError
from folklore.harness.judge.power import pilot_of, require_power
from folklore.harness.judge.spelling import HUNDREDTHS, spell_declared
from folklore.harness.judge.trial_sets import published_sets
from folklore.harness.plan import catalog
from folklore.harness.plan.catalog import judgeable, load_study, names_judging, register, study_names
from folklore.harness.plan.plan import points
from folklore.harness.train.measured_steps import evaluation_steps, probe_steps
from folklore.harness.train.programs import STEPS_BEFORE_CAPTURE


@pytest.fixture(params=study_names(), scope="module")
def study(request: pytest.FixtureRequest) -> Study:
    return load_study(request.param)


def criteria_of(study: Study) -> list[Criterion]:
    return [criterion for judgement in study.judgements for criterion in judgement.criteria]


def test_every_judged_claim_is_registered_under_its_study(study: Study) -> None:
    filed = {claim.id for claim in register().claims if claim.study == study.name}
    assert {judgement.claim for judgement in study.judgements} == filed
    assert {published.claim for published in study.published} <= filed


def test_why_reads_the_studies_that_may_judge_a_claim(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """The study that it is filed under, and those that the register does not know; all studies for an unknown claim."""
    claim = study.judgements[0].claim
    assert names_judging(claim) == [study.name]
    monkeypatch.setattr(catalog, "study_names", lambda: [*study_names(), "of_a_plug_in"])
    assert names_judging(claim) == [study.name, "of_a_plug_in"]
    assert names_judging("no.such_claim") == [*study_names(), "of_a_plug_in"]


def test_what_the_register_promises_is_what_is_judged(study: Study) -> None:
    """Every clause of a measure has a criterion, and every criterion but a precondition its clause."""
    assert judgeable(study) is study
    for judgement in study.judgements:
        decided = {criterion.clause for criterion in judgement.criteria if not criterion.precondition}
        assert decided == set(register().claim(judgement.claim).clauses)
        assert not any(criterion.clause for criterion in judgement.criteria if criterion.precondition)


def test_every_threshold_is_told_as_it_was_declared(study: Study) -> None:
    """Read back from its words it is the number declared, but for those that were worked out, of more than twelve digits."""
    for criterion in criteria_of(study):
        percent = 100 if criterion.written_in in HUNDREDTHS else 1
        for rule in (criterion.claimed, criterion.refuted):
            for value in (edge for piece in rule.pieces for edge in piece if math.isfinite(edge)):
                number = float(spell_declared(value, criterion.written_in).split()[0].rstrip("%x").replace(",", ""))
                exact = len(repr(value).strip("-0.").replace(".", "")) <= 12
                assert number / percent == pytest.approx(value, rel=1e-12 if exact else 5e-3), criterion.name


def test_a_claimed_decrease_is_not_called_one_twice(study: Study) -> None:
    """Blanks name the way of a positive difference: where a negative one is claimed, {lower} would read "higher"."""
    for criterion in criteria_of(study):
        if isinstance(criterion.claimed, AtMost):
            assert not re.search(r"\{(lower|smaller|less|gains)\}", criterion.says), criterion.name


def test_no_squared_error_is_called_nats(study: Study) -> None:
    for scale in study.scales:
        squares = {arm for arm in study.arms_at(scale) if study.configuration(scale, arm, {}).workload.squares}
        for arm in study.arms_at(scale):
            unit = "half the squared error" if arm in squares else "nats"
            assert study.loss_label("test", scale, [arm]) == f"test loss ({unit})"
        for judgement in study.judgements:
            for metric in (*judgement.criteria_at(scale), *judgement.reported):
                assert metric.unit != "nats" or not arms_of(metric.observe) & squares, f"{judgement.claim}: {metric.name}"


def test_arms_without_a_common_unit_have_none() -> None:
    study = load_study("edge_of_stability")
    entropy = {**study.model_dump(), "judgements": (), "answer": ()}
    entropy["arms"]["gd_low"]["settings"]["loss"] = "cross_entropy"
    mixed = type(study).model_validate(entropy)
    assert mixed.loss_label("test", "laptop", ["gd_low"]) == "test loss (nats)"
    assert mixed.loss_label("test", "laptop", ["gd_low", "gd_high"]) == "test loss"
    assert mixed.loss_unit_of("laptop", ["gd_low", "gd_high"]) == ""
    assert (mixed.squares_anywhere, study.squares_anywhere, load_study("warmup").squares_anywhere) == (None, True, False)


def test_no_scale_is_refused_for_want_of_power(study: Study) -> None:
    """By the spread of what is published of laptop scale, nor without it: there it is not asked of its own trials."""
    if not any(criterion.expected for criterion in criteria_of(study)):
        return  # nothing is asked of what expects no value
    published = published_sets(study)
    further = {"workstation", *(study.ladder or ())} - {"laptop"}
    assert {trial_set.scale for trial_set in published} - further == {"laptop"} or (study.ladder and not published), (
        "ladders may wait"
    )
    require_power(study, "laptop", None)
    for scale in study.scales.keys() - {"smoke", "laptop"}:
        require_power(study, scale, pilot_of(published, scale))
        require_power(study, scale, None)


def test_the_nearest_study_is_named() -> None:
    with pytest.raises(UserError, match="no study named 'warmpu': did you mean 'warmup'"):
        load_study("warmpu")


def test_every_judged_scale_has_five_paired_seeds(study: Study) -> None:
    assert all(study.seeds_at(scale) >= 5 for scale in study.scales if study.scales[scale].judged)


def test_runs_that_are_timed_have_steps_to_time(study: Study) -> None:
    """Neither probed nor evaluated, nor the first, nor one of those that prepare a captured program."""
    for scale in study.scales:
        for arm, point in points(study, scale):
            configuration = study.configuration(scale, arm, point)
            if configuration.measurement.solo:
                steps, measurement = configuration.training.steps, configuration.measurement
                looked_at = {
                    0,
                    *probe_steps(configuration.training, measurement),
                    *evaluation_steps(configuration.training, measurement),
                }
                assert steps - len(looked_at) - (STEPS_BEFORE_CAPTURE + 1) >= 5, f"{scale} {arm}"
