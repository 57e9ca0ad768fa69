"""Studies of a store are listed, and every command reads them by either name: file studies, variations, own workloads."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folklore import harness
from folklore.harness.declare import Change, Study
from folklore.harness.errors import UserError
from folklore.harness.plan import catalog
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.store import Store
from folklore.harness.plan.variation import Changes, vary
from folklore.harness.use.cli import app
from folklore.harness.use.reading.references import Reference
from folklore.harness.use.reading.stored_studies import named_study, readable_name, stored_studies
from tests.harness.helpers import bowl, changed, result, stored

CLI = CliRunner()
DATASET = "own:gone_module:workload@0123456789abcdef"
OWN = "toy_own_01234567"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two studies of the catalogue stand for all: loading the others takes most of the time, whatever is asked."""
    monkeypatch.setattr(catalog, "study_names", lambda: ["memory", "warmup"])


def kept(store: Store, study: Study) -> Study:
    """Declared and trained, as a run leaves it."""
    declare(store, study, "laptop", 0)
    stored(study, store, lambda trial: result(bowl(trial, -7, 2.0 + 0.1 * (trial.arm == "none"))))
    return study


@pytest.fixture(scope="module")
def from_file(study: Study) -> Study:
    """A study that came from a file, which is gone, and has a claim of its own."""
    claim = {"id": "my.claim", "kinds": ["empirical"], "paraphrase": "half is better", "measure": "the gap"}
    judgements = [{**study.model_dump()["judgements"][0], "claim": "my.claim"}]
    return changed(study, claims=[claim], judgements=judgements)


@pytest.fixture(scope="module")
def own(study: Study) -> Study:
    """On a workload whose module cannot be imported any more."""
    workload = {"model": "own", "dataset": DATASET}
    return study.changed(Change(workload="resnet18-digits"), name=OWN, workload=workload)


@pytest.fixture(scope="module")
def variation(study: Study) -> Study:
    return vary(study, "laptop", Changes.parse(["steps=7"], 6, []))


