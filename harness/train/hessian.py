"""The largest eigenvalue of a mean loss's Hessian, and its curvature along its own gradient; all lanes of a pack at once.

Lanczos's method with full reorthogonalization (Golub and Van Loan 2013, section 10.1; Paige 1972) on products of the Hessian
with vectors, which are gradients of gradients (Pearlmutter 1994): differentiating the sum of all lanes' losses twice gives each
lane its own. Everything is FP32, whatever a training computes in; small matrices of Lanczos are solved in FP64.

Memory: (m + 3) K P numbers for K lanes of P parameters after m products, the basis among them, and what two backward passes
over the examples keep.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import UserError, one_line
from ..randomness import torch_generator
from .measured_steps import MOST_PRODUCTS
from .workloads.network import PackedNetwork

# A value counts up to this |Hv - value v| over |value|, v being its eigenvector of length 1. There is an eigenvalue within
# that share of it, and the largest one lies nearer by far: its error falls as the square.
TOLERANCE = 1e-3
# Products between two looks at whether a lane has converged.
LOOK_EVERY = 5
# Length of the random vector that is added to where another look found the eigenvector, of length 1: from an eigenvector alone
# Lanczos's method would never find another one that has become larger.
ASIDE = 0.3
# A step of Lanczos this small, over the largest eigenvalue seen, has left nothing to look at but rounding.
EXHAUSTED = 1e-6

# Vectors [K, P] -> the Hessian of each lane times its vector, [K, P].
Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Sharpness:
    """value: the largest eigenvalue of each lane, [K], nan where it did not converge. residual: |Hv - value v| / |value|, [K],
    also where it did not; nan where nothing is finite. vector: its eigenvector of length 1, [K, P]; zero where there is no
    value. products: with the Hessian, until the last lane was done."""

    value: Tensor
    residual: Tensor
    vector: Tensor
    products: int


def sharpness(
    network: PackedNetwork,
    inputs: Tensor,
    targets: Tensor,
    seeds: Sequence[int],
    near_KP: Tensor | None = None,
    preconditioner_KP: Tensor | None = None,
) -> Sharpness:
    """Sharpness of the mean loss over the same examples [N, ...] for every lane, at the network's weights. A lane's first
    vector is keyed on its seed. near_KP: eigenvectors of an earlier search, zero where there are none. preconditioner_KP:
    positive numbers P; the matrix is then P^-1/2 H P^-1/2, which has the eigenvalues of P^-1 H (Cohen et al. 2022). Raises
    UserError for a module of which torch knows no second derivative."""
    generators = [torch_generator(seed, "sharpness") for seed in seeds]
    start_KP = torch.stack([torch.randn(network.flat_KP.shape[1], generator=generator) for generator in generators])
    start_KP = start_KP.to(network.flat_KP.device)
    if near_KP is not None:
        start_KP = near_KP + ASIDE * _unit(start_KP)
    with _differentiated_twice(network, "sharpness"):
        product = hessian_product(network, inputs, targets)
        if preconditioner_KP is not None:
            product = _between(product, preconditioner_KP.rsqrt())
        return largest_eigenvalue(product, start_KP)


def along_gradient(network: PackedNetwork, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """g'Hg and |g|^2, [K] each, with gradient g and Hessian H of the mean loss of each lane's own examples [K, B, ...]. Raises
    as `sharpness` does."""
    with _differentiated_twice(network, "batch_sharpness"):
        gradients = _gradients(network, inputs, targets)
        gradient_KP = network.joined(gradients).detach()
        image_KP = _product(network, gradients, gradient_KP)
        return (gradient_KP * image_KP).sum(dim=1), gradient_KP.square().sum(dim=1)


@contextmanager
def _differentiated_twice(network: PackedNetwork, measurement: str) -> Iterator[None]:
    try:
        with network.in_fp32(), _in_fp32(network.flat_KP.device), torch.enable_grad():
            yield
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
        raise UserError(
            f"measurement {measurement}: {one_line(error)}; a module has to be differentiable twice, or set it off"
        ) from None


def _between(product: Product, scale_KP: Tensor) -> Product:
    """The product with rows and columns of the matrix scaled."""
    return lambda vector_KP: scale_KP * product(scale_KP * vector_KP)


@contextmanager
def _in_fp32(device: torch.device) -> Iterator[None]:
    """Products in FP32 proper, not TF32, and attention whose backward pass has one of its own: fused kernels have none."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def hessian_product(network: PackedNetwork, inputs: Tensor, targets: Tensor) -> Product:
    """The product for examples [N, ...], as many at once as in an evaluation; if these are all, their gradient is made once."""
    lanes, chunk = network.flat_KP.shape[0], network.examples_at_once(targets)

    def gradient(part: Tensor, answers: Tensor) -> list[Tensor]:
        share = network.share(answers, targets)
        return _gradients(network, part.expand(lanes, *part.shape), answers.expand(lanes, *answers.shape), share)

    parts = list(zip(torch.split(inputs, chunk), torch.split(targets, chunk), strict=True))
    kept = gradient(*parts[0]) if len(parts) == 1 else None

    def product(vector_KP: Tensor) -> Tensor:
        total_KP = torch.zeros_like(vector_KP)
        for part in parts:
            total_KP += _product(network, kept or gradient(*part), vector_KP, again=kept is not None)
        return total_KP

    return product


def _gradients(network: PackedNetwork, inputs: Tensor, targets: Tensor, share: float | Tensor = 1.0) -> list[Tensor]:
    """Gradients of each lane's mean loss times its share, by the leaves, to be differentiated again."""
    total = network.losses(inputs, targets).sum() * share
    return list(torch.autograd.grad(total, network.leaves, create_graph=True, materialize_grads=True))


