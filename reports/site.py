"""All pages: the index, a page for each study and document, the glossary, verdicts that changed, and how often the judge is
right. Equal data gives equal bytes."""

import logging
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..harness.declare import Study
from ..harness.elsewhere.gate import Gate
from ..harness.elsewhere.judge_runs import JudgedRuns
from ..harness.errors import one_line
from ..harness.judge.error_rates import ErrorRates
from ..harness.judge.spelling import in_prose, spell, spell_interval
from ..harness.judge.trial_sets import HERE, TrialSet
from ..harness.judge.verdict import Verdict
from ..harness.judge.verdict_history import history
from ..harness.judge.verdict_memory import JudgedTrials, published_verdicts
from ..harness.plan.catalog import Register
from . import (
    calibration,
    changes_page,
    comparison_page,
    document_page,
    glossary,
    growth,
    index_page,
    judged_runs_page,
    phrases,
    study_page,
)
from .claim_cards import LICENCE, PACKAGE, row
from .figures.lr_range import draw_range_test
from .outcome_table import OutcomeTable, outcome_table
from .parallel import parallel_map
from .places import beside_page, figures, page, places, trials_page
from .study_page import Neighbour, Section
from .verdict_words import GROWTH, WORDS

# What harness/use/reading/pages.py asks of a site.
__all__ = ["draw_range_test", "write", "write_judged_runs"]

# Shipped with the site once; a page loads it when a reader asks for the curves of trials. It comes with the plotly package.
PLOTTING_LIBRARY = "plotly.min.js"
NONE_TESTED = ErrorRates(0, 0, {})

log = logging.getLogger(__name__)

Result = TypeVar("Result")


def write(
    output: Path,
    studies: Sequence[Study],
    register: Register,
    sets_of: Callable[[Study], Sequence[TrialSet]],
    only: Collection[str] | None = None,
    known: Callable[[Study], list[JudgedTrials] | None] = lambda study: None,
    published: Callable[[Study], list[JudgedTrials] | None] = published_verdicts,
    experiments: Mapping[str, str] | None = MappingProxyType({}),
    store_option: str = "",
    drawn_so_far: Callable[[int, int], None] = lambda count, of: None,
    site_url: str = "",
) -> dict[str, list[JudgedTrials]]:
    """Write the site into a folder; returns what became of every study's claims. sets_of: the stored trials of a study.

    A study that cannot be drawn, from a stranger's store or a file, is left out of pages and result, with a line: it must
    not cost the others their pages.

    only: the studies whose pages are written; links lead to pages and places that are there. known: what is known without
    judging of a study whose page is not written. published: what stands beside the published evidence.
    experiments: ids of the studies' experiments in the store's MLflow; None: pages do not lead there. store_option: what a
    command on a page needs to reach the store, such as " --store /data"; empty for the default one. drawn_so_far: is told how
    many studies are judged and drawn. site_url: where the pages will be, with a slash at its end; empty if that is not known,
    and then they name no address.
    """
    pages = _templates(site_url)
    _write_assets(output, pages)

    def judge_and_draw(study: Study) -> tuple[list[JudgedTrials], list[Section] | None, bool]:
        """The judged trials; if the study's page is written, its sections and whether it is compared."""
        write_page = only is None or study.name in only
        if not write_page and (remembered := known(study)) is not None:
            return remembered, None, False
        sets = sets_of(study)
        before = known(study) or []
        judged = [JudgedTrials.of(records, before) for records in sets]
        if not write_page:
            return judged, None, False
        own = list(zip(sets, judged, strict=True))
        compared = comparison_page.pairs(
            [judged_trials for records, judged_trials in own if records.source == HERE], published(study) or ()
        )
        sections = [
            study_page.draw(records, judged_trials, output, store_option, bool(site_url)) for records, judged_trials in own
        ]
        _write_beside(output, pages, study, register, compared, _as_of(sections))
        return judged, sections, bool(compared)

    # The longest first, so that none is left for the end.
    in_turn = sorted(studies, key=_observations, reverse=True)
    every = zip(in_turn, parallel_map(_or_left_out(judge_and_draw), in_turn, drawn_so_far), strict=True)
    drawn = {study.name: drawing for study, drawing in every if drawing is not None}
    studies, in_turn = ([study for study in order if study.name in drawn] for order in (studies, in_turn))
    pages.globals["as_of"] = _as_of(section for _, sections, _ in drawn.values() for section in sections or ())
    _write_calibration_and_glossary(output, pages)
    judged_by_study = {name: judged for name, (judged, _, _) in drawn.items()}
    # A variation's verdicts are of something else than the claims' study: they stand on its own page alone.
    declared = [study for study in studies if study.variation_of is None]

    in_register = outcome_table(
        (judged_trials for study in declared for judged_trials in judged_by_study[study.name]), register
    )
    # What a study asks beside the register counts in no number of the register's, and is corrected for by itself.
    own = {
        study.name: outcome_table(judged_by_study[study.name], replace(register, claims=study.claims))
        for study in declared
        if study.claims
    }

    there = {name for name, (_, sections, _) in drawn.items() if sections is not None or (output / page(name)).is_file()}
    ladders = [(study, judged_by_study[study.name]) for study in declared if study.ladder and study.name in there]

    def write_page(study: Study) -> bool:
        _, sections, compared = drawn[study.name]
        if sections is None:
            return True
        alone = study.variation_of is not None
        tables = [outcome_table(judged_by_study[study.name], register.including(study))] if alone else [in_register]
        tables += [own[study.name]] if study.name in own else []
        shown = study_page.content(
            study,
            register,
            sections,
            partial(_rates, tables),
            calibration.rows(),
            _neighbours(study, declared, there.__contains__),
            (experiments or {}).get(study.name),
            store_option,
            site_url,
            experiments is not None,
            growth.content(study, register, judged_by_study[study.name], output)
            + growth.followed(study, register, ladders, output),
        )
        linked = partial(phrases.with_study_links, there=there)
        _write_page(output / page(study.name), pages, "study.html", **shown, compared=compared, linked=linked)
        _write_page(output / trials_page(study.name), pages, "trials.html", **shown)
        return True

    written = parallel_map(_or_left_out(write_page), in_turn)
    summaries = [growth.summary(study, register, judged, drawn[study.name][1] or ()) for study, judged in ladders]
    _write_ladders(output, pages, [ladder for ladder in summaries if ladder["rows"]])
    _write_index_and_documents(
        output, pages, declared, register, in_register.without_rungs(declared), own, judged_by_study, published, store_option
    )
    return {study.name: judged_by_study[study.name] for study, is_written in zip(in_turn, written, strict=True) if is_written}


