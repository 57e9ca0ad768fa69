"""Errors a user can fix: one line that names the value, the rule and the way out."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

# Most characters of a message, whatever it quotes.
LONGEST_MESSAGE = 2000
# Another library's message within one of ours: as long as MLflow's, which ends with what to do.
LONGEST_QUOTE = 500
# Findings on one input that are shown at once.
MOST_FINDINGS = 5
# What brings torch, Ray, MLflow and Optuna, which judging goes without.
INSTALL = "pip install 'folklore-harness[train]', or in a clone `make setup`"
# Other libraries' names for our fields; by likeness alone the wrong one would be suggested.
USUAL = {
    **dict.fromkeys(("lr", "learning_rate", "max_lr", "eta"), "peak_lr"),
    **dict.fromkeys(("wd", "l2"), "weight_decay"),
    **dict.fromkeys(("bs", "batch"), "batch_size"),
    **dict.fromkeys(("eps", "adam_epsilon"), "epsilon"),
    **dict.fromkeys(("grad_clip", "max_grad_norm"), "clip_norm"),
    **dict.fromkeys(("epochs", "max_steps"), "steps"),
    **dict.fromkeys(("warmup_steps", "warmup_ratio"), "warmup_fraction"),
    **dict.fromkeys(("min_lr", "lr_end"), "final_fraction"),
    **dict.fromkeys(("n_layers", "layers", "num_layers"), "depth"),
    **dict.fromkeys(("d_model", "hidden_size"), "width"),
    "data": "dataset",
}


class UserError(ValueError):
    """Bad input or an unusable environment. The command line prints its one line and exits with 2."""

    def __init__(self, message: str):
        super().__init__(printable(message)[:LONGEST_MESSAGE])


class UnwritableError(UserError):
    """The store takes nothing: it is full, read-only or gone."""


class UnreadableError(UserError):
    """The store does not answer, or lets nobody read."""


class UserCodeError(UserError):
    """A user's code raises, and will again: says what it raises, and in which line."""


class RunFailedError(RuntimeError):
    """A run that cannot go on, though nothing it was given was refused. The command line prints one line and exits with 1."""


class UnreadError(Exception):
    """A pipe has lost its reader: if a command prints into it, the command ends without a word. (Click would turn
    a BrokenPipeError into exit code 1.)"""


class TooLargeError(Exception):
    """Memory does not hold so many lanes."""


def one_line(error: BaseException) -> str:
    """An error's message on one line, without the secrets of addresses in it."""
    return masked(" ".join(str(error).split())) or type(error).__name__


def quoted(error: BaseException) -> str:
    """An error's message within another one; a long one ends with a whole sentence, or a whole word and an ellipsis."""
    text = one_line(error)
    if len(text) <= LONGEST_QUOTE:
        return text
    head = text[:LONGEST_QUOTE]
    sentences, stop, _ = head.rpartition(". ")
    return sentences + stop.rstrip() if stop else (head.rpartition(" ")[0] or head) + " …"


def printable(text: str) -> str:
    """One line without characters that steer a terminal or turn the direction of writing: they are spelled out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii") for character in text
    )


def masked(text: str) -> str:
    """Addresses without the passwords, keys and tokens in them."""
    text = re.sub(r"(\w://)[^/@\s]*@", r"\1***@", text)
    return re.sub(r"(?i)([?&][^=&?\s]*(?:key|token|secret|password|signature|credential)[^=&\s]*=)[^&\s'\")]+", r"\1***", text)


def nearest(name: str, names: Sequence[str]) -> str:
    """The name that was meant; empty if none is.

    What others call it (`peak_lr` for `lr`), else one that is nearly the same (`steps` for `step`), else one of which it is a
    whole word (`critical_batch` for `critical`), else the most similar.
    """
    if USUAL.get(name) in names:
        return USUAL[name]
    same = difflib.get_close_matches(name, names, n=1, cutoff=0.85)
    of_words = [candidate for candidate in names if name in re.split(r"[_.-]", candidate)]
    return next(iter(same or of_words or difflib.get_close_matches(name, names, n=1, cutoff=0.5)), "")


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that is not there, with the nearest name that is."""
    names = list(dict.fromkeys(known))
    near = nearest(name, names)
    hint = f"did you mean '{near}'?" if near else f"known: {', '.join(sorted(names)) or 'none'}"
    return UserError(f"no {kind} named '{name}': {hint}")


def _no_kind(context: Mapping[str, str]) -> str:
    """A message in place of pydantic's, which lists all kinds that there are."""
    kinds = [kind.strip("'") for kind in context["expected_tags"].split(", ")]
    near = difflib.get_close_matches(context["tag"], kinds, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"there is no '{context['tag']}'; {hint}`folklore schema --explain` lists them"


# The type that a field takes, by the first word of pydantic's name for the error.
TAKES = {
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "string": "a text",
    "tuple": "a list",
    "dict": "a mapping",
}


def _rule(item: Mapping[str, Any]) -> str:
    """The rule that one of pydantic's findings states, in our own words."""
    kind, _, fault = item["type"].partition("_")
    if kind in TAKES and fault in ("type", "parsing", "from_float"):
        return f"must be {TAKES[kind]}"
    choices = re.findall(r"'([^']*)'", item["ctx"]["expected"]) if item["type"] == "literal_error" else []
    if near := nearest(str(item["input"]), choices):
        return f"did you mean '{near}'?"
    message: str = item["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")


def invalid(subject: str, error: ValidationError) -> UserError:
    """pydantic's findings on one line: field, value, rule."""
    findings, items = [], error.errors()
    for item in items:
        # A list whose only entry is wrong is not too short.
        within = (other for other in items if other is not item and other["loc"][: len(item["loc"])] == item["loc"])
        if item["type"] == "too_short" and any(within):
            continue
        field = ".".join(str(part) for part in item["loc"])
        message = _rule(item)
        value = "" if item["type"] == "value_error" else f" = {item['input']!r:.80}"
        if item["type"] == "union_tag_invalid":
            field, value, message = f"{field}.kind", "", _no_kind(item["ctx"])
        if item["type"] == "extra_forbidden":
            value = "" if isinstance(item["input"], list | tuple | dict) else value
            message = "there is no such field"
            if meant := USUAL.get(str(item["loc"][-1])):
                message += f"; did you mean '{meant}'?"
        findings.append(f"{field}{value}: {message}" if field else message)
    more = [f"and {len(findings) - MOST_FINDINGS} more"] if len(findings) > MOST_FINDINGS else []
    return UserError(f"{subject}: {'; '.join([*findings[:MOST_FINDINGS], *more])}")
