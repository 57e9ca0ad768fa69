"""The citation of the project and the address of its pages agree with the rest of the project."""

import tomllib

import yaml

from folklore.reports import claim_cards
from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_agrees_with_the_project() -> None:
    """Version and licence stand in several files, and an address in none as long as there is none."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"]
    assert cited["license"] == PROJECT["license"] == claim_cards.LICENCE
    assert (ROOT / "LICENSE").read_text().startswith(f"{cited['license']} License")
    assert [author["name"] for author in cited["authors"]] == [claim_cards.AUTHORS]
    assert PROJECT["name"] == claim_cards.PACKAGE
    assert ("url" in cited) == ("repository-code" in cited) == ("urls" in PROJECT)


def test_a_tag_writes_the_site_under_the_address_of_its_host() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text())
    assert workflow[True]["push"] == {"tags": ["*"]}, "YAML reads `on` as true"
    steps = workflow["jobs"]["site"]["steps"]
    (written,) = (step for step in steps if "folklore site" in step.get("run", ""))
    (uploaded,) = (step for step in steps if "upload-pages-artifact" in step.get("uses", ""))
    assert written["run"].split()[-1] == uploaded["with"]["path"]
    assert written["env"]["FOLKLORE_SITE_URL"] == "${{ steps.pages.outputs.base_url }}"


def test_the_extra_for_the_notebook_has_what_executes_it() -> None:
    """The README promises that `make setup EXTRAS=notebook` is enough."""
    extra = {requirement.partition(">")[0] for requirement in PROJECT["optional-dependencies"]["notebook"]}
    assert {"ipykernel", "nbclient", "nbformat"} <= extra
    assert "EXTRAS=notebook" in (ROOT / "README.md").read_text()
