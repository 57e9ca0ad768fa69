"""Estimators against tables whose answer is known, and against the same numbers worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from folklore.harness.declare import AtLeast, Observed, Outside, Study, Within
from folklore.harness.declare.metrics import (
    FailureRate,
    Gap,
    Log2,
    MaxTrainable,
    Optimum,
    Quotient,
    RelativeGap,
    Share,
    TunedLoss,
    Unmeasured,
)
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.statistics.intervals import Observation, Sampled, bootstrap_error, student
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.lr_regimes import mean_distance
from folklore.studies.metrics.mup_transfer import mean_activation_slope
from folklore.studies.metrics.warmup import cure_rate, divergence_edge, divergence_time
from tests.harness.declare.metrics.planted import table_of
from tests.harness.helpers import INITIAL_LOSS, bowl, changed, frame, result


def bowls(trial: Trial) -> LaneResult:
    """none: optimum 2^-7, floor 2.0; half: optimum 2^-5, floor 1.95. Seeds shift both alike."""
    optimum, floor = {"none": (-7, 2.0), "half": (-5, 1.95)}[trial.arm]
    loss = bowl(trial, optimum, floor) + 0.1 * (trial.seed - 2)
    return result(min(loss, 4.9))


@pytest.fixture(scope="module")
def of_bowls(wide: Study) -> TrialArrays:
    return table_of(wide, bowls)


def test_tuned_loss(of_bowls: TrialArrays) -> None:
    observation = observe(TunedLoss(arm="none"), of_bowls)
    assert observation.estimate == pytest.approx(2.0)
    losses = 2.0 + 0.1 * (np.arange(5) - 2)
    expected = stats.t.interval(0.95, 4, loc=losses.mean(), scale=stats.sem(losses))
    # From 2000 resamples the deviation is known to 1.6%; without sqrt(S / (S - 1)) the interval would be 11% too short.
    assert observation.high - observation.low == pytest.approx(expected[1] - expected[0], rel=0.06)
    assert (observation.low + observation.high) / 2 == pytest.approx(losses.mean())


def test_what_reads_one_arm_alone_has_all_of_its_seeds(wide: Study) -> None:
    table = table_of(changed(wide, {"scales.laptop.arm_seeds": {"half": 9}}), bowls)
    assert observe(TunedLoss(arm="half"), table).seeds == 9
    assert observe(TunedLoss(arm="half"), table).estimate == pytest.approx(1.95 + 0.2)
    assert observe(Gap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), table).seeds == 5
    without_one = table.of_seeds([0, 1, 3, 4])
    assert observe(TunedLoss(arm="half"), without_one).seeds == 8
    assert observe(TunedLoss(arm="none"), without_one).estimate == pytest.approx(2.0)


def test_seeds_are_paired(of_bowls: TrialArrays) -> None:
    """Seeds move both arms by up to 0.2 nats; their difference has no spread at all."""
    gap = observe(Gap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), of_bowls)
    assert gap.estimate == pytest.approx(0.05)
    assert gap.high - gap.low < 1e-9


def test_the_lr_is_chosen_on_validation_and_judged_on_test(wide: Study) -> None:
    def outcome(trial: Trial) -> LaneResult:
        return result(bowl(trial, -3, 1.0), validation_loss=bowl(trial, -7, 2.0))

    assert observe(TunedLoss(arm="none"), table_of(wide, outcome)).estimate == pytest.approx(1.0 + 0.05 * 16)


def test_an_optimum_is_of_the_validation_loss_or_of_the_test_loss(wide: Study) -> None:
    table = table_of(wide, lambda trial: result(bowl(trial, -7.4, 1.0), validation_loss=bowl(trial, -7.1, 2.0)))
    assert observe(Optimum(arm="none"), table).estimate == pytest.approx(2.0**-7.1)
    assert observe(Optimum(arm="none", of="test_loss"), table).estimate == pytest.approx(2.0**-7.4)


def test_an_optimum_at_the_edge_is_no_number(wide: Study) -> None:
    table = table_of(wide, lambda trial: result(bowl(trial, -14, 2.0)))
    with pytest.raises(NotEstimableError, match=r"is the lowest that was tried; a grid that goes lower") as caught:
        observe(TunedLoss(arm="none"), table)
    assert caught.value.verdict == "open"


def test_max_trainable_is_interpolated(wide: Study) -> None:
    """2 + 0.05 x^2 <= 1.05 * 2 holds up to x = sqrt(2): between one and two octaves above the optimum."""
    observation = observe(MaxTrainable(arm="none"), table_of(wide, lambda trial: result(bowl(trial, -7, 2.0))))
    step = (0.1 - 0.05) / (0.2 - 0.05)
    assert math.log2(observation.estimate) == pytest.approx(-7 + 1 + step)


def test_max_trainable_against_the_best_of_several_arms(of_bowls: TrialArrays) -> None:
    alone = observe(MaxTrainable(arm="none"), of_bowls)
    shared = observe(MaxTrainable(arm="none", best_of=("none", "half")), of_bowls)
    assert shared.estimate < alone.estimate
    ratio = observe(Quotient(top=MaxTrainable(arm="half"), bottom=MaxTrainable(arm="none")), of_bowls)
    assert ratio.estimate == pytest.approx(4.0, rel=0.02)
    assert observe(
        Log2(of=Quotient(top=MaxTrainable(arm="half"), bottom=MaxTrainable(arm="none"))), of_bowls
    ).estimate == pytest.approx(math.log2(ratio.estimate))


def test_max_trainable_that_reaches_the_top_of_the_grid(wide: Study) -> None:
    with pytest.raises(NotEstimableError, match=r"the largest peak LR at which .no <warmup>. still trains"):
        observe(MaxTrainable(arm="none"), table_of(wide, lambda trial: result(bowl(trial, -1, 2.0))))
    with pytest.raises(NotEstimableError, match=r"the bar lies above a loss at the end of a grid: .* a grid that goes lower"):
        observe(MaxTrainable(arm="none"), table_of(wide, lambda trial: result(bowl(trial, -12, 2.0))))


def test_max_trainable_of_an_arm_far_from_the_best(wide: Study) -> None:
    table = table_of(wide, lambda trial: result(bowl(trial, -7, 2.0 if trial.arm == "none" else 3.0)))
    with pytest.raises(NotEstimableError, match=r"comes within 5% of the best"):
        observe(MaxTrainable(arm="half", best_of=("none",)), table)


def diverging(trial: Trial) -> LaneResult:
    """none diverges from 2^-4 on in all seeds, at step 2 + seed; half from 2^-2 on, at step 5."""
    edge, step = {"none": (-4, 2 + trial.seed), "half": (-2, 5)}[trial.arm]
    if math.log2(trial.configuration.training.peak_lr) >= edge:
        return result(float("nan"), divergence_step=step)
    return bowls(trial)


def test_a_diverged_run_counts_with_its_loss_at_initialization(wide: Study) -> None:
    losses = table_of(wide, diverging).losses("none", "peak_lr", "test_loss")
    assert (losses[8:] == INITIAL_LOSS).all()
    assert (losses[:8] < INITIAL_LOSS).all()
    finished_above = table_of(wide, lambda _: result(6.0)).losses("none", "peak_lr", "test_loss")
    assert (finished_above == INITIAL_LOSS).all()


def test_failure_rate_has_an_exact_interval(wide: Study) -> None:
    """half is tuned at 2^-5, where none never fails; moving none's edge below makes all five fail."""
    never = observe(FailureRate(arm="none", tuned_for="half"), table_of(wide, diverging))
    assert (never.estimate, never.low) == (0.0, 0.0)
    assert never.high == pytest.approx(1 - 0.025 ** (1 / 5))

    def worse(trial: Trial) -> LaneResult:
        failing = trial.arm == "none" and trial.configuration.training.peak_lr >= 2.0**-6
        return result(9.0, divergence_step=1) if failing else bowls(trial)

    always = observe(FailureRate(arm="none", tuned_for="half"), table_of(wide, worse))
    assert (always.estimate, always.high) == (1.0, 1.0)
    assert always.low == pytest.approx(0.025 ** (1 / 5))


