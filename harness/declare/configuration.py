"""The configuration of one trial: what it trains, how, and what is measured on the way. All defaults of training stand here."""

import sys
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from .base import Mark, Spec, Unit, canonical_json, marked
from .own_address import OWN, OwnAddress
from .registry import module_names, registered

MODELS = module_names("train/workloads/architectures")
OPTIMIZERS = module_names("train/optimizers")
SCHEDULES = module_names("train/schedules")
PRECISIONS = module_names("train/precisions")
if TYPE_CHECKING:
    ModelName = str
    OptimizerName = str
    ScheduleName = str
    PrecisionName = str
else:
    ModelName = Literal[(*MODELS, OWN)]
    OptimizerName, ScheduleName, PrecisionName = Literal[(*OPTIMIZERS, OWN)], Literal[SCHEDULES], Literal[PRECISIONS]
PER_LANE, COSTS_NOTHING = Mark.PER_LANE, Mark.COSTS_NOTHING
# Marks of fields beside their types: `peak_lr: PerLane[float]`.
Type = TypeVar("Type")
PerLane = Annotated[Type, PER_LANE]
Costless = Annotated[Type, COSTS_NOTHING]
Whole = Annotated[int, Field(strict=True)]


def _rising(shares: tuple[float, ...], field: ValidationInfo) -> tuple[float, ...]:
    if any(not 0 < share < 1 for share in shares) or list(shares) != sorted(set(shares)):
        raise ValueError(f"{field.field_name} = {shares}: must rise, each inside (0, 1)")
    return shares


Shares = Annotated[tuple[float, ...], AfterValidator(_rising)]
Steps = Annotated[int, Unit("steps"), Field(le=10_000_000, strict=True)]
Examples = Annotated[int, Unit("sequences or examples"), Field(le=1_000_000_000, strict=True)]
# The smallest normal number and the largest.
SMALLEST_FP32, LARGEST_FP32 = 2.0**-126, (2 - 2.0**-23) * 2.0**127
# Kinds of datasets whose targets are numbers (harness/train/workloads/data/synthetic.py).
OF_NUMBERS = ("quadratic", "regression")
SQUARED_ERROR = "half the squared error"
SamplingName = Literal["replacement", "epochs", "full"]


def data_name(dataset: str, tokenizer: str = "bytes", **_: object) -> str:
    """The name that tells data apart within a study, from the fields of a workload."""
    return dataset if tokenizer == "bytes" else f"{dataset} in {tokenizer}"


