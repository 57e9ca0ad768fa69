"""Would another reasonable analysis choice change the verdict?

Two ways: without each seed in turn, and in a small multiverse (Steegen et al. 2016) of choices that a study makes and could as
well have made otherwise. None of this decides anything: the verdict is that of the declaration.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..declare import Judgement, Observed, Study, arms_of, leaves
from ..declare.metrics import TunedLoss
from ..declare.observed import RANGE_TEST, Choice
from ..declare.parts import marks
from ..plan.store.computations import Computations
from ..results import DESCRIBED, ForScripts
from .attempts import decides
from .grids import weak_grids
from .judge import judge
from .outcomes import INVALID, OUT_OF_REGIME
from .trial_arrays import TrialArrays
from .verdict import THRESHOLDS, Alternative, Verdict

# Factors for an observable's choices: fields that are marked as a margin or a window (harness/declare/observed.py).
MARGINS = {"half the margin": 0.5, "twice the margin": 2.0}
WINDOWS = {"half the window": 0.5, "twice the window": 2.0}
# Weight of the past where range tests are smoothed.
SMOOTHINGS = {"less smoothing": 0.95, "more smoothing": 0.99}
AT_THE_VERTEX = "tuned losses at the vertex of a parabola"

# Fewer than a verdict rests on: their error is 3% of an interval's length, and many verdicts are computed.
RESAMPLES = 500

Change = Callable[[Judgement], Judgement | None]
# Name of an earlier declaration -> its judgements.
Earlier = Mapping[str, Sequence[Judgement]]


# Robustness of one claim, under the choices that bear on it.
@dataclass(frozen=True)
class Robustness:
    __pydantic_config__ = DESCRIBED

    claim: ForScripts[str]
    verdict: ForScripts[str]
    without_seed: dict[int, str]
    """seed -> the verdict without it"""
    alternatives: tuple[Alternative, ...]
    """the verdict by other choices that are as reasonable"""
    grids: tuple[str, ...] = ()
    """what it read off a grid that is too coarse, or at an end of one"""

    @property
    def seeds_that_matter(self) -> list[int]:
        return [seed for seed, verdict in self.without_seed.items() if verdict != self.verdict]

    @property
    def choices_that_matter(self) -> list[Alternative]:
        return [alternative for alternative in self.alternatives if alternative.verdict != self.verdict]

    @property
    def readings_that_matter(self) -> list[Alternative]:
        return [alternative for alternative in self.choices_that_matter if not alternative.moved]

    @property
    def seeds_in_words(self) -> str:
        if not self.seeds_that_matter:
            return f"unchanged without any one of {len(self.without_seed)} seeds"
        return "different without seed " + ", ".join(f"{seed} ({self.without_seed[seed]})" for seed in self.seeds_that_matter)

    @property
    def choices_in_words(self) -> str:
        count, others = len(self.alternatives), self.choices_that_matter
        if not count:
            return "no alternative choice applies"
        if others:
            share = f"{len(others)} of {count} alternative choices" if count > 1 else "the one alternative choice"
            return f"different under {share}: " + ", ".join(
                f"{alternative.choice} ({alternative.verdict})" for alternative in others
            )
        every = {1: "the one alternative choice", 2: "both alternative choices"}.get(count, f"all {count} alternative choices")
        return f"unchanged under {every} ({', '.join(alternative.choice for alternative in self.alternatives)})"


def robustness(
    study: Study,
    scale: str,
    device: str,
    trials: pd.DataFrame,
    verdicts: Sequence[Verdict],
    computations: Computations | None = None,
    earlier: Earlier | None = None,
) -> list[Robustness]:
    """Robustness of every claim that has a number with an error. verdicts: by the declaration's choices. earlier: judgements of
    earlier declarations."""
    numbers = [verdict for verdict in verdicts if verdict.verdict not in (INVALID, OUT_OF_REGIME) and not verdict.is_arithmetic]
    if not numbers:
        return []
    claims = [verdict.claim for verdict in numbers]
    seeds = study.seed_numbers_at(scale)
    whole_verdicts = {verdict.claim: verdict for verdict in verdicts}
    without: dict[str, dict[int, str]] = {claim: {} for claim in claims}
    whole = _table(study, scale, trials, computations)
    for seed in seeds:
        table = whole.of_seeds([other_seed for other_seed in seeds if other_seed != seed])
        for verdict in judge(study, scale, device, trials, table=table):
            if verdict.claim in without:
                without[verdict.claim][seed] = verdict.verdict
    alternatives: dict[str, list[Alternative]] = {claim: [] for claim in claims}
    earlier = earlier or {}
    for choice, other, touched, table in _universes(study, scale, trials, computations, earlier):
        for verdict in judge(other, scale, device, trials, table=table):
            gone = verdict.verdict == INVALID and choice in earlier  # what an earlier version computed is no longer stored
            gone |= choice in MARGINS | WINDOWS and _cannot_be_read(verdict, whole_verdicts[verdict.claim])
            if verdict.claim in alternatives and verdict.claim in touched and not gone:
                alternatives[verdict.claim].append(Alternative(choice, verdict.verdict, choice in THRESHOLDS))
    judgements = {judgement.claim: judgement for judgement in study.judgements}
    return [
        Robustness(
            verdict.claim,
            verdict.verdict,
            without[verdict.claim],
            tuple(alternatives[verdict.claim]),
            tuple(weak_grids(judgements[verdict.claim], whole)),
        )
        for verdict in numbers
    ]


def _cannot_be_read(verdict: Verdict, declared: Verdict) -> bool:
    """Whether another margin or window only takes numbers away: some part has none any more, and the others say the same."""
    pairs = list(zip(verdict.findings, declared.findings, strict=True))
    lost = [new.estimate is None and old.estimate is not None for new, old in pairs]
    return any(lost) and all(gone or new.verdict == old.verdict for gone, (new, old) in zip(lost, pairs, strict=True))


def _table(study: Study, scale: str, trials: pd.DataFrame, computations: Computations | None) -> TrialArrays:
    table = TrialArrays(study, scale, trials, computations=computations)
    table.resample_count = RESAMPLES
    return table


def _universes(
    study: Study, scale: str, trials: pd.DataFrame, computations: Computations | None, earlier: Earlier
) -> Iterator[tuple[str, Study, set[str], TrialArrays]]:
    """Studies with one choice made otherwise, and the claims it bears on: those that studies declare, those of earlier
    declarations, and those that any study could have made otherwise."""
    every = {judgement.claim for judgement in study.judgements}
    changes: dict[str, Change] = {
        **{choice: partial(_multiplied, of="margin", by=factor) for choice, factor in MARGINS.items()},
        **{choice: partial(_multiplied, of="window", by=factor) for choice, factor in WINDOWS.items()},
        **{choice: partial(_moved, by=factor) for choice, factor in THRESHOLDS.items()},
    }
    declared = {
        other.name
        for judgement in study.judgements
        for criterion in judgement.criteria_at(scale)
        for other in criterion.alternatives or ()
    }
    changes.update({choice: partial(_read_otherwise, choice=choice) for choice in sorted(declared)})
    changes.update({choice: partial(_as_before, study, scale, before) for choice, before in earlier.items()})
    for choice, change in changes.items():
        changed = {judgement.claim: other for judgement in study.judgements if (other := change(judgement)) is not None}
        if changed:
            judgements = tuple(changed.get(judgement.claim, judgement) for judgement in study.judgements)
            otherwise = study.model_copy(update={"judgements": judgements})
            yield choice, otherwise, set(changed), _table(otherwise, scale, trials, computations)
    tuned = {
        judgement.claim
        for judgement in study.judgements
        if any(isinstance(leaf, TunedLoss) for leaf in _leaves(judgement, scale))
    }
    if tuned:
        table = _table(study, scale, trials, computations)
        table.vertex = True
        yield AT_THE_VERTEX, study, tuned, table
    smoothed = {
        judgement.claim
        for judgement in study.judgements
        if any(arms_of(asked.observe, RANGE_TEST) for asked in judgement.criteria)
    }
    for choice, smoothing in SMOOTHINGS.items() if smoothed else ():
        table = _table(study, scale, trials, computations)
        table.smoothing = smoothing
        yield choice, study, smoothed, table
    if bool((trials["outcome"] == "diverged").any()):
        for choice, counted in _other_divergences(trials):
            yield choice, study, every, _table(study, scale, counted, computations)


def _leaves(judgement: Judgement, scale: str) -> Iterator[Observed]:
    return (leaf for criterion in judgement.criteria_at(scale) for leaf in leaves(criterion.observe))


def _other_divergences(trials: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Trials with other losses of diverged runs, or another rule for divergence. Multiples of an initial loss that is not
    positive mean nothing and are left out."""
    diverged, initial = trials["outcome"] == "diverged", trials["initial_loss"]
    if not (initial <= 0).any():
        yield (
            "a diverged run counts with twice its initial loss",
            trials.assign(initial_loss=np.where(diverged, 2 * initial, initial)),
        )
    worst = trials.loc[~diverged].groupby("arm")["test_loss"].max().reindex(trials["arm"]).to_numpy()
    cap = np.where(diverged & np.isfinite(worst), worst, initial)
    yield "a diverged run counts with the worst finished one of its arm", trials.assign(initial_loss=cap)
    ended = diverged & np.isfinite(trials["test_loss"]) & np.isfinite(trials["train_loss"])
    finished = np.where(ended, "finished", trials["outcome"])
    yield "a run that ends with a finite loss has not diverged", trials.assign(outcome=finished)
    if not (initial <= 0).any():
        high = ~diverged & (trials["test_loss"] > 0.9 * initial)
        yield (
            "a run that ends above 90% of its initial loss has diverged",
            trials.assign(outcome=np.where(high, "diverged", trials["outcome"])),
        )


