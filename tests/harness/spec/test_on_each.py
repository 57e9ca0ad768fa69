from typing import Any

import pytest

from folklore.harness.errors import UserError
from folklore.harness.observables import FallShare, FinalLoss, Quotient, StepsToTarget, TunedLoss
from folklore.harness.spec import Alternative, AtLeast, AtMost, Criterion, Expected, OnEach, Reported

PANELS = {"MLP with SGD": {"arm": "mlp", "model": "MLP"}, "GPT with AdamW": {"arm": "gpt", "model": "GPT"}}
HIGHER: dict[str, Any] = {"null": 0.0, "claimed": AtLeast(value=0.005), "refuted": AtMost(value=0.0), "unit": "relative"}
TEMPLATE = Criterion(
    name="constant against decay, <panel>",
    panel="<panel>",
    observe=FallShare(left=TunedLoss(arm="<arm>_constant"), right=TunedLoss(arm="<arm>"), best_of=("<arm>",)),
    expected=Expected(value=0.02, source="a theory", spread=0.01),
    alternatives=(
        Alternative(name="last", observe=FallShare(left=FinalLoss(arm="<arm>_constant"), right=FinalLoss(arm="<arm>"))),
    ),
    says="The <model> ends {higher} without decay",
    **HIGHER,
)


def written_out(panel: str, arm: str, model: str, **fields: Any) -> Criterion:
    common: dict[str, Any] = {
        "name": f"constant against decay, {panel}",
        "panel": panel,
        "observe": FallShare(left=TunedLoss(arm=f"{arm}_constant"), right=TunedLoss(arm=arm), best_of=(arm,)),
        "expected": Expected(value=0.02, source="a theory", spread=0.01),
        "alternatives": (
            Alternative(name="last", observe=FallShare(left=FinalLoss(arm=f"{arm}_constant"), right=FinalLoss(arm=arm))),
        ),
        "says": f"The {model} ends {{higher}} without decay",
        **HIGHER,
    }
    return Criterion(**{name: value for name, value in {**common, **fields}.items() if value is not None})


def steps(arm: str, **target: Any) -> Quotient:
    return Quotient(top=StepsToTarget(arm=f"{arm}_1", **target), bottom=StepsToTarget(arm=f"{arm}_2", **target))


def test_each_panel_has_what_would_be_written_out() -> None:
    specs = OnEach(panels=PANELS, of=TEMPLATE).specs
    expected = (written_out("MLP with SGD", "mlp", "MLP"), written_out("GPT with AdamW", "gpt", "GPT"))
    assert specs == expected
    assert [spec.model_dump_json() for spec in specs] == [spec.model_dump_json() for spec in expected]


def test_a_table_that_serves_other_specs_may_hold_a_column_more() -> None:
    panels = {name: {**texts, "unit": "images"} for name, texts in PANELS.items()}
    assert OnEach(panels=panels, of=TEMPLATE).specs == OnEach(panels=PANELS, of=TEMPLATE).specs


def test_a_panel_replaces_whole_fields_and_leaves_some_out() -> None:
    other = Expected(value=0.03, source="another theory, for <model>")
    fields = {"GPT with AdamW": {"expected": other, "alternatives": None, "says": None, "underpowered": "<arm> is noisy"}}
    mlp, gpt = OnEach(panels=PANELS, of=TEMPLATE, fields=fields).specs
    assert mlp == written_out("MLP with SGD", "mlp", "MLP")
    assert gpt == written_out(
        "GPT with AdamW",
        "gpt",
        "GPT",
        expected=Expected(value=0.03, source="another theory, for GPT"),
        alternatives=None,
        says=None,
        underpowered="gpt is noisy",
    )


