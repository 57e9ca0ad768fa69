"""Studies that are wrong in one place, made from the JSON Schema of a study; and files that are no study at all."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator, validators
from pydantic import TypeAdapter, ValidationError

from folklore.harness.declare import Study

SCHEMA = Study.model_json_schema()


def _reads(kind: Any, value: Any) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


# Numbers and truths are read from one another, and truths from yes and no.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine("boolean", lambda _, value: _reads(bool, value)).redefine(
    "number", lambda _, value: not isinstance(value, str) and _reads(float, value)
)
BY_SCHEMA = validators.extend(Draft202012Validator, type_checker=_TYPES)(SCHEMA)
# Texts that cannot be encoded, steer a terminal or turn the direction of writing.
ODD_CHARACTERS = ("\ud800", "\udcff", "\x00", "\x1b[31m", "\x07", "\r", "\x9b2J", "\u202e", "\u2066", "\u2028")
# Of studies and scales, which become names of files.
ODD_NAMES = ("../x", "a/b", "", " ", "x" * 300, "a\nb", "<script>alert(1)</script>", "naïve", "A", "1x", "-", "__class__")
DEEP = 3000


def _parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value that is there, with the way to it, the whole first."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _parts(inner, (*path, key))


def paths(value: Any) -> set[tuple[Any, ...]]:
    return {path for path, _ in _parts(value)}


def _said(*keywords: str) -> list[Any]:
    """The schema's values under these keywords."""
    return [value for path, value in _parts(SCHEMA) if path and path[-1] in keywords]


def _nested(depth: int) -> Any:
    nested: Any = 1
    for level in range(depth):
        nested = [nested] if level % 2 else {"left": nested}
    return nested


# Kinds, choices and fields that belong elsewhere, numbers on both sides of the schema's bounds, and what no schema thinks of.
WORDS = sorted({word for word in _said("const") if isinstance(word, str)} | {word for words in _said("enum") for word in words})
FIELDS = sorted({name for table in _said("properties") for name in table})
BOUNDS = sorted(set(_said("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "maxLength", "maxItems")))
TEXTS = st.sampled_from([*WORDS, *FIELDS, *ODD_NAMES]) | st.text(max_size=20).filter(lambda text: not _reads(float, text))
NUMBERS = st.builds(lambda bound, by: bound + by, st.sampled_from(BOUNDS), st.sampled_from([-1, 0, 1, 0.5]))
NUMBERS |= st.integers() | st.floats() | st.sampled_from([10**30, -(10**30)])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.builds(_nested, st.sampled_from([20, 100])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def malformed(draw: st.DrawFn, study: dict[str, Any]) -> dict[str, Any]:
    """A study in which one value is another, one key is missing, or one is there that may not be."""
    changed = copy.deepcopy(study)
    path, value = draw(st.sampled_from([(path, value) for path, value in _parts(changed) if path]))
    above = changed
    for key in path[:-1]:
        above = above[key]
    how = draw(st.sampled_from(["another value", "another value", "a missing key", "a key more"]))
    if how == "a key more" and isinstance(value, dict):
        value[draw(TEXTS)] = draw(VALUES)
    elif how == "a missing key" and isinstance(above, dict):
        del above[path[-1]]
    else:
        above[path[-1]] = draw(VALUES)
    return changed


def bomb(start: str, of: str) -> bytes:
    """YAML of a few hundred bytes that stands for some 10^10 values: nine levels of nine aliases each."""
    lines = [start]
    for below, name in zip("abcdefghi", "bcdefghij", strict=True):
        lines.append(f"{name}: &{name} " + of.format(", ".join([f"*{below}"] * 9)))
    return "\n".join(lines).encode()


# By the end of their name, what is no study and perhaps no file of its kind.
NO_STUDIES = (
    *((suffix, content) for suffix in (".json", ".yaml") for content in (b"", b"\0" * 100, b"[1, 2]", b"3", b"null", b"{")),
    *((suffix, b"[" * DEEP + b"]" * DEEP) for suffix in (".json", ".yaml")),
    *((suffix, b'{"a":' * DEEP + b"1" + b"}" * DEEP) for suffix in (".json", ".yaml")),
    *((suffix, '{"name": "a"}'.encode("utf-16")) for suffix in (".json", ".yaml")),
    (".json", b'{"name": "\xff\xfe"}'),
    (".json", b'{"version": 1e999}'),
    (".json", b'{"version": NaN}'),
    (".yaml", b"[" + b"1," * 10_000 + b"1]"),  # its reader takes 0.1 ms for each
    (".yaml", b"!!python/object/apply:os.system ['true']\n"),
    (".yaml", b"name: !unknown x\n"),
    (".yaml", b"a: &a [x, x, x]\nb: &b [*a, *a, *a]\nname: *b\n"),
    (".yaml", b"1: x\ntrue: y\nnull: z\n2001-01-01: z\n"),
    (".yaml", b"arms: &a\n  x: *a\n"),
    (".yaml", b"name:\t\t- x\n\ty: 1"),
    (".yaml", b"name: a\n---\nname: b\n"),
    (".yaml", b"? [a, b]\n: 1\n"),
    # Values that PyYAML's constructors stumble over, each in another way.
    *((".yaml", f"version: !!{tag}\n".encode()) for tag in ("timestamp x", "int ''", "float x", "binary é", "omap 3", "set 3")),
    *((".yaml", f"version: {text}\n".encode()) for text in ("!!merge x", "=", "2001-12-14t21:59:43+99:99", "2001-13-13")),
)
