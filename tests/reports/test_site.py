import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from folklore.harness.declare import Claim, Document, Judgement, Source, Study
from folklore.harness.judge.attempts import Attempt
from folklore.harness.judge.trial_sets import HERE, PUBLISHED, TrialSet, publish, published_sets, trial_sets
from folklore.harness.judge.verdict_memory import JudgedTrials
from folklore.harness.plan.catalog import Register
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.declaration import declarations, declare
from folklore.harness.plan.store.source_check import SourceCheck
from folklore.harness.plan.store.store import Store
from folklore.reports import matrix, site, study_page
from tests.harness.helpers import bowl, changed, frame, result
from tests.reports.links import dead_links, pages_of


def in_document(name: str, study: str, section: str, paraphrase: str = "x", measure: str = "y") -> Claim:
    source = Source(document="TB", section=section)
    return Claim(id=name, study=study, kinds=("empirical",), paraphrase=paraphrase, sources=(source,), measure=measure)


REGISTER = Register(
    documents=(Document(key="TB", title="A <title>", file="a.txt"),),
    claims=(
        in_document("warmup.improves_best", "warmup", "2", "it <script>alert(1)</script> helps", "a gap"),
        in_document("wd.growth", "weight_decay", "5"),
    ),
)


def of(sets: list[TrialSet]) -> Callable[[Study], list[TrialSet]]:
    return lambda study: [trial_set for trial_set in sets if trial_set.study.name == study.name]


def records(study: Study, floor: float = 2.1) -> TrialSet:
    def outcome(trial):
        if trial.arm == "none" and trial.configuration.training.peak_lr > 2.0**-6 and trial.seed == 0:
            return result(float("nan"), divergence_step=3)
        return result(bowl(trial, -7, floor if trial.arm == "none" else 2.0, noise=0.001))

    (trial_set,) = trial_sets(study, frame(study, outcome), HERE)
    return trial_set


def page_of(folder: Path, shown: TrialSet) -> str:
    """The page of a study that has these trials alone, with single spaces."""
    site.write(folder, [shown.study], REGISTER, of([shown]))
    return " ".join((folder / f"{shown.study.name}.html").read_text().split())


pytestmark = pytest.mark.usefixtures("few_calibrated")
GOLDEN = Path(__file__).parent / "golden"
TEMPLATES = Path(site.__file__).parent / "templates"