def test_a_field_of_parts_is_replaced_in_each_of_them() -> None:
    fields = {"GPT with AdamW": {"spread": 0.5}}
    _, gpt = OnEach(panels=PANELS, of=TEMPLATE, fields=fields).specs
    assert gpt == written_out("GPT with AdamW", "gpt", "GPT", expected=Expected(value=0.02, source="a theory", spread=0.5))
    sweep = {"anchor": "gpt_9", "share": 0.9}
    _, reported = OnEach(
        panels={"MLP": {"arm": "mlp"}, "GPT": {"arm": "gpt"}},
        of=Reported(name="steps, <panel>", observe=steps("<arm>", anchor="mlp_8", share=0.95)),
        fields={"GPT": sweep},
    ).specs
    assert reported == Reported(name="steps, GPT", observe=steps("gpt", **sweep))


def test_regions_follow_from_the_margin_of_the_panel() -> None:
    observe = FallShare(left=TunedLoss(arm="new"), right=TunedLoss(arm="old"))
    template = Criterion(name="<panel>", observe=observe, test="no_worse", null=0.0, margin=0.01)
    strict, loose = OnEach(panels={"strict": {}, "loose": {}}, of=template, fields={"loose": {"margin": 0.1}}).specs
    assert strict == Criterion(name="strict", observe=observe, test="no_worse", null=0.0, margin=0.01)
    assert loose == Criterion(name="loose", observe=observe, test="no_worse", null=0.0, margin=0.1)


def test_a_panel_has_all_of_several_specs_before_the_next_begins() -> None:
    first = Reported(name="first, <panel>", observe=TunedLoss(arm="<arm>"))
    second = Reported(name="second, <panel>", observe=FinalLoss(arm="<arm>"))
    specs = OnEach(
        panels={"MLP": {"arm": "mlp"}, "GPT": {"arm": "gpt"}},
        of=(first, second),
        fields=({"MLP": {"unit": "x"}}, {"GPT": {"unit": "share"}}),
    ).specs
    assert specs == (
        Reported(name="first, MLP", observe=TunedLoss(arm="mlp"), unit="x"),
        Reported(name="second, MLP", observe=FinalLoss(arm="mlp")),
        Reported(name="first, GPT", observe=TunedLoss(arm="gpt")),
        Reported(name="second, GPT", observe=FinalLoss(arm="gpt"), unit="share"),
    )


@pytest.mark.parametrize(
    ("panels", "fields", "message"),
    [
        (
            {"MLP": {"arm": "mlp"}},
            {},
            "panel 'MLP': <model> has no text; add one named 'model' to the panel, or take <model> out",
        ),
        (
            {"MLP": {"arm": "mlp", "model": "MLP", "steps": "600"}, "GPT": {"arm": "gpt", "model": "GPT"}},
            {},
            "panel 'MLP': nothing uses its text 'steps' = '600'; write <steps> or leave it out",
        ),
        ({"MLP": {"arm": "mlp", "model": 3}}, {}, "panel 'MLP': model = 3 must be a text; put what is none into `fields`"),
        (
            {"MLP": {"panel": "MLP"}},
            {},
            "panel 'MLP': its text 'panel' = 'MLP' is taken, for <panel> is its name; rename the text",
        ),
        (
            PANELS,
            {"MLP with SGD": {"sread": 0.1}},
            "panel 'MLP with SGD': its field 'sread' = 0.1 is in neither this Criterion nor a part of it;"
            " correct the name or leave it out",
        ),
        (PANELS, {"MLP with SDG": {"spread": 0.1}}, "no panel in fields named 'MLP with SDG': did you mean 'MLP with SGD'?"),
        (PANELS, ({}, {}, {}), "OnEach has 1 specs and 3 tables of fields; give a tuple with one for each spec"),
        (PANELS, {"GPT with AdamW": {"spread": -1.0}}, "panel 'GPT with AdamW': spread = -1.0: Input should be greater than 0"),
        ({}, {}, "OnEach without a panel or without a spec gives nothing; name at least one of each"),
    ],
)
def test_an_error_is_one_line(panels: Any, fields: Any, message: str) -> None:
    with pytest.raises(UserError) as raised:
        OnEach(panels=panels, of=TEMPLATE, fields=fields)
    assert str(raised.value) == message
