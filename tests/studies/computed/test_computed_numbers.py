"""Every computed number against arithmetic, torch or a loop of its own; and that broken training is seen in it."""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.declare.computed import Worked, called, job_of, registry
from folklore.harness.declare.registry import registered
from folklore.harness.plan import catalog
from folklore.harness.plan.computing import computed_jobs
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.computations import Computation
from folklore.harness.train.optimizers.adam import Adam
from folklore.harness.train.optimizers.adamw import AdamW
from folklore.harness.train.optimizers.lion import Lion
from folklore.harness.train.optimizers.sgd import SGD
from folklore.harness.train.optimizers.sgdw import SGDW
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.schedules import cosine
from folklore.harness.train.schedules.base import Schedule
from folklore.harness.train.workloads.data import load
from folklore.studies.computed import adam, constants, decay, descent, memory, noise, optimizers, small_gpt, sparse
from tests.parts import fast_for
from tests.processors import LONG

STEPS = np.arange(1, 3001)
# Of a constant gradient: the moments are 1 - beta^t of what they come to, and a step is one over the root of the other.
RATIO = (1 - 0.9**STEPS) / np.sqrt(1 - 0.999**STEPS)
# The document's model and its batch.
WIDTH, DEPTH, HEADS, CONTEXT, CLASSES, BATCH = 4096, 32, 32, 2048, 32_000, 8


def parameters(context: int = CONTEXT) -> int:
    """Blocks of four attention and eight MLP matrices of width by width with their biases and norms; final norm; embeddings
    and readout; positions."""
    return DEPTH * (12 * WIDTH**2 + 13 * WIDTH) + 2 * WIDTH + 2 * CLASSES * WIDTH + context * WIDTH


def kept_in_a_block(width: int) -> int:
    """Numbers a token: streams before attention and before the MLP, what norms make of them, query, key, value, what attention
    mixes, the hidden layer before and after GELU."""
    return (2 + 2 + 3 + 1 + 4 + 4) * width


def memory_by_hand(batch: int = BATCH, context: int = CONTEXT, size: int = 4, copies: int = 0) -> float:
    """Bytes: weights and Adam's state; of a token all blocks, the final norm's input and output; log-probabilities, their
    gradient and that of the logits, in FP32. copies: bytes of a copy of each weight of a product."""
    tokens = batch * context
    kept = tokens * (size * (DEPTH * kept_in_a_block(WIDTH) + 2 * WIDTH) + 3 * 4 * CLASSES)
    return 12 * parameters(context) + kept + copies * (DEPTH * 12 * WIDTH**2 + CLASSES * WIDTH)


def saved_by_hand() -> float:
    """The worst moment is the readout's, by its three numbers a class: a stream for each of 32 blocks in place of all of it."""
    rest = 2 * WIDTH + 3 * CLASSES
    return 1 - (DEPTH * WIDTH + rest) / (DEPTH * kept_in_a_block(WIDTH) + rest)


def operations_by_hand(products: int = 12) -> float:
    """A product of n weights is 2n operations a token forward and 4n backward. products: of a block's twelve of width by width,
    those that are made again; the last four are not, where what comes out of them is not needed."""
    block, readout = 2 * WIDTH**2, 2 * WIDTH * CLASSES
    return DEPTH * products * block / (3 * (DEPTH * 12 * block + readout))


def slope(x: Any, y: Any) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def kept_slope() -> float:
    """16 wide blocks with 32 classes: what blocks keep, and three times the logits and the final norm's two."""
    depths = np.array([4.0, 9.0, 16.0, 25.0, 36.0])
    return slope(depths, depths * kept_in_a_block(16) + 3 * 32 + 2 * 16)


def every_block_slope() -> float:
    """One block is held whole, with a gradient of its hidden layer before and after GELU."""
    depths = np.array([4.0, 9.0, 16.0, 25.0, 36.0])
    return slope(depths, depths + kept_in_a_block(1) + 8)


