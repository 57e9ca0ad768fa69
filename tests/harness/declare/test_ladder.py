"""A ladder is of one study: its rungs differ in size alone, and what else differs is named."""

import pytest
from pydantic import ValidationError

from folklore.harness.declare import Scale, Study
from tests.harness.helpers import changed

RUNGS = {
    "laptop": Scale(description="small", workload={"width": 8}, training={"steps": 20}),
    "wide": Scale(description="wider", workload={"width": 16, "depth": 2}, training={"steps": 40}),
}


def ladder(study: Study, **places: object) -> Study:
    return changed(study, places, scales={name: scale.model_dump() for name, scale in RUNGS.items()}, ladder=("laptop", "wide"))


def test_rungs_differ_in_width_depth_and_steps(study: Study) -> None:
    assert ladder(study).ladder == ("laptop", "wide")
    assert ladder(study).hash != changed(study, scales=ladder(study).model_dump()["scales"]).hash
    assert "ladder" not in study.model_dump(), "what has none is declared as before"


@pytest.mark.parametrize(
    ("place", "value", "fields"),
    [("workload", {"width": 16, "context": 16}, "context"), ("training", {"steps": 40, "batch_size": 8}, "batch_size")],
)
def test_what_else_differs_is_refused_by_name(study: Study, place: str, value: dict[str, int], fields: str) -> None:
    with pytest.raises(ValidationError, match=f"arm 'none' differs between scales 'laptop' and 'wide' in {fields}; rungs"):
        ladder(study, **{f"scales.wide.{place}": value})


def test_a_number_of_warmup_steps_may_stay(study: Study) -> None:
    """Its share of the steps then differs, and the same share of another number of them is more steps of warmup."""
    assert ladder(study, **{"scales.wide.arm_settings": {"half": {"warmup_fraction": 0.25}}}).ladder
    with pytest.raises(ValidationError, match="arm 'half' differs between scales 'laptop' and 'wide' in warmup_fraction"):
        ladder(study, **{"scales.wide.arm_settings": {"half": {"warmup_fraction": 0.3}}})


def test_an_unknown_rung_is_refused(study: Study) -> None:
    with pytest.raises(ValidationError, match="named 'wise': known: laptop, smoke"):
        changed(study, ladder=("laptop", "wise"))


def untuned(study: Study, **arms: object) -> Study:
    """With one LR at the wider rung."""
    lrs = {"scales.wide.factors": {"peak_lr": (0.01,)}, "scales.wide.departures": ["The LR is that of smaller models."]}
    return ladder(study, **{**lrs, "scales.wide.untuned": True, **arms})


def test_a_rung_may_be_trained_at_one_lr_that_others_predict(study: Study) -> None:
    assert untuned(study).scale("wide").untuned
    with pytest.raises(ValidationError, match="an optimum needs at least 3 values"):
        untuned(study, **{"scales.wide.untuned": None})


@pytest.mark.parametrize(
    ("place", "value", "rule"),
    [
        ("arm_factors", {"half": {"peak_lr": (0.01, 0.02, 0.04)}}, "give all arms that are compared one and the same peak_lr"),
        ("arm_factors", {"half": {"peak_lr": (0.02,)}}, "give all arms that are compared one and the same peak_lr"),
        ("departures", [], "say in its departures where its peak_lr comes from"),
    ],
)
def test_arms_are_untuned_alike_and_say_by_what(study: Study, place: str, value: object, rule: str) -> None:
    with pytest.raises(ValidationError, match=rf"scales\.wide is untuned: {rule}"):
        untuned(study, **{f"scales.wide.{place}": value})
