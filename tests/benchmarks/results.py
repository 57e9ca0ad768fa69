"""The files that a bench writes: a list of comparisons for each device, and all its readings beside it."""

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from folklore.harness.train.machine.description import environment, local_device
from tests.benchmarks.engine import PACKED, Contender, Found
from tests.benchmarks.works import WORKS, Work

FOLDER = Path(__file__).parent / "results"


class DisagreementError(ValueError):
    """Lanes are not their solo runs: no ratio is worth anything."""


def comparisons(work: Work, readings: Found) -> list[dict[str, Any]]:
    """Ratios of trials' steps per second, packed over each alternative: the median, the lowest and the highest of the repeats,
    paired. makespan_ratio: the alternative's makespan over the packed one's, medians, with preparation. Raises
    DisagreementError."""
    if not readings.agreement <= work.tolerance_nats:
        raise DisagreementError(
            f"{work.name}: lanes differ from their solo runs by {readings.agreement:.2g} nats, above {work.tolerance_nats:g}:"
            " no ratio is worth anything"
        )
    packed, alone = readings.contenders[PACKED], _alone(readings)
    beside = [contender for name, contender in readings.contenders.items() if name.startswith(f"{PACKED} in")]
    processes = [
        contender for name, contender in readings.contenders.items() if name.endswith("processes") and contender not in beside
    ]
    pairs = [("eager solo", packed, [readings.contenders["eager"]]), ("best solo", packed, alone)]
    if beside and processes:
        pairs.append(("processes", beside[0], processes))
    return [_comparison(work, readings, against, ours, theirs) for against, ours, theirs in pairs]


def _alone(readings: Found) -> list[Contender]:
    return [contender for name, contender in readings.contenders.items() if name != PACKED and not name.endswith("processes")]


def _comparison(work: Work, readings: Found, against: str, ours: Contender, theirs: Sequence[Contender]) -> dict[str, Any]:
    best = max(theirs, key=lambda contender: statistics.median(contender.rates))
    ratios = sorted(a / b for a, b in zip(ours.rates, best.rates, strict=True))
    makespans = [statistics.median(contender.makespans) for contender in theirs if contender.makespans]
    makespan = min(makespans) / statistics.median(ours.makespans) if makespans and ours.makespans else None
    return entry(work.name, readings.lanes, f"{against} ({best.name})", ratios, makespan, readings.agreement)


def entry(
    work: str, lanes: int, against: str, ratios: Sequence[float], makespan_ratio: float | None, agreement: float | None
) -> dict[str, Any]:
    ordered = sorted(ratios)
    known = environment()
    return {
        "work": work,
        "device": local_device().name,
        "lanes": lanes,
        "against": against,
        "ratio": round(statistics.median(ordered), 3),
        "low": round(ordered[0], 3),
        "high": round(ordered[-1], 3),
        "makespan_ratio": None if makespan_ratio is None else round(makespan_ratio, 3),
        "agreement": agreement,
        "versions": {name: known[name] for name in ("python", "torch", "ray", "git_commit")},
    }


def save_rows(rows: Sequence[dict[str, Any]]) -> Path:
    """Comparisons take the place of earlier ones of the same work against the same; the others stay."""
    path = _path("")
    renewed = {_subject(row) for row in rows}
    kept = [row for row in json.loads(path.read_text()) if _subject(row) not in renewed] if path.exists() else []
    return _write(path, sorted([*kept, *rows], key=_order))


def save_readings(work: Work, readings: Found) -> Path:
    """All readings of one work, beside those of the others."""
    path = _path("raw")
    known = json.loads(path.read_text()) if path.exists() else {}
    return _write(path, {**known, work.name: {"machine": environment(), **asdict(readings)}})


def save(kind: str, readings: dict[str, Any]) -> Path:
    """kind: 'harness' for what the harness costs, 'roofline' for how far packs are from the machine's limits. What was not
    measured now stays as it was."""
    path = _path(kind)
    known = json.loads(path.read_text()) if path.exists() else {}
    return _write(path, {**known, **readings})


def _subject(row: dict[str, Any]) -> tuple[str, str]:
    return row["work"], row["against"].partition(" (")[0]


def _order(row: dict[str, Any]) -> int:
    """As the works are declared; those that are no more come last."""
    names = [work.name for works in WORKS.values() for work in works]
    return names.index(row["work"]) if row["work"] in names else len(names)


def _path(kind: str) -> Path:
    device = re.sub(r"[^A-Za-z0-9]+", "-", f"{local_device().count}x {local_device().name}").strip("-")
    return FOLDER / (f"{device}-{kind}.json" if kind else f"{device}.json")


def _write(path: Path, content: Any) -> Path:
    FOLDER.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