@pytest.fixture(scope="module")
def full(from_file: Study, own: Study, variation: Study, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store that all three ran in, for tests that read it."""
    store = Store(str(tmp_path_factory.mktemp("full")))
    for study in (from_file, own, variation):
        kept(store, study)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "s"))


def printed(store: Store, *arguments: str) -> str:
    done = CLI.invoke(app, [*arguments, "--store", store.uri])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_what_is_there_is_listed(full: Store, variation: Study) -> None:
    listed = {row["study"]: row for row in json.loads(printed(full, "list", "--json"))}
    assert listed["toy"]["trials"] == {"laptop": 50}
    assert listed[OWN]["name"] == "resnet18-digits through toy"
    assert listed[variation.name]["name"] == "toy with steps = 7; seeds = 6"
    assert listed[variation.name]["trials"] == {"laptop": 60}
    assert listed["warmup"]["trials"] == {}
    shown = printed(full, "list")
    for words in ("toy ", OWN, "resnet18-digits through toy", "toy with steps = 7; seeds = 6", "50 laptop"):
        assert words in shown


def test_a_store_that_is_not_there_lists_the_catalogue(tmp_path: Path) -> None:
    assert "warmup" in printed(Store(str(tmp_path / "none")), "list")
    assert not (tmp_path / "none").exists(), "reading writes nothing"


@pytest.mark.parametrize("name", ["resnet18-digits through toy", OWN])
def test_every_reading_command_takes_either_name(full: Store, name: str) -> None:
    (verdict,) = json.loads(printed(full, "verdicts", name, "--json"))
    assert (verdict["study"], verdict["verdict"]) == (OWN, "supported")
    assert "resnet18-digits through toy" in printed(full, "verdicts", name)
    assert f"{OWN} version 1" in printed(full, "why", "warmup.improves_best", "--study", name)
    assert "overlap" in printed(full, "compare", name, f"{name}@laptop-cpu:stored")
    assert Reference.parse(f"{name}@laptop").resolve(full).study.name == OWN
    assert len(harness.trials(name, store=full.uri)) == 50
    assert set(harness.curves(name, store=full.uri)["digest"]) == set(harness.trials(name, store=full.uri)["digest"])
    assert [verdict.verdict for verdict in harness.verdicts(name, store=full.uri)] == ["supported"]


def test_without_a_name_the_store_counts(full: Store, variation: Study) -> None:
    names = {"toy", OWN, variation.name}
    assert {row["study"] for row in json.loads(printed(full, "verdicts", "--json"))} == names
    assert {explanation["study"] for explanation in json.loads(printed(full, "why", "my.claim", "--json"))} == {"toy"}
    assert {
        explanation["study"] for explanation in json.loads(printed(full, "why", "warmup.improves_best", "--json"))
    } >= names - {"toy"}
    assert {verdict.study for verdict in harness.verdicts(store=full.uri, source="stored")} == names
    assert {verdict.study for verdict in harness.verdicts(store=full.uri, scale="laptop", source="stored")} == names


def test_pages_are_written_of_all_of_it(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_calibrated: None
) -> None:
    """Beside the catalogue's: tests/reports/test_published.py writes the others."""
    monkeypatch.setattr(catalog, "study_names", lambda: ["memory"])
    printed(full, "report", "--output", str(tmp_path / "pages"))
    for name, said in (("toy", "50 trials"), (OWN, "50 trials"), ("memory", "trials")):
        assert said in (tmp_path / "pages" / f"{name}.html").read_text()


def test_a_study_from_a_file_is_planned_without_it(full: Store, from_file: Study) -> None:
    facts = json.loads(printed(full, "plan", "toy", "--scale", "laptop", "--json"))
    assert (facts["study_hash"], facts["trials"]) == (from_file.hash, 50)


def test_a_file_counts_as_it_is(full: Store, from_file: Study, tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(changed(from_file, seeds=9).canonical_json())
    assert json.loads(printed(full, "plan", str(path), "--scale", "laptop", "--json"))["seeds"] == 9
    assert json.loads(printed(full, "plan", "toy", "--scale", "laptop", "--json"))["seeds"] == 5


def test_arms_and_scales_keep_their_order(full: Store, from_file: Study) -> None:
    """Pages show arms in it, and a study without a usual scale is run at its first."""
    study = named_study(full, "toy")
    assert (
        ([*study.arms], [*study.scales]) == ([*from_file.arms], [*from_file.scales]) == (["none", "half"], ["laptop", "smoke"])
    )
    assert study == from_file


def test_what_is_declared_last_is_meant(store: Store, from_file: Study) -> None:
    declare(store, from_file, "laptop", 0)
    declare(store, changed(from_file, version=2), "laptop", 0)
    assert named_study(store, "toy").version == 2
    assert [study.name for study in stored_studies(store)] == ["toy"]


def test_the_catalogue_comes_first(store: Store, study: Study) -> None:
    declare(store, changed(study, name="warmup"), "laptop", 0)
    assert named_study(store, "warmup").title != study.title


def test_a_readable_name_of_two_names_both(store: Store, own: Study) -> None:
    declare(store, own, "laptop", 0)
    declare(store, changed(own, name="toy_own_76543210", seeds=7), "laptop", 0)
    with pytest.raises(UserError, match=f"is the name of 2 studies of this store, which differ: give one of {OWN}, toy_own_76"):
        named_study(store, "resnet18-digits through toy")


@pytest.mark.parametrize(("name", "near"), [("toi", "toy"), ("resnet18 through toy", "resnet18-digits through toy")])
def test_a_misspelled_name(full: Store, name: str, near: str) -> None:
    with pytest.raises(UserError, match=f"no study named '{name}': did you mean '{near}'"):
        named_study(full, name)


def test_what_was_declared_before_changes_were_recorded_keeps_its_name(study: Study, store: Store) -> None:
    """A variation, and one on an own workload: departures and title told what was changed."""
    words = {"variation_of": "toy", "departures": ("Varied: steps = 7, where the study has 10.", "one text")}
    workload = {"model": "own", "dataset": DATASET}
    declare(store, changed(study, name="toy_varied_01234567", title="A toy: a variation", **words), "laptop", 0)
    title = "A toy: a variation, on own workload 'resnet18-digits'"
    declare(store, changed(study, name=OWN, title=title, workload=workload, **words), "laptop", 0)
    assert {readable_name(stored_study) for stored_study in stored_studies(store)} == {
        "toy with steps = 7",
        "resnet18-digits through toy",
    }
    assert named_study(store, "toy with steps = 7").name == "toy_varied_01234567"


@pytest.mark.parametrize("line", ["folklore verdicts --store {} to", "folklore plan --store {} to"])
def test_the_shell_completes_what_the_store_holds(full: Store, variation: Study, line: str) -> None:
    typed = line.format(full.uri)
    variables = {"_FOLKLORE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    assert set(CLI.invoke(app, [], prog_name="folklore", env=variables).stdout.split()) == {"toy", OWN, variation.name}


def test_evidence_is_not_of_variations(full: Store) -> None:
    done = CLI.invoke(app, ["publish", "resnet18-digits through toy", "--store", full.uri])
    assert done.exit_code == 2
    assert "is a variation, and evidence is of declared studies" in done.stderr


def test_evidence_is_of_the_studies_of_the_package(
    full: Store, from_file: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's own study leaves nothing in the installed package, by its name or from its file; the line says what shows it."""
    evidence_folder, file = tmp_path / "evidence", tmp_path / "own.json"
    evidence_folder.mkdir()
    file.write_text(from_file.canonical_json())
    monkeypatch.setattr(evidence, "FOLDER", evidence_folder)
    for name in (from_file.name, str(file)):
        done = CLI.invoke(app, ["publish", name, "--scale", "laptop", "--store", full.uri])
        assert done.exit_code == 2
        line = " ".join(done.stderr.split())
        assert "study 'toy': published evidence is of the studies in studies/ alone" in line
        assert f"`folklore report --store {full.uri} --output FOLDER`" in line
    assert list(evidence_folder.iterdir()) == []


def test_a_scale_that_no_study_has(store: Store) -> None:
    done = CLI.invoke(app, ["verdicts", "--scale", "labtop", "--store", store.uri])
    assert done.exit_code == 2
    assert "did you mean 'laptop'?" in done.stderr
