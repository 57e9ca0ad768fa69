"""How effects change along a ladder: on a study's page, its cards and the index, in words, numbers and a figure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Study
from folklore.harness.declare.metrics import MaxTrainable, RelativeGap, TunedLoss
from folklore.harness.judge.statistics.ladders import Rung, judge_ladder
from folklore.harness.judge.statistics.pooling import effect_of
from folklore.harness.judge.trend_sentences import trend_sentence
from folklore.harness.judge.trends import ClaimTrend, Point, Prediction
from folklore.harness.judge.trial_sets import HERE, TrialSet, trial_sets
from folklore.harness.judge.verdict_memory import JudgedTrials, published_verdicts
from folklore.harness.plan.catalog import Register, load_study, register
from folklore.reports import growth, site
from folklore.reports.figures.drawing import Panel
from folklore.reports.figures.growth import draw
from tests.harness.helpers import bowl, changed, frame, result
from tests.reports.links import dead_links
from tests.reports.test_site import REGISTER, in_document, of, records
from tests.verdicts import a_finding, a_verdict

pytestmark = pytest.mark.usefixtures("few_calibrated")
CLAIM, NAME = "warmup.improves_best", "tuned loss, none over half"
WIDTHS = {"laptop": 8, "wider": 16, "widest": 32, "gpu": 64}
OF_GROWN = Register(REGISTER.documents, (in_document(CLAIM, "grown", "2"),))
GAP = RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half"))
GAINED = Criterion(name=NAME, observe=GAP, claimed=AtLeast(value=0.02), refuted=AtMost(value=0.0), unit="relative")
RANGE = MaxTrainable(arm="half") / MaxTrainable(arm="none")
WIDER = Criterion(
    name="largest LR, half over none", observe=RANGE, claimed=AtLeast(value=1.2), refuted=AtMost(value=1.0), unit="x"
)


@pytest.fixture(scope="module")
def grown(study: Study) -> Study:
    scales = {name: {"description": name, "workload": {"width": width}} for name, width in WIDTHS.items()}
    judgements = [{"claim": CLAIM, "criteria": [GAINED]}]
    return changed(study, name="grown", scales=scales, ladder=tuple(WIDTHS), judgements=judgements)


def judged(*gaps: float) -> list[JudgedTrials]:
    """Verdicts of the first rungs, with gaps of this many percent and intervals of half a percent on either side."""
    verdicts = []
    for scale, gap in zip(WIDTHS, gaps, strict=False):
        ends = {"estimate": gap / 100, "low": (gap - 0.5) / 100, "high": (gap + 0.5) / 100}
        finding = a_finding(name=NAME, unit="relative", seeds=5, **ends)
        verdicts.append(a_verdict(study="grown", claim=CLAIM, scale=scale, findings=(finding,)))
    return [JudgedTrials(True, verdict.scale, verdict.device, [verdict], [], {}, []) for verdict in verdicts]


@pytest.fixture(scope="module")
def pages(study: Study, grown: Study, few_calibrated: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of trials in which the gap falls from 12% by 3 points a rung, and of a study without a ladder."""
    folder = tmp_path_factory.mktemp("pages")

    def at(scale: str, gap: float) -> TrialSet:
        floors = {"none": 2 * (1 + gap), "half": 2.0}
        trials = frame(grown, lambda trial: result(bowl(trial, -7, floors[trial.arm], noise=0.01)), scale)
        return trial_sets(grown, trials, HERE)[0]

    sets = [at(scale, gap) for scale, gap in zip(WIDTHS, (0.12, 0.09, 0.06, 0.03), strict=True)]
    site.write(folder, [grown, study], OF_GROWN, of([*sets, records(study)]))
    return folder


def read(page: Path) -> str:
    return " ".join(page.read_text().split())


