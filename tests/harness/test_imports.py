"""The direction of imports, read from the source: studies -> harness.spec; models -> nothing of ours;
harness.training -> models; reports -> harness; nothing under harness imports reports or names a study."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("studies", "harness", "models", "reports", "tests")
# The only modules that may import these packages, at any level.
OWNERS = {
    "ray": {"harness/sweep.py", "harness/ray_connection.py"},
    "mlflow": {f"harness/{name}.py" for name in ("tracking", "tracking_tables", "tracking_origin", "mlflow_app")},
    "optuna": {"harness/search.py"},
}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(path: Path) -> set[str]:
    return {name for name in imported(path) if name.split(".")[0] in OURS}


def test_models_import_nothing_of_ours() -> None:
    for path in sources("models"):
        assert all(name.split(".")[0] == "models" for name in ours(path)), path


def test_studies_import_the_spec_alone() -> None:
    for path in sources("studies"):
        assert all(name.startswith("harness.spec") for name in ours(path)), path


def test_the_harness_knows_neither_reports_nor_studies() -> None:
    for path in sources("harness"):
        assert all(name.split(".")[0] in ("harness", "models") for name in ours(path)), path
    names = {path.stem for path in sources("studies")} - {"__init__", "register"}
    for path in sources("harness"):
        strings = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        # claims.py maps the register's prefixes to the studies they are filed under.
        if path.name != "claims.py":
            assert not strings & names, f"{path} names a study"


def test_the_engine_knows_no_sweeps() -> None:
    allowed = ("harness.training", "harness.spec", "harness.data", "harness.own.finding", "harness.own.place", "harness.errors")
    allowed += ("harness.randomness", "models")
    for path in sources("harness/training"):
        assert all(name.startswith(allowed) or name == "harness" for name in ours(path)), (path, ours(path))


def test_the_spec_stands_alone() -> None:
    for path in sources("harness/spec"):
        assert all(name.startswith(("harness.spec", "harness.errors")) for name in ours(path)), path


def test_each_big_package_has_one_owner() -> None:
    for folder in ("studies", "harness", "models", "reports"):
        for path in sources(folder):
            for package in {name.split(".")[0] for name in imported(path)} & OWNERS.keys():
                assert str(path.relative_to(ROOT)) in OWNERS[package], f"{path} imports {package}"


def test_no_eval_and_no_pickle() -> None:
    for folder in ("studies", "harness", "models", "reports"):
        for path in sources(folder):
            assert not {"pickle", "dill", "joblib"} & {name.split(".")[0] for name in imported(path)}, path
            calls = {
                node.func.id
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert not calls & {"eval", "exec"}, path


# Commands that only read, and in how many ways.
READING = (
    "--help",
    "run --help",
    "list",
    "list --json",
    "schema",
    "schema events",
    "schema trials",
    "deploy slurm",
    "verdicts warmup --published",
    "why warmup.improves_best --published",
    "compare warmup@laptop:published warmup@laptop:published",
)


def test_what_only_reads_waits_for_no_heavy_library() -> None:
    """Torch alone takes two seconds to import. Claims about number formats compute with it, and only they."""
    code = f"""
import importlib, sys
def light(doing):
    heavy = {{'torch', 'ray', 'mlflow', 'optuna'}} & {{*sys.modules}}
    assert not heavy, f"{{doing}} imports {{heavy}}"
    print("light:", doing)
from harness.cli import app
for command in {READING!r}:
    assert not app(command.split(), standalone_mode=False), command
    light(command)
for module in ("api", "references", "compare", "provenance", "launch", "doctor"):
    importlib.import_module("harness." + module)
    light(module)
import reports.site
light("pages")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("light: ")]) == len(READING) + 7
