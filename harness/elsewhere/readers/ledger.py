"""Folklore's own stores: the trials of a study, by STORE#STUDY or STORE#STUDY@SCALE."""

import pandas as pd

from ...errors import unknown
from ...plan.store.ledger import Ledger
from ...plan.store.store import Store
from ...plan.store.trial_rows import judged_losses
from ...plan.store.trial_schema import OBJECTS, SUMMARY
from ..table import Role, Table
from .columns import written
from .source import Source

FOLDER = "ledger"
# nan in these is a run that diverged, in other columns a blank.
LOSSES = ("train_loss", "validation_loss", "test_loss")
# Columns that name a trial, its pack or its declaration, and say nothing of the run.
INTERNAL = {
    *OBJECTS,
    *("version", "study_hash", "engine_version", "data_hash", "pack", "program_note", "width_source", "finished_at"),
}


def recognizes(source: Source) -> bool:
    return source.is_folder and (source.root / FOLDER).is_dir() and bool(Store(str(source.root)).folders(FOLDER))


def read(source: Source) -> Table:
    """A row for each trial: digest, arm, seed, the factors, outcome, losses as stored and as they are judged. A diverged trial
    is judged by its loss at initialization. Raises UserError."""
    store = Store(str(source.root))
    name, _, scale = source.part.partition("@")
    studies = store.folders(FOLDER)
    if name and name not in studies:
        raise unknown(f"study in {source.shown}", name, studies)
    if not name and len(studies) > 1:
        raise source.error(f"holds {len(studies)} studies ({', '.join(studies[:8])})", "name one as STORE#STUDY")
    trials = Ledger(store, name or studies[0]).trials()
    if trials.empty:
        raise source.error("holds no trial that can be read", "name another store")
    scales = sorted(trials["scale"].unique())
    if scale and scale not in scales:
        raise unknown("scale of these trials", scale, scales)
    if not scale and len(scales) > 1:
        raise source.error(f"has trials at {len(scales)} scales ({', '.join(scales)})", "name one as STORE#STUDY@SCALE")
    return _table(source, trials[trials["scale"] == (scale or scales[0])])


def _table(source: Source, trials: pd.DataFrame) -> Table:
    columns = [name for name in trials if name not in INTERNAL]
    judged = judged_losses(trials["test_loss"].to_numpy(float), trials["initial_loss"].to_numpy(float), trials["outcome"])
    factors = [name for name in trials if name not in SUMMARY]
    points = trials[["arm", *factors]].drop_duplicates()
    losses = {name: written(trials[name].to_numpy(float)) for name in LOSSES}
    frame = trials[columns].reset_index(drop=True).assign(**losses, judged_loss=written(judged))
    roles: dict[Role, str] = {"metric": "judged_loss", "arm": "arm", "seed": "seed", "run": "digest"}
    return Table(frame, source.shown, "a Folklore store", roles, tuned=bool(points["arm"].duplicated().any()))
