"""A study as its module writes it: first what all arms share, then arms, scales and claims, one call each."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .base import Spec
from .configuration import Measurement, Training, Workload
from .criterion import Criterion, Judgement, Reported
from .describing import name_of, sentence_of
from .design import Arm, Scale
from .prose import read_prose
from .study import Study

Settings = Mapping[str, Any]
NO_SETTINGS: Settings = {}
# Fields of a scale.
BY_ARM = {"arm_settings", "arm_factors", "arm_seeds"}
Part = Criterion | Reported
PARTS: dict[str, type[Spec]] = {"workload": Workload, "training": Training, "measurement": Measurement}


class Draft:
    """Collects a study.

    study = Draft(__file__, {"model": "mlp", "dataset": "digits"}, version=1, seeds=10, factors=lr_grid(-9, -5), steps=300)
    study.arm("plain", "no momentum", momentum=0.0, reference=True)
    study.arm("momentum", "momentum of 0.9", momentum=0.9)
    study.laptop("a minute of training")
    study.claim("own.momentum", exceeds(loss_gap("plain", "momentum")))
    STUDY = study.declared()

    Its words stand in the Markdown file beside the module (prose.py), which gives both their name. Options are fields of a
    Study, an Arm or a Scale; all others are settings: fields of a workload, of its training or of what is measured. A mapping
    of settings can be given as well.
    """

    def __init__(self, file: str, settings: Settings = NO_SETTINGS, **options: Any) -> None:
        """file: the module's `__file__`. Raises UserError for a Markdown file that is not there or not of its form."""
        self.name = Path(file).stem
        self.prose = read_prose(Path(file).with_suffix(".md"))
        self.options = {**settings, **options}
        self.arms: dict[str, Arm] = {}
        self.scales: dict[str, Scale] = {}
        self.judgements: list[Judgement] = []

    def arm(self, name: str, label: str, panel: str = "", settings: Settings = NO_SETTINGS, **options: Any) -> str:
        """Adds an arm and returns its name."""
        fields, changed = _apart(Arm, {**settings, **options})
        self.arms[name] = Arm(label=label, panel=panel, settings=changed, **fields)
        return name

    def smoke(self, settings: Settings = NO_SETTINGS, *, seeds: int = 2, **options: Any) -> None:
        """A few steps of every arm, to see that it can be trained."""
        self.scale("smoke", "plumbing in seconds, never judged", settings, seeds=seeds, judged=False, **options)

    def laptop(self, takes: str, settings: Settings = NO_SETTINGS, **options: Any) -> None:
        """Two CPU cores. takes: how long it trains there."""
        self.scale("laptop", f"two CPU cores, {takes}", settings, **options)

    def workstation(self, takes: str, settings: Settings = NO_SETTINGS, **options: Any) -> None:
        """Longer runs of larger models on two CPU cores, at most an hour and a half; a study need not have it."""
        self.scale("workstation", f"two CPU cores for longer, {takes}", settings, **options)

    def gpu(self, description: str, settings: Settings = NO_SETTINGS, **options: Any) -> None:
        """One GPU."""
        self.scale("gpu", description, settings, device="cuda", **options)

    def cluster(self, description: str, settings: Settings = NO_SETTINGS, **options: Any) -> None:
        """Many GPUs."""
        self.scale("cluster", description, settings, device="cuda", **options)

    def scale(self, name: str, description: str, settings: Settings = NO_SETTINGS, **options: Any) -> None:
        """Adds a scale under another name. arm_settings, arm_factors, arm_seeds: by an arm's name, or by names of several."""
        fields, changed = _apart(Scale, {**settings, **options})
        fields |= {field: _by_arm(fields[field]) for field in BY_ARM & fields.keys()}
        self.scales[name] = Scale(description=description, **{**_by_part(changed), **fields})

    def claim(self, claim: str, *parts: Part, **options: Any) -> Callable[[Callable[[], Iterable[Part]]], None]:
        """Adds how a claim is decided: all of its criteria have to hold, and what is reported beside them decides nothing.

        Without parts it decorates a function that yields them. What has no name or sentence gets one from its metric and the
        labels of its arms, which have to be there before. options: other fields of a Judgement.
        """
        if parts:
            self._judge(claim, parts, options)
        return lambda function: self._judge(claim, tuple(function()), options)

    def _judge(self, claim: str, parts: tuple[Part, ...], options: dict[str, Any]) -> None:
        worded = [self._worded(part) for part in parts]
        criteria = tuple(part for part in worded if isinstance(part, Criterion))
        reported = tuple(part for part in worded if isinstance(part, Reported))
        self.judgements.append(Judgement(claim=claim, criteria=criteria, reported=reported, **options))

    def _worded(self, part: Part) -> Part:
        words = {} if part.name else {"name": name_of(part.observe, self.arms)}
        if isinstance(part, Criterion) and not part.says:
            words["says"] = sentence_of(part.observe, self.arms, part.panel)
        return part.model_copy(update=words) if words else part

    def declared(self) -> Study:
        """The study. Raises UserError for words about what it does not have, and for a claim without advice."""
        self.prose.require([judgement.claim for judgement in self.judgements], self.scales)
        fields, settings = _apart(Study, self.options)
        base: dict[str, Any] = {part: PARTS[part](**values) for part, values in _by_part(settings).items()}
        return Study(
            name=self.name,
            title=self.prose.title,
            question=self.prose.question,
            departures=self.prose.departures,
            arms=self.arms,
            scales={name: self.prose.on_scale(name, scale) for name, scale in self.scales.items()},
            judgements=tuple(map(self.prose.on_claim, self.judgements)),
            published=self.prose.published,
            **base,
            **fields,
        )


def _apart(spec: type[Spec], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a spec, and settings."""
    fields = {name: value for name, value in options.items() if name in spec.model_fields}
    return fields, {name: value for name, value in options.items() if name not in fields}


def _by_arm(values: Mapping[str | tuple[str, ...], Any]) -> dict[str, Any]:
    return {arm: value for arms, value in values.items() for arm in ((arms,) if isinstance(arms, str) else arms)}


def _by_part(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings by the part of a configuration that has them; what none has is refused there, as a setting of training."""
    parts: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        part = next((part for part, spec in PARTS.items() if name in spec.model_fields), "training")
        parts.setdefault(part, {})[name] = value
    return parts
