from collections.abc import Sequence
from dataclasses import replace

import pytest

from folklore.harness.declare import AtLeast, Claim, Criterion, Judgement, Outside, Reported, Study, Within
from folklore.harness.declare.level import ALPHA
from folklore.harness.declare.metrics import Computed, RelativeGap, TunedLoss
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.combining import Combined
from folklore.harness.judge.explaining import answer, listed
from folklore.harness.judge.judge import judge, report
from folklore.harness.judge.observe import observe
from folklore.harness.judge.outcomes import INVALID, OPEN, OUT_OF_REGIME, PARTLY, REFUTED, SUPPORTED
from folklore.harness.judge.sentences import Number, Sentence
from folklore.harness.judge.settling import what_would_settle
from folklore.harness.judge.spelling import region, spell, spell_interval
from folklore.harness.judge.statistics.seeds import _would_decide, seeds_needed
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.judge.verdict import CriterionFinding, Panel, Verdict
from folklore.harness.train.result import LaneResult
from tests.harness.helpers import bowl, changed, computations, frame, result


def with_gap(gap: float, noise: float = 0.001):
    """Arm none ends `gap` (relative) above arm half; LRs are tuned inside the grid."""

    def outcome(trial: Trial) -> LaneResult:
        floor = 2.0 * (1 + gap) if trial.arm == "none" else 2.0
        return result(bowl(trial, -7, floor, noise=noise))

    return outcome


def verdict_of(study: Study, outcome, failures: dict[str, str] | None = None) -> Verdict:
    (verdict,) = judge(study, "laptop", "cpu", frame(study, outcome), failures)
    return verdict


@pytest.mark.parametrize(
    ("gap", "noise", "verdict", "within", "reason"),
    [
        (0.05, 0.001, SUPPORTED, 0.005, "the whole interval is at least 0%"),
        (-0.05, 0.001, REFUTED, 0.005, ""),  # a swapped arm or a wrong sign would show here
        (0.01, 0.05, OPEN, 0.05, "would settle it"),
        (0.0, 0.0, OPEN, 0.0, ""),
    ],
)
def test_a_planted_gap_has_its_verdict(
    gap: float, noise: float, verdict: str, within: float, reason: str, study: Study
) -> None:
    """A truth, its opposite, noise larger than the effect, and arms that are equal bit by bit."""
    judged = verdict_of(study, with_gap(gap, noise))
    assert (judged.verdict, judged.estimate) == (verdict, pytest.approx(gap, abs=within))
    assert reason in judged.reason


def test_a_missing_trial_is_invalid_without_numbers(study: Study) -> None:
    trials = frame(study, with_gap(0.05)).iloc[1:]
    (verdict,) = judge(study, "laptop", "cpu", trials, {"digest": "RuntimeError: boom"})
    assert verdict.verdict == INVALID
    assert verdict.estimate is None
    assert "boom" in verdict.reason


def test_a_scale_for_plumbing_is_never_judged(study: Study) -> None:
    (verdict,) = judge(study, "smoke", "cpu", frame(study, with_gap(0.05), scale="smoke"))
    assert verdict.verdict == OUT_OF_REGIME
    assert verdict.estimate is None


def criterion(supported: float, refuted: float, name: str = "c") -> dict[str, object]:
    arm = {"kind": "tuned_loss", "arm": "none"}, {"kind": "tuned_loss", "arm": "half"}
    return {
        "name": name,
        "observe": {"kind": "relative_gap", "left": arm[0], "right": arm[1]},
        "claimed": {"kind": "at_least", "value": supported},
        "refuted": {"kind": "at_most", "value": refuted},
        "unit": "relative",
    }


def judging(study: Study, *judgements: Sequence[dict[str, object]]) -> Study:
    claims = [{"claim": f"c.{index}", "criteria": tuple(criteria)} for index, criteria in enumerate(judgements)]
    return changed(study, judgements=claims)


def claimed(study: Study, *criteria: dict[str, object], gap: float = 0.05) -> Verdict:
    """The verdict on one claim if arm none ends 5% above arm half."""
    return verdict_of(judging(study, criteria), with_gap(gap))


def test_all_criteria_must_hold_and_one_refutes(study: Study) -> None:
    easy, hard, between = criterion(0.0, -0.01), criterion(0.2, 0.1), criterion(0.2, -0.01)
    several = judging(study, [easy, easy], [hard, hard], [easy, hard], [easy, between])
    verdicts = judge(several, "laptop", "cpu", frame(several, with_gap(0.05)))
    assert [(verdict.verdict, verdict.reading) for verdict in verdicts] == [
        (SUPPORTED, ""),
        (REFUTED, "smaller"),
        (PARTLY, "some parts"),
        (OPEN, "between"),
    ]
    assert "both criteria hold" in verdicts[0].reason
    assert "between the regions that decide" in verdicts[3].reason


