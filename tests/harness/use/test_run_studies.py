"""One `folklore run`: declarations before training, and seeds that are added until claims are decided."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from folklore.harness.declare import Claim, Source, Study
from folklore.harness.declare.trial import Trial
from folklore.harness.errors import UserError
from folklore.harness.judge.trial_sets import published_sets, stored_sets
from folklore.harness.judge.verdict import Verdict
from folklore.harness.launch import studies as launching
from folklore.harness.launch.campaign import LaunchOutcome
from folklore.harness.launch.reporter import NullReporter
from folklore.harness.launch.studies import UntilDecided
from folklore.harness.launch.tracking.sync import open_tracker, sync
from folklore.harness.options import Options
from folklore.harness.plan import catalog, plan
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.plan import make_pack
from folklore.harness.plan.prepare import Prepared
from folklore.harness.plan.store.declaration import declarations
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import local_device
from folklore.harness.train.result import LaneResult
from folklore.harness.use import run_studies as run
from folklore.harness.use.cli import app
from folklore.harness.use.run_studies import run_studies
from tests.harness.helpers import bowl, changed, published_names, result, rows
from tests.parts import fast_for

pytestmark = pytest.mark.usefixtures("few_calibrated")


class Trainer:
    """Stands in for training: each pack's results are what `outcome` says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome, shows: bool = False) -> None:
        self.outcome, self.seeds = outcome, []
        self.declared_before_training: list[int] = []
        monkeypatch.setattr(launching, "_train_or_sync", self)
        if shows:  # a catalogue of one: of how many studies pages are is not the point
            monkeypatch.setattr(catalog, "study_names", lambda: ["batch_ramp"])
        else:
            monkeypatch.setattr(run, "_show", lambda *args: (Path(), {}))

    def __call__(self, ready: Sequence[Prepared], *arguments: object) -> list[LaunchOutcome]:
        for prepared in ready:
            study = prepared.plan.study
            self.seeds.append(study.seeds_at(prepared.plan.scale))
            self.declared_before_training.append(len(declarations(prepared.ledger.store, study, prepared.plan.scale)))
            for pack in prepared.left:
                table = rows(study, pack.trials, self.outcome, pack.key)
                # The data are the real ones' here.
                hashes = [[pack.trials[0].data_hash] * len(table)]
                table = table.set_column(table.column_names.index("data_hash"), "data_hash", hashes)
                prepared.ledger.write(pack.key, table)
        return [LaunchOutcome(0, 0, False, 0) for _ in ready]


def _gap(size: float, noise: float):
    def outcome(trial: Trial) -> LaneResult:
        gap = (size if trial.arm == "none" else 0.0) + noise * ((trial.seed * 7919) % 11 - 5) * (trial.arm == "none")
        return result(min(4.9, bowl(trial, -7, 2.0) + gap))

    return outcome


