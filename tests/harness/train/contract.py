"""Lanes, packs and trained packs for all tests of training, and what every training is held to (test_contract.py).

Adam makes whole steps of the rounding of gradients that are nearly zero, so that two curves of a correct training have no
bound. So packs are compared phase by phase, each from equal states: what precedes a step, its loss and gradient, what the
optimizer makes of one gradient, what probes see, and what follows it. The rounding is that of harness/train/agreement.py.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args, get_origin

import torch
from torch import Tensor

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.declare.configuration import OPTIMIZERS, PRECISIONS, SCHEDULES, SamplingName
from folklore.harness.train.agreement import MOMENT, OF_THE_LANE, UNITS, UPDATE
from folklore.harness.train.hessian import TOLERANCE
from folklore.harness.train.optimizers import optimizer_kind
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.precisions import precision_named
from folklore.harness.train.probes import PROBES
from folklore.harness.train.schedules import schedule_named
from folklore.harness.train.starting import LaneState
from folklore.harness.train.workloads.data import Dataset, load
from folklore.harness.train.workloads.own.finding import find
from tests.harness.helpers import markov

State = dict[str, Tensor]
Parts = Sequence[tuple[Pack, Sequence[int]]]  # packs, and the numbers that their lanes have in the whole one

GPT = Workload(width=8, depth=1, heads=2, context=8)
MLP = Workload(model="mlp", dataset="digits", width=8, depth=1)
DEEP = Workload(model="mlp", dataset="digits", width=8, depth=2)
CNN = Workload(model="cnn", dataset="digits", width=8, depth=1)
FEW = {"probes": 3, "evaluations": 2, "evaluation_examples": 8, "final_examples": 8}
# Lanes whose gradients are finite in one pack and not in the other: at the edge of FP16 a matter of rounding.
MOST_DOUBTS = 2
# Settings of probes that look at any network. Those with a case of their own ask for Adam, a text or ReLUs, or take long.
OWN_CASES = {"sharpness", "preconditioned_sharpness", "dead_units", "token_rows"}
PLAIN_PROBES = {probe.setting for probe in PROBES if probe.setting} - {f"measurement.{name}" for name in OWN_CASES}


def lane(workload: Workload = MLP, seed: int = 0, measurement: Mapping[str, Any] | None = None, **training: Any) -> Lane:
    """A trial of 12 steps on small batches if nothing else is asked for."""
    settings = Training.model_validate({"steps": 12, "batch_size": 6, "peak_lr": 2.0**-6, **training})
    looks = Measurement.model_validate({**FEW, **(measurement or {})})
    configuration = Configuration(workload=workload, training=settings, measurement=looks)
    return Lane(configuration, seed, None if settings.starts_from is None else _checkpoint(workload, seed, settings))


@cache
def _checkpoint(workload: Workload, seed: int, settings: Training) -> LaneState:
    """The checkpoint of a trial by the same settings, from initialization: of a few steps, or of more than a short draw."""
    first = settings.model_dump(exclude={"starts_from", "start_fraction", "start_state"})
    return trained(lane(workload, seed, **{**first, "steps": 7 if settings.starts_from == "one" else 20})).lane_state(0)


def dataset_of(workload: Workload) -> Dataset:
    """Markov text in place of the documents that a GPT reads, else the workload's dataset."""
    return markov() if workload.dataset == Workload().dataset else load(workload.dataset)


def pack(*lanes: Lane, data: Dataset | None = None, **options: Any) -> Pack:
    """A pack on the lanes' dataset if no other is given."""
    return Pack(lanes, data or dataset_of(lanes[0].configuration.workload), **options)


def trained(*lanes: Lane, data: Dataset | None = None) -> Pack:
    made = pack(*lanes, data=data)
    made.advance()
    return made


def state_of(made: Pack) -> State:
    """A copy of all that a checkpoint keeps."""
    return {name: tensor.detach().clone() for name, tensor in made.state().items()}


def assert_equal(ours: State, theirs: State) -> None:
    """To the last bit, but for the seconds that it took."""
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"progress"}:
        assert torch.equal(ours[name].nan_to_num(), theirs[name].nan_to_num()), name


