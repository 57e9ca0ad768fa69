"""A study at a scale becomes trials with digests, and trials become packs."""

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from harness.spec import Configuration, Study, canonical_json, fingerprint
from harness.spec.study import Value
from harness.training import ENGINE_VERSION


@dataclass(frozen=True)
class Trial:
    """One training run. `point` holds its values of the study's factors."""

    digest: str
    arm: str
    point: dict[str, Value]
    seed: int
    configuration: Configuration


@dataclass(frozen=True)
class PlannedPack:
    """Trials of equal shape that train as one program; the key is made of their digests."""

    key: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Plan:
    """All trials of a study at a scale on a kind of device, and how they are packed."""

    study: Study
    scale: str
    device: str
    data_hash: str
    trials: tuple[Trial, ...]
    packs: tuple[PlannedPack, ...]

    def select(self, trials: pd.DataFrame) -> pd.DataFrame:
        """The stored trials that are this plan's, by digest, under this plan's names of scale, arms and points."""
        stored = trials.drop_duplicates("digest").set_index("digest", drop=False)
        found = [trial for trial in self.trials if trial.digest in stored.index]
        factors = sorted({factor for trial in found for factor in trial.point})
        named = stored.loc[[trial.digest for trial in found]].reset_index(drop=True)
        named = named.drop(columns=[factor for factor in factors if factor in named]).assign(
            scale=self.scale,
            arm=[trial.arm for trial in found],
            point=[canonical_json(trial.point) for trial in found],
            seed=[trial.seed for trial in found],
        )
        for factor in factors:
            named[factor] = [trial.point.get(factor) for trial in found]
        return named.sort_values(["arm", *factors, "seed"], ignore_index=True)

    @cached_property
    def digests(self) -> frozenset[str]:
        return frozenset(trial.digest for trial in self.trials)

    def without(self, done: Collection[str]) -> tuple[PlannedPack, ...]:
        """What is left to train. A pack keeps its lanes as long as none is done, so that its checkpoint still fits."""
        left = ((pack, [trial for trial in pack.trials if trial.digest not in done]) for pack in self.packs)
        return tuple(pack if len(trials) == len(pack.trials) else make_pack(trials) for pack, trials in left if trials)


def points(study: Study, scale: str) -> Iterable[tuple[str, dict[str, Value]]]:
    """Every arm with every combination of its factor values, in declared order."""
    for arm in study.arms:
        factors = study.factors_at(scale, arm)
        for values in itertools.product(*factors.values()):
            yield arm, dict(zip(factors, values, strict=True))


def make_plan(
    study: Study, scale: str, device: str, data_hash: str, lanes: int = 1, engine_version: int = ENGINE_VERSION
) -> Plan:
    """Expand, digest and pack. `device` ('cpu', 'cuda') is part of a digest: numbers of two kinds are never mixed.

    Points of two arms that resolve to the same trial share it: it is trained once.
    """
    resolved = [(arm, point, study.configuration(scale, arm, point)) for arm, point in points(study, scale)]
    identities = [configuration.identity() for _, _, configuration in resolved]
    # Seeds outermost: a run that is cut short has whole seeds, in all arms.
    trials = tuple(
        Trial(
            digest=fingerprint([study.name, study.version, engine_version, device, data_hash, identity, seed]),
            arm=arm,
            point=point,
            seed=seed,
            configuration=configuration,
        )
        for seed in study.seed_numbers_at(scale)
        for (arm, point, configuration), identity in zip(resolved, identities, strict=True)
    )
    unique = {trial.digest: trial for trial in reversed(trials)}
    return Plan(study, scale, device, data_hash, trials, make_packs(reversed(unique.values()), lanes))


def make_packs(trials: Iterable[Trial], lanes: int) -> tuple[PlannedPack, ...]:
    """Trials that agree in shape, cut into packs of at most `lanes`, as even as they come."""
    groups: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.configuration.pack_key].append(trial)
    packs = []
    for group in groups.values():
        count = math.ceil(len(group) / lanes)
        bounds = [round(index * len(group) / count) for index in range(count + 1)]
        packs += [make_pack(group[low:high]) for low, high in itertools.pairwise(bounds)]
    # By first seed, so that early results compare all arms; a stable sort keeps the rest in declared order.
    return tuple(sorted(packs, key=lambda pack: pack.trials[0].seed))


def make_pack(trials: Collection[Trial]) -> PlannedPack:
    return PlannedPack(fingerprint([trial.digest for trial in trials]), tuple(trials))
