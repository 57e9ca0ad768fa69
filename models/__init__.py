"""Networks whose every weight carries a lane axis, so that many trials of one shape train as one program."""

from folklore.models.closed_form import LinearModel, Quadratic
from folklore.models.cnn import CNN
from folklore.models.gpt import GPT
from folklore.models.keyed import keyed
from folklore.models.layers import Drop, Parameter, Product, Tap, View
from folklore.models.mlp import MLP
from folklore.models.module_itself import ModuleItself
from folklore.models.objective import ABSENT, Objective, Tree, called
from folklore.models.own_module import OwnModule
from folklore.models.parametrization import Parametrization

Model = CNN | GPT | MLP | LinearModel | OwnModule | Quadratic

__all__ = [
    "ABSENT",
    "CNN",
    "GPT",
    "MLP",
    "Drop",
    "LinearModel",
    "Model",
    "ModuleItself",
    "Objective",
    "OwnModule",
    "Parameter",
    "Parametrization",
    "Product",
    "Quadratic",
    "Tap",
    "Tree",
    "View",
    "called",
    "keyed",
]
