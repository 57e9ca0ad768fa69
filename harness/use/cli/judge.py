"""The command that judges runs trained elsewhere."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UserError, printable
from ...input_files import read_regular
from ...words import capitalized
from . import choices
from .base import FAILED, AsJson, command
from .output import Column, Row, coloured, err, out, print_facts, print_json, print_table

if TYPE_CHECKING:
    from ...elsewhere.comparing import Assumptions, TaskFinding
    from ...elsewhere.gate import Gate
    from ...elsewhere.judge_runs import JudgedRuns, JudgeOptions
    from ...elsewhere.ranking import Ranking
    from ...elsewhere.run_verdict import RunVerdict
    from ...elsewhere.runs import Runs
    from ...elsewhere.table import Problem

# Bytes of a file's name, on all usual disks.
LONGEST_NAME = 255

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="RUNS…",
        help="files, folders or addresses: CSV, JSON lines, Parquet, trainer_state.json, Lightning's and TensorBoard's logs,"
        " W&B exports, mlflow:EXPERIMENT, an Optuna storage, Ray Tune's results, a store of ours",
    ),
]
MetricColumn = Annotated[str | None, typer.Option("--metric", help="the column that is judged")]
ArmColumn = Annotated[str | None, typer.Option("--arm", help="the column that says what is compared; several as A,B")]
SeedColumn = Annotated[
    str | None, typer.Option("--seed", help="the column of the seed; several as A,B; arms that share seeds are paired")
]
StepColumn = Annotated[str | None, typer.Option("--step", help="the column of steps, epochs or tokens")]
TaskColumn = Annotated[str | None, typer.Option("--task", help="the column of the dataset or benchmark; several as A,B")]
RunColumn = Annotated[str | None, typer.Option("--run", help="the column that names the run")]
ItemColumn = Annotated[
    str | None, typer.Option("--item", help="the column of an eval's items (questions): rows are answers; several as A,B")
]
ClusterColumn = Annotated[
    str | None, typer.Option("--cluster", help="the column of what items belong to, such as a passage; several as A,B")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="keep these rows alone; also !=, <, <=, >, >=; repeatable"),
]
Lower = Annotated[bool, typer.Option("--minimize", help="lower is better")]
Higher = Annotated[bool, typer.Option("--maximize", help="higher is better")]


@command(
    "judge",
    "folklore judge runs.csv --claim 'val_loss: adamw < sgd by 1%'",
    "folklore judge adam/ sgd/ --compare sgd --metric val_loss   # every arm against one",
    "folklore judge mlflow:my-experiment --claim 'accuracy: new >= old within 0.5 points' --arm params.branch",
    "folklore judge runs.csv --claim 'steps to val_loss 3.28: b < a by 10%'   # compute saved",
    "folklore judge table.csv --claim 'samples: hyperbola in batch_size within 8%' --task model",
    "folklore judge answers.csv --claim 'correct: b >= a within 1 point' --item question --cluster passage   # an eval",
    "folklore judge tonight.csv --baseline baseline.csv --within 1% --fail-on refuted   # a gate for CI",
)
def judge(
    sources: Sources,
    claim: Annotated[list[str] | None, typer.Option("--claim", help="METRIC: B < A by 1%, and other forms; repeatable")] = None,
    claims: Annotated[str | None, typer.Option("--claims", help="a YAML list of claims")] = None,
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="ARM", help="compare every other arm with this one")
    ] = None,
    rank: Annotated[bool, typer.Option("--rank", help="order all arms, and say which no difference tells apart")] = False,
    by: Annotated[str | None, typer.Option("--by", help="with --compare: the difference that counts, 1% or 0.02")] = None,
    metric: MetricColumn = None,
    arm: ArmColumn = None,
    seed: SeedColumn = None,
    step: StepColumn = None,
    task: TaskColumn = None,
    run: RunColumn = None,
    item: ItemColumn = None,
    cluster: ClusterColumn = None,
    where: Where = None,
    minimize: Lower = False,
    maximize: Higher = False,
    paired: Annotated[
        bool | None, typer.Option("--paired/--unpaired", help="default: paired if the arms share three seeds or more")
    ] = None,
    tuned: Annotated[
        bool | None,
        typer.Option("--tuned/--not-tuned", help="each run of an arm has other hyperparameters: compare the best of k"),
    ] = None,
    deviation: Annotated[
        float | None, typer.Option("--sd", help="the standard deviation between seeds, if it is known from elsewhere")
    ] = None,
    step_worth: Annotated[
        float | None, typer.Option("--step-worth", help="what a further step takes off the metric, for arms of unequal length")
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option("--spread", help="rows are means: the column of their standard deviation between runs; with --count"),
    ] = None,
    count: Annotated[str | None, typer.Option("--count", help="with --spread: the column of how many runs a row is of")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="COLUMN", help="settings that may differ between the arms; several as A,B; repeatable"),
    ] = None,
    baseline: Annotated[str | None, typer.Option("--baseline", help="runs that the new ones must not fall behind")] = None,
    within: Annotated[
        str, typer.Option("--within", help="with --baseline: the margin that does not matter, 1% or 0.02")
    ] = "1%",
    save_baseline: Annotated[
        str | None, typer.Option("--save-baseline", help="write these runs to a CSV for --baseline")
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", help="refuted, or open (which includes refuted): exit with 1 if any claim is")
    ] = None,
    page: Annotated[str | None, typer.Option("--page", help="write a page with figures to this .html file")] = None,
    into_tracker: Annotated[
        bool, typer.Option("--write-back", help="write verdicts into the tags of the MLflow runs that they are on")
    ] = False,
    form: Annotated[
        str | None, typer.Option("--format", help="print markdown (for a pull request) or latex (rows of a table)")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge runs trained elsewhere: which differences are real, and how many seeds would settle the others.

    Claims: 'METRIC: B < A', '… by 1%' (at least so much), 'B <= A within 1%' (no worse), 'B = A within 1%', 'B < 3.28',
    'METRIC at STEP: …', 'steps to METRIC VALUE: …', '… over parameters', 'METRIC: hyperbola in COLUMN within 8%'.
    """
    from ...elsewhere.claims import require_size
    from ...elsewhere.comparing import Assumptions
    from ...elsewhere.gate import baseline_text, gate
    from ...elsewhere.judge_runs import judge_sources
    from ...elsewhere.ranking import rank_sources
    from .formats import FORMATS, written

    if form not in (None, *FORMATS):
        raise UserError(f"--format {form}: must be {' or '.join(FORMATS)}; --json prints JSON")
    if fail_on not in (None, "refuted", "open"):
        raise UserError(f"--fail-on {fail_on}: must be refuted or open")
    is_asked = bool(claim or claims or compare)
    _require_apart({"--minimize": minimize}, {"--maximize": maximize})
    _require_apart({"--format": form}, {"--json": as_json})
    _require_apart({"--baseline": baseline}, {"--claim, --claims or --compare": is_asked, "--write-back": into_tracker})
    others = {"--baseline": baseline, "--fail-on": fail_on, "--page": page, "--write-back": into_tracker}
    _require_apart({"--rank": rank}, {"--claim, --claims or --compare": is_asked, **others})
    columns = {"metric": metric, "arm": arm, "seed": seed, "step": step, "task": task, "run": run}
    columns |= {"item": item, "cluster": cluster}
    better = "lower" if minimize else "higher" if maximize else None
    known = choices.number("--sd", deviation, is_positive=True), choices.number("--step-worth", step_worth)
    how = Assumptions(paired, *known, also=_listed(also))
    options = _options(columns, where, better, tuned, how, _lines(claim, claims), compare, by, (spread, count))
    _require_writable(page, (".html",), "--page")
    _require_writable(save_baseline, (".csv",), "--save-baseline")
    if save_baseline is not None:
        _save(sources, options, Path(save_baseline), baseline_text)
        if not options.claims and compare is None and baseline is None:
            return
    if baseline is not None:
        require_size("--within", within)
    if rank:
        ranking = rank_sources(sources, options)
        if form is not None:
            sys.stdout.write(written(ranking, form))
        else:
            _show_ranking(ranking, as_json)
        return
    report: Any = gate(sources, baseline, within, options) if baseline is not None else judge_sources(sources, options)
    if page is not None:
        from ..reading.pages import site

        site().write_judged_runs(report, Path(page))
    if form is not None:
        sys.stdout.write(written(report, form))
    else:
        _show(report, page, as_json)
    if into_tracker:
        from ...elsewhere.write_back import write_back

        tagged = write_back(sources, getattr(report, "judged", report), page and str(Path(page).absolute()))
        err.print(f"verdicts are in the tags of {tagged} runs")
    if fail_on is not None and _fails(report, fail_on):
        raise typer.Exit(FAILED)


