"""What the tools return, as clients are told beforehand: of what `folklore … --json` prints, the part that an agent needs."""

from typing import Any

from pydantic import BaseModel, Field

KINDS = "supported, partly, refuted, open, out of regime, invalid or withdrawn"


class StudyRow(BaseModel):
    """A study of the catalogue, or one that the store holds trials of."""

    study: str
    question: str
    judges: int = Field(description="claims")
    scales: list[str]
    trials: dict[str, int] = Field(description="stored here, by scale")
    variation_of: str | None


class Studies(BaseModel):
    studies: list[StudyRow]


class Resolution(BaseModel):
    """What the planned seeds can show of one criterion, with 80% power."""

    claim: str
    criterion: str
    unit: str
    resolves: float | None = Field(description="how far inside its region a value must lie to be decided; none: not known")
    log_axis: bool = Field(description="whether that is a factor, and no difference")
    expected: float | None = Field(description="the value predicted beforehand")
    power: float | None = Field(description="how often these seeds would show the expected value")
    seeds: int | None = Field(description="as many as give the expected value, or one like the pilot's, 80% power")
    reason: str = Field(description="why there are no numbers")


class Power(BaseModel):
    spread_of: str = Field(alias="from", description="the trials that the spread was taken from")
    seeds: int
    criteria: list[Resolution]


class Plan(BaseModel):
    study: str
    scale: str
    device: str
    datasets: str
    seeds: int
    trials: int
    trials_left: int = Field(description="not stored yet: what a run would train")
    workers: int
    seconds: float = Field(description="expected time of training, s")
    time_from: str = Field(description="what that time rests on")
    memory_gib: float
    recipe: dict[str, str]
    power: Power | None = Field(description="none: no trials to take a spread from, or a scale that is never judged")


class VerdictResult(BaseModel):
    """Of one claim at one scale on one kind of device; it says nothing about other scales."""

    study: str
    claim: str
    scale: str
    device: str
    verdict: str = Field(description=KINDS)
    reading: str = Field(description="why, in a word or two; empty if the verdict says it")
    answer: str = Field(description="the sentence to take away; quote it with the scale")
    advice: str
    estimate: float | None
    low: float | None = Field(description="lower end of the 95% interval")
    high: float | None
    unit: str | None = Field(
        None,
        description="of these three: 'relative' is a share, 'difference of shares' 0.05 for 5 points; none: as in `reason`",
    )
    seeds: int
    trials: int
    reason: str = Field(description="the rule that applied, with its numbers")
    p: float | None
    cautions: list[str] = Field(description="what speaks against this verdict: tell them with it")
    after_the_fact: bool = Field(description="whether criteria were written after these trials had been seen")
    declared_otherwise: bool = Field(description="whether it is judged by other than was declared before these trials")


class Verdicts(BaseModel):
    verdicts: list[VerdictResult] = Field(
        description="empty: no trials are stored; run the study, or ask for the published ones"
    )


class Run(BaseModel):
    study: str
    scale: str
    departures: list[str] = Field(description="of a variation: what differs from the declared study")
    trials: int
    trained: int = Field(description="in this call")
    given_up: int = Field(description="trials that failed again and again; claims that need them are invalid")
    unfinished: bool = Field(description="whether trials are left: the same call goes on; until then no verdict is final")
    seconds: float
    verdicts: list[VerdictResult]
    pages: list[str]
    messages: list[str] = Field(description="the last ones that a person at a terminal would have been told")


class Basis(BaseModel):
    """A criterion of a verdict, with its estimate and 95% interval in `unit`."""

    criterion: str
    claimed: str
    refuted: str
    verdict: str | None
    estimate: float | None
    low: float | None
    high: float | None
    unit: str
    seeds: int | None
    reason: str | None
    by_seed: dict[str, float | None] = Field(description="the estimate from each seed alone")


class Alternative(BaseModel):
    choice: str
    verdict: str


class Robustness(BaseModel):
    without_seed: dict[str, str] = Field(description="seed -> the verdict without it")
    alternatives: list[Alternative] = Field(description="the verdict by other choices that are as reasonable")


class Explanation(BaseModel):
    claim: str
    paraphrase: str
    sources: list[dict[str, Any]]
    measure: str = Field(description="what was declared to be measured")
    study: str
    version: int
    scale: str
    device: str
    source: str = Field(description="stored or published")
    verdict: str = Field(description=KINDS)
    reason: str
    standing: str = Field(
        description="firm, fragile, exact or computed, before the correction over all claims; empty: undecided"
    )
    fragile: list[str] = Field(description="what the verdict does not survive")
    note: str
    criteria: list[Basis]
    reported: list[str] = Field(description="measured beside it; decides nothing")
    robustness: Robustness | None


class Explanations(BaseModel):
    explanations: list[Explanation] = Field(description="one for each scale and kind of device")