def _product(network: PackedNetwork, gradients: Sequence[Tensor], vector_KP: Tensor, again: bool = False) -> Tensor:
    """Derivatives of these gradients along a vector, [K, P]. again: whether they are differentiated once more later."""
    vectors = network.as_leaves(vector_KP)
    # The loss may be linear in some weights, or not depend on them: their gradients then depend on no weight.
    pairs = [(g, v) for g, v in zip(gradients, vectors, strict=True) if g.requires_grad]
    if not pairs:
        return torch.zeros_like(vector_KP)
    second = torch.autograd.grad(
        [g for g, _ in pairs], network.leaves, [v for _, v in pairs], retain_graph=again, materialize_grads=True
    )
    return network.joined(second)


@torch.no_grad()
def largest_eigenvalue(
    product: Product, start_KP: Tensor, tolerance: float = TOLERANCE, most: int = MOST_PRODUCTS
) -> Sharpness:
    """The largest eigenvalue of each lane's symmetric product. Results do not depend on how long neighbours take."""
    lanes, size = start_KP.shape
    most = min(most, size)
    device = start_KP.device
    value_K, residual_K = (torch.full((lanes,), float("nan"), dtype=torch.float64, device=device) for _ in range(2))
    done_K = torch.zeros(lanes, dtype=torch.bool, device=device)
    # Each lane's eigenvector along the basis.
    along_KM = torch.zeros(lanes, most, dtype=torch.float64, device=device)
    basis: list[Tensor] = [_unit(start_KP)]
    diagonal: list[Tensor] = []  # of the small matrix of Lanczos, [K] each
    beside: list[Tensor] = []
    for count in range(1, most + 1):
        with torch.enable_grad():
            image_KP = product(basis[-1])
        diagonal.append((image_KP.double() * basis[-1].double()).sum(1))
        rest_KP = _orthogonal(image_KP, basis)
        beside.append(rest_KP.double().norm(dim=1))
        if count % LOOK_EVERY == 0 or count == most:
            found_K, left_K, lost_K, spent_K, found_KM = _top(diagonal, beside)
            near_K = (left_K <= tolerance) | spent_K | (count == size)
            fresh_K = ~done_K
            kept_K = fresh_K & near_K & ~lost_K
            residual_K = torch.where(fresh_K, left_K, residual_K)
            value_K = torch.where(kept_K, found_K, value_K)
            along_KM[:, :count] = torch.where(kept_K[:, None], found_KM, along_KM[:, :count])
            done_K |= near_K | lost_K
            if done_K.all():
                break
        if count < most:
            basis.append(_unit(rest_KP))
    dtype = start_KP.dtype
    vector_KP = torch.zeros_like(start_KP)
    for place, each_KP in enumerate(basis):
        # What is not finite has no part in any vector, and zero times it would be nan.
        vector_KP += torch.where(along_KM[:, place, None] != 0, along_KM[:, place, None].to(dtype) * each_KP, 0.0)
    return Sharpness(value_K.to(dtype), residual_K.to(dtype), _unit(vector_KP), count)


def _orthogonal(vector_KP: Tensor, basis: Sequence[Tensor]) -> Tensor:
    """The part orthogonal to the basis; projected twice, because rounding leaves a remainder the first time."""
    for _ in range(2):
        for each_KP in basis:
            vector_KP = vector_KP - (vector_KP * each_KP).sum(1, keepdim=True) * each_KP
    return vector_KP


def _unit(vector_KP: Tensor) -> Tensor:
    """The vectors at length 1; a vector of length 0 stays as it is."""
    length_K1 = vector_KP.norm(dim=1, keepdim=True)
    return vector_KP / torch.where(length_K1 > 0, length_K1, 1.0)


def _top(diagonal: Sequence[Tensor], beside: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """For each lane, [K]: the largest eigenvalue of its small matrix; the residual over it; whether it is not finite; whether
    the space of its start is spent, after which the small matrix has all that can be found; and the eigenvector, [K, M]."""
    alpha_KM, beta_KM = torch.stack(list(diagonal), dim=1), torch.stack(list(beside), dim=1)
    lost_K = ~(alpha_KM.isfinite().all(1) & beta_KM.isfinite().all(1))
    alpha_KM, beta_KM = (torch.where(lost_K[:, None], 0.0, entries_KM) for entries_KM in (alpha_KM, beta_KM))
    scale_K = torch.maximum(alpha_KM.abs().amax(1), beta_KM.amax(1))
    # From the first spent step on there is only rounding: those rows stand apart, no higher than the first.
    small_KM = (beta_KM <= EXHAUSTED * scale_K[:, None]).cummax(dim=1).values
    spent_K = small_KM.any(1)
    beta_KM = torch.where(small_KM, 0.0, beta_KM)
    apart_KM = torch.cat([torch.zeros_like(small_KM[:, :1]), small_KM[:, :-1]], dim=1)
    alpha_KM = torch.where(apart_KM, alpha_KM[:, :1], alpha_KM)
    matrix_KMM = torch.diag_embed(alpha_KM)
    off_KM = beta_KM[:, :-1]
    matrix_KMM = matrix_KMM + torch.diag_embed(off_KM, offset=1) + torch.diag_embed(off_KM, offset=-1)
    values_KM, vectors_KMM = torch.linalg.eigh(matrix_KMM)
    value_K = values_KM[:, -1]
    error_K = (beta_KM[:, -1] * vectors_KMM[:, -1, -1]).abs()
    # A Hessian of zero has an eigenvalue of zero, and no error of it.
    residual_K = torch.where(error_K > 0, error_K / value_K.abs(), error_K)
    return value_K, torch.where(lost_K, float("nan"), residual_K), lost_K, spent_K, vectors_KMM[:, :, -1]
