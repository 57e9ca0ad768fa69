"""Rounds of seeds: when the trials so far can be judged."""

import threading

import pytest

from folklore.harness.declare import Study
from folklore.harness.launch.rounds import Rounds
from folklore.harness.plan.plan import Plan
from tests.harness.helpers import changed, planned


@pytest.fixture
def plan(study: Study) -> Plan:
    return planned(changed(study, seeds=22))


class Shown:
    """Counts what was shown; each ends at once, or when it may."""

    def __init__(self) -> None:
        self.count, self.may_end = 0, threading.Event()
        self.may_end.set()

    def __call__(self) -> None:
        self.count += 1
        self.may_end.wait()


def digests(plan: Plan, *seeds: int) -> list[str]:
    return [trial.digest for seed in seeds for trial in plan.grid[seed]]


def test_after_five_seeds_ten_and_twenty_and_not_after_the_last(plan: Plan) -> None:
    shown, counts = Shown(), []
    rounds = Rounds(plan, (), shown)
    for seed in range(22):
        rounds.finished(digests(plan, seed))
        rounds.wait()
        counts.append(shown.count)
    assert counts == [0] * 4 + [1] * 5 + [2] * 10 + [3] * 3


def test_seeds_count_in_order_and_whole(plan: Plan) -> None:
    """Packs end in any order, and a later seed shows nothing while an earlier one lacks a trial."""
    shown = Shown()
    rounds = Rounds(plan, (), shown)
    *most, last = digests(plan, 2)
    rounds.finished(digests(plan, 5, 4, 3, 1, 0) + most)
    rounds.wait()
    assert (rounds.whole, shown.count) == (2, 0)
    rounds.finished([last])
    rounds.wait()
    assert (rounds.whole, shown.count) == (6, 1)


def test_what_was_shown_before_a_restart_is_not_shown_again(plan: Plan) -> None:
    shown = Shown()
    rounds = Rounds(plan, digests(plan, *range(6)), shown)
    rounds.finished(digests(plan, *range(6, 9)))
    rounds.wait()
    assert shown.count == 0
    rounds.finished(digests(plan, 9))
    rounds.wait()
    assert shown.count == 1


def test_training_does_not_wait_for_a_round_that_is_being_shown(plan: Plan) -> None:
    shown = Shown()
    shown.may_end.clear()
    rounds = Rounds(plan, (), shown)
    rounds.finished(digests(plan, *range(5)))
    rounds.finished(digests(plan, *range(5, 12)))
    shown.may_end.set()
    rounds.wait()
    assert shown.count == 1
    rounds.finished(digests(plan, 12))
    rounds.wait()
    assert shown.count == 2


def test_a_page_that_cannot_be_written_costs_a_line(plan: Plan, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise OSError("no space left")

    rounds = Rounds(plan, (), broken)
    rounds.finished(digests(plan, *range(5)))
    rounds.wait()
    assert "what the seeds so far say could not be shown" in caplog.text
    assert "no space left" in caplog.text
