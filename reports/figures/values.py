"""Values over what they depend on: shares that finish, sizes of activations, what is flushed to zero, sharpness, old tasks."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from ...harness.declare import Judgement, arms_of
from ...harness.declare.configuration import LOSS_SCALES
from ...harness.declare.metrics import (
    FailureRate,
)
from ...harness.declare.metrics.estimating.weighted import present, tuned_index
from ...harness.declare.observed import KINDS, Observed
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation, binomial
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from ...studies.metrics.forgetting import Measure, last_task, task_accuracy, task_loss
from ...studies.metrics.generalization import settings_at, sharpness_correlation
from ...studies.metrics.mup_transfer import log_sizes, mean_activation_slope
from ...studies.metrics.precision import underflow_share
from ...studies.metrics.warmup import divergence_edge
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import known, metrics, number, seed_band
from .palette import INK, LINES, MARKERS, Look, looks, shades
from .scales import Scale
from .scales import number as spelled

LR = "peak_lr"
FINISH = (
    "Share of seeds that finish, with exact 95% intervals, for the arms of which a run diverges. Vertical lines: the LRs that"
    " this claim reads."
)
NONE_DIVERGED = "No run of these arms diverged at any learning rate that was tried, so there is no figure of it."
ACTIVATIONS = "Mean size of activations against the width, with 95% bands, and the slope of each group of layers."
FLUSHED = "Share of non-zero gradients that FP16 flushes to zero, with a 95% band. Ring: the loss scale that is judged."
SHARPNESS = (
    "Validation loss against sharpness, both where the axis says. Large dots: settings, means over seeds. The correlation"
    " judged stands above."
)
TASKS = (
    "Test error (share), or loss, where runs end, with 95% intervals on old tasks. A line joins the strengths of a remedy, in"
    " the order of its name, and begins where there is none. Pale: remedies that this claim does not read, and gray the way"
    " without one while the last task was trained. Better runs lie at the lower left."
)


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """None where none of these has a number."""
    flat = _sharpness(records, judgement)  # what its axis says is long
    return grid(
        [*_flushed(records, judgement), *_activations(records, judgement), *flat, *_tasks(records, judgement)], 1 if flat else 2
    )


# ---- the share of seeds that finish, against the peak LR


def draw_survival(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """The arms of which a run diverges in the panels that a claim speaks of."""
    study, table = records.study, records.table
    every = [part for criterion in judgement.criteria_at(records.scale) for part in all_parts(criterion.observe)]
    spoken_of = {arm for metric in every for arm in arms_of(metric)}
    shown: dict[str, list[str]] = {}
    for arm in study.arms_at(records.scale):
        if _diverges(arm, table):
            shown.setdefault(study.arms[arm].panel, []).append(arm)
    return grid([_survival(title, arms, every, table) for title, arms in shown.items() if spoken_of & set(arms)])


def _survival(title: str, arms: list[str], every: list[Observed], table: TrialArrays) -> Panel:
    read: dict[str, float] = {}
    for metric in every:
        if getattr(metric, "arm", None) in arms:
            with suppress(NotEstimableError):
                read |= read_at(metric, table)
    first = min(float(table.grid(arm, LR)[table.diverged(arm, LR).any(axis=1)].min()) for arm in arms)
    values = np.concatenate([table.grid(arm, LR) for arm in arms])
    # Where all finish there is little to see: two octaves of that do.
    least = max(values.min(), min([first / 4, *(at / 1.3 for at in read.values())]))
    x = Scale("peak learning rate", 2, least / 1.15, float(values.max()) * 1.15)
    panel = Panel(x, Scale("share of seeds that finish", low=-0.04, high=1.04), title, caption=FINISH)
    for arm in arms:
        finished = (~table.diverged(arm, LR)).sum(axis=1)
        shares = [binomial(int(count), table.seeds) for count in finished]
        ends = {"low": [share.low for share in shares], "high": [share.high for share in shares]}
        label, look = table.study.arms[arm].label, looks(table.study)[arm]
        panel.add("curve", label, look, x=table.grid(arm, LR), y=finished / table.seeds, **ends)
    for line, (label, at) in zip(LINES[1:], read.items(), strict=False):
        panel.add("rule", label, Look(INK, "", line), x=at)
    return panel


def _diverges(arm: str, table: TrialArrays) -> bool:
    if len(table.study.factors_at(table.scale, arm).get(LR, ())) < 2:
        return False
    try:
        return bool(table.diverged(arm, LR).any())
    except NotEstimableError:
        return False


@singledispatch
def read_at(metric: Observed, table: TrialArrays) -> dict[str, float]:
    """The LRs at which a claim reads the shares, by the kind of metric: name -> LR."""
    return {}


@read_at.register
def _at_tuned(metric: FailureRate, table: TrialArrays) -> dict[str, float]:
    at = float(table.grid(metric.tuned_for, metric.over)[tuned_index(metric.tuned_for, metric.over, table)])
    return {f"LR tuned for {table.study.arms[metric.tuned_for].label}": at}


@read_at.register(KINDS["divergence_time"])
@read_at.register(KINDS["cure_rate"])
def _at_edge(metric: Any, table: TrialArrays) -> dict[str, float]:
    if (declared := getattr(metric, "value", None)) is not None:
        return {f"LR of {declared:.3g}": declared}
    edge = float(table.grid(metric.arm, metric.over)[divergence_edge(metric.arm, metric.over, table)])
    down = getattr(metric, "octaves_down", 0)
    lower = {f"the same, {2**down:g}x lower": edge * 2.0**-down} if down else {}
    return {f"most of {table.study.arms[metric.arm].label} diverge": edge, **lower}


# ---- sizes of activations, against the width


def _activations(records: TrialSet, judgement: Judgement) -> list[Panel]:
    """Each layer group's activations at the first and the last step that count."""
    slopes = known(records, judgement, mean_activation_slope)[:1]
    return [_activation(metric, step, records.table) for _, metric, _ in slopes for step in (0, metric.steps - 1)]


