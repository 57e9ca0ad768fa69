"""Runs with a planted truth through a file to a verdict."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.errors import UserError
from tests.harness.elsewhere.planted import curves, finals, judged, only


@pytest.mark.parametrize(
    ("claim", "verdict", "reading"),
    [
        ("loss: b < a by 5%", "supported", ""),
        ("loss: b < a", "supported", ""),
        ("loss: b < a by 15%", "partly", "smaller"),
        ("loss: b < a by 80%", "refuted", "no effect"),
        ("loss: b > a", "refuted", "opposite"),
        ("loss: b <= a within 1%", "supported", ""),
        ("loss: b >= a within 1%", "refuted", "worse"),
        ("loss: b = a within 20%", "supported", ""),
        ("loss: b = a within 5%", "refuted", "different"),
        ("loss: c < a by 0.1%", "open", "too noisy"),
        ("loss: b < 1.95", "supported", ""),
        ("loss: b < 1.7", "refuted", "opposite"),
    ],
)
def test_a_planted_difference_of_ten_percent(tmp_path: Path, claim: str, verdict: str, reading: str) -> None:
    judged_claim = only(finals({"a": 2.0, "b": 1.8, "c": 2.0}, 6), tmp_path, claim)
    assert (judged_claim.verdict, judged_claim.reading) == (verdict, reading)


def test_pairs_are_matched_by_seed_and_not_by_place(tmp_path: Path) -> None:
    """The noise is the seed's: with seeds shuffled in one arm the pairs still cancel it."""
    frame = finals({"a": 2.0}, 8, noise=0.5)
    other = frame.assign(arm="b", loss=frame["loss"] - 0.01).sample(frac=1, random_state=0)
    assert only(pd.concat([frame, other]), tmp_path, "loss: b < a by 0.005").verdict == "supported"


def test_one_run_is_never_firm(tmp_path: Path) -> None:
    alone = finals({"a": 2.0, "b": 1.0}, 1)
    verdict = only(alone, tmp_path, "loss: b < a")
    assert (verdict.verdict, verdict.low) == ("open", None)
    assert "3 seeds" in verdict.settling
    lent = only(pd.concat([alone, finals({"c": 1.5, "d": 1.2}, 5)]), tmp_path, "loss: b < a")
    assert (lent.verdict, lent.firm) == ("supported", False)
    assert "single run" in lent.findings[0].method
    two = only(finals({"a": 2.0, "b": 1.0}, 2), tmp_path, "loss: b < a")
    assert not two.firm


def test_a_verdict_that_one_run_makes_is_fragile(tmp_path: Path) -> None:
    frame = finals({"a": 2.0, "b": 2.0}, 6).drop(columns="seed")
    a, b = (frame.loc[frame["arm"] == arm, "loss"].to_numpy() for arm in "ab")
    test = scipy.stats.ttest_ind(b, a, equal_var=False)
    error = (b.mean() - a.mean()) / test.statistic
    shift = -(b.mean() - a.mean()) - error * scipy.stats.t.ppf(1 - 0.045 / 2, test.df)  # p = 0.045
    verdict = only(frame.assign(loss=frame["loss"] + shift * (frame["arm"] == "b")), tmp_path, "loss: b < a")
    assert (verdict.verdict, round(verdict.p, 9)) == ("supported", 0.045)
    assert not verdict.firm
    assert any("without the run" in reason for reason in verdict.fragile)
    assert only(finals({"a": 2.0, "b": 1.8}, 6), tmp_path, "loss: b < a by 5%").firm


def test_a_small_arm_that_shows_little_spread_is_fragile(tmp_path: Path) -> None:
    """Three runs that lie close together, as of skewed losses they often do, against many that do not."""
    few, many = [1.30, 1.32, 1.34], 2.0 + 0.6 * np.array([-1, -1, -1, -1, -1, -1, -0.5, -0.5, 0, 0.5, 3, 4])
    frame = pd.DataFrame({"arm": ["b"] * len(few) + ["a"] * len(many), "loss": [*few, *many]})
    verdict = only(frame, tmp_path, "loss: b < a")
    assert verdict.p == pytest.approx(scipy.stats.ttest_ind(few, many, equal_var=False).pvalue, rel=1e-9)
    assert verdict.verdict == "supported"
    assert scipy.stats.ttest_ind(few, many).pvalue > 0.05
    assert "open if both arms vary alike" in verdict.fragile


