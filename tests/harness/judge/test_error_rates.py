"""Error rates over the register, against statsmodels and by drawing; which verdicts stand firm; how documents are graded."""

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from folklore.harness.declare import Claim, Side, Source
from folklore.harness.judge.error_rates import BELOW, EXACT, FIRM, FRAGILE, NEW, error_rates, standing
from folklore.harness.judge.grading import grade
from folklore.harness.judge.robustness import Alternative, Robustness
from folklore.harness.judge.verdict import Verdict
from tests.verdicts import a_finding, a_verdict

FINDING = a_finding()


def verdict(p: float, word: str = "supported", claim: str = "a.b", **fields: object) -> Verdict:
    return a_verdict(word, claim=claim, p=p, **fields)


def test_q_values_are_benjamini_and_hochbergs() -> None:
    p_values = np.random.default_rng(0).uniform(size=30) ** 2
    rates = error_rates([verdict(p, claim=f"a.{index}") for index, p in enumerate(p_values)])
    assert list(rates.q.values()) == pytest.approx(list(multipletests(p_values, method="fdr_bh")[1]))


def test_what_counts() -> None:
    """Open claims were tested, too; those that no trial could show were not, and exact ones have no error."""
    exact = replace(FINDING, low=1.0, high=1.0, grade="exact")
    rates = error_rates(
        [
            *(verdict(0.01, claim=f"a.{index}") for index in range(10)),
            *(verdict(0.5, "open", claim=f"b.{index}") for index in range(30)),
            verdict(1.0, "out of regime", claim="c.c"),
            verdict(0.0, claim="d.d", findings=(exact,)),
        ]
    )
    assert (rates.tested, rates.decided) == (40, 10)
    assert rates.expected_false == pytest.approx(2.0)


def test_firm_and_fragile() -> None:
    alone = error_rates([verdict(0.01)])
    robust = Robustness("a.b", "supported", {0: "supported"}, (Alternative("half the margin", "supported"),))
    assert standing(verdict(0.01), robust, alone) == FIRM
    one_seed = replace(robust, without_seed={0: "open"})
    other_reading = replace(robust, alternatives=(Alternative("half the margin", "open"),))
    assert standing(verdict(0.01), one_seed, alone) == FRAGILE
    assert standing(verdict(0.01), other_reading, alone) == FRAGILE
    among = error_rates([verdict(0.04), *(verdict(0.6, "open", claim=f"c.{index}") for index in range(20))])
    assert standing(verdict(0.04), robust, among) == FRAGILE
    assert standing(verdict(0.01, after_the_fact=True), robust, alone) == FRAGILE
    assert standing(verdict(0.01, unrepeated="by the same rule version 2 came to open"), robust, alone) == FRAGILE
    at_an_end = replace(robust, grids=("the strength chosen lies at an end of its grid",))
    assert standing(verdict(0.01), at_an_end, alone) == FRAGILE
    assert standing(verdict(0.3, "open"), robust, alone) == ""
    assert standing(verdict(0.0, findings=(replace(FINDING, grade="exact"),)), None, alone) == EXACT


def test_what_is_new_or_small_is_not_firm() -> None:
    alone = error_rates([verdict(0.01)])
    robust = Robustness("a.b", "supported", {0: "supported"}, ())
    assert standing(verdict(0.01, new="it was asked once"), robust, alone) == NEW
    assert standing(verdict(0.01, new="it was asked once", after_the_fact=True), robust, alone) == FRAGILE
    assert standing(verdict(0.01, below_size="7k of 100M parameters"), robust, alone) == BELOW


def claim(**fields: object) -> Claim:
    source = Source(document="TB", section="1")
    return Claim.model_validate(
        {"id": "a.b", "kinds": ("empirical",), "paraphrase": "x", "measure": "y", "sources": (source,), **fields}
    )


def test_a_document_is_graded_by_what_it_says() -> None:
    """One that gives no number is graded by the direction: a threshold that is ours is not its own."""
    smaller = verdict(0.01, "partly", reading="smaller", direction="claimed")
    assert grade(claim(), smaller, "TB") == "supported"
    assert grade(claim(size="about 4x"), smaller, "TB") == "partly"
    assert grade(claim(), verdict(0.01, "refuted", direction="opposite"), "TB") == "refuted"
    assert grade(claim(own=True), smaller, "TB") is None
    assert grade(claim(lost="its formula", ungraded=("TB",)), smaller, "TB") is None


def test_documents_that_disagree_are_graded_by_their_own_side() -> None:
    sides = (
        Side(name="large", says="gradients are large", sources=(Source(document="TD", section="1"),)),
        Side(name="small", says="gradients are small", sources=(Source(document="TB", section="2"),)),
    )
    disputed = claim(sides=sides)
    right = {"supported": "large", "refuted": "small"}
    holds = verdict(0.01, right=right)
    fails = verdict(0.01, "refuted", right=right)
    assert [grade(disputed, holds, document) for document in ("TD", "TB", "GL")] == ["supported", "refuted", None]
    assert [grade(disputed, fails, document) for document in ("TD", "TB", "GL")] == ["refuted", "supported", None]
    # Criteria that do not tell the sides apart grade the side that the claim states.
    assert [grade(disputed, verdict(0.01, "refuted"), document) for document in ("TD", "TB")] == ["refuted", None]
    assert [grade(disputed, verdict(0.3, "open", right=right), document) for document in ("TD", "TB")] == ["open", None]
    # They may disagree on its size: an effect smaller than claimed shows neither to be right.
    smaller = verdict(0.01, "partly", reading="smaller", direction="claimed", right={"supported": "large"})
    assert [grade(disputed, smaller, document) for document in ("TD", "TB")] == ["partly", None]


def test_a_document_that_contradicts_itself_is_right_in_part() -> None:
    source = Source(document="SG", section="1")
    both = claim(sides=(Side(name="half", says="x", sources=(source,)), Side(name="quarter", says="y", sources=(source,))))
    assert grade(both, verdict(0.01, right={"supported": "half"}), "SG") == "partly"


def test_seeds_that_are_all_alike_are_not_exact() -> None:
    """A tuned value that every seed agrees on has no spread; that five agree is no rarer than a sign test says."""
    alike = verdict(0.0, low=1.0, high=1.0, seeds=5)
    rates = error_rates([alike])
    assert rates.tested == 1
    assert list(rates.q.values()) == [2.0**-4]
