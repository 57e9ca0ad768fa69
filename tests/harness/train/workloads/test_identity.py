"""A workload is identified by what it computes; another process must find the same."""

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.options import Options
from folklore.harness.plan import own_study as planning
from folklore.harness.plan.own_study import own_study
from folklore.harness.plan.prepare import prepare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.own import finding
from folklore.harness.train.workloads.own.finding import find, require_reproducible
from folklore.harness.train.workloads.own.identity import differing

SOURCE = """
    import json, random
    import torch
    from torch import nn
    from folklore.harness import OwnWorkload

    settings = json.load(open("settings.json"))
    words = "a b c d e f g h i j k l".split()

    def data(examples):
        x = torch.randn(examples, 4, generator=torch.Generator().manual_seed(examples))
        return x, (x[:, 0] > 0).long()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)
            self.register_buffer("table", torch.tensor(settings["table"]))

        def forward(self, x):
            return self.layer(settings["gain"] * x + self.table)

    training = data(50)
    loss = lambda outputs, targets: nn.functional.cross_entropy(outputs, targets, label_smoothing=settings["smoothing"])
    #MORE
    workload = OwnWorkload("a name", Net, loss, training, data(20), data(21))
"""
SETTINGS = {"gain": 1.0, "table": [1.0, 2.0, 3.0, 4.0], "smoothing": 0.0}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes a module of a name not used before, with settings beside it; its address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding.sys, "path", [*finding.sys.path])
    count = iter(range(99))

    def written(more: str = "", **settings: object) -> str:
        name = f"my_settings_{tmp_path.name.replace('-', '_')}_{next(count)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(SOURCE).replace("#MORE", more))
        (tmp_path / "settings.json").write_text(json.dumps(SETTINGS | settings))
        return f"{name}:workload"

    return written


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"gain": 30.0}, ["loss of some examples"]),
        ({"smoothing": 0.3}, ["loss of some examples"]),
        ({"table": [4.0, 3.0, 2.0, 1.0]}, ["loss of some examples", "start of table"]),
    ],
)
def test_what_stands_outside_the_sources_counts(
    settings: dict[str, object], what: list[str], write: Callable[..., str]
) -> None:
    """A settings file, or the values of a table whose size stays the same."""
    first, again, other = find(write()), find(write()), find(write(**settings))

    def but_for_names(own: finding.FoundWorkload) -> dict[str, str]:
        return {name: value for name, value in own.parts.items() if not name.startswith("source of")}

    assert but_for_names(first) == but_for_names(again)
    assert differing(but_for_names(first), but_for_names(other)) == what
    assert first.identity != other.identity


@pytest.mark.another_process
def test_another_process_finds_the_same_and_is_asked_once(
    study: Study, write: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(store=str(tmp_path / "store"))
    address = write()
    Store(options.store).check_writable()
    made = own_study(study, address, options)
    prepare(made, "smoke", options, Ledger(Store(options.store), made.name))
    remembered = json.loads(Store(options.store).read(f"own/{find(address).identity}.json"))
    assert remembered["value"]["proof"].startswith("proved against plain PyTorch: 8 steps, ")
    assert remembered["value"]["proof"].endswith("its loss is a mean over examples")
    assert "The loss of a batch is a mean over examples." in made.departures
    monkeypatch.setattr(planning, "require_reproducible", lambda own: pytest.fail("asked twice"))
    prepare(own_study(study, address, options), "smoke", options, Ledger(Store(options.store), made.name))


@pytest.mark.another_process
def test_what_another_process_finds_otherwise_is_refused(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts hash in another order there, and what is drawn without a seed is drawn again; or it fails."""
    own = find(
        write(
            "training = (training[0], training[1][torch.tensor([hash(w) % 50 for w in words] * 4 + [0, 1])]);"
            " Net.extra = torch.rand(1); settings['gain'] = float(Net.extra)"
        )
    )
    with pytest.raises(UserError, match=r"made in another process its loss of some examples, .*training data differ"):
        require_reproducible(own)
    failed = subprocess.CompletedProcess([], 1, "", "Traceback\n  ...\nfolklore.harness.errors.UserError: it raises\n")
    monkeypatch.setattr(finding.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(UserError, match=r"made in another process it fails \(folklore.harness.errors.UserError: it raises\)"):
        require_reproducible(own)


def test_seeds_that_start_alike_are_one_unless_that_is_meant(write: Callable[..., str], study: Study, tmp_path: Path) -> None:
    alike = "make = Net; Net = lambda: torch.manual_seed(0) and make()"
    with pytest.raises(
        UserError, match=r"starts alike for seeds 0 and 1.*leave torch.manual_seed .* out of it; or, .* say one_start"
    ):
        find(write(alike))
    meant = write(alike + "; OwnWorkload = __import__('functools').partial(OwnWorkload, one_start=True)")
    varied = own_study(study, meant, Options(store=str(tmp_path / "store")))
    assert any(line.startswith("All seeds start from the same weights") for line in varied.departures)


def test_copies_of_training_examples_are_said(write: Callable[..., str]) -> None:
    more = (
        "test = [*data(21)]; test[0][:3] = training[0][5:8]; data = lambda n, drawn=data: tuple(test) if n == 21 else drawn(n)"
    )
    own = find(write(more))
    assert load(own.declared.dataset).facts.contents == (
        "examples, as given: training 50, validation 20, test 21; 3 of test have the inputs of training examples"
    )
