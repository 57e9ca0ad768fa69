"""The pages of the published evidence as a reader gets them: small, and without a link that leads nowhere."""

import html
import re
import shutil
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from folklore.harness.declare import Study
from folklore.harness.judge.spelling import in_prose, region
from folklore.harness.judge.verdict import CriterionFinding
from folklore.harness.judge.verdict_memory import published_verdicts, remember_verdicts
from folklore.harness.plan import catalog
from folklore.harness.plan.store import trial_schema
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.use.reading.pages import published_sets, write_pages
from folklore.reports.figures import render
from folklore.reports.figures.drawing import WIDTH, Drawing
from folklore.reports.places import places
from tests.harness.helpers import published_names
from tests.reports.figures.helpers import check_figure
from tests.reports.links import dead_links, pages_of

# Files that every page of the site shares, and the folder that is loaded from when a reader asks for a trial's curves.
SHARED = ("style.css", "site.js", "study.css", "study.js", "plotly.min.js")
CURVES = "curves"
MOST_BYTES = 1_000_000


# Written in every run of the tests: of numbers that are computed, of squared errors, of few trials and of many arms. The slow
# tests write all.
FEW = ("adam_internals", "edge_of_stability", "embedding_lr", "warmup")

EITHER = pytest.mark.parametrize("site", ["first_run", pytest.param("folder", marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every figure is looked at as it is drawn, in whatever process: what is wrong with some stands in this file."""
    file = tmp_path_factory.mktemp("looked_at") / "unreadable"

    def looked_at(drawing: Drawing) -> Figure:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                figure = as_figure(drawing)
                if drawing.width == WIDTH:
                    check_figure(drawing, figure)
                return figure
        except (AssertionError, Warning):
            with file.open("a") as log:
                log.write(traceback.format_exc())
            return as_figure(drawing)

    as_figure = render.as_figure
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "as_figure", looked_at)
        yield file


@pytest.fixture(scope="module")
def first_run(unreadable: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of somebody whose first commands were `make study-warmup`, which come to what is published, and three others."""
    store, warmup = Store(str(tmp_path_factory.mktemp("first"))), catalog.load_study("warmup")
    trials = pd.concat([records.trials for records in published_sets(warmup)])
    rows = pa.Table.from_pandas(
        trials.reindex(columns=trial_schema.SCHEMA.names), schema=trial_schema.SCHEMA, preserve_index=False
    )
    Ledger(store, "warmup").write("pack", rows)
    judged = published_verdicts(warmup)
    assert judged is not None
    remember_verdicts(store, warmup, judged)
    pages, _ = write_pages(store, every_study(), only=FEW)
    return pages


@pytest.fixture(scope="module")
def folder(first_run: Path, unreadable: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages: the same store, for which the others have been written, too."""
    store = shutil.copytree(first_run.parent, tmp_path_factory.mktemp("published") / "store")
    pages, _ = write_pages(Store(str(store)), every_study(), only=[n for n in catalog.study_names() if n not in FEW])
    return pages


def every_study() -> list[Study]:
    return [catalog.load_study(name) for name in catalog.study_names()]


@EITHER
def test_every_figure_is_readable_on_a_phone(site: str, unreadable: Path, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(site)
    assert not unreadable.exists(), unreadable.read_text()
    assert len(list((folder / "figures").glob("*.svg"))) > len(FEW if site == "first_run" else catalog.study_names())


@EITHER
def test_every_page_is_small_with_its_figures(site: str, request: pytest.FixtureRequest) -> None:
    sizes, folder = {}, request.getfixturevalue(site)
    for page in folder.glob("*.html"):
        figures = [file for file in (folder / "figures").iterdir() if file.name.startswith(f"{page.stem}-")]
        shown = re.findall(r'(?:src|href)="([^":#]+\.(?:svg|png|css|js))"', page.read_text())
        beside = {page, *figures, *(folder / target for target in shown)}
        own = [file for file in beside if file.name not in SHARED and file.parent.name != CURVES]
        sizes[page.name] = sum(file.stat().st_size for file in own)
    studies = FEW if site == "first_run" else catalog.study_names()
    assert len(sizes) >= len(studies) + len(catalog.register().documents) + 1
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


@pytest.mark.slow
def test_every_link_leads_somewhere(folder: Path) -> None:
    assert dead_links(folder) == []
    pages = pages_of(folder)
    for name, page in pages.items():
        assert page.targets, name
    index = pages["index.html"].targets
    for study in published_names():
        assert any(target.startswith(f"{study}.html#") for target in index), f"no verdict on the index leads to {study}"
    assert "folklore report" not in (folder / "index.html").read_text(), "nothing is left to write"


def test_the_first_run_of_a_newcomer_leaves_no_dead_link(first_run: Path) -> None:
    """Few studies' pages are written, and the verdicts of all studies stand on the index."""
    assert dead_links(first_run) == []
    pages = pages_of(first_run)
    assert {"warmup.html", "warmup-beside.html"} <= pages.keys()
    assert "decay.html" not in pages
    assert any(target.startswith("warmup.html#warmup.widens") for target in pages["index.html"].targets)
    for name in ("index.html", "document-TB.html"):
        text = " ".join((first_run / name).read_text().split())
        assert "batch_scaling, critical_batch, decay" in text, f"{name} does not say which pages are not there"
        assert "folklore report --store" in text, f"{name} does not say what writes them"


@EITHER
def test_every_criterion_says_its_number_or_why_it_has_none(site: str, request: pytest.FixtureRequest) -> None:
    """As text that everybody reads, and not in a text alternative of its picture alone."""
    folder = request.getfixturevalue(site)
    for name in FEW if site == "first_run" else catalog.study_names():
        blocks = (folder / f"{name}.html").read_text().split('<tr class="observed">')[1:]
        texts = [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", block.partition("</tr>")[0])).split()) for block in blocks]
        judged = published_verdicts(catalog.load_study(name)) or []
        findings = [finding for at_scale in judged for verdict in at_scale.verdicts for finding in verdict.findings]
        assert len(findings) == len(texts), name
        wanted = [_told(finding) for finding in findings]
        # Rows that share an axis stand together: the order is not that of the criteria.
        assert [words for words in wanted if not any(words in text for text in texts)] == []


def test_a_page_begins_with_whom_it_speaks_for_its_answer_and_a_picture(first_run: Path) -> None:
    for name in FEW:
        page = (first_run / f"{name}.html").read_text()
        answer = page[page.index('class="answer"') : page.index('class="setup"')]
        places = [page.index(f'class="{part}"') for part in ("whom", "answer", "advice", "lead", "others", "setup")]
        assert places == sorted(places), name
        assert re.search(r'<p class="whom">.*parameters, .* · \d+ cores · \d+ seeds</p>', page), name
        sentences = re.findall(r'<p class="sentence">(.*?)</p>', answer)
        assert 1 <= len(sentences) <= 6, name
        assert all(sentence.startswith('<a href="#') and 'class="mark ' in sentence for sentence in sentences), name


def test_no_squared_error_is_called_nats_on_a_page(first_run: Path) -> None:
    """All losses of edge_of_stability are squared errors: on its pages, in its figures, and in the curves of its trials."""
    files = [file for file in first_run.rglob("edge_of_stability*") if file.is_file()]
    assert {file.suffix for file in files} == {".html", ".svg", ".js"}
    assert [file.name for file in files if re.search(r"\bnats\b", file.read_text())] == []
    assert "test loss (half the squared error)" in (first_run / "edge_of_stability.html").read_text()
    assert "test loss (nats)" in (first_run / "warmup.html").read_text()


def _told(finding: CriterionFinding) -> str:
    if finding.estimate is None or finding.low is None or finding.high is None:
        return f"no number: {' '.join(finding.reason.split())}"
    return in_prose(finding.estimate, finding.low, finding.high, finding.unit)


def test_what_is_said_of_verdicts_is_for_readers() -> None:
    """Without names that only a declaration has, advice to whoever writes studies, or bands of one number."""
    for name in catalog.study_names():
        study = catalog.load_study(name)
        keys = [key for key in study.arms if "_" in key]
        for judged in published_verdicts(study) or ():
            lines = [line for shown in judged.reported.values() for line in shown]
            lines += [verdict.reason for verdict in judged.verdicts]
            lines += [finding.reason for verdict in judged.verdicts for finding in verdict.findings]
            lines += [robust.choices_in_words for robust in judged.robustness]
            for judgement in study.judgements:
                for criterion in judgement.criteria_at(judged.scale):
                    lines += [region(criterion.claimed, criterion), region(criterion.refuted, criterion)]
            for line in lines:
                assert not any(re.search(rf"\b{re.escape(key)}\b", line) for key in keys), line
                assert not re.search(r"widen (it|its|the)\b|[;:] run the study", line), line
                assert "all 0 " not in line, line
                assert not re.search(r"between (\S+) and \1(?![\d.])", line), line


def test_a_page_without_a_place_is_not_linked_there(first_run: Path) -> None:
    """A page that an earlier run left behind may not show what is judged now."""
    page = (first_run / "embedding_lr.html").read_text()
    there = places(first_run, ["embedding_lr", "adam_internals", "decay"])
    (claim,) = [judgement.claim for judgement in catalog.load_study("embedding_lr").judgements]
    assert {"embedding_lr.html", f"embedding_lr.html#{claim}-laptop-cpu", "adam_internals.html"} <= there
    assert not {f"embedding_lr.html#{claim}-gpu-cuda", "decay.html"} & there
    assert {place for place in there if "beside" in place} == set()
    assert page.count(" id=") == len([place for place in there if place.startswith("embedding_lr.html#")])
