"""A study at a scale becomes trials with digests, and trials become packs."""

import gc
import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from ..declare import Configuration, Study, canonical_json, fingerprint
from ..declare.design import Value
from ..declare.starts import parent_point
from ..declare.trial import Start, Trial
from ..train import ENGINE_VERSION

# Dataset -> hash of its content, or one hash where all are the same.
DataHashes = str | Mapping[str, str]
# Most lanes of a pack: by shape key, or one number for all.
LanesByShape = int | Mapping[str, int]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the garbage collector, which would go through a plan's million objects, without a cycle, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True)
class Setting:
    """A point of an arm and the configuration it resolves to, which its seeds share. parent: what its trials start from."""

    arm: str
    point: dict[str, Value]
    configuration: Configuration
    parent: "Setting | None" = None

    @property
    def lineage(self) -> "list[Setting]":
        """The ancestors of this setting, oldest first, and the setting itself."""
        return [*(self.parent.lineage if self.parent else ()), self]


@dataclass(frozen=True)
class PlannedPack:
    """Trials of equal shape that train as one program; the key is made of their digests."""

    key: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Plan:
    """All trials of a study at a scale on a kind of device, and how they are packed. It is made once (make_plan) and extended
    from there: what is expanded stays expanded.

    Of searched arms it holds the trials of the `proposals` made so far, and of the `chosen` values once all are made.
    settings: the points that are known beforehand. grid: seed -> their trials.
    """

    study: Study
    scale: str
    device: str
    data_hashes: DataHashes
    settings: Sequence[Setting]
    grid: Mapping[int, Sequence[Trial]]
    lanes: LanesByShape = 1
    engine_version: int = ENGINE_VERSION
    proposals: Mapping[str, Sequence[float]] = field(default_factory=dict)
    chosen: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """The trials of proposals, and then the others seed by seed: a run that is cut short has whole seeds, in all arms."""
        search = self.study.search_at(self.scale)
        if search is None:
            return tuple(itertools.chain(*self.grid.values()))
        proposed = [self._searched(arm, value) for arm, values in self.proposals.items() for value in values]
        seeds = self.study.seed_numbers_at(self.scale)
        chosen = self._expanded([self._searched(arm, value) for arm, value in self.chosen.items()], seeds)
        judged = (trials for seed, known in self.grid.items() for trials in (known, chosen.get(seed, ())))
        return tuple(itertools.chain(*self._expanded(proposed, search.seed_numbers).values(), *judged))

    def with_search(self, proposals: Mapping[str, Sequence[float]], chosen: Mapping[str, float]) -> "Plan":
        """The same plan at a later state of its search."""
        return replace(self, proposals=proposals, chosen=chosen)

    @collector_paused()
    def with_seeds(self, study: Study) -> "Plan":
        """The same plan of the study with other seeds; trials of seeds that it has had stay as they are."""
        seeds = study.seed_numbers_at(self.scale)
        whole = {seed: self.grid[seed] for seed in self.study.seed_numbers_at(self.scale) if seed in self.grid}
        grid = {**whole, **self._expanded(self.settings, [seed for seed in seeds if seed not in whole])}
        further: dict[int, tuple[Trial, ...]] = {}
        for arm, own in study.further_seeds_at(self.scale).items():
            for seed, trials in self._expanded([setting for setting in self.settings if setting.arm == arm], own).items():
                further[seed] = further.get(seed, ()) + trials
        return replace(self, study=study, grid={**{seed: grid[seed] for seed in seeds}, **dict(sorted(further.items()))})

    def _searched(self, arm: str, value: float) -> Setting:
        point = self.study.searched_point(self.scale, arm, value)
        return Setting(arm, point, self.study.configuration(self.scale, arm, point))

    def _expanded(self, settings: Sequence[Setting], seeds: Iterable[int]) -> dict[int, tuple[Trial, ...]]:
        """Seed -> the trials of settings."""
        identified = [
            (setting, [_identified(member.configuration, self.data_hashes) for member in setting.lineage])
            for setting in settings
        ]
        return {seed: tuple(self._trial(setting, lineage, seed) for setting, lineage in identified) for seed in seeds}

    def _trial(self, setting: Setting, lineage: Sequence[tuple[dict[str, Any], str]], seed: int) -> Trial:
        """One trial; its digest includes that of the trial it starts from."""
        study, digests = self.study, list[str]()
        for identity, data_hash in lineage:
            parts = [study.name, study.version, self.engine_version, self.device, data_hash, identity, seed, *digests[-1:]]
            digests.append(fingerprint(parts))
        start = None
        if setting.parent is not None:
            step = setting.configuration.training.start_step(setting.parent.configuration.training.steps)
            start = Start(digests[-2], step, generation=len(digests) - 1)
        return Trial(digests[-1], setting.arm, setting.point, seed, setting.configuration, lineage[-1][1], start)

    def with_lanes(self, lanes: LanesByShape) -> "Plan":
        """The same trials in packs of other numbers of lanes."""
        return replace(self, lanes=lanes)

    def select(self, trials: pd.DataFrame) -> pd.DataFrame:
        """The stored trials that are this plan's, by digest, under this plan's names of scale, arms and points."""
        stored = trials.drop_duplicates("digest").set_index("digest", drop=False)
        own_trials = [trial for trial in self.trials if trial.digest in stored.index]
        factors = sorted({factor for trial in own_trials for factor in trial.point})
        named = stored.loc[[trial.digest for trial in own_trials]].reset_index(drop=True)
        named = named.drop(columns=[factor for factor in factors if factor in named]).assign(
            scale=self.scale,
            arm=[trial.arm for trial in own_trials],
            point=[canonical_json(trial.point) for trial in own_trials],
            seed=[trial.seed for trial in own_trials],
        )
        for factor in factors:
            named[factor] = [trial.point.get(factor) for trial in own_trials]
        return named.sort_values(["arm", *factors, "seed"], ignore_index=True)

    @cached_property
    def packs(self) -> tuple[PlannedPack, ...]:
        """The packs of all trials, made on first use: judging needs none."""
        return make_packs(_unique(self.trials), self.lanes)

    @cached_property
    def digests(self) -> frozenset[str]:
        return frozenset(trial.digest for trial in self.trials)

    def without(self, done: Collection[str]) -> tuple[PlannedPack, ...]:
        """The packs that are left to train. A pack keeps its lanes as long as none is done, so that its checkpoint still
        fits."""
        remaining = ((pack, [trial for trial in pack.trials if trial.digest not in done]) for pack in self.packs)
        return tuple(pack if len(trials) == len(pack.trials) else make_pack(trials) for pack, trials in remaining if trials)