def _activation(metric: Any, step: int, table: TrialArrays) -> Panel:
    log_widths, sizes_WSTA = log_sizes(metric.points, metric.steps, metric.end, metric.at, table)
    step = min(step, sizes_WSTA.shape[2] - 1)
    usable_A = np.asarray(np.isfinite(sizes_WSTA[:, :, step]).all(axis=(0, 1)))
    names = _tap_names(present(metric.points, table)[0][1], len(usable_A), table)
    before = metric.steps - 1 - step
    when = f"Step {step + 1}" if not metric.end else f"{before} probes before the last" if before else "Last probe"
    title = f"{when}: slope in width"
    panel = Panel(Scale("width", 2), Scale("mean |activation|", 10), title, height=2.6, caption=ACTIVATIONS)
    for tap, colour in enumerate(shades(len(usable_A))):
        if usable_A[tap]:
            values = sizes_WSTA[:, :, step, tap].T
            slope = float(np.polyfit(log_widths, values.mean(axis=0), 1)[0])
            label = f"{names[tap]}: {slope:+.2f}".replace("-", "−")
            look = Look(colour, MARKERS[tap], LINES[tap % len(LINES)])
            panel.add("curve", label, look, x=np.exp(log_widths), **seed_band(np.exp(values), table, log=True))
    return panel


def _tap_names(arm: str, count: int, table: TrialArrays) -> list[str]:
    """Groups of layers in the order in which a model shows their activations: the last are its logits."""
    model = table.study.configuration(table.scale, arm, {LR: 1.0}).workload.model
    first = {"gpt": ["embedding"], "cnn": ["stem"]}.get(model, [])
    inner, between = "hidden" if model == "mlp" else "block", count - len(first) - 1
    return [*first, *(f"{inner} {index + 1}" if between > 1 else inner for index in range(between)), "logits"]


# ---- gradients that FP16 flushes to zero, against the loss scale


def _flushed(records: TrialSet, judgement: Judgement) -> list[Panel]:
    """The share at every loss scale, with the one that a claim reads."""
    table, observations = records.table, known(records, judgement, underflow_share)
    panel = Panel(Scale("loss scale", 2), Scale("flushed to zero in FP16", least=0.0, percent=True), caption=FLUSHED)
    for criterion, metric, observation in observations:
        if criterion.observe is metric and not panel.marks:
            panel.regions(criterion, "y", lambda value: 100 * value)
        gradients = {"activation": "activations", "weight": "weights"}.get(metric.of, metric.of)
        label = f"{table.study.arms[metric.arm].label}, gradients of {gradients}"
        if label not in panel.listed:
            best = tuned_index(metric.arm, metric.over, table)
            column = table.values(metric.arm, metric.over, f"curve_probe_layer_underflow_{metric.of}")[best]
            by_seed = np.array([np.mean([np.asarray(step, dtype=np.float64) for step in curve], axis=0) for curve in column])
            ends = {end: np.clip(100 * value, 0, 100) for end, value in seed_band(by_seed, table).items()}
            panel.add("curve", label, looks(table.study)[metric.arm], x=LOSS_SCALES, **ends)
            at = float(LOSS_SCALES[metric.scale_exponent])
            panel.add("ring", x=at, y=100 * observation.estimate)
            panel.note(
                in_prose(observation.estimate, observation.low, observation.high, "share"),
                at * 1.4,
                100 * observation.estimate,
                "_ink",
                kind="finding",
            )
    return [panel] if observations else []


# ---- whether flat runs generalize better


def _sharpness(records: TrialSet, judgement: Judgement) -> list[Panel]:
    """A panel a criterion: every setting's mean over seeds, its runs pale behind it."""
    return [
        _flatness(
            metric, "rank correlation " + in_prose(observation.estimate, observation.low, observation.high, ""), records.table
        )
        for _, metric, observation in known(records, judgement, sharpness_correlation)
    ]