def _require_apart(one: Mapping[str, object], others: Mapping[str, object]) -> None:
    """Raises UserError if an option is given together with one of others that it excludes."""
    ((name, value),) = one.items()
    for other, other_value in others.items():
        if value and other_value:
            raise UserError(f"{name} and {other} exclude each other; leave one out")


def _options(
    columns: dict[str, str | None],
    where: list[str] | None,
    better: str | None,
    tuned: bool | None,
    how: "Assumptions",
    claims: tuple[str, ...],
    compare: str | None,
    by: str | None,
    summed_up: tuple[str | None, str | None],
) -> "JudgeOptions":
    from ...elsewhere.claims import read_claim, require_size
    from ...elsewhere.judge_runs import JudgeOptions
    from ...elsewhere.roles import ReadingOptions
    from ...elsewhere.table import ROLES

    if by is not None and compare is None:
        raise UserError(f"--by {by}: belongs to --compare; write it into the claim, as in 'loss: b < a by 1%'")
    if by is not None:
        require_size("--by", by)
    choices.require_distinct(columns, [read_claim(claim, columns["metric"]).metric for claim in claims])
    roles = {role: name for role in ROLES if (name := columns[role]) is not None}
    reading = ReadingOptions(roles, tuple(where or ()), better=better, tuned=tuned, spread=summed_up[0], count=summed_up[1])
    return JudgeOptions(claims, compare, by, reading, how)


