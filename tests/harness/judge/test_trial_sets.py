"""Which stored trials are judged together: those of the plan, by digest, and no others."""

from dataclasses import replace

import pandas as pd
import pytest

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.judge.error_rates import SO_FAR, error_rates, standing
from folklore.harness.judge.trial_sets import HERE, checked, planned_set, publish, published_sets, trial_sets
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store import evidence, trial_rows, trial_schema
from folklore.harness.plan.store.declaration import declarations, declare
from folklore.harness.plan.store.source_check import SourceCheck
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import bowl, changed, frame, result, rows


@pytest.fixture
def trials(study: Study) -> pd.DataFrame:
    return frame(study, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001)))


def verdicts(study: Study, trials: pd.DataFrame) -> list[str]:
    return [verdict.verdict for trial_set in trial_sets(study, trials, HERE) for verdict in trial_set.verdicts()]


def test_a_changed_setting_does_not_reuse_trials_of_the_old_one(study: Study, trials: pd.DataFrame) -> None:
    longer = changed(study, training={**study.training.model_dump(), "steps": 20})
    assert verdicts(study, trials) == ["supported"]
    assert trial_sets(longer, trials, HERE) == []
    both = pd.concat([trials, frame(longer, lambda trial: result(bowl(trial, -7, 2.0, noise=0.001)))], ignore_index=True)
    assert len(trial_sets(study, both, HERE)[0].trials) == len(trials)
    assert verdicts(study, both) == ["supported"]


def test_each_plan_is_judged_on_its_own_data(study: Study, trials: pd.DataFrame) -> None:
    other = trials.assign(data_hash="other", digest=["other" + digest for digest in trials["digest"]])
    both = pd.concat([trials, other], ignore_index=True)
    trial_set = planned_set(make_plan(study, "laptop", "cpu", "data"), both)
    assert set(trial_set.trials["data_hash"]) == {"data"}
    assert planned_set(make_plan(study, "laptop", "cpu", "elsewhere"), both).trials.empty


def test_one_text_in_two_tokenizers_is_two_datasets(study: Study) -> None:
    """Trials of an arm are those that read its tokens, and both arms together are the plan."""
    half = study.arms["half"].model_copy(update={"settings": {"tokenizer": "bpe-512"}})
    two = changed(study, arms={"none": study.arms["none"], "half": half})
    hashes = {"python-docs": "of bytes", "python-docs in bpe-512": "of bpe"}
    trained = []
    for arm, data_hash in zip(("none", "half"), hashes.values(), strict=True):
        planned = tuple(trial for trial in make_plan(two, "laptop", "cpu", hashes).trials if trial.arm == arm)
        results = [result(bowl(trial, -7, 2.0)) for trial in planned]
        trained.append(trial_rows.frame(trial_rows.rows(two, "laptop", "cpu", data_hash, arm, planned, results, {})))
    (whole,) = (
        trial_set for trial_set in trial_sets(two, pd.concat(trained, ignore_index=True), HERE) if trial_set.scale == "laptop"
    )
    assert len(whole.trials) == sum(map(len, trained))
    assert whole.trials.groupby("arm")["data_hash"].unique().explode().to_dict() == {"none": "of bytes", "half": "of bpe"}


def test_a_renamed_arm_keeps_its_trials(study: Study, trials: pd.DataFrame) -> None:
    dump = study.model_dump()
    dump["arms"] = {"plain": dump["arms"]["none"], "half": dump["arms"]["half"]}
    dump["judgements"][0]["criteria"][0]["observe"]["left"]["arm"] = "plain"
    assert verdicts(Study.model_validate(dump), trials) == ["supported"]


def test_a_scale_that_only_adds_seeds_keeps_the_trials_there_are(study: Study, trials: pd.DataFrame) -> None:
    (_, more) = [
        trial_set
        for trial_set in trial_sets(changed(study, {"scales.more": {"description": "more seeds", "seeds": 7}}), trials, HERE)
        if trial_set.scale != "smoke"
    ]
    assert more.scale == "more"
    assert len(more.trials) == len(trials)
    assert set(more.trials["scale"]) == {"more"}


