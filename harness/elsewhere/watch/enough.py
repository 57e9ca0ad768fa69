"""The amounts that each rule has to see before it can fire, and the rules that have not seen them."""

from collections.abc import Mapping

from . import readings, rules
from .alarms import WINDOWS
from .seen import UPDATE_RATIO, WatchedRun

LOSSES, NORMS, MEASURED, LOOKS, MATRICES = "losses", "gradient norms", "gradient measurements", "update ratios", "matrices"
# One of these will do.
ANY, ACTIVATION, SCALE = "loss", f"activation on {rules.SILENT_EXAMPLES:,} examples", "loss scale, for want of scaler="

# Rule -> how many of what.
NEEDS: dict[str, dict[str, int]] = {
    "nonfinite": {ANY: 1},
    "loss_ratio": {LOSSES: WINDOWS["loss_ratio"] + 1},
    "deviations": {LOSSES: WINDOWS["deviations"] + 1, NORMS: WINDOWS["deviations"] + 1},
    "spike": {LOSSES: WINDOWS["spike"] + 1},
    "norm_ratio": {NORMS: WINDOWS["norm_ratio"] + 1},
    "update_large": {LOOKS: rules.LOOKS},
    "update_small": {LOOKS: rules.LOOKS, LOSSES: rules.FIRST_LOSSES},
    "layers_differ": {LOOKS: rules.LOOKS, MATRICES: 2},
    "vanishing": {MEASURED: rules.LOOKS, MATRICES: 2},
    "gradient_zero": {MEASURED: rules.LOOKS, LOSSES: rules.FIRST_LOSSES},
    "silent_units": {ACTIVATION: 1},
    "loss_scale": {SCALE: 1},
}


def lacking(run: WatchedRun) -> dict[str, str]:
    """Rule -> what it has seen too little of: '40 of 51 losses'. A rule that has fired lacks nothing."""
    amounts = _amounts(run)

    def missing(what: str, least: int) -> str:
        return f"no {what}" if least == 1 else f"{amounts[what]:,} of {least:,} {what}"

    lists = {
        rule: ", ".join(missing(what, least) for what, least in needs.items() if amounts[what] < least)
        for rule, needs in NEEDS.items()
    }
    return {rule: text for rule, text in lists.items() if text and rule not in run.fired}


def _amounts(run: WatchedRun) -> Mapping[str, int]:
    counts = {name: span.count for name, span in run.spans.items()}
    return {
        LOSSES: counts.get(readings.LOSS, 0),
        NORMS: counts.get(readings.NORM, 0),
        MEASURED: run.gradients,
        LOOKS: counts.get(UPDATE_RATIO, 0),
        MATRICES: int(run.layers.is_matrix.sum()),
        ANY: run.losses,
        ACTIVATION: counts.get(readings.SILENT, 0),
        SCALE: counts.get(readings.SCALE, 0),
    }
