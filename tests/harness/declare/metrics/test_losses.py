"""Shares of the fall, losses at a given LR, mean gaps and fitted optima against closed forms and plain loops."""

import numpy as np
import pytest
from pydantic import ValidationError

from folklore.harness.declare.metrics import (
    BasinWidth,
    FinalLoss,
    Gap,
    LossAfter,
    LossAt,
    LossGap,
    MaxTrainable,
    MeanGap,
    Optimum,
    TunedLoss,
)
from folklore.harness.declare.metrics.losses import SPLITS, _halves
from folklore.harness.declare.parts import arms_of, relative_to_losses, with_other_arms
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.studies.metrics.lr_finder import finder_regret
from folklore.studies.metrics.mup_transfer import transfer_regret
from tests.calibration.planted_table import PlantedTable
from tests.calibration.trial_worlds import study

SEEDS = 6
HALF_OCTAVES = tuple(2.0 ** (exponent / 2) for exponent in range(-18, -5))
X = np.log2(HALF_OCTAVES)
NONE, WARM = TunedLoss(arm="none"), TunedLoss(arm="warm")


def planted(**columns: dict[str, np.ndarray]) -> PlantedTable:
    """A table of arms on half octaves, [G, S]; columns that are not given are as if every run ended well."""
    arms = list(columns["test_loss"])
    grids = dict.fromkeys(arms, HALF_OCTAVES)
    losses = columns["test_loss"]
    ended = {arm: np.full(losses[arm].shape, "finished") for arm in arms}
    start = {arm: np.full(losses[arm].shape, 5.0) for arm in arms}
    whole = {"validation_loss": losses, "initial_loss": start, "outcome": ended, **columns}
    return PlantedTable(study({arm: {} for arm in arms}, grids, SEEDS), whole)


def noisy_bowls(seed: int = 0, cliff: float = 9.0) -> PlantedTable:
    """Two arms with optima and floors of their own; runs above a cliff, each seed's, diverge."""
    generator = np.random.default_rng(seed)
    losses, outcomes = {}, {}
    for arm, optimum, floor in (("none", -6.2, 2.0), ("warm", -5.4, 1.9)):
        noise = 0.03 * generator.standard_normal((1, SEEDS)) + 0.01 * generator.standard_normal((len(X), SEEDS))
        diverged = X[:, None] > cliff + 0.4 * generator.standard_normal(SEEDS)
        losses[arm] = np.where(diverged, np.nan, floor + 0.1 * (X[:, None] - optimum) ** 2 + noise)
        outcomes[arm] = np.where(diverged, "diverged", "finished")
    start = {arm: 5.0 + 0.1 * generator.standard_normal((len(X), SEEDS)) for arm in losses}
    return planted(test_loss=losses, outcome=outcomes, initial_loss=start)


def means(table: PlantedTable, arm: str, weight: np.ndarray, column: str = "test_loss") -> np.ndarray:
    values = table.losses(arm, "peak_lr", column) if column != "initial_loss" else table.values(arm, "peak_lr", column)
    return np.array([np.average(row, weights=weight) for row in values])


# --- shares of the fall


def test_a_share_of_the_fall_by_a_loop() -> None:
    table = noisy_bowls()
    gaps = LossGap(left=NONE, right=WARM).estimate(table, table.resamples)
    for row in (0, 1, 57):
        weight = table.resamples[row]
        none, warm = (means(table, arm, weight).min() for arm in ("none", "warm"))
        start = np.mean([means(table, arm, weight, "initial_loss").mean() for arm in ("none", "warm")])
        assert gaps[row] == pytest.approx((none - warm) / (start - min(none, warm)))


def test_the_fall_can_end_at_another_arm() -> None:
    table = noisy_bowls()
    own, other = (observe(LossGap(left=NONE, right=NONE if both else WARM, best_of=("warm",)), table) for both in (1, 0))
    assert own.estimate == 0.0
    assert other.estimate == pytest.approx(observe(LossGap(left=NONE, right=WARM), table).estimate)
    assert arms_of(LossGap(left=NONE, right=NONE, best_of=("warm",))) == {"none", "warm"}
    assert with_other_arms(LossGap(left=NONE, right=WARM, best_of=("warm",)), {"warm": "w"}).best_of == ("w",)


