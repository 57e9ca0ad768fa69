"""Half the squared distance from one-hot targets, against plain torch: the loss, its gradient and training. Its Hessian
stands in test_hessian.py."""

import pytest
import torch
from torch import Tensor

from folklore.harness.declare import Workload
from folklore.harness.errors import UserError
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data.examples import digits
from folklore.harness.train.workloads.data.text import Text

DIGITS = digits()
MLP = Workload(model="mlp", dataset="digits", width=6, depth=2, activation="tanh", init_gain=0.5, loss="squared_error")
CNN = Workload(model="cnn", dataset="digits", width=2, depth=1, loss="squared_error")


def by_hand(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over examples of half the sum over classes, written out."""
    total = torch.zeros(())
    for row, label in zip(logits, labels.tolist(), strict=True):
        for place, value in enumerate(row):
            total = total + 0.5 * (value - (1.0 if place == label else 0.0)) ** 2
    return total / len(labels)


@pytest.mark.parametrize("workload", [MLP, CNN], ids=["mlp", "cnn"])
def test_the_loss_and_its_gradient(workload: Workload) -> None:
    network = workload_of(workload).network(DIGITS.facts, [1, 2], torch.device("cpu"), "fp32")
    features, labels = DIGITS.arrays("train")
    inputs, targets = features[:14].view(2, 7, 8, 8), labels[:14].view(2, 7)
    losses, gradient = network.gradient(inputs, targets)
    expected = torch.stack([by_hand(outputs, targets[lane]) for lane, outputs in enumerate(network.outputs(inputs))])
    assert torch.allclose(losses, expected.detach(), rtol=1e-5)
    by_autograd = torch.autograd.grad(expected.sum(), list(network.views.values()))
    assert torch.allclose(gradient, torch.cat([part.flatten(1) for part in by_autograd], dim=1), atol=1e-6)
    assert not torch.allclose(losses, network.evaluate(features[:7], labels[:7])), "the second lane sees other examples"
    assert float(network.evaluate(features[:7], labels[:7])[0]) == pytest.approx(float(losses[0]), rel=1e-5)


def test_only_the_first_examples_are_trained_on() -> None:
    few = DIGITS.limited(5)
    assert few.examples_index(0).tolist() == [0, 1, 2, 3, 4]
    assert set(few.batch_index(1, 0, 32, 0).ravel()) == {0, 1, 2, 3, 4}
    assert len(few.arrays("test")[1]) == len(DIGITS.arrays("test")[1])
    assert DIGITS.limited(None) is DIGITS
    with pytest.raises(UserError, match="training_set_size = 1080: dataset 'digits' has 1079; choose at most this many"):
        DIGITS.limited(1080)


def test_only_the_first_tokens_of_a_text_are_trained_on(text: Text) -> None:
    few, count = text.limited(100), len(text.splits["train"])
    assert few.batch_index(1, 0, 32, 16).max() < 100 - 16
    assert (few.splits["train"] == text.splits["train"][:100]).all()
    assert few.splits["test"] is text.splits["test"]
    with pytest.raises(UserError, match=f"training_set_size = {count + 1}: dataset '{text.name}' has {count} tokens"):
        text.limited(count + 1)