def test_failures_that_are_not_finite(wide: Study) -> None:
    """none diverges from 2^-4 on; in even seeds the loss stops being a number, in odd ones it only rises. half is tuned at
    2^-5."""

    def failing(trial: Trial) -> LaneResult:
        if trial.arm == "none" and trial.configuration.training.peak_lr >= 2.0**-4:
            return result(float("nan") if trial.seed % 2 == 0 else 9.0, divergence_step=1)
        return bowls(trial)

    table = table_of(wide, failing)
    even = sum(seed % 2 == 0 for seed in table.seed_numbers)
    counts = {
        (of, times): FailureRate(arm="none", tuned_for="half", times=times, of=of).counts(table)
        for of in (None, "not_finite")
        for times in (None, 2.0)
    }
    seeds = len(table.seed_numbers)
    assert counts[None, None] == counts["not_finite", None] == (0, seeds)
    assert counts[None, 2.0] == (seeds, seeds)
    assert counts["not_finite", 2.0] == (even, seeds)
    assert 0 < even < seeds


def test_cure_rates(wide: Study, of_bowls: TrialArrays) -> None:
    table = table_of(wide, diverging)
    assert observe(cure_rate(arm="none", by_arm="half"), table).estimate == 1.0
    assert observe(cure_rate(arm="none", octaves_down=1.0), table).estimate == 1.0
    assert observe(cure_rate(arm="half", by_arm="none"), table).estimate == 0.0
    # A remedy that saves nothing does no worse than another that saves nothing, and worse than one that saves all.
    assert observe(cure_rate(arm="none", by_arm="none", no_worse_than="none"), table).estimate == 1.0
    assert observe(cure_rate(arm="none", by_arm="none", no_worse_than="half"), table).estimate == 0.0
    assert observe(cure_rate(arm="none", by_arm="half", no_worse_than="half"), table).estimate == 1.0
    # A run that did not diverge has nothing to be cured of.
    four = table_of(wide, lambda trial: bowls(trial) if trial.seed == 4 else diverging(trial))
    cured = observe(cure_rate(arm="none", by_arm="half"), four)
    assert (cured.estimate, cured.seeds) == (1.0, 4)
    with pytest.raises(NotEstimableError, match=r"was not trained at the peak LR of"):
        observe(cure_rate(arm="none", octaves_down=0.3), table)
    with pytest.raises(NotEstimableError, match=r"diverges in most seeds at no peak LR") as caught:
        observe(cure_rate(arm="none", octaves_down=1.0), of_bowls)
    assert caught.value.verdict == "out of regime"


