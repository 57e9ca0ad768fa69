"""The budgets of rooms: what counts, and that growth is found."""

from pathlib import Path

import yaml

from tests.weight import BUDGETS, excesses, weights

SOURCE = '"""A module."""\n\n\ndef f(x):\n    """Docstring."""\n    return x\n'
BARE = "def f(x):\n    return x\n"


def test_docstrings_weigh_nothing_and_definitions_count() -> None:
    (counts,) = weights({Path("harness/judge/statistics/a.py"): SOURCE}).values()
    assert counts == weights({Path("harness/judge/b.py"): BARE})["harness/judge"]
    assert counts["definitions"] == 1


def test_growth_is_found_and_so_is_a_room_without_a_budget() -> None:
    counts = weights({Path("models/a.py"): BARE, Path("new/b.py"): "x = 1\n"})
    budgets = {"models": {"definitions": 1, "nodes": counts["models"]["nodes"] - 1}}
    assert [line.partition(" more")[0] for line in excesses(counts, budgets)] == [
        f"models: {counts['models']['nodes']} nodes, 1",
        f"new: {counts['new']['nodes']} nodes, {counts['new']['nodes']}",
    ]


def test_every_wing_has_a_budget() -> None:
    budgets = yaml.safe_load(BUDGETS.read_text("utf-8"))
    wings = {f"harness/{path.name}" for path in (BUDGETS.parents[1] / "harness").iterdir() if (path / "__init__.py").exists()}
    assert wings | {"models", "reports", "studies", "tests"} <= set(budgets)
