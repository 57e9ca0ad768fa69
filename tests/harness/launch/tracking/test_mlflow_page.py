"""MLflow's page as people see it: it opens with runs, and their columns are filled."""

import json
import os
import shutil
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
from playwright.sync_api import expect, sync_playwright

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.launch.tracking.projection import Tracker
from folklore.harness.launch.tracking.server import APP, CLOSED, command_of
from folklore.harness.options import Options
from folklore.harness.plan.store import trial_rows
from folklore.harness.plan.store.mlflow_address import (
    ARTIFACTS,
    ARTIFACTS_VARIABLE,
    FILE,
    TOKEN_VARIABLE,
    WRITE_VARIABLE,
    default_uri,
)
from tests.harness.helpers import planned, result, rows
from tests.harness.launch.tracking.test_projection import verdict
from tests.places import ROOT
from tests.postgresql import free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TOKEN = "a token of this test"
NAMED = "folklore.harness.launch.tracking.app:app"


@pytest.fixture
def trials(study: Study) -> pd.DataFrame:
    return trial_rows.frame(rows(study, planned(study).trials[:3], lambda _: result(3.0), pack="p1"))


def test_the_server_has_our_page_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).write_bytes(b"")
    installed: list[EntryPoint] = []
    monkeypatch.setattr("folklore.harness.launch.tracking.server.entry_points", lambda **_: installed)
    with pytest.raises(UserError, match="what guards MLflow's server is not installed: install the project again"):
        command_of(Options(str(tmp_path)), "127.0.0.1", 5000, auth=False)
    installed.append(EntryPoint(APP, NAMED, "mlflow.app"))
    assert command_of(Options(str(tmp_path)), "127.0.0.1", 5000, auth=False)[-2:] == ["--app-name", APP]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["mlflow.app"]
    assert declared == {APP: NAMED}


def test_only_the_page_is_told_what_it_is_for() -> None:
    from folklore.harness.launch.tracking.app import SCRIPT, pages

    with pages.test_client() as browser:
        # A browser may hold the page as MLflow's own server gave it.
        page = browser.get("/", headers={"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT", "If-None-Match": "*"})
        assert page.status_code == 200
        assert page.text.startswith(f'<!doctype html><html lang="en"><head>{SCRIPT}<meta')
        assert page.headers["Cache-Control"] == "no-store"
        assert SCRIPT not in browser.get("/health").text


@pytest.fixture
def server(
    tmp_path: Path, study: Study, trials: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The address of MLflow's server over one launch of three trials."""
    tracker = Tracker(default_uri(tmp_path), study, artifacts=tmp_path / ARTIFACTS)
    launch = tracker.launch("laptop", {"git_commit": "0123456789ab"}, 3, {"python-docs": "d1"})
    tracker.record(trials, launch)
    tracker.judged(launch, [verdict("supported"), verdict("refuted")])
    tracker.finish(launch, "FINISHED")
    # As pip would install what pyproject.toml says, whatever is installed here.
    named = tmp_path / "installed" / "page-1.dist-info"
    named.mkdir(parents=True)
    (named / "METADATA").write_text("Metadata-Version: 2.1\nName: page\nVersion: 1\n")
    (named / "entry_points.txt").write_text(f"[mlflow.app]\n{APP} = {NAMED}\n")
    port = free_port()
    monkeypatch.setattr(
        "folklore.harness.launch.tracking.server.entry_points", lambda **_: [EntryPoint(APP, NAMED, "mlflow.app")]
    )
    command = command_of(Options(str(tmp_path)), "127.0.0.1", port, auth=False)
    environment = {**os.environ, **CLOSED, "PYTHONPATH": str(named.parent)}
    environment |= {TOKEN_VARIABLE: TOKEN, ARTIFACTS_VARIABLE: str(tmp_path / ARTIFACTS)}
    environment |= {WRITE_VARIABLE: "1"} if getattr(request, "param", "read") == "write" else {}
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield _answering(f"http://127.0.0.1:{port}", process, tmp_path / "server.log")
    finally:
        process.terminate()
        process.wait(60)


def _answering(address: str, process: "subprocess.Popen[bytes]", log: Path) -> str:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return address
        except OSError:
            time.sleep(0.5)
    raise AssertionError(log.read_text())


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_an_experiment_opens_with_its_runs(server: str) -> None:
    """In a browser that was never here: dataset, source and counts of verdicts stand in the launch's row."""
    expect.set_options(timeout=120_000)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 2000, "height": 900})
        page.goto(f"{server}/?{urlencode({'token': TOKEN})}", wait_until="domcontentloaded", timeout=120_000)
        assert TOKEN not in page.url
        page.goto("about:blank")  # else the next address changes a part of the same page only
        page.goto(f"{server}/#/experiments", wait_until="domcontentloaded", timeout=120_000)
        page.get_by_role("link", name="toy", exact=True).click(timeout=120_000)
        expect(page.get_by_text("✓1 ✗1 · toy · laptop")).to_be_visible()
        expect(page.get_by_text("python-docs (d1)")).to_be_visible()
        expect(page.get_by_text("folklore run toy --scale laptop")).to_be_visible()
        assert "/runs" in page.url
        expect(page.get_by_text("Judges")).to_have_count(0)
        # Whoever switches to the other kind of page keeps it.
        page.get_by_text("GenAI", exact=True).click()
        page.reload(wait_until="domcontentloaded")
        expect(page.get_by_text("Judges").first).to_be_visible()
        browser.close()


