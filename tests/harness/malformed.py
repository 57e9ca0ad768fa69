"""A generator of studies that are wrong in one place: what a tired person, another program or an attacker would hand in."""

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

# Values that fit no field of the kind they replace.
NOT_TEXT: tuple[Any, ...] = (3, 2.5, True, None, [], {}, ["a"], {"a": 1})
NOT_A_NUMBER: tuple[Any, ...] = ("", "many", [], {}, [1.0], math.nan, math.inf, -math.inf, "nan")
NOT_A_COUNT: tuple[Any, ...] = (*NOT_A_NUMBER, -1, 0, 2.5, 10**30, -(10**30), True, None, "5")
NOT_A_LIST: tuple[Any, ...] = (3, "text", True, {"a": 1}, math.nan)
NOT_A_MAPPING: tuple[Any, ...] = (3, "text", True, [], [1], math.nan)
ODD_NAMES = (
    "../x",
    "a/b",
    "",
    " ",
    "x" * 300,
    "a\x00b",
    "a\nb",
    "\u202egnp",
    "<script>alert(1)</script>",
    "naïve",
    "A",
    "1x",
    "-",
)
# What cannot be encoded, steers a terminal or turns the direction of writing.
ODD_CHARACTERS = ("\ud800", "\udcff", "\x00", "\x1b[31m", "\x07", "\r", "\x9b2J", "\u202e", "\u2066", "\u2028")
DEEP = 3000
ITSELF = "an observation of itself"
# Values that PyYAML's constructors stumble over, each in another way.
ODD_TAGS = ("!!bool x", "!!timestamp x", "!!int ''", "!!float x", "!!binary é", "!!omap 3", "!!set 3", "!!merge x", "=")
ODD_TAGS += ("2001-12-14t21:59:43+99:99", "2001-13-13", ":".join(["1"] * 190) + ".5", ":".join(["1"] * 500))


@dataclass(frozen=True)
class Case:
    """what: for the message of a failing test. content: a Python object, or the bytes of a file that ends in `suffix`."""

    what: str
    content: Any
    suffix: str = ""


# Fewer in YAML, which takes a hundred times as long to read: it is read by PyYAML's own loader, for that of its C library ends
# the process on lists that are nested deep enough.
MANY = [1e-6 * index for index in range(1, 1001)]
KINDS = ("object", "json", "object", "json", "object", "yaml")


def cases(study: dict[str, Any], count: int, seed: int) -> Iterator[Case]:
    """So many, from a seed; in turn as an object, as JSON and as YAML where they can be written so."""
    draw = random.Random(seed)
    for index in range(count):
        kind = KINDS[index % len(KINDS)]
        if kind != "object" and draw.random() < 0.15:
            yield _broken_file(study, kind, draw)
            continue
        what, changed = draw.choice(CHANGES)(copy.deepcopy(study), draw)
        if what == ITSELF and kind == "json":
            what, changed = _wrong_value(copy.deepcopy(study), draw)  # what JSON cannot write down
        if kind == "object":
            yield Case(what, changed)
        else:
            text = json.dumps(changed) if kind == "json" else yaml.safe_dump(changed, allow_unicode=True)
            yield Case(what, text.encode(), f".{kind}")


Change = Callable[[dict[str, Any], random.Random], tuple[str, dict[str, Any]]]


