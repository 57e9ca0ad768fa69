"""A study run otherwise than it was declared, to try something out: another grid, fewer seeds or steps, some of its arms.

It is a study of its own, STUDY_varied_HASH, at one scale: its name is part of every digest, so that it has its own ledger,
declaration, MLflow experiment and page, and is never mixed with the study as declared nor shown in the index as if it were.
What differs stands in its departures. Equal changes give the equal name: the same variation twice trains nothing.
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

# A name has at most 64 characters; so many are of the hash of what was changed.
LONGEST_STEM, DIGITS = 48, 8
# Varied by settings, or by a workload of one's own.
NAME = re.compile(rf"(?P<stem>[a-z][a-z0-9_]*)_(varied|own)_[0-9a-f]{{{DIGITS}}}")
PARTS = (("workload", Workload), ("training", Training), ("measurement", Measurement))
# What is no field of a configuration and decides one: the steps of every arm follow from it.
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
        """From what is typed: 'NAME=VALUE,VALUE'. Raises UserError."""
        found: dict[str, Values] = {}
        for pair in settings:
            name, equals, text = pair.partition("=")
            if not equals or not name or not all(text.split(",")):
                raise UserError(f"--set {pair}: write it as NAME=VALUE or NAME=VALUE,VALUE, for example peak_lr=0.01,0.02")
            if name in found:
                raise UserError(f"--set {pair}: {name} is set twice; give all its values at once: {name}=VALUE,VALUE")
            found[name] = tuple(_value(each) for each in text.split(","))
        return cls(found, seeds, tuple(only))


def _value(text: str) -> Value:
    """A number, also as 2^-8, and as JSON does not take it and people write it: .5, 1., +2; true, false, none; else the text
    itself."""
    power = re.fullmatch(r"2\^(-?\d{1,3}(?:\.\d+)?)", text)
    if power:
        return float(2.0 ** float(power[1]))
    if text.lower() in ("none", "null"):
        return None
    try:
        found = json.loads(text.lower())
    except ValueError:
        return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text.lower()) else text
    return found if isinstance(found, bool | int | float) else text


def variation_name(study: Study, kind: str, identity: str) -> str:
    """kind: of NAME. identity: a hash of what was changed."""
    return f"{study.name[:LONGEST_STEM]}_{kind}_{identity[:DIGITS]}"


def keep_arms(content: dict[str, Any], names: Mapping[str, str]) -> None:
    """Leaves these arms alone in a study's content and its scales. names: what is kept -> what it is called from here on."""
    for part in (content, *content["scales"].values()):
        for field_name in {"arms", "arm_factors", "arm_settings", "arm_seeds"} & part.keys():
            part[field_name] = part[field_name] and {names[arm]: each for arm, each in part[field_name].items() if arm in names}


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
    found = draft.made()
    # Of what was changed alone: equal changes give the equal name.
    changed = found.model_copy(update={"variation_of": None}).hash
    return found.model_copy(update={"name": variation_name(study, "varied", changed)})


class _Draft:
    """A study's content while it is changed; what it comes to, with a line for every change that says what was and what is."""

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
        judged = {each.claim: _at(each, self.scale, kept) for each in self.study.judgements}
        self.not_judged = [claim for claim, judgement in judged.items() if judgement is None]
        self.content["judgements"] = [each.model_dump() for each in judged.values() if each is not None]
        self.content["answer"] = [claim for claim in self.study.answer if judged[claim] is not None]
        self.content["published"] = [each.model_dump() for each in self.study.published if judged.get(each.claim) is not None]
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
            factors = sorted({each for arm in self.arms for each in self.study.factors_at(self.scale, arm)})
            raise UserError(
                f"--set {name}={_spelled(values)}: no factor of this study, so it takes one value;"
                f" factors: {', '.join(factors)}"
            )
        else:
            self._set_field(name, values[0])

    def _check(self, name: str, value: Value) -> None:
        """By the field's own rules, beside the values that the first arm has."""
        if name == EXAMPLES:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UserError(f"--set {EXAMPLES}={value}: must be a whole number from 1 on")
            return
        part, model = next((part, model) for part, model in PARTS if name in model.model_fields)
        first = getattr(self.study.configuration(self.scale, self.arms[0], {}), part)
        try:
            model.model_validate({**first.model_dump(), name: value})
        except ValidationError as error:
            raise invalid(f"--set {name}={_spelled([value])}", error) from None

    def _set_factor(self, name: str, values: Values, arms: Sequence[str]) -> None:
        """In every arm that varies it. An arm whose value was searched is trained at these instead."""
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
            each = "; ".join(f"{was} in {', '.join(names)}" for was, names in before.items())
            self.lines[f"{name} = {_spelled(values)} in every arm"] = f", where the study has {each}."

    def _set_field(self, name: str, value: Value) -> None:
        """For all arms, but for those that have a value of their own: it is what they are compared by."""
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
    criteria = tuple(each.model_copy(update={"scales": None}) for each in judgement.criteria_at(scale))
    if not criteria or any(arms_of(each.observe) - set(arms) for each in criteria):
        return None
    here = judgement.model_copy(update={"criteria": criteria})
    return here.with_observations(lambda each: None if arms_of(each.observe) - set(arms) else each)


def _spelled(values: Iterable[Value]) -> str:
    """A grid in full where it is short, else its ends."""
    each = [
        f"{value:.4g}" if isinstance(value, float) else str(value).lower() if value is None else str(value) for value in values
    ]
    return ", ".join(each) if len(each) <= 4 else f"{len(each)} values from {each[0]} to {each[-1]}"