def test_a_part_that_cannot_be_shown_leaves_the_rest(study: Study) -> None:
    failure = {**criterion(0.5, 0.4), "observe": {"kind": "cure_rate", "arm": "none", "octaves_down": 1.0}}
    several = judging(study, [failure], [criterion(0.0, -0.1), failure], [criterion(0.2, 0.1), failure])
    verdicts = judge(several, "laptop", "cpu", frame(several, with_gap(0.05)))
    assert [verdict.verdict for verdict in verdicts] == [OUT_OF_REGIME, PARTLY, REFUTED]


def test_seeds_needed_would_be_enough(study: Study) -> None:
    """The advice is kept: with that many seeds of the same spread the interval lies inside."""
    table = TrialArrays(study, "laptop", frame(study, with_gap(0.01, noise=0.05)))
    observation = observe(RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), table)
    rule = AtLeast(value=observation.estimate - 0.005)
    needed = seeds_needed(observation, rule.pieces)
    assert needed is not None
    assert needed > observation.seeds
    assert _would_decide(observation, rule.value, float("inf"), needed, ALPHA)
    assert not _would_decide(observation, rule.value, float("inf"), needed - 1, ALPHA)
    assert seeds_needed(observation, AtLeast(value=observation.estimate + 1).pieces) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "relative", "+1.23%"),
        (2.345, "x", "2.35x"),
        (0.5, "nats", "0.5 nats"),
        (3, "", "3"),
        (65504.0, "", "65504"),
        (0.0056, "share", "0.56%"),
        (-0.004634, "share", "-0.463%"),
        (0.6863, "share", "68.6%"),
        (1.0, "share", "100%"),
        (-0.0, "share", "0%"),
        (12.5, "share", "1250%"),
    ],
)
def test_spelling(value: float, unit: str, text: str) -> None:
    assert spell(value, unit) == text


def test_an_exact_check_is_one_number(study: Study) -> None:
    """It has no interval. Its band is only as wide as rounding, and is told as it was declared all the same."""
    half = Criterion(
        name="half-way",
        observe=Computed(function="constants.cosine", number="half_way"),
        claimed=Within(low=0.4999, high=0.5001),
        refuted=Outside(low=0.4999, high=0.5001),
    )
    assert region(half.claimed, half) == "between 0.4999 and 0.5001"
    assert region(half.refuted, half) == "at most 0.4999 or at least 0.5001"
    exact = study.model_copy(update={"judgements": (Judgement(claim="decay.half_way", criteria=(half,)),)})
    trials = frame(exact, with_gap(0.0))
    table = TrialArrays(exact, "laptop", trials, computations=computations(exact))
    (verdict,) = judge(exact, "laptop", "cpu", trials, table=table)
    assert verdict.reason == "half-way: 0.5, which is between 0.4999 and 0.5001"
    assert spell_interval(2.0, 1.5, 2.5, "x") == "2x [1.5x, 2.5x]"
    assert spell_interval(2.0, 2.0, 2.0, "x") == "2x"


def test_what_has_no_number_says_why_in_words_of_a_reader(study: Study) -> None:
    """The optimum lies below the grid: no key of an arm or a field, and what would settle it."""
    table = TrialArrays(study, "laptop", frame(study, lambda trial: result(bowl(trial, -20, 2.0))))
    judgement = Judgement(
        claim="warmup.improves_best",
        criteria=(
            Criterion(name="x", observe=TunedLoss(arm="half"), claimed=AtLeast(value=0), refuted=Within(low=-2, high=-1)),
        ),
        reported=(Reported(name="tuned loss", observe=TunedLoss(arm="half")),),
    )
    assert report(judgement, table) == [
        "tuned loss: no estimate, because the best peak LR of 'half warmup', 0.00195, is the lowest that was tried;"
        " a grid that goes lower would settle it"
    ]


def test_a_number_of_arms_that_are_not_trained_at_a_scale_is_not_reported_there(study: Study) -> None:
    elsewhere = study.arms["half"].model_copy(update={"scales": ("smoke",)})
    study = study.model_copy(update={"arms": {**study.arms, "half": elsewhere}})
    names = {"none": "tuned loss", "half": "tuned loss of an arm that is trained elsewhere"}
    reported = tuple(Reported(name=name, observe=TunedLoss(arm=arm)) for arm, name in names.items())
    judgement = judging(study, [criterion(0.0, -0.001)]).judgements[0].model_copy(update={"reported": reported})
    (line,) = report(judgement, TrialArrays(study, "laptop", frame(study, with_gap(0.0))))
    assert line.startswith("tuned loss: ")