def kick(beta2: float) -> float:
    """Steps that an outlier's part of the first moment makes: 99.9, and 10% less every step, over the root of the second."""
    after = np.arange(2000)
    second = 1 + (1 - beta2) * (1e6 - 1) * beta2**after
    return float((0.1 * 999 * 0.9**after / np.sqrt(second)).sum())


def lone(beta2: float) -> float:
    """A geometric series: first moments of 0.1 and 10% less every step, over roots of second ones."""
    return 0.1 / (math.sqrt(1 - beta2) * (1 - 0.9 / math.sqrt(beta2)))


def state_of_torch() -> float:
    """Numbers of state that torch.optim.AdamW keeps of a weight."""
    weight = torch.ones(1000, requires_grad=True)
    optimizer = torch.optim.AdamW([weight])
    weight.sum().backward()
    optimizer.step()
    return sum(tensor.numel() for tensor in optimizer.state[weight].values() if tensor.numel() > 1) / 1000


def unequal_by_hand() -> float:
    """A quarter's gradient a and the rest's b: (a + b) / 2 is off from (a + 3b) / 4 by (a - b) / 4."""
    pack, inputs, targets = small_gpt.engine(SEED, batch_size=32)
    a, b = (pack.network.gradient(inputs[:, part], targets[:, part])[1].clone() for part in (slice(0, 8), slice(8, 32)))
    return float((a - b).norm() / (a + 3 * b).norm())


def epochs_slope() -> float:
    """For 1,079 examples: the draws of an epoch leave (N - B) / (N - 1) of the variance of independent ones."""
    batches = 2.0 ** np.arange(1, 9)
    return slope(batches, (1079 - batches) / batches)


def update_by_hand() -> float:
    """In examples, of an MLP of 64, 64, 64 and 10 units: products are two operations a weight forward and four backward, of the
    first layer two; AdamW makes about fifteen numbers of each weight and each bias; what units are made into is less."""
    weights, first = 64 * 64 * 2 + 64 * 10, 64 * 64
    return 15 * (weights + 138) / (6 * weights - 2 * first + 10 * 138)


def whole_by_hand(batch: int) -> float:
    """At the worst moment: of the backward pass, or of the update, which holds gradients and as much again as the weights."""
    return max(memory_by_hand(batch=batch), 20 * parameters())


def straight_by_hand() -> tuple[float, float, float]:
    """How far a batch of 1 is above the line through 64 and 256, and the line: its constant and a sequence, in GB."""
    sequence = (whole_by_hand(256) - whole_by_hand(64)) / 192
    constant = whole_by_hand(64) - 64 * sequence
    return whole_by_hand(1) / (constant + sequence) - 1, constant / 1e9, sequence / 1e9


Right = tuple[Callable[[], float], dict[str, float]]


# The right number, and how near a check has to come to it.
def sgd_apart() -> float:
    """Heavy ball on the same noisy bowl with decay inside and outside of the momentum, over the way."""
    start, curvature, noise = (tensor.numpy() for tensor in adam.noisy_bowl())
    ends = []
    for inside in (True, False):
        x, buffer = start.copy(), np.zeros(64)
        for draw in noise:
            gradient = curvature * x + draw
            buffer = 0.9 * buffer + gradient + 1e-3 * x * inside
            x = x * (1 - 0.01 * 1e-3 * (not inside)) - 0.01 * buffer
        ends.append(x)
    return float(np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[0] - start))


