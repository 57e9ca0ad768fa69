"""The search: equal budgets, the same proposals after a restart, and a best value that planted losses put there."""

import numpy as np
import pandas as pd
import pytest

from folklore.harness.declare import Arm, Range, Search, Study
from folklore.harness.declare.metrics import FinalLoss, TunedLoss
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.launch.pack_queue import PackQueue
from folklore.harness.plan.plan import Plan, PlannedPack, make_plan
from folklore.harness.plan.prepare import outline
from folklore.harness.plan.proposals import importances, next_plan, propose
from folklore.harness.plan.search_results import Tuning, searched_plan, tunings
from folklore.harness.plan.store import trial_rows, trial_schema
from tests.harness.helpers import bowl, changed, result, rows

SEARCH = Search(low=2.0**-10, high=2.0**-2, rounds=3, proposals=4, seeds=2, first_seed=900)


@pytest.fixture(scope="module")
def searched(study: Study) -> Study:
    """Arm 'none' has its best LR at 2^-7, 'half' at 2^-5; 'fixed' is on a grid."""
    return changed(
        study,
        search=SEARCH.model_dump(),
        factors={},
        arms={
            "none": Arm(label="none", settings={"warmup_fraction": 0.0}, searched=True),
            "half": Arm(label="half", settings={"warmup_fraction": 0.5}, searched=True),
            "fixed": Arm(label="fixed", settings={"warmup_fraction": 0.2}, factors={"peak_lr": (2.0**-7,)}),
        },
    )


def outcome(trial: Trial):
    return result(bowl(trial, {"none": -7.0, "half": -5.0, "fixed": -7.0}[trial.arm], 2.0, noise=0.002))


class Ledger:
    """Trains at once what a queue hands out, up to a limit."""

    def __init__(self, study: Study, outcome=outcome) -> None:
        self.study, self.trials, self.outcome = study, {}, outcome

    def stored(self):
        if not self.trials:
            return pd.DataFrame(columns=list(trial_schema.SUMMARY))
        return trial_rows.frame(rows(self.study, tuple(self.trials.values()), self.outcome))

    def done(self) -> set[str]:
        return set(self.trials)

    def run(self, packs: int = 10_000) -> PackQueue:
        plan = make_plan(self.study, "laptop", "cpu", "data", lanes=8)
        queue = PackQueue(plan, lambda pack: pack, next_plan, self.stored, self.done)  # type: ignore[arg-type,return-value]
        while packs and (job := queue.next()) is not None:
            key, pack = job
            assert isinstance(pack, PlannedPack)
            self.trials |= {trial.digest: trial for trial in pack.trials}
            queue.settled(key)
            packs -= 1
        return queue


@pytest.fixture(scope="module")
def whole(searched: Study) -> tuple[Ledger, Plan]:
    """All of its trials, and the plan that the queue ended with."""
    ledger = Ledger(searched)
    queue = ledger.run()
    assert queue.exhausted
    return ledger, queue.plan


def judged_by(study: Study, ledger: Ledger) -> TrialArrays:
    plan = searched_plan(make_plan(study, "laptop", "cpu", "data"), ledger.stored())
    return TrialArrays(study, "laptop", plan.select(ledger.stored()))


def test_equal_budgets_then_the_judged_seeds(searched: Study, whole: tuple[Ledger, Plan]) -> None:
    by_arm = {arm: [t for t in whole[0].trials.values() if t.arm == arm] for arm in searched.arms}
    for arm, best in (("none", -7), ("half", -5)):
        tuning = [t for t in by_arm[arm] if t.seed in SEARCH.seed_numbers]
        judged = [t for t in by_arm[arm] if t.seed in searched.seed_numbers_at("laptop")]
        assert len(tuning) == SEARCH.budget * SEARCH.seeds
        assert len(judged) == 5
        assert len({t.point["peak_lr"] for t in judged}) == 1
        assert abs(np.log2(judged[0].point["peak_lr"]) - best) < 1.0
    assert len(by_arm["fixed"]) == 5


def test_a_restart_makes_the_same_proposals(searched: Study, whole: tuple[Ledger, Plan]) -> None:
    broken = Ledger(searched)
    for packs in (1, 2, 2):
        broken.run(packs)
        assert not broken.run(0).exhausted
    broken.run()
    assert broken.trials.keys() == whole[0].trials.keys()


