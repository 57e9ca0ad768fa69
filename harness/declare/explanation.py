"""The text of `folklore schema --explain`: all that a study can be made of, with fields, units and examples, in words."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

import yaml

from ..errors import unknown
from .base import Spec
from .claims import Claim, Regime, Side, Source
from .configuration import Measurement, Training, Workload
from .criterion import Alternative, Criterion, Expected, Judgement, Reported
from .design import Arm, Scale, Search
from .observed import KINDS, Observed
from .rules import Rule
from .study import Published, Study

RULES: tuple[type[Spec], ...] = get_args(get_args(Rule)[0])
BOUNDS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "null": "none"}
SCALARS = {TYPES["integer"], TYPES["number"], TYPES["string"], TYPES["boolean"]}


def parts() -> Mapping[str, Sequence[type[Spec]]]:
    """Heading -> what stands below it, in the order in which one writes a study."""
    return {
        "A study": (
            *(Study, Arm, Scale, Search, Claim, Source, Side, Regime),
            *(Judgement, Criterion, Expected, Alternative, Reported, Published),
        ),
        "What is trained": (Workload, Training, Measurement),
        "Observables: what a criterion observes": [KINDS[kind] for kind in sorted(KINDS)],
        "Rules: regions of an observable's axis": RULES,
    }


def explanation() -> str:
    """The whole explanation, as Markdown."""
    sections = []
    for heading, specs in parts().items():
        sections += [f"# {heading}", *(explained(spec) for spec in specs)]
    return "\n\n".join(sections) + "\n"


def explanation_of(name: str) -> str:
    """The explanation of one part. Raises UserError."""
    named = {_name(spec): spec for specs in parts().values() for spec in specs}
    if name not in named:
        raise unknown("part of a study", name, named)
    return explained(named[name]) + "\n"


@cache
def explained(spec: type[Spec]) -> str:
    """One class: what it is, its unit, its fields, and an example as YAML has it."""
    # The docstring, and those of the classes that its fields come from.
    bases = [base for base in reversed(spec.__mro__[1:]) if issubclass(base, Spec) and base.model_fields]
    docs = [" ".join(inspect.cleandoc(text).split()) for source in (spec, *bases) if (text := source.__doc__)]
    lines = [f"## {_name(spec)}", *docs]
    if (unit := getattr(spec, "UNIT", None)) is not None:
        lines.append(f"Unit: {unit}.")
    lines += ["", *_fields(spec)]
    if (example := example_of(spec)) is not None:
        flow = yaml.safe_dump(example, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True).strip()
        lines += ["", f"    {'observe' if issubclass(spec, Observed) else 'claimed'}: {flow}"]
    return "\n".join(lines)


def example_of(spec: type[Spec]) -> dict[str, Any] | None:
    """An observable or a rule as a study's file has it."""
    example = getattr(spec, "EXAMPLE", None)
    return None if example is None else {"kind": _kind(spec), **example}


def _name(spec: type[Spec]) -> str:
    return _kind(spec) or spec.__name__.lower()


def _kind(spec: type[Spec]) -> str:
    return str(spec.model_fields["kind"].default) if "kind" in spec.model_fields else ""


def _fields(spec: type[Spec]) -> Iterator[str]:
    schema = spec.model_json_schema()
    if schema.get("$ref"):  # one that holds itself
        schema = schema["$defs"][spec.__name__]
    for name, field in schema["properties"].items():
        if name == "kind":
            continue
        default = "required" if name in schema.get("required", ()) else f"default {_value(field.get('default'))}"
        about = f": {field['description']}" if "description" in field else ""
        yield f"- `{name}` ({_type(field)}; {default}){about}"


def _value(default: Any) -> str:
    if isinstance(default, dict) and default:
        return "as below"
    return "none" if default in (None, [], {}, "") else yaml.safe_dump(default, default_flow_style=True).split("\n")[0]


def _type(field: Mapping[str, Any]) -> str:
    """A JSON schema in words."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2].lower()
    if "oneOf" in field:
        return "an observable" if len(field["oneOf"]) > len(RULES) else "a rule"
    if "anyOf" in field:
        return _either(field["anyOf"])
    if "enum" in field:
        return "one of " + ", ".join(map(str, field["enum"]))
    if "const" in field:
        return str(field["const"])
    if "prefixItems" in field:
        return "pair of " + " and ".join(_type(schema) for schema in field["prefixItems"])
    if field.get("type") == "array":
        least = f", at least {field['minItems']}" if field.get("minItems") else ""
        return f"list of {_type(field.get('items', {}))}{least}"
    if field.get("type") == "object":
        named = field.get("patternProperties", {"": field.get("additionalProperties", {})})
        return "by name " + " or ".join(_type(schema) for schema in named.values())
    bounds = [f"{words} {field[key]:,}" for key, words in BOUNDS.items() if key in field]
    return " ".join([TYPES.get(str(field.get("type")), "anything"), " and ".join(bounds)]).rstrip()


def _either(several: list[Mapping[str, Any]]) -> str:
    """Several types in words; all types that a value can have are together called value."""
    names = list(dict.fromkeys(_type(schema) for schema in several))
    if set(names) >= SCALARS:
        names = ["value", *(name for name in names if name not in SCALARS)]
    return " or ".join(names)
