"""Every study trains at smoke scale: a pack of every kind it has, in this process, into a ledger that is judged.

A study costs this test about a second; packs of one kind differ in nothing but numbers.
"""

from collections import defaultdict
from pathlib import Path

import pytest

from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_sets import stored_sets
from folklore.harness.plan.catalog import load_study, study_names
from folklore.harness.plan.plan import Plan, make_plan, settings
from folklore.harness.plan.prepare import outline
from folklore.harness.plan.store import trial_rows
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.starting import LaneState
from folklore.harness.train.workloads.data import describe, load
from tests.parts import fast_for

SCALE = "smoke"
# Of every kind of network, data and search one; tests/test_end_to_end.py trains all of warmup.
FAST = ("generalization", "lr_finder", "memory", "optimizer_generalization", "optimizers")
# tests/test_smoke.py trains all of these.
TRAINED_WHOLE = {"overfitting", "precision"}
MACHINE = {"device": "a machine"}


def smoke_plan(name: str) -> Plan:
    """The plan of a study at smoke scale, with stand-ins for what a search would propose."""
    study = load_study(name)
    workloads = {setting.configuration.workload for setting in settings(study, SCALE)}
    workloads |= {study.configuration(SCALE, arm, {}).workload for arm in study.arms_at(SCALE)}
    hashes = {workload.data: describe(workload.dataset, workload.tokenizer).hash for workload in workloads}
    plan = make_plan(study, SCALE, "cpu", hashes)
    return plan if study.search_at(SCALE) is None else outline(plan)


def kinds(plan: Plan) -> list[list[Trial]]:
    """One trial of every arm, those that can share a pack together."""
    groups: dict[str, list[Trial]] = defaultdict(list)
    arms: set[tuple[str, str]] = set()
    for trial in plan.trials:
        key = f"{trial.generation} {trial.configuration.pack_key}"
        if (key, trial.arm) not in arms:
            arms.add((key, trial.arm))
            groups[key].append(trial)
    return list(groups.values())


def start_of(trial: Trial, plan: Plan) -> LaneState | None:
    """Where the trial stood that it starts from, if it does."""
    if trial.start is None:
        return None
    (parent,) = (other for other in plan.trials if other.digest == trial.start.digest)
    lane = Lane(parent.configuration, parent.seed, start_of(parent, plan))
    pack = Pack([lane], load(parent.configuration.workload.dataset, parent.configuration.workload.tokenizer))
    pack.advance(until=trial.start.step)
    return pack.lane_state(0)


@pytest.mark.parametrize("name", fast_for(FAST, sorted({*study_names()} - TRAINED_WHOLE)))
def test_a_pack_of_every_kind_trains_and_is_judged(name: str, tmp_path: Path) -> None:
    plan, ledger = smoke_plan(name), Ledger(Store(str(tmp_path)), name)
    for index, trials in enumerate(kinds(plan)):
        workload = trials[0].configuration.workload
        dataset = load(workload.dataset, workload.tokenizer)
        pack = Pack([Lane(trial.configuration, trial.seed, start_of(trial, plan)) for trial in trials], dataset)
        pack.advance()
        rows = trial_rows.rows(plan.study, SCALE, "cpu", dataset.facts.hash, f"pack{index}", trials, pack.results(), MACHINE)
        ledger.write(f"pack{index}", rows)
        pack.close()
    assert ledger.digests() == {trial.digest for trials in kinds(plan) for trial in trials}
    assert set(ledger.trials()["outcome"]) <= {"finished", "diverged"}
    (records,) = stored_sets(plan.study, ledger)
    # Of searched arms the trials are stand-ins, which are no proposals of the search.
    searched = {arm for arm in plan.study.arms_at(SCALE) if plan.study.arms[arm].searched}
    assert set(plan.study.arms_at(SCALE)) - searched <= set(records.trials["arm"])
    verdicts = records.verdicts()
    assert [verdict.claim for verdict in verdicts] == [judgement.claim for judgement in plan.study.judgements]
    assert {verdict.verdict for verdict in verdicts} <= {"out of regime", "invalid"}, "smoke is never judged"