def _read_otherwise(judgement: Judgement, choice: str) -> Judgement | None:
    """The judgement by the alternative that criteria declare under this name; None if none of them does."""
    others = [
        next((a.observe for a in criterion.alternatives or () if a.name == choice), None) for criterion in judgement.criteria
    ]
    if all(other is None for other in others):
        return None
    criteria = [
        criterion if other is None else criterion.model_copy(update={"observe": other})
        for criterion, other in zip(judgement.criteria, others, strict=True)
    ]
    return judgement.model_copy(update={"criteria": tuple(criteria)})


def _as_before(study: Study, scale: str, before: Sequence[Judgement], judgement: Judgement) -> Judgement | None:
    """The judgement of an earlier version; None if it asked the same, or of arms that no longer exist."""
    other = next((earlier for earlier in before if earlier.claim == judgement.claim), None)
    if other is None or not other.criteria_at(scale) or decides(other, scale) == decides(judgement, scale):
        return None
    arms = {arm for criterion in other.criteria_at(scale) for arm in arms_of(criterion.observe)}
    return other if arms <= set(study.arms_at(scale)) else None


def _multiplied(judgement: Judgement, of: str, by: float) -> Judgement | None:
    """The judgement with its observables' choices of one sort multiplied; None if they make none."""
    criteria = [criterion.model_copy(update={"observe": _in(criterion.observe, of, by)}) for criterion in judgement.criteria]
    same = all(new.observe == old.observe for new, old in zip(criteria, judgement.criteria, strict=True))
    return None if same else judgement.model_copy(update={"criteria": tuple(criteria)})


def _in(value: Any, of: str, by: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_in(part, of, by) for part in value)
    if not isinstance(value, Observed):
        return value
    changed = {name: _in(part, of, by) for name, part in value}
    for name, choice in marks(type(value), Choice).items():
        # A window that is the whole run, or begins with it, is no choice.
        if choice.of == of and 0 < changed[name] < 1:
            changed[name] = min(changed[name] * by, choice.most)
    return value.model_copy(update=changed)


def _moved(judgement: Judgement, by: float) -> Judgement | None:
    """The judgement with regions nearer to or further from no effect; bands are narrowed or widened."""
    criteria = tuple(criterion.moved(by) for criterion in judgement.criteria)
    return None if criteria == judgement.criteria else judgement.model_copy(update={"criteria": criteria})
