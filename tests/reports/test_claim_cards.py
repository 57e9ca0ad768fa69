"""A page's card of a claim, for every verdict there is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from folklore.harness.declare import (
    AtLeast,
    AtMost,
    Claim,
    Criterion,
    Document,
    Expected,
    Judgement,
    Published,
    Side,
    Source,
    Study,
)
from folklore.harness.declare.metrics import RelativeGap, TunedLoss
from folklore.harness.judge.error_rates import ErrorRates
from folklore.harness.judge.outcomes import VERDICTS
from folklore.harness.judge.power import Resolution
from folklore.harness.judge.robustness import Alternative, Robustness
from folklore.harness.judge.sentences import Number, Sentence
from folklore.harness.judge.verdict import CriterionFinding, Panel, Verdict
from folklore.harness.judge.verdict_memory import JudgedTrials
from folklore.harness.plan.store.declaration import Declaration
from folklore.reports import site
from folklore.reports.claim_cards import Card, calibration_in_words, card, power_in_words
from folklore.reports.verdict_words import why
from tests.reports.test_site import REGISTER, of, records
from tests.verdicts import a_finding, a_verdict

pytestmark = pytest.mark.usefixtures("few_calibrated")
GAP = RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half"))
DOCUMENTS = {"TB": Document(key="TB", title="A <title>", file="a.txt")}
RATES = ErrorRates(10, 5, {})
ROBUST = Robustness("c", "supported", {0: "supported", 1: "supported"}, ())


def claim(**fields: object) -> Claim:
    sources = (Source(document="TB", section="2"), Source(document="TB", section="11"), Source(document="TB", section="Q3"))
    values = {"id": "c", "kinds": ("empirical",), "paraphrase": "it helps", "sources": sources, "measure": "a gap"}
    return Claim(**{**values, **fields})  # type: ignore[arg-type]


def criterion(**fields: object) -> Criterion:
    values = {"name": "a gap", "observe": GAP, "claimed": AtLeast(value=0.01), "refuted": AtMost(value=0.0), "unit": "relative"}
    return Criterion(**{**values, **fields})  # type: ignore[arg-type]


def resolution(criterion: str, unit: str, *numbers: float, **fields: object) -> Resolution:
    """numbers: the pilot's, and what is resolved."""
    nothing = {
        "log_axis": False,
        "expected": None,
        "verdict": "",
        "power": None,
        "seeds": None,
        "underpowered": "",
        "reason": "",
    }
    pilot, resolves = numbers or (None, None)
    return Resolution("c", criterion, unit, pilot, resolves, **{**nothing, **fields})  # type: ignore[arg-type]


LOWER = Sentence(("It <is> ", Number(0.05, 0.04, 0.06, "relative", word="lower"), "."))


def finding(verdict: str = "supported", **fields: object) -> CriterionFinding:
    missing = verdict in ("out of regime", "invalid")
    estimate, low, high = (None, None, None) if missing else (0.05, 0.04, 0.06)
    numbers = {"unit": "relative", "estimate": estimate, "low": low, "high": high, "seeds": 5}
    defaults = {"name": "a gap", "reason": "that <is> why"}
    return a_finding(verdict, **{**numbers, **defaults, **fields})


def verdict(name: str = "supported", *findings: CriterionFinding, **fields: object) -> Verdict:
    defaults = {"trials": 50, "reason": "why", "answer": (LOWER,)}
    return a_verdict(name, **{"findings": findings or (finding(name),), **defaults, **fields})


def made(verdict: Verdict, judgement: Judgement | None = None, of_claim: Claim | None = None, **fields: object) -> Card:
    asked = judgement or Judgement(claim="c", criteria=(criterion(),) * len(verdict.findings))
    options = {"robust": ROBUST, "rates": RATES, **fields}
    return card(verdict, of_claim or claim(), asked, DOCUMENTS, **options)  # type: ignore[arg-type]


def test_out_of_regime_does_not_say_regime_twice() -> None:
    """On a card, and in a row of the index."""
    regime = verdict("out of regime", reading="regime")
    assert made(regime).reading == ""
    assert why(regime.reading) == ""
    assert (why("precondition"), made(verdict("open", reading="precondition")).reading) == (
        "precondition",
        "precondition not met",
    )


@pytest.mark.parametrize("name", VERDICTS)
def test_every_verdict_has_a_card(name: str) -> None:
    card = made(verdict(name))
    assert card.sentence == "It &lt;is&gt; <b>5.0% lower (95% CI 4.0–6.0%)</b>."
    assert card.title == "It helps"
    assert card.standing == {"supported": "firm", "partly": "firm", "refuted": "firm"}.get(name, "")
    (row,) = card.rows
    assert row.verdict == name
    assert bool(row.number) == (name not in ("out of regime", "invalid"))
    assert row.claimed == "at least +1%"
    assert card.rules[0].outcome.startswith(name)


