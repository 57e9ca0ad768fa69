"""`python -m tests.mutations.mutants`: plants random mutants in a copy of harness/judge and harness/train, runs the tests of
the wing against each, and lists those that none notices (a tool, no test: mutants that change nothing survive as well).

An own one: mutmut derives a module's name from its path, and `folklore` is the clone itself; cosmic-ray mutates the sources in
place and starts pytest anew for each.
"""

import argparse
import ast
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutations.faults import Fault
from tests.mutations.planting import outcomes
from tests.places import ROOT

WINGS = ("judge", "train")
SWAPPED: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult},
}


@dataclass(frozen=True)
class Mutant(Fault):
    """test: the folder of the wing's tests. Those of the mutated module come first."""

    @property
    def arguments(self) -> list[str]:
        nearest = (ROOT / self.test).rglob(f"test_{Path(self.file).stem}.py")
        return ["-m", "not slow and not gpu", *(str(path.relative_to(ROOT)) for path in nearest), self.test]


class Mutation(ast.NodeTransformer):
    """Changes the place of a module that comes at `chosen`; counts them all."""

    def __init__(self, chosen: int = -1) -> None:
        self.chosen, self.count, self.words = chosen, 0, ""

    def visit(self, node: ast.AST) -> Any:
        if (other := _mutated(node)) is None:
            return self.generic_visit(node)
        self.count += 1
        if self.count - 1 != self.chosen:
            return self.generic_visit(node)
        place = f"line {node.lineno}, column {node.col_offset + 1}"  # type: ignore[attr-defined]
        self.words = f"{place}: {ast.unparse(node)} -> {ast.unparse(other)}"
        return ast.copy_location(other, node)


def _mutated(node: ast.AST) -> ast.AST | None:
    """A node with another operator, another constant or without its call; None where it has none."""
    match node:
        case ast.Compare(ops=[operator, *others]) if type(operator) in SWAPPED:
            return ast.Compare(node.left, [SWAPPED[type(operator)](), *others], node.comparators)
        case ast.BinOp(op=operator) if type(operator) in SWAPPED:
            return ast.BinOp(node.left, SWAPPED[type(operator)](), node.right)
        case ast.BoolOp(op=operator):
            return ast.BoolOp(SWAPPED[type(operator)](), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return operand
        case ast.Constant(value=bool() as value):
            return ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            return ast.Constant(value + 1)
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
    return None


def mutants(wings: Sequence[str], count: int, seed: int) -> Iterator[Mutant]:
    """Places drawn without replacement from all of these wings."""
    sources = {path: path.read_text(encoding="utf-8") for wing in wings for path in (ROOT / "harness" / wing).rglob("*.py")}
    places = []
    for path, source in sorted(sources.items()):
        counted = Mutation()
        counted.visit(ast.parse(source))
        places += [(path, index) for index in range(counted.count)]
    for path, index in random.Random(seed).sample(places, min(count, len(places))):
        mutation = Mutation(index)
        mutated = ast.unparse(mutation.visit(ast.parse(sources[path])))
        file = path.relative_to(ROOT)
        yield Mutant(f"{file}, {mutation.words}", str(file), sources[path], mutated, f"tests/harness/{file.parts[1]}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.mutants", description=__doc__)
    parser.add_argument("--wing", action="append", choices=WINGS, help="default: all of them")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")), help="default: today's date")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no further mutant is tried (default: 60)")
    wished = parser.parse_args(arguments)
    ends, killed, survivors = time.monotonic() + 60 * wished.minutes, 0, list[str]()
    tried = outcomes(list(mutants(wished.wing or WINGS, wished.count, wished.seed)))
    for mutant, outcome in tried:
        if mutant is None and not outcome.passed:
            print(f"without a mutant these tests do not pass:\n{outcome.output}", file=sys.stderr)
            return 1
        if mutant is not None:
            killed += not outcome.passed
            survivors += [mutant.name] * outcome.passed
            print(f"{'survived' if outcome.passed else 'killed'} {mutant.name} ({outcome.seconds:.0f} s)", flush=True)
        if time.monotonic() > ends:
            tried.close()
    print("\n".join([f"\nseed {wished.seed}: {killed} killed, {len(survivors)} survived", *survivors]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
