"""What one trial trains, how, and what is measured on the way. All defaults of training stand here."""

import sys
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from folklore.harness.spec.base import Mark, Spec, Unit, canonical_json, marked
from folklore.harness.spec.names import module_names

MODELS = module_names("training/architectures")
OPTIMIZERS = module_names("training/optimizers")
SCHEDULES = module_names("training/schedules")
PRECISIONS = module_names("training/number_formats")
if TYPE_CHECKING:
    ModelName = str
    OptimizerName = str
    ScheduleName = str
    PrecisionName = str
else:
    ModelName = Literal[(*MODELS, "own")]
    OptimizerName, ScheduleName, PrecisionName = Literal[OPTIMIZERS], Literal[SCHEDULES], Literal[PRECISIONS]
PER_LANE, COSTS_NOTHING, SINCE_PUBLICATION = Mark.PER_LANE, Mark.COSTS_NOTHING, Mark.SINCE_PUBLICATION
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
    feature_scale: Annotated[float, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, description="what the features are multiplied by, as if not normalized"
    )
    label_noise: Annotated[float, COSTS_NOTHING, SINCE_PUBLICATION] = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of the training labels that are drawn at random, once; raises gradient noise",
    )

    @model_validator(mode="after")
    def _activation_can_be_chosen(self) -> Self:
        if self.activation != "relu" and self.model != "mlp":
            raise ValueError(f"activation = {self.activation}: is of an mlp, and model = {self.model}; leave it out")
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
    micro_batches: Annotated[int, SINCE_PUBLICATION] = Field(
        default=1,
        ge=1,
        le=100_000_000,
        strict=True,
        description="equal parts of a batch whose gradients are summed one after another, so that a step holds the activations"
        " of one; divides batch_size",
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
        description="'shift': every training image is moved by up to shift_pixels in both directions, at each step anew, and"
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

    scaled_parameter: Annotated[str | None, PER_LANE, SINCE_PUBLICATION] = Field(
        default=None,
        min_length=1,
        description="name of the parameters that learn at scaled_lr times the LR, such as embedding.token.weight; * stands for"
        " any characters; none: all learn at one LR",
    )
    scaled_lr: Annotated[float, PER_LANE, SINCE_PUBLICATION] = Field(
        default=1.0, gt=0, description="what the LR of scaled_parameter is multiplied by; decoupled weight decay goes with it"
    )

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
    def outlier_step(self) -> int:
        """The step, from 0, whose gradient is the outlier: never the first."""
        return max(1, round(self.outlier_fraction * self.steps))

    @model_validator(mode="after")
    def _fractions_fit(self) -> Self:
        if self.schedule == "warmup_stable_decay" and self.warmup_fraction + self.decay_fraction > 1:
            raise ValueError(
                f"decay_fraction = {self.decay_fraction}: with warmup_fraction = {self.warmup_fraction} must not exceed 1"
            )
        if self.warmup_steps >= self.steps:
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

    @property
    def micro_batch_size(self) -> int:
        """Examples whose activations are held at once."""
        return self.batch_size // self.micro_batches

    @property
    def warmup_steps(self) -> int:
        """Steps below the peak; a positive fraction gives at least one."""
        return max(1, round(self.warmup_fraction * self.steps)) if self.warmup_fraction else 0


# Loss scales at which the underflow of gradients is looked at.
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
    curve_points: Annotated[int, Unit("points"), SINCE_PUBLICATION] = Field(
        default=100, ge=1, le=10_000, strict=True, description="points kept of a curve that has one a step"
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
    solo: Annotated[bool, SINCE_PUBLICATION] = Field(
        default=False, description="train in packs of one lane, so that its time and memory are its own"
    )


class Configuration(Spec):
    """Everything that decides a trial's numbers, but for its seed."""

    workload: Workload
    training: Training
    measurement: Measurement

    @cached_property
    def pack_key(self) -> str:
        """Trials with equal keys can share a pack: all but the per-lane hyper-parameters is equal."""
        training = self.training.model_dump(mode="json", exclude=set(marked(Training, PER_LANE)))
        return sys.intern(f"[{_part_json(self.workload)},{_part_json(self.measurement)},{canonical_json(training)}]")

    @cached_property
    def shape_key(self) -> str:
        """Trials with equal keys cost the same a step in packs of the same width: what they are measured by is left out."""
        free = marked(Training, PER_LANE) | marked(Training, COSTS_NOTHING)
        training = self.training.model_dump(mode="json", exclude=set(free))
        return sys.intern(f"[{_part_json(self.workload, marked(Workload, COSTS_NOTHING))},{canonical_json(training)}]")

    def identity(self) -> dict[str, object]:
        """What enters a digest: only fields that differ from their defaults, so that a new field leaves old results valid.

        The default values themselves are pinned by a test beside ENGINE_VERSION.
        """
        return self.model_dump(mode="json", exclude_defaults=True)


@lru_cache(maxsize=256)
def _part_json(part: Spec, exclude: frozenset[str] = frozenset()) -> str:
    """The canonical JSON of a part without some fields. Kept: most configurations of a plan share theirs."""
    return canonical_json(part.model_dump(exclude=set(exclude)))
