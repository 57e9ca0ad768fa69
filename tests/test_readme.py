"""The study that the README writes in YAML: valid, judged, and of the size that it says."""

import re
from pathlib import Path

import pytest

from folklore.harness.planning import catalog
from folklore.harness.spec import Study
from tests.command_line import folklore

README = Path(__file__).parents[1] / "README.md"


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


def test_it_trains_as_many_networks_as_the_text_says(study: Study) -> None:
    from folklore.harness.planning.plan import make_plan

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