def test_arms_that_resolve_to_the_same_trial_share_it(study: Study, trials: pd.DataFrame) -> None:
    """Spelling out a default makes no other trial: nothing more is trained, and both arms have their rows."""
    doubled = changed(
        study, {"arms.again": {"label": "the default, spelled out", "settings": {"warmup_fraction": 0.5, "weight_decay": 0.1}}}
    )
    plan = make_plan(doubled, "laptop", "cpu", "data", lanes=100)
    assert sum(len(pack.trials) for pack in plan.packs) == len(trials)
    rows = planned_set(plan, trials).trials
    assert rows["arm"].value_counts().to_dict() == {"none": 25, "half": 25, "again": 25}
    same = [rows[rows["arm"] == arm].reset_index(drop=True) for arm in ("half", "again")]
    assert same[0]["test_loss"].equals(same[1]["test_loss"])


def test_only_errors_of_the_plan_are_named(study: Study, trials: pd.DataFrame) -> None:
    plan = make_plan(study, "laptop", "cpu", "data")
    own = plan.trials[0].digest
    trial_set = planned_set(plan, trials, HERE, {"elsewhere": "AAA: another scale", own: "RuntimeError: mine"})
    assert trial_set.failures == {own: "RuntimeError: mine"}


def test_a_file_without_a_later_column_is_read(study: Study) -> None:
    from tests.harness.helpers import planned, rows

    old = rows(study, planned(study).trials[:2], lambda _: result(2.0)).drop_columns(["taps"])
    back = trial_rows.decode(trial_rows.encode(old))
    assert back.schema.equals(trial_schema.SCHEMA)
    assert back.column("taps").null_count == 2


def test_a_gpu_scale_that_shares_trials_with_the_laptop_has_no_set(study: Study, trials: pd.DataFrame) -> None:
    """Its missing trials were never asked for: nothing is invalid. Once it is run as such, it has one."""
    shared = changed(study, {"scales.gpu": {"description": "more seeds", "seeds": 7, "device": "cuda"}})
    assert [trial_set.scale for trial_set in trial_sets(shared, trials, HERE)] == ["laptop"]
    begun = trials.assign(scale=["gpu", *trials["scale"][1:]])
    assert [trial_set.scale for trial_set in trial_sets(shared, begun, HERE)] == ["laptop", "gpu"]


def test_arms_on_two_datasets(study: Study) -> None:
    """Each trial's digest holds the hash of its own data; other content of one set leaves the other's trials valid."""
    both = changed(study, {"arms.half.settings": {"model": "mlp", "dataset": "digits"}}, judgements=())
    hashes = {"python-docs": "text", "digits": "images"}
    plan = make_plan(both, "laptop", "cpu", hashes, lanes=8)
    assert {(trial.arm, trial.data_hash) for trial in plan.trials} == {("none", "text"), ("half", "images")}
    assert all(len({trial.data_hash for trial in pack.trials}) == 1 for pack in plan.packs)
    other = make_plan(both, "laptop", "cpu", {**hashes, "digits": "others"})
    assert len(plan.digests & other.digests) == len(plan.digests) / 2

    stored = pd.concat(
        [
            trial_rows.frame(rows(both, pack.trials, lambda _: result(2.0), pack.key)).assign(
                data_hash=pack.trials[0].data_hash
            )
            for pack in plan.packs
        ]
    )
    (trial_set,) = trial_sets(both, stored, HERE)
    assert len(trial_set.trials) == len(plan.trials)
    assert trial_set.complete


def test_a_smoke_scale_that_shares_trials_with_the_laptop_has_no_set(study: Study, trials: pd.DataFrame) -> None:
    shared = changed(
        study,
        {
            "scales.smoke": {
                "description": "one seed of the same",
                "seeds": 1,
                "judged": False,
                "factors": {"peak_lr": [2.0**-7]},
            }
        },
    )
    partly = list(make_plan(shared, "smoke", "cpu", "data").digests)[1:]
    sets = trial_sets(shared, trials[~trials["digest"].isin(partly)], HERE)
    assert [trial_set.scale for trial_set in sets] == ["laptop"]


