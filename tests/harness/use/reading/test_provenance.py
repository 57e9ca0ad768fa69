"""From a verdict back to its trials, from a digest to its trial, and two sets of trials side by side."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.judge.trial_sets import HERE, TrialSet, published_sets, trial_sets
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.use.cli import app
from folklore.harness.use.reading.compare import compare
from folklore.harness.use.reading.provenance import explain, find_trial, sparkline, trial_facts
from folklore.harness.use.reading.references import Reference
from tests.harness.helpers import bowl, changed, frame, planned, result, rows, stored

WARMUP = load_study("warmup").version

CLI = CliRunner()
GAPS = (0.02, 0.03, 0.04, 0.05, 0.06)  # relative gap of the arms on each of the five seeds


def outcome(trial, gaps=GAPS):
    floor = 2.0 * (1 + gaps[trial.seed]) if trial.arm == "none" else 2.0
    return result(bowl(trial, -7, floor), step=[1.0, 2.0, 3.0], train_loss=[3.0, float("nan"), 2.0], lr=[0.1, 0.2, 0.3])


@pytest.fixture
def store(study: Study, tmp_path: Path) -> Store:
    store = Store(str(tmp_path / "s"))
    declare(store, study, "laptop", 0)
    stored(study, store, outcome)
    return store


@pytest.fixture
def nothing_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look for a digest in, which takes a second in all published tables."""
    monkeypatch.setattr(evidence, "tables", list)


@pytest.fixture
def file(study: Study, tmp_path: Path) -> str:
    path = tmp_path / "toy.json"
    path.write_text(study.canonical_json())
    return str(path)


def test_the_numbers_behind_an_estimate_are_those_of_its_seeds(store: Store, study: Study) -> None:
    (explanation,) = explain(store, "warmup.improves_best", [study])
    (basis,) = explanation.criteria
    assert list(basis.by_seed) == [0, 1, 2, 3, 4]
    assert list(basis.by_seed.values()) == pytest.approx(GAPS, abs=1e-6)
    assert basis.estimate == pytest.approx(np.mean(GAPS), abs=1e-6)
    assert len(explanation.trials) == 50
    assert explanation.robustness is not None


def test_only_trials_of_the_arms_it_reads_are_named(study: Study, tmp_path: Path) -> None:
    three = changed(study, {"arms.third": {"label": "third", "settings": {"warmup_fraction": 0.25}}})
    store = Store(str(tmp_path))
    stored(three, store, outcome)
    (explanation,) = explain(store, "warmup.improves_best", [three])
    assert {trial.arm for trial in explanation.trials} == {"none", "half"}


@pytest.mark.usefixtures("nothing_published")
def test_why_as_json_leads_to_trials_that_show_finds(store: Store, file: str) -> None:
    asked = CLI.invoke(app, ["why", "warmup.improves_best", "--study", file, "--store", store.uri, "--json"])
    (explanation,) = json.loads(asked.stdout)
    assert explanation["verdict"] == "supported"
    assert explanation["sources"][0]["title"]
    assert explanation["criteria"][0]["by_seed"]["0"] == pytest.approx(0.02, abs=1e-6)
    digest = explanation["trials"][0]["digest"]
    shown = json.loads(CLI.invoke(app, ["show", digest[:10], "--store", store.uri, "--json"]).stdout)
    assert shown["digest"] == digest
    assert (shown["arm"], shown["seed"]) == (explanation["trials"][0]["arm"], explanation["trials"][0]["seed"])
    assert shown["curves"]["train_loss"] == [3.0, None, 2.0], "what is not finite is null, for JSON has no nan"
    assert shown["differs_from_defaults"]["training"]["steps"] == 10
    assert "optimizer" not in shown["differs_from_defaults"]["training"], "adamw is the default"


@pytest.mark.usefixtures("nothing_published")
def test_why_and_show_for_people(store: Store, file: str) -> None:
    why = CLI.invoke(app, ["why", "warmup.improves_best", "--study", file, "--store", store.uri]).stdout
    for words in (
        "+4.00%",
        "on each seed alone: 0: +2.00%",
        "rests on 50 trials",
        "without single seeds",
        "21 more",
        "fragile: the best peak LR is read off a grid coarser than half octaves",
    ):
        assert words in why
    digest = Ledger(store, "toy").trials()["digest"][0]
    show = CLI.invoke(app, ["show", digest, "--store", store.uri]).stdout
    assert "█×▁" in show
    assert "seed" in show


@pytest.mark.usefixtures("nothing_published")
@pytest.mark.parametrize(("workload", "unit"), [({"model": "linear", "dataset": "regression:4"}, ""), ({}, " nats")])
def test_a_squared_error_has_no_unit(workload: dict[str, str], unit: str, study: Study, tmp_path: Path) -> None:
    trained = stored(changed(study, workload=workload or study.workload), Store(str(tmp_path)), outcome)
    show = CLI.invoke(app, ["show", trained.trials()["digest"][0], "--store", str(tmp_path)]).stdout
    assert re.search(rf"initial loss +\d+\.\d{{4}}{unit}\n", show), show