class Workload(Spec):
    """A model and the data it is trained on. `heads`, `base_heads`, `base_depth` and `context` matter to a GPT alone,
    `feature_scale` and `label_noise` to the others.
    """

    FIRST_FIELDS = frozenset(
        ("model", "dataset", "width", "depth", "heads", "context", "parametrization", "base_width", "zero_readout")
    )

    model: ModelName = Field(
        default="gpt",
        description="linear and quadratic are known in closed form, own is a user's (folklore run --workload); the others have"
        " a width and a depth",
    )
    dataset: str = "python-docs"
    width: Whole = Field(default=32, ge=1, le=1_000_000)
    depth: Whole = Field(default=2, ge=1, le=1000)
    heads: Whole = Field(default=2, ge=1, le=10_000)
    context: Annotated[Whole, Unit("tokens")] = Field(default=32, ge=2, le=10_000_000, description="tokens a sequence")
    parametrization: Literal["standard", "mup"] = "standard"
    base_width: Whole = Field(
        default=32, ge=1, le=1_000_000, description="muP: the width at which both parametrizations are the same"
    )
    base_heads: Costless[int | None] = Field(
        default=None,
        ge=1,
        le=10_000,
        strict=True,
        description="muP: heads at the base width; none: as many as heads, so that a wider model has larger heads and not more",
    )
    base_depth: Whole | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="depth rule of a gpt (CompleteP, Dey et al. 2025): its blocks add base_depth / depth of what they compute"
        " to the stream, and start as at this depth; none: the whole",
    )
    zero_readout: bool = Field(default=False, description="start the readout at zero")
    activation: Literal["relu", "gelu", "tanh", "sigmoid"] = Field(
        default="relu", description="of an mlp's hidden layers, which start with the gain that suits it"
    )
    norm: Literal["none", "layer"] = Field(
        default="none", description="of an mlp, before each activation; 'layer': over the units, with gain and bias"
    )
    residual: bool = Field(
        default=False,
        description="an mlp's hidden matrices, but for the first, add to a stream that they read through norm and activation",
    )
    init_gain: float | None = Field(
        default=None, gt=0, description="gain of an mlp's hidden matrices at the start; none: the one that suits the activation"
    )
    norm_placement: Literal["pre", "post"] = Field(
        default="pre",
        description="of a gpt; 'pre': x + f(norm(x)), and a norm before the readout; 'post': norm(x + f(x)), as at first",
    )
    feature_scale: Costless[float] = Field(
        default=1.0, gt=0, description="what the features are multiplied by, as if not normalized"
    )
    label_noise: Costless[float] = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of the training labels that are drawn at random, once; raises gradient noise",
    )
    training_set_size: Costless[int | None] = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        strict=True,
        description="train on only the first n examples of the training split, of a text tokens; none: the whole split",
    )
    training_set: Costless[Literal["first", "drawn"]] = Field(
        default="first",
        description="which n examples training_set_size means; 'drawn': each seed draws its own at random, so that what other"
        " examples would change is a part of the noise between seeds",
    )
    loss: Literal["cross_entropy", "squared_error"] = Field(
        default="cross_entropy",
        description="of an mlp's or cnn's classes; 'squared_error': half the squared distance from the one-hot target, summed"
        " over classes (Cohen et al. 2021)",
    )
    tasks: Whole = Field(
        default=1,
        ge=1,
        le=1000,
        description="of an mlp's or cnn's classes, which are split in their order into this many tasks of one size, or the"
        " texts of a gpt, joined by + in its dataset; they are trained one after another, for as many steps each",
    )
    scenario: Literal["class", "domain", "task"] = Field(
        default="class",
        description="how the classes of several tasks compete (van de Ven & Tolias 2019); 'class': all with each other;"
        " 'domain': each task numbers its own from 0, and they share a readout; 'task': only those of an example's task",
    )
    adapter_rank: Whole = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="rank of adapters beside an mlp's matrices or those of a gpt's blocks, which alone are trained from the"
        " second task on (Hu et al. 2021); 0: none",
    )
    tokenizer: Literal["bytes", "bpe-512"] = Field(
        default="bytes",
        description="of a gpt's text; 'bpe-512': byte-level BPE with 512 tokens, trained on python-packages, two bytes a token"
        " of Python; losses are then of another unit than those of bytes",
    )

    @property
    def data(self) -> str:
        """The name of its data in a plan: the dataset, and the tokenizer if it is another than bytes."""
        return data_name(self.dataset, self.tokenizer)

    @property
    def own(self) -> OwnAddress | None:
        """Where it is found if it is a user's own."""
        return OwnAddress.parse(self.dataset) if self.model == OWN else None

    @model_validator(mode="after")
    def _own_is_found(self) -> Self:
        if self.model == OWN and self.own is None:
            raise ValueError(
                f"dataset = {self.dataset}: with model = {OWN} it is {OWN}:MODULE:ATTRIBUTE@IDENTITY, as --workload writes it"
            )
        return self

    @model_validator(mode="after")
    def _model_has_what_is_set(self) -> Self:
        if self.model_fields_set:  # the defaults are made while this package is imported, which the check imports
            registered("check of models", "train/workloads", "check", "architectures")(self)
        return self

    @property
    def squares(self) -> bool:
        """Whether its loss is half a squared error, which has no unit, and no cross-entropy in nats."""
        return self.loss == "squared_error" or self.dataset.partition(":")[0] in OF_NUMBERS


# Former fields of a training that no study set, and what they were: stored declarations name them.
FORMER = {
    "outlier_fraction": 0.5,
    "outlier_size": 1000.0,
    "remedy_steps": 20,
    "fisher_examples": 64,
    "hessian_every": 10,
    "scale_growth_interval": 2000,
}