def write_judged_runs(judgement: JudgedRuns | Gate, path: Path) -> None:
    """The page of runs that others trained: one file."""
    _save(path, _templates().get_template("judged_runs.html").render(judged_runs_page.content(judgement)).lstrip())


def _or_left_out(work: Callable[[Study], Result]) -> Callable[[Study], Result | None]:
    def guarded(study: Study) -> Result | None:
        try:
            return work(study)
        except OSError:  # of the folder that all are written into
            raise
        except Exception as error:
            log.warning(
                "study '%s' is left out: its page cannot be drawn (%s: %s)", study.name, type(error).__name__, one_line(error)
            )
            return None

    return guarded


def _rates(tables: Sequence[OutcomeTable], verdict: Verdict) -> ErrorRates:
    """The error rates of the claims among which a verdict's is one."""
    column = verdict.scale, verdict.device
    rates = (table.rates[column] for table in tables if (verdict.claim, *column) in table.outcomes)
    return next(rates, NONE_TESTED)


def _write_index_and_documents(
    output: Path,
    pages: Environment,
    studies: Sequence[Study],
    register: Register,
    table: OutcomeTable,
    own: Mapping[str, OutcomeTable],
    judged_by_study: Mapping[str, Sequence[JudgedTrials]],
    published: Callable[[Study], list[JudgedTrials] | None],
    store_option: str,
) -> None:
    there = places(output, (study.name for study in studies))
    changes = [
        change
        for study in studies
        for change in comparison_page.changes(study, comparison_page.pairs(judged_by_study[study.name], published(study) or ()))
    ]
    shown = changes_page.content(register, history().verdicts, there)
    _write_page(output / changes_page.PAGE, pages, changes_page.PAGE, **shown)
    grown = {study.name: growth.words(study, judged_by_study[study.name]) for study in studies}
    content = index_page.content(studies, register, table, there, changes, own, figures(output), grown)
    content["ladders"] = growth.PAGE if (output / growth.PAGE).is_file() else ""
    _write_page(output / "index.html", pages, "index.html", **content, store_option=store_option)
    for document in register.documents:
        graded = document_page.content(document, register, table, there)
        _write_page(output / f"document-{document.key}.html", pages, "document.html", **graded, store_option=store_option)


