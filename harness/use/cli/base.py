"""Shared by all commands: the application, its options, and errors as one line.

Exit codes: 0 fine · 1 a run failed (packs given up, a check failed) · 2 bad input or an unusable environment ·
130 interrupted, 143 by SIGTERM, with everything finished kept · 141 the reader of the output has left. Slow imports stand in
the commands that need them.
"""

import importlib.metadata
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.markup import escape

from ...errors import INSTALL, RunFailedError, UnreadError, UserError, one_line
from . import completion
from .output import err, out
from .settings import settings

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
# Packages of the extra `train`, which only some commands need.
PACKAGES = ("torch", "ray", "optuna", "mlflow", "sqlalchemy", "safetensors", "cloudpickle", "tokenizers", "sklearn", "mlxtend")

HELP = (
    "Put claims about training neural networks to the test.\n\n"
    "Exit codes: 0 fine, 1 a run failed, 2 bad input or a store that cannot be written, 130 interrupted and 143 SIGTERM (what"
    " is finished is kept), 141 the reader of the output has left. Defaults of --store, --tracking, --address, --workers and"
    " --lanes can stand in folklore.toml or in \\[tool.folklore] of pyproject.toml."
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HELP,
)

StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="a study's name (see `folklore list`) or a .py, .yaml or .json file",
        autocompletion=completion.studies,
    ),
]
SomeStudy = Annotated[
    str | None,
    typer.Argument(metavar="[STUDY]", help="default: all studies", autocompletion=completion.studies),
]
ScaleName = Annotated[
    str | None,
    typer.Option(
        "--scale",
        help="smoke, laptop, workstation, gpu or cluster; default: what fits this machine",
        autocompletion=completion.scales,
    ),
]
StoreUri = Annotated[str, typer.Option("--store", envvar="FOLKLORE_STORE", help="where results lie: a folder, s3://…, gs://…")]
TrackingUri = Annotated[
    str | None, typer.Option("--tracking", envvar="FOLKLORE_TRACKING", help="MLflow; default: STORE/mlflow.db")
]
Workers = Annotated[int | None, typer.Option("--workers", help="packs side by side; default: one a core, or one a GPU")]
Lanes = Annotated[int | None, typer.Option("--lanes", help="most trials a pack; default: measured, or by the model's size")]
ProgramName = Annotated[
    str | None,
    typer.Option("--program", help="eager, compiled, captured or 'compiled and captured'; default: measured"),
]
Datasets = Annotated[
    list[str] | None, typer.Option("--data", metavar="NAME=DATASET", help="use DATASET where a study names NAME")
]
OwnWorkload = Annotated[
    str | None,
    typer.Option("--workload", metavar="MODULE:ATTRIBUTE", help="your own model, loss and data in place of the study's"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]

Command = TypeVar("Command", bound=Callable[..., Any])


def command(name: str, *examples: str) -> Callable[[Command], Command]:
    """Registers a command whose help ends with examples, each a command line and, after '#', what it does."""
    lines = "\n\n".join(escape(f"$ {example}") for example in examples)

    def register(function: Command) -> Command:
        app.command(name, epilog=f"[bold]Examples[/bold]\n\n{lines}")(one_line_errors(function))
        return function

    return register


def one_line_errors(command: Command) -> Command:
    """Bad input ends in one line and exit code 2, never in a traceback."""

    @wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            _require_text(options)
            return command(*args, **options)
        except BrokenPipeError as error:
            raise UnreadError(one_line(error)) from None
        except (UserError, OSError) as error:  # a path or a disk that cannot be used is the user's to fix, too
            raise _told(one_line(error), BAD_INPUT) from None
        except ModuleNotFoundError as error:
            if error.name not in PACKAGES:
                raise
            raise _told(
                f"{error.name} is not installed, and this command needs it: {INSTALL}; what only reads and judges (judge,"
                " noise, verdicts, why, report, list) goes without",
                BAD_INPUT,
            ) from None
        except RunFailedError as error:
            raise _told(one_line(error), FAILED) from None
        except KeyboardInterrupt:
            err.print("interrupted: what is finished is kept; the same command goes on")
            raise typer.Exit(INTERRUPTED) from None

    return guarded  # type: ignore[return-value]


def _print_version(asked: bool) -> None:
    if asked:
        out.print(f"folklore {importlib.metadata.version('folklore-harness')}")
        raise typer.Exit


@app.callback(help=HELP)
@one_line_errors
def _started(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="print the version and leave")
    ] = False,
) -> None:
    if not context.resilient_parsing:
        commands = getattr(context.command, "commands", {})
        chosen = settings(Path.cwd())
        context.default_map = {name: dict(chosen) for name in commands}


def _told(message: str, code: int) -> typer.Exit:
    """The exit, after its one line of error is printed."""
    err.print(f"error: {message}", style="red")
    return typer.Exit(code)


def _require_text(options: dict[str, Any]) -> None:
    """Text that is not UTF-8 could neither be printed nor stored. Raises UserError."""
    for name, value in options.items():
        for text in value if isinstance(value, list) else [value]:
            try:
                str(text).encode()
            except UnicodeEncodeError:
                raise UserError(f"{name} {text}: is not UTF-8; rename it, or type it in UTF-8") from None