def test_more_claims_ask_for_more(tmp_path: Path) -> None:
    """Benjamini and Hochberg: p = 0.02 is firm alone, and not beside nineteen claims about nothing."""
    frame = finals({f"m{index}": 2.0 for index in range(21)}, 300, seed=3).drop(columns="seed")
    base, other = (frame.loc[frame["arm"] == arm, "loss"].to_numpy() for arm in ("m0", "m1"))
    test = scipy.stats.ttest_ind(other, base, equal_var=False)
    error = (other.mean() - base.mean()) / test.statistic
    shift = base.mean() - other.mean() - error * scipy.stats.t.ppf(0.99, test.df)
    frame["loss"] += shift * (frame["arm"] == "m1")
    many = {verdict.claim.arm: verdict for verdict in judged(frame, tmp_path, compare="m0", better="lower").claims}
    alone = only(frame, tmp_path, "loss: m1 < m0")
    assert many["m1"].p == pytest.approx(alone.p) == pytest.approx(0.02)
    assert (alone.verdict, alone.firm, many["m1"].firm) == ("supported", True, False)


def test_diverged_runs_are_outcomes(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.9}, 6, [100, 200, 400])
    broken = (frame["arm"] == "b") & (frame["seed"] < 3) & (frame["step"] == 400)
    frame.loc[broken, "loss"] = [np.nan, np.inf, np.nan]
    verdict = only(frame, tmp_path, "loss: b < a")
    assert verdict.verdict != "supported"
    assert any("3 of 6 runs of 'b'" in note for note in verdict.notes)
    b = verdict.findings[0].samples[0]
    assert np.sum(b > 2.8) == 3  # where runs began


def test_tasks(tmp_path: Path) -> None:
    same = pd.concat([finals({"a": base, "b": 0.9 * base}, 4, seed=base, env=f"e{base}") for base in (1, 2, 5)])
    verdict = only(same, tmp_path, "loss: b < a by 5%", task="env")
    assert (verdict.verdict, len(verdict.findings)) == ("supported", 3)
    assert verdict.estimate == pytest.approx(-0.1, abs=0.01)
    apart = pd.concat([same, finals({"a": 1.0, "b": 1.2}, 4, seed=9, env="e9")])
    other = only(apart, tmp_path, "loss: b < a by 5%", task="env")
    assert (other.verdict, other.reading, other.estimate) == ("partly", "some workloads", None)
    assert "fails on e9" in other.reason
    assert only(apart, tmp_path, "loss: b < a by 5% on some tasks", task="env").verdict == "supported"


def test_sizes_have_no_number_in_common(tmp_path: Path) -> None:
    frame = pd.concat([finals({"a": 2.0, "b": 2.0 - gain}, 5, seed=size, params=size)
                       for size, gain in ((10, 0.3), (100, 0.1), (1000, -0.2))])  # fmt: skip
    verdict = only(frame, tmp_path, "loss: b < a over params")
    assert (verdict.verdict, verdict.estimate) == ("partly", None)
    assert any("sign changes" in note for note in verdict.notes)
    assert any("for each doubling" in note for note in verdict.notes)


def test_steps_to_a_value(tmp_path: Path) -> None:
    """Loss is mean + 100 / step: 2.2 is reached at 500 by an arm that ends at 2, and at 1000 by one that ends at 2.1."""
    frame = curves({"a": 2.1, "b": 2.0}, 5, [100, 200, 400, 600, 800, 1000, 1200], noise=0.0005)
    verdict = only(frame, tmp_path, "steps to loss 2.2: b < a by 40%")
    assert verdict.verdict == "supported"
    assert verdict.estimate == pytest.approx(-0.5, abs=0.03)
    saved = only(frame, tmp_path, "loss: b < a")
    assert any("reaches the end of 'a'" in note for note in saved.notes)


def test_a_step(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 2.0}, 4, [100, 200, 400])
    frame.loc[(frame["arm"] == "b") & (frame["step"] < 400), "loss"] -= 0.5
    assert only(frame, tmp_path, "loss at 200: b < a by 0.3").verdict == "supported"
    assert only(frame, tmp_path, "loss: b < a by 0.3").verdict != "supported"
    with pytest.raises(UserError, match="no run came to step 500"):
        only(frame, tmp_path, "loss at 500: b < a")


