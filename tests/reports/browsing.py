"""Pages in a real browser, which must complain of nothing and ask for nothing from outside."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"),
]
# A machine that is busy with other tests answers late.
expect.set_options(timeout=60_000)


@contextmanager
def started() -> Iterator[Browser]:
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visited(
    browser: Browser, page_file: Path, theme: str = "light", width: int = 1200, but: str | None = None
) -> Iterator[Page]:
    """A page. but: a text that expected complaints contain."""
    page = browser.new_page(color_scheme=theme, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"file://{page_file}")
    yield page
    page.close()
    assert [complaint for complaint in complaints if but is None or but not in complaint] == []
    assert [url for url in requests if not url.startswith(f"file://{page_file.parent}/")] == []
