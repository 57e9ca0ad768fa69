"""Claims that a name or a question in plain words is about, with their verdicts in brief."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...declare import Study
from ...judge.verdict import Verdict
from ...judge.verdict_memory import published_verdicts, recalled_verdicts
from ...plan import catalog
from ...plan.store.store import Store
from ...results import Result
from ...words import capitalized
from .references import PUBLISHED, find_sets
from .stored_studies import readable_name

# Words of a question that say nothing of its subject. The pages' search leaves out the same: reports/templates/search.js.
STOP_WORDS = re.findall(
    r"\w+",
    "a against an and any are as at be better can do does for from good have help helps how i if in is it less make "
    "makes matter matters me more my need needed of on or should than that the there to up use versus vs was we what "
    "when which why will with work works worse you ",
)
SAME = {"learning rate": "lr"}
# Claims that score less than this share of the best are not about the question; at most so many are listed.
ABOUT_AS_WELL, MOST_CLAIMS = 0.7, 8


class ClaimInBrief(Result):
    """A claim and what it came to at one scale; without trials its verdict is empty."""

    claim: str
    title: str
    study: str
    scale: str
    device: str
    verdict: str
    reading: str


def claims_meant(text: str, studies: Sequence[Study]) -> list[str]:
    """Ids of claims that these studies judge: the claim or all claims of the study of that name, else those that a question is
    about, the best match first. Empty for none, and for a text that can only be an id."""
    if any(text == judgement.claim for study in studies for judgement in study.judgements):
        return [text]
    for study in studies:
        if study.name in (text, text.replace("-", "_")) or text == readable_name(study):
            return [judgement.claim for judgement in study.judgements]
    return [] if "." in text and " " not in text else _best_matches(text, studies)


def _best_matches(question: str, studies: Sequence[Study]) -> list[str]:
    """Claims by match, best first; of equal ones, those that lead the page of their study."""
    texts: dict[str, list[list[str]]] = {}
    places: dict[str, int] = {}
    for study in studies:
        register = catalog.register().including(study)
        for claim in (register.claim(judgement.claim) for judgement in study.judgements):
            parts = study.title, f"{claim.in_short} {claim.id}", claim.paraphrase
            texts[claim.id] = [significant_words(part) for part in parts]
            places[claim.id] = study.answer.index(claim.id) if claim.id in study.answer else len(study.answer)
    scores = _scores(significant_words(question), texts)
    best = max(scores.values(), default=0.0)
    about = [claim for claim in scores if scores[claim] >= ABOUT_AS_WELL * best]
    return sorted(about, key=lambda claim: (-scores[claim], places[claim]))[:MOST_CLAIMS]


def _scores(asked: Sequence[str], texts: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, float]:
    """Claim -> the sum, over the words asked for, of rarity times the number of its texts with a word that begins so."""
    matches = {claim: {word: sum(_begins(word, text) for text in parts) for word in asked} for claim, parts in texts.items()}
    frequency = Counter(word for counts in matches.values() for word, count in counts.items() if count)
    rarity = {word: math.log(1 + len(texts) / number) for word, number in frequency.items()}
    scores = {claim: sum(rarity.get(word, 0.0) * count for word, count in counts.items()) for claim, counts in matches.items()}
    return {claim: score for claim, score in scores.items() if score}


def _begins(word: str, words: Iterable[str]) -> bool:
    return any(other.startswith(word) for other in words)


def significant_words(text: str) -> list[str]:
    """Lower-case words without accents and stop words, in order, synonyms as one word."""
    plain = " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKD", text).lower()))
    for phrase, word in SAME.items():
        plain = plain.replace(phrase, word)
    return list(dict.fromkeys(word for word in plain.split() if word not in STOP_WORDS))


def in_brief(store: Store, claims: Sequence[str], studies: Sequence[Study], published: bool) -> list[ClaimInBrief]:
    """A row for each claim at each scale and device at which it is judged. published: by the published evidence alone."""
    judging = [study for study in studies if any(judgement.claim in claims for judgement in study.judgements)]
    rows = [row for study in judging for row in _rows(store, study, published) if row.claim in claims]
    return sorted(rows, key=lambda row: claims.index(row.claim))


def _rows(store: Store, study: Study, published: bool) -> list[ClaimInBrief]:
    register = catalog.register().including(study)
    titles = {judgement.claim: capitalized(register.claim(judgement.claim).in_short) for judgement in study.judgements}
    judged = [
        (verdict.claim, verdict.scale, verdict.device, verdict.verdict, verdict.reading)
        for verdict in _verdicts(store, study, published)
    ]
    fields = ("claim", "scale", "device", "verdict", "reading")
    rows = [dict(zip(fields, cells, strict=True)) for cells in judged or [(claim, "", "", "", "") for claim in titles]]
    return [ClaimInBrief(title=titles[row["claim"]], study=study.name, **row) for row in rows]


def _verdicts(store: Store, study: Study, published: bool) -> list[Verdict]:
    known = published_verdicts(study) if published else recalled_verdicts(store, study)
    if known is None:
        sets = find_sets(store, study, source=PUBLISHED if published else None)
        return [verdict for records in sets if records.study.scale(records.scale).judged for verdict in records.verdicts()]
    return [verdict for judged in known if judged.meant_to_be for verdict in judged.verdicts]
