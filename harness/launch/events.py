"""Events of a run for machines: with --json one object a line on standard output, everything for people on standard error.

Every event has `event`, its kind, and `time`, in seconds since 1970. EVENTS documents the other fields and their units; others
cannot be emitted. None stands for what is not known.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TextIO

# kind -> field -> what it is, with its unit
EVENTS: Mapping[str, Mapping[str, str]] = {
    "planned": {
        "study": "name",
        "version": "of the study",
        "study_hash": "of its declaration",
        "scale": "name",
        "device": "number and name of what it trains on",
        "seeds": "number",
        "trials": "all of the plan",
        "trials_left": "not in the ledger yet",
        "computed_jobs": "of the plan, which train nothing",
        "computed_jobs_left": "whose result is not in the ledger yet",
        "packs_left": "about this many",
        "workers": "packs side by side",
        "seconds": "expected time of training, s",
        "departures": "of a variation: what differs from the declared study, in words; else an empty list",
    },
    "started": {"trials": "known to be trained", "packs": "known to be trained"},
    "progress": {
        "trials": "known to be trained; a search adds to them",
        "trials_done": "counting the share done of packs in flight",
        "packs": "known to be trained",
        "packs_done": "finished",
        "packs_given_up": "after their last failure",
        "trials_a_minute": "1/min, since the first report",
        "seconds_left": "s, at the rate so far",
        "diverged": "trials, as far as known",
        "best_loss": "lowest recent training loss of a finished pack, in the loss's unit; of one study alone",
        "best_arm": "the arm it belongs to",
        "gpu_memory_bytes": "peak of any pack on a GPU, bytes",
    },
    "pack_finished": {"pack": "key", "trials": "in it", "diverged": "trials of it"},
    "pack_failed": {"pack": "key", "trials": "in it", "error": "one line"},
    "message": {"text": "what a worker or the run would tell a person, one line"},
    "verdict": {
        "study": "name",
        "claim": "id",
        "scale": "name",
        "device": "cpu or cuda",
        "verdict": "supported, partly, refuted, open, out of regime, invalid or withdrawn",
        "reading": "why, in a word or two; empty if the verdict says it",
        "estimate": "of the deciding criterion, in `unit`",
        "low": "lower end of its 95% interval, in `unit`",
        "high": "upper end, in `unit`",
        "unit": "of the estimate; 'relative' is a share, '' has none",
        "seeds": "behind the estimate",
        "trials": "behind the verdicts of this scale",
        "reason": "the rule that applied, with its numbers",
        "answer": "the sentence a reader takes away",
        "advice": "what to do, as the study declares it for this outcome",
        "p": "of the verdict, against the claim's being otherwise",
        "direction": "where the effect surely lies: claimed, opposite, none; empty if that is not sure",
        "panels": "workload -> verdict on it",
        "cautions": "what calibration says against its estimators in worlds like this one",
        "surprise": "how far it lies from what was expected, as a multiple of that; none if nothing was",
        "after_the_fact": "whether criteria were written after these trials had been seen",
        "declared_otherwise": "whether it is judged by other than was declared before these trials; the first caution says how",
        "below_size": "what its trials lack of the size that the claim's words ask for; empty: nothing",
        "new": "why it is no repetition of an earlier version's verdict; empty: it is one",
        "rule_change": "what was changed of its rule when the verdict by the rule before was known; empty: nothing",
        "so_far": "of a run that is not at its end, the seeds that are judged; empty: all are, and it is the declared verdict",
        "withdrawn": "of a withdrawn verdict: what it was (verdict, reading), date and reason; else none",
        "variation": "whether it is of a variation, and so none of the declared study",
    },
    "page": {"path": "file"},
    "failed": {"error": "one line: why the run could not start or go on"},
    "finished": {
        "exit_code": "0 fine, 1 trials given up, 130 interrupted (the process itself says 143 after SIGTERM)",
        "trained": "trials",
        "given_up": "trials",
        "interrupted": "whether something is left to train",
        "not_in_mlflow": "packs",
        "seconds": "since the start, s",
    },
}


class Events(Protocol):
    def emit(self, event: str, **fields: Any) -> None: ...


class Silent:
    """Emits nothing, for people."""

    def emit(self, event: str, **fields: Any) -> None:
        pass


class JsonLines:
    """Writes one JSON object a line, and each at once."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.time):
        self.stream, self.clock = stream, clock

    def emit(self, event: str, **fields: Any) -> None:
        assert fields.keys() == EVENTS[event].keys(), f"event {event}: {sorted(fields.keys() ^ EVENTS[event].keys())}"
        line = {"event": event, "time": round(self.clock(), 3), **{name: finite(value) for name, value in fields.items()}}
        self.stream.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        self.stream.flush()


def finite(value: Any) -> Any:
    """None for nan and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
