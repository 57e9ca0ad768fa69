"""Claims as text: every form, and every way to be wrong in one line."""

import pytest

from folklore.harness.declare import AtLeast, AtMost, Outside, Within
from folklore.harness.elsewhere.claims import RunClaim, claims_of_file, read_claim
from folklore.harness.errors import UserError


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("loss: b < a", {"metric": "loss", "arm": "b", "comparison": "<", "other": "a"}),
        ("loss: b < a by 1%", {"size": 0.01, "relative": True}),
        ("loss: b < a by 0.02", {"size": 0.02, "relative": False}),
        ("acc: new >= old within 0.5 points", {"comparison": ">=", "size": 0.5, "points": True}),
        ("loss: 'x > y' = \"z: 1\" within 1%", {"arm": "x > y", "other": "z: 1", "comparison": "="}),
        ("val/loss: adam w ≤ sgd within 2%", {"metric": "val/loss", "arm": "adam w", "comparison": "<="}),
        ("loss: a < 3.28", {"other": 3.28}),
        ("loss: a < '3.28'", {"other": "3.28"}),
        ("loss at 2,000: b < a", {"metric": "loss", "step": 2000.0}),
        ("steps to val loss 3.28: b < a by 10%", {"metric": "val loss", "target": 3.28, "size": 0.1}),
        ("loss: b < a by 1% on all tasks", {"quantifier": "all", "size": 0.01}),
        ("loss: b < a over model size", {"factor": "model size"}),
        ("samples: hyperbola in batch_size within 8%", {"law": "hyperbola", "factor": "batch_size", "quantifier": "all"}),
        ("loss: power law in tokens on most tasks", {"law": "power law", "factor": "tokens", "quantifier": "most"}),
    ],
)  # fmt: skip
def test_forms(text: str, fields: dict[str, object]) -> None:
    read = read_claim(text)
    assert {name: getattr(read, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("b < a", "names no metric"),
        ("loss: b a", "has no <"),
        ("loss: a < b < c", "has 2 signs"),
        ("loss: a < a", "with itself"),
        ("loss: < a", "an arm is missing"),
        ("loss: b = a", "add 'within 1%'"),
        ("loss: b <= a by 1%", "write 'within'"),
        ("loss: b < a within 1%", "write 'by'"),
        ("loss: b < a by 0%", "must be above 0"),
        ("loss: b < a by -1%", "must be above 0"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_claim(text)


def test_a_metric_can_come_from_elsewhere() -> None:
    assert read_claim("b < a", "loss") == RunClaim("b < a", "loss", arm="b", comparison="<", other="a")


def test_regions() -> None:
    less, no_worse, equal = (
        read_claim(f"loss: {each}").question for each in ("b < a by 3%", "b <= a within 1%", "b = a within 1%")
    )
    assert (less.claimed, less.refuted, less.side) == (AtMost(value=-0.03), AtLeast(value=0.0), -1)
    assert less.negligible == pytest.approx((-0.01, 0.01))
    assert (no_worse.claimed, no_worse.refuted) == (AtMost(value=0.01), AtLeast(value=0.01))
    assert (equal.claimed, equal.refuted) == (Within(low=-0.01, high=0.01), Outside(low=-0.01, high=0.01))
    assert read_claim("acc: b >= a within 1%").question.claimed == AtLeast(value=-0.01)


def test_a_file_of_claims() -> None:
    assert claims_of_file({"claims": ["loss: b < a"]}, "x") == claims_of_file(["loss: b < a"], "x") == ["loss: b < a"]
    for wrong in ({"claim": "loss: b < a"}, [], "loss: b < a", [1]):
        with pytest.raises(UserError, match="must be a list of claims"):
            claims_of_file(wrong, "x")