def test_published_trials_are_found_by_their_digest() -> None:
    trial = published_sets(load_study("warmup"))[0].trials.iloc[0]
    row = find_trial(Store("nowhere"), trial["digest"])
    assert (row["digest"], row["arm"], row["source"]) == (trial["digest"], trial["arm"], "published")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("why", "warmup.improves_bst"), "no claim named 'warmup.improves_bst': did you mean 'warmup.improves_best'?"),
        (("show", "abc"), "at least 4 of a digest's hexadecimal digits"),
        (("show", "not-a-digest"), "hexadecimal digits"),
        (("show", "0000000000000000"), "has a digest that begins with"),
        (("compare", "warmup@laptop", "warmup@labtop"), "did you mean 'laptop'?"),
        (("compare", "warmup@laptop", "warmup@laptop-tpu"), "no device named 'tpu'"),
        (("compare", "memory", "transformer_warmup"), "judge no claim in common"),
        (
            ("compare", "warmup@gpu", "warmup"),
            f"no stored or published trials of study 'warmup' version {WARMUP} at scale 'gpu'",
        ),
        (("compare", "warmup#1", "warmup"), f"version 1: not declared in this store; it has {WARMUP}"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = CLI.invoke(app, [*arguments, "--store", str(tmp_path)])
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


PREFIX = "abcdefabcd"


@pytest.mark.usefixtures("nothing_published")
def test_a_beginning_of_several_digests_names_them(study: Study, tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    trials = planned(study).trials[:2]
    alike = [type(trial)(**{**vars(trial), "digest": f"{PREFIX}{index}" + "0" * 5}) for index, trial in enumerate(trials)]
    Ledger(store, "toy").write("x", rows(study, tuple(alike), outcome))
    with pytest.raises(UserError, match=rf"'{PREFIX}' begins the digests of 2 trials \({PREFIX}00+, {PREFIX}10+\)"):
        find_trial(store, PREFIX)
    assert trial_facts(find_trial(store, f"{PREFIX}1"))["digest"] == f"{PREFIX}1" + "0" * 5


def test_curves_as_a_line_of_blocks() -> None:
    assert sparkline([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, float("nan"), None, 2.0]) == "▁××█"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([float("inf")]) == "×"
    assert sparkline([]) == ""
    assert len(sparkline([float(number) for number in range(1000)])) == 40


def sets(study: Study, gaps: tuple[float, ...]) -> TrialSet:
    (records,) = trial_sets(study, frame(study, lambda trial: outcome(trial, gaps)), HERE)
    return records


def test_intervals_overlap_or_lie_apart(study: Study) -> None:
    first = sets(study, GAPS)
    near, far = sets(study, tuple(gap + 0.005 for gap in GAPS)), sets(study, tuple(gap + 0.5 for gap in GAPS))
    for other, overlap in ((near, True), (far, False)):
        (claim,) = compare(first, other).claims
        (pair,) = claim.criteria
        assert pair.overlap is overlap
        assert pair.a is not None
        assert pair.a.estimate == pytest.approx(0.04, abs=1e-6)
    incomplete = TrialSet(study, "laptop", "cpu", HERE, first.trials[:7])
    (claim,) = compare(first, incomplete).claims
    assert (claim.b, claim.criteria[0].overlap) == ("invalid", None)


def test_references() -> None:
    assert Reference.parse("a_b") == Reference("a_b")
    assert Reference.parse("a@gpu-cuda#3:stored") == Reference("a", "gpu", "cuda", 3, "stored")
    assert Reference.parse("a:published") == Reference("a", source="published")
    assert Reference.parse("dir/my-study.yaml@laptop") == Reference("dir/my-study.yaml", "laptop")


def test_another_version_is_judged_as_it_was_declared(store: Store, study: Study, tmp_path: Path) -> None:
    """Both lie in one ledger, each under digests of its own."""
    second = changed(study, version=2)
    declare(store, second, "laptop", 0)
    stored(second, store, lambda trial: outcome(trial, tuple(gap + 0.5 for gap in GAPS)))
    path = tmp_path / "second.json"
    path.write_text(second.canonical_json())
    result = CLI.invoke(app, ["compare", f"{path}#1", str(path), "--store", store.uri, "--json"])
    compared = json.loads(result.stdout)
    assert (compared["a"]["version"], compared["b"]["version"]) == (1, 2)
    (criterion,) = compared["claims"][0]["criteria"]
    assert criterion["a"]["estimate"] == pytest.approx(0.04, abs=1e-6)
    assert criterion["b"]["estimate"] == pytest.approx(0.54, abs=1e-6)
    assert criterion["overlap"] is False
    shown = CLI.invoke(app, ["compare", f"{path}#1", str(path), "--store", store.uri]).stdout
    assert "+4.00% [" in shown
    assert "apart" in shown