def _write_ladders(output: Path, pages: Environment, ladders: Sequence[dict[str, Any]]) -> None:
    """The table of all ladders that have numbers; it stays as it was if only some of their pages are written."""
    if ladders and all(ladder["minutes"] for ladder in ladders):
        _write_page(output / growth.PAGE, pages, growth.PAGE, ladders=ladders)


def _neighbours(
    study: Study, studies: Sequence[Study], has_page: Callable[[str], bool]
) -> tuple[Neighbour | None, Neighbour | None]:
    """The studies before and after one, in the order they are given, that have pages."""
    there = [(other.name, other.title) for other in studies if other.name == study.name or has_page(other.name)]
    names = [name for name, _ in there]
    if study.name not in names:
        return None, None
    around = [None, *there, None]
    index = names.index(study.name)
    return around[index], around[index + 2]


def _write_calibration_and_glossary(output: Path, pages: Environment) -> None:
    if counted := calibration.rows():
        shown = calibration.content(counted, calibration.runs_elsewhere(), calibration.trends())
        _write_page(output / "calibration.html", pages, "calibration.html", **shown)
    _write_page(output / "glossary.html", pages, "glossary.html", **glossary.content())


def _templates(site_url: str = "") -> Environment:
    pages = Environment(
        loader=PackageLoader("folklore.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Every page is linked to all of them: style.css and site.js first, then those of single kinds of pages.
    pages.globals["styles"] = _assets(pages, "style.css")
    pages.globals["scripts"] = _assets(pages, "site.js")
    pages.globals["calibrated"] = bool(calibration.rows())
    pages.globals |= {"words": WORDS, "growth_words": GROWTH}
    pages.globals |= {"licence": LICENCE, "version": version(PACKAGE), "site_url": site_url, "picture": "", "as_of": ""}
    pages.filters["claim_title"] = phrases.title
    pages.filters["with_bold_numbers"] = phrases.with_bold_numbers
    pages.filters["spell"] = spell
    pages.filters["prose"] = phrases.number
    pages.filters["in_prose"] = lambda numbers: in_prose(*numbers)
    pages.filters["interval"] = lambda finding: spell_interval(finding.estimate, finding.low, finding.high, finding.unit)
    return pages


def _assets(pages: Environment, first: str) -> list[str]:
    """The templates of a kind, style sheets or scripts, one of them before the others."""
    assets = pages.list_templates(filter_func=lambda name: Path(name).suffix == Path(first).suffix)
    return sorted(assets, key=lambda name: (name != first, name))


def _write_assets(output: Path, pages: Environment) -> None:
    for folder in ("figures", "curves"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    for file in (*_assets(pages, "style.css"), *_assets(pages, "site.js")):
        _save(output / file, pages.get_template(file).render())
    spec = find_spec("plotly")
    assert spec is not None, "plotly is installed with folklore"
    assert spec.origin is not None
    library, copy = Path(spec.origin).parent / "package_data" / PLOTTING_LIBRARY, output / PLOTTING_LIBRARY
    if not copy.exists() or copy.stat().st_size != library.stat().st_size:
        shutil.copyfile(library, copy)


def _write_beside(
    output: Path,
    pages: Environment,
    study: Study,
    register: Register,
    pairs_by_place: Mapping[tuple[str, str], Sequence[comparison_page.Pair]],
    as_of: str = "",
) -> None:
    path = output / beside_page(study.name)
    if not pairs_by_place:
        path.unlink(missing_ok=True)
        return
    content: dict[str, Any] = comparison_page.content(study, register, pairs_by_place)
    _write_page(path, pages, "beside.html", **content, row=row, as_of=as_of)


def _observations(study: Study) -> int:
    """How much there is to observe of a study, for judging takes as long."""
    return sum(len(judgement.criteria) + len(judgement.reported) for judgement in study.judgements)


def _as_of(sections: Iterable[Section]) -> str:
    """The day of the latest trial; empty without trials."""
    return max((section.as_of for section in sections), default="")


def _write_page(path: Path, pages: Environment, template: str, **shown: Any) -> None:
    _save(path, pages.get_template(template).render(shown, file=path.name))


def _save(path: Path, text: str) -> None:
    path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
