"""The base of observables: each is one class that says all there is to say of it. The classes stand in harness/declare/metrics.

An observable is made by deriving from Observed in a file there: its fields, and in class variables and methods its unit, its
estimator and whatever else differs from the defaults below. Its field `kind` makes it known; nothing lists it.

What a field means beside its type is a mark on it: `arm: Annotated[str, ARM]`. Everything that asks an observable which arms it
reads, which factor it searches or which of its numbers could as well be others goes by these marks.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import CoreSchema

from .base import Spec
from .computed import Grade
from .trials import NotEstimableError, Numbers, Trials

# An observable's fields as a study in YAML or JSON has them, without `kind`.
Example = dict[str, Any]
# Arm -> column -> what each seed has there, of an arm that is trained at several LRs by LR; a metric's example there; and arms'
# settings, if they matter.
PlantedTruth = tuple[Mapping[str, Any], float] | tuple[Mapping[str, Any], float, Mapping[str, Any]]
# How a number depends on losses, which may have no zero that they could be relative to (a log density has none):
# "is one"; "shares": measured by shares of a loss; "shares of ramps": by shares of the training losses of range tests alone;
# "divides": divides its parts or takes their logarithm; "no zero": means the same whatever constant is added to every loss, or
# reads no losses at all.
OfLosses = Literal["is one", "shares", "shares of ramps", "divides", "no zero"]


@dataclass(frozen=True)
class ArmRole:
    """Marks a field whose texts name arms; says what of those is read."""

    reads: str


@dataclass(frozen=True)
class FactorRole:
    """Marks the field that names the factor whose values are searched."""


@dataclass(frozen=True)
class Choice:
    """Marks a share of a run or of a loss that could as well be another, up to `most`."""

    of: Literal["margin", "window"]
    most: float = 0.99


ARM = ArmRole("runs, by their losses, outcomes and probes")
RANGE_TEST = ArmRole("the training losses of one run a seed whose LR rises")
FACTOR = FactorRole()
# A share within which a loss is as good; where a window begins or ends; a window at either end of a run.
MARGIN, WINDOW, END = Choice("margin"), Choice("window"), Choice("window", most=0.5)

ArmName = Annotated[str, ARM]
ObservedArm = Annotated[ArmName, Field(description="the arm that is observed")]
ShareOf = Annotated[
    Literal["loss", "fall"] | None,
    Field(
        description="what its shares are of: a loss, or the fall (loss at initialization less the lowest loss); none: a loss"
    ),
]
JudgedOf = Annotated[
    Literal["test_error", "final_training_loss", "final_training_error"] | None,
    Field(
        description="what is read of a run: the share of test examples that it gets wrong, or of fixed training examples at its"
        " end their loss in eval mode or the share that it gets wrong; none: the test loss"
    ),
]
FactorName = Annotated[str, FACTOR, Field(description="the factor whose values are searched")]

# How a difference of two shares is written: in points. Its numbers stay shares, 0.05 for 5 points.
POINTS = "difference of shares"

# Estimate, low, high.
Interval = tuple[float, float, float]

# Reads the JSON of a kind of earlier declarations as that of today's kind; none where it cannot be.
FormerKind = Callable[[dict[str, Any]], dict[str, Any] | None]
# kind -> the class, of every observable that is loaded; and the kinds of earlier declarations that became it.
KINDS: dict[str, type["Observed"]] = {}
FORMER: dict[str, tuple[str, FormerKind]] = {}


class Observed(Spec):
    """The base of all observables."""

    # Few of all kinds are made in a process: those make their schema as they are first made.
    model_config = ConfigDict(defer_build=True)

    # It is a ratio or a scale, so that its logarithm is what is symmetric: intervals, moved thresholds and figures are made on
    # that axis.
    LOG_AXIS: ClassVar[bool] = False
    # Its value if nothing differs; 0 also if there is no such value.
    NO_EFFECT: ClassVar[float] = 0.0
    # The least and the largest value that it can have; an interval ends there.
    BOUNDS: ClassVar[tuple[float, float]] = (float("-inf"), float("inf"))
    # It means the same of an arm that is trained at one value of the factor, where nothing is tuned: it looks for no optimum,
    # it only reads runs at one.
    AT_ONE_POINT: ClassVar[bool] = False
    # A loss that is none of a run's end, and that a loss reduction it enters may end with.
    ENDS_REDUCTION: ClassVar[bool] = False
    # The figure that shows it (reports/figures/choosing.py); none if empty: then what its parts name.
    FIGURE: ClassVar[str] = ""
    # Set by every kind; there is no default.
    OF_LOSSES: ClassVar[OfLosses]
    # The unit of its numbers, for `schema --explain`. (A criterion's unit only says how they are spelled.)
    UNIT: ClassVar[str]
    EXAMPLE: ClassVar[Example]
    # The planted truth that tests hold it to.
    PLANTED: ClassVar[PlantedTruth | None] = None
    # Kinds of earlier declarations that are this one now, each with how its JSON is read.
    FORMER: ClassVar[Mapping[str, FormerKind]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        if "kind" in cls.model_fields:
            _register(cls)

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Its value under every weighting of the seeds, [R]; nan where it does not exist. Raises NotEstimableError if there is
        no number.

        weights [R, S]: row 0 is all ones (the estimate), the others multinomial resamples of the S paired seeds. All arms share
        a row's weights, so seeds stay paired, and whatever is selected (a tuned LR, the best arm) is selected again under each.
        Observables made of others, in fields of type Observable, take these' values from `evaluate` (metrics/estimating).
        """
        raise NotImplementedError

    def require(self, interval: Callable[["Observed"], Interval]) -> None:
        """Raises NotEstimableError if it means nothing by the intervals of its parts."""

    def seeds_behind(self, trials: Trials) -> int:
        """How many seeds a number rests on."""
        return trials.seeds

    def scatter(self, trials: Trials) -> float | None:
        """Standard error of what is fitted to points, by how these lie beside the fit; None: nothing is."""
        return None

    def loss_in_it(self) -> "Observed | None":
        """The loss that it is, or is a multiple of."""
        return self if self.of_losses == "is one" else None

    @property
    def of_losses(self) -> OfLosses:
        """How it depends on losses as it is declared: of a kind whose fields can make it mean the same whatever constant is
        added, less than OF_LOSSES says."""
        return self.OF_LOSSES

    @property
    def is_level(self) -> bool:
        """Whether it is a loss or an error, and no difference of two: its interval ends at zero, unless it falls below."""
        return self.of_losses == "is one"

    @property
    def figure(self) -> str:
        """The figure that shows it as it is declared; empty: what shows its parts."""
        return self.FIGURE

    @property
    def is_share(self) -> bool:
        """Whether it is a share of something by its nature, whatever unit it is given."""
        return self.bounds == (0.0, 1.0)

    def written_in(self, unit: str) -> str:
        """How its numbers are written if whoever observes it names this unit."""
        return unit

    @property
    def searches(self) -> bool:
        """Whether it looks for the best value of its factor, and so needs a grid; one that is named is only read."""
        return True

    @property
    def settings(self) -> tuple[str, ...]:
        """Fields of a configuration, as in "measurement.test_examples", without which no run keeps what it reads."""
        return ()

    @property
    def log_axis(self) -> bool:
        return self.LOG_AXIS

    @property
    def calibrated_as(self) -> str:
        """The case of the calibration that is of its sort."""
        return str(type(self).model_fields["kind"].default)

    @property
    def grade(self) -> Grade:
        """How good its number is; what is not measured has no interval."""
        return "measured"

    def margin(self, value: float) -> float:
        """By how much another machine's value may differ, where it is not measured."""
        return 0.0

    @property
    def no_effect(self) -> float:
        return self.NO_EFFECT

    @property
    def bounds(self) -> tuple[float, float]:
        return self.BOUNDS

    # Studies in Python write `a - b` for a gap; its kind is known once harness/metrics is imported.
    def __sub__(self, other: "Observed") -> "Observed":
        """The gap of two metrics, seeds paired."""
        return _made("gap", left=self, right=other)

    def __truediv__(self, other: "Observed") -> "Observed":
        """The ratio of two metrics, seeds paired."""
        return _made("quotient", top=self, bottom=other)

    def __mul__(self, factor: float) -> "Observed":
        return _made("scaled", of=self, by=factor)

    def log2(self) -> "Observed":
        """A ratio in octaves."""
        return _made("log2", of=self)


