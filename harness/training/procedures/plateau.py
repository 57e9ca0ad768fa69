"""The schedule that reads evaluations: a lane's LR drops when its validation loss stops falling."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from folklore.harness.spec import Training
from folklore.harness.training.learner import Learner
from folklore.harness.training.plateau import PlateauRule
from folklore.harness.training.procedures.base import Procedure, Wrapper


class PlateauDrops(Wrapper):
    """Multiplies the LR of all steps to come, in the lanes that follow the rule."""

    def __init__(self, inner: Procedure, lanes: Sequence[Training], learner: Learner):
        super().__init__(inner)
        self.lr_SK, self.rule = learner.lr_SK, PlateauRule(lanes, learner.lr_SK.device)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        if "evaluation_loss" in losses:
            self.lr_SK[step:] *= self.rule.drops(losses["evaluation_loss"])

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {f"plateau.{name}": value for name, value in self.rule.state.items()}