def points(study: Study, scale: str) -> Iterable[tuple[str, dict[str, Value]]]:
    """Every arm that is not searched with every combination of its factor values, in declared order."""
    for arm in study.arms_at(scale):
        if study.arms[arm].searched:
            continue
        factors = study.factors_at(scale, arm)
        for values in itertools.product(*factors.values()):
            yield arm, dict(zip(factors, values, strict=True))


@collector_paused()
def settings(study: Study, scale: str) -> tuple[Setting, ...]:
    """Every point of `points`, resolved. It is the expensive part of a plan of many points."""
    return tuple(_resolved(study, scale, arm, point) for arm, point in points(study, scale))


def _resolved(study: Study, scale: str, arm: str, point: dict[str, Value]) -> Setting:
    configuration = study.configuration(scale, arm, point)
    if (parent := configuration.training.starts_from) is None:
        return Setting(arm, point, configuration)
    return Setting(arm, point, configuration, _resolved(study, scale, parent, parent_point(study, scale, arm, point, parent)))


@collector_paused()
def make_plan(
    study: Study,
    scale: str,
    device: str,
    data_hashes: DataHashes,
    lanes: LanesByShape = 1,
    engine_version: int = ENGINE_VERSION,
    resolved: Sequence[Setting] | None = None,
) -> Plan:
    """Expand, digest and pack. `device` ('cpu', 'cuda') is part of a digest: numbers of two kinds are never mixed.

    Points of two arms that resolve to the same trial share it: it is trained once.
    resolved: `settings(study, scale)`, if known.
    """
    known = settings(study, scale) if resolved is None else resolved
    return Plan(study, scale, device, data_hashes, known, {}, lanes, engine_version).with_seeds(study)


class Plans:
    """The plans of one study in a command: each is made once, and handed on from here; of other seeds it is extended."""

    def __init__(self) -> None:
        self._made: list[Plan] = []

    def plan(
        self,
        study: Study,
        scale: str,
        device: str,
        data_hashes: Mapping[str, str],
        engine_version: int = ENGINE_VERSION,
        resolved: Sequence[Setting] | None = None,
    ) -> Plan:
        """As `make_plan`."""
        for made in self._made:
            same = (made.scale, made.device, made.engine_version) == (scale, device, engine_version)
            if same and not _differ(made.data_hashes, data_hashes):
                return made.with_seeds(study)
        self._made.append(make_plan(study, scale, device, data_hashes, engine_version=engine_version, resolved=resolved))
        return self._made[-1]


def _differ(one: DataHashes, other: DataHashes) -> bool:
    """Whether a dataset that both name differs; the study does not train at this scale on one that only one of them names."""
    if isinstance(one, str) or isinstance(other, str):
        return one != other
    return any(one[name] != other[name] for name in one.keys() & other.keys())


def _unique(trials: Sequence[Trial]) -> Iterable[Trial]:
    """Each digest once, under the first of its names."""
    return reversed({trial.digest: trial for trial in reversed(trials)}.values())


def _identified(configuration: Configuration, data_hashes: DataHashes) -> tuple[dict[str, Any], str]:
    """The part of a configuration that enters digests, and the hash of its data. Names of arms do not enter: the trial that
    another starts from enters by its digest."""
    data_hash = data_hashes if isinstance(data_hashes, str) else data_hashes[configuration.workload.data]
    identity = configuration.identity()
    if configuration.training.starts_from is not None:
        identity["training"] = {name: value for name, value in identity["training"].items() if name != "starts_from"}
    return identity, data_hash


@collector_paused()
def make_packs(trials: Iterable[Trial], lanes: LanesByShape) -> tuple[PlannedPack, ...]:
    """Trials that agree in shape and length, cut into packs of at most `lanes`, as even as they come. No pack has two trials of
    which one starts from the other."""
    groups: dict[tuple[int, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.generation, trial.configuration.pack_key].append(trial)
    packs = []
    for group in groups.values():
        first = group[0].configuration
        most = lanes if isinstance(lanes, int) else lanes.get(first.shape_key, 1)
        count = len(group) if first.measurement.solo else math.ceil(len(group) / most)
        bounds = [round(index * len(group) / count) for index in range(count + 1)]
        packs += [make_pack(group[low:high]) for low, high in itertools.pairwise(bounds)]
    # By first seed, so that early results compare all arms; a stable sort keeps the rest in declared order.
    return tuple(sorted(packs, key=lambda pack: pack.trials[0].seed))


def make_pack(trials: Collection[Trial]) -> PlannedPack:
    return PlannedPack(fingerprint([trial.digest for trial in trials]), tuple(trials))
