"""Which seeds and which choices a verdict rests on."""

import math
from dataclasses import asdict, replace

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_json

from folklore.harness.declare import Alternative as DeclaredAlternative
from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Observable, Outside, Rule, Study, Within
from folklore.harness.declare.metrics import Curve, Gap, MaxTrainable, Optimum, Quotient, RelativeGap, Scaled, TunedLoss
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.error_rates import FRAGILE, error_rates, standing, why_fragile
from folklore.harness.judge.judge import judge
from folklore.harness.judge.outcomes import OPEN, REFUTED, SUPPORTED
from folklore.harness.judge.robustness import THRESHOLDS, Alternative, Robustness, robustness
from folklore.harness.plan import catalog
from folklore.harness.train.result import LaneResult
from tests.harness.helpers import bowl, changed, frame, result
from tests.verdicts import a_verdict


def _judged(study: Study, outcome) -> tuple[Robustness, ...]:
    trials = frame(study, outcome)
    return tuple(robustness(study, "laptop", "cpu", trials, judge(study, "laptop", "cpu", trials)))


def _gap(by_seed: dict[int, float]):
    def outcome(trial: Trial) -> LaneResult:
        gap = by_seed[trial.seed] if trial.arm == "none" else 0.0
        return result(min(4.9, bowl(trial, -7, 2.0) + gap))

    return outcome


def test_a_verdict_that_rests_on_no_seed(wide: Study) -> None:
    (sensitivity,) = _judged(wide, _gap({seed: 0.1 + 0.001 * seed for seed in range(5)}))
    assert sensitivity.verdict == SUPPORTED
    assert sensitivity.without_seed == dict.fromkeys(range(5), SUPPORTED)
    assert sensitivity.seeds_that_matter == []


def test_the_one_seed_that_matters(wide: Study) -> None:
    """Four seeds agree, and one spoils it: without that one the claim is supported."""
    (sensitivity,) = _judged(wide, _gap({0: 0.1, 1: 0.101, 2: 0.102, 3: 0.103, 4: -0.3}))
    assert sensitivity.verdict == OPEN
    assert sensitivity.seeds_that_matter == [4]
    assert sensitivity.without_seed[4] == SUPPORTED


def _on_ratio(study: Study, supported, refuted) -> Study:
    ratio = Quotient(top=MaxTrainable(arm="half", within=0.05), bottom=MaxTrainable(arm="none", within=0.05))
    criterion = Criterion(name="ratio", observe=ratio, claimed=supported, refuted=refuted, unit="x")
    judgement = Judgement(claim="warmup.widens", criteria=(criterion,))
    return changed(study, judgements=(judgement,))


def _two_octaves(trial: Trial) -> LaneResult:
    """half trains up to LRs four times as large."""
    optimum = {"none": -7, "half": -5}[trial.arm]
    return result(min(4.9, bowl(trial, optimum, 2.0) + 0.001 * trial.seed))


def test_thresholds_move_on_the_axis_of_the_ratio(wide: Study) -> None:
    """Four times is beyond 3.5 (and 3.5^0.75), and short of 3.5^1.25 = 4.8."""
    (sensitivity,) = _judged(_on_ratio(wide, AtLeast(value=3.5), AtMost(value=1.2)), _two_octaves)
    by_choice = {alternative.choice: alternative.verdict for alternative in sensitivity.alternatives}
    assert sensitivity.verdict == SUPPORTED
    assert by_choice["thresholds a quarter nearer"] == SUPPORTED
    assert by_choice["thresholds a quarter further"] == OPEN
    assert by_choice["half the margin"] == by_choice["twice the margin"] == SUPPORTED
    assert [alternative.choice for alternative in sensitivity.choices_that_matter] == ["thresholds a quarter further"]


def test_bands_are_narrowed_around_their_middle(wide: Study) -> None:
    """4 lies in [3.9, 6], and not in the band of three quarters of its width around sqrt(3.9 * 6)."""
    (sensitivity,) = _judged(_on_ratio(wide, Within(low=3.9, high=6.0), AtMost(value=1.0)), _two_octaves)
    assert sensitivity.verdict == SUPPORTED
    narrow = math.sqrt(3.9 * 6) / math.sqrt(6 / 3.9) ** 0.75
    assert narrow > 4.0
    assert {alternative.choice for alternative in sensitivity.choices_that_matter} >= {"thresholds a quarter nearer"}


