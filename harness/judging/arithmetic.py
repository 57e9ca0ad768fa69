"""Where the numbers of exact claims come from: plots and tables, as plain values that are remembered beside verdicts.

Working them out takes seconds to a minute, and pages are written more often than numbers change.
"""

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from folklore.harness.observables import Exact
from folklore.harness.spec import Judgement
from folklore.harness.spec.parts import all_parts

# Of a curve that has more, so many points are kept, evenly on its axis; each number to so many digits.
MOST_POINTS, DIGITS = 160, 5
# "plots" and "tables", each a list of the dataclasses of observables/estimating/exact/base.py as dictionaries.
Arithmetic = dict[str, list[dict[str, Any]]]


def arithmetic(judgement: Judgement, scale: str) -> Arithmetic:
    """What shows how the exact numbers of a judgement come about; empty if it has none, or nothing shows them."""
    from folklore.harness.observables.estimating.exact import CHECKS  # computes with torch, which takes seconds to import

    seen = [*(each.observe for each in judgement.criteria_at(scale)), *(each.observe for each in judgement.reported)]
    exact = [part for each in seen for part in (each, *all_parts(each)) if isinstance(part, Exact)]
    if not exact:
        return {}
    checks = [CHECKS[each.check] for each in exact]
    plots = list(dict.fromkeys(each.plot for each in checks if each.plot is not None))
    tables = list(dict.fromkeys(each.table for each in checks if each.table is not None))
    drawn = [asdict(each()) for each in plots]
    for plot in drawn:
        plot["curves"] = [_thinned(curve, plot["log_x"]) for curve in plot["curves"]]
    found = {"plots": drawn, "tables": [asdict(each()) for each in tables]}
    # Lists, as they are read back, and no tuples.
    return dict(json.loads(json.dumps(found))) if drawn or tables else {}


def _thinned(curve: dict[str, Any], log_x: bool) -> dict[str, Any]:
    x, y = curve["x"], curve["y"]
    if len(x) > MOST_POINTS:
        axis = np.log(x) if log_x else x
        chosen = np.unique(np.searchsorted(axis, np.linspace(axis[0], axis[-1], MOST_POINTS)).clip(max=len(x) - 1))
        x, y = x[chosen], y[chosen]
    rounded = {name: [float(f"{value:.{DIGITS}g}") for value in values] for name, values in (("x", x), ("y", y))}
    return {**curve, **rounded}
