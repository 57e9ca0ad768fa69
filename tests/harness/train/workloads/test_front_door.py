"""A workload is taken by all studies that make sense of it, by name, file or object, and with what else is asked for."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folklore.harness.declare import Study, arms_of
from folklore.harness.errors import UserError
from folklore.harness.options import Options
from folklore.harness.plan import catalog
from folklore.harness.plan.own_study import own_study
from folklore.harness.plan.variation import Changes, vary
from folklore.harness.train.workloads.own.finding import find
from folklore.harness.use.cli import app
from tests.harness.train.workloads.test_own_workload import PLAIN

CLI = CliRunner()
TAKEN = (
    "adam_internals", "batch_ramp", "batch_scaling", "critical_batch", "decay", "edge_of_stability", "generalization",
    "gradient_noise", "lr_finder", "lr_regimes", "optimizer_generalization", "optimizers", "plateaus", "precision", "spikes",
    "transformer_warmup", "warmup", "warmup_divergence", "warmup_duration", "weight_decay",
)  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """In the current folder."""
    folder = tmp_path_factory.mktemp("front_door")
    (folder / "front_door.py").write_text(textwrap.dedent(PLAIN.replace("data(50)", "data(400)")))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        yield "front_door:workload"


def on(name: str, address: str, store: Path) -> Study:
    return own_study(catalog.load_study(name), address, Options(store=str(store)))


@pytest.mark.parametrize("name", catalog.study_names())
def test_who_takes_it(name: str, address: str, tmp_path: Path) -> None:
    """Every remaining arm is trained on it alone; every judgement reads such arms; a reason is given for each one dropped."""
    declared = catalog.load_study(name)
    if name not in TAKEN:
        with pytest.raises(UserError, match="cannot take an own workload"):
            on(name, address, tmp_path)
        return
    taken = on(name, address, tmp_path)
    assert taken.judgements
    for judgement in taken.judgements:
        observed = [criterion.observe for criterion in judgement.criteria]
        assert any(arms_of(observable) for observable in observed), "what is computed speaks of no workload"
        assert set().union(*map(arms_of, observed)) <= taken.arms.keys()
    lost = {judgement.claim for judgement in declared.judgements} - {judgement.claim for judgement in taken.judgements}
    for claim in lost:
        assert any(line.startswith(f"Not judged: {claim} (") for line in taken.departures)


def test_a_recipe_that_several_models_have_is_trained_once(address: str, tmp_path: Path) -> None:
    declared = catalog.load_study("lr_finder")
    taken = on("lr_finder", address, tmp_path)
    recipes = [arm.model_dump(exclude={"label", "panel", "reference", "scales"}) for arm in taken.arms.values()]
    assert all(recipes.count(recipe) == 1 for recipe in recipes)
    assert len(recipes) < len(declared.arms)


def test_it_is_varied_as_a_study_is(address: str, tmp_path: Path) -> None:
    plan = ("plan", "warmup", "--workload", address, "--scale", "smoke", "--store", str(tmp_path / "s"))
    printed = CLI.invoke(
        app, [*plan, "--set", "peak_lr=0.01,0.02", "--seeds", "3", "--only", "none", "--only", "first_gradient"]
    )
    assert printed.exit_code == 0, printed.output
    assert re.search(r"\barms +2\b", printed.output)
    assert re.search(r"\btrials +12\b", printed.output)
    varied = vary(catalog.load_study("warmup"), "smoke", Changes({"peak_lr": (0.01, 0.02)}, 3, ("none", "first_gradient")))
    taken = own_study(varied, address, Options(store=str(tmp_path)))
    assert re.fullmatch(r"warmup_varied_[0-9a-f]{8}_own_[0-9a-f]{8}", taken.name)
    assert taken.variation_of == "warmup"
    assert taken.factors_at("smoke", "first_gradient") == {"peak_lr": (0.01, 0.02)}


def test_a_step_that_sees_all_examples_sees_all_of_ones_own(address: str, tmp_path: Path) -> None:
    taken = on("edge_of_stability", address, tmp_path)
    arms = [arm for arm in taken.arms if arm.removeprefix("recipe_of_") in ("gd_low", "heavy_ball", "adam")]
    assert len(arms) == 3
    points = {arm: {name: values[0] for name, values in taken.factors_at("laptop", arm).items()} for arm in arms}
    assert {taken.configuration("laptop", arm, points[arm]).training.batch_size for arm in arms} == {400}


def test_a_file_is_its_module(address: str) -> None:
    assert find("front_door.py:workload").address == find("./front_door.py:workload").address == address
    Path("sub").mkdir()
    Path("sub/front_door_b.py").write_text(textwrap.dedent(PLAIN))
    assert find("sub/front_door_b.py:workload").address == "sub.front_door_b:workload"
    with pytest.raises(UserError, match="lies above the current folder; start folklore in the folder that holds it"):
        find("../front_door.py:workload")


def test_a_range_test_ends_in_a_grid_that_a_study_takes(address: str, tmp_path: Path) -> None:
    run = CLI.invoke(
        app, ["lr-find", "--workload", address, "--steps", "200", "--to", "1e6", "--plot", str(tmp_path / "a.svg")]
    )
    assert run.exit_code == 0, run.output
    last = run.output.strip().rpartition("\n")[2]
    matched = re.fullmatch(r"start at (\S+); grid (\S+) to (\S+) \((--set) (peak_lr=\S+)\); 6 published rules .*", last)
    assert matched, last
    assert float(matched[2]) < float(matched[1]) < float(matched[3])
    plan = ("plan", "warmup", "--workload", address, "--scale", "smoke", "--store", str(tmp_path / "s"))
    printed = CLI.invoke(app, [*plan, matched[4], matched[5]])
    assert printed.exit_code == 0, printed.output


NOTEBOOK = (
    PLAIN
    + """
    import sys
    from folklore.harness import run

    if __name__ == "__main__":
        options = {"scale": "smoke", "store": "s", "address": sys.argv[1], "workers": 1, "workload": workload}
        for said in ("judged", "again"):
            print(said, len(run("warmup", seeds=1, only=["none", "first_gradient"], **options)))
