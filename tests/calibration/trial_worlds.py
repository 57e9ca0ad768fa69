"""Worlds with a known truth: random trial tables in which an effect of a chosen size is planted.

A world draws the columns that observables read, arm by arm, [G, S] (values of the factor, seeds). `effect` is the size of
what is planted, in units of its own: 0 is absent. Noise that all arms of a seed share, noise of an arm and seed, and noise of
single runs are drawn apart, so that pairing has something to do.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from folklore.harness.declare import Arm, Measurement, Scale, Study, Training, Workload
from folklore.harness.declare.design import Value

from .conditions import Condition, Numbers
from .planted_table import INITIAL_LOSS, SCALE, Column, Columns

Draw = Callable[[Study, float, Condition, np.random.Generator], Columns]
# Columns while arms are added to them.
Filled = dict[str, dict[str, Column]]
STEPS = 100
# Noise of losses in nats: of a seed in all arms, of a seed in one arm, of one run, of one evaluation.
SHARED, OWN, RUN, EVALUATION = 0.05, 0.02, 0.01, 0.003
# Deviation of a seed's own optimum and edge, in octaves.
SEED_OCTAVES = 0.25


@dataclass(frozen=True)
class Bowl:
    """Loss against log2 of the LR: floor + curvature * (octaves from the optimum)^2, all of it lost from the cliff on."""

    optimum: float = -6.3
    floor: float = 2.0
    curvature: float = 0.05
    cliff: float = -2.5


def study(arms: Mapping[str, Mapping[str, Value]], grids: Mapping[str, Sequence[float]], seeds: int) -> Study:
    """A study of this many seeds whose arms differ in the settings given, each on its own grid of LRs."""
    return Study(
        name="planted",
        version=1,
        title="A planted world",
        question="Is the truth found?",
        workload=Workload(model="mlp", dataset="digits"),
        training=Training(steps=STEPS, batch_size=16),
        measurement=Measurement(curve_points=STEPS),
        arms={
            name: Arm(label=name, settings={"weight_decay": index / 100, **settings}, factors={"peak_lr": tuple(grids[name])})
            for index, (name, settings) in enumerate(arms.items())
        },
        factors={"peak_lr": (0.1,)},
        seeds=seeds,
        scales={SCALE: Scale(description="planted")},
    )


def octave_grid(bowl: Bowl, condition: Condition, steps: int = 1) -> tuple[float, ...]:
    """Nine octaves around the optimum in this many steps each; near the edge, the last point but `steps` is the best one."""
    nearest = round(bowl.optimum)
    first, last = (nearest - 7, nearest + 1) if condition.edge else (nearest - 4, nearest + 5)
    return tuple(2.0 ** (exponent / steps) for exponent in range(first * steps, last * steps + 1))


def bowls(shapes: Callable[[float], Mapping[str, Bowl]]) -> Draw:
    """LR curves: a bowl for every arm, depending on the effect."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        shared, moved = SHARED * condition.noise(generator, seeds), SEED_OCTAVES * condition.noise(generator, seeds)
        initial = INITIAL_LOSS + 0.02 * generator.standard_normal(seeds)
        columns: Filled = {
            name: {}
            for name in ("validation_loss", "test_loss", "initial_loss", "outcome", "divergence_step", "curve_evaluation_loss")
        }
        for index, (arm, bowl) in enumerate(shapes(effect).items()):
            x = np.log2(np.array(planned.factors_at(SCALE, arm)["peak_lr"], dtype=np.float64))[:, None]
            own = condition.own(index)
            optimum = bowl.optimum + moved + own * 0.1 * condition.noise(generator, seeds)
            loss = bowl.floor + shared + own * OWN * condition.noise(generator, seeds)
            loss = loss + condition.flat * bowl.curvature * (x - optimum) ** 2
            loss = loss + own * RUN * condition.noise(generator, *loss.shape)
            cliff = bowl.cliff + moved + own * SEED_OCTAVES * condition.noise(generator, seeds)
            cliff = np.where(generator.random(seeds) < condition.diverging, bowl.optimum - 0.2, cliff)
            diverged = (x >= cliff) | ~(loss < initial)
            steps = np.clip(
                np.rint(10.0 * 2.0 ** (bowl.cliff + 2.5) * np.exp(0.3 * condition.noise(generator, *loss.shape))), 1, STEPS
            )
            columns["initial_loss"][arm] = np.broadcast_to(initial, loss.shape)
            columns["outcome"][arm] = np.where(diverged, "diverged", "finished")
            columns["divergence_step"][arm] = np.where(diverged, steps, np.nan)
            for split in ("validation_loss", "test_loss"):
                evaluation = loss + EVALUATION * generator.standard_normal(loss.shape)
                columns[split][arm] = np.where(diverged, np.nan, evaluation)
            columns["curve_evaluation_loss"][arm] = _falling(columns["validation_loss"][arm], initial)
        return columns

    return draw


