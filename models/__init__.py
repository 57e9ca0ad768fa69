"""Networks whose every weight carries a lane axis, so that many trials of one shape train as one program."""

from .closed_form import LinearModel, Quadratic
from .cnn import CNN
from .gpt import GPT
from .keyed import keyed
from .layers import Drop, Parameter, Product, Tap, View
from .mlp import MLP
from .module_itself import ModuleItself
from .objective import ABSENT, Objective, Tree, called
from .own_module import OwnModule
from .parametrization import Parametrization

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