@pytest.fixture(scope="module")
def written(study: Study, few_calibrated: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages that tests only read."""
    folder = tmp_path_factory.mktemp("written")
    site.write(folder, [study], REGISTER, of([records(study)]))
    return folder


def test_a_study_that_cannot_be_drawn_costs_the_others_nothing(
    study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = study.model_copy(update={"name": "odd"})

    def sets(chosen: Study) -> list[TrialSet]:
        if chosen == other:
            raise KeyError("what nobody\nthought of")
        return [records(chosen)]

    pages = site.write(tmp_path, [other, study], REGISTER, sets)
    assert list(pages) == ["toy"]
    assert "study 'odd' is left out: its page cannot be drawn (KeyError: 'what nobody\\nthought of')" in caplog.text
    assert (tmp_path / "toy.html").exists()
    assert not (tmp_path / "odd.html").exists()
    assert dead_links(tmp_path) == []


def test_everything_is_escaped(written: Path) -> None:
    for page in written.glob("*.html"):
        text = page.read_text()
        assert "<script>" not in text
        assert "<machine>" not in text
        assert "<b>it</b>" not in text
    assert "&lt;script&gt;" in (written / "toy.html").read_text()


def test_equal_data_gives_equal_bytes(
    study: Study, written: Path, tmp_path_factory: pytest.TempPathFactory, pictures: dict[bytes, str]
) -> None:
    again = tmp_path_factory.mktemp("again")
    pictures.clear()
    site.write(again, [study], REGISTER, of([records(study)]))
    files = sorted(path.relative_to(written) for path in written.rglob("*") if path.is_file())
    assets = [file.name for file in TEMPLATES.iterdir() if file.suffix in (".css", ".js")]
    assert {"style.css", "site.js", "index.js", "search.js"} <= set(assets)
    assert sorted(str(file) for file in files if str(file) not in assets) == [
        "calibration.html",
        "changes.html",
        "curves/toy-laptop-cpu-0.js",
        "curves/toy-laptop-cpu-1.js",
        "document-TB.html",
        "figures/toy-laptop-cpu-losses.svg",
        "figures/toy-laptop-cpu-lr.svg",
        "figures/toy-laptop-cpu-warmup-improves_best-wide.svg",
        "figures/toy-laptop-cpu-warmup-improves_best.svg",
        "glossary.html",
        "index.html",
        "plotly.min.js",
        "toy-trials.html",
        "toy.html",
    ]
    for file in files:
        assert (written / file).read_bytes() == (again / file).read_bytes(), file


def test_links_resolve_and_nothing_is_fetched_from_outside(written: Path) -> None:
    assert dead_links(written) == []
    for name, page in pages_of(written).items():
        for target in page.targets:
            assert target == study_page.MLFLOW or not re.match(r"[a-z]+:|//", target), f"{name} reaches outside: {target}"


def test_every_page_says_licence_version_and_day(written: Path) -> None:
    for page in written.glob("*.html"):
        assert re.search(r"<footer.*>As of 20\d\d-\d\d-\d\d, .* Folklore \d+\.\d+\.\d+, MIT licence", page.read_text()), (
            page.name
        )


def test_pages_name_their_address_if_it_is_set(study: Study, written: Path, tmp_path: Path) -> None:
    """A link to a page shows its title and figure, and a citation leads to the claim; without an address none is made up."""
    address = "https://example.org/folklore/"
    site.write(tmp_path, [study], REGISTER, of([records(study)]), published=lambda _: None, experiments=None, site_url=address)
    page, local = (tmp_path / "toy.html").read_text(), (written / "toy.html").read_text()
    assert f'<link rel="canonical" href="{address}toy.html">' in page
    assert f'<meta property="og:url" content="{address}toy.html">' in page
    (picture,) = re.findall(rf'<meta property="og:image" content="{address}([^"]*)">', page)
    assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert f"{address}toy.html#warmup.improves_best-laptop-cpu</span>" in page
    for text in (page, local):
        assert '<meta property="og:title" content="A toy · Folklore">' in text
        assert '<meta property="og:description" content="Does &lt;b&gt;it&lt;/b&gt; work? Supported: It &lt;script' in text
        assert re.search(r'class="cite soft"><span>The Folklore developers \(20\d\d\)\. It &lt;script.*version 1 \(hash', text)
    assert "://" not in re.sub(r"https://example\.org/folklore/", "", page), "nor does it lead to a server of this machine"
    assert not re.search(r'"canonical"|og:url|og:image', local)


def test_a_claims_earlier_versions_are_kept_on_its_card(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict that was replaced by the same word stands in no list of changes, and its numbers nowhere."""
    old = Attempt(
        "warmup.improves_best",
        "toy",
        "laptop",
        "cpu",
        7,
        "2026-11-20",
        "partly",
        "smaller",
        {"a gap": (0.02, 0.01, 0.03, "relative")},
    )
    others = [replace(old, study="other", verdict="refuted"), replace(old, scale="gpu", verdict="refuted")]
    monkeypatch.setattr(study_page, "attempts", lambda: [old, *others])
    page = page_of(tmp_path, records(study)).partition("Earlier versions of the study")[2].partition("</table>")[0]
    assert "<td>2026-11-20</td><td>partly (smaller)</td><td>a gap: 2.0% (1.0–3.0)</td>" in page
    assert "refuted" not in page


def test_a_missing_trial_shows_as_invalid_without_a_number(study: Study, tmp_path: Path) -> None:
    broken = TrialSet(study, "laptop", "cpu", HERE, records(study).trials.iloc[1:], {"d": "RuntimeError: <boom>"})
    page = page_of(tmp_path, broken)
    assert "invalid" in page
    assert "&lt;boom&gt;" in page
    assert "+5." not in page


def test_what_changed_since_the_first_declaration_is_listed(study: Study, tmp_path: Path) -> None:
    whole, store = records(study), Store(str(tmp_path / "store"))
    declare(store, study, "laptop", trials_before=0)
    later = changed(study, {"judgements.0.criteria.0.claimed.value": 0.01})
    fixed = tuple(declarations(store, later, "laptop"))
    page = page_of(tmp_path, TrialSet(later, "laptop", "cpu", HERE, whole.trials, declarations=fixed))
    assert "declaration of this study changed" in page
    assert "before its first trial" in page
    assert "claimed.value: 0.0 before, 0.01 now" in page
    assert "Changed since its first declaration: 1 field" in page, "on the first screen"
    assert "Nothing that decides has changed since" in page_of(tmp_path, replace(whole, declarations=fixed))


def test_the_page_says_which_sources_published_trials_come_from(study: Study, tmp_path: Path) -> None:
    whole = replace(records(study), source=PUBLISHED)
    environments = ['{"device": "x", "git_commit": "0123456789ab+"}', '{"device": "x", "git_commit": "ba9876543210"}']
    old = replace(whole, trials=whole.trials.assign(environment=environments[0]))
    two = replace(whole, trials=whole.trials.assign(environment=[environments[seed % 2] for seed in whole.trials["seed"]]))
    check = SourceCheck(("commit 0123456789ab is no ancestor of HEAD",), "rebased <since>.")
    known = "its trials name commit 0123456789ab, with uncommitted changes."
    assert f"Published before sources were checked: {known}" in page_of(tmp_path, old)
    clean = page_of(tmp_path, replace(two, source_check=SourceCheck()))
    assert "Trained from commits 0123456789ab and ba9876543210, each of which declares what is judged here, without" in clean
    as_is = page_of(tmp_path, replace(old, source_check=check))
    assert "for this reason: rebased &lt;since&gt;. What was found of its sources: commit 0123456789ab is no anc" in as_is
    assert "<li>Published without proof of its sources: rebased &lt;since&gt;.</li>" in as_is, "on the first screen"
    assert "before sources were checked" not in page_of(tmp_path, replace(old, source=HERE)), "what is stored is not published"


def test_the_first_screen_answers(study: Study, tmp_path: Path) -> None:
    """Question, for whom, answer and advice; then the figure, set-up, what was varied and caveats of the scale."""
    variant = changed(study, {"judgements.0.advice": {"supported": "Do <it>."}, "scales.laptop.departures": ("a <toy>",)})
    page = page_of(tmp_path, records(variant))
    first, rest = page.partition("</section>")[::2]
    assert "<h1>Does &lt;b&gt;it&lt;/b&gt; work?</h1>" in first
    assert "Tuned loss, none over half: <b>4.97% (95% CI 4.91–5.02%)</b>." in first
    assert "GPT, 888 parameters, 320 tokens seen · a &lt;machine&gt; · 5 seeds" in first
    assert '<p class="advice">Do &lt;it&gt;.</p>' in first
    setup = rest[rest.index('class="setup"') :]
    assert "<li>a &lt;toy&gt;</li>" in setup
    assert "10 steps of 4 × 8 tokens: 320 tokens" in setup
    assert "5 seeds, 50 runs, 1 diverged" in setup
    assert "folklore run toy --scale laptop" in setup
    assert page.index("</section>") < page.index("Every arm at its best learning rate") < page.index("The documents' claims")


def test_several_scales_have_a_section_each_and_links_to_them(study: Study, tmp_path: Path) -> None:
    """The first judged one answers first; what belongs to none of them stands once."""
    wider = {**study.scales["laptop"].model_dump(), "description": "wider", "workload": {"width": 16}}
    both = changed(study, {"scales.wide": wider}, departures=("a <departure>",))
    wide = TrialSet(both, "wide", "cpu", HERE, frame(both, lambda trial: result(bowl(trial, -7, 2.0)), scale="wide"))
    smoke = TrialSet(both, "smoke", "cpu", HERE, frame(both, lambda trial: result(2.0), scale="smoke"))
    site.write(tmp_path, [both], REGISTER, of([replace(records(study), study=both), wide, smoke]), published=lambda _: None)
    page = (tmp_path / "toy.html").read_text()
    assert re.findall(r'<section class="answer" aria-label="Answer at (\w+) scale">', page) == ["laptop", "wide", "smoke"]
    assert page.count('<a href="#wide-cpu">wide (cpu)</a>') == 1
    assert "Not judged: smaller." in page
    names = re.findall(r'\sid="([^"]*)"', page)
    assert len(names) == len(set(names))
    assert {"warmup.improves_best-laptop-cpu", "warmup.improves_best-wide-cpu", "departures"} <= set(names)
    assert page.count("a &lt;departure&gt;") == 1
    assert dead_links(tmp_path) == []


def test_pages_of_studies_lead_to_their_neighbours(study: Study, tmp_path: Path) -> None:
    """Those that are there, in the order given."""
    first, last = (changed(study, name=name, title=f"<{name}>") for name in ("first", "last"))
    site.write(tmp_path, [first, study, last], REGISTER, of([records(study)]), only=["toy", "last"], published=lambda _: None)
    page = (tmp_path / "toy.html").read_text()
    assert '<a href="last.html" rel="next">&lt;last&gt; →</a>' in page
    assert 'href="first.html"' not in page
    assert '<a href="toy.html" rel="prev">← A toy</a>' in (tmp_path / "last.html").read_text()


def test_a_declaration_is_published_with_its_trials(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged by looks in the store, and by the same looks where it is published."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    store = Store(str(tmp_path / "store"))
    declare(store, study, "laptop", trials_before=0, looks=(5, 8, 12))
    whole = replace(records(study), declarations=tuple(declarations(store, study, "laptop")))
    before = evidence.state(study.name)
    publish(whole, SourceCheck())
    (back,) = published_sets(study)
    assert back.looks == (5, 8, 12)
    assert back.verdicts() == whole.verdicts()
    assert "look 1 of 3" in back.verdicts()[0].reason
    assert len(evidence.state(study.name)) == len(before) + 2


def test_sets_are_never_mixed(study: Study) -> None:
    """Trials of another version, engine or data do not enter a set; the newest data wins."""
    trials = records(study).trials
    old = trials.assign(version=99)
    other_data = trials.assign(data_hash="other", finished_at="1999-01-01T00:00:00+00:00", test_loss=9.0)
    (trial_set,) = trial_sets(study, pd.concat([trials, old, other_data], ignore_index=True), HERE)
    assert len(trial_set.trials) == len(trials)
    assert set(trial_set.trials["data_hash"]) == {"data"}


def test_a_single_page_and_an_index_that_links_to_what_is_there(study: Study, tmp_path: Path) -> None:
    other = changed(study, name="other")
    site.write(tmp_path, [other, study], REGISTER, of([records(study)]), only=["toy"])
    assert (tmp_path / "toy.html").exists()
    assert not (tmp_path / "other.html").exists()
    assert 'href="other.html"' not in (tmp_path / "index.html").read_text()
    site.write(tmp_path, [other, study], REGISTER, of([records(study)]), only=["other"])
    assert (tmp_path / "other.html").exists()


@pytest.mark.parametrize("name", ["index.html", "toy.html", "document-TB.html"])
def test_pages_are_as_they_were_looked_at(written: Path, name: str) -> None:
    """Golden pages: a change of theirs is looked at, and written again by FOLKLORE_GOLDEN=write."""
    text = re.sub(r"(?<=<dt>study</dt><dd>)[^<]*|[0-9a-f]{16}", "…", (written / name).read_text())
    text = re.sub(r"20\d\d-\d\d-\d\d([ T][0-9:]+)?|(?<=developers \()20\d\d", "…", text)
    if os.environ.get("FOLKLORE_GOLDEN") == "write":
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text(), f"{name} is not as it was: look at it, then FOLKLORE_GOLDEN=write pytest …"


def test_every_trial_has_its_curves(study: Study, written: Path) -> None:
    whole = records(study).trials
    by_digest = {}
    for file in (written / "curves").glob("*.js"):
        content = json.loads(file.read_text().partition(", ")[2].rstrip().removesuffix(");"))
        for digest, curves in content["trials"].items():
            steps, values = curves["training loss (nats)"]
            by_digest[digest] = (content["steps"][steps], values)
    assert by_digest == {digest: ([1], [1.0]) for digest in whole["digest"]}


def test_the_matrix_of_the_repository_is_up_to_date() -> None:
    assert matrix.PATH.read_text(encoding="utf-8") == matrix.published(), "make reports writes it again"


def test_ones_own_run_stands_beside_the_published_one(study: Study, tmp_path: Path) -> None:
    published = [JudgedTrials.of(records(study, floor=1.99))]
    site.write(tmp_path, [study], REGISTER, of([records(study)]), published=lambda _: published)
    page = (tmp_path / "toy-beside.html").read_text()
    assert "another verdict" in page
    assert page.count('<th scope="row">published</th>') == page.count('<th scope="row">yours</th>') > 0
    index = (tmp_path / "index.html").read_text()
    assert "Here other than published" in index
    assert 'href="toy-beside.html"' in index
    assert 'href="toy-beside.html"' in (tmp_path / "toy.html").read_text()
    site.write(tmp_path, [study], REGISTER, of([records(study)]), published=lambda _: [JudgedTrials.of(records(study))])
    assert "Here other than published" not in (tmp_path / "index.html").read_text()
    assert "same verdict, intervals overlap" in (tmp_path / "toy-beside.html").read_text()


def test_a_comparison_with_what_is_no_longer_published_goes(study: Study, tmp_path: Path) -> None:
    (tmp_path / "toy-beside.html").write_text("of an earlier run")
    site._write_beside(tmp_path, site._templates(), study, REGISTER, {})
    assert not (tmp_path / "toy-beside.html").exists()


def of_two_parts(study: Study) -> Study:
    """The study with every criterion twice."""

    def doubled(judgement: Judgement) -> Judgement:
        again = [criterion.model_copy(update={"name": f"{criterion.name}, again"}) for criterion in judgement.criteria]
        return judgement.model_copy(update={"criteria": (*judgement.criteria, *again)})

    return study.model_copy(update={"judgements": tuple(map(doubled, study.judgements))})


class Children(HTMLParser):
    """How many elements lie directly in each claim's article: it is a grid of two columns."""

    VOID = ("img", "br", "meta", "link", "input", "hr")

    def __init__(self, page: str):
        super().__init__()
        self.depth, self.counts = 0, list[int]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.depth == 1:
            self.counts[-1] += 1
        if tag == "article":
            self.depth, self.counts = 1, [*self.counts, 0]
        elif self.depth and tag not in self.VOID:
            self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        self.depth = max(0, self.depth - 1)


def test_a_claim_has_its_verdicts_on_the_left_and_all_else_beside_them(study: Study, tmp_path: Path) -> None:
    """More than two would be poured into the grid's columns: a criterion into that of the verdicts, a letter wide."""
    study = of_two_parts(study)
    published = [JudgedTrials.of(records(study, floor=1.99))]
    site.write(tmp_path, [study], REGISTER, of([records(study)]), published=lambda _: published)
    for name in ("toy.html", "toy-beside.html"):
        counts = Children((tmp_path / name).read_text()).counts
        assert counts
        assert set(counts) == {2}, name


def test_a_document_is_graded_in_its_own_order(study: Study, tmp_path: Path) -> None:
    sections = ("Warmup", "11", "2", "Q3", "advanced Q1", "Decay")
    claims = tuple(in_document(f"wd.c{i}", "weight_decay", section) for i, section in enumerate(sections))
    site.write(tmp_path, [study], replace(REGISTER, claims=(*REGISTER.claims, *claims)), of([records(study)]))
    heads = re.findall(r'<th scope="rowgroup"[^>]*>(.*?)</th>', (tmp_path / "document-TB.html").read_text())
    assert heads == [
        "Section 2", "Question 3", "Section 5", "Section 11", "Second quiz, question 1", "Warmup", "Decay",
    ]  # fmt: skip


def test_the_study_a_claim_is_filed_under_speaks_for_it(study: Study, tmp_path: Path) -> None:
    """A copy of a declared study under another name, which judges the same claims, does not take its place in the index."""
    filed = changed(study, name="warmup_duration")
    copy = changed(study, name="duration_mine")
    sets = [records(filed), records(copy, floor=1.99)]
    site.write(tmp_path, [filed, copy], REGISTER, of(sets), published=lambda _: None)
    index = (tmp_path / "index.html").read_text()
    assert 'href="warmup_duration.html#warmup.improves_best-laptop-cpu"' in index
    assert "duration_mine.html#" not in index
    site.write(tmp_path, [copy], REGISTER, of(sets[1:]), published=lambda _: None)
    assert "duration_mine.html#" in (tmp_path / "index.html").read_text(), "where nobody else judges it, it is shown"


def test_what_is_never_judged_counts_nowhere(study: Study, tmp_path: Path) -> None:
    smoke = TrialSet(study, "smoke", "cpu", HERE, records(study).trials)
    site.write(tmp_path, [study], REGISTER, of([smoke]), published=lambda _: None)
    page = (tmp_path / "toy.html").read_text()
    assert '<figure class="lead">' in page, "its loss curves"
    assert "data-run" not in (tmp_path / "toy-trials.html").read_text()
    site.write(tmp_path, [study], REGISTER, of([smoke]), published=lambda _: None, experiments={"toy": "7"})
    trials = (tmp_path / "toy-trials.html").read_text()
    assert 'data-run="http://127.0.0.1:5000/#/experiments/7/runs?searchFilter=' in trials, "each digest leads to its run"
    assert "None has a verdict yet" in (tmp_path / "index.html").read_text()
    assert "2 claims; 0 are judged so far" in (tmp_path / "document-TB.html").read_text()


@pytest.mark.parametrize("name", ["index", "calibration", "glossary"])
def test_no_study_has_the_name_of_another_page(study: Study, name: str) -> None:
    with pytest.raises(ValueError, match="is the name of a page"):
        changed(study, name=name)
