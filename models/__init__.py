"""Networks whose every weight carries a lane axis, so that many trials of one shape train as one program."""

from models.gpt import GPT
from models.layers import Parameter, View

__all__ = ["GPT", "Parameter", "View"]
