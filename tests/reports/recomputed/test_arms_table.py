"""A row of the table of arms again, by plain pandas."""

import pytest

from folklore.harness.judge.trial_sets import published_sets
from folklore.harness.plan.catalog import load_study
from folklore.reports.arms_table import arms_table
from tests.reports.recomputed.tables import trials, tuned


@pytest.mark.parametrize(
    ("study", "arm", "label", "seeds"), [("decay", "cosine", "cosine to 10%", 24), ("critical_batch", "mlp_8", "B 8", 40)]
)
def test_a_row_of_the_table_of_arms(study: str, arm: str, label: str, seeds: int | None) -> None:
    (records,) = (of for of in published_sets(load_study(study)) if of.scale == "laptop")
    first, *_ = arms_table(records).panels
    (row,) = (row for row in first.rows if row.label == label)
    assert row.loss == f"{tuned(trials(study, seeds), arm):.3f}"