def test_it_is_declared_before_the_first_trial(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(monkeypatch, _gap(0.1, 0.0001))
    assert run_studies([study], "laptop", Options(str(tmp_path)), None) == 0
    (declaration,) = declarations(Store(str(tmp_path)), study, "laptop")
    assert trainer.declared_before_training == [1]
    assert (declaration.hash, declaration.trials_before, declaration.looks) == (study.hash, 0, None)


@pytest.mark.parametrize("name", fast_for(("decay", "warmup"), published_names()))
def test_a_study_whose_trials_are_published_can_be_repeated(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a fresh clone, where published evidence is what there is of a spread: one study that searches and one that does not.
    (tests/studies asks of every study whether it is refused for want of power.)"""
    declared = load_study(name)
    assert published_sets(declared)
    monkeypatch.setattr(launching, "_train_or_sync", lambda *arguments: [LaunchOutcome(0, 0, False, 0)])
    monkeypatch.setattr(run, "_show", lambda *args: (Path(), {}))
    assert run_studies([declared], "laptop", Options(str(tmp_path)), None) == 0
    assert [declaration.hash for declaration in declarations(Store(str(tmp_path)), declared, "laptop")] == [declared.hash]


def test_a_study_with_too_little_power_does_not_begin(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the spread that it declares; nothing is trained and nothing written down."""
    trainer = Trainer(monkeypatch, _gap(0.1, 0.0001))
    weak = changed(study, {"judgements.0.criteria.0.expected": {"value": 0.011, "source": "a theory", "spread": 0.5}})
    with pytest.raises(UserError, match=r"show the expected .* power, and 80% is needed"):
        run_studies([weak], "laptop", Options(str(tmp_path)), None)
    assert trainer.seeds == []
    assert declarations(Store(str(tmp_path)), weak, "laptop") == []


def test_several_studies_say_what_they_take_together(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(NullReporter, "say", lambda self, text: said.append(text))
    monkeypatch.setattr("folklore.harness.launch.campaign.train", lambda ready, *others: [])
    monkeypatch.setattr(run, "_show", lambda *arguments: (Path(), {}))
    assert run_studies([study, changed(study, {"name": "other"})], "laptop", Options(str(tmp_path)), None) == 0
    (together,) = [line for line in said if line.startswith("all together 100 trials, about ")]
    seconds = [float(line.split("about ")[2].split(" s ")[0]) for line in said if line.startswith("training 50 trials")]
    assert float(together.split("about ")[1].removesuffix(" s")) == pytest.approx(sum(seconds), abs=1.5)
    said.clear()
    assert run_studies([study], "laptop", Options(str(tmp_path)), None) == 0
    assert not [line for line in said if line.startswith("all together")]


def test_a_run_that_gives_trials_up_fails(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        launching,
        "_train_or_sync",
        lambda *arguments: [LaunchOutcome(trained=48, given_up=2, interrupted=False, not_in_mlflow=0)],
    )
    monkeypatch.setattr(run, "_show", lambda *arguments: (Path(), {}))
    assert run_studies([study], "laptop", Options(str(tmp_path)), None) == 1


def test_seeds_are_added_until_the_claim_is_decided(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(monkeypatch, _gap(0.02, 0.005))
    assert run_studies([study], "laptop", Options(str(tmp_path)), None, UntilDecided(40)) == 0
    (records,) = [
        trial_set for trial_set in stored_sets(study, Ledger(Store(str(tmp_path)), study.name)) if trial_set.scale == "laptop"
    ]
    (verdict,) = records.verdicts()
    assert trainer.seeds[0] == 5
    assert len(trainer.seeds) > 1, "five seeds were not enough at the first look's level"
    assert verdict.verdict == "supported"
    assert verdict.seeds == trainer.seeds[-1] < 40, "and it ended where it was decided"


@pytest.fixture
def planned_from_scratch(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str, str]]:
    """Study, scale and device -> how often it was planned other than by extending a plan."""
    counts, make_plan = Counter[tuple[str, str, str]](), plan.make_plan

    def counted(study: Study, scale: str, device: str, *arguments: Any, **options: Any) -> plan.Plan:
        counts[study.name, scale, device] += 1
        return make_plan(study, scale, device, *arguments, **options)

    monkeypatch.setattr(plan, "make_plan", counted)
    return counts


def test_a_scale_is_planned_once_a_command(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned_from_scratch: Counter[tuple[str, str, str]]
) -> None:
    """Though seeds are added twice, what is there is judged after each look, and pages are written."""
    trainer = Trainer(monkeypatch, _gap(0.0, 0.005), shows=True)
    store, file = str(tmp_path / "s"), tmp_path / "toy.json"
    file.write_text(study.canonical_json())
    assert run_studies([study], "laptop", Options(store), None, UntilDecided(12)) == 0
    assert trainer.seeds == [5, 8, 12]
    once = ("toy", "laptop", "cpu")
    assert planned_from_scratch[once] == 1
    for command in (["run", str(file), "--scale", "laptop"], ["plan", str(file), "--scale", "laptop"], ["verdicts", str(file)]):
        planned_from_scratch.clear()
        done = CliRunner().invoke(app, [*command, "--store", store])
        assert done.exit_code == 0, done.output
        assert planned_from_scratch[once] == 1, command
        assert set(planned_from_scratch.values()) == {1}, command


def test_a_later_run_stays_at_its_look(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option it trains nothing more, and judges what is there by its looks."""
    trainer = Trainer(monkeypatch, _gap(0.0, 0.005))
    run_studies([study], "laptop", Options(str(tmp_path)), None, UntilDecided(8))
    run_studies([study], "laptop", Options(str(tmp_path)), None)
    assert trainer.seeds == [5, 8, 8]


def test_a_file_of_the_ledger_is_read_once_a_phase(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to see what is done, and once to judge it, unless its verdicts are remembered."""
    Trainer(monkeypatch, _gap(0.1, 0.0001), shows=True)
    read, whole = Counter[str](), Store.read

    def counted(store: Store, name: str) -> bytes:
        read[name] += name.startswith("ledger/")
        return whole(store, name)

    monkeypatch.setattr(Store, "read", counted)
    for phases in ("judged", "planned", "planned and judged"):
        if phases == "planned and judged":
            shutil.rmtree(tmp_path / "judged")
            shutil.rmtree(tmp_path / "written")
        read.clear()
        assert run_studies([study], "laptop", Options(str(tmp_path)), None) == 0
        assert {count for name, count in read.items() if count} == {len(phases.split(" and "))}, phases


def test_the_index_keeps_what_other_runs_stored(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer(monkeypatch, _gap(0.1, 0.0001), shows=True)
    (judgement,) = study.judgements
    for name in ("toy", "another"):
        source = Source(document="TB", section="1")
        claim = Claim(id=f"{name}.works", kinds=("empirical",), paraphrase="It works.", measure="its gap", sources=(source,))
        judged = (judgement.model_copy(update={"claim": claim.id}),)
        own = study.model_copy(update={"name": name, "claims": (claim,), "judgements": judged})
        assert run_studies([own], "laptop", Options(str(tmp_path)), None) == 0
    index = (tmp_path / "pages" / "index.html").read_text()
    assert '"toy.html' in index
    assert '"another.html' in index


def test_what_was_judged_once_gets_no_looks(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer(monkeypatch, _gap(0.0, 0.005))
    run_studies([study], "laptop", Options(str(tmp_path)), None)
    with pytest.raises(UserError, match=r"is judged once by its declaration"):
        run_studies([study], "laptop", Options(str(tmp_path)), None, UntilDecided(12))


def test_looks_beyond_sense_are_refused(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer(monkeypatch, _gap(0.0, 0.005))
    with pytest.raises(UserError, match=r"--most-seeds 3: must be more than the study's own 5"):
        run_studies([study], "laptop", Options(str(tmp_path)), None, UntilDecided(3))
    with pytest.raises(UserError, match=r"scale 'smoke' is never judged"):
        run_studies([study], "smoke", Options(str(tmp_path)), None, UntilDecided(12))
    assert declarations(Store(str(tmp_path)), study, "laptop") == []


def test_a_run_that_trains_nothing_imports_nothing_heavy(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_in: Callable[[Path], str]
) -> None:
    """It took 11 s: torch to learn that nothing is to be trained, MLflow that it lacks nothing, and all pages again."""
    store, file = tmp_path / "store", tmp_path / "toy.json"
    file.write_text(study.canonical_json())
    study = load_study(str(file))
    mlflow_in(store)
    with monkeypatch.context() as patch:
        Trainer(patch, _gap(0.1, 0.0001))
        assert run_studies([study], "laptop", Options(str(store)), None) == 0
    assert local_device().kind == "cpu"
    # A run that trains nothing still brings MLflow up to date and writes the pages: once.
    assert run_studies([study], "laptop", Options(str(store)), None) == 0
    options, ledger = Options(str(store)), Ledger(Store(str(store)), study.name)
    assert sync(study, options, ledger) == 0
    identity = open_tracker(study, options, ledger.store).identity
    ledger.store.remove(f"projected/{study.name}/{identity}/{ledger.packs()[0]}")
    assert sync(study, options, ledger) == 1
    page = store / "pages" / "toy.html"
    written = page.stat().st_mtime_ns
    heavy = "{'torch', 'ray', 'mlflow', 'optuna', 'scipy.stats', 'matplotlib', 'seaborn'}"
    run = f"app(['run', {str(file)!r}, '--scale', 'laptop', '--store', {str(store)!r}], standalone_mode=False)"
    code = f"import sys; from folklore.harness.use.cli import app; {run}; print('heavy:', *{heavy} & {{*sys.modules}})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[-1].split() == ["heavy:"]
    assert "nothing to train: all trials are in the ledger" in said
    assert any("warmup.improves_best" in line and "supported" in line for line in said), said
    assert page.stat().st_mtime_ns == written


class Rounded(Trainer):
    """Hears after the first five seeds of twelve, as a run does that is long enough."""

    def __call__(self, ready: Sequence[Prepared], *arguments: object) -> list[LaunchOutcome]:
        (prepared,) = ready
        after_round = arguments[-1]
        assert callable(after_round)
        first = prepared.plan.study.seed_numbers_at("laptop")[:5]
        packs = [make_pack([trial for trial in pack.trials if trial.seed in first]) for pack in prepared.left]
        super().__call__([replace(prepared, left=tuple(pack for pack in packs if pack.trials))])
        after_round(prepared)
        rest = [make_pack([trial for trial in pack.trials if trial.seed not in first]) for pack in prepared.left]
        return super().__call__([replace(prepared, left=tuple(pack for pack in rest if pack.trials))])


class Judged(NullReporter):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.page, self.shown, self.events = page, list[tuple[str, int, bool]](), list[str]()

    def emit(self, event: str, **fields: Any) -> None:
        if event == "verdict":
            self.events.append(fields["so_far"])

    def judged(self, verdicts: Sequence[Verdict]) -> None:
        on_page = "So far, 5 of 12 seeds are trained" in self.page.read_text()
        self.shown += [(verdict.so_far, verdict.seeds, on_page) for verdict in verdicts]


def test_a_run_shows_what_its_seeds_say_so_far(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In lines, events and on the page, marked; at the end nothing of it is left."""
    monkeypatch.setattr(launching, "SECONDS_WITH_ROUNDS", 0.0)
    Rounded(monkeypatch, _gap(0.1, 0.0001), shows=True)
    reporter = Judged(tmp_path / "pages" / "toy.html")
    assert run_studies([changed(study, seeds=12)], "laptop", Options(str(tmp_path)), None, reporter=reporter) == 0
    assert reporter.shown == [("5 of 12 seeds", 5, True), ("", 12, False)]
    assert reporter.events == ["5 of 12 seeds", ""]
    assert "So far" not in reporter.page.read_text()