def _wrong_value(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    """A value of another type, or beyond all bounds, in place of one that is there."""
    path, value = draw.choice([(path, value) for path, value in _leaves(study) if _misfits(path, value)])
    wrong = draw.choice(_misfits(path, value))
    _put(study, path, wrong)
    return f"{'.'.join(map(str, path))} = {wrong!r:.40}", study


def _unknown_field(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    path = draw.choice([path for path in _objects(study) if _is_closed(path)])
    name = draw.choice(["sedes", "peak_Lr", "__class__", "", "0", "constructor", "x" * 500, "seeds "])
    _at(study, path)[name] = draw.choice([1, "x", None, [], {}])
    return f"{'.'.join(map(str, path))} has '{name:.20}'", study


def _missing_field(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    required: list[tuple[Any, ...]] = [(name,) for name in ("name", "version", "title", "question", "arms", "scales")]
    required += [("arms", arm, "label") for arm in study["arms"]] + [
        ("scales", scale, "description") for scale in study["scales"]
    ]
    required += [("judgements", 0, name) for name in ("claim", "criteria")]
    required += [("judgements", 0, "criteria", 0, name) for name in ("name", "observe", "claimed", "refuted")]
    path = draw.choice(required)
    del _at(study, path[:-1])[path[-1]]
    return f"{'.'.join(map(str, path))} is missing", study


def _odd_name(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    """As the name of the study or of a scale, which become names of files; an arm's is only shown."""
    name = draw.choice(ODD_NAMES)
    if draw.random() < 0.5:
        study["name"] = name
        return f"name = {name!r:.40}", study
    study["scales"][name] = study["scales"].pop(draw.choice(list(study["scales"])))
    return f"scale {name!r:.40}", study


def _unknown_name(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    """Names that point nowhere, or at themselves."""
    how = draw.randrange(5)
    criterion = study["judgements"][0]["criteria"][0]
    if how == 0:
        criterion["observe"]["left"]["arm"] = draw.choice(["nobody", "", "half ", study["name"]])
    elif how == 1:
        criterion["observe"] = {"kind": "scaled", "by": 2.0, "of": criterion}  # an observation of itself
    elif how == 2:
        criterion["observe"]["left"]["over"] = draw.choice(["nothing", "seed", "steps"])
    elif how == 3:
        criterion["scales"] = ["nowhere"]
    else:
        study["arms"]["half"]["settings"] = {draw.choice(["half", "arms", "unknown", ""]): 1}
    return ITSELF if how == 1 else f"unknown name {how}", study


def _odd_text(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    """A character that may stand in no text."""
    path: tuple[Any, ...] = draw.choice(
        [("title",), ("question",), ("workload", "dataset"), ("arms", "none", "label"), ("scales", "smoke", "description")]
        + [("judgements", 0, name) for name in ("claim", "note")]
        + [("judgements", 0, "criteria", 0, name) for name in ("name", "unit")]
        + [("departures",)]
    )
    odd = f"a{draw.choice(ODD_CHARACTERS)}b"
    _put(study, path, [odd] if path == ("departures",) else odd)
    return f"{'.'.join(map(str, path))} = {odd!a}", study


def _too_deep(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    """Nested deeper than any declaration, but not so deep that it could not be written down."""
    nested: Any = 1
    for _ in range(draw.choice([20, 60, 100])):
        nested = [nested] if draw.random() < 0.5 else {"left": nested}
    observed = ("judgements", 0, "criteria", 0, "observe")
    path = draw.choice([("arms",), ("training",), ("factors", "peak_lr"), observed, ("departures",)])
    _put(study, path, nested)
    return f"{'.'.join(map(str, path))} nested", study


def _absurd_size(study: dict[str, Any], draw: random.Random) -> tuple[str, dict[str, Any]]:
    path, value = draw.choice(
        [
            (("seeds",), 10**9),
            (("factors", "peak_lr"), MANY),
            (("training", "steps"), 10**15),
            (("training", "batch_size"), 10**15),
            (("training", "micro_batches"), draw.choice([3, 8, 10**15, 0, -2, 1.5, "2", True, None, [1]])),
            (("training", "sampling"), draw.choice(["epoch", "Full", "", 1, None, ["full"], {"full": 1}])),
            (("workload", "width"), 10**12),
            (("workload", "depth"), 10**12),
            (("workload", "context"), 10**12),
            (("measurement", "probes"), 10**12),
            (("measurement", "evaluation_examples"), 10**15),
            (("first_seed",), 2**70),
            (("version",), 2**80),
            (("factors", "peak_lr"), [2.0**-e for e in range(3)] * 2),
            (("factors", "peak_lr"), [1e308 * 10, 1.0, 2.0]),
        ]
    )
    _put(study, path, value)
    if value == MANY:  # a million trials too many: no single number of it is out of bounds
        study["seeds"] = 10_000
    return f"{'.'.join(path)} = {value!r:.40}", study


CHANGES: tuple[Change, ...] = (
    _wrong_value,
    _wrong_value,
    _wrong_value,
    _wrong_value,
    _unknown_field,
    _unknown_field,
    _missing_field,
    _odd_name,
    _unknown_name,
    _odd_text,
    _too_deep,
    _absurd_size,
)


def _broken_file(study: dict[str, Any], kind: str, draw: random.Random) -> Case:
    """A file that is no study, and perhaps no file of its kind."""
    text = json.dumps(study) if kind == "json" else yaml.safe_dump(study)
    broken: list[tuple[str, bytes]] = [
        ("cut", text.encode()[: draw.randrange(1, len(text) // 2)]),
        ("not UTF-8", text.encode().replace(b"a", b"\xff\xfe", 1)),
        ("UTF-16", text.encode("utf-16")),
        ("empty", b""),
        ("bytes of zero", b"\0" * 100),
        ("a list", b"[1, 2]"),
        ("a number", b"3"),
        ("null", b"null"),
        ("deep brackets", b"[" * DEEP + b"]" * DEEP),
        ("deep objects", b'{"a":' * DEEP + b"1" + b"}" * DEEP),
        ("not a number", text.encode().replace(b"10", b"NaN", 1)),
        ("a number of many digits", b'{"version": ' + b"9" * 5000 + b"}"),
        ("more than any float", b'{"version": 1e999}'),
    ]
    if kind == "json":
        broken += [
            ("many values", b"[" + b"1," * 100_000 + b"1]"),
            ("a key twice", text.encode().replace(b"{", b'{"version": 1, "version": 2, ', 1)),
            ("a key twice inside", text.encode().replace(b'"workload": {', b'"workload": {"width": 8, ', 1)),
        ]
    if kind == "yaml":
        broken += [
            ("many values", b"[" + b"1," * 10_000 + b"1]"),  # its reader takes 0.1 ms for each
            ("a Python object", b"!!python/object/apply:os.system ['true']\n"),
            ("a tag", b"name: !unknown x\n"),
            ("aliases", b"a: &a [x, x, x]\nb: &b [*a, *a, *a]\nname: *b\n"),
            ("aliases without end", bomb("a: &a [x, x, x, x, x, x, x, x, x]", "[{}]")),
            ("merges without end", bomb("a: &a {x1: 1, x2: 2, x3: 3}", "{{<<: [{}]}}")),
            ("a key twice", text.encode() + b"version: 1\n"),
            ("a key twice, spelled in two ways", b'name: a\n"name": b\n'),
            ("keys that are no text", b"1: x\ntrue: y\nnull: z\n2001-01-01: z\n"),
            ("a tag that does not fit", f"version: {draw.choice(ODD_TAGS)}\n".encode()),
            ("an alias of itself", b"&a [*a]\n"),
            ("a mapping of itself", b"arms: &a\n  x: *a\n"),
            ("tabs", b"name:\t\t- x\n\ty: 1"),
            ("two documents", b"name: a\n---\nname: b\n"),
            ("a list as a key", b"? [a, b]\n: 1\n"),
            ("a date", b"name: 2020-01-01\nversion: 1\n"),
        ]
    what, content = draw.choice(broken)
    return Case(what, content, f".{kind}")


def bomb(start: str, of: str) -> bytes:
    """YAML of a few hundred bytes that stands for some 10^10 values: nine levels of nine aliases each."""
    lines = [start]
    for below, name in zip("abcdefghi", "bcdefghij", strict=True):
        lines.append(f"{name}: &{name} " + of.format(", ".join([f"*{below}"] * 9)))
    return "\n".join(lines).encode()


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value that is there, with the way to it."""
    if path:
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _leaves(each, (*path, key))


def _misfits(path: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """What certainly does not fit in the place of a value."""
    if path[0] in ("departures", "arms", "published") and len(path) > 1 and path[-1] != "label":
        return ()
    if path[-1] in ("judged", "solo", "nesterov", "underflow") or isinstance(value, bool):
        return ("perhaps", [], {}, 7, math.nan)
    if (
        value is None
        or (path[0] == "scales" and path[-1] in ("seeds", "examples"))
        or path[-1] in ("settings", "factors")
        or path[0] == "factors"
    ):
        return ()
    if isinstance(value, str):
        return NOT_TEXT
    if isinstance(value, int):
        return NOT_A_COUNT if path[-1] in ("version", "seeds", "steps", "width", "depth", "batch_size") else NOT_A_NUMBER
    if isinstance(value, float):
        return NOT_A_NUMBER
    return NOT_A_LIST if isinstance(value, list) else NOT_A_MAPPING


def _objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _objects(each, (*path, key))


def _is_closed(path: tuple[Any, ...]) -> bool:
    """Whether an object has fields, and is not a table of names."""
    return not path or (
        path[-1] not in ("arms", "scales", "factors", "settings", "arm_factors", "arm_settings", "search")
        and (len(path) < 2 or path[-1] not in ("workload", "training", "measurement"))
    )


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    _at(value, path[:-1])[path[-1]] = new
