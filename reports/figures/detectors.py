"""Detectors of loss spikes: how much they find against how often they are wrong, over all limits."""

from typing import Any

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics.detectors import RULES, Detector
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from ...studies.metrics.spikes import detected_share, every_step, sound_scores, within
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import metrics, of_kind
from .palette import INK, Look, numbered
from .scales import Scale

# Alarms in a thousand sound steps: of the curves, and how many points they have.
LEAST, MOST, POINTS = 0.3, 300.0, 60


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each arm in which something is looked for, with all detectors that the claim names."""
    criteria = [metric for _, metric in metrics(judgement, records.scale, detected_share)]
    reported = of_kind((report.observe for report in judgement.reported), detected_share)
    rules = list(dict.fromkeys(rule for metric in (*reported, *criteria) for rule in (metric.rule, metric.but_not) if rule))
    looked_in = {metric.arm: metric for metric in criteria}
    return grid([panel for metric in looked_in.values() if (panel := _panel(metric, rules, records.table)) is not None])


def _panel(metric: Any, rules: list[Detector], table: TrialArrays) -> Panel | None:
    arm = table.study.arms[metric.arm]
    x = Scale("alarms in 1,000 sound steps", 10, LEAST / 1.2, MOST * 1.2)
    panel = Panel(x, Scale("share of runs found", low=-0.04, high=1.04), f"{arm.panel}: {arm.label}", caption=CAPTION)
    try:
        for name in rules:
            sound, highest = _scores(metric, name, table)
            rates = np.geomspace(LEAST, MOST, POINTS)
            limits = np.sort(sound)[::-1][(rates / 1000 * len(sound)).astype(int)]
            label, limit = RULES[name].label, RULES[name].limit
            panel.add("line", label, numbered(list(RULES).index(name)), x=rates, y=(highest > limits[:, None]).mean(axis=1))
            panel.add("estimate", label, x=max(LEAST, 1000 * (sound > limit).mean()), y=(highest > limit).mean())
    except NotEstimableError:
        return None
    panel.add("rule", "_read", Look(INK, "", ":"), x=metric.per_thousand)
    return panel


def _scores(metric: Any, rule: Detector, table: TrialArrays) -> tuple[Numbers, Numbers]:
    """The score of every sound step, and each run's highest where an alarm is right, over the seeds that both arms have."""
    table = table.of_arms((metric.arm, metric.sound))
    losses, norms, training = every_step(metric.arm, metric.over, table)
    right = np.where(within(metric.where, losses, training), RULES[rule].score(losses, norms), -np.inf)
    return sound_scores(metric.sound, metric.over, rule, table).ravel(), right.max(axis=1)


CAPTION = (
    "Runs that each detector finds against its false alarms, from strict to lax limits. Dots: the limits as published, at the"
    " left edge if they never gave an alarm in a sound run. Dotted: where the claim compares them."
)
FIGURE = ClaimFigure("detectors", draw)