class Training(Spec):
    """One training run. Betas, epsilon and decay follow common practice for language models."""

    FIRST_FIELDS = frozenset((
        "optimizer", "peak_lr", "schedule", "warmup_fraction", "final_fraction", "step_drops", "step_factor", "decay_fraction",
        "batch_size", "steps", "beta1", "beta2", "epsilon", "second_moment_start", "momentum", "nesterov", "weight_decay",
        "clip_norm", "precision",
    ))  # fmt: skip

    optimizer: OptimizerName = "adamw"
    peak_lr: PerLane[float] = Field(default=2.0**-8, gt=0)
    schedule: PerLane[ScheduleName] = "cosine"
    warmup_fraction: PerLane[float] = Field(default=0.05, ge=0, lt=1, description="share of the steps in the linear ramp")
    ramp: PerLane[Literal["linear", "held"]] = Field(
        default="linear",
        description="'held': the LR is zero during warmup, then at its peak at once; of Adam's moments only the second forms",
    )
    final_fraction: PerLane[float] = Field(default=0.1, ge=0, le=1, description="last LR as a share of the peak")
    step_drops: PerLane[Shares] = Field(default=(0.5, 0.75), description="shares of the run after warmup; schedule 'step'")
    step_factor: PerLane[float] = Field(
        default=0.1, gt=0, le=10, description="each drop's factor (above 1: a rise); schedules 'step' and 'reduce_on_plateau'"
    )
    decay_fraction: PerLane[float] = Field(
        default=0.2, gt=0, le=1, description="share of the run that decays; 'warmup_stable_decay'"
    )
    ramp_start: PerLane[float] = Field(
        default=1e-6, gt=0, lt=1, description="first LR as a share of the last; schedule 'exponential'"
    )
    patience: PerLane[Annotated[Whole, Unit("evaluations")]] = Field(
        default=4,
        ge=0,
        le=1_000_000,
        description="evaluations without improvement before a drop; schedule 'reduce_on_plateau'",
    )
    batch_size: Annotated[Whole, Unit("sequences or examples")] = Field(
        default=8, ge=2, le=100_000_000, description="sequences a step"
    )
    batch_ramp: Shares = Field(
        default=(),
        description="shares of the run's examples after which the batch is multiplied by batch_ramp_factor; schedules,"
        " evaluations and probes then follow the share of the examples, too, and steps are as many as are taken in all",
    )
    batch_ramp_factor: float = Field(
        default=4.0, gt=0, le=1_000_000, description="what the batch is multiplied by at each share of batch_ramp"
    )
    micro_batches: Whole = Field(
        default=1,
        ge=1,
        le=100_000_000,
        description="equal parts of a batch whose gradients are summed one after another, so that a step holds the activations"
        " of one; divides batch_size, and a batch that was ramped up comes in more parts of that size",
    )
    recompute_segments: Whole = Field(
        default=0,
        ge=0,
        le=10_000,
        description="stretches of the model's blocks whose activations are computed again in the backward pass, so that a step"
        " holds their inputs and those of one stretch; 0: all are kept",
    )
    sampling: Costless[SamplingName] = Field(
        default="replacement",
        description="'replacement': every batch is drawn from all training examples (of a text: from all its windows);"
        " 'epochs': every example once an epoch, in a random order (of a text: windows side by side, from a random start);"
        " 'full': all examples at every step, and batch_size is their number",
    )
    steps: Costless[Steps] = Field(default=300, ge=2)
    beta1: PerLane[float] = Field(default=0.9, ge=0, lt=1)
    beta2: PerLane[float] = Field(default=0.999, ge=0, lt=1)
    epsilon: PerLane[float] = Field(default=1e-8, ge=0)
    second_moment_start: PerLane[Literal["zero", "first_gradient"]] = Field(
        default="zero", description="'first_gradient': v starts at the first squared gradient; Adam's bias correction stays"
    )
    bias_correction: PerLane[bool] = Field(
        default=True, description="whether Adam's moments are divided by 1 - beta^t; adam, adamw, lamb and muon"
    )
    momentum: PerLane[float] = Field(default=0.9, ge=0, lt=1, description="sgd, sgdw, rmsprop, lars and muon")
    nesterov: Costless[bool] = Field(default=False, description="sgd, sgdw and muon")
    trust_coefficient: PerLane[float] = Field(
        default=0.001, gt=0, description="of LARS: the size of a weight's update over the weight's, at an LR of 1"
    )
    hessian_factor: PerLane[float] = Field(
        default=0.05, gt=0, description="of Sophia (its gamma): what the curvature is multiplied by before momentum is divided"
    )
    weight_decay: PerLane[float] = Field(
        default=0.1, ge=0, description="decoupled or in the gradient (L2), as the optimizer has it"
    )
    independent_decay: PerLane[bool] = Field(
        default=False,
        description="weights shrink by weight_decay a step at the schedule's peak, whatever peak_lr and what muP multiplies it"
        " by (Wortsman et al. 2023, Kosson et al. 2025), and not by the LR times weight_decay; adamw, radam and muon",
    )
    clip_norm: PerLane[float | None] = Field(default=None, gt=0, description="largest global gradient norm; none: no clipping")
    dropout: PerLane[float] = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="chance of an activation to be dropped in training: after an mlp's hidden layers, between the convolutions"
        " of a cnn's blocks, where a gpt's blocks and its embedding add to the stream",
    )
    augmentation: PerLane[Literal["none", "shift", "flip_and_shift"]] = Field(
        default="none",
        description="'shift': every training image is moved by up to shift_pixels in both directions, at each step again, and"
        " what comes in is black; 'flip_and_shift': half of them are mirrored, too",
    )
    shift_pixels: PerLane[Annotated[Whole, Unit("pixels")]] = Field(
        default=1, ge=1, le=1000, description="of augmentation: the largest shift; all up to it are as likely"
    )
    sgd_from: PerLane[float] = Field(
        default=1.0, gt=0, le=1, description="share of the steps after which SGD with momentum takes over from Adam; 1: never"
    )
    sgd_lr: PerLane[float] = Field(
        default=1.0, gt=0, description="what the LR of the schedule is multiplied by once SGD has taken over"
    )
    precision: PrecisionName = Field(
        default="fp32", description="of products and activations; weights are kept in fp32, unless it names them"
    )
    loss_scaling: Literal["none", "static", "dynamic"] = "none"
    loss_scale: PerLane[float] = Field(default=2.0**16, gt=0, description="static: the scale; dynamic: where it starts")

    outlier: PerLane[Literal["none", "whole", "memory", "kick"]] = Field(
        default="none",
        description="the gradient half-way counts 1000 times, in Adam's two moments: 'whole'; 'memory': in the second"
        " alone, so that the weights are not moved by it; 'kick': in both, which forget it once it has moved the weights",
    )

    fault: PerLane[Literal["none", "labels", "gradient", "weights"]] = Field(
        default="none",
        description="what goes wrong after fault_fraction of the steps; 'labels': a batch's classes or tokens are drawn at"
        " random; 'gradient': it is fault_size times too large; 'weights': Gaussian noise is added to all weights, fault_size"
        " times their root mean square, whatever the batch",
    )
    fault_fraction: PerLane[float] = Field(default=0.5, gt=0, lt=1)
    fault_steps: PerLane[Steps] = Field(default=1, ge=1, description="steps in a row whose labels or gradients are bad")
    fault_size: PerLane[float] = Field(default=100.0, gt=0)
    remedy: PerLane[Literal["none", "skip", "roll_back", "lower_lr", "halve_lr"]] = Field(
        default="none",
        description="what is done at an alarm; 'skip': the step's update is undone; 'roll_back': the weights and what the"
        " optimizer keeps are those of the last checkpoint but one, and the data go on; 'lower_lr': the LR is halved and rises"
        " again over 20 steps; 'halve_lr': it is halved for good",
    )
    alarm: PerLane[Literal["oracle", "loss_ratio", "deviations"]] = Field(
        default="oracle",
        description="what gives an alarm; 'oracle': the last step of the fault; 'loss_ratio': a loss above twice the mean of"
        " the nine before it; 'deviations': a loss or gradient norm above its mean over the last 128 steps by more than 6"
        " standard deviations, or not finite (OLMo team 2025, skip step); set measurement.gradient_norms",
    )
    task_order: PerLane[Literal["sequence", "joint"]] = Field(
        default="sequence", description="of several tasks; 'joint': examples of all of them at every step"
    )
    replay: PerLane[float] = Field(
        default=0.0, ge=0, lt=1, description="share of the batches, on average, that is drawn from examples of earlier tasks"
    )
    consolidation: PerLane[float] = Field(
        default=0.0,
        ge=0,
        description="lambda of elastic weight consolidation: what half the squared distance from the weights after each earlier"
        " task, times their Fisher information, is multiplied by (Kirkpatrick et al. 2017, equation 3)",
    )
    later_lr: PerLane[float] = Field(default=1.0, ge=0, description="what the LR is multiplied by from the second task on")
    layer_lr_decay: PerLane[float] = Field(
        default=1.0,
        ge=0,
        le=1,
        description="from the second task on, each layer's LR over that of the layer above (Howard & Ruder 2018); 0: only the"
        " readout is trained",
    )

    scaled_parameter: PerLane[str | None] = Field(
        default=None,
        min_length=1,
        description="name of the parameters that learn at scaled_lr times the LR, such as embedding.token.weight; * stands for"
        " any characters; none: all learn at one LR",
    )
    scaled_lr: PerLane[float] = Field(
        default=1.0, gt=0, description="what the LR of scaled_parameter is multiplied by; decoupled weight decay goes with it"
    )

    starts_from: PerLane[str | None] = Field(
        default=None,
        min_length=1,
        description="an arm of the same study and scale: each trial starts from the checkpoint of that arm's trial of the same"
        " seed and factor values, of its only value where it has one; initial losses stay those of the untrained network; none:"
        " from initialization",
    )
    start_fraction: PerLane[float] = Field(
        default=1.0, gt=0, le=1, description="of starts_from: share of that trial's steps after which the checkpoint is taken"
    )
    start_state: PerLane[Literal["weights", "optimizer"]] = Field(
        default="weights",
        description="of starts_from: what is taken from the checkpoint; 'weights': with a module's buffers; 'optimizer': also"
        " what the optimizer keeps and its number of updates. Schedules begin again",
    )
    data_order: PerLane[Whole] = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="number of the order in which a seed sees the examples, and of what else training draws; with that of the"
        " trial it starts from, a trial goes on in its order, and with another begins that one",
    )

    @model_validator(mode="before")
    @classmethod
    def _former_fields_are_read(cls, fields: Any) -> Any:
        for name in FORMER.keys() & fields if isinstance(fields, dict) else ():
            if fields[name] != FORMER[name]:
                raise ValueError(f"{name} = {fields[name]}: is always {FORMER[name]} now, and no setting; leave it out")
            fields = {other: value for other, value in fields.items() if other != name}
        return fields

    @model_validator(mode="after")
    def _lanes_can_hold_it(self) -> Self:
        """The engine holds them in FP32, where more is infinite, and less zero."""
        per_lane = marked(type(self), PER_LANE)
        for name, value in self.__dict__.items():
            if isinstance(value, float) and value and name in per_lane and not SMALLEST_FP32 <= abs(value) <= LARGEST_FP32:
                raise ValueError(
                    f"{name} = {value:g}: FP32, in which it is trained, holds {SMALLEST_FP32:.3g} to {LARGEST_FP32:.3g}, or 0"
                )
        return self

    @property
    def decay_of_lr(self) -> float:
        """The factor by which the LR gives the share that decoupled decay takes off."""
        return self.weight_decay / self.peak_lr if self.independent_decay else self.weight_decay

    def start_step(self, steps: int) -> int:
        """After how many of a trial's steps the checkpoint is taken that this one starts from."""
        return max(1, round(self.start_fraction * steps))

    @property
    def sgd_step(self) -> int:
        """The first step, from 0, that SGD makes in Adam's place; the number of steps if there is none."""
        return round(self.sgd_from * self.steps)

    @property
    def faulty_steps(self) -> range:
        """The steps, from 0, at which something goes wrong; never the first."""
        first = max(1, round(self.fault_fraction * self.steps))
        return range(first, first + self.fault_steps) if self.fault != "none" else range(0)

    @property
    def steps_a_nominal_step(self) -> float:
        """Steps that a run takes for every step that one without a ramp of the batch would take for as many examples."""
        bounds = pairwise((0.0, *self.batch_ramp, 1.0))
        return sum((end - begin) / self.batch_ramp_factor**power for power, (begin, end) in enumerate(bounds))

    @property
    def batch_segments(self) -> tuple[tuple[int, int, int], ...]:
        """The first step, the one after the last, and the batch size of every stretch of steps of one batch size."""
        if not self.batch_ramp:
            return ((0, self.steps, self.batch_size),)
        bounds, done, firsts = (0.0, *self.batch_ramp, 1.0), 0.0, [0]
        for power, (begin, end) in enumerate(pairwise(bounds)):
            done += (end - begin) / self.batch_ramp_factor**power
            firsts.append(round(self.steps * done / self.steps_a_nominal_step))
        sizes = (round(self.batch_size * self.batch_ramp_factor**power) for power in range(len(bounds) - 1))
        return tuple((first, end, size) for (first, end), size in zip(pairwise(firsts), sizes, strict=True))

    @property
    def examples(self) -> int:
        """Examples, or sequences, that the whole run sees."""
        return sum((end - first) * batch for first, end, batch in self.batch_segments)

    @property
    def largest_batch_size(self) -> int:
        return max(batch for _, _, batch in self.batch_segments)

    @property
    def nominal_steps(self) -> float:
        """Steps that would see as many examples if the batch stayed as it begins."""
        return self.examples / self.batch_size if self.batch_ramp else self.steps

    def steps_for(self, examples: int) -> int:
        """Steps that see this many examples."""
        if not self.batch_ramp:
            return examples // self.batch_size
        return round(examples / self.batch_size * self.steps_a_nominal_step)

    def steps_at(self, part: int, parts: int) -> int:
        """Steps after which this many of equal parts of the run's examples are seen, to the nearest."""
        if not self.batch_ramp:
            return round(part * self.steps / parts)
        remaining = part * self.examples / parts
        for first, end, batch in self.batch_segments:
            if remaining <= (end - first) * batch:
                return first + round(remaining / batch)
            remaining -= (end - first) * batch
        return self.steps

    def batch_size_at(self, step: int) -> int:
        """The batch size of a step, from 0."""
        return next(batch for _, end, batch in self.batch_segments if step < end)

    @property
    def micro_batch_size(self) -> int:
        """Examples whose activations are held at once."""
        return self.batch_size // self.micro_batches if self.micro_batches > 1 else self.largest_batch_size

    @property
    def warmup_steps(self) -> int:
        """Steps below the peak; a positive fraction gives at least one."""
        return max(1, round(self.warmup_fraction * self.nominal_steps)) if self.warmup_fraction else 0