def test_laws(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    rows = [(model, size, run, level * (1 + size / critical) * np.exp(0.01 * drawn.standard_normal()))
            for model, level, critical in (("x", 5.0, 64), ("y", 90.0, 512)) for size in (16, 32, 64, 128, 256, 512)
            for run in range(4)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["model", "batch", "run", "samples"])
    verdict = only(frame, tmp_path, "samples: hyperbola in batch within 8%", task="model")
    assert (verdict.verdict, verdict.firm) == ("supported", True)
    assert [part.samples[2][1] for part in verdict.findings] == pytest.approx([64, 512], rel=0.1)
    power = frame.assign(samples=10 * frame["batch"] ** 0.5)
    assert only(power, tmp_path, "samples: hyperbola in batch within 2%", task="model").verdict == "refuted"


def test_tuned_arms(tmp_path: Path) -> None:
    pytest.importorskip("opda")
    drawn = np.random.default_rng(0)
    rows = [{"arm": arm, "lr": lr, "loss": best + drawn.exponential(0.1)} for arm, best in (("a", 2.0), ("b", 1.7))
            for lr in 10 ** drawn.uniform(-4, -1, 20)]  # fmt: skip
    frame = pd.DataFrame(rows)
    verdict = only(frame, tmp_path, "loss: b < a by 5%", tuned=True)
    assert verdict.verdict == "supported"
    assert only(frame, tmp_path, "loss: a < b", tuned=True).verdict == "refuted"
    assert not only(frame, tmp_path, "loss: b < a").firm  # arms mix LRs


def test_points_are_hundredths_of_a_share(tmp_path: Path) -> None:
    frame = finals({"a": 0.90, "b": 0.93}, 6, noise=0.001).rename(columns={"loss": "accuracy"})
    assert only(frame, tmp_path, "accuracy: b > a by 2 points").verdict == "supported"
    assert only(frame.assign(accuracy=100 * frame["accuracy"]), tmp_path, "accuracy: b > a by 2 points").verdict == "supported"
    assert only(frame, tmp_path, "accuracy: b > a by 4 points").verdict == "partly"
    assert only(frame, tmp_path, "accuracy: b > 0.9 by 2 points").verdict == "supported"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("loss: adamw < sgd", "no arm named 'adamw': did you mean 'adam'"),
        ("losses: adam < sgd", "did you mean 'loss'"),
        ("loss: adam < sgd over width", "no column named 'width'"),
        ("loss at 3: adam < sgd", "have no steps"),
        ("loss: adam < 0 by 1%", "0 is no base for percentages; claim an absolute difference"),
        ("loss: adam < sgd over seed2", "no column named 'seed2'"),
    ],
)
def test_bad_claims_end_in_one_line(tmp_path: Path, claim: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        only(finals({"adam": 2.0, "sgd": 1.9}, 3), tmp_path, claim)


def test_guesses_that_would_change_the_answer_are_questions(tmp_path: Path) -> None:
    frame = finals({"a": 2.0, "b": 1.9}, 3)
    two = frame.rename(columns={"loss": "train_loss"}).assign(val_loss=1.0)
    with pytest.raises(UserError, match="could be 'train_loss', 'val_loss': say which with --metric"):
        only(two, tmp_path, "loss: b < a")
    both = frame.assign(method=frame["arm"], optimizer=frame["arm"]).drop(columns="arm")
    with pytest.raises(UserError, match="say which holds the arms with --arm"):
        only(both, tmp_path, "loss: b < a")
    assert only(both, tmp_path, "loss: b < a", arm="method").verdict
    with pytest.raises(UserError, match="Say --minimize or --maximize"):
        judged(frame.rename(columns={"loss": "value"}), tmp_path, compare="a")


def test_wide_tables(tmp_path: Path) -> None:
    wide = pd.DataFrame({"arm": ["a", "b"], **{f"loss_seed_{seed}": [2.0 + 0.1 * seed, 1.8 + 0.1 * seed] for seed in range(5)}})
    wide.loc[0, "loss_seed_0"] += 1e-3  # or the pairs agree to the last digit
    assert only(wide, tmp_path, "loss: b < a by 5%").verdict == "supported"
    arms = pd.DataFrame({"seed": range(5), "adam": [1.0, 1.1, 1.2, 1.05, 1.15], "sgd": [2.0, 2.1, 2.2, 2.06, 2.15]})
    assert only(arms, tmp_path, "loss: adam < sgd", metric="value").verdict == "supported"


def test_a_hundred_thousand_rows(tmp_path: Path) -> None:
    """That they are judged at all, with every check; it takes about three seconds."""
    frame = curves({f"arm{index}": 2.0 + 0.01 * index for index in range(10)}, 20, range(1, 501))
    report = judged(frame, tmp_path, "loss: arm0 < arm9 by 1%")
    assert report.claims[0].verdict == "supported"
    assert len(report.runs[0].frame) == 100_000


def test_a_name_that_is_a_number_is_a_question(tmp_path: Path) -> None:
    frame = finals({"1": 2.0, "64": 1.8}, 4)
    with pytest.raises(UserError, match="Put the arm in quotes"):
        only(frame, tmp_path, "loss: 64 < 1")
    assert only(frame, tmp_path, "loss: '64' < '1'").estimate == pytest.approx(-0.2, abs=0.05)
    assert only(frame, tmp_path, "loss: 64 < +1").estimate == pytest.approx(0.8, abs=0.05)


def test_rows_are_chosen(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.9}, 4, [100, 200, 400])
    report = judged(frame, tmp_path, "loss: b < a", where=["step<=200", "seed!=0"])
    assert len(report.runs[0].frame) == 12
    for wrong, words in (
        ("step", "must be COLUMN=VALUE"),
        ("step<x", "is no number"),
        ("arm=c", "no value of arm"),
        ("step>9e9", "no row"),
    ):
        with pytest.raises(UserError, match=words):
            judged(frame, tmp_path, "loss: b < a", where=[wrong])


