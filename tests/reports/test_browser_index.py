"""The index in a real browser: search by words, filters in the address, tables as CSV, a phone, a printer."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from folklore.harness.declare import Document, Study
from folklore.harness.plan.catalog import Register
from folklore.reports import site
from tests.reports.browsing import MARKS, started, visited
from tests.reports.test_highlights import BASE, claim
from tests.reports.test_index import judged

pytestmark = MARKS
TOLD = {
    "mup.invariant": "under muP η* does not move with width",
    "warmup.widens": "warmup lets a larger peak LR train",
    "decay.cosine": "cosine beats step decay",
    "prec.bf16": 'BF16 reaches FP32\'s "loss", without loss scaling',
    "wd.growth": "weights grow without weight decay",
}
TB = Document(key="TB", title="A document", file="x")


SEARCHES = {
    "muP": ["mup.invariant"],
    "mu-parametrization": ["mup.invariant"],
    "μP": ["mup.invariant"],
    "learning rate": ["mup.invariant", "warmup.widens"],
    "LR": ["mup.invariant", "warmup.widens"],
    "scheduler": ["decay.cosine"],
    "warm-up": ["warmup.widens"],
    "bfloat16": ["prec.bf16"],
    "wid": ["mup.invariant", "warmup.widens"],
    "does a warm-up help?": ["warmup.widens"],
    "cosine vs step": ["decay.cosine"],
    "armup": [],
    "width larger": [],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four claims judged at two scales, one not yet tested."""
    sources = [{"document": "TB", "section": "2"}]
    register = Register((TB,), tuple(claim(name, paraphrase=said, sources=sources) for name, said in TOLD.items()))
    verdicts = [
        replace(BASE, study="toy", claim=name, verdict=verdict, surprise=surprise, estimate=1.8123456)
        for name, verdict, surprise in (
            ("mup.invariant", "open", 0.2),
            ("warmup.widens", "refuted", 3.0),
            ("decay.cosine", "supported", None),
            ("prec.bf16", "supported", 0.9),
        )
    ]
    pages = tmp_path_factory.mktemp("pages")
    larger = [replace(verdict, scale="gpu", device="cuda", verdict="supported") for verdict in verdicts]
    known = [judged(*verdicts), judged(*larger)]
    site.write(pages, [study], register, lambda _: [], only=[], known=lambda _: known, published=lambda _: None)
    return pages


def shown(page: Page) -> list[str]:
    rows = page.locator("#register tbody tr:visible")
    return [str(rows.nth(i).get_attribute("id")) for i in range(rows.count())]


def test_search_knows_words(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "index.html") as page:
        page.keyboard.press("/")
        expect(page.locator("[name=text]")).to_be_focused()
        for asked, finds in SEARCHES.items():
            page.locator("[name=text]").fill(asked)
            assert shown(page) == finds, asked
            expect(page.locator("#count")).to_have_text(f"{len(finds)} of 5 claims")


def test_what_is_asked_stands_in_the_address(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "index.html") as page:
        page.locator("[name=verdict]").select_option("refuted")
        assert page.url.endswith("#verdict=refuted")
        page.locator("[name=text]").fill("muP")
        page.locator("[name=order]").select_option("study")
        assert page.url.endswith("#text=muP&verdict=refuted&order=study")
        assert shown(page) == []
        address = page.url
        page.go_back()
        page.go_back()
        assert shown(page) == ["warmup.widens"]
        expect(page.locator("[name=text]")).to_have_value("")
        page.go_forward()
        expect(page.locator("[name=text]")).to_have_value("muP")
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("#count")).to_have_text("5 of 5 claims")
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator("#count")).to_have_text("0 of 5 claims")
        expect(page.locator("[name=order]")).to_have_value("study")
        page.goto(address.partition("#")[0] + "#wd.growth")
        expect(page.locator("tr[id='wd.growth']")).to_be_visible()
        expect(page.locator("#count")).to_have_text("5 of 5 claims")


