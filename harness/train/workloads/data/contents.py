"""A line on the files of a user's folder that were read and passed over: one rule for texts and images."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from ....input_files import Parts

# Classes whose counts are named one by one.
MOST_NAMED = 12
HIDDEN, COPIES = "hidden", "copies of others"


def is_hidden(parts: Parts) -> bool:
    """Whether a file is hidden or left behind by a system, or lies below such a folder."""
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def chosen(files: Iterable[Parts], suffixes: Sequence[str]) -> "tuple[list[Parts], Counter[str]]":
    """The visible files of these suffixes, in capitals or not, in order of their paths; and why others are passed over."""
    matches, passed = [], Counter[str]()
    for parts in sorted(files):
        suffix = PurePath(parts[-1]).suffix.lower()
        if is_hidden(parts):
            passed[HIDDEN] += 1
        elif suffix not in suffixes:
            passed[suffix or "without a suffix"] += 1
        else:
            matches.append(parts)
    return matches, passed


@dataclass(frozen=True)
class Contents:
    """read: files. passed_over: reason -> how many. classes: name -> examples. splits: name -> examples. moved: copies of
    examples that lay in two splits, and are in training now."""

    read: int
    passed_over: Mapping[str, int] = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)
    splits: Mapping[str, int] = field(default_factory=dict)
    given_splits: Sequence[str] = ()
    moved: int = 0

    def __str__(self) -> str:
        said = [f"{self.read} files read"]
        if self.passed_over:
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.passed_over.items()))
            said.append(f"{sum(self.passed_over.values())} passed over ({reasons})")
        if self.classes:
            named = ", ".join(f"{name} {count}" for name, count in list(self.classes.items())[:MOST_NAMED])
            more = f" and {len(self.classes) - MOST_NAMED} more" if len(self.classes) > MOST_NAMED else ""
            said.append(f"{len(self.classes)} classes: {named}{more}")
        if self.splits:
            counts = ", ".join(
                f"{name} {count}" + " (given)" * (name in self.given_splits) for name, count in self.splits.items()
            )
            said.append(f"examples: {counts}")
        if self.moved:
            said.append(f"{self.moved} exact copies that lay in two splits moved to training")
        return "; ".join(said)