def test_a_laptop_scale_that_shares_trials_with_smoke_has_no_set(study: Study, trials: pd.DataFrame) -> None:
    """One arm's trials, run as smoke: nothing was asked of the laptop scale, and nothing of it is invalid."""
    shared = trials[(trials["arm"] == "none") & (trials["seed"] == 0)].assign(scale="smoke")
    assert trial_sets(study, shared, HERE) == []
    begun = shared.assign(scale=["laptop", *shared["scale"][1:]])
    assert [trial_set.scale for trial_set in trial_sets(study, begun, HERE)] == ["laptop"]


def test_versions_are_never_mixed(study: Study, trials: pd.DataFrame) -> None:
    """Trials of one version never belong to another, even if nothing else differs; each is judged on its own."""
    second = changed(study, version=2)
    assert trial_sets(second, trials, HERE) == []
    newer = frame(second, lambda trial: result(bowl(trial, -7, 1.9 if trial.arm == "none" else 2.0, noise=0.001)))
    both = pd.concat([trials, newer], ignore_index=True)
    assert verdicts(study, both) == ["supported"]
    assert verdicts(second, both) == ["refuted"]
    assert set(trial_sets(second, both, HERE)[0].trials["version"]) == {2}


def test_publishing_keeps_what_earlier_versions_judged(study: Study, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however often a version is published, and without its arms."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    store = Store(str(tmp_path / "store"))
    for version in (1, 1, 2, 2):
        versioned = changed(study, version=version)
        declare(store, versioned, "laptop", trials_before=0)
        (trial_set,) = trial_sets(versioned, frame(versioned, lambda trial: result(bowl(trial, -7, 2.0, noise=0.001))), HERE)
        publish(replace(trial_set, declarations=tuple(declarations(store, versioned, "laptop"))), SourceCheck())
    (back,) = published_sets(versioned)
    assert [(before.version, list(before.declared)) for before in back.earlier] == [(1, ["judgements"])]


def test_a_run_that_is_not_at_its_end_is_judged_by_its_whole_seeds_and_says_so(study: Study) -> None:
    """As if it had that many; no verdict is firm before the declared one, and none grades a document or is published."""
    planned = changed(study, seeds=12)
    every = frame(planned, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.01)))
    begun = every[(every["seed"] < 7) | ((every["seed"] == 7) & (every["arm"] == "none"))]
    (trial_set,) = trial_sets(planned, begun, HERE)
    (verdict,) = trial_set.verdicts()
    assert verdict.so_far == "7 of 12 seeds"
    assert (verdict.verdict, verdict.seeds) == ("supported", 7)
    (of_seven,) = trial_sets(changed(study, seeds=7), every, HERE)
    assert verdict.estimate == of_seven.verdicts()[0].estimate
    assert standing(verdict, None, error_rates([verdict])) == SO_FAR
    assert trial_set.robustness([verdict]) == []
    with pytest.raises(UserError, match="judged by 7 of 12 seeds so far"):
        checked(trial_set)
    (whole,) = trial_sets(planned, every, HERE)
    assert whole.verdicts()[0].so_far == ""


def test_what_is_too_few_seeds_or_failed_is_not_judged_so_far(study: Study) -> None:
    planned = changed(study, seeds=12)
    every = frame(planned, lambda trial: result(bowl(trial, -7, 2.0, noise=0.001)))
    assert verdicts(planned, every[every["seed"] < 4]) == ["invalid"]
    missing = every["digest"].iloc[-1]
    (trial_set,) = trial_sets(planned, every[every["digest"] != missing], HERE, failures={missing: "out of memory"})
    assert [verdict.verdict for verdict in trial_set.verdicts()] == ["invalid"]


def test_further_seeds_of_an_arm_count_when_all_are_there(study: Study) -> None:
    """The run is at its end only with them; until then an arm counts with the seeds that all have."""
    more = changed(study, {"scales.laptop.arm_seeds": {"none": 9, "half": 9}})
    every = frame(more, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.01)))
    (begun,) = trial_sets(more, every[every["seed"] < 8], HERE)
    (whole,) = trial_sets(more, every, HERE)
    count = study.seeds_at("laptop")
    assert [verdict.so_far for verdict in begun.verdicts()] == [f"{count} of {count} seeds"]
    assert [verdict.seeds for verdict in begun.verdicts()] == [count]
    assert [(verdict.so_far, verdict.seeds) for verdict in whole.verdicts()] == [("", 9)]
