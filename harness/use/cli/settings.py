"""A project's own defaults for options: `folklore.toml`, or `[tool.folklore]` in pyproject.toml, in this folder or one above.

The command line counts before an environment variable, that before the file, and the file before the default.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import UserError, one_line, unknown

FILE, PROJECT = "folklore.toml", "pyproject.toml"
# Setting -> what its value has to be.
SETTINGS: Mapping[str, type] = {"store": str, "tracking": str, "address": str, "workers": int, "lanes": int}
# Settings whose relative values start from the file's folder.
PATHS = ("store",)


def settings(folder: Path) -> dict[str, Any]:
    """Setting -> value, of the first file that has any; none if no file has. Raises UserError."""
    for file, table in _tables(folder.absolute()):
        return {name: _checked(file, name, value) for name, value in table.items()}
    return {}


def _tables(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for directory in (folder, *folder.parents):
        if (own := directory / FILE).is_file():
            yield own, _read(own)
        if (project := directory / PROJECT).is_file():
            table = _read(project).get("tool", {}).get("folklore")
            if table is not None:
                yield project, table


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: not valid TOML ({one_line(error)}); fix it") from None


def _checked(file: Path, name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise UserError(f"{file}: {unknown('setting', name, SETTINGS)}")
    wanted = SETTINGS[name]
    if type(value) is not wanted:
        kind = {str: "text in quotes", int: "a whole number"}[wanted]
        raise UserError(f"{file}: {name} = {value!r}: must be {kind}")
    is_folder = name in PATHS and "://" not in str(value)
    return str(file.parent / str(value)) if is_folder else value