def test_a_page_says_how_effects_change_before_its_scales(pages: Path) -> None:
    text = read(pages / "grown.html")
    contents, _, rest = text.partition('<section class="scale" id="as-models-grow">')
    shown, _, scales = rest.partition("</section>")
    assert '<a href="#as-models-grow">As models grow</a>' in contents
    assert 'class="mark" aria-hidden="true">↘</span>fades</span>' in shown
    assert "The effect fades from 888 to 50.1k parameters: it changes by <b>−" in shown
    assert shown.count('<tr><th scope="row">') == len(WIDTHS)
    assert shown.count("Predicted from the rungs below for ") == 2
    assert scales.count(f'<b>As models grow:</b> <a class="verdict" href="#{CLAIM}-growth">') == len(WIDTHS)
    assert dead_links(pages) == []


def test_without_a_ladder_nothing_is_said_of_growth(pages: Path) -> None:
    assert "s models grow" not in read(pages / "toy.html")


def test_the_card_of_a_claim_that_a_ladder_follows_shows_how_its_effect_changes(
    study: Study, grown: Study, few_calibrated: None, tmp_path: Path
) -> None:
    """With the ladder's figure, and a link to its page; the page of what is followed has no section of its own."""
    follower = "warmup.gain_with_size"
    ladder = changed(grown, name="ladder", judgements=[{"claim": follower, "criteria": [GAINED]}])
    asked_again = in_document(follower, "ladder", "2").model_copy(update={"follows": CLAIM})
    register = Register(REGISTER.documents, (in_document(CLAIM, "toy", "2"), asked_again))
    sets = [
        trial_sets(ladder, frame(ladder, lambda trial: result(bowl(trial, -7, 2.0, noise=0.01)), scale), HERE)[0]
        for scale in ("laptop", "wider")
    ]
    site.write(tmp_path, [ladder, study], register, of([*sets, records(study)]))
    text = read(tmp_path / "toy.html")
    assert f'<b>As models grow:</b> <a class="verdict" href="ladder.html#{follower}-growth">' in text
    assert f"{NAME}. The effect" in text
    assert f'<img src="figures/toy-{follower.replace(".", "-")}-growth.svg"' in text
    assert "as-models-grow" not in text.replace("glossary.html#as-models-grow", "")
    assert dead_links(tmp_path) == []


def test_the_index_has_the_word_with_a_link(pages: Path) -> None:
    text = read(pages / "index.html")
    assert '<a href="glossary.html#as-models-grow">As it grows</a></th>' in text
    assert f'<td data-label="as it grows"><a class="verdict" href="grown.html#{CLAIM}-growth">' in text


def test_one_page_has_every_ladder(pages: Path, study: Study, tmp_path: Path) -> None:
    """Each size with its verdict, the trend, predictions and the time that training took; the index leads there."""
    text = read(pages / "ladders.html")
    assert '<a href="ladders.html">As models grow</a>' in read(pages / "index.html")
    assert text.count('<a class="verdict" href="grown.html#') == len(WIDTHS)
    assert f'<span class="note">{NAME}</span>' in text
    assert "The effect fades from 888 to 50.1k parameters" in text
    assert text.count("Predicted from the rungs below for ") == 2
    assert text.count(" minutes") == len(WIDTHS)
    site.write(tmp_path, [study], REGISTER, of([records(study)]))
    assert not (tmp_path / "ladders.html").exists()


def test_one_size_has_a_number_and_no_trend(grown: Study) -> None:
    (row,) = growth.summary(grown, OF_GROWN, judged(12), ())["rows"]
    assert [rung["number"] for rung in row["rungs"]] == ["12.0% (11.5–12.5)"]
    assert (row["word"], row["predictions"]) == ("", [])
    assert growth.summary(grown, OF_GROWN, judged(), ())["rows"] == []


def test_a_size_that_was_not_tuned_says_so() -> None:
    ladder = load_study("decay_ladder")
    row, *_ = growth.summary(ladder, register(), published_verdicts(ladder), ())["rows"]
    assert [rung["scale"] for rung in row["rungs"] if rung["tuning"] == ", not tuned"] == ["rung_400k"]