def sharp_bowls(level: Callable[[float], float]) -> Draw:
    """A bowl whose runs end with a sharpness that falls by the root of the LR, from this level at the best one."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        columns = dict(bowls(lambda _: {"a": Bowl()})(planned, effect, condition, generator))
        octaves = np.log2(np.array(planned.factors_at(SCALE, "a")["peak_lr"]))[:, None] - Bowl.optimum
        noise = condition.noise(generator, 1, planned.seeds_at(SCALE)) + condition.noise(
            generator, *columns["outcome"]["a"].shape
        )
        sharpness = level(effect) * 2.0 ** (-octaves / 2) * np.exp(0.1 * noise)
        curves = {"probe_step": np.full_like(sharpness, STEPS), "probe_sharpness": sharpness}
        return columns | {f"curve_{name}": {"a": _lists(curve[..., None])} for name, curve in curves.items()}

    return draw


def _falling(final: Numbers, initial: Numbers, count: int = 5) -> Column:
    """Validation curves that fall from the loss at initialization to their last value, [G, S] of [count]."""
    share = np.exp(-2.0 * np.arange(1, count + 1) / count)
    share = (share - share[-1]) / (1 - share[-1])
    curves = final[..., None] + (initial[:, None] - final[..., None]) * share
    return _lists(curves)


def single_points(levels: Callable[[float], Mapping[str, float]], spread: float = 0.1) -> Draw:
    """Arms trained at one point, whose numbers are log-normal around a level: losses, times and memory alike."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        shared = spread * condition.noise(generator, seeds)
        numbers = {}
        for index, (arm, level) in enumerate(levels(effect).items()):
            noise = condition.own(index) * spread / 2 * condition.noise(generator, seeds)
            value = level * np.exp(np.clip(shared + noise, -3, math.log(0.98 * INITIAL_LOSS / level)))
            numbers[arm] = np.where(generator.random(seeds) < condition.diverging, np.nan, value)[None]
        names = ("test_loss", "step_seconds", "peak_memory_bytes")
        machine = np.full((1, seeds), '{"device": "a machine"}', dtype=object)
        return {
            **dict.fromkeys(names, numbers),
            "initial_loss": {arm: np.full((1, seeds), INITIAL_LOSS) for arm in numbers},
            "outcome": {arm: np.where(np.isnan(value), "diverged", "finished") for arm, value in numbers.items()},
            "environment": dict.fromkeys(numbers, machine),
        }

    return draw


# Probes a run, and entries of the gradients that noise scales are drawn from.
PROBES, ENTRIES = 10, 200