def test_what_is_stored_is_judged_without_the_sampler(searched: Study, whole: tuple[Ledger, Plan]) -> None:
    ledger, plan = whole
    base = make_plan(searched, "laptop", "cpu", "data")
    assert searched_plan(base, ledger.stored()).digests == plan.digests
    table = judged_by(searched, ledger)
    assert table.grid("none", "peak_lr")[0] == plan.chosen["none"]
    assert table.losses("none", "peak_lr", "test_loss").shape == (1, 5)
    assert observe(TunedLoss(arm="half"), table).estimate == pytest.approx(2.0, abs=0.06), "at its tuned value"
    other = ledger.stored().assign(digest="x")
    assert not searched_plan(base, other).proposals["none"]


def test_an_unfinished_search_is_no_number(searched: Study) -> None:
    ledger = Ledger(searched)
    ledger.run(3)
    with pytest.raises(NotEstimableError, match=r"the search of 'none' has \d+ of 12 proposals") as error:
        judged_by(searched, ledger).losses("none", "peak_lr", "test_loss")
    assert error.value.verdict == "invalid"


def test_a_best_value_at_the_edge_is_no_optimum(searched: Study, whole: tuple[Ledger, Plan]) -> None:
    stored = whole[0].stored()
    stored["validation_loss"] = 2.0 - 0.1 * np.log2([float(value) for value in stored["peak_lr"]]) - 1.0
    by_arm = tunings(searched, "laptop", stored)
    assert by_arm["none"].best == max(by_arm["none"].values)
    edge = SEARCH.high * 0.99
    stored.loc[stored["peak_lr"] == by_arm["none"].best, "point"] = f'{{"peak_lr":{edge}}}'
    with pytest.raises(NotEstimableError, match="edge of the searched range"):
        TrialArrays(searched, "laptop", stored).grid("none", "peak_lr")


def test_proposals_depend_on_seed_and_results() -> None:
    first = propose(SEARCH, 1, {})
    assert len(first) == 4
    assert first == propose(SEARCH, 1, {})
    assert first != propose(SEARCH, 2, {})
    assert all(SEARCH.low <= value <= SEARCH.high for value in first)
    low, high = ({value: sign * np.log2(value) for value in first} for sign in (1, -1))
    assert propose(SEARCH, 1, low)[:4] == first
    assert propose(SEARCH, 1, low)[4:] != propose(SEARCH, 1, high)[4:]


def test_an_outline_counts_all_trials(searched: Study) -> None:
    plan = outline(make_plan(searched, "laptop", "cpu", "data", lanes=8))
    assert len(plan.digests) == 2 * (12 * 2 + 5) + 5


def test_a_failed_pack_ends_the_search_and_not_the_rest(searched: Study) -> None:
    ledger = Ledger(searched)
    plan = make_plan(searched, "laptop", "cpu", "data", lanes=8)
    queue = PackQueue(plan, lambda pack: pack, next_plan, ledger.stored, ledger.done)  # type: ignore[arg-type,return-value]
    count = 0
    while (job := queue.next()) is not None:
        queue.settled(job[0], failed=True)
        count += 1
    assert queue.exhausted
    assert count == 3, "21 trials in packs of 8: the first round and the grid, once each"


def test_seeds_of_search_and_judging_are_apart(searched: Study) -> None:
    with pytest.raises(ValueError, match="are both searched and judged on"):
        changed(searched, search={**SEARCH.model_dump(), "first_seed": 4})
    with pytest.raises(ValueError, match="has no search"):
        changed(searched, search=None)


def test_another_scales_proposals_are_not_this_ones(searched: Study, whole: tuple[Ledger, Plan]) -> None:
    """A scale with equal configurations searches on the same seeds: what it proposed enlarges nobody's budget."""
    both, (ledger, plan) = changed(searched, {"scales.more": {"description": "more seeds", "seeds": 7}}), whole
    proposed = make_plan(both, "more", "cpu", "data").with_search({"none": [0.011, 0.012]}, {})
    foreign = trial_rows.frame(rows(both, proposed.trials, outcome, scale="more"))
    stored = pd.concat([ledger.stored(), foreign], ignore_index=True)
    assert searched_plan(make_plan(both, "laptop", "cpu", "data"), stored).digests == plan.digests


def test_what_matters_more_is_told_from_planted_losses() -> None:
    values = list(np.geomspace(SEARCH.low, SEARCH.high, 24))
    by_value = {arm: Tuning(SEARCH, values, [abs(np.log(value / 0.03)) for value in values]) for arm in ("a", "b")}
    by_arm = {
        arm: Tuning(SEARCH, values, [worse + 0.001 * (i * 7 % 24) for i in range(24)]) for arm, worse in (("a", 0), ("b", 1))
    }
    shares = importances(SEARCH, by_value)
    assert shares[SEARCH.factor] > shares["arm"]
    shares = importances(SEARCH, by_arm)
    assert shares["arm"] > shares[SEARCH.factor]
    assert importances(SEARCH, {"a": by_value["a"]}) == {}, "with one arm there is nothing to compare"


