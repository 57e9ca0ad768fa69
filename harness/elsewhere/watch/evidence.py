"""Folklore's published evidence on a claim, read when a report is made: a quotation in the source would go stale."""

from collections.abc import Collection
from dataclasses import dataclass

from ...judge.verdict_memory import published_verdicts
from ...plan import catalog


@dataclass(frozen=True)
class Quote:
    """A published verdict. where: scale and device. advice: what the study advises for this outcome; empty if nothing."""

    claim: str
    paraphrase: str
    verdict: str
    reading: str
    where: str
    answer: str
    advice: str

    def __str__(self) -> str:
        reading = f" ({self.reading})" if self.reading else ""
        advice = f" What to do: {self.advice}" if self.advice else ""
        return f"{self.claim} is {self.verdict}{reading} at {self.where}: {self.answer or self.paraphrase}{advice}"


def quotes(claims: Collection[str]) -> list[Quote]:
    """Quotes in order of the claims; a claim without a verdict of today's declaration and trials has none. Takes a second."""
    if not claims:
        return []
    register, quotations = catalog.register(), list[Quote]()
    for name in catalog.study_names():
        study = catalog.load_study(name)
        if not {judgement.claim for judgement in study.judgements}.isdisjoint(claims):
            for judged in published_verdicts(study) or []:
                where = f"{judged.scale} scale, {judged.device}"
                for verdict in (verdict for verdict in judged.verdicts if verdict.claim in claims):
                    paraphrase = register.claim(verdict.claim).paraphrase
                    quotations.append(
                        Quote(
                            verdict.claim,
                            paraphrase,
                            verdict.verdict,
                            verdict.reading,
                            where,
                            verdict.plain_answer,
                            verdict.advice,
                        )
                    )
    return sorted(quotations, key=lambda quote: list(claims).index(quote.claim))