def assert_interrupted_is_whole(lanes: Sequence[Lane], stops: Sequence[int], data: Dataset | None = None) -> None:
    """A run that goes on in another pack from what was kept after each of these steps ends with all that the whole one has."""
    whole, kept = pack(*lanes, data=data), {}
    while not whole.done:
        whole.advance(0.0)
        if whole.step in stops:
            kept[whole.step] = state_of(whole)
    assert list(kept) == sorted(stops)
    for step, state in kept.items():
        resumed = pack(*lanes, data=data)
        assert resumed.load(state)
        assert resumed.step == step
        resumed.advance()
        assert_equal(resumed.state(), whole.state())


# ---- packs beside each other, phase by phase


def assert_parts_agree(whole: Pack, parts: Parts) -> None:
    """At every step of a pack's training other packs, which hold some of its lanes, do what it does."""
    doubts_K = torch.zeros(len(whole.lanes))
    for part, numbers in parts:
        _assert_close(whole, part, numbers, part.state())  # where they start, and the LRs that they are to have
    _compared(whole, parts, lambda made: made._evaluate())
    while not whole.done:
        _compared(whole, parts, _precede)
        _assert_steps_agree(whole, parts, doubts_K)
        _compared(whole, parts, _follow)
    assert (doubts_K <= MOST_DOUBTS).all(), "lanes skip other updates"


def _precede(made: Pack) -> None:
    made._draw()
    made.network.step = made.step
    made.procedure.before(made.step)


def _follow(made: Pack) -> None:
    made._follow()


def _stepped(made: Pack, given_KP: Tensor | None = None) -> Tensor:
    """Makes a step, by a given gradient if there is one; returns its own gradient before clipping, [K, P]."""
    gradients: list[Tensor] = []
    learn = made.learner.learn

    def noted(gradient_KP: Tensor) -> None:
        gradients.append(gradient_KP.detach().clone())
        learn(gradient_KP if given_KP is None else given_KP)

    made.learner.learn = noted  # type: ignore[method-assign]
    row = made._probe_index.get(made.step)
    made._plain_step() if row is None else made._probed_step(row)
    del made.learner.learn  # type: ignore[method-assign]
    return gradients[0]


def _compared(whole: Pack, parts: Parts, phase: Callable[[Pack], object]) -> None:
    """Pass a phase between two steps in all packs from the state of the whole one, and compare what it leaves."""
    before = state_of(whole), whole.step, int(whole.clock)
    phase(whole)
    for part, numbers in parts:
        _take(part, numbers, *before)
        phase(part)
        _assert_close(whole, part, numbers, part.state())


def _assert_steps_agree(whole: Pack, parts: Parts, doubts_K: Tensor) -> None:
    """If gradients agree, all packs learn from the whole pack's: what an optimizer makes of rounding is another matter."""
    before = state_of(whole)
    ours_KP = _stepped(whole)
    for part, numbers in parts:
        _take(part, numbers, before, whole.step, whole.step)
        given_KP = ours_KP[list(numbers)]
        theirs_KP = _stepped(part, given_KP.clone())
        at_odds_K = theirs_KP.isfinite().all(dim=1) != given_KP.isfinite().all(dim=1)
        doubts_K[list(numbers)] += at_odds_K
        _assert_gradients_agree(whole, given_KP, theirs_KP, ~at_odds_K)
        _assert_learned(whole, part, numbers, before["weights"])
        _assert_close(whole, part, numbers, {name: tensor for name, tensor in part.state().items() if _is_seen(name)})


def _assert_gradients_agree(whole: Pack, ours_KP: Tensor, theirs_KP: Tensor, lanes_K: Tensor) -> None:
    """Gradients agree by the largest entry of each layer and lane: what cancels in a layer was rounded before."""
    known = precision_named(whole.training.precision)
    vectors_P = torch.where(whole.network.decays_P > 0, 1.0, known.of_vectors)
    sizes_KP = _by_layer(whole, theirs_KP) + OF_THE_LANE * theirs_KP.abs().amax(dim=1, keepdim=True)
    lanes_K = lanes_K & theirs_KP.isfinite().all(dim=1)
    off_KP = (ours_KP - theirs_KP).abs() - known.gradient * vectors_P * sizes_KP
    assert bool((off_KP[lanes_K] <= 0).all()), (
        f"step {whole.step}: a gradient is off by {float(off_KP[lanes_K].max()):.2g} more"
    )