def _listed(columns: list[str] | None) -> tuple[str, ...]:
    """Names that are given one by one or as A,B."""
    return tuple(name.strip() for text in columns or () for name in text.split(",") if name.strip())


def _lines(claims: list[str] | None, file: str | None) -> tuple[str, ...]:
    if file is None:
        return tuple(claims or ())
    import yaml

    from ...elsewhere.claims import claims_of_file

    try:
        content = yaml.safe_load(read_regular(Path(file), 1_000_000))
    except OSError as error:
        raise UserError(f"--claims {file:.200}: cannot be read ({error.strerror}); give another file") from None
    except (ValueError, yaml.YAMLError, RecursionError):
        raise UserError(f"--claims {file}: is no YAML of at most 1 MB; write a list of claims, each in quotes") from None
    return (*(claims or ()), *claims_of_file(content, file))


def _require_writable(path: str | None, endings: tuple[str, ...], option: str) -> None:
    """Raises UserError before anything is read. Unlike those of Path, the tests of os.path take texts that can be no path."""
    if path is None:
        return
    folder, name = os.path.split(os.path.abspath(path))
    if Path(path).suffix not in endings or not os.path.isdir(folder) or os.path.isdir(path):
        raise UserError(f"{option} {path:.200}: must end in {endings[0]}, in a folder that is there")
    if "\0" in name or len(os.fsencode(name)) > LONGEST_NAME:
        raise UserError(f"{option} {path:.200}: no file has such a name; give one of at most {LONGEST_NAME} bytes")


def _save(sources: list[str], options: "JudgeOptions", path: Path, text: Any) -> None:
    from ...elsewhere.checks import checked
    from ...elsewhere.gate import INSTEAD_OF_GATE
    from ...elsewhere.runs import runs_of

    runs = runs_of(sources, options.reading)
    if runs.of_items:
        raise UserError(f"--save-baseline keeps runs, and these are answers to items: {INSTEAD_OF_GATE}")
    runs = checked(runs)
    path.write_text(text(runs), encoding="utf-8")
    out.print(f"baseline: {len(runs.final())} runs in {path}")


def _fails(report: Any, on: str) -> bool:
    judged = getattr(report, "judged", report)
    wrong = {"refuted"} if on == "refuted" else {"refuted", "open"}
    return any(run_verdict.verdict in wrong for run_verdict in judged.claims) or getattr(report, "outcome", "") == "too good"


def _show(report: "JudgedRuns | Gate", page: str | None, as_json: bool) -> None:
    judged: Any = getattr(report, "judged", report)
    if as_json:
        print_json(report.row())
        return
    _print_reading(judged.runs)
    _print_problems(judged.problems)
    if judged is not report:
        _print_gate(report)
    _print_claims(judged)
    if page is not None:
        out.print(f"page: {Path(page).absolute()}")


def _show_ranking(ranking: "Ranking", as_json: bool) -> None:
    """Ranks, means and ties; the best arm first."""
    from .formats import improvement_of, mean_of

    if as_json:
        print_json(ranking.row())
        return
    _print_reading([ranking.runs])
    _print_problems(ranking.runs.problems)
    out.print()
    columns = [Column("rank"), Column(ranking.runs.roles.get("arm", "arm")), Column("score" if ranking.is_of_tasks else "mean")]
    rows_are = "answers" if ranking.runs.of_items else "runs"
    columns += [Column(rows_are, number=True), Column("better", number=True)]
    columns += [Column("mean rank", number=True)] if ranking.is_of_tasks else []
    rows = []
    for arm in ranking.arms:
        cells = [arm.ranks, printable(arm.arm), mean_of(arm), str(arm.runs), improvement_of(arm)]
        cells += [f"{arm.mean_rank:.2g}"] if arm.mean_rank is not None else []
        tied = f"tied with {printable(', '.join(arm.tied))}" if arm.tied else ""
        rows.append(Row(cells, [tied]))
    print_table(columns, rows)
    out.print()
    scores = "Scores go from 0, a task's worst run, to 1, its best; every task counts the same. "
    out.print(
        f"A {ranking.runs.better} {printable(ranking.runs.metric)} counts as better (--minimize or --maximize say otherwise)."
        f" {scores if ranking.is_of_tasks else ''}Better: how often its {rows_are} are better than another arm's. Tied: no"
        f" difference is sure at 5% over all {ranking.comparisons} comparisons (Holm)."
    )


