"""Arms of a panel look different, and equal labels and numbers alike."""

import numpy as np
import pytest

from folklore.harness.plan.catalog import load_study, study_names
from folklore.reports.figures.palette import looks


@pytest.mark.parametrize("name", study_names())
def test_arms_of_a_panel_look_different(name: str) -> None:
    study = load_study(name)
    look = looks(study)
    for panel in {arm.panel for arm in study.arms.values()}:
        own = [look[arm] for arm in study.arms if study.arms[arm].panel == panel]
        assert len({(style.colour, style.marker, style.line) for style in own}) == len(own)
        assert len({(style.marker, style.line) for style in own}) == len(own) or len(own) > 8


def test_equal_labels_and_equal_numbers_look_the_same_in_all_panels() -> None:
    warmup, decay = looks(load_study("warmup_duration")), looks(load_study("decay"))
    assert warmup["20%"] == warmup["short_20%"]
    assert warmup["none"] == warmup["short_none"]
    assert decay["zero_10"] == decay["zero_80"] == decay["zero_20"]


def test_numbers_go_from_dark_to_light() -> None:
    look = looks(load_study("critical_batch"))
    colours = [look[f"mlp_{size}"].colour for size in (4, 8, 16, 32, 64, 128, 256, 512)]
    light = [np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) @ [0.2126, 0.7152, 0.0722] for colour in colours]
    assert light == sorted(light)