def _assert_learned(whole: Pack, part: Pack, numbers: Sequence[int], old_KP: Tensor) -> None:
    """Both packs made the same of equal gradients, up to rounding in FP32."""
    state = whole.state()
    for name, theirs in part.state().items():
        if not name.startswith(("weights", "optimizer.", "scaler.")):
            continue
        theirs, ours = theirs.detach(), state[name].detach()[list(numbers)]
        tolerance = torch.zeros(()) if name.startswith("scaler.") else MOMENT * _by_layer(whole, theirs)
        if name == "weights":
            before_KP = old_KP[list(numbers)]
            sizes_KP = _by_layer(whole, theirs - before_KP)
            tolerance = UPDATE * sizes_KP + UNITS * torch.maximum(theirs.abs(), before_KP.abs())
        off = (ours - theirs).abs() - tolerance
        assert bool(((off <= 0) | (ours.isnan() & theirs.isnan())).all()), f"step {whole.step}: {name} is off"


def _by_layer(made: Pack, values_KP: Tensor) -> Tensor:
    """The largest absolute value of each entry's layer in its lane, [K, P]."""
    layers = torch.split(values_KP.abs(), made.network.layer_sizes, dim=1)
    return torch.cat([layer.amax(dim=1, keepdim=True).expand_as(layer) for layer in layers], dim=1)


def _is_seen(name: str) -> bool:
    """Whether a tensor is measured and not learned."""
    return name.startswith(("record.", "probe."))


def _assert_close(whole: Pack, part: Pack, numbers: Sequence[int], theirs: State) -> None:
    """Measured or remembered values agree by the largest number of their lane: squares of gradients, and differences of two of
    them, err by a few times a gradient's error. In narrow formats only the losses are comparable."""
    known, state, lanes_K = precision_named(part.training.precision), whole.state(), torch.tensor(numbers)
    for name, their in theirs.items():
        if name == "progress":
            continue
        our, their = state[name].detach().index_select(_axis(name, their), lanes_K), their.detach()
        same = (our == their) | (our.isnan() & their.isnan())
        if bool(same.all()):
            continue
        our, their = our.double(), their.double()
        tolerance = 16 * known.gradient * _by_lane(name, their)
        if name.endswith("_loss") or "token_loss" in name:
            tolerance = known.loss * their.abs().clamp(min=1.0)
        elif "underflow" in name:
            # Shares of entries. Gradients of a GPT's biases of keys are rounding alone, on either side of any edge.
            tolerance = torch.tensor((part.lanes[0].configuration.workload.width + 2) / part.network.flat_KP.shape[1])
        elif name.endswith("_residual"):
            tolerance = torch.tensor(2 * TOLERANCE)
        elif name.startswith(("probe.", "record.probe_")) and known.gradient > 2**-12:
            continue
        close = same | ((our - their).abs() <= tolerance)
        assert bool(close.all()), f"step {whole.step}: {name} is {our[~close][:3].tolist()}, and {their[~close][:3].tolist()}"


def _by_lane(name: str, values: Tensor) -> Tensor:
    """The largest absolute value of each lane, in a shape that fits the values."""
    if values.ndim == 0 or not values.numel():
        return torch.zeros(())
    axis = _axis(name, values)
    rest = [side for side in range(values.ndim) if side > axis]
    finite = values.abs().nan_to_num(posinf=0.0)
    return finite.amax(dim=rest, keepdim=True) if rest else finite


def _axis(name: str, values: Tensor) -> int:
    """The axis of a state's tensor that counts lanes."""
    return int(name == "lr" or (name.startswith("record.") and values.ndim > 1))


