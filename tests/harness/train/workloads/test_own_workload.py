"""`--workload MODULE:ATTRIBUTE`: what is taken, and everything else refused in one line. The README's: test_user_project.py."""

import importlib
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from typer.testing import CliRunner

from folklore.harness import OwnWorkload, columns
from folklore.harness.declare import Study, Workload, arms_of
from folklore.harness.declare.metrics import RelativeGap, TunedLoss, Unmeasured
from folklore.harness.declare.observed import KINDS
from folklore.harness.declare.own_address import OwnAddress
from folklore.harness.declare.parts import relative_to_losses
from folklore.harness.errors import TooLargeError, UserCodeError, UserError
from folklore.harness.launch.training_job import TrainingJob
from folklore.harness.options import Options
from folklore.harness.plan import catalog
from folklore.harness.plan.lanes import Choice
from folklore.harness.plan.own_study import own_study
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.prepare import prepare
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.workloads import data
from folklore.harness.train.workloads.own.finding import find, find_again, require_reproducible
from folklore.harness.train.workloads.own.identity import identity_of, parts
from folklore.harness.use.cli import app
from folklore.studies.kit import compare
from tests.command_line import folklore
from tests.harness.helpers import changed, result, rows
from tests.places import ROOT

README = ROOT / "README.md"
CLI = CliRunner()
# A module that is fine, whose parts the cases below replace.
PLAIN = """
    import torch
    from torch import nn
    from folklore.harness import OwnWorkload

    def data(examples):
        x = torch.randn(examples, 4, generator=torch.Generator().manual_seed(examples))
        return x, (x[:, 0] > 0).long()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x):
            return self.layer(x)

    module, loss, training, validation, test = Net, nn.functional.cross_entropy, data(50), data(20), data(21)
    more = {}
    #MORE
    workload = OwnWorkload("a name", module, loss, training, validation, test, **more)
"""


