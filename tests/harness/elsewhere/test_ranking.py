"""Many arms of a planted order, and tables that hold means alone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.elsewhere.judge_runs import JudgeOptions
from folklore.harness.elsewhere.ranking import Ranking, rank_sources
from folklore.harness.elsewhere.roles import ReadingOptions
from folklore.harness.elsewhere.summaries import standard
from folklore.harness.errors import UserError
from tests.command_line import folklore_here
from tests.harness.elsewhere.planted import finals, judged, only

MEANS = {"a": 1.0, "b": 1.5, "c": 1.505, "d": 2.0}


def ranked(frame: pd.DataFrame, folder: Path, **reading: object) -> Ranking:
    path = folder / "runs.csv"
    frame.to_csv(path, index=False)
    return rank_sources([str(path)], JudgeOptions(reading=ReadingOptions(**reading), how=Assumptions()))  # type: ignore[arg-type]


def places(ranking: Ranking) -> dict[str, str]:
    return {arm.arm: arm.ranks for arm in ranking.arms}


def test_arms_that_noise_does_not_tell_apart_share_their_ranks(tmp_path: Path) -> None:
    ranking = ranked(finals(MEANS, 6, noise=0.05), tmp_path)
    assert places(ranking) == {"a": "1", "b": "2–3", "c": "2–3", "d": "4"}
    assert {arm.arm: arm.tied for arm in ranking.arms} == {"a": [], "b": ["c"], "c": ["b"], "d": []}
    assert (ranking.arms[0].improvement, ranking.arms[-1].improvement) == (1.0, 0.0)
    assert [arm.mean for arm in ranking.arms] == sorted(arm.mean for arm in ranking.arms)


def test_where_higher_is_better_the_order_turns(tmp_path: Path) -> None:
    ranking = ranked(finals(MEANS, 6, noise=0.05).rename(columns={"loss": "accuracy"}), tmp_path)
    assert places(ranking) == {"d": "1", "b": "2–3", "c": "2–3", "a": "4"}


def test_of_arms_that_are_alike_none_is_placed(tmp_path: Path) -> None:
    """Two or three of 45 comparisons of noise would be sure without a correction."""
    for seed in range(5):
        ranking = ranked(finals(dict.fromkeys("abcdefghij", 1.0), 5, noise=0.1, seed=seed), tmp_path)
        assert ranking.comparisons == 45
        assert set(places(ranking).values()) == {"1–10"}


def test_no_task_decides_by_the_size_of_its_numbers(tmp_path: Path) -> None:
    """b is worse on the one task whose numbers are a thousand times as large, and better on the three others."""
    tasks = [finals({"a": 2.0, "b": 1.0}, 5, noise=0.1, seed=seed).assign(task=f"t{seed}") for seed in range(3)]
    large = finals({"a": 1.0, "b": 1.5}, 5, noise=0.1, seed=9).assign(task="large")
    frame = pd.concat([*tasks, large.assign(loss=1000 * large["loss"])])
    ranking = ranked(frame, tmp_path)
    assert places(ranking) == {"b": "1", "a": "2"}
    assert [arm.mean_rank for arm in ranking.arms] == [1.25, 1.75]
    assert all(0 <= arm.mean <= 1 for arm in ranking.arms)
    assert only(frame, tmp_path, "loss: b < a").verdict != "supported", "the mean in its own unit is the large task's"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (finals({"a": 1.0}, 5), "from 2 to 60 arms, and there are 1"),
        (finals({str(arm): 1.0 for arm in range(100, 161)}, 2), "and there are 61"),
        (finals(MEANS, 5).rename(columns={"loss": "value"}), "is a lower or a higher value better"),
        (pd.concat([finals(dict.fromkeys("ab", 1.0), 3, noise=0.0).assign(task=task) for task in "xy"]), "all runs end alike"),
    ],
)
def test_what_has_no_order_is_refused(tmp_path: Path, frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ranked(frame, tmp_path, columns={"arm": "arm"})


def test_ranks_of_items_are_paired_by_item(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    hard = drawn.normal(0, 1, 100)
    frame = pd.concat(
        [
            pd.DataFrame({"arm": arm, "item": range(100), "score": hard + gain + drawn.normal(0, 0.05, 100)})
            for arm, gain in {"a": 0.0, "b": 0.1, "c": 0.2}.items()
        ]
    )  # fmt: skip
    assert places(ranked(frame, tmp_path, columns={"item": "item"})) == {"c": "1", "b": "2", "a": "3"}


def test_means_with_their_spread_are_judged_as_the_runs_were(tmp_path: Path) -> None:
    frame = finals({"a": 2.0, "b": 1.98}, 5, noise=0.02).drop(columns="seed")
    summed = frame.groupby("arm")["loss"].agg(["mean", "std", "count"]).reset_index()
    (verdict,) = judged(summed, tmp_path, "mean: b < a", better="lower", spread="std", count="count").claims
    a, b = (frame.loc[frame["arm"] == arm, "loss"] for arm in "ab")
    known = scipy.stats.ttest_ind(b, a, equal_var=False)
    low, high = known.confidence_interval(0.95)
    np.testing.assert_allclose([verdict.low, verdict.high], [low, high], rtol=1e-9)
    assert verdict.p == pytest.approx(known.pvalue) or verdict.verdict == "open"
    assert verdict.strength != "firm"


def test_runs_that_stand_for_a_mean_have_it_and_its_deviation() -> None:
    for count in (2, 3, 10, 10_000):
        values = standard(count)
        assert (len(set(values)), values.mean()) == (count, pytest.approx(0.0, abs=1e-12))
        assert values.std(ddof=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"spread": "std"}, "--spread and --count belong together"),
        ({}, {"spread": "sd", "count": "count"}, "no column named 'sd'"),
        ({"count": 1}, {"spread": "std", "count": "count"}, "whole numbers of runs from 2 to 10,000"),
        ({"count": 2.5}, {"spread": "std", "count": "count"}, "whole numbers of runs"),
        ({"count": None}, {"spread": "std", "count": "count"}, "whole numbers of runs"),
        ({"std": -1.0}, {"spread": "std", "count": "count"}, "not below 0"),
    ],
)
def test_numbers_that_sum_up_no_runs_are_refused(
    tmp_path: Path, change: dict[str, object], options: dict[str, str], message: str
) -> None:
    summed = pd.DataFrame({"arm": ["a", "b"], "loss": [2.0, 1.9], "std": [0.1, 0.1], "count": [5, 5]}).assign(**change)
    with pytest.raises(UserError, match=message):
        judged(summed, tmp_path, "loss: b < a", **options)


def test_the_command_prints_ranks_and_sends_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    finals(MEANS, 6, noise=0.05).to_csv(path, index=False)
    said = folklore_here("judge", path, "--rank").stdout
    assert "2–3   b" in said
    assert "tied with c" in said
    assert "| 2–3 | b | 1.5" in folklore_here("judge", path, "--rank", "--format", "markdown").stdout
    assert "2--3 & b & 1.5" in folklore_here("judge", path, "--rank", "--format", "latex").stdout
    assert '"best_rank": 2' in folklore_here("judge", path, "--rank", "--json").stdout
    for option in (
        ("--claim", "loss: b < a"),
        ("--baseline", path),
        ("--fail-on", "open"),
        ("--page", "a.html"),
        ("--write-back",),
    ):
        refused = folklore_here("judge", path, "--rank", *option, code=2)
        assert "exclude each other; leave one out" in " ".join(refused.stderr.split())


def test_pairs_that_nothing_compares_are_told_and_no_wrong_option_hides_as_one(tmp_path: Path) -> None:
    apart = pd.concat([finals({"a": 1.0, "b": 2.0}, 5).assign(task="x"), finals({"c": 1.0, "d": 2.0}, 5).assign(task="y")])
    ranking = ranked(apart, tmp_path)
    assert [(problem.what, problem.count) for problem in ranking.runs.problems][-1] == (
        "pairs of arms that cannot be compared",
        4,
    )
    items = pd.DataFrame({"arm": ["a", "b"] * 5, "item": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "score": range(10)})
    items.to_csv(tmp_path / "items.csv", index=False)
    reading = ReadingOptions({"item": "item"})
    with pytest.raises(UserError, match="--sd and --step-worth are about runs"):
        rank_sources([str(tmp_path / "items.csv")], JudgeOptions(reading=reading, how=Assumptions(deviation=0.1)))


def test_a_missing_score_and_an_arm_that_nothing_compares_spoil_no_ranking(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    items = [
        pd.DataFrame({"arm": arm, "item": np.arange(40) + start, "score": drawn.normal(mean, 0.1, 40)})
        for arm, mean, start in (("a", 0.0, 0), ("b", 0.5, 0), ("c", 0.2, 1000))
    ]
    frame = pd.concat(items, ignore_index=True)
    frame.loc[3, "score"] = np.nan
    ranking = ranked(frame, tmp_path, columns={"item": "item"})
    assert places(ranking) == {"b": "1–2", "c": "1–3", "a": "2–3"}
    assert all(np.isfinite(arm.mean) for arm in ranking.arms)


def test_the_mean_of_repeated_answers_is_no_surer_than_that_of_their_items(tmp_path: Path) -> None:
    one = pd.DataFrame({"arm": "a", "item": range(30), "epoch": 0, "correct": [0, 1] * 15})
    both = pd.concat([one, one.assign(arm="b", correct=1 - one["correct"])])
    ten = pd.concat([both.assign(epoch=epoch) for epoch in range(10)])
    (once, *_), (often, *_) = (ranked(frame, tmp_path, columns={"item": "item"}, better="higher").arms for frame in (both, ten))
    assert once.low is not None
    assert often.low is not None
    assert often.low == pytest.approx(once.low, abs=0.03)
