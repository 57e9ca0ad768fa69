"""What the README counts is so, and the study that it writes in YAML is valid, judged, and of the size that it says."""

import math
import re
from pathlib import Path

import pytest

from folklore.harness.judging.regimes import in_thousands
from folklore.harness.judging.trial_sets import published_sets
from folklore.harness.planning import catalog
from folklore.harness.planning.plan import make_plan
from folklore.harness.spec import Study, Workload
from folklore.harness.workloads import workload_of
from folklore.harness.workloads.data import load
from tests.benchmarks.works import WORKS
from tests.command_line import folklore

README = Path(__file__).parents[1] / "README.md"


HOURS = {1: "an hour", 2: "two hours", 3: "three hours", 4: "four hours"}


def text() -> str:
    return " ".join(README.read_text().split())


def parameters(workload: Workload) -> str:
    model = workload_of(workload).model(load(workload.dataset).facts)
    return in_thousands(sum(math.prod(each.shape) for each in model.parameters))


def test_it_lists_all_studies_and_says_how_many_and_how_long() -> None:
    """The hours are those that the published trials trained, on two cores."""
    names = catalog.study_names()
    table = README.read_text().partition("| study | asks |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == sorted(names)
    seconds = sum(records.trials["seconds"].sum() for name in names for records in published_sets(catalog.load_study(name)))
    assert f"all {len(names)} studies in one campaign ({HOURS[round(seconds / 2 / 3600)]} on 2 cores)" in text()


def test_models_have_as_many_parameters_as_it_says() -> None:
    warmup = catalog.load_study("warmup")
    (size,) = {parameters(warmup.configuration("laptop", arm, {}).workload) for arm in warmup.arms_at("laptop")}
    assert f"a GPT of {size} parameters on two cores (`warmup`)" in text()
    measured = {parameters(work.workload) for work in WORKS["cpu"]}
    table = README.read_text().partition("| trials of |")[2].partition("\n\n")[0]
    said = re.findall(r"^\| a GPT of (\S+) parameters", table, flags=re.MULTILINE)
    assert said
    assert set(said) <= measured
    assert set(re.findall(r"\b(\d+k)[ -]parameter", text())) <= {size, *said}, "another count, which nothing holds"


def written(folder: Path) -> Path:
    """The example of the section, as its reader would save it."""
    section = README.read_text().partition("## Write a study")[2].partition("\n## ")[0]
    (text,) = re.findall(r"```yaml\n(.*?)```", section, flags=re.DOTALL)
    assert "folklore run my-study.yaml" in section
    assert text.startswith("# my-study.yaml\n")
    path = folder / "my-study.yaml"
    path.write_text(text)
    return path


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return catalog.judgeable(catalog.load_study(str(written(tmp_path))))


def test_it_judges_a_claim_of_its_own(study: Study) -> None:
    assert [each.claim for each in study.judgements] == [each.id for each in study.claims]
    assert [name for name, scale in study.scales.items() if scale.judged] == ["laptop"]


def test_two_settings_are_compared_as_the_text_says(tmp_path: Path) -> None:
    section = README.read_text().partition("## Write a study")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(# my_study.py\n.*?)```", section, flags=re.DOTALL)
    (tmp_path / "my_study.py").write_text(code)
    study = catalog.judgeable(catalog.load_study(str(tmp_path / "my_study.py")))
    (networks,) = re.findall(r"folklore run my_study.py .*?(\d+) networks", section)
    assert len(make_plan(study, "laptop", "cpu", "data").trials) == int(networks)


def test_it_trains_as_many_networks_as_the_text_says(study: Study) -> None:
    trials = make_plan(study, "laptop", "cpu", "data").trials
    assert f"This one trains {len(trials)} networks" in " ".join(README.read_text().split())
    assert sum(each.configuration.training.steps for each in trials) < 10_000, "seconds on two cores"


@pytest.mark.slow
def test_it_runs_to_a_verdict(tmp_path: Path) -> None:
    path = written(tmp_path)
    done = folklore("run", path.name, "--scale", "laptop", "--store", "s", folder=tmp_path)
    assert re.search(r"^(supported|partly|refuted|open)( \([a-z ]+\))? +my\.momentum$", done.stdout, flags=re.MULTILINE)
    path.unlink()
    assert "best LR, no momentum over momentum 0.9" in folklore("why", "my.momentum", "--store", "s", folder=tmp_path).stdout
