"""README.md and CONTRIBUTING.md: their counts are right, their studies valid and of the stated size, their links resolve."""

import math
import re
from pathlib import Path

import pytest

from folklore.harness.declare import Study, Workload
from folklore.harness.judge.regimes import in_thousands
from folklore.harness.options import Options
from folklore.harness.plan import catalog
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.prepare import prepare
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import Device
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import load
from tests import house
from tests.benchmarks.works import WORKS
from tests.command_line import folklore_here
from tests.house import WINGS
from tests.places import ROOT

README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
LOG = ROOT / "reports" / "log"
# Half hours.
HOURS = {1: "half an hour", 2: "an hour", 3: "an hour and a half", 4: "two hours", 5: "two hours and a half"}


def text(document: Path = README) -> str:
    return " ".join(document.read_text().split())


def section(document: Path, title: str) -> str:
    return document.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def parameters(workload: Workload) -> str:
    model = workload_of(workload).model(load(workload.dataset).facts)
    return in_thousands(sum(math.prod(parameter.shape) for parameter in model.parameters))


def test_it_lists_all_studies_and_says_how_many_and_how_long(tmp_path: Path) -> None:
    """By what `folklore plan` tells of each: what the published trials took also says how busy their machine was."""
    names = catalog.study_names()
    table = README.read_text().partition("| study | question |")[2].partition("\n\n")[0]
    ladders = [name for name in names if catalog.load_study(name).ladder]
    alone = [name for name in names if name not in ladders]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == sorted(alone)
    assert sorted(re.findall(r"`(\w+_ladder)`", text())) == sorted(ladders)
    store, two_cores = Store(str(tmp_path)), Device("cpu", "two cores", 2, 8 * 2**30)

    def seconds(name: str) -> float:
        options, ledger = Options(str(tmp_path)), Ledger(store, name)
        return prepare(catalog.load_study(name), "laptop", options, ledger, only_plan=True, cluster=two_cores).estimate.seconds

    hours = HOURS[round(sum(map(seconds, alone)) / 1800)]
    assert f"all {len(alone)} studies of the table in one campaign ({hours} on 2 cores)" in text()


def test_only_questions_of_ladders_are_to_come() -> None:
    """Every claim of a document is judged; of our own questions those wait whose ladder is declared and not trained."""
    index = (evidence.FOLDER.parent / "README.md").read_text()
    judged = {name for name in catalog.study_names() if list(evidence.FOLDER.glob(f"{name}-*.parquet"))}
    waiting = [claim for claim in catalog.register().claims if claim.study not in judged]
    assert all(claim.own and catalog.load_study(claim.study).ladder for claim in waiting)
    assert f"{len(catalog.register().claims) - len(waiting)} are judged" in " ".join(index.split())
    listed = index.partition("## To come")[2]
    assert all(f"`{claim.id}`" in listed for claim in waiting)
    at_laptop = index.partition("- laptop cpu:")[2].partition("\n- ")[0]
    assert re.findall(r"(\d+) not yet tested", at_laptop) == [str(len(waiting))] * bool(waiting)
    assert "to come" not in text()


def test_models_have_as_many_parameters_as_it_says() -> None:
    warmup = catalog.load_study("warmup")
    (size,) = {parameters(warmup.configuration("laptop", arm, {}).workload) for arm in warmup.arms_at("laptop")}
    assert f"a GPT of {size} parameters on two cores (`warmup`)" in text()
    measured = {parameters(work.workload) for work in WORKS["cpu"]}
    table = CONTRIBUTING.read_text().partition("| trials of |")[2].partition("\n\n")[0]
    said = re.findall(r"^\| a GPT of (\S+) parameters", table, flags=re.MULTILINE)
    assert said
    assert set(said) <= measured
    counts = {count for document in (README, CONTRIBUTING) for count in re.findall(r"\b(\d+k)[ -]parameter", text(document))}
    assert counts <= {size, *said}, "another count, which nothing holds"


