"""A study: a design, and what would support or refute each claim, fixed before anything runs."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, field_validator, model_serializer, model_validator

from ..errors import invalid, unknown
from .base import WORDS, Spec, canonical_json, declared, fingerprint
from .change import Change
from .claims import Claim
from .configuration import Measurement, Training, Workload
from .criterion import Judgement
from .design import Arm, Design, is_none
from .ladder import require_ladder
from .level import LEVEL
from .observed import ARM, ShareOfRuns
from .parts import arms_of, leaves, searched_factor
from .starts import require_starts

# Pages of the site, beside which a study has one by its name.
PAGES = ("index", "calibration", "changes", "glossary", "ladders")
# Fewer paired seeds give a t quantile above 2.8 and no rule a chance; science asks for five.
MINIMUM_JUDGED_SEEDS = 5
# The most trials of all scales together: each takes five kilobytes of a plan. Worlds of the calibration come to 700,000.
MOST_TRIALS = 1_000_000
# An optimum inside a grid needs a point on either side of it.
MINIMUM_GRID = 3


class Published(Spec):
    """A value that others measured, to stand beside our observation. `how` says whether it was read or only reported.

    value: the number, on the axis of the claim's criterion `criterion`, where it is drawn.
    """

    claim: str
    finding: str
    source: str
    link: str = Field(default="", pattern=r"^(https://\S+)?$", description="where the publication can be read")
    value: float | None = None
    criterion: str | None = Field(default=None, description="the name of the criterion on whose axis the value lies")
    how: str = Field(default="reported", pattern="^(read|reported|computed from read data)$")
    if_different: str = Field(
        default="",
        description="the likeliest reason if that criterion's interval misses the value, and what reported beside it tells",
    )

    @model_validator(mode="after")
    def _differs_from_a_value(self) -> Self:
        if self.if_different and (self.value is None or self.criterion is None):
            raise ValueError(
                f"published on '{self.claim}': if_different is shown where the value is missed; give value and criterion"
            )
        return self


class Study(Design):
    """See CONTRIBUTING.md for how to write one."""

    departures: Annotated[tuple[str, ...], WORDS] = Field(default=(), description="what keeps the page from overclaiming")
    claims: Annotated[tuple[Claim, ...], WORDS] = Field(default=(), description="claims of its own, beside the register's")
    judgements: tuple[Judgement, ...] = ()
    published: Annotated[tuple[Published, ...], WORDS] = ()
    revised: Annotated[str, WORDS] = Field(
        default="",
        description="what of its criteria was written after trials of its version had been seen: verdicts are marked",
    )
    ladder: tuple[str, ...] | None = Field(
        default=None,
        exclude_if=is_none,
        min_length=2,
        description="scales that differ in the size of the model alone, smallest first: judged is how effects change over them",
    )
    answer: Annotated[tuple[str, ...], WORDS] = Field(
        default=(), max_length=4, description="the claims whose sentences begin its page; none: the first that are decided"
    )
    variation_of: str | None = Field(
        default=None, description="set by a run that changes a named study: the study; it has no place in the index"
    )

    file: Annotated[str, WORDS] = Field(
        default="", description="set as it is read from a file, for commands on its page: the file"
    )

    def __repr__(self) -> str:
        """Short, for prompts and notebooks; canonical_json() has all of it."""
        parts = f"{len(self.arms)} arms, {len(self.judgements)} claims judged, scales {', '.join(self.scales)}"
        return f"<Study {self.name!r} version {self.version}: {parts}>"

    def changed(self, change: Change, **fields: Any) -> "Study":
        """A copy with these fields in place of its own, and a record of what was changed and why. Every changed study is made
        here, so that all rules are checked again. Raises UserError.

        With other settings or another workload it is another study, a variation, whose departures begin by saying why; added
        seeds leave a study what it was declared to be.
        """
        content = {**self.model_dump(), **fields, "changes": (*self.changes, change)}
        if not change.seeds:
            content["variation_of"] = self.variation_of or self.name
            content["departures"] = (*change.why, *content["departures"])
        try:
            return Study.model_validate(content)
        except ValidationError as error:
            raise invalid(change.called(self.name), error) from None

    def with_seeds(self, scale: str, seeds: int, why: str) -> "Study":
        """The study with more seeds at a scale than it declares. Raises UserError if it cannot have them."""
        return self if seeds == self.seeds_at(scale) else self.changed(Change(why=(why,), seeds={scale: seeds}))

    @model_serializer(mode="wrap")
    def _as_declared(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The study's content without seeds that a run added, and without a record if nothing else was changed."""
        content: dict[str, Any] = dumped(self)
        if not self.file:
            del content["file"]
        kept = [change for change in content.pop("changes", ()) if not change["seeds"]]
        return {**content, "changes": kept} if kept else content

    @field_validator("changes", mode="before")
    @classmethod
    def _adds_no_seeds(cls, value: Any) -> Any:
        """Refuses seeds in a file beyond those declared: they would enter neither hash nor declaration."""
        if isinstance(value, list | tuple) and any(isinstance(change, Mapping) and change.get("seeds") for change in value):
            raise ValueError("holds seeds, which only a run adds (--until-decided): declare seeds instead")
        return value

    @property
    def hash(self) -> str:
        """The fingerprint of all that decides numbers and verdicts, thresholds included, and of no mere words.

        Fields left at none do not count, nor do those of a configuration that came later and are left at their defaults: a
        new one leaves the hash of every study that does not use it.
        """
        content = declared(self)
        # The deciding part of its own claims.
        speaking = [claim for claim in self.claims if claim.quantifier != "all" or claim.regime]
        spoken = [[claim.id, claim.quantifier, declared(claim.regime)] for claim in speaking]
        content |= {"claims": spoken} if spoken else {}
        for part in ("workload", "training", "measurement"):
            own: Spec = getattr(self, part)
            counted = own.FIRST_FIELDS | own.model_dump(exclude_defaults=True).keys()
            content[part] = {name: value for name, value in content[part].items() if name in counted}
        return fingerprint(content)

    def canonical_json(self) -> str:
        return canonical_json(self.model_dump(mode="json"))

    def _repr_markdown_(self) -> str:
        """How a notebook shows it: question, arms, scales and what decides."""
        return _markdown(self)

    @model_validator(mode="after")
    def _can_be_planned(self) -> Self:
        """First of all rules, for the others look at every corner of the study."""
        trials = len(self.scales) * len(self.arms)
        if trials <= MOST_TRIALS:
            trials = sum(self._trials_of_grid(scale, arm) for scale in self.scales for arm in self.arms_at(scale))
        if trials > MOST_TRIALS:
            raise ValueError(
                f"{trials} trials at all scales together: must be at most {MOST_TRIALS}; take fewer seeds, arms or"
                " values of factors"
            )
        return self

    def _trials_of_grid(self, scale: str, arm: str) -> int:
        chosen = self.scale(scale)
        factors = {**self.factors, **chosen.factors, **self.arms[arm].factors, **chosen.arm_factors.get(arm, {})}
        return self.shared_seeds_at(scale, (arm,)) * math.prod(map(len, factors.values()))

    @model_validator(mode="after")
    def _name_is_free(self) -> Self:
        if self.name in PAGES:
            raise ValueError(f"name = {self.name}: is the name of a page; choose another")
        return self

    @model_validator(mode="after")
    def _fields_exist(self) -> Self:
        trained = Workload.model_fields.keys() | Training.model_fields.keys()
        for arm in self.arms.values():
            _require_known("factor", arm.factors, trained)
            _require_known("field", arm.settings, trained | Measurement.model_fields.keys())
            _require_known("scale", arm.scales or (), self.scales)
            if arm.searched and self.search is None:
                raise ValueError(f"arm '{arm.label}' is searched and the study has no search: declare one")
            if arm.search and not arm.searched:
                raise ValueError(f"arm '{arm.label}' has a range to search and is not searched: set searched = true")
        _require_known("factor", self.searched_factors, trained)
        _require_known("factor", self.factors, trained)
        for scale in self.scales.values():
            _require_known("workload field", scale.workload, Workload.model_fields)
            _require_known("training field", scale.training, Training.model_fields)
            _require_known("measurement field", scale.measurement, Measurement.model_fields)
            _require_known("factor", scale.factors, trained)
            _require_known("arm", scale.arm_factors, self.arms)
            _require_known("arm", scale.arm_settings or {}, self.arms)
            _require_known("arm", scale.arm_seeds or {}, [name for name, arm in self.arms.items() if not arm.searched])
            for settings in (scale.arm_settings or {}).values():
                _require_known("field", settings, trained | Measurement.model_fields.keys())
        return self

    @model_validator(mode="after")
    def _gives_no_arm_fewer_seeds(self) -> Self:
        for name in self.scales if not self.changes else ():  # a run may ask for more seeds than an arm's own
            for arm, count in (self.scale(name).arm_seeds or {}).items():
                if count < (least := self.declared_seeds_at(name)):
                    raise ValueError(
                        f"arm '{arm}' has {count} seeds of its own at scale '{name}', and all arms have {least}: lower"
                        " seeds, or leave the arm out of arm_seeds"
                    )
        return self

    @model_validator(mode="after")
    def _searches_on_other_seeds(self) -> Self:
        for scale in self.scales:
            search = self.search_at(scale)
            shared = set(search.seed_numbers) & set(self.seed_numbers_at(scale)) if search else set()
            if shared:
                raise ValueError(
                    f"seeds {sorted(shared)} are both searched and judged on at scale '{scale}': move search.first_seed"
                )
        return self

    @model_validator(mode="after")
    def _arms_differ(self) -> Self:
        name_by_key: dict[str, str] = {}
        for name, arm in self.arms.items():
            key = canonical_json([arm.settings, arm.factors, *([arm.search.model_dump()] if arm.search else [])])
            if key in name_by_key:
                raise ValueError(f"arms '{name_by_key[key]}' and '{name}' have the same settings and factors: drop one")
            name_by_key[key] = name
        return self

    @model_validator(mode="after")
    def _ladder_is_of_one_study(self) -> Self:
        if self.ladder is not None:
            require_ladder(self, self.ladder)
        return self

    @model_validator(mode="after")
    def _judgements_can_be_made(self) -> Self:
        claims = [judgement.claim for judgement in self.judgements]
        if len(set(claims)) < len(claims):
            raise ValueError("a claim is judged twice: give one judgement several criteria instead")
        _require_known("claim", self.answer, claims)
        for judgement in self.judgements:
            others = [other for criterion in judgement.criteria for other in criterion.alternatives or ()]
            observed = [criterion.observe for criterion in judgement.criteria] + [
                observation.observe for observation in judgement.reported
            ]
            for observable in (*observed, *(other.observe for other in others)):
                _require_known("arm", arms_of(observable), self.arms)
            for criterion in judgement.criteria:
                _require_known("scale", criterion.scales or (), self.scales)
                _require_known("scale", (criterion.expected.scales or ()) if criterion.expected else (), self.scales)
                searched = [over for leaf in leaves(criterion.observe) if (over := searched_factor(leaf))]
                varied = set(self.factors).union(*(arm.factors for arm in self.arms.values()))
                varied |= self.searched_factors
                _require_known("factor to search over", searched, varied)
        for publication in self.published:
            names = {
                c.name for judgement in self.judgements if judgement.claim == publication.claim for c in judgement.criteria
            }
            _require_known(
                f"criterion of claim '{publication.claim}'", [publication.criterion] if publication.criterion else [], names
            )
        for name, scale in self.scales.items():
            if scale.judged and self.judgements:
                self._require_enough(name)
                for judgement in self.judgements:
                    self._require_decidable(judgement, name)
        return self

    def _require_decidable(self, judgement: Judgement, scale: str) -> None:
        """Refuses too few seeds: a share of runs takes few values, and one of them has to be able to decide."""
        criteria = judgement.criteria_at(scale)
        if not criteria:
            raise ValueError(
                f"claim '{judgement.claim}' has no criterion at scale '{scale}': give one, or leave its scales out"
            )
        for criterion in criteria:
            if not (isinstance(criterion.observe, ShareOfRuns) and criterion.observe.COUNTS_EVERY_SEED):
                continue
            seeds = self.seeds_at(scale)
            regions = criterion.claimed.pieces + criterion.refuted.pieces
            # Twice the tail, as the exact interval has it, at the outcomes that speak loudest: all runs, or none.
            tails = [2 * (low**seeds if high >= 1 else (1 - high) ** seeds) for low, high in regions if low > 0 or high < 1]
            if min(tails, default=0.0) > 1 - LEVEL:
                raise ValueError(
                    f"criterion '{criterion.name}' at scale '{scale}': no outcome of {seeds} seeds could decide it; add seeds"
                )

    def _require_untuned(self, scale: str, searched: set[tuple[str, tuple[Any, ...]]]) -> None:
        """Else one arm could be tuned and its rival not. searched: factors and their values where an optimum is read."""
        names = " and ".join(sorted({factor for factor, _ in searched}))
        if len(searched) > len({factor for factor, _ in searched}) or any(len(values) != 1 for _, values in searched):
            raise ValueError(f"scales.{scale} is untuned: give all arms that are compared one and the same {names}")
        if not self.scale(scale).departures:
            raise ValueError(f"scales.{scale} is untuned: say in its departures where its {names} comes from")

    def _require_enough(self, scale: str) -> None:
        if self.seeds_at(scale) < MINIMUM_JUDGED_SEEDS:
            raise ValueError(
                f"scales.{scale}.seeds = {self.seeds_at(scale)}: a judged scale needs at least {MINIMUM_JUDGED_SEEDS} paired"
                " seeds; add seeds or set judged = false"
            )
        searched = {
            (arm, over, leaf.AT_ONE_POINT, leaf.searches)
            for judgement in self.judgements
            for criterion in judgement.criteria_at(scale)
            for leaf in leaves(criterion.observe)
            for arm in arms_of(leaf, ARM)
            if (over := searched_factor(leaf)) and arm in self.arms_at(scale) and not self.proposes(scale, arm, over)
        }
        if self.scale(scale).untuned:
            self._require_untuned(scale, {(over, self.factors_at(scale, arm).get(over, ())) for arm, over, *_ in searched})
        for arm, over, at_one_point, searches in sorted(searched):
            values = self.factors_at(scale, arm).get(over, ())
            for value in values:
                if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                    raise ValueError(
                        f"{over} of arm '{arm}' at scale '{scale}' holds {value!r}: must be a number (YAML reads 1e-3 as text:"
                        " write 1.0e-3)"
                    )
            one_will_do = at_one_point or self.scale(scale).untuned
            if searches and len(values) < MINIMUM_GRID and not (one_will_do and len(values) == 1):
                raise ValueError(
                    f"{over} of arm '{arm}' at scale '{scale}' = {values}: an optimum needs at least {MINIMUM_GRID} values;"
                    " widen the grid"
                )
            others = [name for name, levels in self.factors_at(scale, arm).items() if name != over and len(levels) > 1]
            if others:
                raise ValueError(
                    f"arm '{arm}' at scale '{scale}' varies {others[0]} beside {over}: an observable reads one; make an arm"
                    f" of each {others[0]}"
                )

    @model_validator(mode="after")
    def _all_trials_resolve(self) -> Self:
        """Every corner must be a valid configuration, so that a bad value is found here and not on a worker."""
        for scale in self.scales:
            for arm in self.arms_at(scale):
                search, factors = self.search_of(scale, arm), self.factors_at(scale, arm)
                if search is not None:
                    if several := [name for name, values in factors.items() if len(values) > 1]:
                        raise ValueError(
                            f"arm '{arm}' at scale '{scale}' varies {several[0]} beside the {search.factor} that is searched:"
                            f" give it one {several[0]}"
                        )
                    factors = {**factors, search.factor: (search.low, search.middle, search.high)}
                first = {name: values[0] for name, values in factors.items() if values}
                for factor, values in factors.items():
                    if not values:
                        raise ValueError(f"{factor} of arm '{arm}' at scale '{scale}': the grid is empty; give it a value")
                    if len(values) != len(set(values)):
                        raise ValueError(f"{factor} of arm '{arm}' at scale '{scale}': a value stands there twice")
                    for value in values:
                        self.configuration(scale, arm, {**first, factor: value})
        return self

    @model_validator(mode="after")
    def _runs_keep_what_is_read(self) -> Self:
        """Refuses to read what runs do not keep: it would be missed only when all has been trained."""
        for scale in (name for name, scale_spec in self.scales.items() if scale_spec.judged):
            reads = (
                (c, leaf) for judgement in self.judgements for c in judgement.criteria_at(scale) for leaf in leaves(c.observe)
            )
            for criterion, leaf in reads:
                for arm in sorted(arms_of(leaf, ARM) & set(self.arms_at(scale))) if leaf.settings else ():
                    first = {name: values[0] for name, values in self.factors_at(scale, arm).items()}
                    configuration = self.configuration(scale, arm, first)
                    if missing := [setting for setting in leaf.settings if not configuration.sets(setting)]:
                        raise ValueError(
                            f"criterion '{criterion.name}' at scale '{scale}' reads what runs of arm '{arm}' do not keep: set"
                            f" {missing[0]}"
                        )
        return self

    @model_validator(mode="after")
    def _starts_are_there(self) -> Self:
        require_starts(self)
        return self