def test_counts_lead_to_their_claims_and_orders_sort(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "index.html") as page:
        page.get_by_role("link", name="1 fails").click()
        assert shown(page) == ["warmup.widens"]
        expect(page.locator("[name=verdict]")).to_have_value("refuted")
        page.get_by_role("button", name="Show all").click()
        page.locator("[name=order]").select_option("surprise")
        assert shown(page)[:3] == ["warmup.widens", "prec.bf16", "mup.invariant"]
        page.locator("[name=order]").select_option("verdict")
        assert shown(page)[-1] == "wd.growth"
        page.locator("[name=order]").select_option("")
        assert shown(page) == list(TOLD)


def test_a_table_is_downloaded_with_its_full_numbers(browser: Browser, folder: Path, tmp_path: Path) -> None:
    with visited(browser, folder / "index.html", but="") as page:
        page.locator("[name=text]").fill("bf16")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="folklore-claims.csv").click()
        assert waiting.value.suggested_filename == "folklore-claims.csv"
        waiting.value.save_as(tmp_path / "claims.csv")
        page.goto(f"file://{folder}/document-TB.html")
        assert page.evaluate("folklore.csv(document.querySelector('table[data-csv]'))").count("\r\n") == 1 + len(TOLD)
        # A formula stays text.
        row = "<tr><td>=1+1</td><td data-value='-0.5'>–</td></tr>"
        table = f"<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>{row}</tbody></table>"
        page.evaluate("told => document.body.insertAdjacentHTML('beforeend', told)", table)
        assert page.evaluate("folklore.csv(document.body.lastElementChild)") == "a,b\r\n'=1+1,-0.5\r\n"
    heads, *lines = csv.reader((tmp_path / "claims.csv").read_text().splitlines())
    assert heads[:2] == ["id", "claim"]
    assert heads[2:6] == [f"laptop cpu {name}" for name in ("verdict", "reading", "standing", "estimate")]
    (line,) = lines
    assert len(line) == len(heads)
    fields = dict(zip(heads, line, strict=True))
    assert (fields["claim"], fields["documents"]) == (TOLD["prec.bf16"], "TB 2")
    assert (fields["laptop cpu estimate"], fields["gpu cuda high"]) == ("1.8123456", "2.0")


def test_a_phone_shows_a_card_a_claim(browser: Browser, folder: Path) -> None:
    for name in ("document-TB.html", "glossary.html", "calibration.html", "index.html"):
        with visited(browser, folder / name, width=400) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
            if name == "index.html":
                assert page.locator("#register tbody tr").first.evaluate("row => getComputedStyle(row).display") == "block"
                assert page.locator(".wide").first.evaluate("wide => wide.scrollWidth <= wide.clientWidth")


def test_printed_the_index_has_rows_and_no_filters(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "index.html") as page:
        page.emulate_media(media="print")
        for hidden in ("header", "#filters", ".table-tools >> nth=0"):
            expect(page.locator(hidden)).to_be_hidden()
        assert shown(page) == list(TOLD)


@pytest.mark.parametrize("width", [1000, 1400])
def test_words_of_an_outcome_do_not_cover_its_numbers(browser: Browser, width: int) -> None:
    """The longest of them, in the one column of an index of one scale."""
    page = browser.new_page(viewport={"width": width, "height": 600})
    verdict = "<span>out of regime <span class=reading>precondition</span></span>"
    number, standing = "−0.004% (−0.030 to 0.022)", "below the claim's size"
    words = f"{verdict} <span class=seen>{number}</span> <span class=standing>{standing}</span>"
    style = (Path(site.__file__).parent / "templates" / "style.css").read_text()
    page.set_content(f"<style>{style}</style><table class=columns-1><td><span class=outcome>{words}</span></table>")
    # Of the words themselves, which may reach out of their box.
    boxes = page.locator(".outcome > *").evaluate_all(
        "all => all.map(each => { const words = document.createRange(); words.selectNodeContents(each);"
        " const {left, right, top, bottom} = words.getBoundingClientRect(); return {left, right, top, bottom}; })"
    )
    for a, b in combinations(boxes, 2):
        beside = a["right"] <= b["left"] or b["right"] <= a["left"]
        assert beside or a["bottom"] <= b["top"] + 1 or b["bottom"] <= a["top"] + 1
    page.close()
