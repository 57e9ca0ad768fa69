"""Findings and verdicts as tests of the judge and of pages want them: what they do not say is usual."""

from typing import Any

from folklore.harness.judge.sentences import Sentence
from folklore.harness.judge.verdict import CriterionFinding, Verdict


def a_finding(verdict: str = "supported", **fields: Any) -> CriterionFinding:
    usual = {"estimate": 1.0, "low": 0.5, "high": 1.5, "seeds": 10, "p_supported": 0.01, "p_refuted": 1.0}
    return CriterionFinding(**{"name": "x", "unit": "", "reason": "because", **usual, "verdict": verdict, **fields})


def a_verdict(verdict: str = "supported", **fields: Any) -> Verdict:
    """Its numbers are those of its first finding."""
    findings = fields.get("findings", (a_finding(verdict),))
    first = findings[0] if findings else a_finding(verdict)
    numbers = {name: getattr(first, name) for name in ("estimate", "low", "high", "seeds", "unit")}
    usual = {"study": "toy", "claim": "c", "scale": "laptop", "device": "cpu", "trials": 100, "reason": "because"}
    return Verdict(**{**usual, **numbers, "verdict": verdict, "findings": tuple(findings), **fields})


def saying(*texts: str) -> tuple[Sentence, ...]:
    """An answer without numbers."""
    return tuple(Sentence((text,)) for text in texts)
