"""What one trial trains, how, and what is measured on the way. All defaults of training stand here."""

import sys
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from .base import Mark, Spec, Unit, canonical_json, marked
from .own_address import OWN, OwnAddress
from .registry import module_names

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
PER_LANE, COSTS_NOTHING, SINCE_PUBLICATION = Mark.PER_LANE, Mark.COSTS_NOTHING, Mark.SINCE_PUBLICATION
# The smallest normal number and the largest.
SMALLEST_FP32, LARGEST_FP32 = 2.0**-126, (2 - 2.0**-23) * 2.0**127
# Kinds of datasets whose targets are numbers (harness/train/workloads/data/synthetic.py).
OF_NUMBERS = ("quadratic", "regression")
SQUARED_ERROR = "half the squared error"
SamplingName = Literal["replacement", "epochs", "full"]


class Workload(Spec):
    """A model and the data it is trained on. `heads`, `base_heads` and `context` matter to a GPT alone, `feature_scale` and
    `label_noise` to the others.
    """

    model: ModelName = Field(
        default="gpt",
        description="linear and quadratic are known in closed form, own is a user's (folklore run --workload); the others have"
        " a width and a depth",
    )
    dataset: str = "python-docs"
    width: int = Field(default=32, ge=1, le=1_000_000, strict=True)
    depth: int = Field(default=2, ge=1, le=1000, strict=True)
    heads: int = Field(default=2, ge=1, le=10_000, strict=True)
    context: Annotated[int, Unit("tokens")] = Field(
        default=32, ge=2, le=10_000_000, strict=True, description="tokens a sequence"
    )
    parametrization: Literal["standard", "mup"] = "standard"
    base_width: int = Field(
        default=32, ge=1, le=1_000_000, strict=True, description="muP: the width at which both parametrizations are the same"
    )
    base_heads: Annotated[int | None, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default=None,
        ge=1,
        le=10_000,
        strict=True,
        description="muP: heads at the base width; none: as many as heads, so that a wider model has larger heads and not more",
    )
    zero_readout: bool = Field(default=False, description="start the readout at zero")
    activation: Annotated[Literal["relu", "gelu", "tanh", "sigmoid"], SINCE_PUBLICATION] = Field(
        default="relu", description="of an mlp's hidden layers, which start with the gain that suits it"
    )
    norm: Annotated[Literal["none", "layer"], SINCE_PUBLICATION] = Field(
        default="none", description="of an mlp, before each activation; 'layer': over the units, with gain and bias"
    )
    residual: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False,
        description="an mlp's hidden matrices, but for the first, add to a stream that they read through norm and activation",
    )
    init_gain: Annotated[float | None, SINCE_PUBLICATION] = Field(
        default=None, gt=0, description="gain of an mlp's hidden matrices at the start; none: the one that suits the activation"
    )
    norm_placement: Annotated[Literal["pre", "post"], SINCE_PUBLICATION] = Field(
        default="pre",
        description="of a gpt; 'pre': x + f(norm(x)), and a norm before the readout; 'post': norm(x + f(x)), as at first",
    )
    feature_scale: Annotated[float, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, description="what the features are multiplied by, as if not normalized"
    )
    label_noise: Annotated[float, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of the training labels that are drawn at random, once; raises gradient noise",
    )
    training_set_size: Annotated[int | None, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        strict=True,
        description="train on only the first n examples of the training split, of a text tokens; none: the whole split",
    )
    loss: Annotated[Literal["cross_entropy", "squared_error"], SINCE_PUBLICATION] = Field(
        default="cross_entropy",
        description="of an mlp's or cnn's classes; 'squared_error': half the squared distance from the one-hot target, summed"
        " over classes (Cohen et al. 2021)",
    )
    tasks: Annotated[int, SINCE_PUBLICATION] = Field(
        default=1,
        ge=1,
        le=1000,
        strict=True,
        description="of an mlp's or cnn's classes, which are split in their order into this many tasks of one size, or the"
        " texts of a gpt, joined by + in its dataset; they are trained one after another, for as many steps each",
    )
    scenario: Annotated[Literal["class", "domain", "task"], SINCE_PUBLICATION] = Field(
        default="class",
        description="how the classes of several tasks compete (van de Ven & Tolias 2019); 'class': all with each other;"
        " 'domain': each task numbers its own from 0, and they share a readout; 'task': only those of an example's task",
    )
    adapter_rank: Annotated[int, SINCE_PUBLICATION] = Field(
        default=0,
        ge=0,
        le=1_000_000,
        strict=True,
        description="rank of adapters beside an mlp's matrices or those of a gpt's blocks, which alone are trained from the"
        " second task on (Hu et al. 2021); 0: none",
    )

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

    @property
    def squares(self) -> bool:
        """Whether its loss is half a squared error, which has no unit, and no cross-entropy in nats."""
        return self.loss == "squared_error" or self.dataset.partition(":")[0] in OF_NUMBERS

    @model_validator(mode="after")
    def _has_what_is_chosen(self) -> Self:
        of_an_mlp = ("activation", "norm", "residual", "init_gain")
        for model, of, names in (("mlp", "an mlp", of_an_mlp), ("gpt", "a gpt", ("norm_placement",))):
            for name in names:
                value = getattr(self, name)
                if self.model != model and value != Workload.model_fields[name].default:
                    raise ValueError(f"{name} = {value}: is of {of}, and model = {self.model}; leave it out")
        return self

    @model_validator(mode="after")
    def _tasks_are_of_classes(self) -> Self:
        if self.tasks > 1 and (self.model not in ("mlp", "cnn", "gpt") or self.loss != "cross_entropy"):
            raise ValueError(
                f"tasks = {self.tasks}: are of an mlp's or cnn's classes or a gpt's texts under cross_entropy, and model ="
                f" {self.model}, loss = {self.loss}; leave it at 1"
            )
        if self.model == "gpt" and self.scenario != "class":
            raise ValueError(f"scenario = {self.scenario}: is of classes, and model = {self.model}; leave it out")
        if self.tasks == 1 and (self.scenario != "class" or self.adapter_rank):
            name = "adapter_rank" if self.adapter_rank else "scenario"
            raise ValueError(f"{name} = {getattr(self, name)}: is of several tasks; set tasks, or leave it out")
        if self.adapter_rank and self.model not in ("mlp", "gpt"):
            raise ValueError(
                f"adapter_rank = {self.adapter_rank}: is of an mlp or a gpt, and model = {self.model}; leave it out"
            )
        return self

    @model_validator(mode="after")
    def _loss_can_be_chosen(self) -> Self:
        if self.loss != "cross_entropy" and self.model not in ("mlp", "cnn"):
            raise ValueError(f"loss = {self.loss}: is of an mlp's or cnn's classes, and model = {self.model}; leave it out")
        return self

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.model == "gpt" and self.width % self.heads:
            raise ValueError(f"heads = {self.heads}: must divide width = {self.width}")
        if self.model == "gpt" and self.base_heads is not None and self.base_width % self.base_heads:
            raise ValueError(f"base_heads = {self.base_heads}: must divide base_width = {self.base_width}")
        return self


