"""A new observable is one class in one file: everything that speaks of observables knows it then, and nothing before."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import numpy as np
import pytest
from pydantic import Field

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Study, arms_of, metrics
from folklore.harness.declare.base import declared
from folklore.harness.declare.metrics import (
    Computed,
    Curve,
    Gap,
    Left,
    Matched,
    MaxTrainable,
    Mean,
    Slope,
    Unmeasured,
)
from folklore.harness.declare.metrics.estimating.weighted import mean
from folklore.harness.declare.observed import (
    KINDS,
    MARGIN,
    RANGE_TEST,
    ArmRole,
    Example,
    FactorName,
    FactorRole,
    Observed,
    ObservedArm,
    OfLosses,
    ShareOfRuns,
)
from folklore.harness.declare.parts import marks, with_other_arms
from folklore.harness.declare.trials import Numbers, Trials
from folklore.harness.errors import UserError
from folklore.harness.judge.judge import judge
from folklore.harness.judge.outcomes import SUPPORTED
from folklore.harness.judge.robustness import robustness
from folklore.harness.plan import catalog
from folklore.studies.metrics.critical_batch import critical_batch_size
from folklore.studies.metrics.lr_finder import finder_regret
from tests.command_line import folklore_here
from tests.harness.helpers import bowl, changed, frame, planned, result
from tests.places import ROOT


@pytest.fixture(scope="module")
def good_share() -> Iterator[type[Observed]]:
    """A kind that no file of the project has, from here to the end of the module."""

    class GoodShare(Observed):
        """Share of the values of `over` whose mean test loss lies within a share of the arm's lowest."""

        kind: Literal["good_share"] = "good_share"
        arm: ObservedArm
        over: FactorName = "peak_lr"
        within: Annotated[float, MARGIN] = Field(default=0.1, gt=0, description="share above the lowest loss")

        OF_LOSSES: ClassVar[OfLosses] = "shares"
        BOUNDS: ClassVar[tuple[float, float]] = (0.0, 1.0)
        FIGURE: ClassVar[str] = "lr"
        UNIT: ClassVar[str] = "share of the values, 0 to 1"
        EXAMPLE: ClassVar[Example] = {"arm": "none"}

        def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
            loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
            return np.asarray((loss <= (1 + self.within) * loss.min(axis=1, keepdims=True)).mean(axis=1))

    metrics.complete()
    yield GoodShare
    del KINDS["good_share"]
    metrics.complete()


def written(study: Study, observe: dict[str, Any], folder: Path) -> Path:
    """The study with one criterion, as a user's file."""
    content = json.loads(study.canonical_json())
    content["judgements"][0]["criteria"][0] |= {
        "name": "good share",
        "observe": observe,
        "claimed": {"kind": "at_least", "value": 0.3},
        "refuted": {"kind": "at_most", "value": 0.1},
    }
    path = folder / "toy.json"
    path.write_text(json.dumps(content))
    return path


def test_nobody_knows_it_before(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="good_share"):
        catalog.load_study(str(written(study, {"kind": "good_share", "arm": "none"}, tmp_path)))


def test_a_study_from_a_file_is_planned_and_judged_by_it(good_share: type[Observed], study: Study, tmp_path: Path) -> None:
    own_study = catalog.load_study(str(written(study, {"kind": "good_share", "arm": "none"}, tmp_path)))
    (judgement,) = own_study.judgements
    assert judgement.criteria[0].observe == good_share.model_validate({"arm": "none"})
    assert arms_of(judgement.criteria[0].observe) == {"none"}
    assert len(planned(own_study).trials) == 50
    explained = folklore_here("schema", "--explain", "good_share").stdout
    assert explained.startswith("## good_share\nShare of the values of `over` whose mean test loss lies within")
    assert "\nUnit: share of the values, 0 to 1." in explained
    # At the lowest and its two neighbours the loss is at most 0.05 above 2.
    trials = frame(own_study, lambda trial: result(bowl(trial, -7, 2.0, curvature=0.15)))
    (verdict,) = judge(own_study, "laptop", "cpu", trials)
    assert verdict.verdict == SUPPORTED
    assert (verdict.estimate, verdict.low, verdict.high) == pytest.approx((0.6, 0.6, 0.6))
    (firm,) = robustness(own_study, "laptop", "cpu", trials, [verdict])
    assert {"half the margin", "twice the margin"} <= {alternative.choice for alternative in firm.alternatives}


