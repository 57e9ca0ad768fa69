import math
import re

import pytest

from folklore.harness.errors import UserError
from folklore.harness.judging.power import pilot_of, require_power
from folklore.harness.judging.spelling import HUNDREDTHS, spell_declared
from folklore.harness.judging.trial_sets import published_sets
from folklore.harness.planning.catalog import judgeable, load_study, register, study_names
from folklore.harness.planning.plan import points
from folklore.harness.spec import AtMost, Criterion, Study, arms_of
from folklore.harness.training.measured_steps import evaluation_steps, probe_steps
from folklore.harness.training.programs import STEPS_BEFORE_CAPTURE

# What published evidence, verdicts and declarations name each version by.
DECLARED = {
    "adam_internals": (2, "e03a89f4f4e639c3"),
    "batch_ramp": (1, "c179d2ba1f780533"),
    "batch_scaling": (8, "f668003fd5c114c4"),
    "critical_batch": (8, "28f900ad897b61c6"),
    "decay": (6, "ed283763b4ed703d"),
    "edge_of_stability": (3, "5c99185a193ae3b2"),
    "embedding_lr": (2, "aaee856e5c5f6a93"),
    "generalization": (4, "e74759cacf041764"),
    "gradient_flow": (3, "e77d515dc8aed4b9"),
    "gradient_noise": (2, "5a18cc8f483f6adb"),
    "lr_finder": (4, "485fd38583881413"),
    "lr_regimes": (5, "ee7aeff284260095"),
    "memory": (2, "e8a6573e6f01f71b"),
    "mup_transfer": (3, "a8895925e5fc350f"),
    "optimizers": (3, "87ea236c4c6bb272"),
    "optimizer_generalization": (3, "4e73b5f05916b16d"),
    "precision": (5, "b4be4d16f92833f0"),
    "warmup": (7, "f82d565724c8d05e"),
    "warmup_duration": (6, "542f9ea118af5b1b"),
    "transformer_warmup": (3, "2d6d9faef7f93952"),
    "weight_decay": (2, "f9fe1405ee2b1ecc"),
    "forgetting": (5, "19bcdf77d66428f0"),
    "overfitting": (4, "6daae5108aa37f21"),
    "spikes": (5, "be28d123928c9ea1"),
}


@pytest.fixture(params=study_names(), scope="module")
def study(request: pytest.FixtureRequest) -> Study:
    return load_study(request.param)


def criteria_of(study: Study) -> list[Criterion]:
    return [each for judgement in study.judgements for each in judgement.criteria]


def test_every_judged_claim_is_registered_under_its_study(study: Study) -> None:
    filed = {claim.id for claim in register().claims if claim.study == study.name}
    assert {judgement.claim for judgement in study.judgements} == filed
    assert {published.claim for published in study.published} <= filed


def test_what_the_register_promises_is_what_is_judged(study: Study) -> None:
    """Every clause of a measure has a criterion, and every criterion but a precondition its clause."""
    assert judgeable(study) is study
    for judgement in study.judgements:
        decided = {each.clause for each in judgement.criteria if not each.precondition}
        assert decided == set(register().claim(judgement.claim).clauses)
        assert not any(each.clause for each in judgement.criteria if each.precondition)


def test_every_threshold_is_told_as_it_was_declared(study: Study) -> None:
    """Read back from its words it is the number declared, but for those that were worked out, of more than twelve digits."""
    for criterion in criteria_of(study):
        percent = 100 if criterion.written_in in HUNDREDTHS else 1
        for rule in (criterion.claimed, criterion.refuted):
            for value in (edge for piece in rule.pieces for edge in piece if math.isfinite(edge)):
                told = float(spell_declared(value, criterion.written_in).split()[0].rstrip("%x").replace(",", ""))
                exact = len(repr(value).strip("-0.").replace(".", "")) <= 12
                assert told / percent == pytest.approx(value, rel=1e-12 if exact else 5e-3), criterion.name


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
            for each in (*judgement.criteria_at(scale), *judgement.reported):
                assert each.unit != "nats" or not arms_of(each.observe) & squares, f"{judgement.claim}: {each.name}"


def test_arms_without_a_common_unit_have_none() -> None:
    study = load_study("edge_of_stability")
    entropy = {**study.model_dump(), "judgements": (), "answer": ()}
    entropy["arms"]["gd_low"]["settings"]["loss"] = "cross_entropy"
    mixed = type(study).model_validate(entropy)
    assert mixed.loss_label("test", "laptop", ["gd_low"]) == "test loss (nats)"
    assert mixed.loss_label("test", "laptop", ["gd_low", "gd_high"]) == "test loss"
    assert mixed.loss_unit_of("laptop", ["gd_low", "gd_high"]) == ""
    assert (mixed.squares_anywhere, study.squares_anywhere, load_study("warmup").squares_anywhere) == (None, True, False)


def test_what_decides_changes_with_a_new_version_only(study: Study) -> None:
    version, declared = DECLARED[study.name]
    if study.hash != declared:
        assert study.version > version, f"{study.name} decides otherwise than its version {version} did: raise its version"
        raise AssertionError(f"{study.name} has version {study.version}: pin its hash, {study.hash}")
    assert study.version == version


def test_no_scale_is_refused_for_want_of_power(study: Study) -> None:
    """By the spread of what is published of laptop scale, nor without it: there it is not asked of its own trials."""
    if not any(each.expected for each in criteria_of(study)):
        return  # nothing is asked of what expects no value
    published = published_sets(study)
    assert {each.scale for each in published} == {"laptop"}
    require_power(study, "laptop", None)
    for scale in ("gpu", "cluster"):
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
            found = study.configuration(scale, arm, point)
            if found.measurement.solo:
                steps, measurement = found.training.steps, found.measurement
                looked_at = {0, *probe_steps(found.training, measurement), *evaluation_steps(found.training, measurement)}
                assert steps - len(looked_at) - (STEPS_BEFORE_CAPTURE + 1) >= 5, f"{scale} {arm}"
