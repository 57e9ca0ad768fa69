"""The pages in a real browser: nothing is fetched from outside, nothing complains, what can be pressed does what it says."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from folklore.harness.declare import Study
from folklore.harness.judge.verdict_memory import JudgedTrials
from folklore.reports import site
from tests.reports.browsing import MARKS, started, visited
from tests.reports.test_site import REGISTER, of, of_two_parts, records

pytestmark = [*MARKS, pytest.mark.usefixtures("few_calibrated")]
DOCUMENTS = ("document-TB.html", "calibration.html", "glossary.html")
PAGES = ("index.html", "toy.html", "toy-trials.html", "toy-beside.html", *DOCUMENTS)
# Of its checks those of WCAG 2.1, levels A and AA, and good practice; preloading needs a server.
AXE = {"preload": False}
# With an equals sign it is a query of the index, not a place.
LOST = """all => all.map(link => decodeURIComponent(link.hash.slice(1)))
             .filter(place => !place.includes("=") && !document.getElementById(place))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


def written(folder: Path, study: Study) -> Path:
    other = [JudgedTrials.of(records(study, floor=1.99))]
    site.write(folder, [study], REGISTER, of([records(study)]), published=lambda _: other)
    return folder


@pytest.fixture(scope="module")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("pages"), study)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_everybody_can_read_them(browser: Browser, folder: Path, theme: str, width: int) -> None:
    """axe finds nothing, nothing is wider than the screen, and every link within a page leads somewhere."""
    for name in PAGES:
        with visited(browser, folder / name, theme, width) as page:
            violations = Axe().run(page, options=AXE).response["violations"]
            assert [(violation["id"], [node["html"][:100] for node in violation["nodes"]]) for violation in violations] == [], (
                name
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than a screen of {width}"
            assert page.eval_on_selector_all("a[href^='#']", LOST) == [], name


@pytest.fixture(scope="module")
def of_two(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("two"), of_two_parts(study))


@pytest.mark.parametrize("width", [1400, 400])
def test_criteria_have_the_width_of_their_claim(browser: Browser, of_two: Path, width: int) -> None:
    """But for the verdicts at their left, however many criteria a claim has."""
    for name in ("toy.html", "toy-beside.html"):
        with visited(browser, of_two / name, width=width) as page:
            shares = page.eval_on_selector_all(
                "article.claim table.criteria", "all => all.map(a => a.offsetWidth / a.closest('article').offsetWidth)"
            )
        assert shares, name
        assert min(shares) > 0.75, name


def test_the_index_filters(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "index.html") as page:
        rows = page.locator("#register tbody tr:visible")
        expect(rows).to_have_count(2)
        page.locator("[name=verdict]").select_option("supported")
        expect(rows).to_have_count(1)
        expect(page.locator("#count")).to_have_text("1 of 2 claims")
        page.get_by_role("button", name="Show all").click()
        expect(rows).to_have_count(2)
        page.locator("[name=text]").fill("wd.growth")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("not yet tested")
        page.locator("[name=text]").fill("nothing like it")
        expect(rows).to_have_count(0)


def test_themes_take_turns_and_are_remembered(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "index.html") as page:
        background = "getComputedStyle(document.body).backgroundColor"
        light, button = page.evaluate(background), page.locator("#theme")
        for theme in ("light", "dark"):
            button.click()
            expect(button).to_have_text(f"Theme: {theme}")
        assert page.evaluate(background) != light
        page.goto(f"file://{folder}/toy.html")
        expect(button).to_have_text("Theme: dark")


def test_trials_sort_and_show_their_curves(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "toy.html") as page:
        page.get_by_role("link", name="All 50 trials").click()
        table = page.locator("table.trials")
        losses = table.locator("tbody tr td:nth-child(7)")

        def shown() -> list[float]:
            return [float(text) for text in losses.all_inner_texts() if text.strip() != "–"]

        head = table.get_by_role("button", name="Test loss")
        head.click()
        assert len(shown()) > 10
        assert shown() == sorted(shown())
        head.click()
        assert shown() == sorted(shown(), reverse=True)
        expect(table.locator("th[aria-sort=descending]")).to_contain_text("Test loss")
        for row in (0, 20):
            table.locator("tbody input").nth(row).check()
        expect(page.locator(".chosen .chart .scatterlayer .trace")).to_have_count(2)
        page.locator(".chosen select").select_option("gradient norm")
        expect(page.locator(".chosen .chart")).to_contain_text("gradient norm")
        page.get_by_role("button", name="Clear").click()
        expect(page.locator(".chosen")).to_be_hidden()
        expect(table.locator("tbody input:checked")).to_have_count(0)


def test_long_tables_turn_pages_and_stay_whole(browser: Browser, folder: Path) -> None:
    """A page of all 2,424 trials was 85,000 pixels long. Sorting goes over all rows, the file of rows has them all."""
    rows = "".join(f"<tr><td>a<td>{(7 * index) % 450}<td>{index:04d}" for index in range(450))
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Arm", "Loss", "Digest"))
    table = f'<table class="trials sortable" data-curves="" data-csv="all"><thead><tr>{heads}</tr></thead><tbody>{rows}</table>'
    scripts = '<link rel="stylesheet" href="style.css"><script src="site.js" defer></script><button id="theme"></button>'
    (folder / "long.html").write_text(f"<!doctype html><title>x</title>{scripts}<div class=wide>{table}</div>")
    with visited(browser, folder / "long.html") as page:
        shown, position = page.locator("tbody tr:visible"), page.locator(".paging output")
        expect(shown).to_have_count(200)
        page.get_by_role("button", name="Loss").click()
        assert [shown.nth(index).locator("td").nth(2).inner_text() for index in (0, 199)] == ["0", "199"]
        page.get_by_role("button", name="Next rows").click()
        page.get_by_role("button", name="Next rows").click()
        expect(position).to_have_text("rows 401 to 450 of 450")
        expect(shown).to_have_count(50)
        assert page.evaluate("folklore.csv(document.querySelector('table'))").count("\n") == 451
        page.get_by_role("button", name="All rows").click()
        expect(shown).to_have_count(450)


def test_a_citation_is_copied(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "toy.html") as page:
        page.get_by_role("button", name="Copy citation").first.click()
        expect(page.locator("button.copy").first).to_have_text("Copied")
        assert page.evaluate("getSelection().toString()").startswith("The Folklore developers (20")


def test_a_page_that_was_sent_on_alone_says_what_it_lacks(browser: Browser, folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(folder, tmp_path / "alone")
    for name in ("curves/toy-laptop-cpu-0.js", "curves/toy-laptop-cpu-1.js"):
        (folder / name).unlink()
    with visited(browser, folder / "toy.html", but="ERR_FILE_NOT_FOUND") as page:
        page.get_by_role("link", name="All 50 trials").click()
        page.locator("table.trials tbody input").first.click()
        expect(page.locator("table.trials tbody td").first).to_contain_text("not beside this page")


def test_they_read_without_scripts(browser: Browser, folder: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"file://{folder}/toy.html")
    expect(page.locator("figure img").first).to_be_visible()
    page.goto(f"file://{folder}/index.html")
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator("#register tbody tr")).to_have_count(2)
    page.context.close()


def test_printed_they_have_no_buttons_and_folds_are_open(browser: Browser, folder: Path) -> None:
    """And closed again afterwards."""
    with visited(browser, folder / "toy.html") as page:
        page.emulate_media(media="print")
        expect(page.locator("header")).to_be_hidden()
        expect(page.locator("article.claim").first).to_be_visible()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(page.locator("details.decided").first.get_by_text("supported if")).to_be_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0


def test_a_link_into_a_fold_opens_it(browser: Browser, folder: Path) -> None:
    with visited(browser, folder / "toy.html") as page:
        fold = page.locator("[id='laptop-cpu-run']")
        expect(fold.locator("pre")).to_be_hidden()
        page.get_by_role("navigation", name="On this page").get_by_role("link", name="Reproduce").focus()
        page.keyboard.press("Enter")
        expect(fold.locator("pre")).to_be_visible()
        decided = page.locator("details.decided summary").first
        decided.focus()
        page.keyboard.press("Enter")
        expect(page.locator("details.decided").first).to_contain_text("supported if")
