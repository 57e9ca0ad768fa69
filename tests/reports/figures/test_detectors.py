"""The figure of detectors: its dots are the published limits, and its lines what other limits give."""

import numpy as np
import pytest

from folklore.harness.metrics.detectors import RULES
from folklore.reports.figures import detectors
from tests.reports.figures.helpers import drawn, judgement_of, published


def test_dots_are_at_the_published_limits_and_lines_rise() -> None:
    """Of the loss ratio in the first panel, noise on the weights of the GPT, by a plain count."""
    records = published("spikes")
    panels = drawn(detectors.draw(records, judgement_of(records, "spike.deviations"))).panels
    rule = RULES["loss_ratio"]
    table = records.table.of_arms(("gpt_weights", "gpt_clean"))
    ratios = {
        arm: rule.score(np.array(table.values(arm, "peak_lr", "curve_train_loss")[0].tolist()), np.zeros((40, 300)))
        for arm in ("gpt_weights", "gpt_clean")
    }
    (dot,) = panels[0].frame.query("mark == 'estimate' and series == @rule.label").itertuples()
    assert dot.x == pytest.approx(max(detectors.LEAST, 1000 * (ratios["gpt_clean"][:, 128:] > 2).mean()))
    assert dot.y == (ratios["gpt_weights"][:, 150:161].max(axis=1) > 2).mean()
    assert len(panels) == 6
    for panel in panels:
        for _, line in panel.frame.query("mark == 'line'").groupby("series"):
            assert (np.diff(line["y"]) >= 0).all()
