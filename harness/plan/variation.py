"""A study with changes to its declaration, to try something out: another grid, fewer seeds or steps, some of its arms.

It is a study of its own, STUDY_varied_HASH, at one scale: its name is part of every digest, so that it has its own ledger,
declaration, MLflow experiment and page, and is never mixed with the study as declared nor shown in the index as if it were. Its
departures say what differs. Equal changes give the same name: the same variation twice trains nothing.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ..declare import Change, Judgement, Measurement, Study, Training, Workload, arms_of
from ..declare.design import Value
from ..declare.study import MINIMUM_JUDGED_SEEDS
from ..errors import UserError, invalid, unknown
from ..words import counted

# A name has at most 64 characters: those of the study's name, and digits of a hash of the changes.
LONGEST_STEM, DIGITS = 48, 8
# Varied by settings, or by a workload of one's own.
NAME = re.compile(rf"(?P<stem>[a-z][a-z0-9_]*)_(varied|own)_[0-9a-f]{{{DIGITS}}}")
PARTS = (("workload", Workload), ("training", Training), ("measurement", Measurement))
# It is no field of a configuration and decides one: the steps of every arm follow from it.
EXAMPLES = "examples"

Values = tuple[Value, ...]


@dataclass(frozen=True)
class Changes:
    """settings: field -> its value, or of a factor its values. only: the arms that are kept; none: all."""

    settings: Mapping[str, Values] = field(default_factory=dict)
    seeds: int | None = None
    only: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.settings or self.only) or self.seeds is not None

    @classmethod
    def parse(cls, settings: Iterable[str], seeds: int | None, only: Iterable[str]) -> "Changes":
        """Parses settings as they are typed: 'NAME=VALUE,VALUE'. Raises UserError."""
        values: dict[str, Values] = {}
        for pair in settings:
            name, equals, text = pair.partition("=")
            if not equals or not name or not all(text.split(",")):
                raise UserError(f"--set {pair}: write it as NAME=VALUE or NAME=VALUE,VALUE, for example peak_lr=0.01,0.02")
            if name in values:
                raise UserError(f"--set {pair}: {name} is set twice; give all its values at once: {name}=VALUE,VALUE")
            values[name] = tuple(_value(part) for part in text.split(","))
        return cls(values, seeds, tuple(only))


def _value(text: str) -> Value:
    """A number, also as 2^-8, or as people write it and JSON does not take it: .5, 1., +2; true, false, none; else the text
    itself."""
    power = re.fullmatch(r"2\^(-?\d{1,3}(?:\.\d+)?)", text)
    if power:
        return float(2.0 ** float(power[1]))
    if text.lower() in ("none", "null"):
        return None
    try:
        value = json.loads(text.lower())
    except ValueError:
        return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text.lower()) else text
    return value if isinstance(value, bool | int | float) else text


def variation_name(study: Study, kind: str, identity: str) -> str:
    """kind: of NAME. identity: a hash of what was changed."""
    return f"{study.name[:LONGEST_STEM]}_{kind}_{identity[:DIGITS]}"


def keep_arms(content: dict[str, Any], names: Mapping[str, str]) -> None:
    """Removes all arms but these from a study's content and its scales. names: arm that is kept -> its name from here on."""
    for part in (content, *content["scales"].values()):
        for field_name in {"arms", "arm_factors", "arm_settings", "arm_seeds"} & part.keys():
            part[field_name] = part[field_name] and {
                names[arm]: entry for arm, entry in part[field_name].items() if arm in names
            }


