"""The first screen of the index: findings to begin with, chosen by hand and each with its figure; then a few more claims that
hold, that fail and that surprised, picked by a rule.

What was measured stands here; what arithmetic settles is counted apart. A claim counts by the verdict of the largest scale
that decides it. What surprised lies furthest from what was expected
(judge/surprises.py); if no study expected anything, decisions between documents that disagree stand there. The rest
of what holds and fails follows: firm verdicts before fragile ones, and of these the surest first (p to three digits),
of equally sure ones that with the shortest words; the studies take turns, so that none fills a column.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from ..harness.declare import Claim
from ..harness.judge.error_rates import BELOW, FIRM, FRAGILE, NEW, SO_FAR
from ..harness.judge.grading import right_side
from ..harness.judge.outcomes import REFUTED, SUPPORTED
from ..harness.judge.sentences import Sentence, plain
from . import phrases
from .outcome_table import OutcomeTable, TableOutcome
from .places import card_figure_file

MOST = 4
# What an author would put into a talk. A claim that is not decided by measurement, or has no figure, is left out.
CHOSEN = (
    "eos.sharpness",
    "mup.sp_shifts",
    "scaling.sgd_linear",
    "noise.temperature",
    "crit.hyperbola",
    "prec.fp16_underflow",
)
# By how much of the expected effect something must lie off to be a surprise.
LEAST_SURPRISE = 0.5


@dataclass(frozen=True)
class Item:
    """A claim on the first screen. right: the side of documents that disagree that was shown to be right."""

    claim: Claim
    outcome: TableOutcome
    said: tuple[Sentence, ...]
    right: str = ""

    @property
    def qualified(self) -> bool:
        """Whether how it stands has to be said with it."""
        return self.outcome.standing in (FRAGILE, NEW, BELOW, SO_FAR)

    @property
    def figure(self) -> str:
        """The image of its card, if it was drawn."""
        verdict = self.outcome.verdict
        return card_figure_file(verdict.study, verdict.scale, verdict.device, verdict.claim)

    @property
    def words(self) -> int:
        return len(phrases.title(self.claim)) + len(plain(self.said))


@dataclass(frozen=True)
class Highlights:
    """A column of the first screen. how: the rule by which its claims were picked, a clause."""

    heading: str
    how: str
    items: tuple[Item, ...]


def highlights(claims: Iterable[Claim], table: OutcomeTable, figures: Collection[str]) -> tuple[list[Item], list[Highlights]]:
    """The cards, and the columns that have something to say. figures: images that are there."""
    outcomes = [(claim, table.speaking(claim.id)) for claim in claims]
    items = [_item(claim, outcome) for claim, outcome in outcomes if outcome is not None and not outcome.verdict.is_arithmetic]
    by_claim = {item.claim.id: item for item in items if item.outcome.decides and item.figure in figures}
    cards = [by_claim[claim] for claim in CHOSEN if claim in by_claim]
    items = [item for item in items if item not in cards]
    surprised = _surprised(items)
    taken = {item.claim.id for item in surprised.items}
    rest = [item for item in items if item.claim.id not in taken and item.outcome.decides]
    how = "firm before fragile, surest first"
    holds = Highlights("What holds", how, _picked(rest, SUPPORTED))
    fails = Highlights("What fails", how, _picked(rest, REFUTED))
    return cards, [column for column in (holds, fails, surprised) if column.items]


def _item(claim: Claim, outcome: TableOutcome) -> Item:
    right = right_side(claim, outcome.verdict) if outcome.decides else ""
    return Item(claim, outcome, phrases.said(outcome.verdict), next((s.says for s in claim.sides if s.name == right), ""))


def _surprised(items: Sequence[Item]) -> Highlights:
    far = [item for item in items if (item.outcome.verdict.surprise or 0.0) >= LEAST_SURPRISE]
    if far:
        far.sort(key=lambda item: (-(item.outcome.verdict.surprise or 0.0), item.words))
        return Highlights("What surprised", "furthest from what was expected", tuple(far[:MOST]))
    decided = [item for item in items if item.outcome.decides]
    between = [item for item in decided if len(item.claim.sides) > 1 or "disagreement" in item.claim.kinds]
    return Highlights("Where the documents disagree", "surest first", tuple(sorted(between, key=_surest_first)[:MOST]))


def _picked(items: Iterable[Item], verdict: str) -> tuple[Item, ...]:
    own = sorted((item for item in items if item.outcome.verdict.verdict == verdict), key=_surest_first)
    return tuple(_in_turn(own, lambda item: (_rank(item), item.outcome.verdict.study))[:MOST])


def _rank(item: Item) -> int:
    return 0 if item.outcome.standing == FIRM else 1


def _surest_first(item: Item) -> tuple[int, float, int, str]:
    return _rank(item), round(item.outcome.verdict.p, 3), item.words, item.claim.id


def _in_turn(items: Sequence[Item], group: Callable[[Item], tuple[int, str]]) -> list[Item]:
    """One of every group, then a second of every group, and so on; of the first rank first."""
    last_turns: dict[tuple[int, str], int] = {}
    turns = []
    for item in items:
        turn = last_turns[group(item)] = last_turns.get(group(item), -1) + 1
        turns.append((group(item)[0], turn))
    return [items[index] for index in sorted(range(len(items)), key=lambda index: turns[index])]