def probe_curves(levels: Callable[[float], Mapping[str, float]]) -> Draw:
    """Probes of arms on three LRs of which the middle one is surely best. A level is the first tenth's height of a curve over
    its last, the distance of two curves, a share of underflow and a noise scale alike."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        step = np.linspace(STEPS / PROBES, STEPS, PROBES)
        paired = np.exp(0.1 * condition.noise(generator, 3, seeds, PROBES))  # what two arms of a seed share
        for index, (arm, level) in enumerate(levels(effect).items()):
            own = condition.own(index)
            tall = level * _positive(own * 0.2 * condition.noise(generator, 3, seeds))
            fall = tall[..., None] ** np.linspace(1.0, 0.0, PROBES)
            jitter = np.exp(0.05 * condition.noise(generator, 3, seeds, PROBES))
            losses = np.array([3.0, 2.0, 3.0])[:, None] + 0.05 * condition.noise(generator, 3, seeds)
            curves = {
                "probe_step": np.broadcast_to(step, fall.shape),
                "probe_gradient_norm": fall * jitter,
                "probe_update_ratio": tall[..., None] * paired * jitter,
                "probe_layer_underflow_activation": np.clip(0.05 * tall, 0, 1)[..., None, None] * np.ones((PROBES, 1)),
            }
            _put_runs(columns, arm, losses, curves)
        return columns

    return draw


def rough_curves(roughness: Callable[[float], float]) -> Draw:
    """Training losses of one arm on three LRs that fall in a straight line, with a noise of their own at every point."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        base = probe_curves(lambda _: {"a": 2.0})(planned, 0.0, condition, generator)
        seeds = planned.seeds_at(SCALE)
        step = np.linspace(STEPS / PROBES, STEPS, PROBES)
        shape = (3, seeds, PROBES)
        deviation = roughness(effect) * _positive(0.2 * condition.noise(generator, 3, seeds))[..., None]
        losses = np.linspace(3.0, 2.0, PROBES) + deviation * generator.standard_normal(shape)
        curves = {"curve_step": np.broadcast_to(step, shape), "curve_train_loss": losses}
        return {**base, **{name: {"a": _lists(curve)} for name, curve in curves.items()}}

    return draw


def edge_runs(level: Callable[[float], float], rises: Callable[[float], float], lr: float, limit: float) -> Draw:
    """Runs of one arm on one LR: their sharpness climbs from a third of the limit to a level over it within 30% of the run,
    each seed's around that, and stays. The loss falls in a straight line, with noise, and rises at a share of the steps."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds, points = planned.seeds_at(SCALE), 4 * PROBES
        share = np.linspace(1 / points, 1.0, points)
        height = level(effect) * np.exp(0.05 * condition.noise(generator, 1, seeds))[..., None]
        sharpness = height * np.minimum(1.0, 1 / 3 + share * (2 / 3) / 0.3) * limit / lr
        jitter = np.exp(0.03 * generator.standard_normal((1, seeds, points)))
        rising = np.clip(rises(effect) * np.exp(0.2 * condition.noise(generator, 1, seeds)), 0, 1)[..., None]
        rising = generator.binomial(20, np.broadcast_to(rising, (1, seeds, points))) / 20
        losses = INITIAL_LOSS * (0.5 - 0.3 * share + 0.01 * generator.standard_normal((1, seeds, points)))
        step = np.broadcast_to(share * STEPS, (1, seeds, points))
        curves = {"step": step, "train_loss": losses, "train_loss_rises": rising}
        probes = {"probe_step": step, "probe_sharpness": sharpness * jitter}
        columns: Filled = {}
        _put_runs(columns, "a", losses[..., -1], {**curves, **probes})
        return columns

    return draw


def flat_runs(distance: Callable[[float], float]) -> Draw:
    """A healthy arm, and three whose losses are flat. Their gradient norms lie this many factors of e inside what the rule says
    of their cause, each seed's around it, so that some lie outside."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds, inside = planned.seeds_at(SCALE), distance(effect)
        levels = {
            "healthy": 0.0,
            "vanishing": math.log(0.01) - inside,
            "small": math.log(0.01) + inside,
            "large": math.log(3) + inside,
        }
        columns: Filled = {}
        for index, (arm, level) in enumerate(levels.items()):
            moved = 0.0 if arm == "healthy" else condition.own(index) * condition.noise(generator, 1, seeds)
            norms = np.exp(np.broadcast_to(level + moved, (1, seeds)))[..., None] * np.ones(PROBES)
            final = np.full((1, seeds), 1.0 if arm == "healthy" else INITIAL_LOSS - 0.1)
            _put_runs(columns, arm, final, {"probe_gradient_norm": norms, "probe_gradient_variance": 0.0 * norms})
        return columns

    return draw


