"""The curves of every trial, a file an arm, which a page loads when somebody asks for one."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...harness.declare import Study
from ...harness.plan.store.trial_schema import CURVE_PREFIX

Drawn = Mapping[str, tuple[str, str]]


def drawn(study: Study, scale: str, arm: str) -> Drawn:
    """Quantity drawn of an arm -> (curve, its steps)."""
    return {
        study.loss_label("training", scale, [arm]): ("train_loss", "step"),
        study.loss_label("validation", scale, [arm]): ("evaluation_loss", "evaluation_step"),
        "gradient norm": ("probe_gradient_norm", "probe_step"),
        "update-to-weight ratio": ("probe_update_ratio", "probe_step"),
    }


def files(name: str, trials: pd.DataFrame, study: Study) -> dict[str, tuple[str, str]]:
    """Arm -> (file name, its text): a script that hands over {"steps": [...], "trials": {digest: {quantity: [number of the
    steps, values]}}}, for a page that is opened from disk may load nothing else."""
    scripts = {}
    for index, (arm, rows) in enumerate(trials.groupby("arm", sort=True)):
        file = f"{name}-{index}.js"
        scripts[str(arm)] = (file, script(file, _content(rows, drawn(study, rows["scale"].iloc[0], str(arm)))))
    return scripts


def script(name: str, content: str) -> str:
    """The script that a page loads from the file of this name. content: JSON."""
    safe = content.replace("</", "<\\/")  # a text inside a script must not end it
    return f"folklore.give({json.dumps(name)}, {safe});\n"


def _content(rows: pd.DataFrame, wanted: Drawn) -> str:
    """Joined as text: a library's way through a million numbers took half of the time of a site."""
    known: dict[bytes, int] = {}
    shared: list[str] = []
    columns = {name: rows[CURVE_PREFIX + name].to_numpy() for pair in wanted.values() for name in pair}
    trials = [
        f"{json.dumps(digest)}:{{{','.join(_quantities(index, columns, known, shared, wanted))}}}"
        for index, digest in enumerate(rows["digest"])
    ]
    return f'{{"steps":[{",".join(shared)}],"trials":{{{",".join(trials)}}}}}'


def _quantities(
    index: int, columns: dict[str, Any], known: dict[bytes, int], shared: list[str], wanted: Drawn
) -> Iterator[str]:
    for quantity, (curve, at) in wanted.items():
        steps, values = columns[at][index], columns[curve][index]
        if steps is None or values is None or not len(steps):
            continue
        key = np.asarray(steps).tobytes()
        if key not in known:
            known[key] = len(shared)
            shared.append(_array(steps, "%d"))
        yield f"{json.dumps(quantity)}:[{known[key]},{_array(values, '%.4g')}]"


def _array(values: Any, spelling: str) -> str:
    numbers = np.asarray(values, dtype=np.float64)
    text = ",".join([spelling] * len(numbers)) % tuple(numbers.tolist())
    return f"[{re.sub('-?(nan|inf)', 'null', text) if 'n' in text else text}]"