def test_what_a_diverged_run_counts_with(wide: Study) -> None:
    """Arm none diverges in one seed at its best LR: how much that costs decides the claim."""

    def outcome(trial: Trial) -> LaneResult:
        if trial.arm == "none" and trial.seed == 0:
            return result(float("nan"), divergence_step=3)
        gap = 0.0 if trial.arm == "none" else 0.05
        return result(min(4.9, bowl(trial, -7, 2.0) + gap + 0.001 * trial.seed))

    (sensitivity,) = _judged(wide, outcome)
    choices = {alternative.choice for alternative in sensitivity.alternatives}
    assert {
        "a diverged run counts with twice its initial loss",
        "a diverged run counts with the worst finished one of its arm",
        "a run that ends with a finite loss has not diverged",
        "a run that ends above 90% of its initial loss has diverged",
    } <= choices
    assert 0 in sensitivity.seeds_that_matter
    assert sensitivity.without_seed[0] == REFUTED


def test_a_declared_reading_is_tried(wide: Study) -> None:
    """A study names another reading of its criterion; the verdict under it is listed by that name, and makes it fragile."""
    gap = RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half"))
    turned = RelativeGap(left=TunedLoss(arm="half"), right=TunedLoss(arm="none"))
    criterion = Criterion(
        name="gap",
        observe=gap,
        claimed=AtLeast(value=0.0),
        refuted=AtMost(value=0.0),
        unit="relative",
        alternatives=(DeclaredAlternative(name="the other way round", observe=turned),),
    )
    study = wide.model_copy(update={"judgements": (Judgement(claim="warmup.improves_best", criteria=(criterion,)),)})
    trials = frame(study, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001)))
    verdicts = judge(study, "laptop", "cpu", trials)
    (sensitivity,) = robustness(study, "laptop", "cpu", trials, verdicts)
    assert verdicts[0].verdict == SUPPORTED
    assert {alternative.choice: alternative.verdict for alternative in sensitivity.readings_that_matter} == {
        "the other way round": REFUTED
    }
    why, _ = why_fragile(verdicts[0], sensitivity, error_rates(verdicts))
    assert "the other way round" in why
    assert standing(verdicts[0], sensitivity, error_rates(verdicts)) == FRAGILE


def test_a_window_in_which_nothing_lies_is_no_reading(wide: Study) -> None:
    """Rises from 60% of the run on: half of that leaves more points, twice of it a single one, which cannot rise."""
    rises = Criterion(
        name="rises",
        observe=Curve(arm="none", of="train_loss", statistic="rises", first=0.6),
        claimed=AtMost(value=0.2),
        refuted=AtLeast(value=0.5),
    )
    points = [float(step) for step in range(1, 11)]

    def outcome(trial: Trial) -> LaneResult:
        return result(bowl(trial, -7, 2.0), step=points, train_loss=points[::-1])

    def choices(*criteria: Criterion) -> set[str]:
        study = wide.model_copy(update={"judgements": (Judgement(claim="warmup.widens", criteria=criteria),)})
        (sensitivity,) = _judged(study, outcome)
        return {alternative.choice for alternative in sensitivity.alternatives}

    assert "half the window" in choices(rises)
    assert "twice the window" not in choices(rises)
    # A part that does turn with it is not passed over: the mean of the last points is 2.5, that of the last one 1.
    mean = Criterion(
        name="mean",
        observe=Curve(arm="none", of="train_loss", first=0.6),
        claimed=AtLeast(value=2.0),
        refuted=AtMost(value=1.5),
    )
    assert "twice the window" in choices(rises, mean)


def _asking(study: Study, left: str, claimed: Rule) -> Study:
    gap = RelativeGap(left=TunedLoss(arm=left), right=TunedLoss(arm="half"))
    criterion = Criterion(name="gap", observe=gap, claimed=claimed, refuted=AtMost(value=-1.0))
    return changed(study, judgements=(Judgement(claim="warmup.widens", criteria=(criterion,)),))


def test_what_earlier_versions_asked_is_tried(wide: Study) -> None:
    """One declaration asked for more, one for the same, and one of an arm that is no longer trained."""
    study = _asking(wide, "none", AtLeast(value=0.01))
    more = _asking(wide, "none", AtLeast(value=0.9))
    former = changed(wide, {"arms.tenth": {"label": "a tenth", "settings": {"warmup_fraction": 0.1}}})
    gone = _asking(former, "tenth", AtLeast(value=0.01))
    trials = frame(study, _gap({seed: 0.1 + 0.001 * seed for seed in range(5)}))
    before = {"more": more.judgements, "the same": study.judgements, "gone": gone.judgements}
    (sensitivity,) = robustness(study, "laptop", "cpu", trials, judge(study, "laptop", "cpu", trials), earlier=before)
    assert sensitivity.verdict == SUPPORTED
    assert {
        alternative.choice: alternative.verdict for alternative in sensitivity.alternatives if alternative.choice in before
    } == {"more": OPEN}


