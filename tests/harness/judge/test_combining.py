"""From parts and workloads to a claim, and the p value of "at least so many hold"."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from folklore.harness.declare.claims import Quantifier
from folklore.harness.judge.combining import Combined, combined, least_that_hold
from folklore.harness.judge.explaining import deciding
from folklore.harness.judge.statistics.combining import partial_conjunction
from folklore.harness.judge.verdict import CriterionFinding
from tests.verdicts import a_finding

P = {
    "supported": (0.001, 1.0, 0.001),
    "partly": (0.4, 1.0, 0.001),
    "refuted": (1.0, 0.001, 1.0),
    "open": (0.3, 0.6, 0.2),
    "out of regime": (1.0, 1.0, 1.0),
    "invalid": (1.0, 1.0, 1.0),
}
READINGS = {"partly": "smaller", "refuted": "opposite", "open": "too noisy"}


def finding(verdict: str, panel: str = "", precondition: bool = False) -> CriterionFinding:
    supported, refuted, direction = P[verdict]
    p = {"p_supported": supported, "p_refuted": refuted, "p_direction": direction}
    return a_finding(verdict, **p, reading=READINGS.get(verdict, ""), panel=panel, precondition=precondition)


def of_parts(*verdicts: str) -> tuple[str, str]:
    combination = combined([finding(verdict) for verdict in verdicts], "all")
    return combination.verdict, combination.reading


def of_panels(quantifier: Quantifier, *verdicts: str) -> Combined:
    return combined([finding(verdict, f"panel {index}") for index, verdict in enumerate(verdicts)], quantifier)


@pytest.mark.parametrize(
    ("parts", "verdict", "reading"),
    [
        (["supported", "supported"], "supported", ""),
        (["supported", "partly"], "partly", "smaller"),
        (["supported", "refuted"], "partly", "some parts"),
        (["refuted", "open"], "refuted", "opposite"),
        (["refuted", "out of regime"], "refuted", "opposite"),
        (["supported", "open"], "open", "too noisy"),
        (["supported", "out of regime"], "partly", "untested parts"),
        (["out of regime", "out of regime"], "out of regime", ""),
        (["supported", "refuted", "invalid"], "invalid", ""),
    ],
)
def test_parts_on_one_workload(parts: list[str], verdict: str, reading: str) -> None:
    assert of_parts(*parts) == (verdict, reading)
    assert of_parts(*reversed(parts)) == (verdict, reading)


def test_arithmetic_alone_makes_nothing_true_in_part() -> None:
    """If the measured parts speak of models that are not here."""
    parts = [replace(finding("supported"), grade="exact"), finding("out of regime")]
    assert combined(parts, "all").verdict == "out of regime"
    assert combined([*parts, finding("supported")], "all").verdict == "partly"
    assert combined([parts[0], finding("refuted")], "all").verdict == "partly"


@pytest.mark.parametrize(
    ("quantifier", "panels", "verdict", "reading"),
    [
        ("all", ["supported"] * 4, "supported", ""),
        ("all", ["supported"] * 3 + ["refuted"], "partly", "some workloads"),
        ("all", ["supported"] * 3 + ["open"], "open", "too noisy"),
        ("all", ["open", "refuted"], "refuted", "opposite"),
        ("all", ["supported", "partly"], "partly", "smaller"),
        ("most", ["supported"] * 3 + ["refuted"], "supported", ""),
        ("most", ["supported"] * 2 + ["refuted"] * 2, "partly", "some workloads"),
        ("most", ["refuted"] * 3 + ["open"], "refuted", "opposite"),
        ("most", ["refuted"] * 3 + ["supported"], "partly", "some workloads"),
        ("most", ["refuted", "open", "open", "open"], "open", "too noisy"),
        ("some", ["supported", "refuted", "refuted"], "supported", ""),
        ("some", ["refuted"] * 3, "refuted", "opposite"),
        ("some", ["refuted", "refuted", "open"], "open", "too noisy"),
        ("some", ["partly", "open"], "partly", "smaller"),
        ("all", ["supported", "partly", "partly"], "partly", "smaller"),
        ("all", ["supported", "out of regime"], "supported", ""),
        ("all", ["out of regime", "out of regime"], "out of regime", ""),
        ("all", ["supported", "invalid"], "invalid", ""),
    ],
)
def test_over_workloads(quantifier: Quantifier, panels: list[str], verdict: str, reading: str) -> None:
    combination = of_panels(quantifier, *panels)
    assert (combination.verdict, combination.reading) == (verdict, reading)
    assert [panel.verdict for panel in combination.panels] == panels
    assert (combination.p <= 0.05) == (verdict in ("supported", "partly", "refuted"))


def test_a_part_that_alone_refutes_is_not_sure_over_all() -> None:
    """p = 0.03 refutes one part, but not one of two; that is not noise. On one workload of several it is why that is open."""
    unsure = replace(finding("refuted", "MLP"), p_refuted=0.03)
    combination = combined([finding("supported", "MLP"), unsure], "all")
    assert (combination.verdict, combination.reading, combination.over_all) == ("open", "multiplicity", None)
    combination = combined([finding("supported", "MLP"), unsure, finding("supported", "GPT")], "all")
    assert (combination.verdict, combination.reading, combination.over_all) == ("open", "multiplicity", None)
    assert [panel.reading for panel in combination.panels] == ["multiplicity", ""]


def test_workloads_that_alone_decide_are_not_sure_over_all() -> None:
    """Two of three hold at p = 0.04, as most asks for; over three p is 0.08 (Simes)."""
    unsure = [replace(finding("supported", f"panel {index}"), p_supported=0.04, p_direction=0.04) for index in range(2)]
    combination = combined([*unsure, finding("open", "panel 2")], "most")
    assert (combination.verdict, combination.reading, combination.over_all) == ("open", "multiplicity", pytest.approx(0.08))
    unsure = [replace(finding("refuted", f"panel {index}"), p_refuted=0.04) for index in range(2)]
    combination = combined([*unsure, finding("open", "panel 2")], "most")
    assert (combination.reading, combination.over_all) == ("multiplicity", pytest.approx(0.08))
    combination = combined([finding("supported", "a"), replace(finding("refuted", "b"), p_refuted=0.04)], "all")
    assert (combination.reading, combination.over_all) == ("multiplicity", pytest.approx(0.08)), "that they disagree"


def test_a_claim_is_open_for_the_reason_of_its_open_workloads() -> None:
    between = replace(finding("open", "b"), reading="between")
    assert combined([finding("supported", "a"), between], "all").reading == "between"
    assert combined([finding("open", "a"), between], "all").reading == "too noisy", "the one that more seeds may decide"
    met = [finding("supported", "c"), replace(finding("open", "c"), precondition=True)]
    assert combined([finding("supported", "a"), *met], "all").reading == "precondition"


def test_a_stronger_quantifier_is_not_easier() -> None:
    """Four workloads at p = 0.046 each: if all of them hold, most and some do."""
    findings = [replace(finding("supported", f"panel {index}"), p_supported=0.046, p_direction=0.046) for index in range(4)]
    assert {combined(findings, quantifier).verdict for quantifier in ("all", "most", "some")} == {"supported"}


def test_one_noisy_exception_is_no_disagreement() -> None:
    """Nine workloads that surely fail and one at p = 0.048: that it holds there is chance among ten."""
    exception = replace(finding("supported", "panel 9"), p_supported=0.048, p_direction=0.048)
    combination = combined([*(finding("refuted", f"panel {index}") for index in range(9)), exception], "all")
    assert (combination.verdict, combination.reading) == ("refuted", "opposite")


def test_the_direction_is_that_of_as_many_workloads_as_are_spoken_of() -> None:
    """An exception does not turn a supported claim, and no effect is no direction."""
    three = [finding("supported", f"panel {index}") for index in range(3)]
    assert combined([*three, finding("refuted", "panel 3")], "most").direction == "claimed"
    nothing = replace(finding("refuted"), reading="no effect", p_direction=0.01)
    assert combined([nothing], "all").direction == "none"
    assert combined([finding("open")], "all").direction == ""


def test_parts_in_any_order() -> None:
    direction = replace(finding("partly"), reading="direction")
    for parts in ([direction, finding("partly")], [finding("partly"), direction]):
        assert combined(parts, "all").reading == "smaller"


def test_a_precondition_of_one_workload() -> None:
    """A workload on which it fails does not count; the others do."""
    findings = [finding("supported", "A"), finding("refuted", "A", precondition=True), finding("supported", "B")]
    combination = combined(findings, "all")
    assert (combination.verdict, [panel.verdict for panel in combination.panels]) == (
        "supported",
        ["out of regime", "supported"],
    )


def test_a_precondition_that_fails_leaves_nothing_to_judge() -> None:
    for verdict, expected in (
        ("supported", "supported"),
        ("refuted", "out of regime"),
        ("partly", "out of regime"),
        ("open", "open"),
        ("invalid", "invalid"),
    ):
        assert combined([finding(verdict, precondition=True), finding("supported")], "all").verdict == expected


def test_how_many_have_to_hold() -> None:
    counts: Sequence[tuple[Quantifier, int, int]] = (
        ("all", 4, 4), ("most", 4, 3), ("most", 3, 2), ("most", 5, 3), ("some", 4, 1), ("exact", 1, 1),
    )  # fmt: skip
    for quantifier, workloads, least in counts:
        assert least_that_hold(quantifier, workloads) == least


@pytest.mark.parametrize("workloads", [2, 4])
def test_partial_conjunction_keeps_its_error_rate(workloads: int) -> None:
    """By drawing: with exactly u - 1 effects that are surely there, "at least u" is claimed in at most 5% of worlds."""
    generator = np.random.default_rng(1)
    for least in range(1, workloads + 1):
        p_values = generator.uniform(size=(20_000, workloads))
        p_values[:, : least - 1] = 1e-12
        rate = np.mean([partial_conjunction(row, least) <= 0.05 for row in p_values.tolist()])
        assert rate <= 0.053


def test_partial_conjunction_of_all_is_the_largest_and_of_one_is_simes() -> None:
    for p_values in itertools.permutations([0.012, 0.014, 0.2]):
        assert partial_conjunction(p_values, 3) == pytest.approx(0.2)
        assert partial_conjunction(p_values, 2) == pytest.approx(0.028)
        assert partial_conjunction(p_values, 1) == pytest.approx(0.021)


def test_the_headline_passes_over_workloads_that_cannot_be_tested() -> None:
    """If none has the claim's verdict: the middle one of those that can be tested."""
    verdicts = {"a": ("supported", 5.0), "b": ("out of regime", 3.0), "c": ("refuted", -1.0), "d": ("out of regime", 4.0)}
    parts = [replace(finding(verdict, panel), estimate=estimate) for panel, (verdict, estimate) in verdicts.items()]
    combination = combined(parts, "all")
    assert combination.verdict == "partly"
    assert deciding(parts, combination).panel == "c"
