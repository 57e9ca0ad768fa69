"""What became of each study's claims, remembered, so that an index need not judge again what has not changed.

Twice: `evidence/verdicts.json` stands beside the published trials (a test holds it to what is judged now), and a store keeps
what was last judged of its own trials, by its trials, its declarations and the version of the statistics.
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
from .verdict_history import Change
from .withdrawing import as_judged, as_they_stand

# Raised whenever the same trials and declaration come to other numbers or words of a verdict, be it by judging, by metrics or
# by planning: stores then forget what they were judged by before. tests/harness/judge/test_statistics_version.py fails if it
# is not raised.
STATISTICS_VERSION = 11
# What else decides a number.
LIBRARIES = ("numpy", "pandas", "scipy")


@dataclass(frozen=True)
class JudgedTrials:
    """What pages say of a set of trials. verdicts: as they stand; kept as they were judged. meant_to_be: whether its scale is
    judged. reported: claim -> what is shown beside its criteria and decides nothing. ran_under: hashes of other declarations
    than today's that its trials ran under."""

    meant_to_be: bool
    scale: str
    device: str
    verdicts: list[Verdict]
    robustness: list[Robustness]
    reported: dict[str, list[str]]
    ran_under: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, records: TrialSet, known: "Sequence[JudgedTrials]" = ()) -> "JudgedTrials":
        """known: what is remembered of the same trials, declaration and statistics: it is not worked out again."""
        for each in known:
            if (each.scale, each.device) == (records.scale, records.device):
                return each
        found = records.verdicts()
        judged = records.study.scale(records.scale).judged
        reported = {each.claim: report(each, records.table) for each in records.study.judgements} if judged else {}
        for verdict in found if judged else ():
            reported[verdict.claim] += attempts.pooled_lines(verdict, records.study)
        return cls(judged, records.scale, records.device, found, records.robustness(found), reported, records.ran_under)

    def to_dict(self) -> dict[str, Any]:
        """Verdicts as they were judged: what is withdrawn is decided when they are read."""
        return {**asdict(self), "verdicts": [as_judged(each).to_dict() for each in self.verdicts]}


def recalled_verdicts(store: Store, study: Study) -> list[JudgedTrials] | None:
    """The verdicts of a study as they were last judged: of this store's trials, or where it has none, the published ones. None
    where nothing is remembered, or something has changed since."""
    if not (trials := Ledger(store, study.name).state()):
        return published_verdicts(study)
    return recall(store, _file(study), state(store, study, trials), lambda value: _read(value, study))


def remember_verdicts(store: Store, study: Study, judged: Iterable[JudgedTrials]) -> None:
    if trials := Ledger(store, study.name).state():
        remember(store, _file(study), state(store, study, trials), [each.to_dict() for each in judged])


def state(store: Store, study: Study, trials: Sequence[str]) -> str:
    """Changes with all that a study's verdicts rest on. trials: the state of its ledger."""
    declared = declaration.state(store, study.name)
    beside = [_claims(study), trials, declared, evidence.state(study.name), _course(study), _statistics()]
    return fingerprint([study.canonical_json(), *beside])


def _file(study: Study) -> str:
    return f"judged/{study.name}.json"


def published_verdicts(study: Study) -> list[JudgedTrials] | None:
    """As they stand beside the evidence; None where they are not of this declaration and these trials."""
    kept = _published().get(study.name)
    return _read(kept["judged"], study) if kept is not None and kept["of"] == _key_of_published(study) else None


def judged_evidence(study: Study) -> list[JudgedTrials]:
    """What the published evidence of a study comes to: as it stands beside it, or where that is of other trials, judged now."""
    known = published_verdicts(study)
    return [JudgedTrials.of(each) for each in published_sets(study)] if known is None else known