def test_the_fall_begins_where_runs_start_that_do_not_diverge() -> None:
    """The loss that diverged runs count with is another matter: twice as much leaves the fall as it was."""
    table = noisy_bowls(cliff=-4.5)
    diverged = {arm: table.diverged(arm, "peak_lr") for arm in ("none", "warm")}
    assert diverged["none"].any()
    start = {arm: np.where(diverged[arm], 10.0, 5.0) for arm in diverged}
    plain = {arm: np.full(diverged[arm].shape, 5.0) for arm in diverged}
    gaps = [
        observe(LossGap(left=NONE, right=WARM), planted(**{**table._planted, "initial_loss": initial_loss})).estimate
        for initial_loss in (start, plain)
    ]
    assert gaps[0] == pytest.approx(gaps[1])


def test_where_nothing_falls_there_is_no_share() -> None:
    bowl = 8.0 + 0.1 * (X[:, None] + 6) ** 2 + np.zeros(SEEDS)
    start = {"none": np.full(bowl.shape, 2.0), "warm": np.full(bowl.shape, 9.0)}
    table = planted(test_loss={"none": bowl - 6.1, "warm": bowl}, initial_loss=start)
    with pytest.raises(NotEstimableError, match=r"does not fall below the 5.5 it starts from") as caught:
        observe(LossGap(left=NONE, right=WARM, best_of=("warm",)), table)
    assert caught.value.verdict == "out of regime"


def test_only_losses_have_a_share_of_the_fall() -> None:
    with pytest.raises(ValidationError, match=r"left is not a loss"):
        LossGap(left=Gap(left=NONE, right=WARM), right=WARM)
    with pytest.raises(ValidationError, match=r"right is not a loss"):
        LossGap(left=NONE, right=Optimum(arm="none"))
    assert list(relative_to_losses(LossGap(left=FinalLoss(arm="none"), right=WARM))) == []


def test_regrets_and_bars_of_the_fall() -> None:
    table = noisy_bowls()
    weight = np.ones(SEEDS)
    none, warm = (means(table, arm, weight) for arm in ("none", "warm"))
    start = means(table, "none", weight, "initial_loss").mean()
    regret = observe(transfer_regret(arm="none", tuned_for="warm", of="fall"), table)
    assert regret.estimate == pytest.approx((none[warm.argmin()] - none.min()) / (start - none.min()))
    bar = none.min() + 0.05 * (start - none.min())
    last = np.flatnonzero(none <= bar)[-1]
    edge = X[last] + 0.5 * (bar - none[last]) / (none[last + 1] - none[last])
    observation = observe(MaxTrainable(arm="none", within=0.05, of="fall"), table)
    assert np.log2(observation.estimate) == pytest.approx(edge)
    with pytest.raises(NotEstimableError, match=r"within 1% of the fall to the best loss"):
        observe(MaxTrainable(arm="none", within=0.01, of="fall", best_of=("none", "warm")), table)


def test_shares_of_a_loss_are_what_is_left_out() -> None:
    table = noisy_bowls()
    for kind, fields in ((transfer_regret, {"tuned_for": "warm"}), (BasinWidth, {}), (MaxTrainable, {})):
        plain, said = kind(arm="none", **fields), kind(arm="none", of="loss", **fields)
        assert observe(plain, table).estimate == observe(said, table).estimate
        assert [list(relative_to_losses(metric)) for metric in (plain, said)] == [[plain], [said]]
    regret = finder_regret(arm="none", range_test="ramp", rule="divergence", of="fall")
    assert list(relative_to_losses(regret)) == [regret]


# --- losses at a given LR


def test_a_loss_at_a_multiple_of_the_tuned_lr() -> None:
    table = noisy_bowls()
    losses = LossAt(arm="none", tuned_for="warm", times=3.0).estimate(table, table.resamples)
    for row in (0, 1, 57):
        none, warm = (means(table, arm, table.resamples[row]) for arm in ("none", "warm"))
        assert losses[row] == pytest.approx(np.interp(X[warm.argmin()] + np.log2(3.0), X, none))
    own = observe(LossAt(arm="none", tuned_for="none"), table)
    assert own.estimate == pytest.approx(observe(NONE, table).estimate)


def test_a_loss_at_a_multiple_of_a_smooth_optimum() -> None:
    """By a loop: NumPy's own least squares for the vertex, and interpolation of the means there."""
    table = noisy_bowls()
    losses = LossAt(arm="none", tuned_for="warm", times=1.7, window_octaves=1.0).estimate(table, table.resamples)
    for row in (0, 1, 57):
        none, warm = (means(table, arm, table.resamples[row]) for arm in ("none", "warm"))
        best = int(warm.argmin())
        window = np.abs(X - X[best]) <= 1.0 + 1e-9
        curvature, slope, _ = np.polyfit(X[window], warm[window], 2)
        vertex = np.clip(-slope / (2 * curvature), X[window].min(), X[window].max())
        assert losses[row] == pytest.approx(np.interp(vertex + np.log2(1.7), X, none))


