"""Adding seeds by looks fixed beforehand: levels against the published table, and the error rate by simulation."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import ADD_SEEDS
from folklore.harness.errors import UserError
from folklore.harness.judge.judge import judge
from folklore.harness.judge.outcomes import OPEN, SUPPORTED
from folklore.harness.judge.sequential import judge_in_looks, planned_looks, seeds_reached, undecided
from folklore.harness.judge.statistics.looks import levels, spent
from folklore.harness.judge.verdict import Verdict
from folklore.harness.train.result import LaneResult
from tests.harness.helpers import frame, result
from tests.verdicts import a_finding, a_verdict


def test_boundaries_of_five_equal_looks() -> None:
    """Lan and DeMets' O'Brien-Fleming type boundaries, as tables of group sequential designs give them (5 looks, 5%)."""
    boundaries = [stats.norm.isf(level / 2) for level in levels((1, 2, 3, 4, 5))]
    assert boundaries == pytest.approx([4.8769, 3.3569, 2.6803, 2.2898, 2.0310], abs=2e-4)


def test_one_look_spends_all() -> None:
    assert levels((7,)) == pytest.approx((0.05,), rel=1e-6)
    assert spent(1.0) == pytest.approx(0.05)


def test_looks_grow_to_the_most() -> None:
    assert planned_looks(5, 20) == (5, 8, 12, 18, 20)
    assert planned_looks(5, 6) == (5, 6)
    many = planned_looks(5, 400)
    assert (many[0], many[-1]) == (5, 400)
    assert len(many) <= 7
    with pytest.raises(UserError, match=r"--most-seeds 5: must be more than the study's own 5"):
        planned_looks(5, 5)


@pytest.mark.parametrize("looks", [(5, 8, 12, 18, 20), (4, 16)])
def test_the_error_rate_of_t_tests_at_all_looks_together(looks: tuple[int, ...]) -> None:
    """Paired differences without an effect: how often a t test at its look's level rejects at any look. Peeking at 5% each
    time would do so about three times as often."""
    draws = np.random.default_rng(5).standard_normal((20_000, looks[-1]))
    rejected, peeked = np.zeros(len(draws), dtype=bool), np.zeros(len(draws), dtype=bool)
    for look, level in zip(looks, levels(looks), strict=True):
        drawn = draws[:, :look]
        statistic = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * math.sqrt(look)
        p = 2 * stats.t.sf(np.abs(statistic), look - 1)
        rejected |= p <= level
        peeked |= p <= 0.05
    assert 0.04 < rejected.mean() < 0.056
    assert peeked.mean() > 1.5 * rejected.mean()


def _rising(gaps: dict[int, float]):
    def outcome(trial: Trial) -> LaneResult:
        peak = abs(math.log2(trial.configuration.training.peak_lr) + 7)
        gap = gaps[trial.seed] if trial.arm == "none" else 0.0
        return result(2.0 + 0.05 * peak**2 + gap)

    return outcome


def _extended(study: Study, seeds: int) -> Study:
    return study.with_seeds("laptop", seeds, "no claim is decided")


def test_a_claim_keeps_its_first_verdict(study: Study) -> None:
    """Decided by eight seeds at its look's level; that later seeds say otherwise comes too late."""
    looks = (5, 8, 12)
    gaps = {seed: 0.1 + 0.01 * (seed % 3) for seed in range(8)} | dict.fromkeys(range(8, 12), -1.5)
    verdicts = {}
    for reached in looks:
        extended = _extended(study, reached)
        verdicts[reached] = judge_in_looks(extended, "laptop", "cpu", frame(extended, _rising(gaps)), looks)[0]
    assert verdicts[12].verdict == SUPPORTED
    assert "alpha spending allows" in verdicts[12].reason
    assert verdicts[12].seeds == next(look for look in looks if verdicts[look].verdict == SUPPORTED)
    once = _extended(study, 12)
    assert judge(once, "laptop", "cpu", frame(once, _rising(gaps)))[0].verdict == OPEN


def test_an_early_look_asks_for_more(study: Study) -> None:
    """A gap with p = 0.02 decides at the only look, and not at the first of several."""
    generator = np.random.default_rng(2)
    noise = generator.standard_normal(5)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    shift = stats.t.isf(0.01, 4) / math.sqrt(5)
    gaps = {seed: 0.01 * (shift + noise[seed]) for seed in range(5)}
    trials = frame(study, _rising(gaps))
    assert judge(study, "laptop", "cpu", trials)[0].verdict == SUPPORTED
    first = judge_in_looks(study, "laptop", "cpu", trials, (5, 10, 20))
    assert first[0].verdict == OPEN
    assert undecided(first) == ["warmup.improves_best"]
    (once,) = judge(study, "laptop", "cpu", trials)
    assert first[0].high - first[0].low > 2 * (once.high - once.low), "its interval is that of the look's level"
    assert "about 0 more" not in first[0].reason


def test_a_look_counts_when_all_its_seeds_are_whole() -> None:
    looks, seeds = (5, 8, 12), range(5)
    whole = pd.DataFrame({"seed": [seed for seed in range(9) for _ in range(4)]})
    assert seeds_reached(looks, seeds, whole) == 8
    assert seeds_reached(looks, seeds, whole[:-4]) == 8
    assert seeds_reached(looks, seeds, whole[:30]) == 5
    assert seeds_reached(looks, seeds, whole[:0]) == 5


def test_a_claim_without_a_number_for_want_of_seeds_is_open(study: Study) -> None:
    def verdict(settling: str, word: str = OPEN) -> Verdict:
        return a_verdict(findings=(a_finding(word, settling=settling, estimate=None, low=None, high=None),), verdict=OPEN)

    assert undecided([verdict(ADD_SEEDS)]) == ["c"]
    assert undecided([verdict("another LR would")]) == []
    assert undecided([verdict("", "out of regime")]) == []


def test_more_seeds_that_meet_a_search_are_one_line(study: Study) -> None:
    with pytest.raises(UserError, match=r"study 'toy' with 200005 seeds") as caught:
        study.with_seeds("laptop", 200_005, "no claim is decided")
    assert "\n" not in str(caught.value)


def test_more_seeds_are_no_other_declaration(study: Study) -> None:
    more = _extended(study, 12)
    assert more.hash == study.hash
    assert more.canonical_json() == study.canonical_json()
    assert list(pickle.loads(pickle.dumps(more)).seed_numbers_at("laptop")) == list(range(12)), "on a worker, too"
    assert list(more.model_copy(update={"judgements": ()}).seed_numbers_at("laptop")) == list(range(12))
    assert list(more.seed_numbers_at("laptop")) == list(range(12))
    ours = {trial.digest for trial in _planned(study)}
    assert ours < {trial.digest for trial in _planned(more)}


def _planned(study: Study):
    from tests.harness.helpers import planned

    return planned(study).trials
