"""The packed CNN against one written with torch.nn, lane by lane."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from folklore.models import CNN, View
from tests.models.layout import as_in_torch

CLASSES, WIDTH, DEPTH, LANES, BATCH = 5, 12, 3, 3, 2
# One channel and three, sides that are halved (also odd ones) and a side too short for it.
IMAGES = [(8, 8), (3, 8, 8), (1, 9, 11), (3, 7, 9)]


def another_bmm(x_KNI: Tensor, weight_KIO: Tensor) -> Tensor:
    """As an emulated number format would come: a product that layers do not know."""
    return x_KNI @ weight_KIO


class PlainBlock(nn.Module):
    def __init__(self, width: int, groups: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.norm1, self.norm2 = nn.GroupNorm(groups, width), nn.GroupNorm(groups, width)
        self.conv1 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv1(torch.relu(self.norm1(x)))
        return x[:, :, :: self.stride, :: self.stride] + self.conv2(torch.relu(self.norm2(inner)))


class PlainCNN(nn.Module):
    """Block 1 of 3 halves an image of at least 8 x 8."""

    def __init__(self, features: tuple[int, ...], width: int, groups: int, readout: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.image = (1, *features)[-3:]
        strides = (1, 2 if min(self.image[1:]) >= 8 else 1, 1)
        self.stem = nn.Conv2d(self.image[0], width, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList(PlainBlock(width, groups, stride) for stride in strides)
        self.final = nn.ModuleDict({"norm": nn.GroupNorm(groups, width), "readout": readout(width, CLASSES)})

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x.view(-1, *self.image))
        for block in self.blocks:
            x = block(x)
        return self.final["readout"](torch.relu(self.final["norm"](x)).mean((2, 3)))


def in_theirs(name: str) -> str:
    return name.replace(".gain", ".weight")


def plain(features: tuple[int, ...], view: View, lane: int) -> PlainCNN:
    """One lane of a view as a model of torch.nn; of 12 channels 6 is the largest divisor up to 8."""
    model = PlainCNN(features, WIDTH, 6, nn.Linear)
    model.load_state_dict({in_theirs(name): as_in_torch(name, value[lane].detach()) for name, value in view.items()})
    return model


def random_view(model: CNN, dtype: torch.dtype = torch.float32) -> View:
    """Weights of a size at which every path through a block matters."""
    generator = torch.Generator().manual_seed(0)
    draw = {p.name: torch.randn(LANES, *p.shape, generator=generator) for p in model.parameters}
    scaled = {p.name: p.initial_mean + (p.initial_std or 0.3) * draw[p.name] for p in model.parameters}
    return View({name: value.to(dtype).requires_grad_() for name, value in scaled.items()})


def examples(features: tuple[int, ...]) -> Tensor:
    return torch.randn(LANES, BATCH, *features, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("product", [torch.bmm, another_bmm])
@pytest.mark.parametrize("features", IMAGES)
def test_every_lane_is_the_plain_model(features: tuple[int, ...], product: Callable[[Tensor, Tensor], Tensor]) -> None:
    model, x = CNN(features, CLASSES, WIDTH, DEPTH), examples(features)
    view = random_view(model)
    view.product = product
    logits = model(view, x)
    assert logits.shape == (LANES, BATCH, CLASSES)
    logits.square().mean((1, 2)).sum().backward()
    for lane in range(LANES):
        theirs = plain(features, view, lane)
        expected = theirs(x[lane])
        assert torch.allclose(logits[lane], expected, atol=1e-5)
        expected.square().mean().backward()
        for name, value in view.items():
            gradient = as_in_torch(name, value.grad[lane])
            assert torch.allclose(gradient, theirs.get_parameter(in_theirs(name)).grad, atol=1e-5), name


FORMATS, SIDES = [torch.float32, torch.bfloat16, torch.float16], [(8, 8), (3, 9, 9), (3, 16, 16)]
# Each width with each format and each size of images once.


@pytest.mark.parametrize(("dtype", "error"), [(torch.bfloat16, 0.1), (torch.float16, 0.01)])
def test_narrow_formats(dtype: torch.dtype, error: float) -> None:
    """Gradients err as much as those of the plain model in that format: ReLUs flip, so no bound of its own would hold."""
    model, x = CNN((3, 8, 8), CLASSES, WIDTH, DEPTH), examples((3, 8, 8))
    view, narrow = random_view(model), random_view(model, dtype)
    expected, logits = model(view, x), model(narrow, x.to(dtype))
    assert logits.dtype == dtype
    assert torch.allclose(logits.float(), expected, atol=error)
    exact, ours = (torch.autograd.grad(y.sum(), list(v.values())) for y, v in ((expected, view), (logits, narrow)))
    for lane in range(LANES):
        theirs = plain((3, 8, 8), narrow, lane).to(dtype)
        theirs(x[lane].to(dtype)).sum().backward()
        for index, name in enumerate(view):
            assert ours[index].dtype == dtype
            gradient = theirs.get_parameter(in_theirs(name)).grad.float()
            their_error = (gradient - as_in_torch(name, exact[index][lane])).norm()
            assert (ours[index][lane].float() - exact[index][lane]).norm() <= 1.5 * their_error + 1e-3, name


def test_what_a_tap_is_shown() -> None:
    shown: dict[str, Tensor] = {}
    model = CNN((8, 9), CLASSES, WIDTH, DEPTH)
    logits = model(random_view(model), examples((8, 9)), shown.__setitem__)
    halved = (LANES, BATCH, WIDTH, 4, 5)
    assert {name: tuple(x.shape) for name, x in shown.items()} == {
        "stem": (LANES, BATCH, WIDTH, 8, 9),
        "blocks.0": (LANES, BATCH, WIDTH, 8, 9),
        "blocks.1": halved,
        "blocks.2": halved,
        "logits": (LANES, BATCH, CLASSES),
    }
    # What is shown lies on the way to the logits: a probe can ask for its gradient.
    gradients = torch.autograd.grad(logits.sum(), list(shown.values()))
    assert min(float(gradient.abs().max()) for gradient in gradients) > 0


def test_parameters_of_a_layer_lie_side_by_side() -> None:
    layers = [p.layer for p in CNN((8, 8), CLASSES, WIDTH, DEPTH).parameters]
    runs = [layer for index, layer in enumerate(layers) if index == 0 or layers[index - 1] != layer]
    assert len(runs) == len(set(runs))


@pytest.mark.parametrize("features", IMAGES)
@pytest.mark.parametrize("product", [torch.bmm, another_bmm])
def test_operations_are_counted(features: tuple[int, ...], product: Callable[[Tensor, Tensor], Tensor]) -> None:
    model = CNN(features, CLASSES, WIDTH, DEPTH)
    view = random_view(model)
    view.product = product
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(view, examples(features))
    assert counter.get_total_flops() == LANES * BATCH * model.flops_per_example


@pytest.mark.parametrize("features", [(8, 8), (3, 16, 16)])
def test_activations_are_counted(features: tuple[int, ...]) -> None:
    """Autograd keeps less than is counted, by the passing gradients, and not much less."""
    model = CNN(features, CLASSES, WIDTH, DEPTH)
    view, kept = random_view(model), dict[int, int]()
    view.product = another_bmm
    weights = {value.untyped_storage().data_ptr() for value in view.values()}

    def pack(x: Tensor) -> Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes() // 4
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        logits = model(view, examples(features))
    floats = sum(size for storage, size in kept.items() if storage not in weights)
    assert logits.requires_grad
    assert 0.6 < floats / (LANES * BATCH * model.activations_per_example) < 1.0


def test_initial_scale() -> None:
    """The stream keeps its size through 20 blocks."""
    model = CNN((3, 16, 16), CLASSES, 32, 20)
    generator = torch.Generator().manual_seed(0)
    view = View(
        {p.name: p.initial_mean + p.initial_std * torch.randn(1, *p.shape, generator=generator) for p in model.parameters}
    )
    sizes: dict[str, Tensor] = {}
    model(view, torch.randn(1, 16, 3, 16, 16, generator=generator), lambda name, x: sizes.update({name: x.square().mean()}))
    assert 1.5 < float(sizes["stem"]) < 2.5
    assert 1.0 < float(sizes["blocks.19"] / sizes["stem"]) < 1.6


def test_features_that_are_no_image() -> None:
    with pytest.raises(ValueError, match=r"features \(64,\) are not those of an image"):
        CNN((64,), CLASSES, WIDTH, DEPTH)