class Training(Spec):
    """One training run. Betas, epsilon and decay follow common practice for language models."""

    optimizer: OptimizerName = "adamw"
    peak_lr: Annotated[float, PER_LANE] = Field(default=2.0**-8, gt=0)
    schedule: Annotated[ScheduleName, PER_LANE] = "cosine"
    warmup_fraction: Annotated[float, PER_LANE] = Field(
        default=0.05, ge=0, lt=1, description="share of the steps in the linear ramp"
    )
    ramp: Annotated[Literal["linear", "held"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="linear",
        description="'held': the LR is zero during warmup, then at its peak at once; of Adam's moments only the second forms",
    )
    final_fraction: Annotated[float, PER_LANE] = Field(default=0.1, ge=0, le=1, description="last LR as a share of the peak")
    step_drops: Annotated[tuple[float, ...], PER_LANE] = Field(
        default=(0.5, 0.75), description="shares of the run after warmup; schedule 'step'"
    )
    step_factor: Annotated[float, PER_LANE] = Field(
        default=0.1, gt=0, le=10, description="each drop's factor (above 1: a rise); schedules 'step' and 'reduce_on_plateau'"
    )
    decay_fraction: Annotated[float, PER_LANE] = Field(
        default=0.2, gt=0, le=1, description="share of the run that decays; 'warmup_stable_decay'"
    )
    ramp_start: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1e-6, gt=0, lt=1, description="first LR as a share of the last; schedule 'exponential'"
    )
    patience: Annotated[int, PER_LANE, Unit("evaluations"), SINCE_PUBLICATION] = Field(
        default=4,
        ge=0,
        le=1_000_000,
        strict=True,
        description="evaluations without improvement before a drop; schedule 'reduce_on_plateau'",
    )
    batch_size: Annotated[int, Unit("sequences or examples")] = Field(
        default=8, ge=2, le=100_000_000, strict=True, description="sequences a step"
    )
    batch_ramp: Annotated[tuple[float, ...], SINCE_PUBLICATION] = Field(
        default=(),
        description="shares of the run's examples after which the batch is multiplied by batch_ramp_factor; schedules,"
        " evaluations and probes then follow the share of the examples, too, and steps are as many as are taken in all",
    )
    batch_ramp_factor: Annotated[float, SINCE_PUBLICATION] = Field(
        default=4.0, gt=0, le=1_000_000, description="what the batch is multiplied by at each share of batch_ramp"
    )
    micro_batches: Annotated[int, SINCE_PUBLICATION] = Field(
        default=1,
        ge=1,
        le=100_000_000,
        strict=True,
        description="equal parts of a batch whose gradients are summed one after another, so that a step holds the activations"
        " of one; divides batch_size, and a batch that was ramped up comes in more parts of that size",
    )
    recompute_segments: Annotated[int, SINCE_PUBLICATION] = Field(
        default=0,
        ge=0,
        le=10_000,
        strict=True,
        description="stretches of the model's blocks whose activations are computed again in the backward pass, so that a step"
        " holds their inputs and those of one stretch; 0: all are kept",
    )
    sampling: Annotated[SamplingName, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default="replacement",
        description="'replacement': every batch is drawn from all training examples (of a text: from all its windows);"
        " 'epochs': every example once an epoch, in a random order (of a text: windows side by side, from a random start);"
        " 'full': all examples at every step, and batch_size is their number",
    )
    steps: Annotated[int, COSTS_NOTHING, Unit("steps")] = Field(default=300, ge=2, le=10_000_000, strict=True)
    beta1: Annotated[float, PER_LANE] = Field(default=0.9, ge=0, lt=1)
    beta2: Annotated[float, PER_LANE] = Field(default=0.999, ge=0, lt=1)
    epsilon: Annotated[float, PER_LANE] = Field(default=1e-8, ge=0)
    second_moment_start: Annotated[Literal["zero", "first_gradient"], PER_LANE] = Field(
        default="zero", description="'first_gradient': v starts at the first squared gradient; Adam's bias correction stays"
    )
    bias_correction: Annotated[bool, PER_LANE, SINCE_PUBLICATION] = Field(
        default=True, description="whether Adam's moments are divided by 1 - beta^t; adam, adamw, lamb and muon"
    )
    momentum: Annotated[float, PER_LANE] = Field(default=0.9, ge=0, lt=1, description="sgd, sgdw, rmsprop, lars and muon")
    nesterov: Annotated[bool, COSTS_NOTHING] = Field(default=False, description="sgd, sgdw and muon")
    trust_coefficient: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0.001, gt=0, description="of LARS: the size of a weight's update over the weight's, at an LR of 1"
    )
    hessian_factor: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0.05, gt=0, description="of Sophia (its gamma): what the curvature is multiplied by before momentum is divided"
    )
    hessian_every: Annotated[int, Unit("steps"), SINCE_PUBLICATION] = Field(
        default=10, ge=1, le=10_000_000, strict=True, description="of Sophia: an estimate of the curvature comes every so often"
    )
    weight_decay: Annotated[float, PER_LANE] = Field(
        default=0.1, ge=0, description="decoupled or in the gradient (L2), as the optimizer has it"
    )
    clip_norm: Annotated[float | None, PER_LANE] = Field(
        default=None, gt=0, description="largest global gradient norm; none: no clipping"
    )
    dropout: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="chance of an activation to be dropped in training: after an mlp's hidden layers, between the convolutions"
        " of a cnn's blocks, where a gpt's blocks and its embedding add to the stream",
    )
    augmentation: Annotated[Literal["none", "shift", "flip_and_shift"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="none",
        description="'shift': every training image is moved by up to shift_pixels in both directions, at each step again, and"
        " what comes in is black; 'flip_and_shift': half of them are mirrored, too",
    )
    shift_pixels: Annotated[int, PER_LANE, Unit("pixels"), SINCE_PUBLICATION] = Field(
        default=1, ge=1, le=1000, strict=True, description="of augmentation: the largest shift; all up to it are as likely"
    )
    sgd_from: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, le=1, description="share of the steps after which SGD with momentum takes over from Adam; 1: never"
    )
    sgd_lr: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, description="what the LR of the schedule is multiplied by once SGD has taken over"
    )
    precision: PrecisionName = Field(default="fp32", description="of products and activations; weights are kept in fp32")
    loss_scaling: Annotated[Literal["none", "static", "dynamic"], SINCE_PUBLICATION] = "none"
    loss_scale: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=2.0**16, gt=0, description="static: the scale; dynamic: where it starts"
    )
    scale_growth_interval: Annotated[int, COSTS_NOTHING, Unit("steps"), SINCE_PUBLICATION] = Field(
        default=2000, ge=1, le=10_000_000, strict=True, description="finite steps before a dynamic scale doubles"
    )

    outlier: Annotated[Literal["none", "whole", "memory", "kick"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="none",
        description="one step's gradient counts outlier_size times, in Adam's two moments: 'whole'; 'memory': in the second"
        " alone, so that the weights are not moved by it; 'kick': in both, which forget it once it has moved the weights",
    )
    outlier_fraction: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0.5, gt=0, lt=1, description="share of the run after which the outlier comes"
    )
    outlier_size: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1000.0, gt=1, description="what the outlier's gradient is multiplied by; it is not clipped"
    )

    fault: Annotated[Literal["none", "labels", "gradient", "weights"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="none",
        description="what goes wrong after fault_fraction of the steps; 'labels': a batch's classes or tokens are drawn at"
        " random; 'gradient': it is fault_size times too large; 'weights': Gaussian noise is added to all weights, fault_size"
        " times their root mean square, whatever the batch",
    )
    fault_fraction: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(default=0.5, gt=0, lt=1)
    fault_steps: Annotated[int, PER_LANE, Unit("steps"), SINCE_PUBLICATION] = Field(
        default=1, ge=1, le=10_000_000, strict=True, description="steps in a row whose labels or gradients are bad"
    )
    fault_size: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(default=100.0, gt=0)
    remedy: Annotated[Literal["none", "skip", "roll_back", "lower_lr", "halve_lr"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="none",
        description="what is done at an alarm; 'skip': the step's update is undone; 'roll_back': the weights and what the"
        " optimizer keeps are those of the last checkpoint but one, and the data go on; 'lower_lr': the LR is halved and rises"
        " again over remedy_steps; 'halve_lr': it is halved for good",
    )
    alarm: Annotated[Literal["oracle", "loss_ratio", "deviations"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="oracle",
        description="what gives an alarm; 'oracle': the last step of the fault; 'loss_ratio': a loss above twice the mean of"
        " the nine before it; 'deviations': a loss or gradient norm above its mean over the last 128 steps by more than 6"
        " standard deviations, or not finite (OLMo team 2025, skip step); set measurement.gradient_norms",
    )
    remedy_steps: Annotated[int, Unit("steps"), SINCE_PUBLICATION] = Field(
        default=20,
        ge=1,
        le=10_000_000,
        strict=True,
        description="steps from checkpoint to checkpoint, and of the ramp after a lower LR",
    )
    task_order: Annotated[Literal["sequence", "joint"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="sequence", description="of several tasks; 'joint': examples of all of them at every step"
    )
    replay: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0.0, ge=0, lt=1, description="share of the batches, on average, that is drawn from examples of earlier tasks"
    )
    consolidation: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0.0,
        ge=0,
        description="lambda of elastic weight consolidation: what half the squared distance from the weights after each earlier"
        " task, times their Fisher information, is multiplied by (Kirkpatrick et al. 2017, equation 3)",
    )
    fisher_examples: Annotated[int, Unit("examples"), SINCE_PUBLICATION] = Field(
        default=64, ge=1, le=1_000_000, strict=True, description="of each task, that its Fisher information is estimated on"
    )
    later_lr: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0, ge=0, description="what the LR is multiplied by from the second task on"
    )
    layer_lr_decay: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0,
        ge=0,
        le=1,
        description="from the second task on, each layer's LR over that of the layer above (Howard & Ruder 2018); 0: only the"
        " readout is trained",
    )

    scaled_parameter: Annotated[str | None, PER_LANE, SINCE_PUBLICATION] = Field(
        default=None,
        min_length=1,
        description="name of the parameters that learn at scaled_lr times the LR, such as embedding.token.weight; * stands for"
        " any characters; none: all learn at one LR",
    )
    scaled_lr: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, description="what the LR of scaled_parameter is multiplied by; decoupled weight decay goes with it"
    )

    starts_from: Annotated[str | None, PER_LANE, SINCE_PUBLICATION] = Field(
        default=None,
        min_length=1,
        description="an arm of the same study and scale: each trial starts from the checkpoint of that arm's trial of the same"
        " seed and factor values, of its only value where it has one; initial losses stay those of the untrained network; none:"
        " from initialization",
    )
    start_fraction: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, le=1, description="of starts_from: share of that trial's steps after which the checkpoint is taken"
    )
    start_state: Annotated[Literal["weights", "optimizer"], PER_LANE, SINCE_PUBLICATION] = Field(
        default="weights",
        description="of starts_from: what is taken from the checkpoint; 'weights': with a module's buffers; 'optimizer': also"
        " what the optimizer keeps and its number of updates. Schedules begin again",
    )
    data_order: Annotated[int, PER_LANE, SINCE_PUBLICATION] = Field(
        default=0,
        ge=0,
        le=1_000_000,
        strict=True,
        description="number of the order in which a seed sees the examples, and of what else training draws; with that of the"
        " trial it starts from, a trial goes on in its order, and with another begins that one",
    )

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

    @model_validator(mode="after")
    def _a_scaled_lr_has_a_parameter(self) -> Self:
        if self.scaled_lr != 1 and self.scaled_parameter is None:
            raise ValueError(f"scaled_lr = {self.scaled_lr:g}: of no parameter; name one by scaled_parameter")
        return self

    @model_validator(mode="after")
    def _sgd_takes_over_from_adam(self) -> Self:
        if self.sgd_from < 1 and self.optimizer not in ("adam", "adamw"):
            raise ValueError(
                f"sgd_from = {self.sgd_from:g}: SGD takes over from Adam, and optimizer = {self.optimizer}; choose adam or"
                " adamw"
            )
        return self

    @model_validator(mode="after")
    def _a_start_has_a_trial(self) -> Self:
        for name in ("start_fraction", "start_state"):
            if self.starts_from is None and (value := getattr(self, name)) != type(self).model_fields[name].default:
                raise ValueError(f"{name} = {value}: is of a checkpoint; name its arm by starts_from, or leave it out")
        if self.start_state == "optimizer" and (self.optimizer == OWN or self.sgd_from < 1 or self.ramp == "held"):
            raise ValueError(
                "start_state = optimizer: not with an own optimizer, whose state is its own, nor with sgd_from or a held ramp,"
                " which count updates from this trial's start; choose weights"
            )
        return self

    def start_step(self, steps: int) -> int:
        """After how many of a trial's steps the checkpoint is taken that this one starts from."""
        return max(1, round(self.start_fraction * steps))

    @property
    def sgd_step(self) -> int:
        """The first step, from 0, that SGD makes in Adam's place; the number of steps if there is none."""
        return round(self.sgd_from * self.steps)

    @model_validator(mode="after")
    def _outliers_are_adams(self) -> Self:
        if self.outlier != "none" and self.optimizer not in ("adam", "adamw"):
            raise ValueError(
                f"outlier = {self.outlier}: is put into Adam's moments, and optimizer = {self.optimizer}; choose adam or adamw"
            )
        return self

    @property
    def faulty_steps(self) -> range:
        """Those, from 0, at which something goes wrong; never the first."""
        first = max(1, round(self.fault_fraction * self.steps))
        return range(first, first + self.fault_steps) if self.fault != "none" else range(0)

    @property
    def outlier_step(self) -> int:
        """The step, from 0, whose gradient is the outlier: never the first."""
        return max(1, round(self.outlier_fraction * self.steps))

    @model_validator(mode="after")
    def _fractions_fit(self) -> Self:
        if self.schedule == "warmup_stable_decay" and self.warmup_fraction + self.decay_fraction > 1:
            raise ValueError(
                f"decay_fraction = {self.decay_fraction}: with warmup_fraction = {self.warmup_fraction} must not exceed 1"
            )
        if self.warmup_steps >= self.nominal_steps:
            raise ValueError(f"warmup_fraction = {self.warmup_fraction}: leaves no step of {self.steps} after warmup")
        if any(not 0 < drop < 1 for drop in self.step_drops) or list(self.step_drops) != sorted(set(self.step_drops)):
            raise ValueError(f"step_drops = {self.step_drops}: must rise, each inside (0, 1)")
        return self

    @model_validator(mode="after")
    def _radam_is_corrected(self) -> Self:
        if self.optimizer == "radam" and not self.bias_correction:
            raise ValueError("bias_correction = False: radam's rectification is built on it; choose adam, adamw, lamb or muon")
        return self

    @model_validator(mode="after")
    def _micro_batches_divide_the_batch(self) -> Self:
        if self.batch_size % self.micro_batches:
            raise ValueError(f"micro_batches = {self.micro_batches}: must divide batch_size = {self.batch_size}")
        return self

    @model_validator(mode="after")
    def _batch_can_be_ramped(self) -> Self:
        if not self.batch_ramp:
            return self
        if any(not 0 < share < 1 for share in self.batch_ramp) or list(self.batch_ramp) != sorted(set(self.batch_ramp)):
            raise ValueError(f"batch_ramp = {self.batch_ramp}: must rise, each inside (0, 1)")
        if self.sampling == "full":
            raise ValueError("batch_ramp: with sampling = full a step sees all examples; choose replacement or epochs")
        if self.warmup_fraction > self.batch_ramp[0]:
            raise ValueError(
                f"batch_ramp = {self.batch_ramp}: begins before the warmup ends, at {self.warmup_fraction:g}; begin later"
            )
        for power in range(1, len(self.batch_ramp) + 1):
            batch = self.batch_size * self.batch_ramp_factor**power
            if batch < 2 or abs(batch - round(batch)) > 1e-6:
                raise ValueError(
                    f"batch_ramp_factor = {self.batch_ramp_factor:g}: makes batches of {batch:g} of batch_size ="
                    f" {self.batch_size}; must make whole ones of 2 at least"
                )
        if any(first >= end for first, end, _ in self.batch_segments):
            raise ValueError(f"batch_ramp = {self.batch_ramp}: leaves no step between two of its shares; take more steps")
        return self

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
        left = part * self.examples / parts
        for first, end, batch in self.batch_segments:
            if left <= (end - first) * batch:
                return first + round(left / batch)
            left -= (end - first) * batch
        return self.steps

    def batch_size_at(self, step: int) -> int:
        """Of a step, from 0."""
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
    """What is measured while training. Probed steps also see half their batch, for the variance of the gradient."""

    probes: Annotated[int, Unit("steps")] = Field(
        default=20,
        ge=2,
        le=1_000_000,
        strict=True,
        description="probed steps, evenly spread; the first 1% of steps come on top",
    )
    evaluations: int = Field(
        default=4,
        ge=1,
        le=1_000_000,
        strict=True,
        description="passes over the validation sample, evenly spread, last one at the end",
    )
    evaluation_examples: Annotated[int, Unit("sequences or examples")] = Field(
        default=64, ge=1, le=1_000_000_000, strict=True, description="sequences of the validation sample"
    )
    final_examples: Annotated[int, Unit("sequences or examples")] = Field(
        default=128, ge=1, le=1_000_000_000, strict=True, description="sequences of the final validation and test samples"
    )
    training_examples: Annotated[int, Unit("sequences or examples"), SINCE_PUBLICATION] = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        strict=True,
        description="fixed training examples, as trained on, that are evaluated in eval mode as often as the validation"
        " sample; 0: none",
    )
    test_examples: Annotated[int, Unit("sequences or examples"), SINCE_PUBLICATION] = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        strict=True,
        description="fixed test examples that are evaluated as often as the validation sample; a run then diverges by its"
        " training examples, because what overfits may end above its start; 0: none",
    )
    curve_points: Annotated[int, Unit("points"), SINCE_PUBLICATION] = Field(
        default=100, ge=1, le=10_000, strict=True, description="points kept of a curve that has one a step"
    )
    gradient_norms: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False, description="the norm of every step's gradient before it is clipped, and not of probed steps alone"
    )
    underflow: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False, description="on probed steps, the share of gradients that FP16 would flush to zero, by loss scale"
    )
    token_rows: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False,
        description="of a text's tokens, from a fifth of the run on, how far the rows of the embedding move; and, at each"
        " evaluation, the loss on test tokens that are rare or common",
    )
    sharpness: Annotated[Literal["off", "end", "probes"], SINCE_PUBLICATION] = Field(
        default="off",
        description="the largest eigenvalue of the Hessian of the training loss, at the weights that the run ends with ('end')"
        " or that every probed step leaves ('probes')",
    )
    sharpness_examples: Annotated[int, Unit("sequences or examples"), SINCE_PUBLICATION] = Field(
        default=1024, ge=1, le=1_000_000_000, strict=True, description="fixed training examples that its loss is the mean over"
    )
    preconditioned_sharpness: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False,
        description="wherever sharpness is measured, also the largest eigenvalue of the Hessian between the inverse roots of"
        " what Adam divides by (Cohen et al. 2022); adam and adamw",
    )
    gradient_flow: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False,
        description="on probed steps, the gradient of the loss of fixed training examples, weight matrix by weight matrix, and"
        " how far the first and the last but one have moved",
    )
    dead_units: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False,
        description="on probed steps, which units of an mlp of ReLUs are zero on all of fixed training examples, their"
        " gradients, and how many that were half-way are so no longer",
    )
    flow_examples: Annotated[int, Unit("sequences or examples"), SINCE_PUBLICATION] = Field(
        default=1024,
        ge=1,
        le=1_000_000_000,
        strict=True,
        description="fixed training examples that gradient_flow and dead_units look at; all, if there are no more",
    )
    solo: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False, description="train in packs of one lane, so that its time and memory are its own"
    )


