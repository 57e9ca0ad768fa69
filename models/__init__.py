"""Networks whose every weight carries a lane axis, so that many trials of one shape train as one program."""

from models.gpt import GPT
from models.layers import Parameter, Taps, View
from models.mlp import MLP
from models.parametrization import Parametrization

Model = GPT | MLP

__all__ = ["GPT", "MLP", "Model", "Parameter", "Parametrization", "Taps", "View"]
