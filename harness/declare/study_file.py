"""Reads a study's declaration from a JSON or YAML file. One that says two things at once, or grows without bound, is
refused."""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError

from ..errors import UserError, quoted
from ..input_files import TooMuchError, read_regular, size_of

# More than a hundred times the largest of ours.
LARGEST_STUDY = 8_000_000
# Values, with keys, containers and what aliases repeat: forty times the most of ours.
MOST_VALUES = 100_000
# Digits of a number; YAML's numbers to the base of 60 take time that is quadratic in them.
LONGEST_NUMBER = 400
OCTAL = re.compile(r"[+-]?0[0-7_]+")
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def read_study_file(path: Path) -> Any:
    """The content of a .json, .yaml or .yml file, not validated yet. Raises UserError."""
    subject, kind = f"study file {path}", path.suffix[1:]
    try:
        content = read_regular(path, LARGEST_STUDY)
    except TooMuchError:
        raise UserError(f"{subject}: larger than {size_of(LARGEST_STUDY)}, which no study is; shorten it") from None
    except OSError as error:
        raise UserError(f"{subject}: cannot be read ({error.strerror}); give another file") from None
    except ValueError as error:
        raise UserError(f"{subject}: {error}") from None
    try:
        text = content.decode("utf-8-sig")
        return _from_json(text) if kind == "json" else yaml.load(text, _Loader)
    except TooMuchError as error:
        raise UserError(f"{subject}: {error}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{subject}: not valid {kind} ({quoted(error)}); fix it") from None
    except Exception:  # PyYAML's constructors raise whatever they stumble over.
        raise UserError(f"{subject}: not valid {kind} (a value is none of what its tag says); fix it") from None


def _from_json(text: str) -> Any:
    content = json.loads(text, object_pairs_hook=_without_duplicates)
    stack, values = [content], 0
    while stack:
        value = stack.pop()
        values += 1
        if isinstance(value, dict):
            values += len(value)
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    if values > MOST_VALUES:
        raise _too_many()
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"key '{key:.80}' stands twice in one object; keep one of them")
        mapping[key] = value
    return mapping


def _too_many() -> TooMuchError:
    return TooMuchError(f"more than {MOST_VALUES} values, which no study has; shorten it")


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader in Python (the one in C ends the process on lists that are nested deep enough), without duplicate
    keys, numbers that are others than they look or take long to read, and aliases that repeat themselves or more than
    MOST_VALUES values."""

    def __init__(self, text: str):
        super().__init__(text)
        self.values = 0
        # The number of values of each node that is whole, by its identity.
        self.sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Counts values as they are read; an alias counts as all that it stands for."""
        is_alias, before = self.check_event(yaml.AliasEvent), self.values
        node = super().compose_node(parent, index)
        if node is None:
            return None
        if not is_alias:
            self.values += 1
            self.sizes[id(node)] = self.values - before
        elif id(node) in self.sizes:
            self.values += self.sizes[id(node)]
        else:
            raise ComposerError(None, None, "an alias stands for a value that holds it", node.start_mark)
        if self.values > MOST_VALUES:
            raise _too_many()
        if node.tag in NUMBERS:
            self._require_plain(node)
        return node

    def _require_plain(self, node: yaml.Node) -> None:
        """Raises ComposerError for numbers that YAML reads as others than people do, and those that take long to read."""
        if len(node.value) > LONGEST_NUMBER:
            raise ComposerError(None, None, f"a number of {len(node.value)} characters", node.start_mark)
        kind = "to the base of 60" if ":" in node.value else "an octal" if OCTAL.fullmatch(node.value) else ""
        if kind:
            meant = self.construct_object(node)
            says = f"'{node.value:.40}' is {kind} in YAML, {meant:.12g}; write {meant:.12g}, or put a text into quotes"
            raise ComposerError(None, None, says, node.start_mark)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Keys are compared before `<<` brings in those of other mappings, which may be given again. A key `null` names a
        criterion's field, and is not YAML's word for nothing."""
        node = super().compose_mapping_node(anchor)
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ComposerError(None, None, "a key that is no text", key.start_mark)
            if key.value == "null":
                key.tag = "tag:yaml.org,2002:str"
            if (key.tag, key.value) in keys:
                raise ComposerError(None, None, f"key '{key.value:.80}' stands twice; keep one of them", key.start_mark)
            keys.add((key.tag, key.value))
        return node
