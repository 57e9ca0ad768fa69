"""Real runs with published answers: each is judged, and its answer equal to the published one or the difference explained."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy

from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.elsewhere.judge_runs import JudgedRuns, JudgeOptions, judge_sources
from folklore.harness.elsewhere.roles import ReadingOptions
from tests.places import SHARED

RUNS = SHARED / "runs"
pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason="the runs that others published are not beside the project")

RECORDS = {
    8: "20260430_normuonh",
    9: "20260501_skylight001",
    11: "20260501_contra_muon",
    13: "20260504_muloco_normuonh",
    30: "20260514_aurora_proj_pruned_extended_contra",
    34: "20260520_rre_extrapolation_pr300_2925",
}


def judge(file: str, *claims: str, reading: ReadingOptions, how: Assumptions | None = None) -> JudgedRuns:
    return judge_sources([str(RUNS / file)], JudgeOptions(claims, reading=reading, how=how or Assumptions()))


def one_sided(record: int, than: int, until: int) -> float:
    """The p value by the speed-run's own rule: a standard deviation of 0.0013 between runs, 0.0045 for a hundred steps. until:
    the last step that is read."""
    reading = ReadingOptions({"arm": "record"}, ("track=track_3_optimization", f"step<={until}"))
    how = Assumptions(deviation=0.0013, step_worth=0.0045 / 100)
    (verdict,) = judge(
        "modded_nanogpt.csv.gz", f"val_loss: {RECORDS[record]} < {RECORDS[than]}", reading=reading, how=how
    ).claims
    assert verdict.verdict == "open" or verdict.p <= 0.05
    effect = verdict.findings[0].effect
    assert effect is not None
    lower = effect.p_inside(-math.inf, 0.0) / 2
    return lower if lower < 0.5 else 1 - effect.p_inside(0.0, math.inf) / 2


@pytest.mark.parametrize(
    ("record", "than", "until", "recomputed"),
    [(11, 9, 3250, 0.73), (13, 11, 3250, 0.077), (13, 8, 3250, 0.012), (34, 30, 2930, 0.168)],
)
def test_the_speed_run(record: int, than: int, until: int, recomputed: float) -> None:
    """Recomputed from the logs; the printed values (.69, .099, .029, .168) are of means rounded to four digits. Some runs go on
    after the step that is read: record 8's to 3275, record 30's to 3020."""
    assert one_sided(record, than, until) == pytest.approx(recomputed, abs=0.005)


def test_the_speed_run_without_its_rule() -> None:
    """By the runs' own spread and at their own ends record 11 is worse than 9: it trains for 25 steps less."""
    reading = ReadingOptions({"arm": "record"}, ("track=track_3_optimization",))
    report = judge("modded_nanogpt.csv.gz", f"val_loss: {RECORDS[11]} < {RECORDS[9]}", reading=reading)
    assert (report.claims[0].verdict, report.claims[0].reading) == ("refuted", "opposite")
    assert any("another number of steps" in problem.what for problem in report.problems)
    # Nine in one folder; in another 'fake_log_from_seed0' repeats the first of eight runs whose logs are all called 'stdout'.
    assert [problem.count for problem in report.problems if problem.what == "runs that are there twice"] == [10]


# The reference points that lie on a hyperbola, with the published root mean square of the logarithm and critical batch size
# (0: not published). Of all rounds together two differ, for later rounds add runs with other settings: RNN-T (.023) and DeepCAM
# (.070); of one round they agree.
HYPERBOLAS = {
    "llama31_8b": (0.026, 84),
    "gpt_oss_20b": (0.009, 72),
    "llama31_405b": (0.013, 0),
    "resnet": (0.037, 47_000),
    "bert": (0.064, 0),
    "retinanet": (0.068, 0),
    "gnn": (0.014, 0),
}


