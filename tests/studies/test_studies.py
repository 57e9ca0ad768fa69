import ast
from pathlib import Path

import pytest

from folklore.harness.errors import UserError
from folklore.harness.planning.catalog import load_study, register, study_names
from folklore.harness.planning.plan import make_plan, points
from folklore.harness.training.measured_steps import evaluation_steps, probe_steps
from folklore.harness.training.programs import STEPS_BEFORE_CAPTURE

FOLDER = Path(__file__).parents[2] / "studies"
FORBIDDEN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.Lambda, ast.With, ast.Try)
# What published evidence, verdicts and declarations name each version by.
DECLARED = {
    "batch_scaling": (4, "969fa552f0aca117"),
    "critical_batch": (4, "514e0b51c246cf38"),
    "decay": (1, "cd15d05a939e5311"),
    "lr_finder": (1, "ae3927e20f2af79b"),
    "mup_transfer": (2, "c504d7712e4eb2cd"),
    "precision": (3, "e2f535e8e656886f"),
    "warmup": (2, "e4687477da1c81e4"),
}
# Of these versions the criteria were written anew after their trials had been seen: the studies say so, and every verdict.
REVISED = {
    "batch_scaling": "fd59d6cc3e283388",
    "critical_batch": "e7da027c7186b17a",
    "decay": "326aa627a2f0a958",
    "lr_finder": "76a892c0ec453024",
    "mup_transfer": "fdc80309c3bb6bff",
    "precision": "7e5cee41a69236d6",
    "warmup": "6e8310ac4647cbd4",
}
# Claims filed under a study that does not judge them yet.
NOT_JUDGED_YET = {
    "crit.advice",
    "crit.ceiling",
    "warmup.clip_first",
    "prec.fp16_nan",
    "prec.mixed_formats",
    "prec.lr_range",
    "decay.raise_lr",
    "decay.first_half",
    "mup.depth",
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_studies_are_data(path: Path) -> None:
    tree = ast.parse(path.read_text())
    found = [type(node).__name__ for node in ast.walk(tree) if isinstance(node, FORBIDDEN)]
    assert not found
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert all(name == "log2_grid" or name[0].isupper() for name in calls), calls


@pytest.mark.parametrize("name", study_names())
def test_every_judged_claim_is_registered_under_its_study(name: str) -> None:
    study = load_study(name)
    filed = {claim.id for claim in register().claims if claim.study == name}
    assert {judgement.claim for judgement in study.judgements} == filed - NOT_JUDGED_YET
    assert {published.claim for published in study.published} <= filed


@pytest.mark.parametrize("name", study_names())
def test_what_decides_changes_with_a_new_version_only(name: str) -> None:
    study = load_study(name)
    version, declared = DECLARED[name]
    if study.hash != declared and study.version == version and name in REVISED:
        assert study.revised, f"{name} does not say what was written after its trials had been seen"
        assert study.hash == REVISED[name], f"{name} was revised once; raise its version"
        return
    if study.hash != declared:
        assert study.version > version, f"{name} decides otherwise than its version {version} did: raise its version"
        raise AssertionError(f"{name} has version {study.version}: pin its hash, {study.hash}")
    assert study.version == version


@pytest.mark.parametrize("name", study_names())
def test_every_scale_plans(name: str) -> None:
    study = load_study(name)
    assert {"smoke", "laptop", "gpu", "cluster"} <= study.scales.keys()
    for scale in study.scales:
        plan = make_plan(study, scale, "cpu", "data", lanes=16)
        assert sum(len(pack.trials) for pack in plan.packs) == len(plan.digests)


def test_the_nearest_study_is_named() -> None:
    with pytest.raises(UserError, match="no study named 'warmpu': did you mean 'warmup'"):
        load_study("warmpu")


@pytest.mark.parametrize("name", study_names())
def test_every_judged_scale_has_five_paired_seeds(name: str) -> None:
    study = load_study(name)
    assert all(study.seeds_at(scale) >= 5 for scale in study.scales if study.scales[scale].judged)


def test_mup_transfer_reaches_32x_on_a_gpu() -> None:
    study = load_study("mup_transfer")
    widths = {study.configuration("gpu", arm, {}).workload.width for arm in study.arms_at("gpu") if arm.startswith("mup_")}
    assert max(widths) / min(widths) == 32


@pytest.mark.parametrize("name", study_names())
def test_runs_that_are_timed_have_steps_to_time(name: str) -> None:
    """Neither probed nor evaluated, nor the first, nor one of those that prepare a captured program."""
    study = load_study(name)
    for scale in study.scales:
        for arm, point in points(study, scale):
            found = study.configuration(scale, arm, point)
            if found.measurement.solo:
                steps, measurement = found.training.steps, found.measurement
                looked_at = {0, *probe_steps(steps, measurement), *evaluation_steps(steps, measurement)}
                assert steps - len(looked_at) - (STEPS_BEFORE_CAPTURE + 1) >= 5, f"{scale} {arm}"
