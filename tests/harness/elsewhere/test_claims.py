"""Claims as text: every form, and every way to be wrong in one line."""

import time
from contextlib import suppress

import pytest

from folklore.harness.declare import AtLeast, AtMost, Outside, Within
from folklore.harness.elsewhere.claims import RunClaim, claims_of_file, read_claim, require_size
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
        ("loss: b = a over size within 1%", {"factor": "size", "size": 0.01, "other": "a"}),
        ("loss: b = a within 1% over 'model size' on all tasks", {"factor": "model size", "size": 0.01, "quantifier": "all"}),
        ("loss: b < a on some tasks by 2 points", {"quantifier": "some", "size": 2.0, "points": True, "other": "a"}),
        ("loss: b < 'a over c'", {"other": "a over c", "factor": ""}),
        ("loss: 'b' < 3.28", {"arm": "b", "other": 3.28}),
        ("'lo:ss at 3':\tb\n<\u00a0a\tby\t1%", {"metric": "lo:ss at 3", "arm": "b", "other": "a", "size": 0.01}),
        ("steps to loss 3: hyperbola in tokens", {"metric": "loss", "target": 3.0, "law": True, "factor": "tokens"}),
        ("samples: hyperbola in batch_size within 8%", {"law": True, "factor": "batch_size", "quantifier": "all"}),
        ("loss: hyperbola in tokens on most tasks", {"law": True, "factor": "tokens", "quantifier": "most"}),
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
        ("loss: b < a by 1e-400", "must be above 0"),
        (f"loss: b < a by {'9' * 400}%", "must not be above 1e.100"),
        (f"loss: b < {'9' * 400}", "must not be above 1e.100"),
        ("loss: b < -1e400", "must not be above 1e.100"),
        ("loss at 1e400: b < a", "must not be above 1e.100"),
        ("steps to loss 1e400: b < a", "must not be above 1e.100"),
        ("loss: b < a by 1% by 2%", "has two parts such as 'by"),
        ("loss: b < a over size over tokens", "has two parts such as 'over"),
        ("loss: b < 3.28 over size", "'over' compares two arms"),
        ("loss: hyperbola in size over tokens", "'over' does not go with a hyperbola"),
        ("loss: hyperbola in size by 8%", "write 'within 8%'"),
        ("loss: hyperbola in size within 8 points", "write 'within 8%'"),
        ("loss: power law in size within 8%", "is not judged any more; write 'hyperbola in COLUMN'"),
        *(
            (f"loss: {law} {column}", "is no size")
            for law in ("hyperbola in", "b < a over")
            for column in ("seed", "'seed'", "Arm", "loss", "value")
        ),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_claim(text)


@pytest.mark.parametrize("text", [" ", "'", "'\"", ",", "1", "1,", ":", "<", " over", " at", " by 1%", "\t", "\n"])
@pytest.mark.parametrize("form", ["{}", "loss: b{}< a", "loss: b < a over{}<", "loss: b < a by {}x", "loss at {}x: b < a"])
def test_every_text_is_refused_or_read_at_once(form: str, text: str) -> None:
    """Texts of the greatest length, and beyond it."""
    started = time.process_time()
    with pytest.raises(UserError, match="more than 1,000; shorten"):
        read_claim(form.format(text * 100_000), "loss")
    with suppress(UserError):
        read_claim(form.format(text * (950 // len(text))), "loss")
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-1%", "0", "", "x", "1% on all tasks", "1e-320", "1e400", "9" * 400, "9" * 9999]
)
def test_a_margin_is_a_number_above_0(text: str) -> None:
    for fine in ("1%", "0.02", " 0.5 points "):
        require_size("--by", fine)
    with pytest.raises(UserError, match=r"--by|must not be above 1e\+100"):
        require_size("--by", text)


def test_a_metric_can_come_from_elsewhere() -> None:
    assert read_claim("b < a", "loss") == RunClaim("b < a", "loss", arm="b", comparison="<", other="a")


def test_regions() -> None:
    less, no_worse, equal = (
        read_claim(f"loss: {words}").question for words in ("b < a by 3%", "b <= a within 1%", "b = a within 1%")
    )
    assert (less.claimed, less.refuted, less.side) == (AtMost(value=-0.03), AtLeast(value=0.0), -1)
    assert less.negligible == pytest.approx((-0.01, 0.01))
    assert (no_worse.claimed, no_worse.refuted) == (AtMost(value=0.01), AtLeast(value=0.01))
    assert (equal.claimed, equal.refuted) == (Within(low=-0.01, high=0.01), Outside(low=-0.01, high=0.01))
    assert read_claim("acc: b >= a within 1%").question.claimed == AtLeast(value=-0.01)


def test_a_file_of_claims() -> None:
    assert claims_of_file({"claims": ["loss: b < a"]}, "x") == claims_of_file(["loss: b < a"], "x") == ["loss: b < a"]
    with pytest.raises(UserError, match="must be a list of claims"):
        claims_of_file({"claim": "loss: b < a"}, "x")
