"""Evals: answers of arms to the same items, through a file to a verdict."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.elsewhere.judge_runs import JudgedRuns
from folklore.harness.errors import UserError
from folklore.harness.randomness import numpy_generator
from tests.command_line import folklore_here
from tests.harness.elsewhere.planted import judged

CLAIM = "correct: b > a"


def answers(items: int = 60, gain: float = 0.2, seeds: int = 1, apart: float = 0.0, passages: int = 0) -> pd.DataFrame:
    """Right (1) or wrong (0) answers of a and b; b's chance is higher by `gain`.

    apart: standard deviation of a seed's own gain. passages: so many hold the items and decide on their difficulty.
    """
    generator = numpy_generator(0, f"answers {items} {gain} {seeds} {apart} {passages}", 0)
    place = np.arange(items) * passages // items if passages else np.arange(items)
    hard = generator.uniform(-0.3, 0.3, items)[place]
    rows = []
    for arm, more in (("a", 0.0), ("b", gain)):
        for seed in range(seeds):
            chance = np.clip(0.5 + hard + more + apart * generator.standard_normal(), 0, 1)
            right = (generator.random(items) < chance).astype(float)
            rows.append(pd.DataFrame({"arm": arm, "seed": seed, "item": np.arange(items), "passage": place, "correct": right}))
    frame = pd.concat(rows, ignore_index=True)
    return frame if seeds > 1 else frame.drop(columns="seed")


def by_items(frame: pd.DataFrame, folder: Path, *claims: str, **roles: Any) -> JudgedRuns:
    how = roles.pop("how", Assumptions())
    return judged(frame, folder, *claims or (CLAIM,), how=how, item="item", **roles)


def test_arms_are_paired_by_item_whatever_the_order_of_rows(tmp_path: Path) -> None:
    """Hard and easy items differ by far more than the arms, so that unpaired nothing is seen."""
    frame = answers(200, 0.0)
    frame = frame[frame["arm"] == "a"]
    better = frame.assign(arm="b", correct=np.where(frame["item"] % 12 == 0, 1.0, frame["correct"]))
    shuffled = pd.concat([frame, better.sample(frac=1, random_state=0)])
    (verdict,) = by_items(shuffled, tmp_path).claims
    assert (verdict.verdict, verdict.findings[0].method) == ("supported", "paired by item (Bonett and Price)")
    unpaired = judged(shuffled.drop(columns=["item", "passage"]), tmp_path, CLAIM).claims[0]
    assert unpaired.verdict == "open"


def test_items_of_one_passage_count_as_one_where_they_are_alike(tmp_path: Path) -> None:
    """Each item stands there four times: a cluster of four tells no more than one of them."""
    frame = answers(30, 0.15)
    four = pd.concat([frame.assign(item=frame["item"] * 4 + copy) for copy in range(4)])
    (alone,), (clustered,) = (
        by_items(answers, tmp_path, **more).claims for answers, more in ((frame, {}), (four, {"cluster": "passage"}))
    )
    (naive,) = by_items(four, tmp_path).claims
    widths = [float(verdict.high or 0) - float(verdict.low or 0) for verdict in (alone, clustered, naive)]
    assert widths[1] == pytest.approx(widths[0], rel=0.1), "the two intervals of 30 differ by a tenth at most"
    assert widths[2] < 0.6 * widths[1]
    assert "120 items in 30 clusters of passage" in " ".join(clustered.notes)


def test_clusters_that_nobody_named_make_a_verdict_fragile(tmp_path: Path) -> None:
    frame = answers(8, 0.5)
    many = pd.concat([frame.assign(item=frame["item"] * 10 + copy) for copy in range(10)])
    (verdict,) = by_items(many, tmp_path).claims
    assert verdict.verdict == "supported"
    assert "open with --cluster passage" in verdict.fragile
    (named,) = by_items(many, tmp_path, cluster="passage").claims
    assert named.verdict == "open"


def test_seeds_and_items_are_both_in_the_interval_and_it_says_which_to_spend_on(tmp_path: Path) -> None:
    (of_seeds,) = by_items(answers(400, 0.1, 4, apart=0.15), tmp_path).claims
    alike = pd.concat([answers(20, 0.1).assign(seed=seed) for seed in range(4)], ignore_index=True)
    alike.loc[0, "correct"] = 1 - alike.loc[0, "correct"]
    (of_items,) = by_items(alike, tmp_path).claims
    assert "spend on seeds" in " ".join(of_seeds.notes)
    assert "spend on items" in " ".join(of_items.notes)
    (one_seed,) = by_items(answers(400, 0.1), tmp_path).claims
    assert "not for other training runs" in " ".join(one_seed.notes)


def test_one_seed_against_several_says_what_its_interval_lacks(tmp_path: Path) -> None:
    frame = answers(40, 0.2, 3)
    (verdict,) = by_items(frame[(frame["arm"] == "b") | (frame["seed"] == 0)], tmp_path).claims
    assert "an arm has one seed" in " ".join(verdict.notes)


def test_answers_without_a_score_leave_their_item_out_and_may_count_as_wrong(tmp_path: Path) -> None:
    frame = answers(60, 0.3)
    lost = frame.assign(correct=frame["correct"].where((frame["arm"] == "a") | (frame["correct"] == 1)))
    read = by_items(lost, tmp_path)
    missing = int(lost["correct"].isna().sum())
    assert [(problem.what, problem.count) for problem in read.problems] == [("answers without a score", missing)]
    (verdict,) = read.claims
    assert verdict.findings[0].runs == (60 - missing, 60 - missing)
    assert f"{missing} items left out" in " ".join(verdict.notes)
    whole = by_items(lost.fillna({"correct": 0.0}), tmp_path).claims[0].verdict
    reasons = [reason for reason in verdict.fragile if "no score as the worst" in reason]
    assert bool(reasons) == (whole != verdict.verdict)


def test_answers_twice_to_one_item_are_told(tmp_path: Path) -> None:
    frame = answers(20, 0.2)
    (problem,) = by_items(pd.concat([frame, frame[frame["arm"] == "a"]]), tmp_path).problems
    assert (problem.what, problem.count) == ("answers of one arm and seed to the same item", 20)


def test_items_may_be_numbered_within_their_passage(tmp_path: Path) -> None:
    frame = answers(60, 0.25, passages=12)
    numbered = frame.assign(item=frame["item"] % 5)
    whole, within = (by_items(answers, tmp_path, cluster="passage").claims[0] for answers in (frame, numbered))
    assert (within.estimate, within.low, within.high) == (whole.estimate, whole.low, whole.high)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("correct: b > a by 5 points", "supported"),
        ("correct: b > a by 0.05", "supported"),
        ("correct: b >= a within 1 point", "supported"),
        ("correct: b < a", "refuted"),
        ("correct: b > a by 90%", "partly"),
        ("correct: b > 0.5", "supported"),
        ("correct: b > 0.95", "refuted"),
        ("correct: b > 0.5 by 1%", "supported"),
    ],
)
def test_claims_about_items(tmp_path: Path, claim: str, verdict: str) -> None:
    assert by_items(answers(400, 0.3), tmp_path, claim).claims[0].verdict == verdict


def test_tasks_are_averaged_or_counted(tmp_path: Path) -> None:
    tasks = pd.concat([answers(100, gain).assign(task=name) for name, gain in (("one", 0.3), ("two", 0.3), ("three", 0.0))])
    assert by_items(tasks, tmp_path).claims[0].verdict == "supported"
    assert by_items(tasks, tmp_path, f"{CLAIM} on all tasks").claims[0].verdict == "open"


@pytest.mark.parametrize(
    ("claim", "more", "message"),
    [
        ("correct at 5: b > a", {}, "of items only final scores are compared"),
        ("correct: b > a over passage", {}, "of items only final scores are compared"),
        ("correct: c > a", {}, "no arm named 'c'"),
        (CLAIM, {"how": Assumptions(deviation=0.1)}, "--sd and --step-worth are about runs"),
        (CLAIM, {"how": Assumptions(paired=True)}, "they are paired by item all the same"),
    ],
)
def test_what_cannot_be_asked_of_items_is_refused(tmp_path: Path, claim: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        by_items(answers(), tmp_path, claim, **more)


def test_arms_without_an_item_in_common_are_refused(tmp_path: Path) -> None:
    frame = answers(20)
    with pytest.raises(UserError, match="no task has items that both arms answered; say with --item what identifies one"):
        by_items(frame.assign(item=np.arange(len(frame))), tmp_path)


def test_the_command_reads_items_and_refuses_clusters_and_gates_without(tmp_path: Path) -> None:
    frame, path = answers(60, 0.3, passages=20), tmp_path / "answers.csv"
    frame.to_csv(path, index=False)
    said = folklore_here("judge", path, "--claim", CLAIM, "--item", "item", "--cluster", "passage")
    assert "answers an arm  a 60, b 60" in said.stdout
    assert "60 items in 20 clusters of passage" in " ".join(said.stdout.split())
    refused = folklore_here("judge", path, "--claim", CLAIM, "--cluster", "passage", code=2)
    assert "belongs to the items of an eval; name their column with --item" in " ".join(refused.stderr.split())
    gated = folklore_here("judge", path, "--baseline", path, "--metric", "correct", "--item", "item", code=2)
    assert "name both files" in " ".join(gated.stderr.split())


def test_identifiers_of_many_digits_are_told_apart(tmp_path: Path) -> None:
    frame = answers(60, 0.3)
    long = frame.assign(item=frame["item"] + 10**12)
    assert by_items(long, tmp_path).claims[0].findings[0].runs == (60, 60)


@pytest.mark.parametrize("claim", ["correct: b = a within 1%", "correct: b > 0.9 by 5%", "correct: b >= a within 1 point"])
def test_few_answers_that_are_all_right_decide_nothing_that_is_narrow(tmp_path: Path, claim: str) -> None:
    frame = answers(5).assign(correct=1.0)
    assert by_items(frame, tmp_path, claim).claims[0].verdict == "open"
    clustered = answers(40, passages=20).assign(correct=1.0)
    assert by_items(clustered, tmp_path, claim, cluster="passage").claims[0].verdict == "open"


def test_scores_that_all_differ_alike_have_no_spread(tmp_path: Path) -> None:
    frame = answers(20)
    alike = frame.assign(correct=frame["item"] + 0.5 * (frame["arm"] == "b"))
    (seen,) = by_items(alike, tmp_path).claims
    assert (seen.verdict, seen.low) == ("open", None)


def test_items_that_only_one_arm_answered_may_be_its_wrong_ones(tmp_path: Path) -> None:
    frame = answers(200, 0.0)
    left_out = frame[(frame["arm"] == "a") | (frame["correct"] == 1)]
    (seen,) = by_items(left_out, tmp_path, "correct: b >= a within 1 point").claims
    assert seen.verdict == "supported"
    assert any("with missing answers as the worst" in reason for reason in seen.fragile)


def test_scores_in_two_units_are_a_question(tmp_path: Path) -> None:
    frame = answers(40, 0.1)
    mixed = frame.assign(correct=np.where(frame["arm"] == "b", 60 + 20 * frame["correct"], 0.5 + 0.2 * frame["correct"]))
    with pytest.raises(UserError, match="as if some were in percent"):
        by_items(mixed.rename(columns={"correct": "accuracy"}), tmp_path, "accuracy: b > a")


def test_answers_without_an_item_are_told_and_left_out(tmp_path: Path) -> None:
    frame = answers(30, 0.3)
    read = by_items(pd.concat([frame, frame.head(4).assign(item=None)]), tmp_path)
    assert [(problem.what, problem.count) for problem in read.problems] == [("answers without an item", 4)]