def _made(kind: str, **fields: Any) -> Observed:
    return KINDS[kind](**fields)


class ShareOfRuns(Observed):
    """A share of some runs, with an exact binomial interval."""

    # Every seed has a run that counts, so that few seeds leave it few values.
    COUNTS_EVERY_SEED: ClassVar[bool] = False

    def counts(self, trials: Trials) -> tuple[int, int]:
        """Successes and runs."""
        raise NotImplementedError

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        raise NotEstimableError("out of regime", "a share of runs has an exact interval, and none as a part of something else")


def _register(cls: type[Observed]) -> None:
    """Makes a kind known. Raises TypeError for one that does not say all of itself, and for a second class of one kind."""
    kind = cls.model_fields["kind"].default
    missing = [name for name in ("OF_LOSSES", "UNIT", "EXAMPLE") if not hasattr(cls, name)]
    estimates = cls.counts is not ShareOfRuns.counts if issubclass(cls, ShareOfRuns) else cls.estimate is not Observed.estimate
    missing += [] if estimates else ["counts" if issubclass(cls, ShareOfRuns) else "estimate"]
    if missing:
        raise TypeError(f"observable '{kind}' ({cls.__qualname__}) does not say its {', '.join(missing)}")
    if (other := KINDS.get(kind) or KINDS.get(FORMER[kind][0] if kind in FORMER else "")) is not None:
        raise TypeError(f"observables {other.__qualname__} and {cls.__qualname__} are both of kind '{kind}'; rename one")
    KINDS[kind] = cls
    FORMER.update({former: (kind, read) for former, read in cls.FORMER.items()})


