"""Remembered verdicts of each study, so that an index judges again only what has changed.

They are kept twice: `evidence/verdicts.json` stands beside the published trials (a test holds it to today's verdicts), and a
store keeps the last verdicts on its own trials, by its trials, its declarations and the version of the statistics.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..declare import Study, fingerprint
from ..plan.catalog import register
from ..plan.store import declaration, evidence
from ..plan.store.declaration import earlier_judgements
from ..plan.store.ledger import Ledger
from ..plan.store.remembered import recall, remember
from ..plan.store.store import Store
from . import attempts, explaining, verdict_history
from .attempts import Attempt
from .cautions import published_calibration
from .judge import report
from .robustness import Robustness
from .trial_sets import TrialSet, published_sets
from .verdict import Verdict
from .verdict_history import Change, Place, Stand
from .withdrawing import as_judged, as_they_stand

# Raised whenever the same trials and declaration come to other numbers or words of a verdict, be it by judging, by metrics or
# by planning: stores then forget what they were judged by before. tests/harness/judge/test_statistics_version.py fails if it
# is not raised.
STATISTICS_VERSION = 12
# Their versions decide numbers, too.
LIBRARIES = ("numpy", "pandas", "scipy")


@dataclass(frozen=True)
class JudgedTrials:
    """A set of trials as pages show it. verdicts: as they stand; stored as they were judged. meant_to_be: whether its scale is
    judged. reported: claim -> lines beside its criteria, which decide nothing. ran_under: hashes of other declarations than
    today's that its trials ran under. predicted: of a rung of a ladder, what those below it predicted before it was trained."""

    meant_to_be: bool
    scale: str
    device: str
    verdicts: list[Verdict]
    robustness: list[Robustness]
    reported: dict[str, list[str]]
    ran_under: list[str] = field(default_factory=list)
    predicted: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, records: TrialSet, known: "Sequence[JudgedTrials]" = ()) -> "JudgedTrials":
        """known: remembered ones of the same trials, declaration and statistics, which are not judged again."""
        for remembered in known:
            if (remembered.scale, remembered.device) == (records.scale, records.device):
                return remembered
        verdicts = records.verdicts()
        judged = records.study.scale(records.scale).judged
        reported = (
            {judgement.claim: report(judgement, records.table) for judgement in records.study.judgements} if judged else {}
        )
        for verdict in verdicts if judged else ():
            reported[verdict.claim] += attempts.pooled_lines(verdict, records.study)
        robustness, run = records.robustness(verdicts), (records.ran_under, records.predicted)
        return cls(judged, records.scale, records.device, verdicts, robustness, reported, *run)

    def to_dict(self) -> dict[str, Any]:
        """The stored form, verdicts as they were judged: withdrawals are decided when they are read. Without predictions where
        there are none, as it was before ladders."""
        content = {name: value for name, value in asdict(self).items() if value or name != "predicted"}
        return {**content, "verdicts": [as_judged(verdict).to_dict() for verdict in self.verdicts]}


def recalled_verdicts(store: Store, study: Study) -> list[JudgedTrials] | None:
    """A study's last verdicts: on this store's trials or, if it has none, the published ones. None if nothing is remembered, or
    something has changed since."""
    if not (trials := Ledger(store, study.name).state()):
        return published_verdicts(study)
    return recall(store, _file(study), state(store, study, trials), lambda value: _read(value, study))


def remember_verdicts(store: Store, study: Study, judged: Iterable[JudgedTrials]) -> None:
    if trials := Ledger(store, study.name).state():
        remember(store, _file(study), state(store, study, trials), [judged_trials.to_dict() for judged_trials in judged])


def state(store: Store, study: Study, trials: Sequence[str]) -> str:
    """A fingerprint of all that a study's verdicts rest on. trials: the state of its ledger."""
    declared = declaration.state(store, study.name)
    beside = [_claims(study), trials, declared, evidence.state(study.name), _course(study), _statistics()]
    return fingerprint([study.canonical_json(), *beside])


def _file(study: Study) -> str:
    return f"judged/{study.name}.json"


def published_verdicts(study: Study) -> list[JudgedTrials] | None:
    """The verdicts stored beside the evidence; None if they are of another declaration or other trials."""
    kept = _published().get(study.name)
    return _read(kept["judged"], study) if kept is not None and kept["of"] == _key_of_published(study) else None


def judged_evidence(study: Study) -> list[JudgedTrials]:
    """Verdicts on a study's published evidence: the stored ones or, if those are of other trials, judged now."""
    known = published_verdicts(study)
    return [JudgedTrials.of(records) for records in published_sets(study)] if known is None else known