def falling_curves(levels: Callable[[float], Mapping[str, float]]) -> Draw:
    """Training losses that fall in straight lines to 1, each run's at its own pace; where one comes to 2 the validation loss is
    the arm's level, each run's around it."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        step = np.linspace(STEPS / PROBES, STEPS, PROBES)
        for index, (arm, level) in enumerate(levels(effect).items()):
            start = 3.0 + 0.2 * generator.random((3, seeds, 1))
            train = start - (start - 1.0) * step / STEPS
            height = level * _positive(condition.own(index) * 0.05 * condition.noise(generator, 3, seeds))
            curves = {"step": np.broadcast_to(step, train.shape), "train_loss": train}
            curves |= {
                "evaluation_step": np.broadcast_to(step, train.shape),
                "evaluation_loss": height[..., None] + train - 2.0,
            }
            losses = np.array([3.0, 2.0, 3.0])[:, None] + 0.05 * condition.noise(generator, 3, seeds)
            _put_runs(columns, arm, losses, curves)
        return columns

    return draw


def distant_curves(distance: Callable[[float], float]) -> Draw:
    """Two arms on three LRs whose gradient norms lie a relative distance apart, each seed's around it."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        base = probe_curves(lambda _: {"a": 2.0, "b": 2.0})(planned, 0.0, condition, generator)
        apart = distance(effect) * _positive(0.3 * condition.noise(generator, 3, seeds))
        norms = base["curve_probe_gradient_norm"]["a"]
        moved = np.empty_like(norms)
        for index in np.ndindex(norms.shape):
            moved[index] = norms[index] * (1 + apart[index] * np.exp(0.1 * generator.standard_normal(PROBES)))
        return {**base, "curve_probe_gradient_norm": {"a": norms, "b": moved}}

    return draw


def noisy_gradients(scale: Callable[[float], float]) -> Draw:
    """Gradients of batches and half batches around a mean of length 1, whose noise has a given scale in examples."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds, batch = planned.seeds_at(SCALE), planned.training.batch_size
        base = probe_curves(lambda _: {"a": 2.0})(planned, 0.0, condition, generator)
        size = (3, seeds, PROBES)
        trace = scale(effect) * _positive(0.2 * condition.noise(generator, 3, seeds, 1))
        # Sums of squares of ENTRIES entries of variance trace / ENTRIES / batch; only the one along the mean meets it.
        entry = np.sqrt(trace / ENTRIES / batch)
        along = entry * generator.standard_normal(size)
        rest = entry**2 * generator.chisquare(ENTRIES - 1, size)
        square = (1 + along) ** 2 + rest
        variance = entry**2 * generator.chisquare(ENTRIES, size)
        return {
            **base,
            "curve_probe_gradient_norm": {"a": _lists(np.sqrt(square))},
            "curve_probe_gradient_variance": {"a": _lists(variance)},
        }

    return draw


def activations(exponent: Callable[[float], float], widths: Mapping[str, int]) -> Draw:
    """Sizes of two taps over five steps: the second grows as width^exponent."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        sizes = {}
        for index, (arm, width) in enumerate(widths.items()):
            noise = condition.own(index) * 0.05 * condition.noise(generator, seeds, 5, 2)
            powers = np.array([0.0, exponent(effect)])
            sizes[arm] = _lists(np.exp(powers * math.log(width) + noise)[None])
        return {"curve_probe_layer_activation": sizes}

    return draw


