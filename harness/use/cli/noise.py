"""The command that measures how far runs differ by chance, and tells what can be seen through it."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import RunFailedError, UserError
from ...results import fields_of
from ...train.machine.description import local_device
from ...words import counted
from . import choices
from .base import FAILED, AsJson, command
from .output import counting, print_json

if TYPE_CHECKING:
    from ...elsewhere.noise import Difference, Noise
    from ...elsewhere.outcome_file import OutcomeFile, RunOutcome
    from ...elsewhere.repeating import Job, Limits
    from ...elsewhere.run_metric import RunMetric
    from ...elsewhere.table import Role

DEFAULT_SEEDS = 5
# From this number of seeds on the first is run twice unless that is refused: it costs a third more at most.
SEEDS_WITH_REPEAT = 3
DEFAULT_METRIC = "val_loss"
# Files that are read, though they may be marked as programs, as all are on some disks.
DATA = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".db", ".gz", ".zip", ".log", ".txt")
# Seeds are numbers of 64 bits, and nobody runs one command more often.
LARGEST_SEED, MOST_SEEDS = 2**63 - 1, 100_000
# Reasons of failed runs that are printed one by one.
MOST_FAILURES = 3


@dataclass(frozen=True)
class Wanted:
    """Options for the runs of a command. places: runs side by side; None: by the cores, or the GPUs."""

    seeds: range
    repeat: bool
    retry: bool
    places: int | None
    limits: "Limits"
    output: str | None


@command(
    "noise",
    "folklore noise -- python train.py --seed {seed}   # val_loss as it is printed, 5 seeds side by side",
    "folklore noise --seeds 10 --metric eval_loss --file 'out-{seed}/metrics.jsonl' -- python train.py --seed {seed}",
    "folklore noise --pattern 'acc (NUMBER)' --difference 0.4%@3 --budget 2h -- ./train.sh {seed}",
    "folklore noise runs.csv --arm optimizer --difference 0.002   # runs that are there already",
)
def noise(
    words: Annotated[
        list[str],
        typer.Argument(metavar="RUNS… | -- COMMAND…", help="stored runs, or a command with {seed} where its seed goes"),
    ],
    metric: Annotated[str | None, typer.Option("--metric", help="a column, or the name before a printed number")] = None,
    difference: Annotated[
        list[str] | None,
        typer.Option("--difference", metavar="X[%][@N]", help="a difference you saw, with N runs an arm: within the noise?"),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", help="of a command: runs with a seed each; default: 5")] = None,
    first_seed: Annotated[int, typer.Option("--first-seed", help="of a command")] = 0,
    repeat: Annotated[
        bool | None,
        typer.Option(
            "--repeat/--no-repeat", help="run the first seed twice: is all the noise the seed's? Default: from 3 seeds on"
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="run failed runs again")] = False,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="REGEX", help="in the output, with one group: 'val_loss[=: ]+(NUMBER)'")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="PATH", help="JSON, JSON lines or CSV that a run writes; {seed} in its path")
    ] = None,
    mlflow: Annotated[
        str | None, typer.Option("--mlflow", metavar="[ADDRESS#]EXPERIMENT", help="runs log to it, with a parameter seed")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="runs side by side; default: one a core, or one a GPU")
    ] = None,
    budget: Annotated[str | None, typer.Option("--budget", metavar="TIME", help="stop after 90s, 9m or 2h")] = None,
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="TIME", help="of one run")] = None,
    output: Annotated[
        str | None, typer.Option("--output", help="a .jsonl file for finished runs; default: noise-….jsonl, by the command")
    ] = None,
    arm: Annotated[str | None, typer.Option("--arm", metavar="COLUMN", help="of stored runs: what was compared")] = None,
    seed: Annotated[str | None, typer.Option("--seed", metavar="COLUMN", help="of stored runs")] = None,
    step: Annotated[str | None, typer.Option("--step", metavar="COLUMN", help="of stored runs")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="COLUMN", help="of stored runs")] = None,
    where: Annotated[list[str] | None, typer.Option("--where", metavar="COLUMN=VALUE", help="stored runs to keep")] = None,
    as_json: AsJson = False,
) -> None:
    """How far do runs differ that share everything but the seed, and which differences does that leave to be seen?

    Runs a command with several seeds, or reads stored runs. The same command runs only what is missing.
    """
    from ...elsewhere.noise import parse_difference

    differences = [parse_difference(text) for text in choices.short("--difference", difference)]
    columns: dict[Role, str | None] = {"metric": metric, "arm": arm, "seed": seed, "step": step, "task": task}
    choices.require_distinct(columns)
    if not _is_command(words, seed):
        _refuse(
            "is for a command after --", seeds=seeds, pattern=pattern, file=file, mlflow=mlflow, output=output, budget=budget,
            first_seed=first_seed or None, repeat=repeat, retry=retry or None, workers=workers, timeout=timeout,
        )  # fmt: skip
        measured_noise = _of_stored(
            words, {role: column for role, column in columns.items() if column}, where or (), differences
        )
        _show(measured_noise, as_json, {"sources": list(words)})
        return
    _refuse("is for stored runs", arm=arm, seed=seed, step=step, task=task, where=where)
    wanted = _wanted(seeds, first_seed, repeat, retry, workers, budget, timeout, output)
    measured_noise, more = _of_command(words, _metric(metric, pattern, file, mlflow), wanted, differences)
    _show(measured_noise, as_json, more)


def _is_command(words: Sequence[str], seed: str | None) -> bool:
    """Whether these are words of a command, and not stored runs. Raises UserError for a command that lacks {seed} or `--`."""
    from ...elsewhere.repeating import require_runnable
    from ...elsewhere.run_metric import SEED

    if seed is not None and SEED in seed:
        raise UserError(f"write -- before the command: folklore noise -- {' '.join(words)} --seed {SEED}")
    looks_so = any(SEED in word for word in words) or (which(words[0]) is not None and Path(words[0]).suffix not in DATA)
    if looks_so:
        require_runnable(words)
    return looks_so


def _refuse(why: str, **options: object) -> None:
    """Raises UserError for an option that would do nothing."""
    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name.replace('_', '-')} {why}; leave it out")


def _wanted(
    seeds: int | None,
    first: int,
    repeat: bool | None,
    retry: bool,
    workers: int | None,
    budget: str | None,
    timeout: str | None,
    output: str | None,
) -> Wanted:
    from ...elsewhere.repeating import Limits

    count = choices.count("--seeds", seeds, MOST_SEEDS) or DEFAULT_SEEDS
    if count < 2:
        raise UserError(f"--seeds {count}: one run shows no noise; give 2 or more")
    if abs(first) > LARGEST_SEED:
        raise UserError(f"--first-seed {first!s:.40}…: no seed has more than 64 bits; give a smaller one")
    limits = Limits(choices.duration("--timeout", timeout), choices.duration("--budget", budget))
    repeated = count >= SEEDS_WITH_REPEAT if repeat is None else repeat
    return Wanted(range(first, first + count), repeated, retry, choices.count("--workers", workers), limits, output)


def _metric(name: str | None, pattern: str | None, file: str | None, mlflow: str | None) -> "RunMetric":
    from ...elsewhere.run_metric import logged_metric, printed_metric, written_metric

    if sum(source is not None for source in (pattern, file, mlflow)) > 1:
        raise UserError("--pattern, --file and --mlflow say where the metric stands: give one of them")
    name = name or DEFAULT_METRIC
    if file is not None:
        return written_metric(name, file)
    if mlflow is not None:
        return logged_metric(name, mlflow)
    try:
        return printed_metric(name, pattern)
    except RecursionError:
        raise UserError("--pattern: is nested too deeply to be a regular expression; write a shorter one") from None


def _of_stored(
    sources: Sequence[str], columns: "dict[Role, str]", where: Sequence[str], differences: "Sequence[Difference]"
) -> "Noise":
    from ...elsewhere.checks import checked
    from ...elsewhere.noise import noise_of
    from ...elsewhere.roles import ReadingOptions
    from ...elsewhere.runs import runs_of

    runs = checked(runs_of(sources, ReadingOptions(columns, tuple(where))))
    problems = [
        f"{problem.what}: {problem.count}; {problem.consequence}" for problem in runs.problems if not problem.of_verdicts
    ]
    return noise_of(runs.frame, runs.metric, differences, problems=problems)


def _of_command(
    words: Sequence[str], metric: "RunMetric", wanted: Wanted, differences: "Sequence[Difference]"
) -> "tuple[Noise, dict[str, Any]]":
    """The noise of a command's runs, after missing ones are run, and further facts about them."""
    from ...elsewhere.noise import frame_of, noise_of, repeat_of
    from ...elsewhere.outcome_file import OutcomeFile, default_path
    from ...elsewhere.repeating import jobs

    every = jobs(wanted.seeds, wanted.repeat)
    path = Path(wanted.output) if wanted.output else default_path(words, metric.words)
    with OutcomeFile(path, words, metric.words) as file:
        _run_missing(file, every, metric, wanted)
        known = _known(file)
    done = [known[job] for job in every if job in known]
    problems = _failures(done)
    if unfinished := len(every) - len(done):
        problems.append(f"{counted(unfinished, 'run')} not done within the budget: the same command goes on")
    if sum(outcome.value is not None and not outcome.again for outcome in done) < 2:
        raise RunFailedError("; ".join(problems))
    measured_noise = noise_of(frame_of(done), metric.name, differences, repeat_of(done), problems)
    rows = [{name: value for name, value in outcome.to_dict().items() if name not in ("curve", "tail")} for outcome in done]
    return measured_noise, {
        "command": list(words),
        "output": str(path),
        "outcomes": rows,
        "failed": any(outcome.problem for outcome in done),
    }