def test_mlperf() -> None:
    reading = ReadingOptions({"task": "benchmark"})
    report = judge("mlperf_rcp.csv.gz", "epochs_to_converge: hyperbola in batch_size within 8%", reading=reading)
    parts = {part.name: part for part in report.claims[0].findings}
    for name, (missed, critical) in HYPERBOLAS.items():
        assert parts[name].estimate == pytest.approx(missed, abs=0.004), name
        assert parts[name].verdict == "supported", name
        if critical:
            assert parts[name].samples[2][1] == pytest.approx(critical, rel=0.02), name
    problems = {problem.what: problem for problem in report.problems}
    # Of 12,853 rows 4,228 are distinct, by their values; 123 of the repeated ones have another base_lr, and so count.
    assert problems["runs that are there twice"].count == 12_853 - 4_228 - 123
    assert problems["runs that are there twice"].consequence == "counted once; 123 more agree in all but base_lr and count"
    assert set(problems["names that stand for values in two units"].examples) == {"ssd", "unet3d"}
    assert problems["tasks whose runs are identical"].examples == ("gnn = rgat",)


@pytest.mark.parametrize(
    ("benchmark", "of_round", "missed"),
    [("rnnt", "training_3.0.0", 0.023), ("deepcam", "hpc_3.0.0", 0.070), ("llama31_405b", "training_5.0.0", 0.013)],
)
def test_mlperf_by_round(benchmark: str, of_round: str, missed: float) -> None:
    reading = ReadingOptions({"task": "benchmark"}, (f"round={of_round}", f"benchmark={benchmark}"))
    (verdict,) = judge("mlperf_rcp.csv.gz", "epochs_to_converge: hyperbola in batch_size within 8%", reading=reading).claims
    assert verdict.findings[0].estimate == pytest.approx(missed, abs=0.001)


def test_why_warmup_has_one_seed_each() -> None:
    """Adam at an LR of 0.041 fails without warmup and trains with 1,024 steps of it: in two single runs."""
    reading = ReadingOptions({"arm": "warmup"}, ("optimizer=adam", "lr>0.04", "lr<0.042"))
    (verdict,) = judge("why_warmup.csv", "last_test_accuracy: '1024' > '1'", reading=reading).claims
    assert verdict.estimate is not None
    assert verdict.estimate > 0.5
    assert not verdict.firm
    assert verdict.verdict == "open"


def test_questions_on_passages_are_compared_by_the_means_of_passages() -> None:
    """Five questions a passage: Student's test of 40 means, by SciPy."""
    reading = ReadingOptions({"item": "question", "cluster": "passage"})
    (verdict,) = judge("turn4/items.csv", "correct: B > A", reading=reading).claims
    by_passage = pd.read_csv(RUNS / "turn4" / "items.csv").pivot_table(index="passage", columns="model", values="correct")
    low, high = scipy.stats.ttest_1samp(by_passage["B"] - by_passage["A"], 0.0).confidence_interval(0.95)
    np.testing.assert_allclose([verdict.low, verdict.high], [low, high])
    assert (verdict.verdict, verdict.strength) == ("supported", "firm")


def test_neighbouring_records_by_the_rule_of_their_contest() -> None:
    """Of 27 neighbours with three runs or more each 5 gain .005 at p < .01, 15 gain anything, 6 not even at p < .05."""
    table = pd.read_csv(RUNS / "turn4" / "parameter_golf.csv")
    counts = table["record"].value_counts(sort=False)
    claims = [
        f"val_bpb: '{after}' < '{before}'"
        for before, after in itertools.pairwise(counts.index)
        if min(counts[[before, after]]) > 2
    ]
    reading, unpaired = ReadingOptions({"arm": "record"}), Assumptions(paired=False)
    verdicts = judge("turn4/parameter_golf.csv", *claims, reading=reading, how=unpaired).claims
    gains = [(-float(verdict.estimate or 0.0), verdict.p / 2) for verdict in verdicts]
    assert len(gains) == 27
    assert sum(gain >= 0.005 and p < 0.01 for gain, p in gains) == 5
    assert sum(gain > 0 and p < 0.01 for gain, p in gains) == 15
    assert sum(not (gain > 0 and p < 0.05) for gain, p in gains) == 6