def test_equal_runs_are_no_proof_of_equal_arms(tmp_path: Path) -> None:
    frame = finals({"a": 2.0}, 5)
    verdict = only(pd.concat([frame, frame.assign(arm="b"), finals({"c": 1.8}, 5)]), tmp_path, "loss: a = b within 1%")
    assert (verdict.verdict, verdict.firm) == ("supported", False)


def test_one_run_a_size_takes_its_noise_from_the_scatter_about_the_trend(tmp_path: Path) -> None:
    """b gains 0.02 at 1M parameters and loses 0.005 with each doubling: its sign turns at 16M."""
    drawn = np.random.default_rng(0)
    sizes = 2.0 ** np.arange(20, 32, 0.5)
    rows = [
        {"arm": arm, "params": size, "loss": 4 - np.log2(size) / 20 + (arm == "b") * (0.005 * np.log2(size / 2**24))
         + 0.002 * drawn.standard_normal()}
        for size in drawn.permutation(sizes)
        for arm in "ab"
    ]  # fmt: skip
    verdict = only(pd.DataFrame(rows), tmp_path, "loss: b < a over params")
    assert (verdict.verdict, verdict.firm) == ("partly", False)
    assert [part.name for part in verdict.findings] == [f"params {size:g}" for size in sizes]
    (turn,) = [note for note in verdict.notes if "its sign turns near" in note]
    assert 2**23.5 < float(turn.split()[-1]) < 2**24.5
    (slope,) = [note for note in verdict.notes if "for each doubling" in note]
    assert float(slope.split("changes by ")[1].split(" ")[0]) == pytest.approx(0.005, abs=0.0005)


def test_compute_saved_takes_its_direction_from_the_claim(tmp_path: Path) -> None:
    """A quantity whose name tells no direction, and that rises: b reaches a's end half-way."""
    steps = list(range(10, 110, 10))
    rows = [
        {"arm": arm, "seed": seed, "step": step, "Quantity": speed * step + 0.01 * seed}
        for arm, speed in (("a", 1.0), ("b", 2.0))
        for seed in range(3)
        for step in steps
    ]
    verdict = only(pd.DataFrame(rows), tmp_path, "Quantity: b > a")
    assert any("'b' reaches the end of 'a' (100) in 50% of its steps" in note for note in verdict.notes), verdict.notes


def test_a_number_is_the_other_side_of_a_comparison(tmp_path: Path) -> None:
    """Its share, its known spread, tasks that are a sample, and runs that diverged count as beside an arm."""
    one = finals({"a": 2.0}, 1, noise=0.0)
    for deviation, verdict in ((0.05, "supported"), (0.06, "open")):
        judged_claim = only(one, tmp_path, "loss: a < 2.1", how=Assumptions(deviation=deviation))
        assert (judged_claim.verdict, judged_claim.findings[0].runs) == (verdict, (1, 0))
    assert only(one, tmp_path, "loss: a < 4 by 1%").estimate == pytest.approx(-0.5)
    apart = pd.concat([finals({"a": mean}, 4, seed=int(mean), env=f"e{mean}") for mean in (1.0, 2.0, 5.0)])
    assert "open for tasks of which these are a sample" in only(apart, tmp_path, "loss: a < 3", task="env").fragile
    apart.loc[apart["seed"] == 2, "loss"] = np.nan
    assert "3 of 12 runs of 'a' end without a finite number" in only(apart, tmp_path, "loss: a < 3", task="env").notes


def test_a_known_spread_is_hinted_at(tmp_path: Path) -> None:
    judged_claim = only(finals({"a": 2.0, "b": 1.9}, 1, noise=0.0), tmp_path, "loss: b < a")
    assert judged_claim.settling.endswith("or give their standard deviation with --sd: below 0.036 shows a difference")
    for deviation, verdict in ((0.035, "supported"), (0.037, "open")):
        assert (
            only(
                finals({"a": 2.0, "b": 1.9}, 1, noise=0.0), tmp_path, "loss: b < a", how=Assumptions(deviation=deviation)
            ).verdict
            == verdict
        )