def _take(part: Pack, numbers: Sequence[int], state: State, step: int, clock: int) -> None:
    """Give a pack the state that its lanes have in the whole one."""
    lanes_K = torch.tensor(numbers)
    for name, tensor in part.state().items():
        if name != "progress":
            tensor.detach().copy_(state[name].index_select(_axis(name, tensor), lanes_K))
    part.step = step
    part.clock.fill_(clock)


# ---- cases: every setting that a training can have, each beside others


def tried(settings: Iterable[str]) -> dict[str, Any]:
    """Field -> a value beside its default, of those, such as "training.ramp_start", that are a flag, a number or a choice."""
    values = {}
    for part, name in (setting.split(".") for setting in settings):
        known = {"training": Training, "measurement": Measurement}[part].model_fields[name]
        choices = get_args(known.annotation) if get_origin(known.annotation) is Literal else (False, True)
        if isinstance(known.default, bool | str):
            values[name] = next(choice for choice in choices if choice != known.default)
        elif isinstance(known.default, int | float):
            values[name] = known.default + 1 if isinstance(known.default, int) else (known.default or 0.2) / 2
    return values


# Fields of one optimizer or schedule: what asks for them, and a value beside the default.
OWN_FIELDS = {
    field: ({kind: name}, value)
    for kind, names, part_named in (("optimizer", OPTIMIZERS, optimizer_kind), ("schedule", SCHEDULES, schedule_named))
    for name in names
    for field, value in tried(part_named(name).settings).items()
}

