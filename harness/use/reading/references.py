"""From a reference such as warmup@laptop-cpu:published to the trials it means."""

import re
from dataclasses import dataclass

from pydantic import ValidationError

from ...declare import Study
from ...errors import UserError, invalid, unknown
from ...judge.trial_sets import TrialSet, published_sets, stored_sets
from ...plan.plan import Plans
from ...plan.store.declaration import stored_declarations
from ...plan.store.ledger import Ledger
from ...plan.store.store import Store
from .stored_studies import named_study

STORED, PUBLISHED = "stored", "published"
PATTERN = re.compile(
    r"(?P<study>.+?)(?:@(?P<scale>[a-z0-9_]+)(?:-(?P<device>[a-z]+))?)?(?:#(?P<version>\d+))?(?::(?P<source>stored|published))?"
)


@dataclass(frozen=True)
class Reference:
    """STUDY[@SCALE[-DEVICE]][#VERSION][:SOURCE]. source: stored or published; None: the store's, else published trials.

    STUDY is a file, or the name of a study of the catalogue or of the store.
    """

    study: str
    scale: str | None = None
    device: str | None = None
    version: int | None = None
    source: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Reference":
        match = PATTERN.fullmatch(text)
        if match is None:
            raise UserError(f"'{text}': write it as STUDY[@SCALE[-DEVICE]][#VERSION][:stored|:published]")
        version = match["version"]
        return cls(match["study"], match["scale"], match["device"], int(version) if version else None, match["source"])

    def resolve(self, store: Store) -> TrialSet:
        """The one set it means; where several fit, the first that is judged. Raises UserError where there is none."""
        study = self._study(store)
        sets = find_sets(store, study, self.scale, self.device, self.source)
        if not sets:
            place = f" at scale '{self.scale}'" if self.scale else ""
            device = f" on '{self.device}'" if self.device else ""
            raise UserError(
                f"no {self.source or 'stored or published'} trials of study '{study.name}' version"
                f" {study.version}{place}{device}: run it first"
            )
        return sets[0]

    def _study(self, store: Store) -> Study:
        study = named_study(store, self.study)
        return study if self.version in (None, study.version) else self._earlier(store, study)

    def _earlier(self, store: Store, study: Study) -> Study:
        """Another version, as it was declared: its trials lie in the same ledger under digests of their own."""
        declared = [declaration for declaration in stored_declarations(store, study.name) if self.source != PUBLISHED]
        fitting = [
            declaration
            for declaration in declared
            if declaration.version == self.version and self.scale in (None, declaration.scale)
        ]
        if not fitting:
            versions = sorted({study.version, *(declaration.version for declaration in declared)})
            raise UserError(
                f"study '{study.name}' version {self.version}: not declared in this store; it has"
                f" {', '.join(str(version) for version in versions)}"
            )
        try:
            return Study.model_validate(fitting[-1].declared)
        except ValidationError as error:
            raise invalid(f"study '{study.name}' version {self.version}, as it was declared in this store", error) from None


def find_sets(
    store: Store, study: Study, scale: str | None = None, device: str | None = None, source: str | None = None
) -> list[TrialSet]:
    """Sets of trials of a study as it is declared, judged ones first: the store's, and published ones where it has none.

    scale, device, source: only sets with these. Raises UserError for a scale that the study does not have.
    """
    if scale is not None:
        study.scale(scale)
    if device not in (None, "cpu", "cuda"):
        raise unknown("device", str(device), ("cpu", "cuda"))

    def wanted(at: str, on: str) -> bool:
        return scale in (None, at) and device in (None, on)

    plans = Plans()
    own = [] if source == PUBLISHED else stored_sets(study, Ledger(store, study.name), wanted, plans)
    if source == STORED or (own and scale is not None and device is not None):
        return own
    have = {(trial_set.scale, trial_set.device) for trial_set in own}
    sets = own + published_sets(study, lambda *place: wanted(*place) and place not in have, plans)
    return sorted(sets, key=lambda trial_set: not trial_set.study.scale(trial_set.scale).judged)