def test_a_window_is_of_a_tuned_value() -> None:
    with pytest.raises(ValidationError, match="window_octaves is of a tuned value"):
        LossAt(arm="none", value=0.1, window_octaves=1.0)


def test_a_loss_at_a_declared_value() -> None:
    table = noisy_bowls()
    none = means(table, "none", np.ones(SEEDS))
    assert observe(LossAt(arm="none", value=HALF_OCTAVES[3]), table).estimate == pytest.approx(none[3])
    for value in (HALF_OCTAVES[0], 0.01, HALF_OCTAVES[-1]):
        assert observe(LossAt(arm="none", value=value), table).estimate == pytest.approx(np.interp(np.log2(value), X, none))


def test_nothing_is_extrapolated() -> None:
    table = noisy_bowls()
    for outside in (LossAt(arm="none", value=1.0), LossAt(arm="none", tuned_for="warm", times=100.0)):
        grid = r"was trained at peak LRs from 0.00195 to 0.125, and its loss at"
        with pytest.raises(NotEstimableError, match=grid) as caught:
            observe(outside, table)
        assert caught.value.verdict == "open"


def test_a_loss_is_read_at_one_value() -> None:
    for fields in ({}, {"value": 0.1, "tuned_for": "warm"}):
        with pytest.raises(ValidationError, match=r"give tuned_for or value"):
            LossAt(arm="none", **fields)
    assert arms_of(LossAt(arm="none", value=0.1)) == {"none"}
    assert with_other_arms(LossAt(arm="none", value=0.1), {"none": "n"}) == LossAt(arm="n", value=0.1)


# --- mean gaps


def curves(gap: float, seed: int, evaluations: int = 10, seeds: int = SEEDS, shared: float = 0.2) -> np.ndarray:
    """Gaps of paired curves, [S, E]: half of their variance is the run's."""
    generator = np.random.default_rng(seed)
    own = generator.standard_normal((2, seeds, evaluations)) + generator.standard_normal((2, seeds, 1))
    return gap + shared * (own[0] - own[1])


def with_curves(table: PlantedTable, falling: np.ndarray, deviation: float) -> tuple[PlantedTable, dict[str, np.ndarray]]:
    """The table with noisy validation curves, and the curves, [G, S, evaluations]."""
    generator = np.random.default_rng(2)
    size = (len(X), SEEDS, len(falling))
    curves = {arm: falling + deviation * generator.standard_normal(size) for arm in ("none", "warm")}
    listed = {}
    for arm, values in curves.items():
        listed[arm] = np.empty(values.shape[:2], dtype=object)
        for index in np.ndindex(values.shape[:2]):
            listed[arm][index] = values[index]
    table._planted = {**table._planted, "curve_evaluation_loss": listed}
    return table, curves


FALLING = 3.0 - 0.2 * np.arange(8)


def test_a_mean_gap_by_a_loop() -> None:
    table, curves = with_curves(noisy_bowls(), np.full(8, 3.0), 1.0)
    kept = {arm: np.minimum(values, table.values(arm, "peak_lr", "initial_loss")[..., None]) for arm, values in curves.items()}
    estimates = MeanGap(arm="none", tuned_for="warm", after=0.5).estimate(table, table.resamples)
    size = MeanGap(arm="none", tuned_for="warm", after=0.5, absolute=True).estimate(table, table.resamples)
    for row in (0, 1, 57):
        weight = table.resamples[row]
        warm = means(table, "warm", weight)
        place = warm.argmin()
        start = np.mean([means(table, arm, weight, "initial_loss").mean() for arm in ("none", "warm")])
        gaps = (kept["none"] - kept["warm"])[place, :, 4:]
        fall = start - warm.min()
        assert estimates[row] == pytest.approx(np.average(gaps, axis=0, weights=weight).mean() / fall)
        assert size[row] == pytest.approx(by_loop(gaps, weight) / fall)


