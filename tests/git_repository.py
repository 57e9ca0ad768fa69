"""Git repositories made for a test."""

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def written(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def committed(folder: Path, files: dict[str, str]) -> str:
    """Commit these files, beside what is there; returns the commit in twelve digits, as trials name it."""
    written(folder, files)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "as it is now")
    return git(folder, "rev-parse", "--short=12", "HEAD")
