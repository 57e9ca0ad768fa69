"""The command on a page that trains the same again does so, whatever the study came from."""

import html
import re
import shlex
from pathlib import Path

import pytest
import typer

from folklore.harness.declare import Study
from folklore.harness.declare.own_address import GIVEN, OWN, OwnAddress
from folklore.harness.options import Options
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.store import Store
from folklore.harness.use.cli import choices
from folklore.harness.use.cli.base import app
from folklore.harness.use.reading.pages import store_option, write_pages
from folklore.harness.use.reading.stored_studies import beyond_the_catalogue
from folklore.reports import site
from tests.harness.helpers import bowl, changed, result, stored
from tests.reports.test_site import REGISTER, of, records

pytestmark = pytest.mark.usefixtures("few_calibrated")


def test_a_study_from_a_file_is_run_again_from_it(study: Study, tmp_path: Path) -> None:
    """Its name alone was unknown wherever its store is not."""
    file = tmp_path / "my study.json"
    file.write_text(study.model_dump_json())
    declare(Store(str(tmp_path)), load_study(str(file)), "smoke", trials_before=0)
    (stored_study,) = beyond_the_catalogue(Store(str(tmp_path)))
    site.write(tmp_path, [stored_study], REGISTER, of([]), published=lambda _: None)
    assert f"<code>folklore run &#39;{file}&#39;</code> runs the study" in (tmp_path / "toy.html").read_text()
    assert stored_study.hash == study.hash


@pytest.mark.parametrize(
    ("file", "module", "command"),
    [
        ("", "mine", "folklore run toy --workload mine:workload"),
        ("clip.py", "mine", "folklore run clip.py --workload mine:workload"),
        ("clip.py", GIVEN, "folklore.harness.run(&#39;clip.py&#39;, workload=workload)"),
    ],
)
def test_an_own_workload_is_given_again(file: str, module: str, command: str, study: Study, tmp_path: Path) -> None:
    """A file's study on an own workload was called by a name that no catalogue and no store knows."""
    workload = {"model": OWN, "dataset": str(OwnAddress(module, "workload", "0" * 16))}
    varied = changed(study, name="toy_own_00000000", variation_of="toy", file=file, workload=workload)
    site.write(tmp_path, [varied], REGISTER, of([]), published=lambda _: None)
    assert f"<code>{command}</code> runs the study" in (tmp_path / "toy_own_00000000.html").read_text()


def test_what_was_declared_in_python_is_run_again_by_the_name_that_its_store_knows(study: Study, tmp_path: Path) -> None:
    """The store need not be the default one."""
    store = Store(str(tmp_path / "my results"))
    declare(store, study, "smoke", trials_before=0)
    stored(study, store, lambda trial: result(bowl(trial, -7, 2.0)), "smoke")
    folder, _ = write_pages(store, [study])
    (command,) = re.findall(r"<pre>(.*?)</pre>", (folder / "toy.html").read_text())
    program, run, *arguments = shlex.split(html.unescape(command))
    assert (program, run) == ("folklore", "run")
    context = typer.main.get_command(app).commands["run"].make_context("run", arguments)  # type: ignore[attr-defined]
    assert context.params["scale"] == "smoke"
    assert Path(context.params["store"]) == tmp_path / "my results"
    assert choices.judgeable_study(context.params["study"], context.params["store"]) == study


def test_a_study_of_the_catalogue_is_made(study: Study, tmp_path: Path) -> None:
    built_in = changed(study, name="warmup")
    site.write(tmp_path, [built_in], REGISTER, of([records(built_in)]), published=lambda _: None, store_option=" --store x")
    assert "<pre>make study-warmup SCALE=laptop</pre>" in (tmp_path / "warmup.html").read_text()


def test_a_page_without_trials_says_what_trains_them(study: Study, tmp_path: Path) -> None:
    site.write(tmp_path, [study], REGISTER, of([]), published=lambda _: None)
    page = (tmp_path / "toy.html").read_text()
    assert "No trials are stored or published yet" in page
    assert "<code>folklore run toy</code> runs the study" in page


@pytest.mark.parametrize(
    ("uri", "option"),
    [
        (Options.store, ""),
        ("my results", " --store 'my results'"),
        ("memory://user:secret@host/place", " --store 'memory://***@host/place'"),
    ],
)
@pytest.mark.usefixtures("memory_stores")
def test_a_command_names_the_store_where_it_is_not_the_default(uri: str, option: str) -> None:
    """Without the password in it: a page is there to be passed on."""
    assert store_option(Store(uri)) == option
