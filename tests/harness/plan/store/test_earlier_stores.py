"""Stores that earlier versions wrote are listed, judged and continued for ever. How they were written: stores/README.md."""

import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.judge.trial_sets import stored_sets
from folklore.harness.launch.training_job import TrainingJob
from folklore.harness.options import Options
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.lanes import Choice
from folklore.harness.plan.plan import PlannedPack
from folklore.harness.plan.prepare import prepare
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.plan.variation import Changes, vary
from folklore.harness.use.reading.stored_studies import listed_studies, stored_studies
from tests.harness.helpers import changed

STORES = sorted(Path(__file__).with_name("stores").glob("*.tar.xz"))
SCALE = "laptop"
# Trials of each study.
WRITTEN = {"interrupted": 0, "momentum": 40, "momentum_varied_2dbcf9b8": 4, "tuned": 18}
# Of a verdict; other words may say it.
SAID = ("claim", "verdict", "reading", "estimate", "low", "high", "seeds", "trials")


@dataclass(frozen=True)
class Earlier:
    """A store and its studies' files; verdicts: study -> the verdicts of that version, which the store no longer holds."""

    store: Store
    files: Path
    verdicts: dict[str, list[dict[str, Any]]]

    def ledger(self, study: Study) -> Ledger:
        return Ledger(self.store, study.name)

    def study(self, name: str) -> Study:
        return load_study(str(self.files / f"{name}.yaml"))

    def left(self, study: Study, lanes: int | None = None) -> tuple[PlannedPack, ...]:
        return prepare(study, SCALE, Options(self.store.root, lanes=lanes), self.ledger(study)).left

    def job(self, study: Study, pack: PlannedPack) -> TrainingJob:
        return TrainingJob(study, SCALE, "cpu", "digits", self.store.root, pack, Choice(len(pack.trials), "eager", "given"))

    def contents(self) -> dict[str, bytes]:
        """Contents of all files that hold results or declarations."""
        root = Path(self.store.root)
        kept = (path for folder in ("ledger", "declared") for path in (root / folder).rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path.read_bytes() for path in kept}


@pytest.fixture(params=STORES, ids=lambda path: path.name.partition(".")[0])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Earlier]:
    """Its contents are there afterwards, unchanged, and nothing was set aside."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    judged = {path.stem: json.loads(path.read_text("utf-8")) for path in (root / "store" / "judged").iterdir()}
    shutil.rmtree(root / "store" / "judged")  # so that it is judged anew
    verdicts = {study: [one for part in kept["judged"] for one in part["verdicts"]] for study, kept in judged.items()}
    written = Earlier(Store(str(root / "store")), root / "studies", verdicts)
    before = written.contents()
    yield written
    assert before.items() <= written.contents().items()


def test_it_is_listed(earlier: Earlier, caplog: pytest.LogCaptureFixture) -> None:
    assert [study.name for study in stored_studies(earlier.store)] == list(WRITTEN)
    counts = {row.study: row.trials.get(SCALE, 0) for row in listed_studies(earlier.store)}
    assert {name: counts[name] for name in WRITTEN} == WRITTEN
    assert not caplog.text


def test_it_is_judged_as_it_was(earlier: Earlier, caplog: pytest.LogCaptureFixture) -> None:
    for study in stored_studies(earlier.store):
        sets = stored_sets(study, earlier.ledger(study))
        assert [records.declared_otherwise for records in sets] == [""] * len(sets)
        verdicts = [{name: getattr(one, name) for name in SAID} for records in sets for one in records.verdicts()]
        assert verdicts == [
            {name: pytest.approx(one[name], rel=1e-9) if isinstance(one[name], float) else one[name] for name in SAID}
            for one in earlier.verdicts.get(study.name, [])
        ]
    assert not caplog.text


def test_nothing_stored_is_trained_again(earlier: Earlier) -> None:
    """By the same commands: with the study's file, and the same variation of it."""
    momentum = earlier.study("momentum")
    variation = vary(momentum, SCALE, Changes(settings={"peak_lr": (0.125,)}, seeds=2))
    for study in (momentum, variation, earlier.study("tuned")):
        assert study.name in WRITTEN
        assert earlier.left(study) == ()


@pytest.mark.parametrize("name", ["momentum", "tuned"])
def test_more_seeds_are_added(earlier: Earlier, name: str) -> None:
    """In a search, at the LR that it has chosen."""
    study = changed(earlier.study(name), seeds=6)
    ledger = earlier.ledger(study)
    declare(earlier.store, study, SCALE, WRITTEN[name])
    before, packs = ledger.digests(), earlier.left(study)
    assert {trial.seed for pack in packs for trial in pack.trials} == {5}
    for pack in packs:
        work = earlier.job(study, pack).open()
        while not work.advance(10.0).done:
            pass
    added = {trial.digest for pack in packs for trial in pack.trials}
    assert len(added) == len(study.arms) * (4 if name == "momentum" else 1)
    assert ledger.digests() == before | added
    assert earlier.left(study) == ()
    (records,) = stored_sets(study, Ledger(earlier.store, study.name))
    assert {verdict.seeds for verdict in records.verdicts()} == {6}
    assert records.declared_otherwise == ""


def test_a_pack_in_flight_goes_on(earlier: Earlier, caplog: pytest.LogCaptureFixture) -> None:
    """From its checkpoint, or from its start: if that is because the sources that train differ, a line says so."""
    study = earlier.study("interrupted")
    (pack,) = earlier.left(study, lanes=4)
    is_checkpointed = earlier.store.exists(f"checkpoints/{study.name}/{pack.key}.checkpoint")
    work = earlier.job(study, pack).open()
    starts_over = "was written by other sources than these: the pack starts over" in caplog.text
    assert len(caplog.messages) == starts_over
    assert (work.training.step > 0) is (is_checkpointed and not starts_over)
    while work.training.step < 200 and not work.advance(0.0).done:
        pass
    work.close()
    ended = {trial.digest for trial in pack.trials} if is_checkpointed else set()
    assert earlier.ledger(study).digests() == ended, "the one without a checkpoint has 20,000 steps"


def test_there_are_stores_of_several_versions_and_packs_in_flight() -> None:
    names = []
    for path in STORES:
        with tarfile.open(path) as archive:
            names += archive.getnames()
    assert len(STORES) >= 3
    assert any(name.endswith(".checkpoint") for name in names)