BROKEN_FACTORY = """
    def module():
        return {}[1]
"""
BROKEN_FORWARD = """
    class module(Net):
        def forward(self, x):
            return {}[1]
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Writes my_module.py, with further lines, where the command is run; it is imported again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def written(more: str = "") -> None:
        (tmp_path / "my_module.py").write_text(textwrap.dedent(PLAIN).replace("#MORE", textwrap.dedent(more)))
        forget()

    def forget() -> None:
        sys.modules.pop("my_module", None)
        importlib.invalidate_caches()
        find.cache_clear()

    yield written
    forget()


def refused(message: str, *arguments: str, study: str = "warmup") -> None:
    run = CLI.invoke(app, ["plan", study, "--scale", "smoke", *arguments])
    assert run.exit_code == 2, run.output
    assert message in " ".join(run.stderr.split())
    assert "Traceback" not in run.output
    assert len(run.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("my_module", "write it as MODULE:ATTRIBUTE"),
        ("my_module:", "write it as MODULE:ATTRIBUTE"),
        ("../x:workload", "write it as MODULE:ATTRIBUTE"),
        ("no_such_module:workload", "there is no module 'no_such_module'"),
        ("my_module.further:workload", "there is no module 'my_module.further'"),
        ("my_module:workloda", "did you mean 'workload'?"),
        ("my_module:Net", "must be a folklore.harness.OwnWorkload"),
    ],
)
def test_a_wrong_address(address: str, message: str, write: Callable[..., None]) -> None:
    write()
    refused(message, "--workload", address)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("import no_such_library", "needs 'no_such_library', which is not installed"),
        ("1 / 0", "importing my_module raises ZeroDivisionError (division by zero) in my_module.py, line 20; fix it"),
        ("1 +", "importing my_module raises SyntaxError (invalid syntax) in my_module.py, line 20; fix it"),
        ("torch.empty(2**50)", "this machine's memory does not hold what my_module.py, line 20 builds"),
        ("raise MemoryError", "this machine's memory does not hold what my_module.py, line 20 builds"),
        ("module = 3", "module is a int: give a function"),
        ("loss = 3", "loss is a int: give a function of outputs and targets, or None"),
        ("loss = None", "the loss is a tensor [6, 2]: must be one number, or one for each"),
        ("more['counts'] = 3", "counts is a int: give a function of inputs and targets"),
        ("training = (*training, 3)", "training has 3 parts: must be two, (inputs, targets), or one dict"),
        ("training = (training[0], 'ab')", "training hold a str; give tensors, NumPy arrays, or tuples or dicts of them"),
        ("training = (training[0].to_sparse(), training[1])", "training hold a tensor of layout sparse_coo; give tensors"),
        ("training = iter(range(3))", "training is a range_iterator: give a pair"),
        ("training = torch.utils.data.TensorDataset(*training)", "an example of validation is"),
        ("validation = (validation[0], validation[1][:-1])", "validation has 20 inputs and 19 targets: must be as many"),
        (
            "validation = (validation[0][:, :3], validation[1])",
            "an example of validation is inputs torch.float32 [3], targets torch.int64 [] and of training inputs torch.float32",
        ),
        ("test = (test[0], test[1].float())", "an example of test is inputs torch.float32 [4], targets torch.float32 []"),
        ("test = (test[0][:0], test[1][:0])", "test inputs hold no example"),
        ("module = nn.ReLU", "the module has no trainable parameters"),
        ("module = lambda: 3", "module() gives a int: must give an nn.Module"),
        (BROKEN_FACTORY, "module() raises KeyError (1) in my_module.py, line 22; fix it"),
        (BROKEN_FORWARD, "it fails on 6 training examples (KeyError: 1) in my_module.py, line 23"),
        ("module = lambda: nn.Linear(5, 2)", "it fails on 6 training examples"),
        ("module = lambda: nn.RNN(4, 2)", "it fails on 6 training examples (cross_entropy_loss(): argument 'input'"),
        ("count = iter(range(99)); module = lambda: nn.Linear(4, next(count) % 2 + 2)", "starts differently for the same seed"),
        ("loss = lambda outputs, targets: 0.0", "the loss is a float: must be one number"),
        ("loss = lambda outputs, targets: outputs.sum() / 0", "the loss at its start is"),
        ("more['loss_name'] = ''", "loss_name = '': must be a printable text of 1 to 64 characters"),
        ("more['loss_unit'] = 'a' * 65", "loss_unit = 'aaaa"),
        ("more['loss_unit'] = 'a' + chr(10)", "must be a printable text of 0 to 64 characters"),
        ("more['loss_may_be_negative'] = 1", "loss_may_be_negative = 1: must be True or False"),
    ],
)
def test_a_wrong_workload(more: str, message: str, write: Callable[..., None]) -> None:
    write(more)
    refused(message, "--workload", "my_module:workload")


@pytest.mark.parametrize(
    ("arguments", "study", "message"),
    [
        (("--data", "python-docs=digits"), "warmup", "an own workload brings its data along"),
        (("--program", "compiled"), "warmup", "own workloads run eagerly"),
        ((), "mup_transfer", "nothing would be left ('mup.sp_shifts': it compares models, and there is one)"),
        ((), "memory", "nothing would be left ('mem.accumulation': it is computed, of no workload)"),
        ((), "embedding_lr", "arm 'plain' is not trained: token_rows: model 'own' is not known to have an embedding"),
    ],
)
def test_a_wish_it_cannot_fulfil(arguments: tuple[str, ...], study: str, message: str, write: Callable[..., None]) -> None:
    write()
    refused(message, *arguments, "--workload", "my_module:workload", study=study)


def varied(study: Study) -> Study:
    return own_study(study, "my_module:workload", Options())


def with_first_criterion(study: Study, **changed: object) -> Study:
    first, *rest = study.judgements
    criteria = (first.criteria[0].model_copy(update=changed), *first.criteria[1:])
    return study.model_copy(update={"judgements": (first.model_copy(update={"criteria": criteria}), *rest)})


def digests(study: Study) -> frozenset[str]:
    return make_plan(study, "smoke", "cpu", "data").digests


def test_a_variation_is_a_study_of_its_own(study: Study, write: Callable[..., None]) -> None:
    write()
    other = varied(study)
    assert re.fullmatch(r"toy_own_[0-9a-f]{8}", other.name)
    assert other.variation_of == "toy"
    assert "(my_module:workload) in place of gpt on python-docs, width 8, depth 1, context 8" in other.departures[0]
    assert other.judgements == study.judgements
    assert other.hash != study.hash
    assert not digests(other) & digests(study)


GAUSSIAN = 'more = dict(loss_name="negative log density", loss_unit="bits", loss_may_be_negative=True)'


def test_it_names_its_loss(write: Callable[..., None]) -> None:
    """The words are the pages' and thresholds' alone: trials and their digests are those of the workload."""
    write()
    plain = varied(catalog.load_study("warmup"))
    assert plain.loss_label("test", "laptop", plain.arms) == "test loss (nats)"
    own = find("my_module:workload")
    worded = replace(own.workload, loss_name="energy", loss_unit="bits", loss_may_be_negative=True)
    assert identity_of(own.address, parts(own.address, worded)) == own.identity
    write(GAUSSIAN)
    bits = varied(with_first_criterion(catalog.load_study("warmup"), unit="nats"))
    assert bits.loss_label("test", "laptop", bits.arms) == "test negative log density (bits)"
    assert {"nats", "bits"} & {criterion.unit for judgement in bits.judgements for criterion in judgement.criteria} == {"bits"}
    assert "thresholds that the study declares in nats are taken for as many of these" in bits.departures[2]
    units = columns(bits)["unit"]
    assert (units["test_loss"], units["curve_probe_gradient_variance"], units["seconds"]) == ("bits", "bits^2", "s")


def test_a_loss_that_may_be_negative_is_judged_by_differences(write: Callable[..., None]) -> None:
    write(GAUSSIAN)
    gap = RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="warmup_20%"))
    whole = with_first_criterion(catalog.load_study("warmup"), observe=gap, margin=None, expected=None)
    other = varied(whole)
    assert "Its loss may be negative, and shares of it mean nothing: out of regime is warmup.widens." in other.departures
    for judgement, before in zip(other.judgements, whole.judgements, strict=True):
        for criterion, was in zip(
            (*judgement.criteria, *judgement.reported), (*before.criteria, *before.reported), strict=True
        ):
            if any(relative_to_losses(was.observe)):
                assert isinstance(criterion.observe, Unmeasured), criterion.name
                assert "'a name' may be negative" in criterion.observe.reason
            else:
                assert criterion.observe == was.observe
    kinds = {type(criterion.observe) for judgement in other.judgements for criterion in judgement.criteria}
    assert {Unmeasured, KINDS["cure_rate"]} <= kinds


# Arms of plateaus that are about the size of a model here.
OF_A_SIZE = "narrow_"


def test_arms_named_after_models_keep_their_recipes(write: Callable[..., None]) -> None:
    write()
    whole = catalog.load_study("plateaus")
    other = varied(whole)
    assert "in place of mlp on digits: this is" in other.departures[0]
    assert "named after models stand for those models' recipes" in other.departures[0]
    for scale in ("smoke", "laptop"):
        before, after = (make_plan(study, scale, "cpu", "data").trials for study in (whole, other))
        assert {trial.configuration.workload for trial in after} == {other.workload}
        kept = [trial.configuration.training for trial in before if not trial.arm.startswith(OF_A_SIZE)]
        assert [trial.configuration.training for trial in after] == kept


def test_no_arm_is_called_by_a_model_that_is_not_there(write: Callable[..., None]) -> None:
    """Each is the recipe of that model on one's own."""
    write()
    whole = catalog.load_study("plateaus")
    other = varied(whole)
    kept = {name: arm for name, arm in whole.arms.items() if not name.startswith(OF_A_SIZE)}
    assert [*other.arms] == [f"recipe_of_{name}" for name in kept]
    assert {arm.panel for arm in other.arms.values()} == {f"a name, recipe of: {arm.panel}" for arm in kept.values()}
    judged = {judgement.claim: judgement for judgement in other.judgements}
    assert {judgement.claim for judgement in whole.judgements} - judged.keys() == {"decay.plateau_rule"}
    computed = varied(catalog.load_study("decay")).departures
    assert "Not judged: decay.half_way (it is computed, of no workload)." in computed
    assert any(line.startswith("Not judged: decay.plateau_rule (arm 'narrow_stay' is not trained") for line in other.departures)
    for before in (judgement for judgement in whole.judgements if judgement.claim in judged):
        after = judged[before.claim]
        for one, another in zip((*before.criteria, *before.reported), (*after.criteria, *after.reported), strict=True):
            assert another.name == f"{one.name} (its recipe on a name)"
            assert arms_of(another.observe) == {f"recipe_of_{name}" for name in arms_of(one.observe)}
    assert [*varied(catalog.load_study("warmup")).arms] == [*catalog.load_study("warmup").arms], "these name no model"