def _flatness(metric: Any, title: str, table: TrialArrays) -> Panel:
    study = table.study
    unit = study.loss_unit_of(table.scale, metric.arms)
    where = "at the end of training" if metric.level is None else f"at a training loss of {metric.level:g} {unit}".rstrip()
    errors = metric.of == "evaluation_accuracy"
    held_out = (
        "validation error there (share)" if errors else f"{study.loss_label('validation', table.scale, metric.arms)} there"
    )
    x = Scale(f"largest eigenvalue of the Hessian {where}", 10)
    panel = Panel(x, Scale(held_out, least=0.0), title, caption=SHARPNESS)
    log_sharpness, losses = settings_at(metric.arms, metric.over, metric.level, metric.ends, metric.of, table)
    usable, start = np.isfinite(log_sharpness) & np.isfinite(losses), 0
    for arm in metric.arms:
        rows = slice(start, start + len(table.grid(arm, metric.over)))
        start, look = rows.stop, looks(study)[arm]
        own, x_SP, y_SP = usable[rows], log_sharpness[rows], losses[rows]
        panel.add("run", f"_{arm}", look, x=np.exp(x_SP[own]), y=y_SP[own])
        settings = [(np.exp(x_SP[at][own[at]].mean()), y_SP[at][own[at]].mean()) for at in np.flatnonzero(own.any(axis=1))]
        middle_x, middle_y = np.array(settings).reshape(-1, 2).T
        panel.add("estimate", study.arms[arm].label, look, x=middle_x, y=middle_y)
    return panel


# ---- what remedies against forgetting cost


BY_MEASURE: dict[Measure, Any] = {"accuracy": task_accuracy, "loss": task_loss}


def _tasks(records: TrialSet, judgement: Judgement) -> list[Panel]:
    """A panel for each panel of the study of which a claim reads an arm."""
    arms, panels = records.study.arms, []
    for measure, kind in BY_MEASURE.items():
        read = {metric.arm for _, metric in metrics(judgement, records.scale, kind)}
        titles = dict.fromkeys(arms[arm].panel for arm in records.study.arms_at(records.scale) if arm in read)
        panels += [_remedies(title, records.table, measure, read) for title in titles]
    return [panel for panel in panels if panel.marks]


def _remedies(title: str, table: TrialArrays, measure: Measure, read: Collection[str]) -> Panel:
    """All arms of a panel, so that remedies can be compared, and small those that a claim does not read: through the strengths
    of each a line, which begins at the first arm, where there is none; pale, that arm's way while the last task was trained.
    What is little, as errors of good remedies are, is told apart on logarithms."""
    study, shown = table.study, {"accuracy": "error", "loss": "loss"}[measure]
    x, y = Scale(f"{shown} on the new task", 10, ticks=5), Scale(f"{shown} on old tasks", 10, ticks=5)
    panel, start = Panel(x, y, title, caption=TASKS), (np.empty(0), np.empty(0))
    for arm in study.arms_at(table.scale):
        if study.arms[arm].panel != title:
            continue
        factors = study.factors_at(table.scale, arm)
        over = next((name for name, values in factors.items() if len(values) > 1), LR)
        ends: list[tuple[float, Observation, Observation]] = []
        for at in map(float, table.grid(arm, over)):
            new, old = (number(BY_MEASURE[measure](arm=arm, over=over, at=at, tasks=tasks), table) for tasks in ("new", "old"))
            ends += [(at, new, old)] if new is not None and old is not None else []
        if not ends:
            continue
        look, label = looks(study)[arm], study.arms[arm].label
        estimates = [(new.estimate, old.estimate, old.low, old.high) for _, new, old in ends]
        news, olds, lows, highs = _lost(np.array(estimates).T, measure)
        if not panel.marks:
            start = news, olds
            on_old, on_new = (_lost(curves.mean(axis=0), measure) for curves in last_task(arm, over, 0, table, measure))
            panel.add("faint", "_soft", x=on_new, y=on_old)
        if len(ends) > 1:
            label += f" {', '.join(spelled(at) for at, _, _ in ends)}"
            panel.add("line" if arm in read else "faint", label, look, x=np.append(start[0], news), y=np.append(start[1], olds))
        kind_of_mark = "estimate" if arm in read else "beside"
        panel.add(kind_of_mark, label, look, x=news, y=olds, low=lows, high=highs)
    points = np.concatenate([[], *(mark.numbers["x"] for mark in panel.of("estimate", "beside"))])
    if not len(points):
        return panel
    low, high = x.around(points)  # the way there comes from far above, and what remedies cost is little
    panel.x = replace(x, low=low, high=high)
    return panel


def _lost(values: Numbers, measure: Measure) -> Numbers:
    return 1 - values if measure == "accuracy" else values


FIGURE = ClaimFigure("values", draw)
SURVIVAL = ClaimFigure("survival", draw_survival, missing=NONE_DIVERGED)