def _print_reading(read: "Sequence[Runs]") -> None:
    """Prints which column was read as which role, so that a wrong guess is noticed at once."""
    for runs in read:
        final, rows = runs.final(), "answers" if runs.of_items else "runs"
        roles: dict[str, str] = {str(role): f"{column} ({runs.told_by[role]})" for role, column in runs.roles.items()}
        arms = ", ".join(
            f"{printable(str(arm))} {count}" for arm, count in list(final["arm"].value_counts(sort=False).items())[:8]
        )
        more = f" and {len(runs.arms) - 8} more" if len(runs.arms) > 8 else ""
        tasks = [printable(task) for task in runs.tasks if task]
        print_facts({
            "read": f"{', '.join(runs.sources)}: {', '.join(runs.formats)}; {len(final)} {rows}",
            **roles,
            f"{rows} an arm": arms + more,
            **({"tasks": ", ".join(tasks[:8]) + (f" and {len(tasks) - 8} more" if len(tasks) > 8 else "")} if tasks else {}),
        })  # fmt: skip


def _print_problems(problems: "Sequence[Problem]") -> None:
    for problem in problems:
        names = f" ({printable('; '.join(problem.examples))})" if problem.examples else ""
        what = f"{capitalized(problem.what)}: {problem.count}"
        out.print(
            f"{what}. {capitalized(problem.consequence)}{names}.",
            style="yellow",
        )


def _print_gate(gate: Any) -> None:
    from ...elsewhere.gate import MEANINGS

    rates = ""
    if gate.false_alarms is not None:
        rates = f"; false alarms {gate.false_alarms:.2g}, damage of twice the margin is seen {gate.caught:.0%} of the time"
    out.print(f"gate: {gate.outcome}: {MEANINGS[gate.outcome]}{rates}")


def _print_claims(judged: "JudgedRuns") -> None:
    out.print()
    rows_are, rows = "answers" if judged.runs[0].of_items else "runs", []
    for run_verdict in judged.claims:
        verdict = coloured(run_verdict.verdict, run_verdict.reading)
        lines = [
            str(run_verdict.answer),
            *([_sentence(run_verdict.reason)] if run_verdict.reason and run_verdict.estimate is not None else []),
        ]
        if run_verdict.smallest_visible is not None and run_verdict.verdict == "open":
            unit = (
                f"{100 * run_verdict.smallest_visible:.2g}%"
                if run_verdict.unit == "relative"
                else f"{run_verdict.smallest_visible:.3g}"
            )
            lines.append(f"These {rows_are} show differences from {unit} on (80% power).")
        lines += [_sentence(run_verdict.settling)] if run_verdict.settling else []
        lines += [f"Fragile: {'; '.join(run_verdict.fragile)}."] if run_verdict.fragile and run_verdict.strength else []
        lines += [_sentence(note) for note in run_verdict.notes]
        lines += (
            [_of_part(run_verdict, part) for part in run_verdict.findings]
            if len(run_verdict.findings) > 1 or run_verdict.claim.law
            else []
        )
        rows.append(
            Row(
                (verdict, run_verdict.strength, printable(run_verdict.claim.text), f"p = {run_verdict.p:.2g}"),
                list(map(printable, lines)),
            )
        )
    print_table((Column("verdict"), Column(""), Column("claim"), Column("")), rows, header=False)


def _of_part(judged: "RunVerdict", part: "TaskFinding") -> str:
    """A task with its verdict and number."""
    from ...judge.spelling import in_prose

    unit = "relative" if judged.unit == "relative" else ""
    low, high = (part.effect.low, part.effect.high) if part.effect else (part.estimate, part.estimate)
    verdict = part.verdict + f" ({part.reading})" * bool(part.reading)
    text = f"{part.name}: " * bool(part.name) + f"{verdict}, {in_prose(part.estimate, low, high, unit)}"
    return text + f"; {part.method}" * judged.claim.law


def _sentence(text: str) -> str:
    return capitalized(text) + "." * (not text.endswith(("?", ".")))
