"""Runs whose truth is known, as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from folklore.harness.elsewhere.judge_runs import JudgedRuns, JudgeOptions, judge_sources
from folklore.harness.elsewhere.roles import ReadingOptions
from folklore.harness.elsewhere.run_verdict import RunVerdict
from folklore.harness.elsewhere.table import ROLES, Table


def finals(means: Mapping[str, float], runs: int, noise: float = 0.01, seed: int = 0, **columns: object) -> pd.DataFrame:
    """A row a run: arm, seed, loss about the arm's mean. columns: further ones, the same for all."""
    drawn = np.random.default_rng(seed)
    rows = [
        {"arm": arm, "seed": seed, **columns, "loss": mean + noise * drawn.standard_normal()}
        for arm, mean in means.items()
        for seed in range(runs)
    ]
    return pd.DataFrame(rows)


def curves(means: Mapping[str, float], runs: int, steps: Sequence[int], noise: float = 0.01, seed: int = 0) -> pd.DataFrame:
    """A row for each run and step: the loss falls from 1 above the arm's mean towards it."""
    drawn = np.random.default_rng(seed)
    rows = [
        {"arm": arm, "seed": seed, "step": step, "loss": mean + (steps[0] / step) + noise * drawn.standard_normal()}
        for arm, mean in means.items()
        for seed in range(runs)
        for step in steps
    ]
    return pd.DataFrame(rows)


def told(table: Table) -> dict[str, int]:
    """A table's problems, and how often each occurs."""
    return {problem.what: problem.count for problem in table.problems}


def judged(frame: pd.DataFrame, folder: Path, *claims: str, where: Sequence[str] = (), **options: object) -> JudgedRuns:
    """The runs judged through a CSV. options: of JudgeOptions, or a role with its column."""
    path = folder / "runs.csv"
    frame.to_csv(path, index=False, na_rep="nan")
    roles: Any = {role: options.pop(role) for role in ROLES if role in options}
    of_reading: Any = {option: options.pop(option) for option in ("better", "tuned", "spread", "count") if option in options}
    reading = ReadingOptions(roles, tuple(where), **of_reading)
    return judge_sources([str(path)], JudgeOptions(claims, reading=reading, **options))  # type: ignore[arg-type]


def only(frame: pd.DataFrame, folder: Path, claim: str, **options: object) -> RunVerdict:
    """The one claim, judged."""
    (verdict,) = judged(frame, folder, claim, **options).claims  # type: ignore[arg-type]
    return verdict


def numbers(judged: RunVerdict) -> list[str]:
    """Fields that two ways to the same verdict must agree on, to twelve digits."""
    values = [getattr(judged, name) for name in ("verdict", "reading", "strength", "estimate", "low", "high", "p")]
    return [f"{value:.12g}" if isinstance(value, float) else str(value) for value in values]
