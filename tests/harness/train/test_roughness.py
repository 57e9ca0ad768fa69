import warnings

import numpy as np
import pytest

from folklore.harness.declare.curves import roughness
from folklore.harness.declare.curves.roughness import SPIKE_WINDOW, rises, spikes, squared_changes


def test_a_spike_stands_out_of_what_came_before() -> None:
    loss = 2.0 + 0.1 * np.random.default_rng(0).standard_normal(400)
    loss[200] += 1.0
    assert np.flatnonzero(spikes(loss)).tolist() == [200]


def test_noise_alone_has_hardly_any() -> None:
    """One Gaussian step in 10^9 would lie so far out; the deviation is estimated from 50 steps, which makes it one in some
    thousands."""
    noise = np.random.default_rng(1).standard_normal(20_000)
    assert spikes(noise).mean() < 1e-3


def test_neither_a_fall_nor_a_slow_rise_is_one() -> None:
    steps = np.arange(500)
    noise = 0.05 * np.random.default_rng(2).standard_normal(500)
    for trend in (5 * np.exp(-steps / 40), 0.002 * steps):
        assert not spikes(trend + noise).any()


def test_a_run_has_none_before_there_is_anything_to_compare_with_and_nan_once_it_is_not_finite() -> None:
    loss = np.ones(120)
    loss[3] = 100.0
    loss[100] = np.nan
    heights = spikes(loss)
    assert not heights[:SPIKE_WINDOW].any()
    assert np.isnan(heights[100:]).all()
    assert np.isfinite(heights[:100]).all()


def test_changes_are_from_step_to_step() -> None:
    assert squared_changes(np.array([3.0, 1.0, 1.0, 4.0])).tolist() == [0.0, 4.0, 0.0, 9.0]


def test_long_runs_are_looked_at_in_parts_that_join(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = 2.0 + 0.1 * np.random.default_rng(4).standard_t(2, 700)
    whole = spikes(loss)
    monkeypatch.setattr(roughness, "CHUNK", 97)
    assert whole.any()
    assert spikes(loss).tolist() == whole.tolist()


def test_an_infinite_loss_warns_nobody() -> None:
    loss = np.ones(200)
    loss[120:] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(spikes(loss)[120:]).all()
        assert not np.isfinite(squared_changes(loss)[120:]).any()


def test_rises_are_steps_above_the_last() -> None:
    assert rises(np.array([3.0, 1.0, 1.0, 4.0, 5.0, 4.0])).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    lost = rises(np.array([1.0, 2.0, np.inf, 1.0]))
    assert lost[:2].tolist() == [0.0, 1.0]
    assert np.isnan(lost[2:]).all()