def test_a_plan_times_a_step(study: Study, write: Callable[..., None], tmp_path: Path) -> None:
    """No rate knows what a module does beside its operations: this one sleeps."""
    write("""
        import time

        class Slow(Net):
            def forward(self, x):
                time.sleep(0.05)
                return super().forward(x)

        module = Slow
    """)
    (tmp_path / "toy.json").write_text(study.canonical_json())
    plan = ["plan", "toy.json", "--workload", "my_module:workload", "--scale", "laptop", "--workers", "1", "--lanes", "1"]
    facts = json.loads(CLI.invoke(app, [*plan, "--store", "s", "--json"]).stdout)
    assert facts["time_from"] == "one step timed"
    assert facts["seconds"] >= facts["trials"] * 10 * 0.05
    assert facts["recipe"]["model"] == "own module my_module:workload"
    assert not (tmp_path / "s").exists(), "planning writes nothing"


def test_what_is_stored_goes_before_a_step(study: Study, write: Callable[..., None], tmp_path: Path) -> None:
    write()
    other, store = varied(study), Store(str(tmp_path / "s"))
    plan = make_plan(other, "laptop", "cpu", data.load(other.workload.dataset).facts.hash)
    Ledger(store, other.name).write("x", rows(other, plan.trials[:20], lambda _: result(2.0)))
    declare(store, other, "laptop", 0)
    asked = ["plan", other.name, "--scale", "laptop", "--json", "--store", store.uri]
    facts = json.loads(CLI.invoke(app, asked).stdout)
    assert (facts["trials_left"], facts["time_from"]) == (30, "measured on this store")