def publish_verdicts(studies: Sequence[Study]) -> tuple[Path, list[Change]]:
    """Judge the published evidence of these studies again and keep the verdicts beside it; those of others stay. Verdicts that
    become others are returned, and added to the history."""
    with evidence.written_by_one():  # what a version replaces is known before the version is judged
        attempts.append([each for study in studies for each in _replaced(study, _published().get(study.name))])
    judged = [(study, [JudgedTrials.of(records) for records in published_sets(study)]) for study in studies]
    path, changed = _path(), list[Change]()
    with evidence.written_by_one():  # another process may have published others while these were judged
        found = _published()
        for study, now in judged:
            changed += _changes(study, found.get(study.name), now)
            kept = [each.to_dict() for each in now]
            found[study.name] = {"of": _key_of_published(study), "version": study.version, "judged": kept}
        path.write_text(json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        verdict_history.append(changed)
    return path, changed


def _changes(study: Study, kept: Mapping[str, Any] | None, judged: Sequence[JudgedTrials]) -> list[Change]:
    """Of a study's published verdicts, against what stands there before it is written again."""
    if kept is None:
        return []
    before = (verdict for each in kept["judged"] for verdict in each["verdicts"])
    after = (vars(as_judged(verdict)) for each in judged for verdict in each.verdicts)
    today = datetime.now(UTC).date().isoformat()
    return verdict_history.changes(before, after, (kept.get("version"), study.version), today)


def _replaced(study: Study, kept: Mapping[str, Any] | None) -> list[Attempt]:
    """What an earlier version came to, as it stands beside the evidence until this one is written there."""
    if kept is None or kept.get("version") in (None, study.version):
        return []
    version, today = int(kept["version"]), datetime.now(UTC).date().isoformat()
    judgements = earlier_judgements(evidence.earlier(study.name), study.version).get(f"as version {version} asked", ())
    found = []
    for each in kept["judged"]:
        rules = {judgement.claim: attempts.rule_of(judgement, each["scale"]) for judgement in judgements}
        found += attempts.replaced(study.name, version, today, each["verdicts"], rules)
    return found


def _key_of_published(study: Study) -> str:
    # What is reported and what is said decide nothing, and so are not in the hash.
    said = [each.model_dump(mode="json", include={"reported", "advice"}) for each in study.judgements]
    sentences = [[criterion.says for criterion in judgement.criteria] for judgement in study.judgements]
    told = [study.hash, said, sentences, study.revised, _claims(study)]
    return fingerprint([*told, evidence.state(study.name), _course(study)])


def _course(study: Study) -> list[Any]:
    """What is known of its earlier versions."""
    attempted = [asdict(each) for each in attempts.attempts() if each.study == study.name]
    changed = [asdict(each) for each in verdict_history.history().rules if each.study == study.name]
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
    """Of all studies in one file, and asked for a study at a time."""
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _read(kept: Iterable[Mapping[str, Any]], study: Study) -> list[JudgedTrials] | None:
    try:
        judged = _stored_form().validate_python(list(kept))
    except ValidationError:  # as another Folklore wrote it
        return None
    return [replace(each, verdicts=as_they_stand(study, _retold(study, each.verdicts))) for each in judged]


@cache
def _stored_form() -> TypeAdapter[list[JudgedTrials]]:
    return TypeAdapter(list[JudgedTrials])


def _retold(study: Study, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """What was stored has plain text for sentences: told again, they know their numbers as when it was judged."""
    claims = register().including(study)
    judgements = {each.claim: each for each in study.judgements}
    found = []
    for verdict in verdicts:
        judgement = judgements[verdict.claim]
        quantifier = judgement.quantifier or claims.claim(verdict.claim).quantifier
        found.append(explaining.retold(verdict, judgement.criteria_at(verdict.scale), quantifier))
    return found


def _statistics() -> list[Any]:
    """What judges, beside a study's own thresholds."""
    return [STATISTICS_VERSION, {name: version(name) for name in LIBRARIES}, published_calibration()]