def publish_verdicts(studies: Sequence[Study]) -> tuple[Path, list[Change]]:
    """Judges the published evidence of these studies again and stores the verdicts beside it; those of other studies stay.
    Changed verdicts are returned, and added to the history."""
    with evidence.written_by_one():  # what a version replaces is known before the version is judged
        attempts.append([attempt for study in studies for attempt in _replaced(study, _published().get(study.name))])
    judged = [(study, [JudgedTrials.of(records) for records in published_sets(study)]) for study in studies]
    path, changed = _path(), list[Change]()
    with evidence.written_by_one():  # another process may have published others while these were judged
        published = _published()
        today = datetime.now(UTC).date().isoformat()
        for study, now in judged:
            kept = [judged_trials.to_dict() for judged_trials in now]
            before = _stands(published.get(study.name, {}))
            published[study.name] = {"of": _key_of_published(study), "version": study.version, "judged": kept}
            after = _stands(published[study.name])
            changed += verdict_history.changes(before, after, today)
            if earlier := [[place, asdict(stand)] for place, stand in before.items() if place not in after]:
                published[study.name]["earlier"] = earlier
        path.write_text(json.dumps(dict(sorted(published.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        verdict_history.append(changed)
    return path, changed


def _stands(kept: Mapping[str, Any]) -> dict[Place, Stand]:
    """The verdicts published last. Scales are published one by one: until a version has its own, an earlier one's stands."""
    verdicts = (verdict for judged_trials in kept.get("judged", ()) for verdict in judged_trials["verdicts"])
    earlier = {tuple(place): Stand(**stand) for place, stand in kept.get("earlier", ())}
    return earlier | verdict_history.stands(verdicts, kept.get("version"))


def _replaced(study: Study, kept: Mapping[str, Any] | None) -> list[Attempt]:
    """Attempts of the earlier version whose verdicts stand beside the evidence until this version's are written."""
    if kept is None or kept.get("version") in (None, study.version):
        return []
    version, today = int(kept["version"]), datetime.now(UTC).date().isoformat()
    judgements = earlier_judgements(evidence.earlier(study.name), study.version).get(f"as version {version} asked", ())
    replaced = []
    for judged_trials in kept["judged"]:
        rules = {judgement.claim: attempts.rule_of(judgement, judged_trials["scale"]) for judgement in judgements}
        replaced += attempts.replaced(study.name, version, today, judged_trials["verdicts"], rules)
    return replaced


def _key_of_published(study: Study) -> str:
    # Reported lines and sentences decide nothing, and so are not in the study's hash.
    said = [judgement.model_dump(mode="json", include={"reported", "advice"}) for judgement in study.judgements]
    sentences = [[criterion.says for criterion in judgement.criteria] for judgement in study.judgements]
    facts = [study.hash, said, sentences, study.revised, _claims(study)]
    return fingerprint([*facts, evidence.state(study.name), _course(study)])


def _course(study: Study) -> list[Any]:
    """Attempts of its versions, and changes of its rules."""
    attempted = [asdict(attempt) for attempt in attempts.attempts() if attempt.study == study.name]
    changed = [asdict(rule) for rule in verdict_history.history().rules if rule.study == study.name]
    return [attempted, changed]


def _claims(study: Study) -> list[Any]:
    """The claims that a study judges, as the register has them: their quantifiers, regimes and sides decide, too."""
    known = register().including(study)
    return [known.claim(judgement.claim).model_dump(mode="json") for judgement in study.judgements]


def _path() -> Path:
    return evidence.FOLDER / "verdicts.json"


def _published() -> dict[str, Any]:
    path = _path()
    return dict(_read_published(path, *evidence.stamp(path))) if path.exists() else {}


@lru_cache(maxsize=2)
def _read_published(path: Path, changed: int, size: int) -> Mapping[str, Any]:
    """Verdicts of all studies; cached, because they are asked for one study at a time."""
    published: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return published


def _read(kept: Iterable[Mapping[str, Any]], study: Study) -> list[JudgedTrials] | None:
    try:
        judged = _stored_form().validate_python(list(kept))
    except ValidationError:  # as another Folklore wrote it
        return None
    return [
        replace(judged_trials, verdicts=as_they_stand(study, _retold(study, judged_trials.verdicts)))
        for judged_trials in judged
    ]


@cache
def _stored_form() -> TypeAdapter[list[JudgedTrials]]:
    return TypeAdapter(list[JudgedTrials])


def _retold(study: Study, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Stored verdicts, whose sentences are plain text, with sentences that know their numbers again."""
    claims = register().including(study)
    judgements = {judgement.claim: judgement for judgement in study.judgements}
    new_verdicts = []
    for verdict in verdicts:
        judgement = judgements[verdict.claim]
        quantifier = judgement.quantifier or claims.claim(verdict.claim).quantifier
        new_verdicts.append(explaining.retold(verdict, judgement.criteria_at(verdict.scale), quantifier))
    return new_verdicts


def _statistics() -> list[Any]:
    """Versions and calibration that verdicts depend on, beside a study's own thresholds."""
    return [STATISTICS_VERSION, {name: version(name) for name in LIBRARIES}, published_calibration()]
