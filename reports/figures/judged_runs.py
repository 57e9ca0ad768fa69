"""Runs trained elsewhere: each run of two arms, the effect on each task, a law through means, the best of k tries."""

import numpy as np

from ...harness.elsewhere.comparing import TaskFinding
from ...harness.elsewhere.laws import hyperbola
from ...harness.elsewhere.run_verdict import RunVerdict
from ...harness.judge.statistics.two_samples import NoSpreadError, against
from .drawing import WIDE, WIDTH, Drawing, Panel, across
from .palette import INK, SOFT, Look, numbered
from .scales import Scale, rows

# Inches of a row, and for names on its left; letters of a name.
ROW, LONGEST = 0.34, 26
MOST_LAWS, ACROSS, MOST_PARTS = 12, 3, 40


def drawing(judged: RunVerdict, with_runs: bool = True) -> Drawing | None:
    """None if there is nothing to see. with_runs: with single runs beside the effect; answers to items are never shown."""
    if judged.tuned:
        return Drawing(((_tries(judged),),))
    if judged.claim.law:
        panels = [(_law(judged, part),) for part in judged.findings[:MOST_LAWS]]
        return Drawing(tuple(panels), ACROSS, WIDE if len(panels) > 1 else WIDTH)
    shown = [(_effects(judged),)] if any(part.effect for part in judged.findings) else []
    if len(judged.findings) == 1 and with_runs and judged.findings[0].samples:
        shown.insert(0, (_runs(judged, judged.findings[0]),))
    return Drawing(tuple(shown), 1) if shown else None


def _runs(judged: RunVerdict, part: TaskFinding) -> Panel:
    """Each run as a dot, and the mean of each arm with its 95% interval."""
    arms = [judged.claim.arm, *([judged.claim.other] if isinstance(judged.claim.other, str) else [])]
    panel = Panel(Scale(_metric(judged)), rows([_short(name) for name in arms]), height=0.5 + ROW * len(arms))
    for row, values in enumerate(part.samples):
        look = numbered(row)
        panel.add("run", f"_arm {row}", look, x=values, y=-row)
        try:
            mean = against(values, 0.0)
            panel.add("estimate", f"_arm {row}", look, **across(mean.estimate, mean.low, mean.high), y=-row)
        except NoSpreadError:
            pass
    if isinstance(judged.claim.other, float):
        panel.add("rule", "_null", x=judged.claim.other)
    return panel


def _effects(judged: RunVerdict) -> Panel:
    """The difference on each task, and over all of them if it has a number, between what was claimed and what refutes."""
    times = 100.0 if judged.unit == "relative" else 1.0
    parts = judged.findings[:MOST_PARTS]
    lines = [(part.name or "difference", part.estimate, part.effect.low if part.effect else np.nan,
              part.effect.high if part.effect else np.nan) for part in parts]  # fmt: skip
    if len(parts) > 1 and judged.estimate is not None and judged.low is not None and judged.high is not None:
        lines.append(("average of these", judged.estimate, judged.low, judged.high))
    other = f"difference, % of {_short(str(judged.claim.other))}"
    unit = other if judged.unit == "relative" else f"difference in {_metric(judged)}"
    panel = Panel(Scale(unit), rows([_short(name) for name, *_ in lines]), height=0.5 + ROW * len(lines))
    question = judged.claim.question
    for rule, name in ((question.claimed, "_claimed"), (question.refuted, "_refuted")):
        for low, high in rule.pieces:
            panel.add("region", name, left=times * low, right=times * high)
    panel.add("rule", "_null", x=0.0)
    for row, (_, estimate, low, high) in enumerate(lines):
        look = Look(INK, "D" if 1 < row == len(parts) else "o", "-")
        panel.add("estimate", f"_row {row}", look, **across(times * estimate, times * low, times * high), y=-row)
    return panel


def _law(judged: RunVerdict, part: TaskFinding) -> Panel:
    sizes, means, parameters = part.samples
    panel = Panel(Scale(judged.claim.factor, 10), Scale(judged.claim.metric, 10), title=part.name)
    x = np.geomspace(sizes.min(), sizes.max(), 80)
    panel.add("line", "_hyperbola", Look(SOFT, "", "-"), x=x, y=hyperbola(x, *parameters))
    panel.add("estimate", "_means", Look(INK, "o", "-"), x=sizes, y=means)
    return panel


def _tries(judged: RunVerdict) -> Panel:
    """The median of the best of k tries of both arms, with their bands."""
    panel = Panel(Scale("tries"), Scale(f"best {judged.claim.metric}"))
    for row, (name, band) in enumerate(zip(judged.claim.arms, judged.tuned, strict=True)):
        ks = np.arange(1, len(band.middle) + 1)
        fine = np.where(np.isfinite(band.low) & np.isfinite(band.high), 1.0, np.nan)
        panel.add("line", _short(name), numbered(row), x=ks, y=band.middle, low=fine * band.low, high=fine * band.high)
    return panel


def _metric(judged: RunVerdict) -> str:
    claim = judged.claim
    if claim.target is not None:
        return f"steps to {claim.metric} {claim.target:g}"
    return claim.metric if claim.step is None else f"{claim.metric} at {claim.step:g}"


def _short(name: str) -> str:
    """Dollar signs would be read as formulas."""
    plain = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return plain.replace("$", r"\$")
