"""An arm looks the same in all figures of a study, and unlike the others of its panel."""

import numpy as np
import pytest

from folklore.harness.planning.catalog import load_study, study_names
from folklore.reports.figures import losses, lr, survival
from folklore.reports.figures.palette import looks
from tests.reports.figures.helpers import drawn, judgement_of, published


@pytest.mark.parametrize("name", study_names())
def test_arms_of_a_panel_look_different(name: str) -> None:
    study = load_study(name)
    look = looks(study)
    for panel in {arm.panel for arm in study.arms.values()}:
        own = [look[arm] for arm in study.arms if study.arms[arm].panel == panel]
        assert len({(each.colour, each.marker, each.line) for each in own}) == len(own)
        assert len({(each.marker, each.line) for each in own}) == len(own) or len(own) > 8


def test_equal_labels_and_equal_numbers_look_the_same_in_all_panels() -> None:
    warmup, decay = looks(load_study("warmup")), looks(load_study("decay"))
    assert warmup["long_20%"] == warmup["sgd_warmup_20%"]
    assert warmup["long_none"] == warmup["sgd"]
    assert decay["zero_2"] == decay["zero_80"] == decay["zero_20"]


def test_numbers_go_from_dark_to_light() -> None:
    found = looks(load_study("critical_batch"))
    colours = [found[f"mlp_{size}"].colour for size in (4, 8, 16, 32, 64, 128, 256, 512)]
    light = [np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) @ [0.2126, 0.7152, 0.0722] for colour in colours]
    assert light == sorted(light)


def test_an_arm_has_one_look_in_all_figures_of_a_study() -> None:
    records = published("warmup")
    by_label = {arm.label: looks(records.study)[name] for name, arm in records.study.arms.items()}
    drawings = [lr.of_study(records), losses.draw(records), survival.draw(records, judgement_of(records, "warmup.late_nan"))]
    drawings += [lr.of_claim(records, judgement_of(records, claim)) for claim in ("warmup.widens", "warmup.mechanism")]
    looked = [pair for each in drawings for panel in drawn(each).panels for pair in panel.looks.items()]
    seen = [(name, look) for name, look in looked if name in by_label]
    assert len(seen) > 20
    assert [(name, look) for name, look in seen if look != by_label[name]] == []