def test_a_factor_of_the_model_is_refused(study: Study, write: Callable[..., None]) -> None:
    write()
    wide = changed(study, factors={**study.factors, "width": (8, 16)}, judgements=())
    with pytest.raises(UserError, match="a factor varies width, which only the models here have"):
        varied(wide)


@pytest.mark.parametrize(
    ("more", "same"),
    [
        ("# a comment", True),
        ("unused = 1", False),
        ("module = lambda: nn.Sequential(Net(), nn.Dropout(0.1))", False),
        ("training = data(51)", False),
        ("training[0][0, 0] += 1e-3", False),
    ],
)
def test_a_change_makes_other_trials(more: str, same: bool, study: Study, write: Callable[..., None]) -> None:
    write()
    before, own = varied(study), find("my_module:workload")
    write(more)
    assert (digests(varied(study)) == digests(before)) == same
    if same:
        find_again(own.planned)
    else:
        with pytest.raises(UserError, match="it was changed, or this node has another copy"):
            find_again(own.planned)


def test_a_file_of_the_users_never_stands_in_for_a_library(write: Callable[..., None], tmp_path: Path) -> None:
    write()
    (tmp_path / "reports.py").write_text("workload = 1")
    refused("reports/__init__.py) named 'workload': known: none", "--workload", "reports:workload")


