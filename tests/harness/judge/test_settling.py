"""Where a verdict turns."""

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Outside, Rule, Within
from folklore.harness.declare.metrics import Gap, TunedLoss
from folklore.harness.judge.settling import turns_open_at

OBSERVED = Gap(left=TunedLoss(arm="a"), right=TunedLoss(arm="b"))


def criterion(claimed: Rule, refuted: Rule) -> Criterion:
    return Criterion(name="gap", observe=OBSERVED, claimed=claimed, refuted=refuted)


@pytest.mark.parametrize(
    ("claimed", "refuted", "verdict", "ends", "turns"),
    [
        (AtLeast(value=1.0), AtMost(value=0.5), "supported", (1.2, 1.8), 1.2),
        (AtLeast(value=1.0), AtMost(value=0.5), "refuted", (0.1, 0.4), 0.4),
        (Within(low=0.0, high=2.0), Outside(low=0.0, high=2.0), "supported", (0.5, 1.9), 1.9),
        (Within(low=0.0, high=2.0), Outside(low=0.0, high=2.0), "supported", (0.1, 1.5), 0.1),
        (Within(low=0.0, high=2.0), Outside(low=0.0, high=2.0), "refuted", (2.5, 3.0), 2.5),
        (AtLeast(value=1.0), AtMost(value=0.5), "partly", (0.6, 1.8), None),
        # Refuted by the other side of the null: no region's bound decides.
        (AtLeast(value=1.0), AtMost(value=-5.0), "refuted", (-2.0, -1.0), None),
    ],
)
def test_a_verdict_turns_at_the_end_of_its_interval(
    claimed: Rule, refuted: Rule, verdict: str, ends: tuple[float, float], turns: float | None
) -> None:
    assert turns_open_at(criterion(claimed, refuted), verdict, *ends) == turns
