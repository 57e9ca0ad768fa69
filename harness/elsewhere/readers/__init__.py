"""Readers: from what a user names, a file, a folder or an address, to a table. One module for each kind of source."""

from collections.abc import Callable

from ...errors import UserError, masked
from ..table import Table
from . import evals, ledger, mlflow_runs, optuna_trials, ray_tune, tables, tensorboard, trainers
from .ranks import of_lowest_rank
from .source import FORMATS, Source, refuse_pickle

# Whether a source is of a kind, and what reads it; tried in this order. A store holds databases, a trial's folder logs of
# trainers and event files, an output folder of a trainer event files, and all of them tables.
READERS: tuple[tuple[Callable[[Source], bool], Callable[[Source], Table]], ...] = (
    (ledger.recognizes, ledger.read),
    (mlflow_runs.recognizes, mlflow_runs.read),
    (optuna_trials.recognizes, optuna_trials.read),
    (evals.recognizes_inspect, evals.read_inspect),
    (evals.recognizes_lm_eval, evals.read_lm_eval),
    (ray_tune.recognizes, ray_tune.read),
    (trainers.recognizes_states, trainers.read_states),
    (trainers.recognizes_metrics, trainers.read_metrics),
    (tensorboard.recognizes, tensorboard.read),
    (tables.recognizes, tables.read),
)


def read(source: str) -> Table:
    """The rows of a file, a folder or an address. Raises UserError."""
    named = Source.parse(source)
    if named.path is not None and not named.is_folder:
        refuse_pickle(named.path)
    for recognizes, reader in READERS:
        if recognizes(named):
            return of_lowest_rank(reader(named))
    if named.path is None:
        raise UserError(f"runs '{masked(source):.200}': no such file, folder or address; give one of {FORMATS}")
    raise UserError(f"runs '{source:.200}': holds no runs of a known format; known: {FORMATS}")