def test_where_a_claim_stands_links_to_its_documents() -> None:
    (place,) = made(verdict()).places
    assert (place.title, place.sections, place.link) == ("A <title>", "sections 2 and 11, Q3", "document-TB.html")


def test_why_it_is_fragile_stands_beside_it() -> None:
    frail = Robustness("c", "supported", {3: "open"}, (Alternative("twice the margin", "refuted"),))
    card = made(verdict(p=0.04), robust=frail, rates=ErrorRates(40, 9, {("c", "laptop", "cpu"): 0.3}))
    assert card.standing == "fragile"
    assert card.fragile == (
        "among 40 claims it may be chance (q = 0.3)",
        "without one seed it is open",
        "by another reading (twice the margin) it is refuted",
    )


def test_workloads_are_rows_and_the_quantifier_is_in_words() -> None:
    names, outcomes = ("MLP", "CNN", "GPT", "wide"), ("supported", "supported", "supported", "refuted")
    judgement = Judgement(claim="c", criteria=tuple(criterion(name=f"gap {name}", panel=name) for name in names))
    findings = tuple(finding(outcome, panel=name) for name, outcome in zip(names, outcomes, strict=True))
    panels = tuple(Panel(name, outcome, "") for name, outcome in zip(names, outcomes, strict=True))
    card = made(verdict("supported", *findings, panels=panels), judgement, claim(quantifier="most"))
    assert card.workloads == "Claimed for most workloads (3 of 4 must hold): holds on 3 of 4. It fails on wide."
    nowhere = tuple(Panel(name, "out of regime", "") for name in names[:2])
    elsewhere = made(verdict("out of regime", *findings, panels=nowhere), judgement, claim(quantifier="most"))
    assert elsewhere.workloads == "Claimed for most workloads. It cannot be tested on MLP and CNN."
    assert [row.name for row in card.rows] == list(names)
    assert [row.outcome for row in card.rows] == ["✓ holds"] * 3 + ["✗ fails"]


def test_parts_of_a_workload_keep_their_names_and_preconditions_are_called_so() -> None:
    parts = tuple(criterion(name=name, panel="MLP") for name in ("a gap", "a ratio"))
    judgement = Judgement(claim="c", criteria=(*parts, criterion(name="it moves", precondition=True)))
    findings = (finding(panel="MLP"), finding(panel="MLP", name="a ratio"), finding(name="it moves", precondition=True))
    card = made(verdict("supported", *findings), judgement)
    assert [row.name for row in card.rows] == ["MLP: a gap", "MLP: a ratio", "Precondition: it moves"]
    assert card.rules[-1].name == "Precondition: it moves"


def test_the_rule_is_in_words() -> None:
    asked = criterion(null=0.0, margin=0.005, test="no_worse", claimed=None, refuted=None, better="higher")
    (rule,) = made(verdict("supported", finding(level=0.9)), Judgement(claim="c", criteria=(asked,))).rules
    lines = dict(rule.lines)
    assert lines["supported if"] == "at least -0.5%"
    assert lines["too small to matter"] == "between -0.5% and +0.5%"
    assert lines["interval"] == "90%"
    assert "never refutes" in lines["test"]


def test_no_rule_is_rounded_to_another() -> None:
    """In shares as elsewhere: a threshold, a margin and an expected value of half a percent."""
    expected = Expected(value=0.005, source="theory")
    asked = criterion(
        null=0.0, margin=0.0025, claimed=AtLeast(value=0.005), refuted=AtMost(value=0.001), unit="share", expected=expected
    )
    (rule,) = made(verdict("supported", finding()), Judgement(claim="c", criteria=(asked,))).rules
    lines = dict(rule.lines)
    assert (lines["supported if"], lines["refuted if"]) == ("at least 0.5%", "at most 0.1%")
    assert (lines["too small to matter"], lines["expected"]) == ("between -0.25% and 0.25%", "0.5% (theory)")
    shown = resolution("a share", "share", 0.01, 0.0012, expected=0.005, verdict="supported", power=0.97)
    assert power_in_words(shown, 10) == "a share: 10 seeds show the expected 0.5% (supported) with 97% power."


def test_sides_say_which_verdict_shows_them_right() -> None:
    sides = (
        Side(name="large", says="they are large.", sources=(Source(document="TB", section="11"),)),
        Side(name="small", says="small"),
    )
    card = made(verdict(), Judgement(claim="c", criteria=(criterion(),), right={"refuted": "small"}), claim(sides=sides))
    assert card.sides == ("they are large (TB 11).", "small. Right if refuted.")


