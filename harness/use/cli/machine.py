"""Commands around the machine and the installation."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UserError, unknown
from ...launch import events
from ...launch.tracking.server import serve
from ...options import Options
from ..bundle import make_bundle
from . import completion
from .base import FAILED, AsJson, StoreUri, TrackingUri, command
from .output import out, print_checks, print_json


@command(
    "mlflow",
    "folklore mlflow   # prints the address to open",
    "folklore mlflow --host 0.0.0.0 --auth   # for others, with accounts",
)
def browse(
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    host: Annotated[str, typer.Option("--host", help="where others reach it only with --auth")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 5000,
    auth: Annotated[bool, typer.Option("--auth", help="ask for accounts (MLflow's basic-auth)")] = False,
    write: Annotated[bool, typer.Option("--write", help="let the page change what is stored, too")] = False,
) -> None:
    """Browse the runs in MLflow, on this machine only unless it asks for accounts.

    The printed address carries a token: other users of this machine are not let in. FOLKLORE_MLFLOW_TOKEN sets one of your own.

    There is one experiment per study, a parent run per launch with its page, and a child run per trial or computed job. A
    launch's name begins with its verdicts: ✓ supported, ◐ partly, ✗ refuted, ? open, – out of regime, ! invalid, ⊘ withdrawn.
    """
    serve(Options(store, tracking), host, port, auth, write, out.print)


@command("deploy", "folklore deploy slurm > slurm.sh", "folklore deploy github > .github/workflows/runs.yaml")
def deploy(
    where: Annotated[str, typer.Argument(help="kuberay, slurm, ray-up or github", autocompletion=completion.places)],
) -> None:
    """Print a ready file: it starts a study on a cluster (slurm, kuberay, ray-up), or is a gate of pull requests (github)."""
    known = completion.deployments()
    if where not in known:
        raise unknown("place to deploy to", where, known)
    sys.stdout.write(known[where].read_text(encoding="utf-8"))


@command("bundle", "folklore bundle   # into folklore-bundle", "folklore bundle /media/stick/folklore --extras s3")
def bundle(
    folder: Annotated[str, typer.Argument(help="where to put it; a new or empty folder")] = "folklore-bundle",
    extras: Annotated[str, typer.Option("--extras", help="s3, postgresql, dev")] = "s3,postgresql",
) -> None:
    """Gather everything an installation without internet needs: wheels of this project and of all it depends on."""
    count, size = make_bundle(Path(folder), extras)
    out.print(f"{count} files, {size / 2**20:.0f} MiB in {folder}; there: sh {folder}/install.sh")


@command(
    "schema",
    "folklore schema > study.schema.json   # for an editor",
    "folklore schema --explain | less   # what a study can be made of, in words",
    "folklore schema --explain max_trainable   # one part of it",
    "folklore schema events   # what folklore run --json says",
    "folklore schema trials   # columns and units of the trials table",
)
def schema(
    what: Annotated[
        str, typer.Argument(metavar="[WHAT]", help="study, events or trials; to explain: a part, e.g. criterion")
    ] = "study",
    explain: Annotated[
        bool, typer.Option("--explain", help="of a study, for people: every field and observable, with units and examples")
    ] = False,
) -> None:
    """The JSON Schema of a study, for editors and for studies in JSON or YAML; or what events and trials hold, with units."""
    if explain:
        from ...declare.explanation import explanation, explanation_of

        if what in ("events", "trials"):
            raise UserError(f"schema {what} --explain: {what} are explained as they are; leave --explain out")
        sys.stdout.write(explanation() if what == "study" else explanation_of(what))
        return
    from ...declare import Study
    from ...plan.store import trial_schema

    schemas: dict[str, Callable[[], Any]] = {
        "study": Study.model_json_schema,
        "events": lambda: events.EVENTS,
        "trials": lambda: [
            {"column": c.name, "unit": trial_schema.in_unit(c.unit), "description": c.description} for c in trial_schema.COLUMNS
        ],
    }
    if what not in schemas:
        raise unknown("schema", what, schemas)
    print_json(schemas[what]())


@command("doctor", "folklore doctor", "folklore doctor --store s3://bucket/folklore --tracking http://mlflow:5000")
def doctor(store: StoreUri = "results", tracking: TrackingUri = None, as_json: AsJson = False) -> None:
    """Check versions, devices, memory, store and MLflow, and say how to fix what is wrong."""
    from .doctor import examine

    checks = list(examine(Options(store, tracking)))
    print_checks(checks, as_json)
    if not all(check.ok for check in checks):
        raise typer.Exit(FAILED)