def stopped_runs(sharpness: Callable[[float], Mapping[str, float]], pull: Callable[[float], float]) -> Draw:
    """Runs of one point an arm whose training loss falls in a straight line from 2 to 0, at a pace of each seed's own, with a
    sharpness that grows on the way, from the arm's level at the middle. The validation loss at any time is `pull` times the
    logarithm of that level, and noise of a run."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        shared = 0.2 * condition.noise(generator, 1, seeds, 1)
        step = np.linspace(STEPS / PROBES, STEPS, PROBES)
        size = (1, seeds, PROBES)
        for index, (arm, level) in enumerate(sharpness(effect).items()):
            own = condition.own(index)
            pace = np.exp(0.1 * condition.noise(generator, 1, seeds, 1).clip(-3, 3))
            training_loss = np.maximum(0.0, 2.0 * (1 - pace * step / STEPS))
            log = math.log(level) + own * 0.2 * condition.noise(generator, 1, seeds, 1)
            held_out = 2.0 + shared + pull(effect) * log + own * 0.3 * condition.noise(generator, 1, seeds, 1)
            curves = {
                "evaluation_step": np.broadcast_to(step, size),
                "evaluation_training_loss": training_loss,
                "evaluation_loss": np.broadcast_to(held_out, size),
                "probe_step": np.broadcast_to(step, size),
                "probe_sharpness": np.exp(shared + log + (1 - training_loss)),
            }
            _put_runs(columns, arm, held_out[..., 0], curves)
        return columns

    return draw


def turning_runs(turn: Callable[[float], float], turning: Callable[[float], float] = lambda effect: 1.0) -> Draw:
    """Runs of one point an arm whose validation loss falls to its lowest at a share of the run, each seed's around it, and then
    rises in as many of them as turn; the test loss follows it, shifted by noise of its own."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        # Evaluations so close that where a run turns is told as finely as it varies.
        step, size = np.arange(1.0, STEPS + 1), (1, seeds, STEPS)
        for index, arm in enumerate(planned.arms_at(SCALE)):
            own = condition.own(index)
            noise = 0.2 * condition.noise(generator, 1, seeds, 1).clip(-5, 5)
            octaves = np.log2(step / STEPS / turn(effect)) - own * noise
            turns = generator.random((1, seeds, 1)) < turning(effect)
            held_out = 1.0 + 0.2 * np.where(octaves > 0, octaves * turns, -octaves)
            beside = held_out + 0.1 * own * condition.noise(generator, 1, seeds, 1)
            curves = {
                "evaluation_step": np.broadcast_to(step, size),
                "evaluation_training_loss": np.broadcast_to(2.0 * (1 - step / STEPS), size),
                "evaluation_loss": held_out,
                "evaluation_test_loss": beside,
                "evaluation_test_accuracy": 1 - held_out / 10,
            }
            _put_runs(columns, arm, held_out[..., -1], curves)
            columns["test_loss"][arm] = beside[..., -1]
        return columns

    return draw


def forgetting_runs(remainder: Callable[[float], float]) -> Draw:
    """Runs of one point an arm of two tasks: while the second is learnt, the accuracy on the first falls to what is left. A
    loss is two less the accuracy."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        step, size = np.linspace(STEPS / PROBES, STEPS, PROBES), (1, seeds, PROBES)
        past = np.maximum(0.0, 2 * step / STEPS - 1)
        for index, arm in enumerate(planned.arms_at(SCALE)):
            noise = (0.05 * condition.own(index) * condition.noise(generator, 1, seeds, 1)).clip(-0.25, 0.25)
            old = 0.95 - (0.95 - remainder(effect)) * past + noise * past
            curves = {
                "evaluation_step": np.broadcast_to(step, size),
                "evaluation_old_accuracy": old,
                "evaluation_new_accuracy": np.broadcast_to(0.95 * past, size),
                "evaluation_old_loss": 2.0 - old,
                "evaluation_new_loss": np.broadcast_to(2.0 - 0.95 * past, size),
            }
            _put_runs(columns, arm, 2.0 - old[..., -1], curves)
            columns.setdefault("validation_accuracy", {})[arm] = old[..., -1]
        return columns

    return draw


def alarming_runs(chance: Callable[[float], float]) -> Draw:
    """Runs of one point an arm with a loss of one and a noise of 1%, which in a share of them is five times as high where the
    arm's fault is."""

    def curves(training: Training, effect: float, condition: Condition, generator: np.random.Generator, seeds: int) -> Curves:
        losses = 1.0 + 0.01 * generator.standard_normal((1, seeds, training.steps))
        jumps = generator.random((1, seeds)) < chance(effect)
        losses[..., training.faulty_steps.start] += 4.0 * jumps * (training.fault != "none")
        return losses, losses

    return _steps_of_runs(curves)


