"""State of a study in MLflow, read from its database without importing MLflow."""

from pathlib import Path

from ...declare import Study, fingerprint
from ...errors import UserError
from ...plan.store.database import opened
from ...plan.store.mlflow_address import SQLITE
from .notes import study_note

NOTE = "mlflow.note.content"
# Of models, and not of generative AI; what else MLflow's page needs to be told: harness/launch/tracking/app.py.
KIND, MODELS = "mlflow.experimentKind", "custom_model_development"


def identity(uri: str, study: str, creation_time: int | None) -> str:
    """Names an MLflow and the life of a study's experiment in it: a database made again is another one."""
    return fingerprint([uri, study, creation_time])


def settled(uri: str, study: Study) -> str | None:
    """The identity of a study's experiment that nothing but packs can be missing from: its note is the study's, its kind is
    said, and no run is open. None if that is not so, or cannot be told: a server has to be asked through MLflow."""
    if not uri.startswith(SQLITE):
        return None
    path = Path(uri.removeprefix(SQLITE))
    if not path.exists():
        return None
    try:
        with opened(path) as connection:
            row = connection.execute(_EXPERIMENT, (NOTE, KIND, study.name)).fetchone()
    except UserError:  # told by what opens it next
        return None
    if row is None:
        return None
    experiment, creation_time, note, kind, running = row
    described = (note, kind) == (study_note(study, str(experiment)), MODELS)
    return identity(uri, study.name, creation_time) if described and not running else None


_EXPERIMENT = """
    SELECT experiment_id, creation_time,
        (SELECT value FROM experiment_tags AS tags WHERE tags.experiment_id = experiments.experiment_id AND tags.key = ?),
        (SELECT value FROM experiment_tags AS tags WHERE tags.experiment_id = experiments.experiment_id AND tags.key = ?),
        EXISTS (SELECT 1 FROM runs WHERE runs.experiment_id = experiments.experiment_id
            AND runs.status = 'RUNNING' AND runs.lifecycle_stage = 'active')
    FROM experiments WHERE name = ? AND lifecycle_stage = 'active'
"""