def test_its_fields_are_checked_as_any_others(good_share: type[Observed], study: Study, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no arm named 'nobody'"):
        catalog.load_study(str(written(study, {"kind": "good_share", "arm": "nobody"}, tmp_path)))
    with pytest.raises(UserError, match=r"observe\.good_share\.within"):
        catalog.load_study(str(written(study, {"kind": "good_share", "arm": "none", "within": -1}, tmp_path)))


def test_others_can_be_made_of_it(good_share: type[Observed], study: Study) -> None:
    part = good_share.model_validate({"arm": "none"})
    gap = Criterion(name="gap", observe=Gap(left=part, right=part), claimed=AtLeast(value=0.5), refuted=AtMost(value=0.2))
    gap_study = changed(study, judgements=(Judgement(claim="warmup.improves_best", criteria=(gap,)).model_dump(),))
    (verdict,) = judge(gap_study, "laptop", "cpu", frame(gap_study, lambda trial: result(bowl(trial, -7, 2.0))))
    assert verdict.estimate == 0.0


def _of_a_kind_that_is_taken() -> None:
    class Again(Observed):
        kind: Literal["tuned_loss"] = "tuned_loss"
        OF_LOSSES: ClassVar[OfLosses] = "no zero"
        UNIT: ClassVar[str] = ""
        EXAMPLE: ClassVar[Example] = {}

        def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
            return np.ones(len(weights))


def _of_a_kind_that_was_once() -> None:
    class Former(Observed):
        kind: Literal["rising_share"] = "rising_share"
        OF_LOSSES: ClassVar[OfLosses] = "no zero"
        UNIT: ClassVar[str] = ""
        EXAMPLE: ClassVar[Example] = {}

        def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
            return np.ones(len(weights))


def _of_few_words() -> None:
    class Silent(Observed):
        kind: Literal["silent"] = "silent"
        UNIT: ClassVar[str] = ""


def _without_counts() -> None:
    class Countless(ShareOfRuns):
        kind: Literal["countless"] = "countless"
        OF_LOSSES: ClassVar[OfLosses] = "no zero"
        UNIT: ClassVar[str] = ""
        EXAMPLE: ClassVar[Example] = {}


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (_of_a_kind_that_is_taken, "TunedLoss and .*Again are both of kind 'tuned_loss'"),
        (_of_a_kind_that_was_once, "Curve and .*Former are both of kind 'rising_share'"),
        (_of_few_words, "'silent' .* does not say its OF_LOSSES, EXAMPLE, estimate"),
        (_without_counts, "'countless' .* does not say its counts"),
    ],
)
def test_a_kind_that_is_not_whole_is_none(make: Callable[[], None], word: str) -> None:
    before = dict(KINDS)
    with pytest.raises(TypeError, match=word):
        make()
    assert before == KINDS


NEW_FILE = '''
"""What the slowest step costs."""
from typing import ClassVar, Literal
import numpy as np
from folklore.harness.declare.observed import Example, Observed, ObservedArm, OfLosses
from folklore.harness.declare.trials import Numbers, Trials

class Drift(Observed):
    """How far the last loss lies above the best."""

    kind: Literal["drift"] = "drift"
    arm: ObservedArm
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "none"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return np.ones(len(weights))
'''


# Wings are forked off where others' libraries are imported, and nothing of ours is.
IMPORTS = """
import importlib, os, sys
import numpy, pandas, pyarrow.parquet, pydantic, scipy.stats
for room in ("declare", "plan", "judge.observe"):
    if not os.fork():
        importlib.import_module("folklore.harness." + room)
        from folklore.harness.declare import Study
        Study.model_rebuild()
        os._exit(not Study.__pydantic_complete__)
    assert os.wait()[1] == 0, room
from folklore.harness.plan import catalog
print(repr(catalog.load_study(sys.argv[1]).judgements[0].criteria[0].observe))
"""


