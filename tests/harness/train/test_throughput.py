"""The search for a width on throughput curves that are known."""

import pytest

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.train.programs import EAGER
from folklore.harness.train.throughput import GAIN, LanesSearch, Timing, measure
from folklore.harness.train.workloads.data.text import Text


def walked(search: LanesSearch, lane_seconds: dict[int, float], free_bytes: int | None = None, a_lane: int = 0) -> list[int]:
    """The widths it asks for, on a curve."""
    asked = []
    while search.following is not None:
        width = search.following
        asked.append(width)
        search.tell(Timing(width, "eager", width * lane_seconds[width], 100 + a_lane * width), free_bytes)
    return asked


def curve(overhead: float, work: float, cache: int = 10**9) -> dict[int, float]:
    """A step costs `overhead`, a lane `work`, and beyond `cache` lanes twice that."""
    return {2**e: overhead / 2**e + work * (1 if 2**e <= cache else 2) for e in range(11)}


def test_it_climbs_to_where_the_overhead_is_shared() -> None:
    search = LanesSearch(8, 1024)
    walked(search, curve(overhead=1.0, work=0.1))
    assert search.chosen.lane_seconds <= GAIN**2 * min(curve(1.0, 0.1).values())
    assert search.chosen.lanes in (128, 256), "the knee, not the end"


def test_it_stops_where_a_cache_ends() -> None:
    search = LanesSearch(8, 1024)
    assert 64 not in walked(search, curve(overhead=1.0, work=0.1, cache=16))
    assert search.chosen.lanes == 16


def test_it_walks_down_where_packing_does_not_pay() -> None:
    search = LanesSearch(16, 1024)
    assert walked(search, curve(overhead=0.0, work=1.0)) == [16, 32, 8, 4, 2, 1]
    assert search.chosen.lanes == 1


def test_it_asks_for_no_more_than_there_is() -> None:
    assert max(walked(LanesSearch(16, 5), dict.fromkeys(range(1, 1025), 1.0))) == 5
    search = LanesSearch(16, 1024)
    asked = walked(search, curve(overhead=100.0, work=0.001), free_bytes=100 + 70 * 10, a_lane=10)
    assert max(asked) == 64, "memory of 128 lanes is known from 16 and 32"


@pytest.mark.parametrize("steps", [2, 5000])
def test_what_is_measured_is_no_training(text: Text, steps: int) -> None:
    """Also of a training that is shorter than the measurement."""
    training = Training(steps=steps, batch_size=4, warmup_fraction=0.0)
    workload = Workload(width=8, depth=1, heads=2, context=8)
    configuration = Configuration(workload=workload, training=training, measurement=Measurement(probes=2, evaluations=1))
    timing = measure(configuration, text, "cpu", 3, EAGER)
    assert timing.lanes == 3
    assert 0 < timing.step_seconds < 1
    assert timing.pack_bytes is None
