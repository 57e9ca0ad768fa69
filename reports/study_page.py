"""What a study's page shows: its claims with the figures that show them, every trial, and how to get them again."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from folklore.harness.judging.spelling import region
from folklore.harness.judging.trial_sets import HERE, TrialSet
from folklore.harness.judging.verdict_memory import Judged
from folklore.harness.own.address import address_of
from folklore.harness.planning import catalog
from folklore.harness.planning.catalog import Register
from folklore.harness.planning.recipe import study_recipe
from folklore.harness.spec import Judgement, Study
from folklore.harness.spec.parts import all_parts
from folklore.harness.storing.declaration import changed_since
from folklore.reports import curves, figures, interactive, measurement_figures, search_figures
from folklore.reports.strip import strip
from folklore.reports.words import power_of_two, share


def curves_of(study: Study) -> tuple[tuple[str, str, str], ...]:
    """The curves that a page draws: name, what its values belong to, title."""
    return (
        ("train_loss", "step", study.loss_label("training")),
        ("probe_gradient_norm", "probe_step", "gradient norm"),
        ("probe_gradient_variance", "probe_step", "variance of the batch gradient"),
    )


# What a page says about the machine, in this order; the rest of the environment follows.
MACHINE = ("device", "devices", "cpu", "cores", "memory_gib", "system", "python", "torch", "git_commit")

# Where `make mlflow` shows a store's runs.
MLFLOW = "http://127.0.0.1:5000/"
# Their axes are shares of ranges: what a pointer would read off them means nothing.
STATIC = ("search",)
# As browsers take it.
PIXELS_AN_INCH = 96

# (name of the figure, caption, what draws it), the most telling first. An observable names the one that shows it (FIGURE).
FIGURES: tuple[tuple[str, str, Callable[[TrialSet], Figure | None]], ...] = (
    (
        "range-tests",
        "Range tests, and what each rule picks from every seed's.",
        measurement_figures.range_tests,
    ),
    ("exponents", "What the exponents are fitted to, with 95% intervals.", figures.exponents),
    (
        "batch",
        "Steps to the target against the batch size, at the tuned LR.",
        measurement_figures.batch_sweeps,
    ),
    ("noise", "The gradient noise scale over training.", measurement_figures.noise_scales),
    ("underflow", "What FP16 would flush to zero, by loss scale.", measurement_figures.underflow),
    (
        "survival",
        "Which share of the seeds finishes, by peak learning rate.",
        measurement_figures.survival,
    ),
    (
        "lr",
        "Test loss against the peak learning rate: means over seeds; points, where there are, are single runs.",
        figures.lr_curves,
    ),
    (
        "curves",
        "At each arm's tuned learning rate, means over seeds.",
        lambda records: figures.training_curves(records, curves_of(records.study)),
    ),
    ("search", "What the search tried: a line a proposal.", search_figures.proposals),
)


def content(
    study: Study,
    register: Register,
    judged: Sequence[tuple[TrialSet, Judged]],
    output: Path,
    experiment: str | None = None,
    store_option: str = "",
) -> dict[str, Any]:
    """Writes figures and curves into `output` on the way. experiment: the study's id in the store's MLflow. store_option: what
    a command needs to reach the store."""
    return {
        "study": study,
        "claims": {judgement.claim: register.including(study).claim(judgement.claim) for judgement in study.judgements},
        "judgements": {judgement.claim: judgement for judgement in study.judgements},
        "documents": {document.key: document for document in register.documents},
        "command": _command(study, None, store_option),
        "sections": [
            {**_section(records, each, output), "command": _command(records.study, records.scale, store_option)}
            for records, each in judged
        ],
        "mlflow": MLFLOW if experiment is None else f"{MLFLOW}#/experiments/{experiment}/runs?workflowType=machine_learning",
        "strip": strip,
        "region": region,
    }


def _section(records: TrialSet, judged: Judged, output: Path) -> dict[str, Any]:
    """Everything a study page shows of one scale on one kind of device."""
    trials, verdicts = records.trials, judged.verdicts
    environment = json.loads(trials["environment"].iloc[-1])
    factors = sorted({factor for point in set(trials["point"]) for factor in json.loads(point)})
    name = f"{records.study.name}-{records.scale}-{records.device}"
    drawn = {}
    if records.study.scale(records.scale).judged and not any(verdict.verdict == "invalid" for verdict in verdicts):
        drawn = _draw(records, name, output)
    by_claim, elsewhere, rest = _placed(records, drawn)
    files = _write_curves(name, trials, output, records.study)
    return {
        "records": records,
        "name": name,
        "judged": records.study.scale(records.scale).judged,
        "verdicts": verdicts,
        "robustness": {each.claim: each for each in judged.robustness},
        "declared": _declared(records),
        "reported": judged.reported,
        "criteria": {judgement.claim: judgement.criteria_at(records.scale) for judgement in records.study.judgements},
        "figures": drawn,
        "figures_of": by_claim,
        "figures_elsewhere": elsewhere,
        "other_figures": rest,
        "importances": search_figures.importances(records) if drawn else {},
        "machine": {key: environment[key] for key in MACHINE if key in environment},
        "versions": {key: value for key, value in environment.items() if key not in MACHINE},
        "seeds": records.study.seeds_at(records.scale),
        "recipe": study_recipe(records.study, records.scale),
        "packing": _packing(trials),
        "diverged": share(int((trials["outcome"] == "diverged").sum()), len(trials)),
        "minutes": f"{trials['seconds'].sum() / 60:.1f}",
        "data_hash": trials["data_hash"].iloc[0],
        "engine_version": int(trials["engine_version"].iloc[0]),
        "hashes": sorted(set(trials["study_hash"]) - {records.study.hash}),
        "trials": [_trial(row, records.study, factors, list(files)) for row in trials.to_dict("records")],
        "curve_files": list(files.values()),
        "factors": factors,
        "in_mlflow": records.source == HERE,
    }


def _command(study: Study, scale: str | None, store_option: str) -> str:
    """What trains the same again; scale: None leaves it to the machine.

    A study that no built-in module declares came from a file or is a variation: the store's declarations know it by its name.
    """
    at_scale = f" --scale {scale}" if scale else ""
    if study.workload.model == "own":
        workload = address_of(study.workload.dataset)
        return f"folklore run {study.variation_of}{at_scale} --workload {workload}{store_option}"
    if study.name not in catalog.study_names():
        return f"folklore run {study.name}{at_scale}{store_option}"
    return f"make study-{study.name}" + (f" SCALE={scale}" if scale else "")


def _draw(records: TrialSet, name: str, output: Path) -> dict[str, dict[str, str]]:
    """Name of each figure there is -> its caption, image and data, which are written."""
    found = {}
    for kind, caption, draw in FIGURES:
        figure = draw(records)
        if figure is None:
            continue
        file = f"figures/{name}-{kind}"
        if kind not in STATIC:
            data = json.dumps(interactive.specification(figure), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            (output / f"{file}.js").write_text(curves.script(f"{name}-{kind}.js", data), "utf-8")
        width, height = (round(PIXELS_AN_INCH * inches) for inches in figure.get_size_inches())
        (output / f"{file}.svg").write_text(figures.as_svg(figure), "utf-8")
        found[kind] = {
            "caption": caption,
            "image": f"{file}.svg",
            "data": "" if kind in STATIC else f"{file}.js",
            "id": f"{name}-{kind}",
            "width": str(width),
            "height": str(height),
        }
    return found


def _placed(records: TrialSet, drawn: Mapping[str, Any]) -> tuple[dict[str, list[str]], dict[str, list[str]], list[str]]:
    """Each figure stands with the first claim it shows; later claims point to it, and what shows none of them stands apart.

    Returns claim -> figures with it, claim -> figures it points to, and the others.
    """
    by_claim: dict[str, list[str]] = {}
    elsewhere: dict[str, list[str]] = {}
    placed: set[str] = set()
    for judgement in records.study.judgements:
        wanted = _figures_of(judgement, records.scale)
        shown = [kind for kind in drawn if kind in wanted]
        by_claim[judgement.claim] = [kind for kind in shown if kind not in placed]
        elsewhere[judgement.claim] = [kind for kind in shown if kind in placed]
        placed.update(shown)
    return by_claim, elsewhere, [kind for kind in drawn if kind not in placed]


def _figures_of(judgement: Judgement, scale: str) -> set[str]:
    """The figures that show what a claim's criteria observe."""
    return {part.FIGURE for criterion in judgement.criteria_at(scale) for part in all_parts(criterion.observe)}


