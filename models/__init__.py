"""Networks whose every weight carries a lane axis, so that many trials of one shape train as one program."""

from models.closed_form import LinearModel, Quadratic
from models.cnn import CNN
from models.gpt import GPT
from models.layers import Parameter, Product, Tap, View
from models.mlp import MLP
from models.own_module import OwnModule
from models.parametrization import Parametrization

Model = CNN | GPT | MLP | LinearModel | OwnModule | Quadratic

__all__ = [
    "CNN",
    "GPT",
    "MLP",
    "LinearModel",
    "Model",
    "OwnModule",
    "Parameter",
    "Parametrization",
    "Product",
    "Quadratic",
    "Tap",
    "View",
]