def _require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in set(known):
            raise unknown(kind, name, known)


def _markdown(study: Study) -> str:
    """A study as Markdown: question, arms, scales, and what decides on each claim."""
    arms = [f"| `{name}` | {_cell(arm.label)} | {_settings(arm)} |" for name, arm in study.arms.items()]
    scales = [
        f"| {name} | {_cell(scale.description)} | {study.seeds_at(name)} | {'yes' if scale.judged else 'no'} |"
        for name, scale in study.scales.items()
    ]
    criteria = [
        f"| `{judgement.claim}` | {_cell(criterion.name)} | {criterion.claimed.words()} | {criterion.refuted.words()} |"
        for judgement in study.judgements
        for criterion in judgement.criteria
    ]
    factors = "; ".join(f"`{name}`: {len(values)} values" for name, values in study.factors.items())
    return "\n".join(
        [
            f"### {_cell(study.title)}",
            f"*{_cell(study.question)}* `{study.name}`, version {study.version}, hash `{study.hash}`. Factors: {factors}.",
            "",
            *("| arm | is | sets |", "|---|---|---|", *arms, ""),
            *("| scale | is | seeds | judged |", "|---|---|---|---|", *scales, ""),
            *(("| claim | criterion | claimed | refuted |", "|---|---|---|---|", *criteria) if criteria else ()),
        ]
    )


def _settings(arm: Arm) -> str:
    return ", ".join(f"{name} = {value}" for name, value in arm.settings.items()) + (" (searched)" if arm.searched else "")


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table: what would end the cell or start markup is escaped."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", " ".join(text.split()))
