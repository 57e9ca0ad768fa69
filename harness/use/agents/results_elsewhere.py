"""What the tools return of runs that were trained elsewhere."""

from pydantic import BaseModel, Field

from .arguments import Fields
from .results import KINDS


class Columns(Fields):
    """How the rows of stored runs are to be read; what is left out is guessed, or asked for in the error."""

    metric: str | None = Field(None, description="column of the number")
    arm: str | None = Field(None, description="column of what is compared")
    seed: str | None = Field(None, description="column of the repetition")
    step: str | None = Field(None, description="column of the training step")
    task: str | None = Field(None, description="column of the dataset or benchmark")
    where: list[str] = Field([], description="COLUMN=VALUE: rows to keep")


class Column(BaseModel):
    column: str
    told_by: str = Field(description="the user, the format, or a guess")


class Read(BaseModel):
    """Check that these are the runs you meant before you believe a verdict on them."""

    metric: str
    better: str | None = Field(description="lower or higher")
    columns: dict[str, Column]
    runs: int
    arms: dict[str, int] = Field(description="runs of each")
    tasks: list[str]


class Problem(BaseModel):
    what: str
    count: int
    consequence: str
    examples: list[str]


class TaskPart(BaseModel):
    task: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    runs: list[int] = Field(description="of both arms")
    method: str


class JudgedClaim(BaseModel):
    """A verdict on these runs; nothing was declared beforehand unless you say so yourself."""

    claim: str
    verdict: str = Field(description=KINDS)
    reading: str
    answer: str
    estimate: float | None
    low: float | None
    high: float | None
    unit: str = Field(description="'relative' is a share of the other arm; empty: the metric's own")
    p: float
    smallest_visible: float | None = Field(description="the effect that such runs show in four of five repetitions")
    strength: str = Field(description="firm, fragile, or empty if nothing is decided; of one or two runs an arm never firm")
    fragile: list[str] = Field(description="what the verdict does not survive")
    reason: str
    settling: str = Field(description="what would settle an open one")
    notes: list[str]
    parts: list[TaskPart]


class JudgedRunsResult(BaseModel):
    claims: list[JudgedClaim]
    problems: list[Problem] = Field(description="what is wrong with the runs: tell it with the verdict")
    read: list[Read]


class Visible(BaseModel):
    """The smallest difference that this many seeds an arm show with 80% power."""

    seeds: int
    difference: float
    low: float
    high: float
    relative: float | None = Field(description="to the mean")


class Needed(BaseModel):
    difference: float
    relative: float | None
    seeds: int | None = Field(description="an arm, that show it with 80% power; none: more than is any advice")


class Compared(BaseModel):
    name: str
    difference: float
    relative: float | None
    seeds: list[int]
    p: float = Field(description="that noise alone makes it so large")
    within_noise: bool


class Noise(BaseModel):
    answer: str
    metric: str
    runs: int
    mean: float
    standard_deviation: float = Field(description="over seeds")
    interval: list[float] = Field(description="of the standard deviation, 95%")
    seed_is_used: bool = Field(description="false: all runs end at the same number, and nothing was measured")
    visible: list[Visible]
    needed: list[Needed]
    compared: list[Compared] = Field(description="the differences asked for, or the last two between arms")
    diverged: int
    stopped_early: int
    cautions: list[str]
