"""Networks whose every weight carries a lane axis, so that many trials of one shape train as one program."""

from .closed_form import LinearModel, Quadratic
from .cnn import CNN
from .gpt import GPT
from .layers import Drop, Model, Parameter, Product, Tap, View
from .mlp import MLP
from .parametrization import Parametrization

__all__ = [
    "CNN",
    "GPT",
    "MLP",
    "Drop",
    "LinearModel",
    "Model",
    "Parameter",
    "Parametrization",
    "Product",
    "Quadratic",
    "Tap",
    "View",
]
