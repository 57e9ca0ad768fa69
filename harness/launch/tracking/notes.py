"""Texts and links for people in MLflow: names of runs, notes, saved views and the addresses within its page."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...declare import Study, arms_of
from ...judge.spelling import in_prose
from ...judge.verdict import Verdict
from ...plan.store.mlflow_address import BEST_FIRST, runs_link

# Characters of a tag, which MLflow would cut by itself or refuse.
LONGEST_TAG = 5_000
# A row is too narrow for words; counts stand first in a launch's name, where no width cuts them off.
SIGNS = {"supported": "✓", "partly": "◐", "refuted": "✗", "open": "?", "out of regime": "–", "invalid": "!", "withdrawn": "⊘"}
# Between a launch's note and its verdicts.
JUDGED = "\n\nVerdicts: "
# The saved view of an experiment's trials; MLflow keeps one in a tag, and lists it under `Views`.
VIEW_KEY = "trials"
VIEW = f"mlflow.sharedViewState.{VIEW_KEY}"


def trial_name(label: str, point: Mapping[str, Any], seed: int) -> str:
    """The name of a trial's run: `AdamW, 20% warmup · lr 0.016 · seed 3`."""
    return " · ".join([label, *(f"{_called(name)} {_short(value)}" for name, value in point.items()), f"seed {seed}"])


def _called(factor: str) -> str:
    return "lr" if factor == "peak_lr" else factor.replace("_", " ")


def _short(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2g}" if abs(value) < 1 else f"{value:g}"


def claims_of(study: Study, scale: str) -> dict[str, list[str]]:
    """Arm -> the claims that read it at a scale."""
    read = {
        judgement.claim: {arm for criterion in judgement.criteria_at(scale) for arm in arms_of(criterion.observe)}
        for judgement in study.judgements
    }
    return {arm: [claim for claim, arms in read.items() if arm in arms] for arm in study.arms}


def page_link(experiment: str, run_id: str, study: str) -> str:
    """A launch's artifact: the study's page as it left it."""
    return f"#/experiments/{experiment}/runs/{run_id}/artifacts/report/{study}.html"


def study_note(study: Study, experiment: str) -> str:
    """Markdown, above the experiment's runs."""
    view = f"#/experiments/{experiment}/runs?viewStateShareKey={VIEW_KEY}"
    criteria = [
        (judgement.claim, "; ".join(criterion.name for criterion in judgement.criteria)) for judgement in study.judgements
    ]
    varied = [f"- {departure}" for departure in study.departures] if study.variation_of is not None else []
    return "\n".join(
        [
            f"**{study.title}.** {study.question} [All trials]({view}) · [their curves]({view}&compareRunsMode=CHART)",
            "",
            *varied,
            "One parent run a launch, whose note has the verdicts and whose artifact `report` is the page; below it a run a"
            " trial. Filter trials by the tags `folklore.arm`, `folklore.seed`, `folklore.claims`, `folklore.scale`,"
            " `folklore.device` and `folklore.outcome`. Each claim leads to the trials that it is judged by:",
            "",
            *(f"- {_trials_of(claim, experiment)}: {names}" for claim, names in criteria),
        ]
    )


def _trials_of(claim: str, experiment: str) -> str:
    read_for = f"tags.`folklore.claims` LIKE '%{claim}%'"
    return f"[{claim}]({runs_link(experiment, read_for)})"


def saved_view(study: Study) -> str:
    """The trials of a study as a table: arm, factors and seed, then what they came to; best first."""
    factors = [f"params.`{name}`" for name in ("arm", *(f"training.{factor}" for factor in study.factors), "seed")]
    metrics = [f"metrics.`{name}`" for name in ("test_loss", "validation_loss", "test_accuracy", "diverged")]
    state = {
        "searchFilter": "tags.`folklore.kind` = 'trial'",
        "orderByKey": BEST_FIRST,
        "orderByAsc": True,
        "selectedColumns": [*factors, *metrics],
    }
    return json.dumps({"name": "Trials, best first", "createdAt": 0, "state": json.dumps(state)})


def launch_note(study: Study, scale: str, trials: int) -> str:
    return (
        f"A launch of `{study.name}` version {study.version} at scale `{scale}`, with {trials} trials to train. System metrics"
        " are those of the machine that started it."
    )


def verdicts_note(verdicts: Sequence[Verdict], counts: Mapping[str, int], experiment: str, page: str) -> str:
    """Markdown: counts, and a row for each claim; cut where a tag ends. page: the address of the page."""
    lines = [
        f"{', '.join(f'{count} {name}' for name, count in counts.items())}. [The page]({page}) says why.",
        "",
        "| claim, with its trials | verdict | estimate (95% CI) |",
        "|---|---|---|",
        *(f"| {_trials_of(verdict.claim, experiment)} | {_verdict(verdict)} | {_estimate(verdict)} |" for verdict in verdicts),
    ]
    return "\n".join(lines)


def _verdict(verdict: Verdict) -> str:
    below = "below the claim's size" if verdict.below_size else ""
    so_far = f"so far, {verdict.so_far}" if verdict.so_far else ""
    why = ", ".join(filter(None, (verdict.reading, below, so_far)))
    return f"{SIGNS[verdict.verdict]} {verdict.verdict}" + (f" ({why})" if why else "")


def _estimate(verdict: Verdict) -> str:
    if verdict.estimate is None or verdict.low is None or verdict.high is None:
        return "–"
    return in_prose(verdict.estimate, verdict.low, verdict.high, verdict.unit).replace("|", "\\|")


def trial_note(claims: Sequence[str], page: str | None) -> str:
    """Markdown, on the run of a trial: what it is read for, and where that is shown."""
    read = f"Read for {', '.join(f'`{claim}`' for claim in claims)}." if claims else "No claim reads it at this scale."
    return f"{read} [The study's page]({page})" if page else read
