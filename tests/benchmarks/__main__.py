"""`make bench`: measures, gates by agreement, and writes tests/benchmarks/results. Takes about forty minutes on two cores."""

import argparse
import sys
import time

from folklore.harness.train.machine.description import environment, local_device
from tests.benchmarks import engine, harness, results, roofline, scale, stock, stores
from tests.benchmarks.works import WORKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("all", "engine", "roofline", "harness", "scale", "stores"), default="all")
    parser.add_argument("--repeats", type=int, default=5, help="readings of each contender")
    parser.add_argument("--only", default="", help="only what has this in its name; all else stays as it is")
    chosen = parser.parse_args()
    disagreeing = _engine(chosen.repeats, chosen.only) if chosen.part in ("all", "engine") else []
    if chosen.part in ("all", "roofline") and not chosen.only:
        print("written:", results.save("roofline", _roofline()))
    if chosen.part in ("all", "scale") and not chosen.only:
        print("written:", results.save("scale", scale.measure(say=_say)))
    if chosen.part in ("all", "stores") and not chosen.only:
        print("written:", results.save("stores", stores.measure(_say)))
    if chosen.part in ("all", "harness"):
        print("written:", results.save("harness", harness.costs(_say, chosen.only)))
    for error in disagreeing:
        print(error)
    sys.exit(1 if disagreeing else 0)


def _engine(repeats: int, only: str) -> list[results.DisagreementError]:
    """Each work is written when it is done: a bench that is stopped keeps what it measured. Returns the works that are not."""
    device, disagreeing = local_device().kind, []
    for work in WORKS[device]:
        if only in work.name:
            started = time.perf_counter()
            measurements = engine.compare(work, device, repeats, lambda text, work=work: _say(f"{work.name}: {text}"))
            try:
                _keep(results.comparisons(work, measurements))
                results.save_readings(work, measurements)
            except results.DisagreementError as error:
                disagreeing.append(error)
            _say(f"{work.name}: {time.perf_counter() - started:.0f} s")
    for work in stock.WORKS[device]:
        if only in work.name:
            _keep([stock.compare(work, repeats)])
    return disagreeing


def _keep(rows: list[dict[str, object]]) -> None:
    for row in rows:
        _show(row)
    print("written:", results.save_rows(rows))


def _roofline() -> dict[str, object]:
    """How far the packed steps are from the machine's limits; one worker, widths as the engine chooses them."""
    device, shares = local_device().kind, dict[str, object]()
    for work in WORKS[device]:
        lanes, program, rate = engine.packed_rate(work, device)
        shares[work.name] = {"lanes": lanes, "program": program.name, **roofline.share(work, device, rate)}
        _say(f"{work.name}: {shares[work.name]}")
    return {"machine": environment(), "works": shares}


def _show(row: dict[str, object]) -> None:
    makespan = "" if row["makespan_ratio"] is None else f", makespan {row['makespan_ratio']}x"
    print(
        f"{row['work']}: {row['lanes']} lanes against {row['against']}: {row['ratio']}x [{row['low']}, {row['high']}]{makespan}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