def read_as_today(value: Any) -> Any:
    """An observable's JSON, that of an earlier declaration by the kind it is today."""
    named = value.get("kind") if isinstance(value, dict) else None
    if isinstance(named, str) and named in FORMER:
        kind, read = FORMER[named]
        if (today := read(value)) is not None:
            return {**today, "kind": kind}
    return value


class _AnyKind:
    """Makes a field of observables one of any kind, told apart by `kind`, as a union of all classes would. The classes are
    those in KINDS when the field's schema is made: none is named here, where none may be imported.

    Until harness/metrics is imported there is no schema, and what has such a field (Criterion, and so Study) reads nothing:
    pydantic's error says what to import.
    """

    loaded = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not self.loaded:
            missing = "Observable (import folklore.harness.declare.metrics)"
            raise PydanticUndefinedAnnotation(missing, f"name {missing} is not defined")
        kinds = tuple(KINDS[kind] for kind in sorted(KINDS))
        return handler.generate_schema(
            Annotated[Union.__getitem__(kinds), Field(discriminator="kind"), BeforeValidator(read_as_today)]
        )


ANY_KIND = _AnyKind()
# The type of a field that holds an observable.
Observable = Annotated[Observed, ANY_KIND]


def make_known(others: Iterable[type[Spec]]) -> None:
    """Lets observables of all kinds that there are be read: in other observables, and in other specs that hold them.

    Only those that have a schema make it again; the others make theirs as they are first read."""
    ANY_KIND.loaded = True
    models = [model for model in (*KINDS.values(), *others) if model.__pydantic_complete__]
    # All forget first: a schema that is left would bring along the kinds that were known when it was made.
    for model in models:
        del model.__pydantic_core_schema__
    for model in models:
        model.model_rebuild(force=True)