def test_a_file_in_the_folder_is_all_it_takes(study: Study, tmp_path: Path) -> None:
    """In a copy of the harness. Whatever is imported first, a study is whole."""
    folders = ("harness", "harness/declare", "harness/declare/metrics")
    for folder in folders:
        (tmp_path / "folklore" / folder).mkdir(parents=True)
    for path in (path for folder in (".", *folders) for path in (ROOT / folder).iterdir()):
        name = str(path.relative_to(ROOT))
        if name not in folders and name.startswith(("__init__.py", "harness/", "models", "reports", "studies")):
            (tmp_path / "folklore" / name).symlink_to(path)
    (tmp_path / "folklore" / "harness" / "declare" / "metrics" / "drift.py").write_text(NEW_FILE)
    file = written(study, {"kind": "drift", "arm": "none"}, tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", IMPORTS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Drift(kind='drift', arm='none')" in done.stdout


def texts(annotation: Any) -> bool:
    """Whether a field holds free text, however deep."""
    return annotation is str or (get_origin(annotation) is not Literal and any(map(texts, get_args(annotation))))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_text_is_an_arm_or_a_factor(kind: type[Observed]) -> None:
    """A name of an arm without its mark would be neither checked nor shown, and its trials not found again."""
    marked = marks(kind, ArmRole).keys() | marks(kind, FactorRole).keys()
    free = {name for name, field in kind.model_fields.items() if texts(field.annotation)} - marked
    # What is computed names a function and its arguments, which the study's registry checks; names of curves are checked, too.
    known = {Unmeasured: {"reason"}, Left: {"was"}, Computed: {"function", "arguments", "number"}}
    known |= {Curve: {"of", "divided_by"}, Matched: {"of", "where"}}
    assert free == known.get(kind, set())


def test_a_new_name_of_an_arm_is_taken_wherever_it_stands() -> None:
    bar = MaxTrainable(arm="none", best_of=("none", "half"))
    sweep = critical_batch_size(points=((8, "none"), (16, "half"), (32, "a"), (64, "b")), anchor="none", share=0.5)
    cured = finder_regret(arm="none", range_test="half", rule="valley")
    names = {"none": "one", "half": "two"}
    for whole in (Slope(points=((1, bar), (2, sweep), (4, cured))), Mean(parts=(bar, sweep, cured))):
        renamed = with_other_arms(whole, names)
        assert renamed == type(whole).model_validate_json(whole.model_dump_json().replace("none", "one").replace("half", "two"))
        assert arms_of(renamed) == {"one", "two", "a", "b"}
        assert arms_of(renamed, RANGE_TEST) == {"two"}


DOUBLING = {"kind": "doubling_gain", "points": [[8, "none"], [16, "half"]], "anchor": "none", "share": 0.8, "above": None}
RANKS = {"kind": "rank_correlation", "points": [[1, {"kind": "curve", "arm": "none", "of": "train_loss"}]]}


@pytest.mark.parametrize("observe", [DOUBLING, RANKS], ids=lambda observe: observe["kind"])
def test_a_metric_that_left_is_read_where_it_was_declared(study: Study, observe: dict[str, Any], tmp_path: Path) -> None:
    """With the hash that it had, and no number; a new study hears what to use in its place."""
    file = written(study, observe, tmp_path)
    stored = Study.model_validate_json(file.read_text())
    metric = stored.judgements[0].criteria[0].observe
    as_declared = json.loads(json.dumps(observe).replace(', "above": null', ""))
    if "curve" in str(observe):
        as_declared["points"][0][1] = Curve(arm="none", of="train_loss").first_declared()
    assert declared(metric) == as_declared
    assert Study.model_validate_json(stored.canonical_json()) == stored
    (verdict,) = judge(stored, "laptop", "cpu", frame(stored, lambda trial: result(bowl(trial, -7, 2.0))))
    words = f"Folklore no longer has the metric {observe['kind']}: a "
    assert verdict.verdict == "invalid"
    assert words in verdict.reason
    with pytest.raises(UserError, match=words):
        catalog.load_study(str(file))


def test_a_class_that_left_is_answered() -> None:
    with pytest.raises(ImportError, match="no longer has the metric FormGap: slopes over parts"):
        metrics.FormGap  # noqa: B018


@pytest.mark.parametrize(
    ("name", "kind"),
    [("TurnRate", "turn_rate"), ("LRSensitivity", "lr_sensitivity"), ("CriticalBatch", "critical_batch_size")],
)
def test_a_class_that_became_a_function_is_answered_for_one_version(name: str, kind: str) -> None:
    with pytest.warns(FutureWarning, match=rf"metrics\.{name} is called folklore\.studies\.metrics\.\w+\.{kind} now"):
        assert getattr(metrics, name) is KINDS[kind]
    assert not hasattr(metrics, "Rate")