def test_predictions_say_what_came(grown: Study, tmp_path: Path) -> None:
    """By hand: two rungs of 12% and 9% lead to 6%, and not to 15%."""
    (tmp_path / "figures").mkdir()

    def predicted(*gaps: float) -> list[str]:
        (shown,) = growth.content(grown, OF_GROWN, judged(*gaps), tmp_path)
        return list(shown["predictions"])

    (hit,), (missed,) = predicted(12, 9, 6.1), predicted(12, 9, 15)
    assert hit.startswith("Predicted from the rungs below for 12.8k parameters: 5.9%")
    assert hit.endswith("; measured: 6.1%: hit.")
    assert missed.endswith("; measured: 15.0%: missed.")
    assert predicted(12, 9) == []
    assert growth.content(grown, OF_GROWN, judged(12), tmp_path) == []


def test_what_a_declaration_predicted_is_what_is_judged(grown: Study, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    *below, rung = judged(12, 9, 15)
    kept = {"claim": CLAIM, "criterion": NAME, "size": 12_800.0, "estimate": 0.14, "low": 0.12, "high": 0.16}
    (shown,) = growth.content(grown, OF_GROWN, [*below, replace(rung, predicted=[kept])], tmp_path)
    (said,) = shown["predictions"]
    assert said.startswith("Predicted from the rungs below for 12.8k parameters: 14% (12–16)")
    assert said.endswith("; measured: 15.0%: hit.")


def test_words_of_a_claim_on_the_index(grown: Study, study: Study) -> None:
    assert growth.words(grown, judged(6, 6.1, 5.9, 6)) == {CLAIM: ["holds"]}
    assert growth.words(grown, judged(12, 6, 0, -6)) == {CLAIM: ["turns"]}
    assert growth.words(study, judged(12, 9)) == {}


def trend_of(criterion: Criterion, values: Sequence[float], devices: Sequence[str]) -> ClaimTrend:
    """Effects with standard errors of 0.01 at sizes that are tenfold."""
    log = criterion.observe.log_axis
    effects = [effect_of(math.log(value) if log else value, 0.01, 4, 5) for value in values]
    sizes = [1e4 * 10.0**rung for rung in range(len(values))]
    trend = judge_ladder([Rung(size, effect) for size, effect in zip(sizes, effects, strict=True)], 0.01)
    points = tuple(
        Point(f"{size:g}", device, size, *(math.exp(end) if log else end for end in (of.estimate, of.low, of.high)))
        for size, device, of in zip(sizes, devices, effects, strict=True)
    )
    last = Prediction(points[-1].scale, sizes[-1], values[-1], values[-1] * 0.5, values[-1] * 40, "hit")
    return ClaimTrend("c", criterion.name, criterion.written_in, points, trend, str(trend_sentence(trend)), (last,))


def panel_of(criterion: Criterion, values: Sequence[float], devices: Sequence[str]) -> Panel:
    (panel,) = draw(trend_of(criterion, values, devices), criterion).panels
    return panel


def test_the_figure_of_a_share_has_percent_and_tells_devices_apart() -> None:
    panel = panel_of(GAINED, (0.09, 0.06, 0.03), ("cpu", "cpu", "cuda"))
    assert panel.listed == ["on CPUs", "on GPUs"]
    assert [list(mark.numbers["y"]) for mark in panel.of("estimate")] == [pytest.approx([9, 6]), pytest.approx([3])]
    (line,), (ring,), (expected,) = (panel.of(kind) for kind in ("line", "ring", "beside"))
    assert list(line.numbers["y"]) == pytest.approx([9, 3])
    assert (list(line.numbers["x"]), list(ring.numbers["x"])) == ([1e4, 1e6], [1e6])
    assert expected.numbers["high"][0] == pytest.approx(120)
    assert panel.limits("y")[1] < 20
    assert {mark.series for mark in panel.of("region")} == {"_claimed", "_refuted"}


def test_the_figure_of_a_ratio_is_a_ratio() -> None:
    """The trend is of its logarithm."""
    panel = panel_of(WIDER, (2.0, 2.0 * math.sqrt(2), 4.0), ("cpu",) * 3)
    (line,) = panel.of("line")
    assert list(line.numbers["y"]) == pytest.approx([2, 4])
    assert (panel.y.log, panel.y.label, panel.listed) == (10, "effect (ratio)", [])
    assert "no effect is 1x" in panel.caption
