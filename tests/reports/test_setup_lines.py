"""The lines beside a study's answer that say what it trains."""

import re

import pytest

from folklore.harness.judge.trial_sets import published_sets
from folklore.harness.plan.catalog import load_study
from folklore.reports.setup_lines import setup_lines


@pytest.mark.parametrize("name", ["transformer_warmup", "forgetting"])
def test_a_range_has_two_different_ends(name: str) -> None:
    """Blocks with their norm before and after differ by a few hundred of 200k parameters."""
    (records,) = published_sets(load_study(name))
    text = " ".join(part for line in setup_lines(records, {"device": "cpu"}) for part in line)
    assert "parameters beside" in text
    assert not re.search(r"(\S+)(?: to |–)\1\b", text)