def test_files_called_as_pythons_modules_do_not_reach_another_process(write: Callable[..., None], tmp_path: Path) -> None:
    """Here they come last on the way; the process that finds the workload again must not begin with them."""
    write()
    for name in ("queue", "random", "types", "statistics", "json", "enum", "torch"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('in place of a library')")
    require_reproducible(find("my_module:workload"))


def test_its_text_leads_back_to_it() -> None:
    address = Workload(model="own", dataset="own:a.b:c@0123456789abcdef").own
    assert address == OwnAddress("a.b", "c", "0123456789abcdef")
    assert (str(address), address.place) == ("own:a.b:c@0123456789abcdef", "a.b:c")
    assert Workload(dataset="text:own:a.b:c").own is None
    with pytest.raises(ValidationError, match="dataset = digits: with model = own it is own:MODULE:ATTRIBUTE@IDENTITY"):
        Workload(model="own", dataset="digits")


def test_the_workload_is_checked_when_it_is_made() -> None:
    pair = (torch.zeros(3, 2), torch.zeros(3))
    with pytest.raises(UserError, match="name = ''"):
        OwnWorkload("", torch.nn.Flatten, torch.nn.functional.mse_loss, pair, pair, pair)


@pytest.mark.slow
def test_a_module_that_cannot_be_packed_trains_and_says_why(study: Study, write: Callable[..., None], tmp_path: Path) -> None:
    write("module = lambda: nn.Sequential(nn.BatchNorm1d(4), Net())")
    (tmp_path / "toy.json").write_text(study.canonical_json())
    run = ("run", "toy.json", "--workload", "my_module:workload", "--scale", "smoke", "--lanes", "8", "--store", "s")
    done = folklore(*run, folder=tmp_path)
    reason = "it changes 0.running_mean, 0.running_var, 0.num_batches_tracked as it trains"
    assert f"one trial a pack: {reason}" in " ".join(done.stdout.split())
    _, page = sorted((tmp_path / "s/pages").glob("toy_own_*.html"))
    trials = Ledger(Store(str(tmp_path / "s")), page.stem).trials()
    assert set(trials["width_source"]) == {f"alone: {reason}"}
    assert set(trials["lanes"]) == {1}


# Fine on the examples that a module is tried on; trained on seven it fails.
RAISES_IN_TRAINING = """
    def loss(outputs, targets):
        if len(outputs) == 7:
            raise LookupError("seven of them")
        return nn.functional.cross_entropy(outputs, targets)
"""


# A plan times two steps: what comes later is met by a worker.
RAISES_LATER = """
    calls = []

    def loss(outputs, targets):
        calls.extend([1] * (len(outputs) == 7))
        if len(calls) > 5:
            raise LookupError("seven of them")
        return nn.functional.cross_entropy(outputs, targets)
"""


def of_seven(study: Study) -> Study:
    """With batches of seven examples."""
    return changed(study, {"training.batch_size": 7})


def own_job(study: Study, store: Path) -> TrainingJob:
    """The first pack of a variation."""
    variation = varied(of_seven(study))
    plan = make_plan(variation, "smoke", "cpu", data.describe(variation.workload.dataset).hash)
    choice = Choice(1, "eager", "given")
    return TrainingJob(variation, "smoke", "cpu", variation.workload.dataset, str(store), plan.packs[0], choice)


BY_USER = r"workload 'my_module:workload' raises LookupError \(seven of them\) in my_module\.py, line 23: fix it"


@pytest.mark.parametrize(
    ("more", "kinds", "message"),
    [
        (RAISES_IN_TRAINING, UserCodeError, BY_USER),
        # What may go away is not blamed on the user: a pack is tried again after it, or in halves.
        *(
            (RAISES_IN_TRAINING.replace("LookupError", passing), (OSError, TooLargeError), "seven of them")
            for passing in ("OSError", "MemoryError", "torch.OutOfMemoryError")
        ),
        # A class that the module has no output for: no line of the user's own is on the error's way.
        ("validation[1][:] = 7", UserCodeError, r"raises IndexError \(Target 7 is out of bounds\.\): fix it"),
    ],
)
def test_what_is_raised_in_training_names_its_line(
    more: str, kinds: Any, message: str, study: Study, write: Callable[..., None], tmp_path: Path
) -> None:
    write(more)
    work = own_job(study, tmp_path / "s").open()
    with pytest.raises(kinds, match=message):
        work.advance(60.0)


def test_what_the_timed_step_of_a_plan_raises_names_its_line(study: Study, write: Callable[..., None], tmp_path: Path) -> None:
    write(RAISES_IN_TRAINING)
    (tmp_path / "toy.json").write_text(of_seven(study).canonical_json())
    refused("raises LookupError (seven of them) in my_module.py, line 23", "--workload", "my_module:workload", study="toy.json")


@pytest.mark.slow
def test_what_is_raised_in_training_ends_the_run_once(study: Study, write: Callable[..., None], tmp_path: Path) -> None:
    write(RAISES_LATER)
    (tmp_path / "toy.json").write_text(of_seven(study).canonical_json())
    run = ("run", "toy.json", "--workload", "my_module:workload", "--lanes", "2", "--store", "s")
    done = folklore(*run, folder=tmp_path, code=1)
    lines = [line for line in done.stderr.splitlines() if "seven of them" in line]
    line = "error: workload 'my_module:workload' raises LookupError (seven of them) in my_module.py, line 26: fix it"
    assert lines == [line], done.stderr
    assert "Traceback" not in done.stderr


COUNTING = """
    class Net(nn.Module):
        {kept}

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)
            {own}

        def forward(self, x):
            {owner}.calls += self.training
            return self.layer(x) / (1 + {owner}.calls)

    module = Net
"""
DRAWN = """
    def module():
        net = Net()
        net.layer.bias.data += {draw}
        return net
"""
DRAWING = "loss = lambda x, y: nn.functional.cross_entropy(x * (1 + {draw} / 1e8), y)"
# What is wrong, what its line says, and what one has done after following it.
WAYS_OUT = {
    "a module in place of a function": (
        "module = Net()", "module is a Net: give a function that makes the module", "module = Net"
    ),
    "double precision": (
        "module = lambda: Net().double()",
        "parameter layer.weight is torch.float64: must be float32; call .float() in the module's factory",
        "module = lambda: Net().double().float()",
    ),
    "no gradient": (
        "loss = lambda outputs, targets: nn.functional.cross_entropy(outputs.detach(), targets)",
        "its loss has no gradient at its start: must depend on the parameters, and not be detached",
        "loss = lambda outputs, targets: nn.functional.cross_entropy(outputs, targets)",
    ),
    "a matrix of losses": (
        "loss = lambda outputs, targets: (outputs - nn.functional.one_hot(targets, 2)).square()",
        "the loss is a tensor [6, 2]: must be one number, or one for each of the 6 examples",
        "loss = lambda outputs, targets: (outputs - nn.functional.one_hot(targets, 2)).square().mean(1)",
    ),
    "values that are not finite": (
        "training[0][3, 1] = torch.nan",
        "training inputs hold values that are not finite: remove or replace them",
        "training[0][3, 1] = torch.nan; training[0].nan_to_num_()",
    ),
    "a tensor alone": (
        "training = training[0]",
        "training is one Tensor: give a pair (inputs, targets), a dict of tensors, or a Dataset",
        "training = (training[0], training[1])",
    ),
    "a stream": (
        "training = validation = test = type('Stream', (torch.utils.data.IterableDataset,), {'__iter__': iter})()",
        "or a Dataset or DataLoader whose dataset has __len__ and __getitem__",
        "training = validation = test = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data(20)))",
    ),
    "examples of unlike lengths": (
        "training = validation = test = torch.utils.data.StackDataset([torch.ones(2), torch.ones(3)] * 9, [0, 1] * 9)",
        "give a DataLoader whose collate_fn does",
        """
    def pad(items):
        first = [nn.functional.pad(x, (0, 4 - len(x))) for x, _ in items]
        return torch.stack(first), torch.tensor([y for _, y in items])

    sequences = torch.utils.data.StackDataset([torch.ones(2), torch.ones(3)] * 9, [0, 1] * 9)
    training = validation = test = torch.utils.data.DataLoader(sequences, collate_fn=pad)
        """,
    ),
    "one start": (
        "module = lambda: torch.manual_seed(0) and Net()", "say one_start=True",
        "module = lambda: torch.manual_seed(0) and Net(); more['one_start'] = True",
    ),
    "another start each time": (
        DRAWN.format(draw="__import__('secrets').randbelow(10**6)"),
        "draw it by the generators of torch, random or numpy.random",
        DRAWN.format(draw="__import__('random').randrange(10**6)"),
    ),
    "a loss that draws what no seed is set for": (
        DRAWING.format(draw="__import__('secrets').randbelow(10**9)"),
        "draw by the generators of torch, random or numpy.random that seeds are set for",
        DRAWING.format(draw="__import__('random').randrange(10**9)"),
    ),
    "a counter of the class": (
        COUNTING.format(kept="calls = 0", own="", owner="type(self)"),
        "keep what changes in training in the module itself",
        COUNTING.format(kept="", own="self.calls = 0", owner="self"),
    ),
    "a script that ends": (
        "import sys; sys.exit(3)", "under if __name__ == '__main__'", "if __name__ == '__main__': import sys; sys.exit(3)"
    ),
    "an optimizer that is there": (
        "more['optimizer'] = torch.optim.SGD(Net().parameters(), lr=1.0)",
        "give a function of a list of parameters that makes one",
        "more['optimizer'] = lambda parameters: torch.optim.SGD(parameters, lr=1.0)",
    ),
    "no values yet": (
        'module = lambda: nn.Linear(4, 2, device="meta")',
        "weight has no values yet: run the module once in its factory, on a device that holds them",
        'module = lambda: nn.Linear(4, 2, device="cpu")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WAYS_OUT)
def test_who_follows_the_advice_gets_on(case: str, study: Study, write: Callable[..., None]) -> None:
    broken, message, fixed = WAYS_OUT[case]
    write(broken)
    refused(message, "--workload", "my_module:workload")
    write(fixed)
    assert varied(study).judgements


def test_arms_that_start_from_others_do_so_under_the_names_that_these_have(study: Study, write: Callable[..., None]) -> None:
    """And are lost with them."""
    write()
    dump = study.model_dump()["arms"]
    fine = {"label": "on", "settings": {"starts_from": "none", "data_order": 1}}
    zero = {"label": "zero", "settings": {"zero_readout": True}}
    after = {"label": "after zero", "settings": {"starts_from": "zero", "data_order": 1}}
    other = varied(changed(study, arms={**dump, "fine": fine, "zero": zero, "after": after}))
    assert list(other.arms) == ["none", "half", "fine"]
    assert any("'after' (it starts from arm 'zero', which is not trained)" in line for line in other.departures)
    starts = [trial.start for trial in make_plan(other, "smoke", "cpu", "data").trials if trial.arm == "fine"]
    assert all(start is not None and start.step == 5 for start in starts)
    named = {name: {**arm, "settings": {**arm["settings"], "model": "gpt"}} for name, arm in {**dump, "fine": fine}.items()}
    renamed = varied(changed(study, arms=named))
    assert renamed.arms["recipe_of_fine"].settings["starts_from"] == "recipe_of_none"


# Another workload on the same data, whose arms a study compares.
ANOTHER = """
    def right(outputs, targets):
        return (outputs.argmax(1) == targets).float()

    more = {"metric": right}
    def wrong(outputs, targets):
        return nn.functional.cross_entropy(outputs, 1 - targets)

    DATA = {"validation": validation, "test": test}
    other = OwnWorkload("other", Net, wrong, training=training, **{**DATA, **more})
"""


def compared(metric: str = "test_error", candidate: str = "other", **options: Any) -> Study:
    return compare("my_module:workload", f"my_module:{candidate}", metric, name="of_mine", **options)


def test_arms_are_workloads_of_ones_own(write: Callable[..., None], tmp_path: Path) -> None:
    write(ANOTHER)
    study = compared()
    prepare(study, "smoke", Options(store=str(tmp_path / "s")), Ledger(Store(str(tmp_path / "s")), study.name))
    owns = {arm: study.configuration("smoke", arm, {}).workload.own for arm in study.arms}
    assert {arm: own and own.place for arm, own in owns.items()} == {
        "baseline": "my_module:workload",
        "candidate": "my_module:other",
    }
    first = digests(study)
    write(ANOTHER.replace("1 - targets", "targets"))
    assert digests(compared()).isdisjoint(first), "a workload that was changed has other trials"


@pytest.mark.parametrize(
    ("more", "options", "message"),
    [
        (
            "",
            {"metric": "test_loss"},
            "loss must be one function, so that test_loss is one number; give it to both, or compare",
        ),
        ("#", {"candidate": "workload"}, "must differ; give each a name of its own"),
        ("more = {}", {}, "metric must be one function, so that test_error is one number; give it to both$"),
        ("DATA['loss_unit'] = 'bits'", {}, "loss_unit must be the same; give it to both"),
        ("DATA['test'] = data(22)", {}, "their test data must be the same; vary the module, the loss or the training data"),
    ],
)
def test_workloads_whose_numbers_mean_something_else_are_not_compared(
    more: str, options: dict[str, Any], message: str, write: Callable[..., None]
) -> None:
    write(ANOTHER.replace("    other =", f"    {more}\n    other ="))
    with pytest.raises(UserError, match=message) as refusal:
        compared(**options)
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
def test_a_loss_that_learns_the_wrong_label_is_caught(write: Callable[..., None], tmp_path: Path) -> None:
    write("\n    for _, labels in (training, validation, test):\n        labels[::5] = 1 - labels[::5]" + ANOTHER)
    (tmp_path / "mine.py").write_text(
        "from folklore.studies.kit import compare\n"
        "STUDY = compare('my_module:workload', 'my_module:other', 'test_error', name='of_mine', seeds=5,\n"
        "    peak_lrs=[2.0**-9, 2.0**-7, 2.0**-5, 2.0**-3, 2.0**-1, 2.0**1], training={'steps': 60})\n"
    )
    done = folklore("run", "mine.py", "--store", "s", folder=tmp_path)
    assert "refuted (opposite)  of_mine.lower" in done.stdout
    page = (tmp_path / "s" / "pages" / "of_mine.html").read_text()
    assert "own module my_module:workload and own module my_module:other" in page
    assert "<pre>folklore run mine.py --scale laptop --store" in page