def test_a_published_number_that_is_missed_is_named_with_the_likeliest_reason() -> None:
    def others(value: float | None, **fields: object) -> Published:
        values = {"claim": "c", "finding": "8%", "source": "Doe 2020", "value": value, "criterion": "a gap", "how": "read"}
        return Published(**{**values, **fields})  # type: ignore[arg-type]

    missed = others(0.08, if_different="Their model was larger.")
    (line,) = made(verdict(), published=(missed, others(0.05))).contradictions
    assert line == "others measured 8% (Doe 2020), here 5.0% (4.0–6.0). Their model was larger."
    assert not made(verdict("out of regime"), published=(missed,)).contradictions
    with pytest.raises(ValueError, match="give value and criterion"):
        others(None, if_different="Their model was larger.")


def test_a_90_percent_interval_says_so() -> None:
    for level, interval in ((0.9, "(4.0–6.0) 90%"), (0.95, "(4.0–6.0)")):
        (row,) = made(verdict("supported", finding(level=level))).rows
        assert (row.number, row.interval) == ("5.0%", interval)


@pytest.mark.parametrize(
    ("resolution", "words"),
    [
        (
            resolution("a ratio", "x", 2.0, 1.3, log_axis=True, expected=4.0, verdict="supported", power=0.97, seeds=6),
            "a ratio: 10 seeds show the expected 4x (supported) with 97% power.",
        ),
        (
            resolution("a ratio", "x", 2.0, 1.3, log_axis=True, expected=4.0, verdict="supported", power=0.4, seeds=23),
            "a ratio: 10 seeds show the expected 4x (supported) with 40% power; 23 seeds would have 80%.",
        ),
        (
            resolution("a ratio", "x", 2.0, 1.3, log_axis=True),
            "a ratio: 10 seeds decide what lies a factor of 1.3 inside a region, with 80% power.",
        ),
        (
            resolution("a gap", "relative", 0.01, 0.004),
            "a gap: 10 seeds decide what lies 0.40% inside a region, with 80% power.",
        ),
        (resolution("a share", "", reason="a share of runs"), ""),
    ],
)
def test_power_is_in_words(resolution: Resolution, words: str) -> None:
    assert power_in_words(resolution, 10) == words


def test_calibration_is_that_of_its_kind_and_nearest_number_of_seeds() -> None:
    rows = [
        {"observable": "relative_gap", "seeds": 5, "coverage": 0.91},
        {"observable": "relative_gap", "seeds": 10, "coverage": 0.94},
        {"observable": "relative_gap", "seeds": 10, "coverage": 0.96},
        {"observable": "relative_gap", "seeds": 10, "coverage": None},
        {"observable": "slope", "seeds": 10, "coverage": 0.5},
    ]
    sentences = calibration_in_words([criterion(), criterion()], 12, rows)
    assert sentences == ["95% intervals of “relative gap” hold the truth in 94% to 96% of simulated worlds with 10 seeds."]


@pytest.fixture
def shown(study: Study, tmp_path: Path) -> Callable[[Verdict], str]:
    """The page on which a verdict of the toy study stands."""

    def page(verdict: Verdict) -> str:
        trials = records(study)
        placed = replace(verdict, claim="warmup.improves_best")
        judged = JudgedTrials(True, "laptop", "cpu", [placed], [], {})
        site.write(tmp_path, [study], REGISTER, of([trials]), known=lambda _: [judged], published=lambda _: None)
        return " ".join((tmp_path / "toy.html").read_text().split())

    return page


def test_advice_that_was_changed_after_its_verdict_says_so(study: Study, tmp_path: Path) -> None:
    (judgement,) = study.judgements
    now, before = (
        study.model_copy(update={"judgements": (judgement.model_copy(update={"advice": {"supported": advice}}),)})
        for advice in ("Warm up.", "Warm up <always>.")
    )
    declaration = Declaration("toy", 1, "laptop", now.hash, "2026-11-20T10:00:00", 0, None, before.model_dump(mode="json"))
    trials = records(now)
    for declarations, is_changed in (
        ([declaration], True),
        ([replace(declaration, declared=now.model_dump())], False),
        ([], False),
    ):
        placed = replace(verdict("supported"), claim=judgement.claim, advice="Warm up.")
        judged = JudgedTrials(True, "laptop", "cpu", [placed], [], {})
        stored = of([replace(trials, declarations=declarations)])
        site.write(tmp_path, [now], REGISTER, stored, known=lambda _, judged=judged: [judged], published=lambda _: None)
        page = (tmp_path / "toy.html").read_text()
        assert ("This advice was changed after the verdict." in page) == ("“Warm up &lt;always&gt;.”" in page) == is_changed


@pytest.mark.parametrize("name", VERDICTS)
def test_every_verdict_has_a_page(shown: Callable[[Verdict], str], name: str) -> None:
    page = shown(verdict(name, advice="Do <this>.", cautions=("mind <that>",)))
    assert f'<span class="badge {name.split()[0]}">{name}</span>' in page
    assert "Do &lt;this&gt;." in page
    assert page.count("mind &lt;that&gt;") == 2, "on the first screen and on its card"
    assert "that &lt;is&gt; why" in page
    assert "<that>" not in page
