"""Movement of an embedding's rows and losses of token groups, against loops over steps and over tokens."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from folklore.harness.declare.curves.token_groups import GROUPS
from folklore.harness.train.pack import Pack
from folklore.harness.train.probes import token_rows
from folklore.harness.train.procedures.token_rows import TokenRows, quarters
from folklore.harness.train.workloads.data.text import Text
from folklore.harness.train.workloads.network import NOT_COUNTED
from folklore.models import View
from tests.harness.train import contract
from tests.harness.train.contract import GPT, trained

STEPS, BEGIN = 50, 10
LOOKS = {"probes": 5, "evaluation_examples": 4, "final_examples": 40, "token_rows": True}
lane = partial(contract.lane, GPT, seed=3, measurement=LOOKS, steps=STEPS, batch_size=4, peak_lr=0.01, epsilon=1e-3)


def by_hand(pack: Pack, text: Text) -> dict[str, np.ndarray]:
    """Takes the steps of a pack of one lane one by one; what rows did after the first fifth, [V] each, up to the last probe."""
    table = pack.network.views["embedding.token.weight"]
    rows = table.shape[1]
    sums = {name: np.zeros(rows) for name in ("paths", "norms", "counts")}
    while not pack.done:
        step, before = pack.step, table[0].detach().clone()
        pack.advance(0)
        if BEGIN <= step < STEPS - 1:  # the last step is probed before it is made
            index = text.batch_index(pack.seeds[0], 0, 4, GPT.context)[step]
            for start in index:
                for token in text.splits["train"][start : start + GPT.context]:
                    sums["counts"][token] += 1
            sums["paths"] += (table[0].detach() - before).norm(dim=1).numpy()
            sums["norms"] += before.norm(dim=1).numpy()
    return sums


@pytest.mark.parametrize("fields", [{}, {"optimizer": "sgd", "peak_lr": 0.1}, {"micro_batches": 2}], ids=str)
def test_against_a_loop_over_steps_and_tokens(text: Text, fields: dict[str, Any]) -> None:
    pack = contract.pack(lane(**fields))
    rows = by_hand(pack, text)
    curves = pack.results()[0].curves
    there = rows["counts"] >= token_rows.LEAST
    assert there.sum() > 8
    frequency = np.log(np.bincount(text.splits["train"], minlength=len(there)))[there]
    relative = {name: values[there] for name, values in rows.items()}
    moved = relative["paths"] / (relative["norms"] / (STEPS - 1 - BEGIN))
    by_occurrence = moved / relative["counts"]
    last = {name: values[-1] for name, values in curves.items() if name.startswith("probe_token")}
    assert last["probe_token_slope"] == pytest.approx(np.polyfit(frequency, np.log(by_occurrence), 1)[0], rel=1e-3)
    length = relative["paths"] / relative["counts"]
    assert last["probe_token_length_slope"] == pytest.approx(np.polyfit(frequency, np.log(length), 1)[0], rel=1e-3)
    assert last["probe_token_step_slope"] == pytest.approx(np.polyfit(frequency, np.log(moved), 1)[0], rel=1e-3, abs=1e-4)
    rarest, commonest = (np.quantile(frequency, quantile) for quantile in (0.25, 0.75))
    for name, inside in (("rare", frequency <= rarest + 1e-9), ("common", frequency >= commonest - 1e-9)):
        expected = math.exp(np.log(by_occurrence[inside]).mean())
        assert last[f"probe_token_update_{name}"] == pytest.approx(expected, rel=1e-3)


def test_nothing_is_counted_in_the_first_fifth(text: Text) -> None:
    curves = trained(lane()).results()[0].curves
    early = [value for step, value in zip(curves["probe_step"], curves["probe_token_slope"], strict=True) if step <= BEGIN + 1]
    assert early
    assert all(map(math.isnan, early))


def test_a_row_that_nothing_moves_has_not_moved(text: Text) -> None:
    """The row of a token that no batch has held, under an optimizer without memory or decay."""
    pack = trained(lane(optimizer="sgd", momentum=0.0, weight_decay=0.0, batch_size=2))
    assert isinstance(pack.procedure, TokenRows)
    idle = pack.procedure.counts_KV == 0
    assert ((pack.procedure.paths_KV == 0) | ~idle).all()
    assert (pack.procedure.paths_KV > 0).any()
    assert float(pack.procedure.counts_KV.sum()) == (STEPS - BEGIN) * 2 * GPT.context


def test_losses_of_groups_against_a_loop(text: Text) -> None:
    pack = trained(lane(), lane(seed=4, peak_lr=0.02))
    inputs, targets = pack.procedure.sample("test", 40)
    view = View(pack.network.views)
    expanded = inputs.expand(2, *inputs.shape)
    with torch.no_grad():
        logits = pack.network.model(view, expanded)
    losses = F.cross_entropy(logits.flatten(0, -2), targets.expand(2, *targets.shape).flatten(), reduction="none")
    losses = losses.view(2, *targets.shape)
    members = quarters(np.bincount(text.splits["train"], minlength=text.facts.classes))
    for group in GROUPS:
        which, role = group.of
        chosen = members[which][inputs if role == "inputs" else targets]
        assert 0 < chosen.sum() < targets.numel()
        for index, result in enumerate(pack.results()):
            assert result.curves[group.name][-1] == pytest.approx(float(losses[index][chosen].mean()), rel=1e-5)
            assert len(result.curves[group.name]) == len(result.curves["evaluation_step"]) == 2


def test_quarters() -> None:
    rare, common = quarters(np.array([40, 5, 0, 10, 30, 15])).values()
    assert rare.tolist() == [False, True, True, True, False, False]
    assert common.tolist() == [True, False, False, False, False, False]
    flat = quarters(np.full(8, 7))
    assert [int(chosen.sum()) for chosen in flat.values()] == [2, 2]
    assert not (flat["rare"] & flat["common"]).any()


def test_a_sample_without_such_tokens_has_no_loss(text: Text) -> None:
    pack = contract.pack(lane())
    inputs, targets = pack.procedure.sample("test", 4)
    assert pack.network.evaluate(inputs, torch.full_like(targets, NOT_COUNTED)).isnan().all()
