"""How often a claim was asked before: every version of a study that was published and replaced, in `evidence/attempts.json`.

A verdict is a repetition if the version before it asked by the same rule, on other seeds. One that was asked once, or whose
rule is of its version alone, is new, however narrow its interval.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from ..declare import Judgement, Study, fingerprint
from ..declare.base import declared
from ..plan.store import evidence
from ..words import enumerated
from .outcomes import INVALID, OUT_OF_REGIME
from .spelling import spell_interval
from .statistics.pooling import Interval, pooled
from .verdict import Verdict
from .verdict_history import RuleChange

FILE = "attempts.json"


@dataclass(frozen=True)
class Attempt:
    """What a version of a study came to on a claim. numbers: criterion -> estimate, low, high and unit. rule: as rule_of
    gives it; empty where it is not known."""

    claim: str
    study: str
    scale: str
    device: str
    version: int
    date: str
    verdict: str
    reading: str
    numbers: Mapping[str, tuple[float, float, float, str]]
    rule: str = ""

    @property
    def place(self) -> tuple[str, str, str, str, int]:
        return self.claim, self.study, self.scale, self.device, self.version


def attempts() -> list[Attempt]:
    """Of all studies, the earliest first."""
    path = evidence.FOLDER / FILE
    return list(_read(str(path), *evidence.stamp(path))) if path.exists() else []


@lru_cache(maxsize=4)
def _read(path: str, changed: int, size: int) -> tuple[Attempt, ...]:
    with open(path, encoding="utf-8") as file:
        return tuple(TypeAdapter(list[Attempt]).validate_python(json.load(file)))


def append(found: Sequence[Attempt]) -> None:
    """A line each, behind those that are there; one that is there stays as it was first written."""
    known = {each.place: each for each in (*found, *attempts())}
    if new := [each for each in found if known[each.place] is each]:
        lines = ",\n".join(json.dumps(asdict(each), ensure_ascii=False) for each in (*attempts(), *new))
        (evidence.FOLDER / FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def rule_of(judgement: Judgement, scale: str) -> str:
    """A fingerprint of all that decides a claim at a scale; names and words do not."""
    return fingerprint([declared(each) for each in decides(judgement, scale)])


def decides(judgement: Judgement, scale: str) -> list[tuple[Any, ...]]:
    criteria = judgement.criteria_at(scale)
    return [
        (each.panel, each.observe, each.claimed, each.refuted, each.precondition, judgement.quantifier) for each in criteria
    ]


def replaced(
    study: str, version: int, date: str, verdicts: Iterable[Mapping[str, Any]], rules: Mapping[str, str]
) -> list[Attempt]:
    """Verdicts as they were stored, of a version that another one replaces. rules: by claim."""
    kept = ("claim", "scale", "device", "verdict", "reading")
    return [
        Attempt(
            **{name: each[name] for name in kept},
            study=study,
            version=version,
            date=date,
            numbers=dict(_numbers(each["findings"])),
            rule=rules.get(each["claim"], ""),
        )
        for each in verdicts
    ]


def _numbers(findings: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[float, float, float, str]]]:
    for each in findings:
        if each["estimate"] is not None and each["low"] is not None:
            estimate, low, high = (float(f"{each[name]:.6g}") for name in ("estimate", "low", "high"))
            yield each["name"], (estimate, low, high, each["unit"])


def before(verdict: Verdict, version: int) -> list[Attempt]:
    """Earlier versions' attempts at the same claim and scale that came to something, the earliest first."""
    same = (verdict.study, verdict.claim, verdict.scale, verdict.device)
    found = [each for each in attempts() if (each.study, each.claim, each.scale, each.device) == same]
    counted = (each for each in found if each.version < version and each.verdict not in (OUT_OF_REGIME, INVALID))
    return sorted(counted, key=lambda each: each.version)


def repeated(verdict: Verdict, study: Study, rules: Sequence[RuleChange]) -> Verdict:
    """The verdict with what earlier versions of its study say of it. rules: that were changed, the first one first."""
    own = [each for each in rules if (each.claim, each.study) == (verdict.claim, study.name)]
    changed = [each for each in own if each.version <= study.version]
    new, unrepeated = _repetition(verdict, study)
    return replace(verdict, new=new, unrepeated=unrepeated, rule_change=_changed(changed[-1]) if changed else "")


def _repetition(verdict: Verdict, study: Study) -> tuple[str, str]:
    """Why it is new, or what else it came to before; both empty if it came to the same."""
    earlier = before(verdict, study.version)
    if verdict.is_arithmetic:
        return "", ""
    if not earlier:
        return "it was asked once, and is to be repeated on fresh seeds", ""
    last = earlier[-1]
    if not last.rule:
        return f"by which rule version {last.version} was judged is not kept; it came to {_worded(last)}", ""
    if last.rule != rule_of(_judgement(verdict, study), verdict.scale):
        return f"version {last.version} asked by another rule or of other arms, and came to {_worded(last)}", ""
    same = last.verdict == verdict.verdict
    return "", "" if same else f"by the same rule version {last.version} came to {_worded(last)}"


def _changed(rule: RuleChange) -> str:
    return f"version {rule.version} changed the rule when it was known that the one before gave {rule.was}: {rule.change}"


def pooled_lines(verdict: Verdict, study: Study) -> Iterator[str]:
    """Each criterion over this version and all those before it that measured the same."""
    criteria = _judgement(verdict, study).criteria_at(verdict.scale)
    earlier = before(verdict, study.version)
    for criterion, finding in zip(criteria, verdict.findings, strict=True):
        same = {each.version: each.numbers[finding.name] for each in earlier if finding.name in each.numbers}
        numbers = [*same.values(), (finding.estimate, finding.low, finding.high, finding.unit)]
        intervals = [interval for number in numbers if (interval := _with_error(*number, finding.unit)) is not None]
        if same and finding.grade == "measured" and len(intervals) == len(numbers):
            versions = enumerated([*map(str, same), str(study.version)])
            estimate, low, high = np.clip(pooled(intervals, criterion.observe.log_axis), *criterion.bounds).tolist()
            spelled = spell_interval(estimate, low, high, finding.unit)
            yield f"{finding.name}, pooled over versions {versions}: {spelled}"


def _with_error(estimate: float | None, low: float | None, high: float | None, unit: str, wanted: str) -> Interval | None:
    """An interval that has a length, in the unit that is wanted."""
    if estimate is None or low is None or high is None or low >= high or unit != wanted:
        return None
    return estimate, low, high


def _judgement(verdict: Verdict, study: Study) -> Judgement:
    return next(each for each in study.judgements if each.claim == verdict.claim)


def _worded(attempt: Attempt) -> str:
    return f"{attempt.verdict} ({attempt.reading})" if attempt.reading else attempt.verdict
