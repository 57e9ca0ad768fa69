"""Data whose answer is known: a study's findings can be compared with it.

quadratic:D     examples z ~ N(0, I) in D dimensions; with model quadratic a noisy bowl with curvatures i / D
regression:D    inputs x ~ N(0, I) in D dimensions and targets x.w with |w| = 1, without noise
markov:S        text over S symbols from a Markov chain of order one; `entropy` is the least loss any model can have
"""

import hashlib
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError
from ....randomness import numpy_generator
from .base import DataFacts, Dataset, Split
from .examples import Examples
from .text import Text, tokenize

Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[NDArray[np.float32], NDArray[np.float32]]]
# Examples of each split; characters of the text.
SIZES: dict[Split, int] = {"train": 16384, "validation": 2048, "test": 2048}
CHARACTERS = 400_000
LARGEST = {"quadratic": 1024, "regression": 1024, "markov": 26}
# Concentration of the chain's transitions: below one, few symbols follow each.
CONCENTRATION = 0.3
FIRST_SYMBOL = ord("a")


def synthetic(kind: str, size: str) -> Dataset:
    """The dataset `kind:size`. Raises UserError for a size that is no number or too large."""
    least = 2
    if not size.isdecimal() or not least <= int(size) <= LARGEST[kind]:
        raise UserError(f"dataset {kind}:{size}: give a whole number from {least} to {LARGEST[kind]}, such as {kind}:16")
    return {"quadratic": quadratic, "regression": regression, "markov": markov}[kind](int(size))


def quadratic(size: int) -> Examples:
    def drawn(generator: np.random.Generator, count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        z = generator.standard_normal((count, size)).astype(np.float32)
        return z, np.zeros_like(z)

    return _examples(f"quadratic:{size}", size, size, drawn)


def regression(size: int) -> Examples:
    weight = np.full((size, 1), 1 / math.sqrt(size), dtype=np.float32)

    def drawn(generator: np.random.Generator, count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        x = generator.standard_normal((count, size)).astype(np.float32)
        return x, x @ weight

    return _examples(f"regression:{size}", size, 1, drawn)


def _examples(name: str, features: int, targets: int, drawn: Draw) -> Examples:
    splits = {split: drawn(numpy_generator(0, f"{name} {split}", 0), count) for split, count in SIZES.items()}
    content = hashlib.sha256(b"".join(values.tobytes() for values, _ in splits.values()))
    facts = DataFacts(hash=content.hexdigest()[:16], classes=0, features=(features,), targets=targets)
    return Examples(name=name, facts=facts, splits=dict(splits))


def transitions(symbols: int) -> Numbers:
    """The chain's probabilities, [from, to]."""
    generator = numpy_generator(0, f"markov:{symbols}", 0)
    return np.asarray(generator.dirichlet(np.full(symbols, CONCENTRATION), size=symbols))


def stationary(chain: Numbers) -> Numbers:
    """The left eigenvector of eigenvalue one, summing to one, [S]."""
    values, vectors = np.linalg.eig(chain.T)
    eigenvector = np.real(vectors[:, np.abs(values - 1).argmin()])
    return np.asarray(eigenvector / eigenvector.sum())


def entropy(symbols: int) -> float:
    """Nats a symbol, given the one before: -sum_i pi_i sum_j P_ij ln P_ij (Shannon 1948)."""
    chain = transitions(symbols)
    logs = np.log(np.where(chain > 0, chain, 1.0))
    return float(-stationary(chain) @ (chain * logs).sum(axis=1))


def markov(symbols: int) -> Text:
    generator = numpy_generator(0, f"markov:{symbols}", 1)
    cumulative = transitions(symbols).cumsum(axis=1)
    state, characters = 0, np.empty(CHARACTERS, dtype=np.uint8)
    for index, uniform in enumerate(generator.random(CHARACTERS)):
        state = min(symbols - 1, int(np.searchsorted(cumulative[state], uniform)))
        characters[index] = FIRST_SYMBOL + state
    return tokenize(f"markov:{symbols}", characters.tobytes())
