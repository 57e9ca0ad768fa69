"""Each rule fires on a planted fault, is silent on a sound run, and says what its advice is worth."""

import json
import math
from collections.abc import Iterable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from folklore.harness import Watch
from folklore.harness.elsewhere.watch import evidence
from folklore.harness.elsewhere.watch.report import Report
from folklore.harness.elsewhere.watch.rules import RULES
from folklore.harness.plan import catalog
from tests.harness.elsewhere.watch.helpers import adamw, mlp, sgd, train


def fired(report: Report) -> set[str]:
    return {finding.rule.name for finding in report.findings}


def watched(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int, **options: object) -> Report:
    with Watch(model, optimizer, every=1) as watch:
        train(model, optimizer, steps, watch, **options)  # type: ignore[arg-type]
    return watch.report()


@pytest.fixture(scope="module")
def spoilt() -> Report:
    """The report of a run with one bad batch, at update 200."""

    def spoil(step: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (50 * x, (y + 1) % 3) if step == 200 else (x, y)

    model = mlp()
    return watched(model, torch.optim.SGD(model.parameters(), lr=0.03), 201, spoil=spoil)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [sgd, adamw])
def test_a_sound_run_is_silent(make, seed: int) -> None:  # type: ignore[no-untyped-def]
    model = mlp(seed=seed)
    report = watched(model, make(model.parameters()), 300)
    assert not report.findings
    assert report.lacking == {"loss_scale": "no loss scale, for want of scaler="}
    assert "None of the 11 rules that saw enough has fired." in str(report)


def test_a_bad_batch(spoilt: Report) -> None:
    assert fired(spoilt) == {"loss_ratio", "deviations", "spike", "norm_ratio"}
    assert {finding.first for finding in spoilt.findings} == {200}


def test_not_a_number() -> None:
    model = mlp()
    report = watched(model, sgd(model.parameters()), 10, spoil=lambda step, x, y: (x * float("nan") if step == 7 else x, y))
    assert fired(report) == {"nonfinite"}
    assert (report.findings[0].first, report.findings[0].last, report.findings[0].updates) == (7, 10, 4)
    assert report.spans["loss"].not_finite == 4
    assert report.spans["loss"].count == 6


def test_an_lr_that_is_far_too_high(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once, as the rule fires; without evidence no verdict is quoted."""
    monkeypatch.setattr(evidence, "published_verdicts", lambda study: None)
    model = mlp()
    report = watched(model, torch.optim.AdamW(model.parameters(), lr=1.0), 60)
    assert "update_large" in fired(report)
    assert len([record for record in caplog.records if "the median matrix moves by more" in record.message]) == 1
    assert "Folklore: no published verdict on finder.ratio" in report.evidence()


@pytest.mark.parametrize(("warmup", "rules"), [(1.0, {"update_small"}), (1.01, set())])
def test_an_lr_that_is_far_too_low(warmup: float, rules: set[str]) -> None:
    """Which a warmup is not."""
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with Watch(model, optimizer, every=1) as watch:
        for _ in range(30):
            optimizer.param_groups[0]["lr"] *= warmup
            train(model, optimizer, 1, watch)
    assert fired(watch.report()) == rules


def test_a_layer_that_is_stuck() -> None:
    model = mlp()
    groups = [{"params": layer.parameters(), "lr": lr} for layer, lr in ((model[0], 3e-3), (model[2], 3e-5), (model[4], 3e-3))]
    report = watched(model, torch.optim.AdamW(groups), 40)
    assert fired(report) == {"layers_differ"}
    assert report.findings[0].where == "2"


def test_gradients_that_vanish() -> None:
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Linear(16, 16), nn.Sigmoid())]
    model = nn.Sequential(nn.Linear(8, 16), *layers, nn.Linear(16, 3))
    report = watched(model, torch.optim.SGD(model.parameters(), lr=1e-3), 20)
    assert "vanishing" in fired(report)
    (finding,) = (finding for finding in report.findings if finding.rule.name == "vanishing")
    assert finding.where == "0"


def test_a_gradient_of_zero_that_is_no_convergence() -> None:
    """All weights of the last layer but one become zero, and so do the gradients of all but the last bias."""
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with Watch(model, optimizer, every=1) as watch:
        train(model, optimizer, 10, watch)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
        for _ in range(60):
            x, y = torch.randn(3000, 8), torch.arange(3000) % 3
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            watch(loss)
            optimizer.step()
            optimizer.zero_grad()
    assert "gradient_zero" in fired(watch.report())


def test_dead_units() -> None:
    model = mlp()
    with torch.no_grad():
        model[2].bias[:20] = -100.0
    report = watched(model, sgd(model.parameters()), 40)
    assert fired(report) == {"silent_units"}
    assert report.findings[0].where == "relu after 2"
    assert report.findings[0].value == pytest.approx(20 / 32, abs=0.05)


def with_losses(losses: Iterable[float]) -> Report:
    model = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with Watch(model, optimizer) as watch:
        for loss in losses:
            watch(loss)
            optimizer.step()
    return watch.report()


def test_jumps_that_are_nothing_are_minor() -> None:
    """A loss near zero that triples is a spike by the documents' rule, and no alarm."""
    report = with_losses(math.exp(-step / 20) + (0.003 if step == 250 else 0.001) for step in range(300))
    assert not report.findings
    assert any("twice the mean" in note for note in report.notes if note.startswith("minor"))


def test_losses_that_stand_still() -> None:
    """Their deviation is zero, and any rise beyond all of them."""
    report = with_losses(float(step in (250, 280)) for step in range(300))
    assert fired(report) == {"loss_ratio", "deviations", "spike"}
    json.dumps(report.to_dict())


def test_advice_says_what_it_is_worth(spoilt: Report) -> None:
    """With verdicts as they are published today; a claim without one says so."""
    quoted = spoilt.to_dict()["evidence"]
    assert {"spike.detector", "spike.once", "spike.playbook", "spike.warning"} <= set(quoted)
    text = spoilt.evidence()
    assert f"Folklore: spike.detector is {quoted['spike.detector']['verdict']}" in text
    assert "SG Detection Code" in text
    assert "SG Detection Code" not in str(spoilt)
    assert [line[:2] for line in str(spoilt).splitlines()].count("- ") == len(spoilt.findings) == 4
    json.dumps(spoilt.to_dict())


def test_every_rule_names_claims_of_the_register() -> None:
    for rule in RULES.values():
        assert rule.claims
        for claim in rule.claims:
            catalog.register().claim(claim)