def test_a_verdict_that_turns_with_its_thresholds_is_fragile() -> None:
    """Though they are no other reading of the data."""
    moved = Alternative("thresholds a quarter further", OPEN, moved=True)
    robust = Robustness("claim", SUPPORTED, {0: SUPPORTED}, (moved,))
    assert robust.choices_that_matter == [moved]
    assert robust.readings_that_matter == []
    verdict = a_verdict(claim="claim", verdict=SUPPORTED, p=0.001)
    assert why_fragile(verdict, robust, error_rates([verdict])) == ["with thresholds a quarter further it is open"]
    same = replace(robust, alternatives=(replace(moved, verdict=SUPPORTED),))
    assert why_fragile(verdict, same, error_rates([verdict])) == []


def test_they_come_back_from_json(wide: Study) -> None:
    (sensitivity,) = _judged(wide, _gap(dict.fromkeys(range(5), 0.1)))
    assert TypeAdapter(Robustness).validate_json(to_json(asdict(sensitivity))) == sensitivity


def test_nothing_is_said_of_what_has_no_number(wide: Study) -> None:
    trials = frame(wide, _gap(dict.fromkeys(range(5), 0.1))).iloc[:-3]
    assert robustness(wide, "laptop", "cpu", trials, judge(wide, "laptop", "cpu", trials)) == []


def test_thresholds_move_on_the_axis_of_what_is_observed() -> None:
    """The update ratio of a layer is a scale: its band is narrowed around sqrt(3e-4 * 3e-3), whatever unit it is spelled in."""
    band = {"supported": Within(low=3e-4, high=3e-3), "refuted": Outside(low=3e-4, high=3e-3)}
    observed = Curve(arm="half", of="probe_median_update_ratio", statistic="median")
    for unit in ("", "x"):
        criterion = Criterion(name="ratio", observe=observed, unit=unit, **band)
        for by, low, high in ((0.75, 4.0e-4, 2.25e-3), (1.25, 2.25e-4, 4.0e-3)):
            moved = criterion.moved(by)
            for rule in (moved.claimed, moved.refuted):
                assert (rule.low, rule.high) == pytest.approx((low, high), rel=1e-3)


@pytest.mark.parametrize(
    ("observable", "threshold", "nearer"),
    [
        (Quotient(top=Optimum(arm="none"), bottom=Optimum(arm="half")), 4.0, 4.0**0.75),
        (Scaled(of=Quotient(top=Optimum(arm="none"), bottom=Optimum(arm="half")), by=3.0), 12.0, 3.0 * 4.0**0.75),
        # A scale has no value that means no effect: a quarter lower, and never across zero.
        (Optimum(arm="none"), 0.01, 0.0075),
        (Scaled(of=Optimum(arm="none"), by=3.0), 0.01, 0.0075),
        (Gap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), 0.04, 0.03),
    ],
)
def test_a_threshold_moves_towards_no_effect(observable: Observable, threshold: float, nearer: float) -> None:
    criterion = Criterion(name="one", observe=observable, claimed=AtLeast(value=threshold), refuted=AtMost(value=1e-3))
    assert criterion.moved(0.75).claimed.value == pytest.approx(nearer)


def test_the_moved_thresholds_of_every_ratio_are_positive() -> None:
    """Values that a log axis cannot show decide nothing there."""
    for name in catalog.study_names():
        for judgement in catalog.load_study(name).judgements:
            for criterion in judgement.criteria:
                if criterion.observe.log_axis:
                    moved = [criterion.moved(by) for by in THRESHOLDS.values()]
                    edges = [
                        edge for criterion in moved for rule in (criterion.claimed, criterion.refuted) for edge in _edges(rule)
                    ]
                    assert min(edges) > 0, criterion.name


def _edges(rule: Rule) -> list[float]:
    return [edge for piece in rule.pieces for edge in piece if math.isfinite(edge)]


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([], "no alternative choice applies"),
        ([SUPPORTED], "unchanged under the one alternative choice (choice 0)"),
        ([SUPPORTED] * 2, "unchanged under both alternative choices (choice 0, choice 1)"),
        ([REFUTED], "different under the one alternative choice: choice 0 (refuted)"),
        ([SUPPORTED, REFUTED], "different under 1 of 2 alternative choices: choice 1 (refuted)"),
    ],
)
def test_other_choices_in_words(verdicts: list[str], words: str) -> None:
    """Also where there are none."""
    others = tuple(Alternative(f"choice {index}", verdict) for index, verdict in enumerate(verdicts))
    assert Robustness("claim", SUPPORTED, {0: SUPPORTED}, others).choices_in_words == words


def test_seeds_in_words() -> None:
    assert (
        Robustness("claim", SUPPORTED, {0: SUPPORTED, 1: SUPPORTED}, ()).seeds_in_words
        == "unchanged without any one of 2 seeds"
    )
    matters = Robustness("claim", SUPPORTED, {0: SUPPORTED, 1: OPEN}, ())
    assert matters.seeds_in_words == "different without seed 1 (open)"