def is_variation(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def settable(study: Study) -> list[str]:
    """Names that --set takes."""
    return [*(name for _, part in PARTS for name in part.model_fields), EXAMPLES]


def vary(study: Study, scale: str, changes: Changes) -> Study:
    """The study with these changes, at one scale. Raises UserError where they name what is not there, or change nothing."""
    if is_variation(study.name):
        raise UserError(f"'{study.name}' is a variation itself: vary the study it comes from")
    study.scale(scale)
    draft = _Draft(study, scale, changes)
    draft.apply()
    if not draft.lines:
        raise UserError(
            f"nothing of this differs from study '{study.name}' at scale '{scale}': leave --set, --seeds and --only out"
        )
    varied = draft.made()
    # The hash covers the changes alone: equal changes give the same name.
    changed = varied.model_copy(update={"variation_of": None}).hash
    return varied.model_copy(update={"name": variation_name(study, "varied", changed)})


class _Draft:
    """A study's content while it is changed, with a line for every change that says what was and what is."""

    def __init__(self, study: Study, scale: str, changes: Changes):
        self.study, self.scale, self.changes = study, scale, changes
        self.content: dict[str, Any] = study.model_dump()
        self.content["ladder"] = None  # of one scale
        self.at_scale = self.content["scales"] = {scale: self.content["scales"][scale]}
        self.at_scale = self.at_scale[scale]
        # What is set -> what was before, in words that follow it.
        self.lines: dict[str, str] = {}
        self.not_judged: list[str] = []

    def apply(self) -> None:
        self._keep_arms()
        for name, values in self.changes.settings.items():
            self._set(name, values)
        if self.changes.seeds is not None and self.changes.seeds != self.study.seeds_at(self.scale):
            self.lines[f"seeds = {self.changes.seeds}"] = f", where the study has {self.study.seeds_at(self.scale)}."
            self.at_scale["seeds"], self.at_scale["arm_seeds"] = self.changes.seeds, None

    def made(self) -> Study:
        """The changed study, judged if it can be; else a line says why it is not. Raises UserError."""
        try:
            return self._changed()
        except UserError as error:
            if not self.study.scale(self.scale).judged:
                raise
            why = str(error).partition(": ")[2]
        seeds = self.at_scale["seeds"] or self.study.seeds
        if seeds < MINIMUM_JUDGED_SEEDS:
            why = f"{counted(seeds, 'seed')}, and a verdict takes at least {MINIMUM_JUDGED_SEEDS}"
        self.at_scale |= {"judged": False, "description": f"a variation with {why}"}
        return self._changed(f"Not judged: {why}.")

    def _changed(self, *unjudged: str) -> Study:
        study = self.study
        why = [
            f"A variation of study '{study.name}', version {study.version}, at scale '{self.scale}', and not that study as it"
            " was declared: its verdicts are its own.",
            *(f"Varied: {setting}{before}" for setting, before in self.lines.items()),
            *unjudged,
        ]
        if self.not_judged:
            why.append(f"Not judged, for they read arms that are not trained: {', '.join(self.not_judged)}.")
        fields = {**self.content, "title": f"{study.title}: a variation"}
        return study.changed(Change(why=tuple(why), settings=tuple(self.lines)), **fields)

    @property
    def arms(self) -> list[str]:
        return list(self.content["arms"])

    def _keep_arms(self) -> None:
        """The arms of this scale that are asked for, and the judgements that read no others."""
        trained = self.study.arms_at(self.scale)
        for name in self.changes.only:
            if name not in trained:
                raise unknown(f"arm of study '{self.study.name}' at scale '{self.scale}'", name, trained)
        kept = [name for name in trained if not self.changes.only or name in self.changes.only]
        gone = [name for name in trained if name not in kept]
        keep_arms(self.content, {name: name for name in kept})
        for arm in self.content["arms"].values():
            arm["scales"] = None
        if gone:
            self.lines[f"the arms {', '.join(kept)} alone"] = f"; left out: {', '.join(gone)}."
        judged = {judgement.claim: _at(judgement, self.scale, kept) for judgement in self.study.judgements}
        self.not_judged = [claim for claim, judgement in judged.items() if judgement is None]
        self.content["judgements"] = [judgement.model_dump() for judgement in judged.values() if judgement is not None]
        self.content["answer"] = [claim for claim in self.study.answer if judged[claim] is not None]
        self.content["published"] = [
            publication.model_dump() for publication in self.study.published if judged.get(publication.claim) is not None
        ]
        # Its trials are trained after all of its criteria were written.
        self.content["revised"] = ""

    def _set(self, name: str, values: Values) -> None:
        if name not in settable(self.study):
            raise unknown(f"factor or field of study '{self.study.name}'", name, settable(self.study))
        for value in values:
            self._check(name, value)
        if len(set(values)) < len(values):
            raise UserError(f"--set {name}={_spelled(values)}: a value stands there twice")
        varied = [
            arm
            for arm in self.arms
            if name in self.study.factors_at(self.scale, arm) or self.study.proposes(self.scale, arm, name)
        ]
        if varied:
            self._set_factor(name, values, varied)
        elif len(values) > 1:
            factors = sorted({factor for arm in self.arms for factor in self.study.factors_at(self.scale, arm)})
            raise UserError(
                f"--set {name}={_spelled(values)}: no factor of this study, so it takes one value;"
                f" factors: {', '.join(factors)}"
            )
        else:
            self._set_field(name, values[0])

    def _check(self, name: str, value: Value) -> None:
        """Raises UserError for a value that the field's own rules refuse beside what else is set and the values of the first
        arm."""
        if name == EXAMPLES:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UserError(f"--set {EXAMPLES}={value}: must be a whole number from 1 on")
            return
        part, model = next((part, model) for part, model in PARTS if name in model.model_fields)
        first = getattr(self.study.configuration(self.scale, self.arms[0], {}), part)
        fields = {other: values[0] for other, values in self.changes.settings.items() if other in model.model_fields}
        try:
            model.model_validate({**first.model_dump(), **fields, name: value})
        except ValidationError as error:
            raise invalid(f"--set {name}={_spelled([value])}", error) from None

    def _set_factor(self, name: str, values: Values, arms: Sequence[str]) -> None:
        """Sets a factor in every arm that varies it. An arm whose value was searched is trained at these instead."""
        before: dict[str, list[str]] = {}
        for arm in arms:
            searched = self.study.proposes(self.scale, arm, name)
            was = "a searched value" if searched else _spelled(self.study.factors_at(self.scale, arm)[name])
            before.setdefault(was, []).append(arm)
            self.at_scale["arm_factors"].setdefault(arm, {})[name] = values
            if searched:
                self.content["arms"][arm] |= {"searched": None, "search": None}
        if list(before) == [_spelled(values)]:
            return
        if len(before) == 1:
            self.lines[f"{name} = {_spelled(values)}"] = f", where the study has {next(iter(before))}."
        else:
            former_values = "; ".join(f"{was} in {', '.join(names)}" for was, names in before.items())
            self.lines[f"{name} = {_spelled(values)} in every arm"] = f", where the study has {former_values}."

    def _set_field(self, name: str, value: Value) -> None:
        """Sets a field in all arms but those that have a value of their own: they are compared by it."""
        if name == EXAMPLES:
            self._set_examples(value)
            return
        part = next(part for part, model in PARTS if name in model.model_fields)
        overrides = self.study.scale(self.scale).arm_settings or {}
        own = [arm for arm in self.arms if name in self.study.arms[arm].settings or name in overrides.get(arm, {})]
        others = [arm for arm in self.arms if arm not in own]
        if not others:
            raise UserError(
                f"--set {name}={_spelled([value])}: every arm that is trained has a value of its own; choose arms with --only"
            )
        was = getattr(getattr(self.study.configuration(self.scale, others[0], {}), part), name)
        self.at_scale[part] = {**self.at_scale[part], name: value}
        if name == "steps":
            self.content[EXAMPLES] = self.at_scale[EXAMPLES] = None
        if was != value:
            kept = f"; the arms {', '.join(own)} keep values of their own" if own else ""
            self.lines[f"{name} = {_spelled([value])}"] = f", where the study has {_spelled([was])}{kept}."

    def _set_examples(self, value: Value) -> None:
        was = self.study.scale(self.scale).examples or self.study.examples
        self.at_scale[EXAMPLES] = value
        if was != value:
            self.lines[f"every arm is trained on {value} examples"] = f", where the study has {was or 'steps instead'}."


def _at(judgement: Judgement, scale: str, arms: Sequence[str]) -> Judgement | None:
    """A judgement as it is made at one scale by these arms; None where it needs others."""
    criteria = tuple(criterion.model_copy(update={"scales": None}) for criterion in judgement.criteria_at(scale))
    if not criteria or any(arms_of(criterion.observe) - set(arms) for criterion in criteria):
        return None
    here = judgement.model_copy(update={"criteria": criteria})
    return here.with_observations(lambda observing: None if arms_of(observing.observe) - set(arms) else observing)


def _spelled(values: Iterable[Value]) -> str:
    """A grid in full where it is short, else its ends."""
    words = [
        f"{value:.4g}" if isinstance(value, float) else str(value).lower() if value is None else str(value) for value in values
    ]
    return ", ".join(words) if len(words) <= 4 else f"{len(words)} values from {words[0]} to {words[-1]}"
