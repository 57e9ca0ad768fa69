"""Trends of a study's criteria along its ladder, of planted effects."""

from collections.abc import Mapping

import pytest

from folklore.harness.declare import Scale, Study
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.judge import judge
from folklore.harness.judge.trends import predictions, slopes_in_view, trends
from folklore.harness.judge.verdict import Verdict
from folklore.harness.train.result import LaneResult
from tests.harness.helpers import bowl, changed, frame, result

LADDER = ("laptop", "middle", "wide")
WIDTHS = dict(zip(LADDER, (8, 16, 32), strict=True))


@pytest.fixture(scope="module")
def climbing(study: Study) -> Study:
    scales = {name: Scale(description=name, workload={"width": width}).model_dump() for name, width in WIDTHS.items()}
    return changed(study, scales=scales, ladder=LADDER)


def verdicts(study: Study, gaps: Mapping[str, float], noise: float = 0.002) -> list[Verdict]:
    """gaps: by scale, of the arm without warmup over the other, relative."""

    def outcome(trial: Trial) -> LaneResult:
        gap = next(gaps[scale] for scale, width in WIDTHS.items() if width == trial.configuration.workload.width)
        return result(bowl(trial, -7, 2.0 * (1 + gap * (trial.arm == "none")), noise=noise))

    return [verdict for scale in gaps for verdict in judge(study, scale, "cpu", frame(study, outcome, scale))]


@pytest.mark.parametrize(
    ("gaps", "word"),
    [
        ((0.05, 0.05, 0.05), "holds"),
        ((0.09, 0.06, 0.03), "fades"),
        ((0.03, 0.06, 0.09), "grows"),
        ((0.05, 0.0, -0.05), "turns"),
    ],
)
def test_a_planted_trend_has_its_word(climbing: Study, gaps: tuple[float, ...], word: str) -> None:
    (trend,) = trends(climbing, verdicts(climbing, dict(zip(LADDER, gaps, strict=True))))
    assert (trend.claim, trend.trend.word) == ("warmup.improves_best", word)
    assert [point.scale for point in trend.points] == list(LADDER)
    assert [point.estimate for point in trend.points] == pytest.approx(gaps, abs=0.01)
    assert trend.points[1].size == pytest.approx(4 * trend.points[0].size, rel=0.2), "quadratic in the width"


def test_the_rungs_below_predict_the_next_one(climbing: Study) -> None:
    """A rung's page compares its result with the prediction made before it was trained; a bend is a miss."""
    below = verdicts(climbing, {"laptop": 0.09, "middle": 0.06})
    (before,) = predictions(climbing, "wide", below)
    for last, came in ((0.03, "hit"), (0.2, "missed")):
        (trend,) = trends(climbing, [*below, *verdicts(climbing, {"wide": last})])
        (checked,) = trend.predictions
        assert (checked.scale, checked.outcome) == ("wide", came)
        assert before == {"claim": trend.claim, "criterion": trend.criterion} | {
            name: getattr(checked, name) for name in ("size", "estimate", "low", "high")
        }
    assert before["estimate"] == pytest.approx(0.03, abs=0.01)


def test_a_prediction_that_was_kept_stays_when_a_rung_below_changes(climbing: Study) -> None:
    """More seeds of the middle rung would have led elsewhere: what was predicted before the last one was trained is judged."""
    below, last = verdicts(climbing, {"laptop": 0.09, "middle": 0.06}), verdicts(climbing, {"wide": 0.03})
    kept = {"wide": predictions(climbing, "wide", below)}
    changed_since = [*verdicts(climbing, {"laptop": 0.09, "middle": 0.09}), *last]
    ((again,),) = (trend.predictions for trend in trends(climbing, changed_since))
    ((as_kept,),) = (trend.predictions for trend in trends(climbing, changed_since, kept))
    assert (again.outcome, as_kept.outcome) == ("missed", "hit")
    assert as_kept.estimate == kept["wide"][0]["estimate"]


def test_one_rung_says_nothing_and_what_is_no_rung_is_not_predicted(climbing: Study, study: Study) -> None:
    first = verdicts(climbing, {"laptop": 0.09})
    assert trends(climbing, first) == []
    assert predictions(climbing, "middle", first) == []
    assert predictions(climbing, "smoke", first) == []
    assert trends(study, first) == []


def test_a_longer_ladder_shows_a_smaller_slope(climbing: Study) -> None:
    below = verdicts(climbing, {"laptop": 0.05, "middle": 0.05}, noise=0.02)
    (short,), (long,) = (slopes_in_view(climbing, scale, below) for scale in LADDER[1:])
    assert short[0] == long[0] == "tuned loss, none over half"
    assert float(long[1].strip("+%")) < float(short[1].strip("+%"))