# Loss scales at which the underflow of gradients is measured.
LOSS_SCALES = tuple(2.0**exponent for exponent in range(17))


class Measurement(Spec):
    """The measurements made while training. Probed steps also see half their batch, for the variance of the gradient."""

    FIRST_FIELDS = frozenset(("probes", "evaluations", "evaluation_examples", "final_examples"))

    probes: Annotated[Whole, Unit("steps")] = Field(
        default=20,
        ge=2,
        le=1_000_000,
        description="probed steps, evenly spread; the first 1% of steps come on top",
    )
    evaluations: Whole = Field(
        default=4,
        ge=1,
        le=1_000_000,
        description="passes over the validation sample, evenly spread, last one at the end",
    )
    evaluation_examples: Examples = Field(default=64, ge=1, description="sequences of the validation sample")
    final_examples: Examples = Field(default=128, ge=1, description="sequences of the final validation and test samples")
    training_examples: Examples = Field(
        default=0,
        ge=0,
        description="fixed training examples, as trained on, that are evaluated in eval mode as often as the validation"
        " sample; 0: none",
    )
    test_examples: Examples = Field(
        default=0,
        ge=0,
        description="fixed test examples that are evaluated as often as the validation sample; a run then diverges by its"
        " training examples, because what overfits may end above its start; 0: none",
    )
    curve_points: Annotated[Whole, Unit("points")] = Field(
        default=100, ge=1, le=10_000, description="points kept of a curve that has one a step"
    )
    gradient_norms: bool = Field(
        default=False, description="the norm of every step's gradient before it is clipped, and not of probed steps alone"
    )
    underflow: bool = Field(
        default=False, description="on probed steps, the share of gradients that FP16 would flush to zero, by loss scale"
    )
    token_rows: bool = Field(
        default=False,
        description="of a text's tokens, from a fifth of the run on, how far the rows of the embedding move; and, at each"
        " evaluation, the loss on test tokens that are rare or common",
    )
    sharpness: Literal["off", "end", "probes"] = Field(
        default="off",
        description="the largest eigenvalue of the Hessian of the training loss, at the weights that the run ends with ('end')"
        " or that every probed step leaves ('probes')",
    )
    sharpness_examples: Examples = Field(
        default=1024, ge=1, description="fixed training examples that its loss is the mean over"
    )
    batch_sharpness: Whole = Field(
        default=0,
        ge=0,
        le=100_000,
        description="on probed steps, the curvature of the loss of mini-batches along their own gradients, mean over this many,"
        " drawn from sharpness_examples (Andreyev and Beneventano 2024); 0: it is not measured",
    )
    preconditioned_sharpness: bool = Field(
        default=False,
        description="wherever sharpness is measured, also the largest eigenvalue of the Hessian between the inverse roots of"
        " what Adam divides by (Cohen et al. 2022); adam and adamw",
    )
    gradient_flow: bool = Field(
        default=False,
        description="on probed steps, the gradient of the loss of fixed training examples, weight matrix by weight matrix, and"
        " how far the first and the last but one have moved",
    )
    dead_units: bool = Field(
        default=False,
        description="on probed steps, which units of an mlp of ReLUs are zero on all of fixed training examples, their"
        " gradients, and how many that were half-way are so no longer",
    )
    flow_examples: Examples = Field(
        default=1024,
        ge=1,
        description="fixed training examples that gradient_flow and dead_units look at; all, if there are no more",
    )
    solo: bool = Field(default=False, description="train in packs of one lane, so that its time and memory are its own")