def _run_missing(file: "OutcomeFile", every: "Sequence[Job]", metric: "RunMetric", wanted: Wanted) -> None:
    """Raises UserError if runs end well and none of them shows the metric: more of them would not either."""
    from ...elsewhere.repeating import environments, repeat

    known = _known(file)
    missing = [job for job in every if job not in known or (wanted.retry and known[job].problem)]
    if not missing:
        return
    device, took = local_device(), [outcome.seconds for outcome in known.values() if not outcome.problem]
    places = environments(wanted.places or device.count, device.count if device.kind == "cuda" else 0)
    outcomes = repeat(file.command, missing, metric, places, wanted.limits, took)
    with counting("runs") as progress, closing(outcomes):
        progress(0, len(missing))
        for number, outcome in enumerate(outcomes, 1):
            if outcome.exit_code == 0 and outcome.value is None and not any(run.value is not None for run in file.outcomes):
                raise UserError(f"the run with seed {outcome.seed} {outcome.problem}")
            file.keep(outcome)
            progress(number, len(missing))


def _known(file: "OutcomeFile") -> "dict[Job, RunOutcome]":
    """Run -> its outcome, the later one if it was tried again."""
    from ...elsewhere.repeating import Job

    return {Job(outcome.seed, outcome.again): outcome for outcome in file.outcomes}


def _failures(done: "Sequence[RunOutcome]") -> list[str]:
    """One line for all failed runs, in which each reason stands once."""
    failed = [outcome for outcome in done if outcome.problem]
    reasons = {outcome.problem: outcome.seed for outcome in reversed(failed)}
    causes = "; ".join(f"seed {seed}: {problem}" for problem, seed in [*reversed(reasons.items())][:MOST_FAILURES])
    return [f"{len(failed)} of {len(done)} runs failed (--retry runs them again): {causes}"] if failed else []


def _show(measured_noise: "Noise", as_json: bool, more: dict[str, Any]) -> None:
    """Exit code 1 if runs failed or are missing, or if no two runs differ: then the noise is not measured."""
    if as_json:
        print_json({**fields_of(measured_noise.row()), **more})
    else:
        from .noise_output import print_noise

        print_noise(measured_noise, more.get("output"))
    if measured_noise.is_alike or more.get("failed"):
        raise typer.Exit(FAILED)
