"""What a study declares once and gets for each of its panels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from folklore.harness.errors import UserError, invalid, unknown
from folklore.harness.spec.base import Spec
from folklore.harness.spec.criterion import Criterion

AnySpec = TypeVar("AnySpec", bound=Spec)
Fields = Mapping[str, Mapping[str, Any]]

BLANK = re.compile(r"<([a-z][a-z0-9_]*)>")


@dataclass(frozen=True)
class OnEach(Generic[AnySpec]):
    """What is declared alike on several panels (criteria, what is reported, alternatives), written once:

        PANELS = {"MLP with SGD": {"arm": "mlp_sgd"}, "GPT with AdamW": {"arm": "gpt_adam"}}

        criteria=OnEach(
            panels=PANELS,
            of=Criterion(
                name="loss at the steepest point, <panel>",
                panel="<panel>",
                observe=FinderRegret(arm="<arm>", range_test="<arm>_300", rule="steepest_log"),
                expected=Expected(value=0.005, source="TD, Learning Rate Finder", spread=0.016),
                says="On the <panel>, the steepest point loses {estimate} of the fall in loss",
                **GOOD,
            ),
            fields={"GPT with AdamW": {"spread": 0.125, "underpowered": "seeds differ by an octave"}},
        ).specs

    `specs` holds two criteria, the same as if both were written out, and so are the study's JSON and its hash. To have others
    beside them: `(*OnEach(...).specs, Criterion(...))`. A study in JSON or YAML has the written-out form only.

    panels: the texts of each panel, by name. In any text of the spec `<name>` stands for the panel's text of that name, and
    `<panel>` for the name of the panel. Every `<name>` needs a text. A text that all panels have may go unused, so that one
    table serves a whole study; one that only some panels have must be used.
    of: the spec, or several. Of several, a panel has all in turn before the next panel begins.
    fields: what is different on single panels. A field of the spec itself is replaced as a whole, and None leaves it out. A
    field that only parts of the spec have, as `spread` above, is replaced in each of these parts. What replaces a field may
    hold `<name>`, too. For several specs: a tuple of such tables, one for each.
    """

    _: KW_ONLY
    panels: Mapping[str, Mapping[str, str]]
    of: AnySpec | tuple[AnySpec, ...]
    fields: Fields | tuple[Fields, ...] = field(default_factory=dict)
    specs: tuple[AnySpec, ...] = field(init=False)

    def __post_init__(self) -> None:
        originals = self.of if isinstance(self.of, tuple) else (self.of,)
        tables = self.fields if isinstance(self.fields, tuple) else (self.fields,)
        if len(tables) == 1 and not tables[0]:
            tables = tables * len(originals)
        if not self.panels or not originals:
            raise UserError("OnEach without a panel or without a spec gives nothing; name at least one of each")
        if len(tables) != len(originals):
            raise UserError(
                f"OnEach has {len(originals)} specs and {len(tables)} tables of fields; give a tuple with one for each spec"
            )
        for table in tables:
            for panel in table:
                if panel not in self.panels:
                    raise unknown("panel in fields", panel, self.panels)
        shared = set.intersection(*map(set, self.panels.values()))
        specs: list[AnySpec] = []
        for panel, texts in self.panels.items():
            own_fields = [table.get(panel, {}) for table in tables]
            specs += _on_panel(panel, texts, shared, list(zip(originals, own_fields, strict=True)))
        object.__setattr__(self, "specs", tuple(specs))


def _on_panel(
    panel: str, texts: Mapping[str, str], shared: set[str], pairs: list[tuple[AnySpec, Mapping[str, Any]]]
) -> list[AnySpec]:
    """Specs, each with the fields that a panel has otherwise -> the panel's specs. shared: texts that all panels have."""
    for name, text in texts.items():
        if name == "panel":
            raise UserError(f"panel '{panel}': its text 'panel' = {text!r} is taken, for <panel> is its name; rename the text")
        if not isinstance(text, str):
            raise UserError(f"panel '{panel}': {name} = {text!r:.80} must be a text; put what is none into `fields`")
    replaced = [_replaced(spec, fields, panel) for spec, fields in pairs]
    used = {blank for spec in replaced for text in _texts_in(spec) for blank in BLANK.findall(text)}
    for name in sorted(used - texts.keys() - {"panel"}):
        raise UserError(f"panel '{panel}': <{name}> has no text; add one named '{name}' to the panel, or take <{name}> out")
    for name in sorted(texts.keys() - used - shared):
        raise UserError(
            f"panel '{panel}': nothing uses its text '{name}' = {texts[name]!r:.80}; write <{name}> or leave it out"
        )
    try:
        return [_filled(spec, {**texts, "panel": panel}) for spec in replaced]
    except ValidationError as error:
        raise invalid(f"panel '{panel}'", error) from None


def _replaced(spec: AnySpec, fields: Mapping[str, Any], panel: str) -> AnySpec:
    """The spec with a panel's own fields; they are validated when its texts are filled in."""
    for name, value in fields.items():
        if not any(name in type(part).model_fields for part in _specs_in(spec)):
            raise UserError(
                f"panel '{panel}': its field '{name}' = {value!r:.80} is in neither this {type(spec).__name__} nor a part of"
                " it; correct the name or leave it out"
            )
        spec = _with_field(spec, name, value)
    return spec


def _with_field(value: Any, name: str, replacement: Any) -> Any:
    """A value with a field replaced: in the outermost specs that have it."""
    if isinstance(value, tuple):
        return tuple(_with_field(each, name, replacement) for each in value)
    if not isinstance(value, Spec):
        return value
    field_info = type(value).model_fields.get(name)
    if field_info is not None:
        if replacement is None and not field_info.is_required():
            replacement = field_info.get_default(call_default_factory=True)
        return value.model_copy(update={name: replacement})
    return value.model_copy(
        update={each: _with_field(getattr(value, each), name, replacement) for each in value.model_fields_set}
    )


def _filled(value: Any, texts: Mapping[str, str]) -> Any:
    """A value with texts for its blanks. Specs are made anew from what they were given, and so validated."""
    if isinstance(value, str):
        return BLANK.sub(lambda blank: texts[blank[1]], value)
    if isinstance(value, tuple):
        return tuple(_filled(each, texts) for each in value)
    if isinstance(value, Mapping):
        return {name: _filled(each, texts) for name, each in value.items()}
    if not isinstance(value, Spec):
        return value
    given = {name: _filled(getattr(value, name), texts) for name in value.model_fields_set}
    if isinstance(value, Criterion) and value.one_sided:
        # Its regions follow from null and margin, which the panel may have replaced.
        given.pop("claimed", None)
        given.pop("refuted", None)
    return type(value)(**given)


def _specs_in(value: Any) -> Iterator[Spec]:
    """A spec and all those inside it."""
    if isinstance(value, Spec):
        yield value
        for name in value.model_fields_set:
            yield from _specs_in(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            yield from _specs_in(each)


def _texts_in(value: Any) -> Iterator[str]:
    """Every text that a value is or holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Spec):
        for name in value.model_fields_set:
            yield from _texts_in(getattr(value, name))
    elif isinstance(value, tuple | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(each)
