from pathlib import Path

import pyarrow as pa
import pytest
import torch

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.plan.store.trial_schema import JUDGED
from tests.harness.helpers import planned, result, rows, stored


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(Store(str(tmp_path)), "toy")


def test_what_is_written_is_done(ledger: Ledger, study: Study) -> None:
    plan = planned(study)
    assert ledger.digests() == set()
    assert ledger.trials().empty
    stored(study, ledger.store, lambda trial: result(2.0 + trial.seed))
    assert ledger.digests() == set(plan.digests)
    assert plan.without(ledger.digests()) == ()
    trials = ledger.trials()
    assert len(trials) == 50
    assert set(trials["peak_lr"]) == set(study.factors["peak_lr"])
    assert (trials["test_loss"] == 2.0 + trials["seed"]).all()


def test_a_trial_in_two_packs_counts_once(ledger: Ledger, study: Study) -> None:
    trials = planned(study).trials
    later, earlier = (
        rows(study, part, lambda _, loss=loss: result(loss, step=[loss, 0.0]), pack)
        for pack, part, loss in (("a", trials[:3], 2.0), ("b", trials[2:5], 1.0))
    )
    ledger.write("a", finished(later, "2025-02-01T00:00:00+00:00"))
    ledger.write("b", finished(earlier, "2025-01-01T00:00:00+00:00"))
    assert sorted(ledger.trials()["test_loss"]) == [1.0, 1.0, 1.0, 2.0, 2.0], "the earliest result counts"
    table = ledger.trials(JUDGED)
    assert [curve[0] for curve in table["curve_step"]] == table["test_loss"].tolist(), "and so does its curve"


def test_of_a_pack_that_was_stored_twice_the_earliest_counts(ledger: Ledger, study: Study) -> None:
    trials = planned(study).trials[:3]
    for month, loss in ((1, 1.0), (3, 3.0), (2, 2.0)):
        stored = rows(study, trials, lambda _, loss=loss: result(loss, step=[loss]), "a")
        ledger.write("a", finished(stored, f"2025-0{month}-01T00:00:00+00:00"))
    table = ledger.trials(JUDGED)
    assert table["test_loss"].tolist() == [curve[0] for curve in table["curve_step"]] == [1.0, 1.0, 1.0]


def test_curves_are_read_when_they_are_asked_for(ledger: Ledger, study: Study) -> None:
    trials = planned(study).trials
    ledger.write("a", rows(study, trials, lambda trial: result(2.0, step=[float(trial.seed)]), "a"))
    table = ledger.trials(JUDGED).sort_values("seed", ascending=False)[["seed", "curve_step", "curve_lr"]]
    assert [curve[0] for curve in table["curve_step"]] == table["seed"].tolist()
    (name,) = ledger.store.names("ledger/toy", ".parquet")
    ledger.store.remove(name)
    assert table["curve_step"].iloc[0][0] == table["seed"].iloc[0], "what was read once is kept"
    with pytest.raises(UserError, match=r"lost trials of 'toy' while they were read; give the command again"):
        table["curve_lr"].to_numpy()


def finished(rows: pa.Table, at: str) -> pa.Table:
    """With another time at which its pack was done."""
    column = rows.column_names.index("finished_at")
    return rows.set_column(column, rows.schema.field(column), pa.array([at] * len(rows)))


def test_a_damaged_file_is_set_aside_and_its_trials_run_again(
    ledger: Ledger, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    """One that is torn or empty: test_reading.py."""
    plan = planned(study)
    stored(study, ledger.store, lambda _: result(2.0))
    (name,) = [name for name in ledger.store.names("ledger/toy", ".parquet") if plan.packs[1].key in name]
    content = bytearray(ledger.store.read(name))
    content[len(content) // 3] ^= 0x10
    ledger.store.write(name, bytes(content))
    assert plan.without(ledger.digests()) == (plan.packs[1],)
    assert "set aside" in caplog.text
    assert ledger.store.exists(f"{name}.damaged")


def test_failures_are_kept_until_the_pack_succeeds(ledger: Ledger, study: Study) -> None:
    pack = planned(study).packs[0]
    ledger.write_failure(pack.key, [trial.digest for trial in pack.trials], "RuntimeError: out of memory")
    assert ledger.failures() == {trial.digest: "RuntimeError: out of memory" for trial in pack.trials}
    assert ledger.digests() == set(), "a failure is never a result"
    ledger.write(pack.key, rows(study, pack.trials, lambda _: result(2.0)))
    assert ledger.failures() == {}


def test_checkpoints(ledger: Ledger, study: Study, caplog: pytest.LogCaptureFixture) -> None:
    pack = planned(study).packs[0]
    assert ledger.read_checkpoint(pack.key) is None
    ledger.write_checkpoint(pack.key, {"a": torch.arange(3.0), "b": torch.ones(2, 2).T})
    state = ledger.read_checkpoint(pack.key)
    assert state is not None
    assert torch.equal(state["a"], torch.arange(3.0))
    name = f"checkpoints/toy/{pack.key}.checkpoint"
    flipped = bytearray(ledger.store.read(name))
    flipped[-3] ^= 1  # in a weight: safetensors itself would not notice
    ledger.store.write(name, bytes(flipped))
    assert ledger.read_checkpoint(pack.key) is None
    assert "starts over" in caplog.text
    assert ledger.store.read(f"{name}.damaged") == flipped
    assert not ledger.store.exists(name)
    ledger.write_checkpoint(pack.key, {"a": torch.arange(3.0)})
    ledger.write(pack.key, rows(study, pack.trials, lambda _: result(2.0)))
    assert not ledger.store.exists(f"checkpoints/toy/{pack.key}.checkpoint"), "a finished pack needs none"


def test_what_mlflow_lacks(ledger: Ledger, study: Study) -> None:
    first, second = planned(study).packs[:2]
    for pack in (first, second):
        ledger.write(pack.key, rows(study, pack.trials, lambda _: result(2.0)))
    ledger.mark_projected(first.key, "here")
    assert ledger.not_projected("here") == [second.key]
    assert sorted(ledger.not_projected("elsewhere")) == sorted([first.key, second.key])
    ledger.forget_projections("here")
    assert sorted(ledger.not_projected("here")) == sorted([first.key, second.key])


def test_losses_that_are_not_finite_survive(ledger: Ledger, study: Study) -> None:
    trials = planned(study).trials[:1]
    ledger.write("a", rows(study, trials, lambda _: result(float("nan"), divergence_step=7)))
    row = ledger.trials().iloc[0]
    assert row["test_loss"] != row["test_loss"]
    assert (row["outcome"], row["divergence_step"]) == ("diverged", 7)
