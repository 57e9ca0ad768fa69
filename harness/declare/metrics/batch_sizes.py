"""How many steps a loss costs at a batch size."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..design import in_words
from ..observed import ArmName, Example, FactorName, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.fits import Flags
from .estimating.weighted import at_the_edge, evaluation_curves, mean, seed_mean, tuned_index

Anchor = Annotated[ArmName, Field(description="the arm that sets the target")]
ShareOfFall = Annotated[float, Field(gt=0, lt=1, description="share of the anchor's fall in loss that the target lies at")]


@dataclass(frozen=True)
class Target:
    """A validation loss that runs are trained to: that at which `anchor` has made `share` of its fall (StepsToTarget)."""

    anchor: str
    share: float
    over: str

    def _target(self, trials: Trials) -> float:
        """The validation loss in nats at which the anchor has made its share of the loss reduction. Fixed over resamples."""
        anchor, over = self.anchor, self.over
        best = tuned_index(anchor, over, trials)
        start = float(trials.values(anchor, over, "initial_loss")[best].mean())
        end = float(evaluation_curves(anchor, over, trials)[best, :, -1].mean())
        return start - self.share * (start - end)

    def _log_steps(self, arm: str, trials: Trials) -> tuple[Numbers, Flags]:
        """ln of the steps to the target [G, S], and which runs did not get there: theirs is ln of their last step."""
        target, over = self._target(trials), self.over
        losses = evaluation_curves(arm, over, trials)
        initial = trials.values(arm, over, "initial_loss").astype(np.float64)
        steps = np.asarray(trials.values(arm, over, "curve_evaluation_step")[0, 0], dtype=np.float64)
        before = np.concatenate([initial[..., None], losses[..., :-1]], axis=2)
        reached = losses <= target
        first = reached.argmax(axis=2)
        after = np.take_along_axis(losses, first[..., None], axis=2)[..., 0]
        prior = np.take_along_axis(before, first[..., None], axis=2)[..., 0]
        begin = np.concatenate([[0.0], steps[:-1]])[first]
        fall = np.where(prior > after, prior - after, 1.0)
        passed = begin + (steps[first] - begin) * np.clip((prior - target) / fall, 0.0, 1.0)
        censored = np.logical_not(reached.any(axis=2))
        return np.log(np.where(censored, steps[-1], np.maximum(passed, 1.0))), censored

    def tuned_log_steps(self, arm: str, trials: Trials, weights: Numbers) -> tuple[Numbers, Flags]:
        """ln of each seed's steps at the LR that needs fewest on the other seeds, [R, S]: choosing and judging stay apart. A
        seed that has all of the weight has no others, and chooses by itself."""
        steps_GS, censored_GS = self._log_steps(arm, trials)
        best = int(mean(steps_GS, weights[:1])[0].argmin())
        grid = trials.grid(arm, self.over)
        # Where no run gets there, no LR is better than another; where there is one, there is nothing to choose.
        if len(grid) > 1 and best in (0, len(grid) - 1) and not censored_GS.all():
            raise NotEstimableError(
                "open",
                f"the {in_words(self.over)} at which {trials.arm_name(arm)} reaches the target soonest, {grid[best]:.3g},"
                f" {at_the_edge(best)}",
            )
        total_RG = weights @ steps_GS.T
        others_RGS = total_RG[:, :, None] - weights[:, None, :] * steps_GS[None]
        alone_RS = weights == weights.sum(axis=1, keepdims=True)
        choice_RS = np.where(alone_RS[:, None], total_RG[:, :, None], others_RGS).argmin(axis=1)
        seed = np.arange(steps_GS.shape[1])
        return steps_GS[choice_RS, seed], censored_GS[choice_RS, seed]


class StepsToTarget(Observed):
    """Geometric mean over seeds of the steps to the target loss. Not estimable if runs are censored.

    The target is the validation loss at which `anchor` at its tuned LR has made `share` of its mean fall over the run.

    Steps are read off each run's validation curve, interpolated; a run that does not get there is censored at its last
    step. Each seed runs at the LR that needs fewest steps on the other seeds."""

    kind: Literal["steps_to_target"] = "steps_to_target"
    arm: ObservedArm
    anchor: Anchor
    share: ShareOfFall
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "fit"
    UNIT: ClassVar[str] = "steps"
    EXAMPLE: ClassVar[Example] = {"arm": "batch_32", "anchor": "batch_8", "share": 0.8}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln(steps), [R]. Not estimable if a run does not get there: nothing is made up for it."""
        steps, censored = Target(self.anchor, self.share, self.over).tuned_log_steps(self.arm, trials, weights)
        if censored[0].any():
            raise _out_of_reach(self.arm, trials, int(censored[0].sum()))
        return np.asarray(np.exp(seed_mean(np.where(censored, np.nan, steps), weights)))


def _out_of_reach(arm: str, trials: Trials, count: int) -> NotEstimableError:
    subject = f"{count} runs of {trials.arm_name(arm)} do" if count > 1 else f"a run of {trials.arm_name(arm)} does"
    return NotEstimableError("open", f"{subject} not reach the target loss", "longer training would settle it")