def recurring_runs(chance: Callable[[float], float]) -> Draw:
    """Runs of one point an arm with a loss of one, a noise of 1% and four spikes; those that start from a checkpoint have a
    share of these spikes, and one of their own."""

    def curves(training: Training, effect: float, condition: Condition, generator: np.random.Generator, seeds: int) -> Curves:
        losses = 1.0 + 0.01 * generator.standard_normal((1, seeds, training.steps))
        places = losses.shape[-1] - np.array([70, 55, 40, 25])
        if training.starts_from is None:
            losses[..., places] = 5.0
        else:
            again = generator.random((1, seeds, len(places))) < chance(effect)
            losses[..., places] += 4.0 * again
            losses[..., -10] = 5.0
        return losses, losses

    return _steps_of_runs(curves)


def exploding_runs(lead: Callable[[float], float]) -> Draw:
    """Runs of one point an arm with noise of 1%, which learn slowly. Those with a fault lose half of what they have learnt 45
    steps before they end, and all of it 25 steps later; some steps before the former, two more or fewer from run to run, their
    gradient norm is five times as large."""

    def curves(training: Training, effect: float, condition: Condition, generator: np.random.Generator, seeds: int) -> Curves:
        losses, norms = (1.0 + 0.01 * generator.standard_normal((1, seeds, training.steps)) for _ in range(2))
        losses -= 0.0002 * np.arange(training.steps)
        losses[..., 0] = 3.0
        if training.fault != "none":
            rises = training.steps - 45
            losses[..., rises:-20], losses[..., -20:] = 2.0, 4.0
            leads = lead(effect) + 2 * condition.noise(generator, seeds)
            norms[0, np.arange(seeds), rises - np.clip(np.round(leads), -20, 40).astype(int)] = 5.0
        return losses, norms

    return _steps_of_runs(curves)


def noisy_runs(noise: Callable[[float], float]) -> Draw:
    """Runs of one point an arm whose loss is one with this noise, a tenth more or less from run to run."""

    def curves(training: Training, effect: float, condition: Condition, generator: np.random.Generator, seeds: int) -> Curves:
        own = np.exp(0.1 * condition.noise(generator, seeds))[:, None]
        losses = 1.0 + noise(effect) * own * generator.standard_normal((1, seeds, training.steps))
        return losses, losses

    return _steps_of_runs(curves)


# Losses and gradient norms of every step, [1, S, steps].
Curves = tuple[Numbers, Numbers]


def _steps_of_runs(curves: Callable[[Training, float, Condition, np.random.Generator, int], Curves]) -> Draw:
    """Runs of one point an arm of which every step is kept."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        for arm in planned.arms_at(SCALE):
            training = planned.configuration(SCALE, arm, {"peak_lr": 2.0**-7}).training
            losses, norms = curves(training, effect, condition, generator, seeds)
            _put_runs(columns, arm, losses[..., -1], {"train_loss": losses, "train_gradient_norm": norms})
        return columns

    return draw


# Evaluations of a run of a batch sweep.
EVALUATIONS = 40


def batch_sweep(critical: Callable[[float], float], batches: Mapping[str, int], bend: float = 0.0, tilt: float = 0.0) -> Draw:
    """Runs whose steps to any loss are S_min (1 + B_crit / B), at the middle one of three LRs; the others take 1.5 times as
    many. An effect bends the logarithm of that by `bend` times the squared octaves from the middle batch, and tilts it.
    """

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        columns: Filled = {}
        shared = 0.1 * condition.noise(generator, seeds)
        octaves = np.log2(np.array([float(batch) for batch in batches.values()]))
        octaves -= octaves.mean()
        curved = dict(zip(batches, effect * (bend * octaves**2 - tilt * math.log(2.0) * octaves), strict=True))
        for index, (arm, batch) in enumerate(batches.items()):
            own = condition.own(index) * 0.05 * condition.noise(generator, 3, seeds)
            penalty = np.log([1.5, 1.0, 1.5])[:, None] + 0.02 * condition.noise(generator, 3, seeds)
            ideal = 20.0 * (1 + critical(effect) / batch) * math.exp(curved[arm])
            constant = np.exp(math.log(ideal) + shared + own + penalty) / math.log(2.0)  # steps to half the loss reduction
            slow = generator.random((3, seeds)) < condition.censored
            constant = np.where(slow, constant * 20.0, constant)
            steps = np.linspace(ideal / 10, 4 * ideal, EVALUATIONS)
            losses = 1.0 + (INITIAL_LOSS - 1.0) * np.exp(-steps / constant[..., None])
            curves = {"evaluation_loss": losses, "evaluation_step": np.broadcast_to(steps, losses.shape)}
            _put_runs(columns, arm, losses[..., -1], curves)
        return columns

    return draw


# Steps of a range test, and the octaves it climbs.
RAMP_STEPS, RAMP = 120, (-12.0, 2.0)


def range_test(pick: Callable[[float], float], silent: Callable[[float], float] = lambda effect: 0.0) -> Draw:
    """Range tests whose loss breaks down at 2^pick, each seed's around it; a share of them is silent: they never do."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        x = np.linspace(*RAMP, RAMP_STEPS)
        at = pick(effect) + 0.4 * condition.noise(generator, seeds)
        # Heavy tails reach the ends of the ramp, where a pick is censored and no number: kept inside.
        at = np.clip(at, RAMP[0] + 2, RAMP[1] - 2)
        loss = 3.0 - 0.05 * (x - RAMP[0]) + 0.02 * generator.standard_normal((seeds, RAMP_STEPS))
        broken = (x >= at[:, None]) & (generator.random(seeds) >= silent(effect))[:, None]
        curves = _lists(np.where(broken, np.nan, loss)[None])
        ramp = _lists(np.broadcast_to(2.0**x, (1, seeds, RAMP_STEPS)))
        return {"curve_lr": {"ramp": ramp}, "curve_train_loss": {"ramp": curves}}

    return draw


