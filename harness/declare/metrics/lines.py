"""Whether settings that should be alike are: what differs between groups of arms over what differs within them."""

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ..design import in_words
from ..observed import ARM, Example, Observed, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import kept, seed_mean, settings_of


class BetweenLines(Observed):
    """The share of the variance over arms that lies between lines, groups of arms: 1 if arms of a line are alike and lines are
    not, about (lines - 1) / (arms - 1) if lines mean nothing. It is eta squared of a one-way layout (Fisher 1925), of the arms'
    means over seeds; each is trained at one point.
    """

    kind: Literal["between_lines"] = "between_lines"
    lines: Annotated[tuple[tuple[str, ...], ...], ARM] = Field(min_length=2, description="groups of arms")
    of: Literal["sharpness", "test_loss"] = Field(
        description="sharpness: the logarithm of the largest eigenvalue of the Hessian at the end of a run; or the test loss"
    )
    spread_at_least: float = Field(
        gt=0, description="the standard deviation over arms that there has to be, so that there is something to share out"
    )

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    BOUNDS: ClassVar[tuple[float, float]] = (0.0, 1.0)
    FIGURE: ClassVar[str] = "lines"
    UNIT: ClassVar[str] = "share of the variance, 0 to 1"
    EXAMPLE: ClassVar[Example] = {
        "lines": [["batch_8_cold", "batch_32_cold"], ["batch_8_hot", "batch_32_hot"]],
        "of": "test_loss",
        "spread_at_least": 0.01,
    }

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of("probe_sharpness") if self.of == "sharpness" else ()

    @model_validator(mode="after")
    def _are_groups(self) -> Self:
        arms = [arm for line in self.lines for arm in line]
        if twice := sorted({arm for arm in arms if arms.count(arm) > 1}):
            raise ValueError(f"lines hold {', '.join(twice)} twice; an arm is on one line")
        if min(map(len, self.lines)) < 1 or len(arms) == len(self.lines):
            raise ValueError("lines have an arm each at most, and nothing can differ within them; give one of them two")
        return self

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_l n_l (m_l - m)^2 / sum_a (y_a - m)^2, [R]: y_a the weighted mean over seeds of an arm, m_l of the n_l arms of a
        line, m of all. Seeds are paired: a row's weights are the same for all arms. Out of regime where the arms hardly
        differ."""
        values_RA = np.stack([self.of_arm(arm, trials, weights) for line in self.lines for arm in line], axis=1)
        total_R = values_RA.var(axis=1)
        if not np.isfinite(total_R[0]):
            raise NotEstimableError("open", f"no seed of an arm has a {in_words(self.of)}", "shorter runs or a lower LR would")
        if (spread := float(np.sqrt(total_R[0]))) < self.spread_at_least:
            raise NotEstimableError(
                "out of regime",
                f"the arms differ by {spread:.2g}, less than {self.spread_at_least:g}: there is nothing to share out",
            )
        lines = np.split(values_RA, np.cumsum([len(line) for line in self.lines])[:-1], axis=1)
        means_RA = np.concatenate([np.broadcast_to(line.mean(axis=1, keepdims=True), line.shape) for line in lines], axis=1)
        return np.asarray(1 - np.mean(np.square(values_RA - means_RA), axis=1) / total_R)

    def of_arm(self, arm: str, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean over seeds of what is shared out, [R]. Raises NotEstimableError if it was not measured."""
        factor = trials.only_factor(arm)
        if self.of == "test_loss":
            return seed_mean(trials.losses(arm, factor, "test_loss")[0], weights)
        curves = kept(arm, factor, "probe_sharpness", trials)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return seed_mean(np.log([float(curve[-1]) for curve in curves]), weights)