# Of a training: what only several tasks have.
OF_TASKS = ("task_order", "replay", "consolidation", "later_lr", "layer_lr_decay")
# And what only tasks of classes have.
OF_CLASSES = ("consolidation", "layer_lr_decay")


class Configuration(Spec):
    """Everything that decides a trial's numbers, but for its seed."""

    workload: Workload
    training: Training
    measurement: Measurement

    @model_validator(mode="after")
    def _a_preconditioner_is_adams(self) -> Self:
        if self.measurement.preconditioned_sharpness and self.training.optimizer not in ("adam", "adamw"):
            raise ValueError(
                f"preconditioned_sharpness = True: is by Adam's second moment, and optimizer = {self.training.optimizer};"
                " choose adam or adamw, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _norms_for_an_alarm(self) -> Self:
        if self.training.alarm == "deviations" and not self.measurement.gradient_norms:
            raise ValueError("alarm = deviations: is by loss and gradient norm; set measurement.gradient_norms, too")
        return self

    @model_validator(mode="after")
    def _earlier_tasks_are_there(self) -> Self:
        if self.workload.tasks > 1:
            if self.training.sampling != "replacement" or self.training.batch_ramp:
                raise ValueError(
                    f"tasks = {self.workload.tasks}: each draws batches of one size with replacement; set sampling ="
                    " replacement, and leave batch_ramp out"
                )
            if self.workload.model == "gpt":
                self._leave_out(OF_CLASSES, "of an mlp or a cnn, and model = gpt; leave it out")
            return self
        self._leave_out(OF_TASKS, "of several tasks; set tasks, or leave it out")
        return self

    def _leave_out(self, names: tuple[str, ...], why: str) -> None:
        """Raises ValueError for what is set of a training."""
        for name in names:
            if (value := getattr(self.training, name)) != Training.model_fields[name].default:
                raise ValueError(f"{name} = {value}: is {why}")

    def sets(self, setting: str) -> bool:
        """Whether a field, as in "measurement.test_examples", differs from its default."""
        part, _, field = setting.partition(".")
        return bool(getattr(getattr(self, part), field) != type(getattr(self, part)).model_fields[field].default)

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
        """What enters a digest: only fields that differ from their defaults, so that a new field leaves old results valid.

        The default values themselves are pinned by a test beside ENGINE_VERSION.
        """
        return self.model_dump(mode="json", exclude_defaults=True)


@lru_cache(maxsize=256)
def _part_json(part: Spec, exclude: frozenset[str] = frozenset()) -> str:
    """The canonical JSON of a part without some fields. Kept: most configurations of a plan share theirs."""
    return canonical_json(part.model_dump(exclude=set(exclude)))