@lru_cache
def layerwise(run: str, steps: int = optimizers.STEPS) -> tuple[np.ndarray, np.ndarray]:
    """Update over weight in LRs of every step and matrix, and LAMB's |u| over |g|, by loops over the matrices in FP64: only
    gradients are the engine's."""
    settings = optimizers.RUNS[run]
    training = {"steps": steps, "batch_size": 16, "schedule": "constant", "warmup_fraction": 0.0, **settings}
    measurement = Measurement(probes=2, evaluations=1, evaluation_examples=2, final_examples=2)
    configuration = Configuration(workload=optimizers.GPT, training=Training.model_validate(training), measurement=measurement)
    pack = Pack([Lane(configuration, 0)], load("python-docs"))
    network = pack.network
    weights = network.flat_KP[0].detach().double().clone()
    slices = [(part.slice, len(part.shape) > 1) for part in pack.learner.optimizer.parts]
    lr, decay = 0.01, float(settings["weight_decay"])
    momentum, first, second = (torch.zeros_like(weights) for _ in range(3))
    shares, quotients = [], []
    for step in range(steps):
        with torch.no_grad():
            network.flat_KP[0] = weights.float()
        per_draw = pack.procedure.steps_per_draw
        batch = pack.procedure.batch(torch.from_numpy(pack.procedure.draw(step // per_draw)[step % per_draw]))
        gradient = pack.procedure.gradient(*batch)[1][0].double()
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        adams = first / (1 - 0.9 ** (step + 1)) / ((second / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)
        for place, is_matrix in slices:
            w, g = weights[place].clone(), gradient[place]
            if settings["optimizer"] == "lars":
                rate = lr * w.norm() / (g.norm() + decay * w.norm()) if is_matrix else 10.0
                momentum[place] = settings["momentum"] * momentum[place] + rate * (g + decay * is_matrix * w)
                change = momentum[place]
            else:
                update = adams[place] + decay * is_matrix * w
                change = lr * update * (w.norm() / update.norm() if is_matrix else 1.0)
            weights[place] = w - change
            if is_matrix:
                shares.append(float(change.norm() / w.norm() / lr))
                quotients.append(float((adams[place] + decay * w).norm() / g.norm()))
    return np.array(shares), np.array(quotients)


def layerwise_spread(run: str, of: int = 0) -> Callable[[], float]:
    return lambda: float(layerwise(run)[of].max() / layerwise(run)[of].min())


RIGHT: dict[str, Right] = {
    # Half of the examples at the batch itself, a quarter at four times, a quarter at sixteen times.
    "ramp.updates:ratio": (lambda: 1 / 2 + 1 / 4 / 4 + 1 / 4 / 16, {"rel": 0.0}),
    "optimizers.state:lion_over_adam": (lambda: 1 / state_of_torch(), {"rel": 0.0}),
    "optimizers.layerwise:lamb": (lambda: 1.0, {"rel": 1e-4}),
    "optimizers.layerwise:lars": (lambda: 1.0, {"rel": 1e-4}),
    "optimizers.layerwise:lars_with_decay": (layerwise_spread("LARS, no momentum, decay 0.1"), {"rel": 0.02}),
    "optimizers.layerwise:lamb_distance": (lambda: 0.0, {"abs": 1e-4}),
    "optimizers.layerwise:lamb_by_gradient": (layerwise_spread("LAMB, decay 0.1", 1), {"rel": 0.05}),
    # The readout's 50,257 x 1,024 entries of a deviation of 1 / sqrt(1,024).
    "optimizers.clamped:smallest_share": (lambda: 10 / math.sqrt(50_257), {"rel": 1e-3}),
    "decay.sgd:distance": (lambda: 0.0, {"abs": 1e-12}),
    "decay.sgd:momentum_distance": (sgd_apart, {"rel": 1e-4}),
    "decay.shrinkage:spread": (lambda: 0.0, {"abs": 1e-3}),
    # One step's L2 is decay x weight / root of the second moment, but for what it adds to that moment itself.
    "decay.shrinkage:rank_correlation": (lambda: -1.0, {"abs": 1e-2}),
    # A decay's gradient of 0.1 x weight is as large as most roots, and what it adds to them blurs the order.
    "decay.shrinkage:rank_correlation at 0.1": (lambda: -0.6, {"abs": 0.3}),
    "decay.shrinkage:weaker": (lambda: 0.0, {"abs": 0.0}),
    "constants.cosine:half_way": (lambda: 0.5, {"rel": 1e-6}),
    "constants.noise_scale:doubled": (lambda: 4.0, {"rel": 1e-2}),
    "constants.number_formats:fp16_largest": (lambda: torch.finfo(torch.float16).max, {"rel": 0.0}),
    "constants.number_formats:fp16_smallest": (lambda: torch.finfo(torch.float16).smallest_normal / 2**10, {"rel": 0.0}),
    "constants.number_formats:bf16_exponent_bits": (lambda: 1.0, {"rel": 0.0}),
    "constants.autocast:forward": (lambda: 1.0, {"rel": 0.0}),
    "constants.autocast:backward": (lambda: 1.0, {"rel": 0.0}),
    "adam.uncorrected:first_step": (lambda: 0.1 / math.sqrt(0.001), {"rel": 1e-5}),
    "adam.uncorrected:largest_step": (lambda: float(RATIO.max()), {"rel": 1e-4}),
    "adam.uncorrected:largest_at": (lambda: float(STEPS[RATIO.argmax()]), {"abs": 0.0}),
    # Late, the first moment is there: 1 / sqrt(1 - 0.999^t) = 1.1.
    "adam.uncorrected:wrong_until": (lambda: math.floor(math.log(1 - 1 / 1.1**2) / math.log(0.999)), {"abs": 0.0}),
    "adam.uncorrected:first_moment_steps": (lambda: math.ceil(-1 / math.log(0.9)), {"abs": 0.0}),
    "adam.uncorrected:second_moment_steps": (lambda: math.ceil(-1 / math.log(0.999)), {"abs": 1.0}),
    # g / (g + epsilon) against g / epsilon, at worst at g = epsilon / 100.
    "adam.small_gradients:error": (lambda: 1 - 1 / 1.01, {"rel": 1e-2}),
    "adam.small_gradients:cap": (lambda: 1.0, {"rel": 1e-4}),
    "adam.small_gradients:tiny_step": (lambda: 1e-12 / (1e-12 + 1e-8), {"rel": 1e-5}),
    "adam.outlier:half_life": (lambda: -math.log(2) / math.log(0.999), {"rel": 1e-3}),
    # 1 / sqrt(1 + 1000 * 0.999^k) = 0.9.
    "adam.outlier:recovery": (
        lambda: math.ceil(math.log((1 / 0.81 - 1) / (0.001 * (1e6 - 1))) / math.log(0.999)),
        {"abs": 2.0},
    ),
    "adam.outlier:kick": (lambda: kick(0.999), {"rel": 3e-3}),
    "adam.outlier:kick_095": (lambda: kick(0.95), {"rel": 3e-3}),
    "adam.beside_rmsprop:distance": (lambda: 0.0, {"abs": 1e-5}),
    "sparse.lone_gradients:at_0999": (lambda: lone(0.999), {"rel": 1e-4}),
    "sparse.lone_gradients:at_099": (lambda: lone(0.99), {"rel": 1e-4}),
    "sparse.lone_gradients:at_095": (lambda: lone(0.95), {"rel": 1e-4}),
    "sparse.lone_gradients:spread": (lambda: 1.0, {"rel": 0.02}),
    "sparse.lone_gradients:steady": (lambda: 1.0, {"rel": 1e-4}),
    "descent.quadratic:threshold": (lambda: 1.0, {"rel": 0.0}),
    "descent.quadratic:best_lr": (lambda: 1.0, {"rel": 1e-3}),
    "descent.quadratic:best_rate": (lambda: 1.0, {"rel": 1e-3}),
    "descent.near_a_minimum:newton_order": (lambda: 2.0, {"rel": 0.05}),
    "descent.near_a_minimum:descent_order": (lambda: 1.0, {"rel": 0.01}),
    "descent.near_a_minimum:descent_rate": (lambda: 1.0, {"rel": 0.01}),
    # Sums of FP32 numbers in another order.
    "memory.accumulation:error": (lambda: 0.0, {"abs": 1e-6}),
    "memory.accumulation:unequal_error": (unequal_by_hand, {"rel": 1e-4}),
    "memory.accumulation_peak:exponent": (lambda: 0.0, {"abs": 0.05}),
    "memory.accumulation_peak:parted_exponent": (lambda: -1.0, {"abs": 0.05}),
    "memory.depth:kept": (kept_slope, {"rel": 0.01}),
    # Less than half by what the block that is gone through holds beside, at every depth.
    "memory.depth:root": (lambda: 0.5, {"abs": 0.07}),
    # A stream a block, and one block: between those of 4 and of 36 blocks, less than a straight line.
    "memory.depth:every_block": (every_block_slope, {"abs": 0.1}),
    # Attention's own products, 8% of a block's, may be counted or not.
    "memory.recomputed_operations:extra": (operations_by_hand, {"rel": 0.02}),
    "memory.recomputed_operations:extra_in_torch": (lambda: operations_by_hand(8), {"rel": 0.08}),
    "memory.weights:fp32_gb": (lambda: 4 * 7e9 / 1e9, {"rel": 0.0}),
    "memory.adam_state:over_fp32_weights": (state_of_torch, {"rel": 0.0}),
    "memory.adam_state:over_bf16_weights": (lambda: 2 * state_of_torch(), {"rel": 0.0}),
    "memory.levers:parts_over_stated": (lambda: (7 + 7 + 14 + 2 + 1) / 24, {"rel": 1e-9}),
    "memory.levers:batch": (lambda: memory_by_hand(batch=32) / memory_by_hand(), {"rel": 0.01}),
    "memory.levers:sequence": (lambda: memory_by_hand() / memory_by_hand(context=1024), {"rel": 0.01}),
    # Halved but for log-probabilities; and each matrix a second time, in 16 bits.
    "memory.levers:precision": (lambda: memory_by_hand() / memory_by_hand(size=2, copies=2), {"rel": 0.01}),
    "memory.levers:checkpoints": (saved_by_hand, {"rel": 0.01}),
    # Batches are few: a variance is known to some percent.
    "noise.mlp_gradient_variance:exponent": (lambda: -1.0, {"abs": 0.05}),
    "noise.gpt_gradient_variance:exponent": (lambda: -1.0, {"abs": 0.05}),
    "noise.mlp_gradient_variance:epochs_exponent": (epochs_slope, {"abs": 0.05}),
    # Of 16 batches a size at least: a variance is known to a sixth, the mean over ten sizes to a twentieth.
    "noise.mlp_gradient_variance:replacement_error": (lambda: 0.0, {"abs": 0.15}),
    "noise.mlp_gradient_variance:epochs_error": (lambda: 0.0, {"abs": 0.15}),
    "noise.operations:large_deviation": (lambda: 0.0, {"abs": 1e-9}),
    "noise.operations:small_deviation": (lambda: 0.0, {"abs": 0.02}),
    "noise.operations:small_constant": (update_by_hand, {"rel": 0.25}),
    "noise.memory:deviation": (lambda: 0.0, {"abs": 1e-3}),
    "noise.memory:smallest_over_line": (lambda: straight_by_hand()[0], {"rel": 0.05}),
    "noise.memory:constant_gb": (lambda: straight_by_hand()[1], {"rel": 0.01}),
    "noise.memory:sequence_gb": (lambda: straight_by_hand()[2], {"rel": 0.01}),
    "noise.memory:saved_gb": (lambda: (memory_by_hand(batch=32) - memory_by_hand(batch=8)) / 1e9, {"rel": 0.01}),
    "noise.memory:smallest_over_gpu": (lambda: whole_by_hand(1) / 24e9, {"rel": 0.01}),
}
# Asked of small models, where every candidate can be tried.
DEEPER = {
    2: "memory.with_checkpoints:depth_at_2",
    8: "memory.with_checkpoints:depth_at_8",
    16: "memory.with_checkpoints:depth_at_16",
}
# Those of operations have tests of their own, and so has what is chaotic: of its first steps.
TRIED = {
    "optimizers.layerwise:lars_with_momentum",
    *("memory.with_checkpoints:batch", *DEEPER.values()),
    *("operations.error:over_unit_roundoff", "operations.error:over_rounded_once"),
}
# Right for the network of one seed.
OF_ITS_SEED = {
    "memory.accumulation:unequal_error",
    "optimizers.layerwise:lars_with_decay",
    "optimizers.layerwise:lamb_by_gradient",
}


# Of functions that are called with a seed.
SEED = 0


def worked(call: str) -> Worked:
    """FUNCTION or FUNCTION at DECAY."""
    function, _, decay = call.partition(" at ")
    job = job_of(function, {"decay": float(decay)} if decay else {}, (SEED,))
    return called(job, SEED if job.seeds else None)


right_now = lru_cache(worked)  # by the unbroken functions


def published_of(function: str) -> Computation:
    """The computation beside the evidence, where test_a_published_number_is_what_it_should_be reads it."""
    published = (
        computation for study in ("adam_internals", "embedding_lr") for computation in evidence.computations(study).values()
    )
    return next(computation for computation in published if computation.job.function == function)


def forget() -> None:
    """Other tests do not remember results of a broken piece, nor does this one those of an unbroken piece."""
    registered.cache_clear()
    for module in (decay, memory, noise):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


@pytest.fixture(autouse=True)
def forgetful(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "monkeypatch" in request.fixturenames:
        forget()


# FP32's rounding, which LARS with momentum makes ten times as large in three steps: 5e-6 after so many, and all after 30.
EARLY, EARLY_TOLERANCE = 10, 1e-4


@pytest.mark.parametrize("run", optimizers.RUNS)
def test_shares_of_a_course_are_those_of_loops_in_double_precision(run: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizers, "STEPS", EARLY)
        share = optimizers.course(run, SEED).share
    assert share == pytest.approx(layerwise(run, EARLY)[0].reshape(EARLY, -1), rel=EARLY_TOLERANCE)


def test_every_number_has_one_that_it_should_be() -> None:
    assert {name.removesuffix(" at 0.1") for name in RIGHT} | TRIED == registry().numbers.keys()


def test_every_function_is_computed_by_a_study() -> None:
    jobs = [job for study in map(catalog.load_study, catalog.study_names()) for job in computed_jobs(study, "laptop").values()]
    assert {job.function for job in jobs} == registry().functions.keys()


# Steps of large models counted: half a minute of work.
SLOW = {
    *("memory.with_checkpoints", "memory.depth", "memory.recomputed_operations", "memory.levers"),
    *("noise.operations", "noise.memory", "noise.gpt_gradient_variance", "noise.mlp_gradient_variance"),
}


# tests/test_processors.py computes again what is computed once for all seeds, but for what it leaves out, and holds it to what
# is published; that is held to what it should be below.
AGAIN = {name for name, function in registry().functions.items() if function.by_seed or name.startswith(LONG)} - SLOW


@pytest.mark.parametrize("name", fast_for([name for name in RIGHT if name.partition(":")[0] in AGAIN], RIGHT))
def test_a_number_is_what_it_should_be(name: str) -> None:
    function, _, rest = name.partition(":")
    number, at, decay = rest.partition(" at ")
    actual = right_now(function + at + decay).numbers[number]
    assert actual == pytest.approx(RIGHT[name][0](), **{"abs": 0.0, **RIGHT[name][1]})


@pytest.mark.parametrize("study", catalog.study_names())
def test_a_published_number_is_what_it_should_be(study: str) -> None:
    """For every seed, but for drawn numbers: there the mean over seeds."""
    for computation in evidence.computations(study).values():
        at = " at 0.1" if computation.job.arguments != "{}" else ""
        for number in computation.numbers:
            if (name := f"{computation.job.function}:{number}{at}") in RIGHT and name not in OF_ITS_SEED:
                mean = np.mean(list(computation.values(number).values()))
                assert mean == pytest.approx(RIGHT[name][0](), **{"abs": 0.0, **RIGHT[name][1]}), name


@pytest.mark.parametrize("study", catalog.study_names())
def test_what_shows_a_published_number_can_be_drawn(study: str) -> None:
    """Curves of as many x as y, and rows as long as their heads."""
    for computation in evidence.computations(study).values():
        assert len({plot["y_label"] for plot in computation.plots}) == len(computation.plots)
        for made in computation.plots:
            assert len({curve["name"] for curve in made["curves"]}) == len(made["curves"]) > 0
            for x, y in ((np.array(curve["x"]), np.array(curve["y"])) for curve in made["curves"]):
                assert len(x) == len(y) > 1
                assert np.isfinite(y).all()
                assert (np.diff(x) > 0).all()
                assert not made["log_x"] or (x > 0).all()
                assert not made["log_y"] or (y > 0).all()
        for shown in computation.tables:
            assert shown["rows"]
            assert {len(row) for row in shown["rows"]} == {len(shown["columns"])}


def test_a_dense_formula_gives_the_fastest_lr_and_rate() -> None:
    """|1 - LR h| of the two ends of the spectrum, by hand."""
    rates = np.linspace(0.5, 2.2, 101)
    for condition in descent.CONDITIONS:
        factors = descent.contractions(rates, descent._spectrum(condition))
        assert factors == pytest.approx(np.maximum(abs(1 - rates), abs(1 - rates / condition)), abs=1e-9)


def test_rare_gradients_move_a_weight_as_far_as_the_root_of_the_time_between_them() -> None:
    """While the second moment holds several of them, and between them the first is gone: (1 - beta1) / sqrt(share) in a
    series."""
    every = list(sparse.EVERY)
    (plot,) = published_of("sparse.lone_gradients").plots
    (moved,) = (curve["y"] for curve in plot["curves"] if curve["name"] == "β2 = 0.999")
    for steps in (50, 100):
        # A second moment that is even over time would give sqrt(steps) exactly.
        assert moved[every.index(steps)] == pytest.approx(math.sqrt(steps), rel=0.06)
    assert moved[every.index(5000)] == pytest.approx(lone(0.999), rel=0.01)


def bytes_of(workload: dict[str, Any], batch: int, segments: int) -> int:
    """At the worst moment: of a step, or of the update, with gradients and temporaries as large as the weights."""
    subject = memory.built_in(Workload.model_validate(workload), memory.LARGE_TOKENS, "fp32", segments or None)
    step = memory.count_step(subject, batch, segments > 0)
    return 12 * step.parameters + max(step.peak, 8 * step.parameters)


@pytest.mark.slow
def test_the_largest_that_fits_does_and_the_next_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small GPU with small models, whose counting takes no time."""
    forget()
    medium = {"model": "gpt", "width": 96, "depth": 4, "heads": 2, "context": 32}
    wide = {"model": "gpt", "width": 96, "heads": 2, "context": 32}
    limit = 14 * 10**6
    small = {"MEDIUM": medium, "MEDIUM_BATCH": 8, "WIDE": wide, "WIDE_DEPTHS": dict.fromkeys(DEEPER, 4), "GPU_BYTES": limit}
    for name, value in {**small, "LARGE_TOKENS": memory.TOKENS}.items():
        monkeypatch.setattr(memory, name, value)
    batches = memory._largest_batch(False), memory._largest_batch(True)
    best = min((2, 4), key=lambda segments: bytes_of(medium, 8, segments))
    for largest, segments in zip(batches, (0, best), strict=True):
        assert bytes_of(medium, largest, segments) <= limit < bytes_of(medium, largest + 1, segments)
    found_now = memory.with_checkpoints().numbers
    assert found_now["batch"] == batches[1] / batches[0] > 2
    ratios = []
    for batch, name in DEEPER.items():
        depths = memory._deepest(batch, False)[0], memory._deepest(batch, True)[0]
        for largest, again in zip(depths, (False, True), strict=True):
            totals = [bytes_of({**wide, "depth": depth}, batch, again * depth) for depth in (largest, largest + 1)]
            assert totals[0] <= limit < totals[1]
        ratios.append(found_now[name.partition(":")[2]])
        assert ratios[-1] == depths[1] / depths[0]
    assert 1 <= ratios[0] < ratios[1] < ratios[2], "the more of the memory activations take, the more is won"


def test_every_matrix_product_under_autocast_is_seen() -> None:
    """Three projections, scores, mix, hidden layer and readout forward; backward two products for each of these seven, but for
    the inputs of the three projections, which need no gradient."""
    for number_format in (torch.float16, torch.bfloat16):
        products = constants.autocast_products("cpu", number_format)
        assert products == {"forward": [number_format] * 7, "backward": [number_format] * 11}


# ---- broken pieces are seen: that numbers are those of what trains

INF = math.inf


# Broken piece -> what is set to what; and the numbers in which it is seen, with the range that each then has.
BROKEN: dict[str, tuple[list[tuple[Any, str, Any]], dict[str, tuple[float, float]]]] = {
    "an Adam with more state": (
        [(Adam, "moments", ("first", "second", "largest"))],
        {"memory.adam_state:over_fp32_weights": (3.0, 3.0), "memory.adam_state:over_bf16_weights": (6.0, 6.0)},
    ),
    "another cosine": (
        [(cosine, "SCHEDULE", Schedule(lambda training, progress: 1.0 - progress**2, str))],
        {"constants.cosine:half_way": (0.75, 0.75)},
    ),
    "a noise scale upside down": (
        [(constants, "noise_parts", lambda square, variance, batch: (square - variance, variance * batch))],
        {"constants.noise_scale:doubled": (0.2475, 0.2525)},
    ),
    "halves that are BF16": (
        [(torch.Tensor, "half", lambda self: self.bfloat16())],
        {
            "constants.number_formats:fp16_largest": (1e38, INF),
            "constants.number_formats:fp16_smallest": (-INF, 1e-38),
        },
    ),
    "an SGD with another LR": (
        [(SGD, "update", lambda self, w, g, lr, step, right=SGD.update: right(self, w, g, 0.7 * lr, step))],
        {"descent.quadratic:threshold": (0.5, 0.5), "descent.quadratic:best_lr": (1.1, INF)},
    ),
    "decay that is L2": (
        [(AdamW, "regularize", Adam.regularize), (SGDW, "regularize", SGD.regularize)],
        {"decay.shrinkage:spread": (0.1, INF), "decay.sgd:momentum_distance": (-INF, 1e-12)},
    ),
    "a Lion with more state": (
        [(Lion, "moments", ("momentum", "second"))],
        {"optimizers.state:lion_over_adam": (1.0, 1.0)},
    ),
}
QUICK = ("an Adam with more state", "another cosine", "a noise scale upside down", "halves that are BF16")


@pytest.mark.parametrize("broken", fast_for(QUICK, BROKEN))
def test_a_broken_piece_is_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    settings, bounds = BROKEN[broken]
    for piece in settings:
        monkeypatch.setattr(*piece)
    numbers = {function: worked(function).numbers for function in {name.partition(":")[0] for name in bounds}}
    for name, (low, high) in bounds.items():
        function, _, number = name.partition(":")
        assert low <= numbers[function][number] <= high, name


def test_products_in_fp32_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.amp.autocast_mode.autocast, "__enter__", lambda self: self)
    monkeypatch.setattr(torch.amp.autocast_mode.autocast, "__exit__", lambda self, *error: None)
    assert constants.autocast_products("cpu", torch.float16)["backward"] == [torch.float32] * 11
    assert constants.autocast().numbers == {"forward": 0.0, "backward": 0.0}
