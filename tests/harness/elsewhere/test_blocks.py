"""Settings that runs differ in: shared ones become blocks or pairs, others cap the verdict. Each world has a planted truth."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.errors import UserError
from tests.harness.elsewhere.planted import finals, only


def uneven(column: str) -> pd.DataFrame:
    """b is 1 lower in each of two blocks that lie 20 apart, and most of its runs are in the higher one."""
    drawn = np.random.default_rng(0)
    sizes = {("a", 10.0): 10, ("a", 30.0): 5, ("b", 9.0): 5, ("b", 29.0): 10}
    rows = [
        {"arm": arm, column: "low" if level < 20 else "high", "loss": level + 0.3 * drawn.standard_normal()}
        for (arm, level), runs in sizes.items()
        for _ in range(runs)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("column", ["dataset", "N_params", "width", "whatever"])
def test_blocks_count_whatever_they_are_called(column: str, tmp_path: Path) -> None:
    verdict = only(uneven(column), tmp_path, "loss: b < a")
    assert (verdict.verdict, verdict.firm) == ("supported", True)
    assert verdict.estimate == pytest.approx(-1.0, abs=0.4)
    if column != "dataset":
        assert f"compared within {column}: 2 blocks" in verdict.notes


def test_cells_of_one_run_are_pairs(tmp_path: Path) -> None:
    """As in a sweep over sizes and data: 20 cells that lie far apart, and b is 0.1 lower in each."""
    drawn = np.random.default_rng(1)
    rows = [
        {"arm": arm, "N": size, "D": data, "loss": size + data + (arm == "a") * 0.1 + 0.01 * drawn.standard_normal()}
        for arm in "ab"
        for size in (1, 2, 4, 8, 16)
        for data in (10, 20, 40, 80)
    ]
    frame = pd.DataFrame(rows)
    verdict = only(frame, tmp_path, "loss: b < a by 0.05")
    assert (verdict.verdict, verdict.firm) == ("supported", True)
    assert "paired by N, D: 20 cells" in verdict.notes
    a, b = (frame.loc[frame["arm"] == arm, "loss"].to_numpy() for arm in "ab")
    difference = scipy.stats.ttest_rel(b, a).confidence_interval()
    assert (verdict.low, verdict.high) == pytest.approx((difference.low, difference.high), rel=1e-9)


def test_settings_that_were_drawn_at_random_are_no_confounds(tmp_path: Path) -> None:
    """A random search over 40 settings, the same for both arms: in as many columns some values come more often by chance."""
    drawn = np.random.default_rng(4)
    frame = finals({"a": 2.0, "b": 1.0}, 300, noise=0.3)
    settings = pd.DataFrame({f"setting {place}": drawn.integers(1, 4, len(frame)) for place in range(40)})
    verdict = only(frame.drop(columns="seed").join(settings), tmp_path, "loss: b < a")
    assert verdict.verdict == "supported"
    assert verdict.estimate == pytest.approx(-1.0, abs=0.15)
    assert len([reason for reason in verdict.fragile if "between the arms" in reason]) <= 1
    assert sum(reason.count("(1/") for reason in verdict.fragile) <= 2


def test_runs_without_a_partner_are_counted(tmp_path: Path) -> None:
    frame = pd.concat([uneven("width"), pd.DataFrame({"arm": ["b"] * 3, "width": ["other"] * 3, "loss": [50.0, 51.0, 52.0]})])
    verdict = only(frame, tmp_path, "loss: b < a")
    assert verdict.verdict == "supported"
    assert any("3 runs have no partner there and are left out" in note for note in verdict.notes)


def test_what_goes_with_the_arm_caps_the_verdict(tmp_path: Path) -> None:
    frame = finals({"a": 2.0, "b": 1.8}, 6).assign(batch_size=lambda frame: np.where(frame["arm"] == "a", 64, 128))
    capped = only(frame, tmp_path, "loss: b < a")
    assert (capped.verdict, capped.firm) == ("supported", False)
    assert capped.fragile == ("batch_size (128 against 64) differs between the arms, too; --also batch_size accepts that",)
    assert only(frame, tmp_path, "loss: b < a", how=Assumptions(also=("batch_size",))).firm
    with pytest.raises(UserError, match="no column for --also named 'batch': did you mean 'batch_size'"):
        only(frame, tmp_path, "loss: b < a", how=Assumptions(also=("batch",)))


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("grad_clip", (0.5, 1.0)),
        ("precision", (16, 32)),
        ("model_name", ("gpt2", "gpt2-large")),
        ("base_model", ("meta/one", "meta/two")),
        ("dataset_version", ("v1", "v2")),
        ("lora_rank", (8, 64)),
        ("gradient_accumulation_steps", (1, 4)),
        ("grad_accum", (1, 2)),
        ("scheduler", (None, "cosine")),
        ("server", ("alpha", "beta")),
        ("split", ("validation", "training")),
        ("augmented", (False, True)),
    ],
    ids=str,
)
def test_settings_count_under_any_name(name: str, sides: tuple[object, object], tmp_path: Path) -> None:
    frame = finals({"a": 2.0, "b": 1.8}, 6).assign(**{name: [sides[0]] * 6 + [sides[1]] * 6})
    verdict = only(frame, tmp_path, "loss: b < a", arm="arm")
    assert (verdict.verdict, verdict.firm) == ("supported", False)
    assert any(f"--also {name} accepts that" in reason for reason in verdict.fragile), verdict.fragile


def test_numbers_that_each_run_has_for_itself_lie_apart_or_do_not(tmp_path: Path) -> None:
    """As of a random search: of all runs of b the hidden layer is wider; of a mixed draw it is not."""
    frame = finals({"a": 2.0, "b": 1.8}, 8)
    apart = frame.assign(hidden_units=[*range(64, 160, 12), *range(200, 320, 15)])
    mixed = frame.assign(hidden_units=[*range(64, 304, 30), *range(70, 310, 30)])
    assert not only(apart, tmp_path, "loss: b < a").firm
    assert only(mixed, tmp_path, "loss: b < a").firm


@pytest.mark.parametrize(
    "column",
    [
        {"Name": [f"run-{index}" for index in range(12)]},
        {"Created": ["2026-01-01"] * 6 + ["2026-01-02"] * 6},
        {"output_dir": ["/a"] * 6 + ["/b"] * 6},
        {"where_it_lies": ["runs/a/x"] * 6 + ["runs/b/x"] * 6},
        {"train_accuracy": [0.9] * 6 + [0.8] * 6},
        {"method": ["plain a"] * 6 + ["plain b"] * 6},
        {"beta2": [0.99] * 6 + [None] * 6},
    ],
    ids=lambda column: next(iter(column)),
)
def test_names_times_paths_and_results_are_no_settings(column: dict[str, list[object]], tmp_path: Path) -> None:
    verdict = only(finals({"a": 2.0, "b": 1.8}, 6).assign(**column), tmp_path, "loss: b < a", arm="arm")  # type: ignore[arg-type]
    assert verdict.firm, verdict.fragile


def test_a_parameter_that_follows_from_another_is_one(tmp_path: Path) -> None:
    frame = uneven("width").assign(params=lambda frame: np.where(frame["width"] == "low", 1e6, 4e6))
    assert "compared within width: 2 blocks" in only(frame, tmp_path, "loss: b < a").notes


def test_a_sign_that_turns_at_equal_size_is_no_verdict(tmp_path: Path) -> None:
    """The larger the model the lower the loss; b is 0.5 worse at every size, and its models are larger."""
    drawn = np.random.default_rng(2)
    sizes = {"a": np.arange(100, 200, 10), "b": np.arange(155, 255, 10)}
    rows = [
        {"arm": arm, "depth": size, "loss": 10 - size / 20 + 0.5 * (arm == "b") + 0.02 * drawn.standard_normal()}
        for arm, column in sizes.items()
        for size in column
    ]
    verdict = only(pd.DataFrame(rows), tmp_path, "loss: b < a")
    assert (verdict.verdict, verdict.reading) == ("open", "confounded")
    assert verdict.reason == "the sign turns once depth is held equal"


def test_questions_on_one_passage_may_be_alike(tmp_path: Path) -> None:
    """Answers of a passage stand or fall together: of 20 passages, not of 200 questions, is the noise."""
    drawn = np.random.default_rng(3)
    rows = [
        {"arm": arm, "question": f"q{item}", "passage": f"p{item // 10}", "correct": float(value)}
        for arm, gain in (("a", 0.0), ("b", 1.0))
        for item, value in enumerate(np.repeat(0.5 + gain * 0.2 * (drawn.standard_normal(20) + 0.35), 10))
    ]
    verdict = only(pd.DataFrame(rows), tmp_path, "correct: b > a", better="higher")
    assert "paired by question: 200 cells" in verdict.notes
    assert verdict.verdict == "supported"
    assert "open if each passage counts once" in verdict.fragile


def test_files_that_lie_far_apart_may_be_tasks(tmp_path: Path) -> None:
    from folklore.harness.elsewhere.judge_runs import JudgeOptions, judge_sources
    from folklore.harness.elsewhere.roles import ReadingOptions

    for task, level in (("alien", 1000.0), ("pong", 20.0)):
        finals({"a": level, "b": 1.1 * level}, 5).to_csv(tmp_path / f"{task}.csv", index=False)
    with pytest.raises(UserError, match=r"is a file a task\? Say --task file"):
        judge_sources([str(tmp_path)], JudgeOptions(("loss: b > a",)))
    reading = ReadingOptions({"task": "file"})
    (verdict,) = judge_sources([str(tmp_path)], JudgeOptions(("loss: b > a",), reading=reading)).claims
    assert [part.name for part in verdict.findings] == ["alien.csv", "pong.csv"]


def test_a_share_and_a_percentage_are_a_question(tmp_path: Path) -> None:
    frame = finals({"a": 0.89, "b": 90.0}, 5).rename(columns={"loss": "accuracy"})
    with pytest.raises(UserError, match="some were in percent: write all in one unit, or accept them with --also accuracy"):
        only(frame, tmp_path, "accuracy: b > a")
    assert only(frame, tmp_path, "accuracy: b > a", how=Assumptions(also=("accuracy",))).verdict == "supported"


def test_several_columns_are_a_task_or_a_seed(tmp_path: Path) -> None:
    frame = pd.concat([finals({"a": 2.0, "b": 1.8}, 3).assign(size=size, data=data) for size in (1, 2) for data in ("x", "y")])
    verdict = only(frame, tmp_path, "loss: b < a", task="size,data")
    assert [part.name for part in verdict.findings] == ["1, x", "1, y", "2, x", "2, y"]
    paired = only(frame, tmp_path, "loss: b < a", seed="seed,size,data")
    assert (paired.findings[0].runs, paired.findings[0].method) == ((12, 12), "paired by seed")