def test_a_loss_after_a_share_of_the_run_by_a_loop() -> None:
    """At an evaluation it is that loss; between two it lies on the line through them; all of it at the LR that is best at the
    end, again for every weighting."""
    table, curves = with_curves(noisy_bowls(), FALLING, 0.2)
    for share, place, part in ((0.125, 0, 0.0), (0.5, 3, 0.0), (0.55, 3, 0.4), (0.9375, 6, 0.5), (1.0, 7, 0.0)):
        losses = LossAfter(arm="none", share=share).estimate(table, table.resamples)
        for row in (0, 1, 57):
            weight = table.resamples[row]
            curve = curves["none"][means(table, "none", weight, "validation_loss").argmin()]
            line = np.interp(place + part, np.arange(8), np.average(curve, axis=0, weights=weight))
            assert losses[row] == pytest.approx(line), (share, row)


def test_a_loss_is_not_known_before_the_first_evaluation() -> None:
    table, _ = with_curves(noisy_bowls(), FALLING, 0.2)
    with pytest.raises(NotEstimableError, match=r"first after 0\.125 of its steps"):
        LossAfter(arm="none", share=0.1).estimate(table, table.resamples)


def by_loop(gaps: np.ndarray, weight: np.ndarray) -> float:
    values = []
    for half in _halves(len(weight)).astype(bool):
        if weight[half].sum() == 0 or weight[~half].sum() == 0:
            continue
        left, right = (np.average(gaps[side], axis=0, weights=weight[side]) for side in (half, ~half))
        values.append(np.mean((left * np.sign(right) + right * np.sign(left)) / 2))
    return float(np.mean(values))


def test_halves_of_the_seeds() -> None:
    for seeds in (5, 10, 20):
        halves = _halves(seeds)
        assert halves.shape == (SPLITS, seeds)
        assert (halves.sum(axis=1) == seeds // 2).all()
        assert len(np.unique(halves, axis=0)) > min(SPLITS, 9) / 2


# --- optima


@pytest.mark.parametrize("cliff", [9.0, -5.4])
def test_the_window_is_fitted_by_least_squares(cliff: float) -> None:
    """Against numpy's fit of each resample's own window, without points beyond one where a run diverges."""
    table = noisy_bowls(3, cliff)
    vertices = np.log2(Optimum(arm="none", window_octaves=1.0).estimate(table, table.resamples))
    diverged = table.diverged("none", "peak_lr")
    sizes = set()
    for row in range(60):
        weight = table.resamples[row]
        loss = means(table, "none", weight)
        best = int(loss.argmin())
        inside = [best - 1, best, best + 1]
        for step in (-1, 1):
            other = best + 2 * step
            while abs(X[other] - X[best]) <= 1.0 and not diverged[other][weight > 0].any():
                inside.append(other)
                other += step
        sizes.add(len(inside))
        square, slope, _ = np.polyfit(X[inside], loss[inside], 2)
        expected = np.clip(-slope / (2 * square), X[inside].min(), X[inside].max()) if square > 0 else X[best]
        assert vertices[row] == pytest.approx(expected, abs=1e-6)
    assert sizes == {5} if cliff > 0 else min(sizes) < 5


def test_a_fit_that_is_not_convex_is_the_lowest_point() -> None:
    bent = np.interp(X, [-9, -7, -6.5, -6, -5.5, -5, -3], [2.4, 2.4, 2.5, 2.35, 2.5, 2.0, 4.0])
    bent[X == -5.0] = 2.36
    table = planted(test_loss={"none": bent[:, None] + np.zeros(SEEDS)})
    best = X[bent.argmin()]
    window = np.abs(X - best) <= 1.0
    assert np.polyfit(X[window], bent[window], 2)[0] <= 0
    assert observe(Optimum(arm="none", window_octaves=1.0), table).estimate == pytest.approx(2.0**best)


def test_the_vertex_stays_in_the_window() -> None:
    falling = np.where(X < -6, 3.0 - 0.001 * X, 2.0 - 0.2 * (X + 6))
    falling[X > -4.9] = 3.0
    table = planted(test_loss={"none": falling[:, None] + np.zeros(SEEDS)})
    best = X[falling.argmin()]
    vertex = np.log2(observe(Optimum(arm="none", window_octaves=1.0), table).estimate)
    assert best - 1 <= vertex <= best + 1


def test_an_edge_is_no_optimum_of_a_window_either() -> None:
    table = planted(test_loss={"none": (X[:, None] + 10) + np.zeros((len(X), SEEDS))})
    with pytest.raises(NotEstimableError, match=r"is the lowest that was tried"):
        observe(Optimum(arm="none", window_octaves=1.0), table)