def test_arms_with_one_label_are_told_apart_by_their_panels(study: Study) -> None:
    arms = {name: arm.model_copy(update={"label": "B 8", "panel": name}) for name, arm in study.arms.items()}
    table = TrialArrays(study.model_copy(update={"arms": arms}), "laptop", frame(study, with_gap(0.0)))
    assert table.arm_name("half") == "'half: B 8'"
    assert TrialArrays(study, "laptop", frame(study, with_gap(0.0))).arm_name("half") == "'half warmup'"


def test_every_claim_is_judged_by_itself(study: Study) -> None:
    """A gap at about p = 0.02 is supported, alone and among twenty claims: what that means for the register is shown apart."""
    outcome = next(
        with_gap(gap, noise=0.01)
        for gap in (0.02, 0.015, 0.012, 0.01, 0.008, 0.006)
        if 0.005 < verdict_of(study, with_gap(gap, noise=0.01)).findings[0].p_supported < 0.045
    )
    many = judging(study, *[[criterion(0.0, -0.001)] for _ in range(20)])
    verdicts = judge(many, "laptop", "cpu", frame(many, outcome))
    assert {verdict.verdict for verdict in verdicts} == {SUPPORTED}


def test_a_study_answers_and_advises(study: Study) -> None:
    """The sentence is filled with the numbers, and the advice is that declared for the outcome and its reading."""
    says = {**criterion(0.2, -0.01), "null": 0.0, "says": "Half warmup ends {lower} than none"}
    claims = judging(study, [says])
    (judgement,) = claims.judgements
    advised = judgement.model_copy(update={"advice": {"partly": "try it", "partly: smaller": "try it gently"}})
    claims = claims.model_copy(update={"judgements": (advised,)})
    (verdict,) = judge(claims, "laptop", "cpu", frame(claims, with_gap(0.05)))
    assert (verdict.verdict, verdict.reading, verdict.direction) == (PARTLY, "smaller", "claimed")
    assert verdict.plain_answer.startswith("Half warmup ends 4.97% lower (95% CI 4.9")
    assert verdict.plain_answer.endswith(") than none.")
    assert verdict.advice == "try it gently"


def test_panels_disagree(study: Study) -> None:
    """Workloads that disagree decisively make a claim partly true, and are named."""
    left, right = {**criterion(0.0, 0.0), "panel": "MLP"}, {**criterion(0.2, 0.1), "panel": "GPT"}
    verdict = claimed(study, left, right)
    assert (verdict.verdict, verdict.reading) == (PARTLY, "some workloads")
    assert verdict.row().panels == {"MLP": SUPPORTED, "GPT": REFUTED}
    assert "holds on MLP; fails on GPT" in verdict.plain_answer


def test_where_workloads_disagree_both_are_told(study: Study) -> None:
    """The workload on which the claim holds comes first, then the one on which it fails."""
    panels = [{**criterion(0.0, 0.0), "panel": "MLP"}, {**criterion(0.2, 0.1), "panel": "GPT"}]
    verdict = claimed(study, *({**panel, "says": f"The {panel['panel']} gains {{estimate}}"} for panel in panels))
    sentences = [str(sentence) for sentence in verdict.answer]
    assert [sentence.split(" gains ")[0] for sentence in sentences[:2]] == ["The MLP", "The GPT"]
    assert len(sentences) == 3


@pytest.mark.parametrize(
    ("first", "says", "span"),
    [("none", "It ends {higher}", "4.97% to 19.9%"), ("half", "It ends {lower}", "4.73% to 18.9%"),
     ("half", "It gains {estimate}", "−18.9% to −4.73%")],
)  # fmt: skip
def test_several_workloads_have_a_range_with_the_sentences_sign(study: Study, first: str, says: str, span: str) -> None:
    """The range of one part over both: one arm ends 5% from the other, and four times that in the other workload."""
    left, right = (({"kind": "tuned_loss", "arm": arm}) for arm in (first, "half" if first == "none" else "none"))
    gap = {"kind": "relative_gap", "left": left, "right": right}
    observed = {"MLP": gap, "GPT": {"kind": "scaled", "of": gap, "by": 4.0}}
    regions = {"claimed": {"kind": "at_least", "value": -1.0}, "refuted": {"kind": "at_most", "value": -2.0}}
    criteria = [
        {"name": n, "observe": metric, "panel": n, "says": says, "unit": "relative", **regions}
        for n, metric in observed.items()
    ]
    verdict = claimed(study, *criteria)
    assert f"Range over the 2 workloads: {span}." in verdict.plain_answer


