"""Numbers that a study computes instead of training for them: which functions there are, and the jobs that call them.

A function stands in a package that pyproject.toml names (`folklore.computed`), which lists it in FUNCTIONS with its version,
its numbers and how good each is. The list is read without the functions' own modules, which import the engine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from ..errors import UserError, unknown
from .base import canonical_json, fingerprint

# exact: an integer, or float64 from a closed form, equal to 1e-9 on every processor and thread count. computed: float64
# arithmetic, equal to its tolerance. measured: whatever trains, times or draws: a number for each seed, and an interval.
Grade = Literal["exact", "computed", "measured"]
GROUP = "folklore.computed"
EXACT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Number:
    """How good a number is. tolerance: two machines' values differ by at most this, relative to the larger of the value and 1
    (so that it is absolute for small values); 0 for what is measured. log_axis: its logarithm is what is symmetric."""

    grade: Grade
    tolerance: float = 0.0
    log_axis: bool = False

    def margin(self, value: float) -> float:
        """By how much another machine's value may differ from this one."""
        return self.tolerance * max(1.0, abs(value))


EXACT = Number("exact", EXACT_TOLERANCE)
MEASURED = Number("measured")


def computed(tolerance: float) -> Number:
    return Number("computed", tolerance)


@dataclass(frozen=True)
class Function:
    """name: MODULE.FUNCTION in the package that lists it. version: raised by hand when its numbers change beyond their
    tolerance. numbers: name -> grade. parameters: what it can be called with, beside a seed, and the values that each may have;
    (): any number. package: where it stands, filled in when it is read."""

    name: str
    version: int
    numbers: Mapping[str, Number]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    package: str = ""

    def require(self, arguments: Mapping[str, Any]) -> None:
        """Raises UserError for what it cannot be called with."""
        for name, value in arguments.items():
            if name not in self.parameters:
                raise unknown(f"argument of {self.name}", name, self.parameters)
            choices = self.parameters[name]
            if choices and value not in choices:
                raise unknown(f"{name} of {self.name}", str(value), choices)
            if not choices and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise UserError(f"{name} of {self.name} = {value!r}: must be a number")

    @property
    def by_seed(self) -> bool:
        """Whether it is called once for each seed, with that seed."""
        return any(number.grade == "measured" for number in self.numbers.values())


@dataclass(frozen=True)
class ComputedJob:
    """One call of a function, or one for each seed. arguments: canonical JSON; seeds: () unless the function takes one."""

    function: str
    version: int
    arguments: str
    seeds: tuple[int, ...] = ()

    def digest(self, study: str, study_version: int, engine_version: int) -> str:
        """Identity of its result: study, versions of the study, the engine and the function, arguments and seeds."""
        return fingerprint([study, study_version, engine_version, *self.identity])

    @property
    def identity(self) -> list[Any]:
        return [self.function, self.version, self.arguments, list(self.seeds)]

    @property
    def call(self) -> str:
        """The function and its arguments, as a person would write them."""
        return f"{self.function}({', '.join(f'{name}={value!r}' for name, value in json.loads(self.arguments).items())})"


@dataclass(frozen=True)
class Curve:
    """One line of a plot. dots: drawn as dots on a thin line, for few places."""

    name: str
    x: Any
    y: Any
    dots: bool = False


@dataclass(frozen=True)
class Plot:
    """Curves over one axis. levels: (y, words) of horizontal lines; places: (x, words) of vertical ones."""

    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = True
    log_y: bool = True
    levels: tuple[tuple[float, str], ...] = ()
    places: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Table:
    """A few numbers in words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Worked:
    """The result of a function: its numbers, and the plots and tables that show where they come from."""

    numbers: Mapping[str, float]
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Registry:
    """The functions by name. former: a check of earlier declarations -> the fields of Computed that it is now."""

    functions: Mapping[str, Function]
    former: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def named(self, name: str) -> Function:
        if name not in self.functions:
            raise unknown("function that computes", name, self.functions)
        return self.functions[name]

    @cached_property
    def checks(self) -> dict[str, str]:
        """Function, arguments and number -> the check that they were."""
        return {canonical_json([now["function"], now["arguments"], now["number"]]): name for name, now in self.former.items()}

    @cached_property
    def numbers(self) -> dict[str, Number]:
        """FUNCTION:NUMBER -> how good it is."""
        return {
            f"{function.name}:{name}": number
            for function in self.functions.values()
            for name, number in function.numbers.items()
        }


@cache
def registry() -> Registry:
    """The functions of the packages that pyproject.toml names. Raises UserError if nothing is installed."""
    functions: dict[str, Function] = {}
    former: dict[str, Mapping[str, Any]] = {}
    for entry_point in entry_points(group=GROUP):
        package = import_module(entry_point.value)
        functions |= {function.name: replace(function, package=entry_point.value) for function in package.FUNCTIONS}
        former |= package.FORMER
    if not functions:
        raise UserError("no functions that compute are registered: install the project first (make setup, or pip install -e .)")
    return Registry(functions, former)


def job_of(function: str, arguments: Mapping[str, Any], seeds: tuple[int, ...]) -> ComputedJob:
    """The job of a function of the registry. seeds: those of the study; a function that is not measured takes none."""
    known = registry().named(function)
    return ComputedJob(function, known.version, canonical_json(dict(arguments)), seeds if known.by_seed else ())


def called(job: ComputedJob, seed: int | None = None) -> Worked:
    """Compute. Imports the function's module, and with it torch."""
    known = registry().named(job.function)
    module, _, name = job.function.rpartition(".")
    arguments = json.loads(job.arguments) | ({} if seed is None else {"seed": seed})
    worked: Worked = getattr(import_module(f"{known.package}.{module}"), name)(**arguments)
    assert worked.numbers.keys() == known.numbers.keys(), f"{job.function} returns other numbers than it declares"
    return worked


# The kind that errors of operations were published as, its fields that are arguments now, and the values left at none there.
OPERATION_ERROR, OF_OPERATIONS = "operations.error", ("operation", "format", "sums", "offset", "spread")
OVER = {"over_unit_roundoff": "unit_roundoff", "over_rounded_once": None}


def check_as_today(value: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of Computed that an exact check of earlier declarations is now; None for one that never was."""
    former = registry().former.get(value.get("check", ""))
    return None if former is None else dict(former)


def operation_error_as_today(value: dict[str, Any]) -> dict[str, Any]:
    """The same of the kind that errors of operations were published as."""
    arguments = {name: value[name] for name in OF_OPERATIONS if value.get(name) not in (None, "fp32")}
    number = next(name for name, over in OVER.items() if over == value.get("over"))
    return {"function": OPERATION_ERROR, "arguments": arguments, "number": number}


def written_as_before(function: str, arguments: Mapping[str, Any], number: str) -> dict[str, Any] | None:
    """The JSON of earlier declarations that is read as this; None for what was never anything else."""
    if function == OPERATION_ERROR:
        over = {} if OVER[number] is None else {"over": OVER[number]}
        return {"kind": "operation_error", "sums": "fp32", **arguments, **over}
    check = registry().checks.get(canonical_json([function, dict(arguments), number]))
    return None if check is None else {"kind": "exact", "check": check}