def _write_curves(name: str, trials: pd.DataFrame, output: Path, study: Study) -> dict[str, str]:
    """Arm -> its file."""
    found = {}
    for arm, (file, text) in curves.files(name, trials, study).items():
        (output / "curves" / file).write_text(text, "utf-8")
        found[arm] = f"curves/{file}"
    return found


def _declared(records: TrialSet) -> dict[str, Any] | None:
    """When the study was written down, how many trials were there by then, and what has changed; None: it was not."""
    if not records.declarations:
        return None
    first = records.declarations[0]
    return {
        "at": first.declared_at[:16].replace("T", " "),
        "hash": first.hash,
        "trials_before": first.trials_before,
        "changes": changed_since(records.declarations, records.study),
        "looks": records.looks,
    }


def _packing(trials: pd.DataFrame) -> str:
    """How wide the packs were, and what they ran as; trials of before that was recorded do not say."""
    programs = sorted(set(trials["program"].dropna())) if "program" in trials else []
    few, many = int(trials["lanes"].min()), int(trials["lanes"].max())
    return f"{few} to {many} lanes" + (f", {', '.join(programs)}" if programs else "")


def _trial(row: Mapping[Hashable, Any], study: Study, factors: Sequence[str], arms: Sequence[str]) -> dict[str, Any]:
    point = json.loads(row["point"])
    return {
        "digest": row["digest"],
        "arm": study.arms[row["arm"]].label if row["arm"] in study.arms else row["arm"],
        "curves": arms.index(row["arm"]),
        "point": [_spelled(point.get(factor, "")) for factor in factors],
        "seed": row["seed"],
        "outcome": row["outcome"] + ("" if pd.isna(row["divergence_step"]) else f" at step {int(row['divergence_step'])}"),
        "losses": [
            "–" if pd.isna(row[name]) else f"{row[name]:.4f}" for name in ("train_loss", "validation_loss", "test_loss")
        ],
    }


def _spelled(value: Any) -> str:
    return power_of_two(value) if isinstance(value, float) else str(value)