def test_divergence_time_is_a_geometric_mean_over_the_end_of_warmup(wide: Study) -> None:
    table = table_of(wide, diverging)
    assert observe(divergence_time(arm="half"), table).estimate == pytest.approx(1.0)
    none = observe(divergence_time(arm="none"), table)
    assert none.estimate == pytest.approx(math.exp(np.mean(np.log([2, 3, 4, 5, 6]))))
    edge = divergence_edge("none", "peak_lr", table)
    here = float(table.grid("none", "peak_lr")[edge])
    assert observe(divergence_time(arm="none", value=here), table).estimate == none.estimate
    with pytest.raises(NotEstimableError):
        observe(divergence_time(arm="none", value=1.1 * here), table)


def test_a_share_of_nothing_is_out_of_regime_as_a_part_too(wide: Study, of_bowls: TrialArrays) -> None:
    widening = Log2(of=Quotient(top=MaxTrainable(arm="half"), bottom=MaxTrainable(arm="none")))
    share = Share(part=widening, whole=widening, whole_at_least=0.25)
    same = table_of(wide, lambda trial: result(bowl(trial, -6, 2.0)))
    for whole in (share, Gap(left=share, right=share)):
        with pytest.raises(NotEstimableError, match="nothing to take a share of") as caught:
            observe(whole, same)
        assert caught.value.verdict == "out of regime"
    assert observe(share, of_bowls).estimate == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("part", "why"),
    [(FailureRate(arm="none", tuned_for="half"), "a share of runs has"), (Unmeasured(reason="too large"), "too large")],
)
def test_what_has_no_estimate_is_none_as_a_part_either(of_bowls: TrialArrays, part: Observed, why: str) -> None:
    with pytest.raises(NotEstimableError, match=why) as caught:
        observe(Gap(left=part, right=part), of_bowls)
    assert caught.value.verdict == "out of regime"


def test_a_missing_trial_is_never_a_number(wide: Study) -> None:
    trials = frame(wide, bowls)
    gone = trials[~((trials["arm"] == "half") & (trials["seed"] == 3) & (trials["peak_lr"] == 2.0**-5))]
    table = TrialArrays(wide, "laptop", gone, {"x": "RuntimeError: out of memory"})
    observe(TunedLoss(arm="none"), table)
    with pytest.raises(
        NotEstimableError, match=r"1 of 65 trials of 'half warmup' are missing or crashed; an error of this run: Runtime"
    ) as caught:
        observe(RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), table)
    assert caught.value.verdict == "invalid"