DROPOUT = Range(factor="dropout", low=0.0, high=0.9, linear=True)
DECAY = Range(factor="weight_decay", low=0.25, high=32.0)


@pytest.fixture(scope="module")
def levers(study: Study) -> Study:
    """Arms that are searched over factors of their own, at one LR; planted optima: dropout 0.6, weight decay 4."""
    return changed(
        study,
        judgements=(),
        search={**SEARCH.model_dump(), "rounds": 4},
        factors={"peak_lr": (2.0**-7,)},
        training={**study.training.model_dump(), "peak_lr": 1.0},
        arms={
            "dropout": Arm(label="dropout", searched=True, search=DROPOUT),
            "decay": Arm(label="decay", searched=True, search=DECAY),
            "lr": Arm(label="LR", searched=True),
        },
    )


def planted(trial: Trial):
    training = trial.configuration.training
    away = {
        "dropout": 4 * (training.dropout - 0.6),
        "decay": np.log2(training.weight_decay / 4) if training.weight_decay else 0.0,
        "lr": np.log2(training.peak_lr) + 7,
    }[trial.arm]
    noise = np.random.default_rng([trial.seed, int(1e6 * away**2)]).standard_normal()
    return result(2.0 + 0.05 * away**2 + 0.001 * noise)


def test_every_arm_is_searched_over_its_own_factor_at_an_equal_budget(levers: Study) -> None:
    ledger, broken = Ledger(levers, planted), Ledger(levers, planted)
    ledger.run()
    by_arm = tunings(levers, "laptop", ledger.stored())
    assert {arm: len(tuning.values) for arm, tuning in by_arm.items()} == dict.fromkeys(levers.arms, 16)
    assert by_arm["dropout"].best == pytest.approx(0.6, abs=0.1)
    assert np.log2(by_arm["decay"].best) == pytest.approx(2, abs=0.7)
    points = [trial.point for trial in ledger.trials.values() if trial.arm == "dropout"]
    assert {point["peak_lr"] for point in points} == {2.0**-7}, "the study's one LR, and not that of its training"
    judged = {trial.point["dropout"] for trial in ledger.trials.values() if trial.arm == "dropout" and trial.seed < 900}
    assert judged == {by_arm["dropout"].best}
    table = judged_by(levers, ledger)
    for metric in (FinalLoss(arm="dropout"), TunedLoss(arm="dropout", over="dropout"), TunedLoss(arm="dropout")):
        assert observe(metric, table).estimate == pytest.approx(2.0, abs=0.02)
    for packs in (4, 10_000):
        broken.run(packs)
    assert set(broken.trials) == set(ledger.trials), "the same after a restart"


@pytest.mark.parametrize(
    ("search", "why"),
    [
        ({"factor": "dropout", "low": 0.1, "high": 1.2}, "(?s)dropout.*less than 1.*input_value=1.2"),
        ({"factor": "dropout", "low": 0.0, "high": 0.9}, "search.low = 0: has no logarithm; raise it, or set linear = true"),
        ({"factor": "dropout", "low": 0.5, "high": 0.2}, "search.low = 0.5: must be below search.high = 0.2"),
        ({"factor": "drop", "low": 0.1, "high": 0.2}, "no factor named 'drop': did you mean 'dropout'"),
        ({"factor": "steps", "low": 16, "high": 64}, "(?s)steps.*valid integer"),
    ],
)
def test_a_range_that_cannot_be_searched_is_refused(levers: Study, search: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        changed(levers, {"arms.dropout.search": search})


def test_a_range_needs_an_arm_that_is_searched_and_one_value_of_all_else(levers: Study) -> None:
    with pytest.raises(ValueError, match="has a range to search and is not searched: set searched = true"):
        changed(levers, {"arms.dropout.searched": None})
    with pytest.raises(ValueError, match="varies peak_lr beside the dropout that is searched: give it one peak_lr"):
        changed(levers, factors={"peak_lr": (0.1, 0.2)})


def test_best_without_a_lever_is_an_answer_and_the_other_end_an_edge() -> None:
    search = SEARCH.model_copy(update=dict(DROPOUT))
    values = [0.0, 0.3, 0.6, 0.9]
    assert not Tuning(search, values, [1.0, 2.0, 3.0, 4.0]).at_edge
    assert Tuning(search, values, [4.0, 3.0, 2.0, 1.0]).at_edge
    assert Tuning(SEARCH, [SEARCH.low, SEARCH.high], [1.0, 2.0]).at_edge