class Configuration(Spec):
    """Everything that decides a trial's numbers, but for its seed."""

    workload: Workload
    training: Training
    measurement: Measurement

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        """Each part of the engine says in its file what it asks of the settings; they are read without torch."""
        registered("check of settings", "train", "check", "parts")(self)
        return self

    def sets(self, setting: str) -> bool:
        """Whether a field, as in "measurement.test_examples", differs from its default."""
        part, _, field = setting.partition(".")
        return bool(attrgetter(setting)(self) != _defaults(getattr(self, part).__class__)[field])

    @cached_property
    def pack_key(self) -> str:
        """Trials with equal keys can share a pack: all but the per-lane hyperparameters is equal."""
        training = self.training.model_dump(mode="json", exclude=set(marked(Training, PER_LANE)))
        return sys.intern(f"[{_part_json(self.workload)},{_part_json(self.measurement)},{canonical_json(training)}]")

    @cached_property
    def shape_key(self) -> str:
        """Trials with equal keys cost the same a step in packs of the same width: what they are measured by is left out."""
        free = marked(Training, PER_LANE) | marked(Training, COSTS_NOTHING)
        training = self.training.model_dump(mode="json", exclude=set(free))
        return sys.intern(f"[{_part_json(self.workload, marked(Workload, COSTS_NOTHING))},{canonical_json(training)}]")

    def identity(self) -> dict[str, Any]:
        """The part that enters a digest: only fields that differ from their defaults, so that a new field leaves old results
        valid.

        The default values themselves are pinned by a test beside ENGINE_VERSION.
        """
        return self.model_dump(mode="json", exclude_defaults=True)


@cache
def _defaults(spec: type[Spec]) -> dict[str, Any]:
    return {name: field.default for name, field in spec.model_fields.items()}


@lru_cache(maxsize=256)
def _part_json(part: Spec, exclude: frozenset[str] = frozenset()) -> str:
    """The canonical JSON of a part without some fields. Kept: most configurations of a plan share theirs."""
    return canonical_json(part.model_dump(exclude=set(exclude)))