def rising_range_test(pick: Callable[[float], float]) -> Draw:
    """Range tests whose loss falls to 2, and from 2^pick on rises through its first value within an octave, each seed's around
    it."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        seeds = planned.seeds_at(SCALE)
        x = np.linspace(*RAMP, RAMP_STEPS)
        at = np.clip(pick(effect) + 0.4 * condition.noise(generator, seeds), RAMP[0] + 4, RAMP[1] - 2)[:, None]
        fall = 2.0 / (1 + 2.0 ** (-2 * (x - RAMP[0] - 3)))
        loss = 4.0 - fall + 2.0 * 2.0 ** (4 * (x - at)) + 0.05 * generator.standard_normal((seeds, RAMP_STEPS))
        ramp = np.broadcast_to(2.0**x, (1, seeds, RAMP_STEPS))
        return {"curve_lr": {"ramp": _lists(ramp)}, "curve_train_loss": {"ramp": _lists(loss[None])}}

    return draw


def both(*draws: Draw) -> Draw:
    """The arms of several worlds in one table."""

    def draw(planned: Study, effect: float, condition: Condition, generator: np.random.Generator) -> Columns:
        merged: Filled = {}
        for world in draws:
            for name, arms in world(planned, effect, condition, generator).items():
                merged.setdefault(name, {}).update(arms)
        return merged

    return draw


def _positive(noise: Numbers) -> Numbers:
    """Factors around one. Not exponentials: with heavy tails those have no mean."""
    return np.asarray(np.maximum(0.05, 1.0 + noise))


def _put_runs(columns: Filled, arm: str, final: Numbers, curves: Mapping[str, Numbers]) -> None:
    """Adds an arm's runs, none of which diverges: their validation and test loss [G, S], and curves [G, S, ...]."""
    ended = {
        "validation_loss": final,
        "test_loss": final,
        "initial_loss": np.full(final.shape, INITIAL_LOSS),
        "outcome": np.full(final.shape, "finished"),
    }
    for name, values in {**ended, **{f"curve_{name}": _lists(curve) for name, curve in curves.items()}}.items():
        columns.setdefault(name, {})[arm] = values


def _lists(values: Column) -> Column:
    """[G, S, ...] as [G, S] of arrays with the other axes inside, as a table of stored trials has them."""
    lists = np.empty(values.shape[:2], dtype=object)
    for index in np.ndindex(lists.shape):
        lists[index] = values[index]
    return lists