def asked(address: str, body: object = None, method: str | None = None, token: str = TOKEN) -> tuple[int, str]:
    """Status and text of an answer."""
    content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, content, sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.slow
def test_who_has_not_the_token_sees_nothing_and_who_looks_changes_nothing(server: str) -> None:
    calls = f"{server}/api/2.0/mlflow"
    for place, body in (("/", None), (f"{calls[len(server) :]}/experiments/search", {"max_results": 5}), ("/graphql", {})):
        assert asked(server + place, body, token="another")[0] == 401
    assert "toy" in asked(f"{calls}/experiments/search", {"max_results": 5})[1]
    for place in ("experiments/delete", "experiments/create", "runs/log-metric", "runs/set-tag", "registered-models/create"):
        status, text = asked(f"{calls}/{place}", {"experiment_id": "1", "name": "x"})
        assert (status, "folklore mlflow --write" in text) == (403, True), place
    assert asked(f"{server}/ajax-api/2.0/mlflow/upload-artifact?run_uuid=x&path=y", b"z")[0] == 403
    assert asked(f"{server}/api/2.0/mlflow-artifacts/artifacts/x", b"z", "PUT")[0] == 403


@pytest.mark.slow
@pytest.mark.parametrize("server", ["write"], indirect=True)
def test_no_client_reaches_the_owners_files(server: str, tmp_path: Path) -> None:
    """It makes an experiment whose artifacts lie where it likes, and asks for them, and uploads some."""
    secret = tmp_path / "home"
    secret.mkdir()
    (secret / "key").write_text("the owner's")
    calls, ajax = f"{server}/api/2.0/mlflow", f"{server}/ajax-api/2.0/mlflow"
    for number, place in enumerate((f"file://{secret}", str(secret), f"{tmp_path}/{ARTIFACTS}/../home", f"file:{secret}")):
        status, text = asked(f"{calls}/experiments/create", {"name": f"hostile {number}", "artifact_location": place})
        if status != 200:
            continue
        made = {"experiment_id": json.loads(text)["experiment_id"]}
        run = json.loads(asked(f"{calls}/runs/create", made)[1])["run"]["info"]["run_id"]
        answers = [
            asked(f"{calls}/artifacts/list?run_id={run}"),
            asked(f"{server}/get-artifact?path=key&run_uuid={run}"),
            asked(f"{ajax}/upload-artifact?run_uuid={run}&path=key", b"changed"),
            asked(f"{server}/get-artifact?path=../../key&run_uuid={run}"),
        ]
        assert all(status >= 400 and "the owner's" not in text for status, text in answers), answers
    assert [path.read_text() for path in secret.rglob("*") if path.is_file()] == ["the owner's"]


def test_artifacts_below_the_store_are_reached_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact import artifact_repository_registry as registry

    from folklore.harness.launch.tracking.app import _keep_artifacts_below

    there = registry._artifact_repository_registry
    monkeypatch.setattr(there, "get_artifact_repository", there.get_artifact_repository)
    _keep_artifacts_below(tmp_path / ARTIFACTS)
    assert registry.get_artifact_repository(str(tmp_path / ARTIFACTS / "toy")).artifact_uri
    for place in (str(tmp_path), f"file://{tmp_path}", "s3://bucket/x", "ftp://host/x"):
        with pytest.raises(MlflowException, match="do not lie below"):
            registry.get_artifact_repository(place)
