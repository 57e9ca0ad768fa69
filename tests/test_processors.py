"""The judge and what is computed give the same on other processors: here on one that is unlike this machine in every library
and in its threads, a few studies judged, and all of them on another among the slow tests. The steps of large models, which
are counted, the numeric tests and the other rows are left to `make test-processors`."""

import pytest

from tests.processors import ROWS, Seen, differences, in_child, lacking, published

QUICK = "SSE only, two threads"
# Whose verdicts rest on fits, range tests, alarms and tuned LRs.
FEW = ("critical_batch", "lr_finder", "spikes", "warmup")


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[pytest.mark.slow] * (row != QUICK)) for row in ROWS if row.startswith("SSE")]
)
def test_verdicts_and_numbers_are_those_of_every_processor(row: str) -> None:
    if lacking(row):
        pytest.skip(f"this processor has no {lacking(row)}")
    judged = FEW if row == QUICK else ()
    expected, actual = published(judged), in_child(row, short=True, judged=judged)
    assert actual.verdicts.keys() == expected.verdicts.keys() != set()
    assert list(differences(expected, actual)) == []


def test_what_differs_is_told() -> None:
    expected = Seen({"a": ("supported ", [[1.0, 0.5, 2.0]])}, {"adam.outlier()": {"half_life": 692.8}})
    assert list(differences(expected, expected)) == []
    lines = list(differences(expected, Seen({"a": ("open ", [[1.0, 0.5, 2.1]])}, {"adam.outlier()": {"half_life": 692.9}})))
    assert lines == [
        "a: supported  before, open  here",
        "a: 2.0 before, 2.1 here",
        "adam.outlier() half_life: 692.8 before, 692.9 here",
    ]
