"""Groups of a text's tokens whose losses are recorded as curves. Nothing here needs torch."""

from dataclasses import dataclass

from .curve import EVALUATION_STEP, Curve

# Share of a text's occurrences that the rarest tokens make up at most together, and the commonest at least.
QUARTER = 0.25


@dataclass(frozen=True)
class Group:
    """name: of its curve. of: which tokens, and whether as targets or as inputs."""

    name: str
    of: tuple[str, str]
    description: str

    @property
    def curve(self) -> Curve:
        about = f"loss on the test sample, {self.description}"
        return Curve(self.name, "nats", about, EVALUATION_STEP, setting="measurement.token_rows")


RARE = "the rarest tokens that are together at most a quarter of the training text"
COMMON = "the commonest tokens that are together at least a quarter of it"
GROUPS = (
    Group("token_loss_rare", ("rare", "targets"), f"where the next token is one of {RARE}"),
    Group("token_loss_common", ("common", "targets"), f"where the next token is one of {COMMON}"),
    Group("token_loss_after_rare", ("rare", "inputs"), f"of what comes after {RARE}"),
    Group("token_loss_after_common", ("common", "inputs"), f"of what comes after {COMMON}"),
)