def by_parts(study: Study, *parts: tuple[str, str, dict[str, object]]) -> list[str]:
    """The answer's sentences if arm none ends 5% above arm half. parts: workload, name and regions."""
    named = [{**c, "panel": panel, "name": name, "says": f"{name}: {{estimate}}"} for panel, name, c in parts]
    return [str(sentence) for sentence in claimed(study, *named).answer]


HOLDS, FAILS = (0.0, -0.01), (0.2, 0.1)


def test_a_claim_that_holds_tells_all_its_parts(study: Study) -> None:
    first, second = (("MLP", f"{part}, MLP", criterion(*HOLDS)) for part in "ab")
    sentences = by_parts(study, first, second, ("GPT", "a, GPT", criterion(*HOLDS)), ("GPT", "b, GPT", criterion(*HOLDS)))
    assert [sentence[:6] for sentence in (sentences[0], sentences[-2])] == ["a, GPT", "b, GPT"]
    assert sentences[-1] == "The claim holds on MLP and GPT."


def test_a_claim_that_holds_in_part_tells_a_part_that_fails(study: Study) -> None:
    """The range of the same part on each workload; then a part that fails, which the workload's first is not."""
    parts = [
        (panel, f"{part}, {panel}", criterion(*(FAILS if part == "b" else HOLDS))) for panel in ("MLP", "GPT") for part in "ab"
    ]
    sentences = by_parts(study, *parts)
    assert sentences[0].startswith("a, GPT: 4.97%")
    assert sentences[1].startswith("b, GPT: 4.97%")
    assert sentences[-1] == "The claim holds partly on MLP and GPT."


def test_what_refutes_is_told(study: Study) -> None:
    several = [criterion(*FAILS, "hard"), criterion(0.3, 0.2, "harder")]
    verdict = claimed(study, *({**part, "says": f"{part['name']}: {{estimate}}"} for part in several))
    assert verdict.verdict == REFUTED
    assert [str(sentence).split(":")[0] for sentence in verdict.answer] == ["Hard", "Harder"]


def test_a_range_is_of_one_part_and_of_what_can_be_tested() -> None:
    """Workloads declare their parts in different orders, and one of them is not of the claim's regime."""
    number = Number(0.1, 0.05, 0.15, "share")

    def seen(panel: str, part: str, estimate: float, verdict: str = SUPPORTED) -> CriterionFinding:
        says = Sentence((part, replace(number, estimate=estimate, low=estimate - 0.05, high=estimate + 0.05)))
        ends = {"estimate": estimate, "low": estimate - 0.05, "high": estimate + 0.05}
        kept = {"name": f"{part}, {panel}", "unit": "share", "seeds": 5, "reason": "", "panel": panel, "says": says}
        return CriterionFinding(**kept, **ends, verdict=verdict, p_supported=0.0, p_refuted=1.0)

    first = seen("MLP", "batch", 0.1)
    findings = [
        first,
        seen("MLP", "warmup", 0.9),
        seen("GPT", "warmup", 0.8),
        seen("GPT", "batch", 0.3),
        seen("CNN", "batch", 0.5, OUT_OF_REGIME),
    ]
    panels = (Panel("MLP", SUPPORTED, ""), Panel("GPT", SUPPORTED, ""), Panel("CNN", OUT_OF_REGIME, "regime"))
    answered = answer(findings, Combined(SUPPORTED, "", 0.01, panels), first)
    assert str(answered[1]) == "Range over the 2 workloads: 10% to 30%."
    in_nats = replace(seen("RNN", "batch", 9.0), unit="nats")
    answered = answer([*findings, in_nats], Combined(SUPPORTED, "", 0.01, (*panels, Panel("RNN", SUPPORTED, ""))), first)
    assert str(answered[1]) == "Range over 2 of the 3 workloads: 10% to 30%."


def test_workloads_with_commas_are_told_apart() -> None:
    assert listed(["MLP, clean labels", "MLP, noisy labels, 270 examples", "GPT"]) == (
        "MLP (clean labels), MLP (noisy labels, 270 examples) and GPT"
    )
    assert listed(["tuned LRs, equal updates (240 epochs)"]) == "tuned LRs, equal updates (240 epochs)"


def test_many_panels_are_counted_and_those_that_differ_named(study: Study) -> None:
    holding = [{**criterion(0.0, 0.0), "panel": f"MLP {width}"} for width in (8, 16, 32, 64)]
    verdict = claimed(study, *holding, {**criterion(0.2, 0.1), "panel": "GPT"})
    assert "holds on 4 of 5 workloads; fails on GPT" in verdict.plain_answer


