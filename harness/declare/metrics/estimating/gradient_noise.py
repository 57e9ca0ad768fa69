"""The gradient noise scale's parts, from what probes measure (McCandlish et al. 2018, equation 2.9 and appendix A.1)."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", float, NDArray[np.float64])


def noise_parts(square: Number, variance: Number, batch: int) -> tuple[Number, Number]:
    """tr(Sigma) and |G|^2 from the squared norm of a batch's gradient and its variance.

    The squared norm is larger than that of the mean gradient by the variance; the difference can come out negative.
    """
    return variance * batch, square - variance
