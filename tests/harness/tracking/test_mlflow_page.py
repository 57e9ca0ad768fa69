"""What people see of their runs in MLflow: the page opens with runs, and their columns are filled."""

import os
import shutil
import socket
import subprocess
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import expect, sync_playwright

from folklore.harness.options import Options
from folklore.harness.spec import Study
from folklore.harness.storing import trial_rows
from folklore.harness.tracking.projection import Tracker
from folklore.harness.tracking.server import APP, CLOSED, command_of
from folklore.harness.tracking.uri import FILE, default_uri
from tests.harness.helpers import planned, result, rows

ROOT = Path(__file__).parents[3]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NAMED = "folklore.harness.tracking.app:app"


@pytest.fixture
def trials(study: Study) -> pd.DataFrame:
    return trial_rows.frame(rows(study, planned(study).trials[:3], lambda _: result(3.0), pack="p1"))


def test_the_server_has_our_page_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).write_bytes(b"")
    installed: list[EntryPoint] = []
    monkeypatch.setattr("folklore.harness.tracking.server.entry_points", lambda **_: installed)
    assert "--app-name" not in command_of(Options(str(tmp_path)), "127.0.0.1", 5000, auth=False)
    installed.append(EntryPoint(APP, NAMED, "mlflow.app"))
    assert command_of(Options(str(tmp_path)), "127.0.0.1", 5000, auth=False)[-2:] == ["--app-name", APP]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["mlflow.app"]
    assert declared == {APP: NAMED}


def test_only_the_page_is_told_what_it_is_for() -> None:
    from folklore.harness.tracking.app import SCRIPT, pages

    with pages.test_client() as browser:
        # A browser may hold the page as MLflow's own server gave it.
        page = browser.get("/", headers={"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT", "If-None-Match": "*"})
        assert page.status_code == 200
        assert page.text.startswith(f'<!doctype html><html lang="en"><head>{SCRIPT}<meta')
        assert page.headers["Cache-Control"] == "no-store"
        assert SCRIPT not in browser.get("/health").text


@pytest.fixture
def server(tmp_path: Path, study: Study, trials: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of MLflow's server over one launch of three trials."""
    tracker = Tracker(default_uri(tmp_path), study, artifacts=tmp_path / "artifacts")
    launch = tracker.launch("laptop", {"git_commit": "0123456789ab"}, 3, {"python-docs": "d1"})
    tracker.record(trials, launch)
    tracker.count(launch, ["supported", "refuted"])
    tracker.finish(launch, "FINISHED")
    # As pip would install what pyproject.toml says, whatever is installed here.
    named = tmp_path / "installed" / "page-1.dist-info"
    named.mkdir(parents=True)
    (named / "METADATA").write_text("Metadata-Version: 2.1\nName: page\nVersion: 1\n")
    (named / "entry_points.txt").write_text(f"[mlflow.app]\n{APP} = {NAMED}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr("folklore.harness.tracking.server.entry_points", lambda **_: [EntryPoint(APP, NAMED, "mlflow.app")])
    command = command_of(Options(str(tmp_path)), "127.0.0.1", port, auth=False)
    environment = {**os.environ, **CLOSED, "PYTHONPATH": str(named.parent)}
    with (tmp_path / "server.log").open("wb") as told:
        process = subprocess.Popen([*command, "--workers", "1"], env=environment, stdout=told, stderr=told)
    try:
        yield _answering(f"http://127.0.0.1:{port}", process, tmp_path / "server.log")
    finally:
        process.terminate()
        process.wait(60)


def _answering(address: str, process: "subprocess.Popen[bytes]", told: Path) -> str:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return address
        except OSError:
            time.sleep(0.5)
    raise AssertionError(told.read_text())


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_an_experiment_opens_with_its_runs(server: str) -> None:
    """In a browser that was never here: dataset, source and counts of verdicts stand in the launch's row."""
    expect.set_options(timeout=120_000)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 2000, "height": 900})
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