def nearly_refuted(study: Study, outcome, tested: int) -> tuple[Study, float]:
    """A study whose last part of so many alone is refuted at p of about 0.03, and the bound of what refutes it."""
    (verdict,) = judge(judging(study, [criterion(0.0, 0.0)]), "laptop", "cpu", frame(study, outcome))
    assert verdict.estimate is not None
    assert verdict.high is not None
    bound = verdict.estimate + 1.15 * (verdict.high - verdict.estimate)
    holding = [criterion(0.0, -0.1, f"easy {index}") for index in range(tested - 1)]
    return judging(study, [*holding, {**criterion(bound + 1, bound, "hard"), "says": "It is {estimate}"}]), bound


def test_what_is_not_sure_over_all_parts_is_not_called_noisy(study: Study) -> None:
    """The interval of the first part lies inside its region, and that of the last refutes: the reason is p over all three."""
    outcome = with_gap(0.05)
    claims, bound = nearly_refuted(study, outcome, 3)
    (verdict,) = judge(claims, "laptop", "cpu", frame(claims, outcome))
    assert [finding.verdict for finding in verdict.findings] == [SUPPORTED, SUPPORTED, REFUTED]
    p = 3 * verdict.findings[-1].p_refuted
    assert (verdict.verdict, verdict.reading) == (OPEN, "multiplicity")
    assert verdict.plain_answer.endswith(
        f"This alone would refute the claim, but p = {p:.2g} over its 3 parts is not significant."
    )
    assert verdict.findings[-1].says in verdict.answer
    assert verdict.estimate == verdict.findings[-1].estimate, "the number that is shown is what the reading speaks of"
    assert verdict.reason.startswith("hard: +4.97% [")
    assert f"but over 3 parts p = {p:.2g} exceeds 0.05; about " in verdict.reason
    assert "noisy" not in verdict.plain_answer + verdict.reason
    (alone,) = judge(judging(study, [criterion(bound + 1, bound)]), "laptop", "cpu", frame(study, outcome))
    assert (alone.verdict, alone.findings[0].settling) == (REFUTED, "")


def test_seeds_settle_a_part_at_the_level_at_which_it_refutes(study: Study) -> None:
    """One of several parts has to be surer to refute: more seeds are advised, and they are enough."""
    table = TrialArrays(study, "laptop", frame(study, with_gap(0.01, noise=0.05)))
    observation = observe(RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), table)
    asked = Criterion.model_validate(criterion(observation.estimate + 1, observation.estimate + 0.005))
    few, many = (int(what_would_settle(observation, asked, ALPHA, parts).split()[1]) for parts in (1, 5))
    assert 0 < few < many
    claimed = Criterion.model_validate(criterion(observation.estimate - 0.005, observation.estimate - 1))
    assert what_would_settle(observation, claimed, ALPHA, 5) == what_would_settle(observation, claimed, ALPHA, 1), (
        "all parts have to hold"
    )


def test_every_open_workload_says_why_it_is_open(study: Study) -> None:
    """Noise on one, a gap that surely lies between the regions on the other."""
    noisy = {**criterion(0.05, 0.0499, "noisy"), "panel": "MLP"}
    between = {**criterion(0.5, -0.5, "between"), "panel": "GPT"}
    verdict = claimed(study, noisy, between)
    assert verdict.verdict == OPEN
    assert verdict.plain_answer.endswith(
        "The claim is open (too noisy) on MLP; is open (between the regions that support and refute it) on GPT."
    )


def test_a_toy_speaks_for_toys_alone_on_claims_about_large_models(study: Study) -> None:
    """Its verdict stands, with what it lacks, and what to do is said of models of its size."""
    modern = Claim(id="own.modern", paraphrase="large models need warmup", measure="-", regime="transformers")
    advice = {"supported": "Warm up.", "refuted": "Do not."}
    for gap, verdict in ((0.05, SUPPORTED), (-0.05, REFUTED)):
        claims = judging(study, [criterion(0.0, 0.0)]).model_copy(update={"claims": (modern,)})
        judgement = claims.judgements[0].model_copy(update={"claim": "own.modern", "advice": advice})
        claims = claims.model_copy(update={"judgements": (judgement,)})
        (judged,) = judge(claims, "laptop", "cpu", frame(claims, with_gap(gap)))
        assert judged.verdict == verdict
        assert judged.below_size.startswith("888 of 100M parameters, ")
        assert judged.advice == f"For models of this size: {advice[verdict]}"
