"""Verdicts as tags of the runs that they are on, where a tracker shows them beside the metrics: MLflow."""

from collections.abc import Iterator, Sequence

from ..errors import UserError, quoted
from ..judge.spelling import in_prose
from .judge_runs import JudgedRuns
from .readers import mlflow_runs
from .readers.source import Source
from .run_verdict import RunVerdict
from .runs import PART_IN_NAME, RUN_LABEL, Runs

# MLflow's longest tag, in characters.
LONGEST_TAG = 5000
VERDICT, PAGE = mlflow_runs.OF_VERDICTS, mlflow_runs.OF_VERDICTS + ".page"


def write_back(sources: Sequence[str], judged: JudgedRuns, page: str | None) -> int:
    """The number of runs that carry their verdicts now, in place of those of an earlier call. page: where more is to be read.

    Raises UserError for sources other than MLflow, and for an MLflow that takes nothing.
    """
    named = [Source.parse(source) for source in sources]
    if len(named) != 1 or not mlflow_runs.recognizes(named[0]):
        raise UserError(
            "--write-back: verdicts are written into the runs of one MLflow experiment; name that alone, or leave out"
            " --write-back"
        )
    tags = _tags(judged, page)
    try:
        mlflow_runs.set_tags(named[0], tags)
    except (UserError, ModuleNotFoundError):
        raise
    except Exception as error:  # MLflow lets the errors of its databases and of HTTP through
        raise named[0].error(
            f"MLflow does not take tags ({quoted(error)})", "ask for the right to write, or leave out --write-back"
        ) from None
    return len(tags)


def _tags(judged: JudgedRuns, page: str | None) -> dict[str, dict[str, str]]:
    """Run -> tag -> value; of several claims each a tag of its own."""
    tags: dict[str, dict[str, str]] = {}
    for place, verdict in enumerate(judged.claims, start=1):
        name = VERDICT if len(judged.claims) == 1 else f"{VERDICT}.{place}"
        for runs in judged.runs:
            for run in _of_claim(runs, verdict) if len(judged.runs) == 1 or runs.metric == verdict.claim.metric else ():
                tags.setdefault(run, {PAGE: page} if page else {})[name] = _in_words(verdict)[:LONGEST_TAG]
    return tags


def _of_claim(runs: Runs, verdict: RunVerdict) -> Iterator[str]:
    rows = runs.frame[runs.frame["arm"].isin(verdict.claim.arms)]
    # A run that was begun again has the number of the part behind its id.
    yield from rows[RUN_LABEL].astype(str).str.replace(PART_IN_NAME, "", regex=True).unique()


def _in_words(verdict: RunVerdict) -> str:
    """supported (firm), −3.4% (−4.2 to −2.6): val_loss: adamw < sgd by 1%"""
    strength = f" ({verdict.strength})" * bool(verdict.strength)
    number = ""
    if verdict.estimate is not None and verdict.low is not None and verdict.high is not None:
        number = ", " + in_prose(verdict.estimate, verdict.low, verdict.high, verdict.unit)
    return f"{verdict.verdict}{strength}{number}: {verdict.claim.text}"