# Settings of the three lanes of every case: fields that an optimizer does not know do no harm.
LANES: tuple[Mapping[str, Any], ...] = (
    {"seed": 3, "peak_lr": 2.0**-6},
    {"seed": 4, "peak_lr": 2.0**-5, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3, "momentum": 0.5, "clip_norm": 0.5,
     "trust_coefficient": 0.02, "hessian_factor": 1.0, "weight_decay": 0.3},
    {"seed": 4, "peak_lr": 2.0**-7, "warmup_fraction": 0.3, "second_moment_start": "first_gradient", "weight_decay": 0.0},
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Lanes that share a pack. own: what each has for itself, beside LANES. stops: where it is interrupted."""

    workload: Workload = DEEP
    shared: Mapping[str, Any] = field(default_factory=dict)
    own: Sequence[Mapping[str, Any]] = ({}, {}, {})
    measurement: Mapping[str, Any] = field(default_factory=dict)
    stops: Sequence[int] = (4,)

    def lanes(self, **measurement: Any) -> list[Lane]:
        settings = [{"steps": 6, **LANES[number % 3], **self.shared, **own} for number, own in enumerate(self.own)]
        looks = {**self.measurement, **measurement}
        return [lane(self.workload, measurement=looks, **chosen) for chosen in settings]


def _workload(base: Workload, **fields: Any) -> Workload:
    return Workload.model_validate({**base.model_dump(), **fields})


def own(name: str) -> Workload:
    return find(f"tests.harness.train.own_workloads:{name}").declared


SGD = {"optimizer": "sgd"}
DIGITS = 1079
OF_MODELS = {
    "gpt": Case(GPT),
    "mlp": Case(MLP, SGD),
    "cnn": Case(CNN),
    "linear": Case(Workload(model="linear", dataset="regression:4"), SGD, own=({}, {"fault": "gradient"}, {})),
    "quadratic": Case(Workload(model="quadratic", dataset="quadratic:4"), SGD),
    "own, packed": Case(own("perceptron")),
    "own, summed": Case(own("summed"), SGD),
    "own, summed in micro-batches": Case(own("padded"), {**SGD, "micro_batches": 2}),
    "own, with buffers": Case(own("batch_norm"), SGD, own=({},)),
    "own, with random numbers": Case(own("dropout"), SGD, own=({},)),
}
OF_WORKLOADS = {
    "mup, norm after": Case(_workload(GPT, norm_placement="post", parametrization="mup", base_width=4, zero_readout=True)),
    "norm and residual": Case(_workload(DEEP, norm="layer", residual=True, activation="gelu"), SGD),
    "squared error": Case(_workload(CNN, loss="squared_error", label_noise=0.3, training_set_size=40), SGD),
}
OF_OPTIMIZERS = {
    f"optimizer {name}": Case(shared={"optimizer": name}, own=({}, {**tried(optimizer_kind(name).settings), **LANES[1]}, {}))
    for name in OPTIMIZERS
} | {
    "parts of adam": Case(
        shared={"optimizer": "adam"},
        own=({"bias_correction": False}, {"ramp": "held"}, {"scaled_parameter": "hidden.*", "scaled_lr": 3.0}),
    ),
    "an sgd that takes over": Case(
        shared={"optimizer": "adam"}, own=({"sgd_from": 0.5, "sgd_lr": 4.0}, {}, {"sgd_from": 0.7}), stops=(2, 5)
    ),
    "outliers": Case(
        GPT,
        {"beta1": 0.5, "steps": 16},
        own=[{"outlier": kind} for kind in ("whole", "memory", "kick")],
        stops=(5, 9),
    ),
}
OF_SCHEDULES = {
    "schedules": Case(
        shared={**SGD, "nesterov": True, "steps": 20, "peak_lr": 0.5},
        own=[
            {**tried(schedule_named(name).settings),
             "schedule": name, "warmup_fraction": 0.1 * (number % 2), "final_fraction": 0.05 * number, "patience": number // 6,
             "decay_fraction": 0.1 + 0.05 * number, "step_drops": (0.3, 0.5 + 0.05 * number), "ramp_start": 0.1 / (1 + number),
             "step_factor": 0.2 + 0.05 * number}
            for number, name in enumerate(SCHEDULES)
        ],
        measurement={"evaluations": 10},
    ),
}  # fmt: skip
OF_PRECISIONS = {f"precision {name}": Case(GPT, {"precision": name}) for name in PRECISIONS} | {
    "precision fp16": Case(
        GPT, {"precision": "fp16", "loss_scaling": "static"}, own=[{"loss_scale": 2.0**power} for power in (4, 6, 8)]
    ),
    "dynamic scaling": Case(
        GPT,
        {"precision": "fp16", "loss_scaling": "dynamic", "steps": 10},
        own=({"loss_scale": 2.0**8}, {"loss_scale": 2.0**30}, {"loss_scale": 2.0**24}),
    ),
}
OF_PROCEDURES = {f"sampling {name}": Case(shared={**SGD, "sampling": name, "steps": 20}) for name in get_args(SamplingName)} | {
    # Over the ends of an epoch, after 12 steps, and of a short draw, after 16.
    "sampling epochs": Case(shared={"sampling": "epochs", "batch_size": 90, "steps": 20}, stops=(7, 14)),
    "sampling full": Case(shared={**SGD, "sampling": "full", "batch_size": DIGITS}),
    "micro-batches of a text's epochs": Case(GPT, {"sampling": "epochs", "micro_batches": 3, "clip_norm": 0.5}),
    "a ramp of the batch": Case(
        shared={"batch_ramp": (0.4, 0.7), "batch_ramp_factor": 2.0, "warmup_fraction": 0.1, "steps": 10}
    ),
    "a ramp in epochs and micro-batches": Case(
        # 20 batches of 30, over the end of a short draw, and 5 of 120, over that of an epoch.
        shared={"sampling": "epochs", "batch_size": 30, "micro_batches": 2, "batch_ramp": (0.5,), "steps": 25},
        stops=(18, 22),
    ),
    "a training set for each seed": Case(
        _workload(MLP, training_set="drawn", training_set_size=12),
        {**SGD, "sampling": "epochs"},
        measurement={"test_examples": 30},
    ),
    "full in micro-batches": Case(shared={**SGD, "sampling": "full", "batch_size": DIGITS, "micro_batches": 13}),
    "augmentation": Case(CNN, own=({}, {"augmentation": "shift"}, {"augmentation": "flip_and_shift", "shift_pixels": 3})),
    **{
        f"dropout of {base.model}": Case(base, {"micro_batches": 2}, own=({"dropout": 0.3}, {}, {"dropout": 0.6}))
        for base in (GPT, MLP, CNN)
    },
    "faults and remedies": Case(
        shared={"steps": 16},
        own=(
            {"fault": "gradient", "remedy": "skip", "fault_fraction": 0.4},
            {"fault": "weights", "remedy": "roll_back", "fault_size": 0.5},
            {"remedy": "lower_lr", "alarm": "deviations"},
        ),
        measurement={"gradient_norms": True},
        stops=(5, 7, 12),
    ),
    "faulty labels": Case(GPT, own=({"fault": "labels", "fault_steps": 2}, {}, {"remedy": "halve_lr", "fault": "labels"})),
    "tasks": Case(
        _workload(DEEP, tasks=5, scenario="domain"),
        {"steps": 15},
        own=({"task_order": "joint"}, {}, {"layer_lr_decay": 0.5, "later_lr": 0.5}),
        stops=(4, 9),
    ),
    "consolidation": Case(
        _workload(DEEP, tasks=5),
        {"steps": 15, "micro_batches": 2},
        # With clipping the compiler for CPUs raises a KeyError (pytorch/pytorch#188228): eager steps.
        own=({"consolidation": 10.0, "replay": 0.3}, {"clip_norm": None}, {"consolidation": 1e4}),
        stops=(4, 9),
    ),
    "consolidation of texts": Case(
        _workload(GPT, dataset="python-docs+python-source", tasks=2), own=({"consolidation": 1e4, "replay": 0.3}, {}, {})
    ),
    "adapters": Case(_workload(DEEP, tasks=2, scenario="task", adapter_rank=2), own=({}, {}, {"later_lr": 2.0}), stops=(2, 5)),
    "tasks of texts": Case(
        _workload(GPT, dataset="python-docs+python-source", tasks=2, adapter_rank=2), own=({"replay": 0.5}, {}, {})
    ),
    "recomputation": Case(GPT, {"recompute_segments": 1, "micro_batches": 2}),
    "sophia in micro-batches": Case(GPT, {"optimizer": "sophia", "micro_batches": 2}),
}
OF_STARTS = {
    "starts": Case(
        shared={"dropout": 0.2},
        own=(
            {"starts_from": "one", "start_state": "optimizer"},
            {"data_order": 2, "sgd_from": 0.6},
            {"starts_from": "another", "start_fraction": 0.5, "data_order": 1},
        ),
    ),
    "starts that are gone back to": Case(
        shared={"starts_from": "one", "steps": 10},
        own=({"fault": "weights", "remedy": "roll_back", "fault_fraction": 0.3}, {"start_state": "optimizer"}, {}),
        stops=(2, 6),
    ),
}
OF_MEASUREMENTS = {
    "token rows": Case(GPT, {"steps": 20, "batch_size": 16}, measurement={"token_rows": True, "probes": 6}, stops=(3, 12)),
    "gradient flow and dead units": Case(
        _workload(DEEP, depth=3), measurement={"gradient_flow": True, "dead_units": True, "flow_examples": 200}, stops=(2, 5)
    ),
    "sharpness": Case(
        shared={"optimizer": "adam", "peak_lr": 0.01},
        measurement={"sharpness": "probes", "preconditioned_sharpness": True, "sharpness_examples": 64},
    ),
    "sharpness at the end": Case(GPT, SGD, measurement={"sharpness": "end", "sharpness_examples": 16}),
    "training and test examples": Case(GPT, measurement={"training_examples": 40, "test_examples": 30}),
    "whatever a network shows": Case(GPT, measurement={"flow_examples": 16, **tried(PLAIN_PROBES)}),
}
CASES: dict[str, Case] = (
    OF_MODELS | OF_WORKLOADS | OF_OPTIMIZERS | OF_SCHEDULES | OF_PRECISIONS | OF_PROCEDURES | OF_STARTS | OF_MEASUREMENTS
)
# An own module is not known to be safe to capture, no compiler follows what is computed again, and torch looks at the numbers
# that it makes one-hot on a CPU, where nothing is captured.
CAPTURED = {
    name: case
    for name, case in CASES.items()
    if case.workload.model != "own" and not case.shared.get("recompute_segments") and case.workload.loss == "cross_entropy"
}