def test_relative_gap_sign(of_bowls: TrialArrays) -> None:
    observation = observe(RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half")), of_bowls)
    assert observation.estimate == pytest.approx(0.05 / 1.95)


def test_p_values_agree_with_intervals() -> None:
    """p <= 0.05 exactly where the 95% interval lies inside, on both axes and for shares of runs."""
    generator = np.random.default_rng(3)
    for log_axis in (False, True):
        resampled = np.exp(generator.normal(1.0, 0.1, 2000))
        sampled = Sampled(math.e, resampled, 6, log_axis)
        observation = student(sampled, bootstrap_error(sampled))
        for low, high in (
            (observation.low, math.inf),
            (observation.low * 0.999, observation.high * 1.001),
            (-math.inf, observation.high),
        ):
            assert observation.p_inside(low, high) <= 0.05 + 1e-9
        for low, high in (
            (observation.low * 1.001, math.inf),
            (observation.low, observation.high * 0.999),
            (observation.high, math.inf),
        ):
            assert observation.p_inside(low, high) > 0.05


def test_binomial_p_values_agree_with_intervals(wide: Study) -> None:
    observation = observe(FailureRate(arm="none", tuned_for="half"), table_of(wide, diverging))
    assert observation.p_inside(-math.inf, observation.high + 1e-6) <= 0.05
    assert observation.p_inside(-math.inf, observation.high - 1e-3) > 0.05
    assert observation.p_in(AtLeast(value=0.8).pieces) == 1.0


def test_rules_of_two_pieces() -> None:
    observation = Observation(3.0, 2.5, 3.5, 5, lambda low, high: 0.01 if low <= 2.5 and high >= 3.5 else 1.0)
    assert observation.p_in(Outside(low=-1, high=2).pieces) == 0.01
    assert observation.p_in(Within(low=-1, high=2).pieces) == 1.0


def test_two_seeds_are_no_spread(wide: Study) -> None:
    table = TrialArrays(wide, "laptop", frame(wide, bowls), seed_numbers=wide.seed_numbers_at("laptop")[:2])
    with pytest.raises(NotEstimableError, match=r"rests on 2 seeds"):
        observe(TunedLoss(arm="none"), table)


def widths(study: Study, slope: float) -> Study:
    """Three arms whose LR grids follow an optimum that moves as width^slope."""
    arms = {
        f"w{width}": {
            "label": f"{width}",
            "settings": {"width": width},
            "factors": {"peak_lr": [2.0 ** (-7 + slope * math.log2(width / 8) + e) for e in range(-4, 5)]},
        }
        for width in (8, 16, 32)
    }
    return changed(study, arms=arms, judgements=())


def test_a_parabola_through_an_uneven_grid(study: Study) -> None:
    uneven = changed(study, factors={"peak_lr": [2.0**e for e in (-10, -8, -7.5, -5, -4)]})
    observation = observe(Optimum(arm="none"), table_of(uneven, lambda trial: result(bowl(trial, -7.1, 2.0))))
    assert math.log2(observation.estimate) == pytest.approx(-7.1)


def activations_of(trial: Trial) -> LaneResult:
    """Early steps: a tap that falls as width^-0.3 and one, zero at first, that grows as width^0.5 or, an octave higher, 0.7;
    late steps: 0.1 and 0.2. Seeds differ by a factor that is the same at all widths."""
    width, high = trial.configuration.workload.width, trial.configuration.training.peak_lr > 0.15
    seed = 1.0 + 0.1 * trial.seed
    sizes = [[seed * width**-0.3, 0.0]] + [[width**-0.3, seed * 3.0 * width ** (0.7 if high else 0.5)]] * 4
    late = [[seed * width**0.1, width**0.2]] * 2
    return replace(result(2.0), layer_curves={**result(2.0).layer_curves, "probe_layer_activation": sizes + late})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 0.5),
        ({"tap": 0}, -0.3),
        ({"steps": 7}, (4 * 0.5 + 2 * 0.2) / 6),
        ({"end": True, "steps": 2}, 0.2),
        ({"end": True, "steps": 4, "tap": 0}, (2 * -0.3 + 2 * 0.1) / 4),
    ],
)
def test_the_mean_slope_of_a_tap(study: Study, settings: dict[str, object], expected: float) -> None:
    """It keeps its sign, and a step at which a size is zero is left out; of a grid of LRs one is read, if it was tried."""
    scaled, points = widths(study, 0.0), ((8, "w8"), (16, "w16"), (32, "w32"))
    for grid, at in (([0.1], None), ([0.1, 0.2, 0.4], 0.1)):
        arms = {name: {**arm.model_dump(), "factors": {"peak_lr": grid}} for name, arm in scaled.arms.items()}
        table = table_of(changed(scaled, arms=arms), activations_of)
        observation = observe(mean_activation_slope(points=points, at=at, **settings), table)
        assert observation.estimate == pytest.approx(expected, abs=1e-6)
    assert observe(mean_activation_slope(points=points, at=0.2), table).estimate == pytest.approx(0.7, abs=1e-6)
    with pytest.raises(NotEstimableError, match=r"was not trained at the peak LR of 0\.3"):
        observe(mean_activation_slope(points=points, at=0.3), table)
    with pytest.raises(NotEstimableError, match="are zero at every step used"):
        observe(mean_activation_slope(points=points, at=0.2, steps=1), table)


def test_an_interval_ends_where_an_observation_must(wide: Study) -> None:
    """A distance of losses that differ by chance: the interval ends at 0."""
    table = table_of(wide, lambda trial: result(bowl(trial, -7, 2.0 + (trial.arm == "half") * 0.1 * (trial.seed - 1.9))))
    observation = observe(mean_distance(parts=(TunedLoss(arm="half"),), origin=TunedLoss(arm="none")), table)
    assert (observation.low, observation.estimate > 0) == (0.0, True)
