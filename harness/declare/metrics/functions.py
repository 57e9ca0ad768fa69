"""Makes a metric of a function of a table of trials: name, facts, docstring, formula and a planted truth stand in one place.

    @metric(
        unit="steps",
        of_losses="no zero",
        example={"arm": "none"},
        planted=({"none": {"divergence_step": [20, 80]}}, 40.0),
    )
    def divergence_step(trials: Trials, weights: Numbers, arm: ObservedArm, over: FactorName = "peak_lr") -> Numbers:

The function's name is the kind by which studies name the metric; what follows the table and the weights are its fields. Such a
function in studies/metrics is of the one study that uses it; what several use is a class beside this file.
"""

import inspect
from collections.abc import Callable
from types import new_class
from typing import Any, Concatenate, Literal, ParamSpec, TypedDict, Unpack

from pydantic import model_validator

from ..observed import Example, Observed, OfLosses, PlantedTruth, ShareOfRuns
from ..trials import Numbers, Trials

Fields = ParamSpec("Fields")


class Facts(TypedDict, total=False):
    """Facts of a metric, by the names that they have in Observed; one that its fields decide is a function of the metric.

    check: returns the metric, or raises ValueError for fields that contradict each other.
    """

    unit: str
    of_losses: OfLosses | Callable[[Any], OfLosses]
    example: Example
    planted: PlantedTruth
    log_axis: bool
    no_effect: float
    bounds: tuple[float, float]
    at_one_point: bool
    ends_reduction: bool
    counts_every_seed: bool
    figure: str
    searches: Callable[[Any], bool]
    settings: Callable[[Any], tuple[str, ...]]
    seeds_behind: Callable[[Any, Trials], int]
    check: Callable[[Any], Any]


def metric(
    **facts: Unpack[Facts],
) -> Callable[[Callable[Concatenate[Trials, Numbers, Fields], Numbers]], Callable[Fields, Any]]:
    """Makes a metric of a function that returns a number under every weighting of the seeds, [R]."""
    return lambda function: _made(function, Observed, facts)


def share_of_runs(
    **facts: Unpack[Facts],
) -> Callable[[Callable[Concatenate[Trials, Fields], tuple[int, int]]], Callable[Fields, Any]]:
    """Makes a metric, a share of runs with an exact interval, of a function that returns successes and runs."""
    return lambda function: _made(function, ShareOfRuns, facts)


def _made(function: Callable[..., Any], base: type[Observed], facts: Facts) -> type[Observed]:
    estimator, table = ("estimate", 2) if base is Observed else ("counts", 1)
    fields = [*inspect.signature(function).parameters.values()][table:]

    def worked_out(self: Observed, *table: Any) -> Any:
        return function(*table, **{field.name: getattr(self, field.name) for field in fields})

    name = function.__name__
    content: dict[str, Any] = {"__module__": function.__module__, "__doc__": function.__doc__, "kind": name}
    content["__annotations__"] = {"kind": Literal[name], **{field.name: field.annotation for field in fields}}
    content |= {field.name: field.default for field in fields if field.default is not field.empty}
    for fact, said in facts.items():
        content |= _said(fact, said)
    made: type[Observed] = new_class(name, (base,), exec_body=lambda body: body.update(content | {estimator: worked_out}))
    return made


def _said(fact: str, said: Any) -> dict[str, Any]:
    """A fact as Observed has it."""
    if fact == "check":
        return {"_checked": model_validator(mode="after")(said)}
    if fact == "seeds_behind":
        return {fact: said}
    if not callable(said):
        return {fact.upper(): said}
    return {fact: property(said), **({"OF_LOSSES": "no zero"} if fact == "of_losses" else {})}
