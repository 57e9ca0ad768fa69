"""From parts and workloads to a claim, and the p value of "at least so many hold"."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from folklore.harness.judging.combining import Combined, combined, least_that_hold, partial_conjunction
from folklore.harness.judging.verdicts import Finding
from folklore.harness.spec.claims import Quantifier

P = {
    "supported": (0.001, 1.0, 0.001),
    "partly": (0.4, 1.0, 0.001),
    "refuted": (1.0, 0.001, 1.0),
    "open": (0.3, 0.6, 0.2),
    "out of regime": (1.0, 1.0, 1.0),
    "invalid": (1.0, 1.0, 1.0),
}
READINGS = {"partly": "smaller", "refuted": "opposite", "open": "too noisy"}


def finding(verdict: str, panel: str = "", precondition: bool = False) -> Finding:
    supported, refuted, direction = P[verdict]
    return Finding(
        *("x", "", verdict, 1.0, 0.5, 1.5, 10, supported, refuted, "because"),
        reading=READINGS.get(verdict, ""),
        p_direction=direction,
        panel=panel,
        precondition=precondition,
    )


def of_parts(*verdicts: str) -> tuple[str, str]:
    found = combined([finding(verdict) for verdict in verdicts], "all")
    return found.verdict, found.reading


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
        (["supported", "out of regime"], "partly", "some parts"),
        (["out of regime", "out of regime"], "out of regime", ""),
        (["supported", "refuted", "invalid"], "invalid", ""),
    ],
)
def test_parts_on_one_workload(parts: list[str], verdict: str, reading: str) -> None:
    assert of_parts(*parts) == (verdict, reading)
    assert of_parts(*reversed(parts)) == (verdict, reading)


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
        ("all", ["supported", "out of regime"], "supported", ""),
        ("all", ["out of regime", "out of regime"], "out of regime", ""),
        ("all", ["supported", "invalid"], "invalid", ""),
    ],
)
def test_over_workloads(quantifier: Quantifier, panels: list[str], verdict: str, reading: str) -> None:
    found = of_panels(quantifier, *panels)
    assert (found.verdict, found.reading) == (verdict, reading)
    assert [panel.verdict for panel in found.panels] == panels
    assert (found.p <= 0.05) == (verdict in ("supported", "partly", "refuted"))


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


def test_partial_conjunction_of_all_is_the_largest_and_of_one_is_bonferroni() -> None:
    for p_values in itertools.permutations([0.01, 0.02, 0.2]):
        assert partial_conjunction(p_values, 3) == pytest.approx(0.2)
        assert partial_conjunction(p_values, 1) == pytest.approx(0.03)
