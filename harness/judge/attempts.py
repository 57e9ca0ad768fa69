"""How often a claim was asked before: every version of a study that was published and replaced, in `evidence/attempts.json`.

A verdict is a repetition if the version before it asked by the same rule, on other seeds. A verdict on a claim that was asked
once, or by a rule of its version alone, is new, however narrow its interval.
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
    """The verdict of one version of a study on a claim. numbers: criterion -> estimate, low, high and unit. rule: as rule_of
    gives it; empty if unknown."""

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
    """Attempts of all studies, earliest first."""
    path = evidence.FOLDER / FILE
    return list(_read(str(path), *evidence.stamp(path))) if path.exists() else []


@lru_cache(maxsize=4)
def _read(path: str, changed: int, size: int) -> tuple[Attempt, ...]:
    with open(path, encoding="utf-8") as file:
        return tuple(TypeAdapter(list[Attempt]).validate_python(json.load(file)))


def append(new_attempts: Sequence[Attempt]) -> None:
    """Appends attempts, a line each; one already in the file stays as first written."""
    known = {attempt.place: attempt for attempt in (*new_attempts, *attempts())}
    if new := [attempt for attempt in new_attempts if known[attempt.place] is attempt]:
        lines = ",\n".join(json.dumps(asdict(attempt), ensure_ascii=False) for attempt in (*attempts(), *new))
        (evidence.FOLDER / FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def rule_of(judgement: Judgement, scale: str) -> str:
    """A fingerprint of all that decides a claim at a scale; names and words do not."""
    return fingerprint([declared(part) for part in decides(judgement, scale)])


def decides(judgement: Judgement, scale: str) -> list[tuple[Any, ...]]:
    criteria = judgement.criteria_at(scale)
    return [
        (criterion.panel, criterion.observe, criterion.claimed, criterion.refuted, criterion.precondition, judgement.quantifier)
        for criterion in criteria
    ]


def replaced(
    study: str, version: int, date: str, verdicts: Iterable[Mapping[str, Any]], rules: Mapping[str, str]
) -> list[Attempt]:
    """Attempts from the stored verdicts of a version that another one replaces. rules: by claim."""
    kept = ("claim", "scale", "device", "verdict", "reading")
    return [
        Attempt(
            **{name: verdict[name] for name in kept},
            study=study,
            version=version,
            date=date,
            numbers=dict(_numbers(verdict["findings"])),
            rule=rules.get(verdict["claim"], ""),
        )
        for verdict in verdicts
    ]


def _numbers(findings: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[float, float, float, str]]]:
    for finding in findings:
        if finding["estimate"] is not None and finding["low"] is not None:
            estimate, low, high = (float(f"{finding[name]:.6g}") for name in ("estimate", "low", "high"))
            yield finding["name"], (estimate, low, high, finding["unit"])


def before(verdict: Verdict, version: int) -> list[Attempt]:
    """Earlier versions' attempts at the same claim and scale that came to something, the earliest first."""
    same = (verdict.study, verdict.claim, verdict.scale, verdict.device)
    claim_attempts = [
        attempt for attempt in attempts() if (attempt.study, attempt.claim, attempt.scale, attempt.device) == same
    ]
    counted = (
        attempt for attempt in claim_attempts if attempt.version < version and attempt.verdict not in (OUT_OF_REGIME, INVALID)
    )
    return sorted(counted, key=lambda attempt: attempt.version)


def repeated(verdict: Verdict, study: Study, rules: Sequence[RuleChange]) -> Verdict:
    """The verdict with what earlier versions of its study say of it. rules: changes of rules, oldest first."""
    own = [rule for rule in rules if (rule.claim, rule.study) == (verdict.claim, study.name)]
    changed = [rule for rule in own if rule.version <= study.version]
    new, unrepeated = _repetition(verdict, study)
    return replace(verdict, new=new, unrepeated=unrepeated, rule_change=_changed(changed[-1]) if changed else "")


def _repetition(verdict: Verdict, study: Study) -> tuple[str, str]:
    """Why the verdict is new, or which other verdict came before; both empty if it is the same."""
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
        same = {attempt.version: attempt.numbers[finding.name] for attempt in earlier if finding.name in attempt.numbers}
        numbers = [*same.values(), (finding.estimate, finding.low, finding.high, finding.unit)]
        intervals = [interval for number in numbers if (interval := _with_error(*number, finding.unit)) is not None]
        if same and finding.grade == "measured" and len(intervals) == len(numbers):
            versions = enumerated([*map(str, same), str(study.version)])
            estimate, low, high = np.clip(pooled(intervals, criterion.observe.log_axis), *criterion.bounds).tolist()
            spelled = spell_interval(estimate, low, high, finding.unit)
            yield f"{finding.name}, pooled over versions {versions}: {spelled}"


def _with_error(estimate: float | None, low: float | None, high: float | None, unit: str, wanted: str) -> Interval | None:
    """An interval that has a length, in the wanted unit; else None."""
    if estimate is None or low is None or high is None or low >= high or unit != wanted:
        return None
    return estimate, low, high


def _judgement(verdict: Verdict, study: Study) -> Judgement:
    return next(judgement for judgement in study.judgements if judgement.claim == verdict.claim)


def _worded(attempt: Attempt) -> str:
    return f"{attempt.verdict} ({attempt.reading})" if attempt.reading else attempt.verdict