def written(folder: Path) -> Path:
    """The study in YAML, as a reader would save it."""
    described = section(CONTRIBUTING, "A study")
    (yaml,) = re.findall(r"```yaml\n(.*?)```", described, flags=re.DOTALL)
    assert "folklore run my-study.yaml" in described
    assert yaml.startswith("# my-study.yaml\n")
    path = folder / "my-study.yaml"
    path.write_text(yaml)
    return path


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return catalog.judgeable(catalog.load_study(str(written(tmp_path))))


def test_it_judges_a_claim_of_its_own(study: Study) -> None:
    assert [judgement.claim for judgement in study.judgements] == [claim.id for claim in study.claims]
    assert [name for name, scale in study.scales.items() if scale.judged] == ["laptop"]


def test_two_settings_are_compared_as_the_text_says(tmp_path: Path) -> None:
    described = section(README, "Your own study")
    (code,) = re.findall(r"```python\n(# my_study.py\n.*?)```", described, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip() and not line.startswith("#")]) <= 10
    (tmp_path / "my_study.py").write_text(code)
    study = catalog.judgeable(catalog.load_study(str(tmp_path / "my_study.py")))
    (networks,) = re.findall(r"folklore run my_study.py .*?(\d+) networks", described)
    assert len(make_plan(study, "laptop", "cpu", "data").trials) == int(networks)


def test_it_trains_as_many_networks_as_the_text_says(study: Study) -> None:
    trials = make_plan(study, "laptop", "cpu", "data").trials
    assert f"trains {len(trials)} networks and judges a claim of its own" in text(CONTRIBUTING)
    assert sum(trial.configuration.training.steps for trial in trials) < 10_000, "seconds on two cores"


@pytest.mark.slow
def test_it_runs_to_a_verdict(tmp_path: Path, ray_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = folklore_here("run", path.name, "--scale", "laptop", "--store", "s", "--address", ray_address, "--workers", 2)
    assert re.search(r"^(supported|partly|refuted|open)( \([a-z ]+\))? +my\.momentum$", done.stdout, flags=re.MULTILINE)
    path.unlink()
    assert "best LR, no momentum over momentum 0.9" in folklore_here("why", "my.momentum", "--store", "s").stdout


def test_it_lists_the_wings_in_the_order_of_the_data() -> None:
    listed = re.findall(r"^      (\w+)/ ", section(CONTRIBUTING, "Architecture"), flags=re.MULTILINE)
    assert listed == list(WINGS)
    assert re.findall(r"(\w+)/ ", section(README, "Layout").partition("harness/")[2].partition("models/")[0])[-7:] == listed


def test_its_picture_is_that_of_the_imports() -> None:
    assert CONTRIBUTING.read_text() == house.page(), "python -m tests.house draws it again"


@pytest.mark.parametrize(
    "document", [README, CONTRIBUTING, ROOT / "reports/evidence/README.md"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_paths_it_names_exist(document: Path) -> None:
    named = re.findall(r"`((?:harness|studies|models|reports|tests)/[\w./]+)", document.read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def anchors(document: Path) -> set[str]:
    """The names by which a page is linked at its headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


DOCUMENTS = (README, CONTRIBUTING, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted(LOG.rglob("*.md")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_its_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", document.read_text())
    for link in (link or source for link, source in links if not (link or source).startswith("https://")):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), f"{link}: no such file"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def test_the_readme_is_short_and_the_log_lists_every_entry() -> None:
    assert len(README.read_text().splitlines()) <= 200
    index = (LOG / "README.md").read_text()
    for day in sorted(LOG.glob("*/*.md")):
        for title in re.findall(r"^## (.+)$", day.read_text(), flags=re.MULTILINE):
            assert f"- [{title}]({day.relative_to(LOG)}#" in index, f"{day.name}: {title} is not in reports/log/README.md"