"""
)


@pytest.mark.slow
def test_an_object_is_taken_from_where_no_worker_can_import_it(tmp_path: Path, ray_address: str) -> None:
    """As in a notebook: a script's own classes stand in no module."""
    (tmp_path / "notebook.py").write_text(textwrap.dedent(NOTEBOOK))
    done = subprocess.run([sys.executable, "notebook.py", ray_address], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = re.findall(r"(judged|again) (\d+)", done.stdout)
    assert counts[0][1] == counts[1][1]
    (ledger,) = (tmp_path / "s/ledger").iterdir()
    assert re.fullmatch(r"warmup_varied_[0-9a-f]{8}_own_[0-9a-f]{8}", ledger.name)


def test_an_optimizer_of_ones_own_is_one_more_arm(address: str, tmp_path: Path) -> None:
    source = PLAIN.replace("**more)", "optimizer=lambda parameters: torch.optim.Adagrad(parameters, lr=1.0))")
    Path("with_optimizer.py").write_text(textwrap.dedent(source))
    taken = on("warmup", "with_optimizer:workload", tmp_path)
    first, *_, last = taken.arms
    assert last == "own_optimizer"
    assert taken.arms[last].settings == {**taken.arms[first].settings, "optimizer": "own"}
    assert taken.factors_at("laptop", last) == taken.factors_at("laptop", first)
    assert f"Arm 'own_optimizer' is arm '{first}' by the workload's own optimizer." in taken.departures
    printed = CLI.invoke(app, ["plan", "warmup", "--workload", "with_optimizer:workload", "--scale", "smoke", "--store", "s"])
    assert "the workload's own, with its own weight decay" in " ".join(printed.output.split())
