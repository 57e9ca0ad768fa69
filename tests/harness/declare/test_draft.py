"""A study put together call by call: the declaration that its parts make, and the words of what has none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from folklore.harness.declare import Arm, Claim, Measurement, Reported, Scale, Study, Training, Workload
from folklore.harness.declare.describing import name_of, sentence_of
from folklore.harness.declare.metrics import FailureRate, Gap, LossGap, MaxTrainable, TunedLoss
from folklore.studies.kit import DIGITS_MLP, Draft, Part, exceeds, loss_gap, lr_grid, reported

ARMS = {"plain": Arm(label="no momentum"), "heavy": Arm(label="momentum of 0.9")}
LOSSES = TunedLoss(arm="plain"), TunedLoss(arm="heavy")


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    words = "# Momentum\n\nDoes it help?\n\n## own.momentum\n\n- supported: Use it.\n\n## own.fails\n\n- refuted: Do not.\n"
    (tmp_path / "toy.md").write_text(words, "utf-8")
    claims = tuple(Claim(id=name, paraphrase="it helps", measure="loss") for name in ("own.momentum", "own.fails"))
    study = Draft(
        str(tmp_path / "toy.py"),
        DIGITS_MLP,
        version=1,
        seeds=6,
        factors=lr_grid(-9, -7),
        claims=claims,
        optimizer="sgd",
        probes=3,
    )
    study.arm("plain", "no momentum", reference=True)
    study.arm("heavy", "momentum of 0.9", momentum=0.9)
    return study


def judged(study: Draft) -> Study:
    study.laptop("a minute")
    study.claim("own.momentum", exceeds(loss_gap("plain", "heavy")))
    study.claim("own.fails", exceeds(loss_gap("heavy", "plain"), "name", "says"))
    return study.declared()


def test_settings_go_where_they_belong(draft: Draft) -> None:
    """Fields of a workload, of its training and of what is measured, given as a mapping or one by one."""
    draft.gpu("one GPU", {"width": 256, "steps": 90}, steps=100, evaluations=7, seeds=9)
    study = judged(draft)
    assert study.workload == Workload(model="mlp", dataset="digits", width=64, depth=2)
    assert (study.training, study.measurement) == (Training(optimizer="sgd"), Measurement(probes=3))
    assert study.scale("gpu") == Scale(
        description="one GPU",
        device="cuda",
        workload={"width": 256},
        training={"steps": 100},
        measurement={"evaluations": 7},
        seeds=9,
    )
    assert study.arms["heavy"] == Arm(label="momentum of 0.9", settings={"momentum": 0.9})


def test_a_workstation_has_two_cores_as_a_laptop_has(draft: Draft) -> None:
    draft.workstation("an hour of training", steps=2000)
    assert judged(draft).scale("workstation") == Scale(
        description="two CPU cores for longer, an hour of training", training={"steps": 2000}
    )


def test_a_scale_changes_several_arms_at_once(draft: Draft) -> None:
    draft.smoke(steps=5, arm_settings={("plain", "heavy"): {"steps": 4}}, arm_seeds={"heavy": 3})
    smoke = judged(draft).scale("smoke")
    assert smoke.arm_settings == {"plain": {"steps": 4}, "heavy": {"steps": 4}}
    assert (smoke.arm_seeds, smoke.judged, smoke.seeds) == ({"heavy": 3}, False, 2)


def test_a_claim_is_its_parts_or_a_function_that_yields_them(draft: Draft) -> None:
    @draft.claim("own.momentum", right={"supported": "yes"})
    def momentum_helps() -> Iterator[Part]:
        yield exceeds(loss_gap("plain", "heavy"))
        yield reported(FailureRate(arm="heavy", tuned_for="plain"))

    (judgement,) = draft.judgements
    assert (len(judgement.criteria), judgement.right) == (1, {"supported": "yes"})
    assert judgement.reported == (
        Reported(
            name="failure rate (tuned for no momentum), momentum of 0.9",
            observe=FailureRate(arm="heavy", tuned_for="plain"),
            unit="share",
        ),
    )


def test_words_are_made_of_the_metric_and_the_labels_unless_better_ones_are_given(draft: Draft) -> None:
    made, worded = (judgement.criteria[0] for judgement in judged(draft).judgements)
    assert (worded.name, worded.says) == ("name", "says")
    assert made.name == "tuned loss, no momentum against momentum of 0.9"
    assert made.says == "In tuned loss, no momentum {costs} of the loss reduction compared with momentum of 0.9"


def test_a_setting_that_there_is_not_is_refused(draft: Draft) -> None:
    draft.arm("more", "more", momentums=0.99)
    with pytest.raises(ValueError, match="momentums"):
        judged(draft)


@pytest.mark.parametrize(
    ("observable", "name", "sentence"),
    [
        (
            Gap(left=LOSSES[0], right=LOSSES[1]),
            "tuned loss, no momentum against momentum of 0.9",
            "The tuned loss of no momentum is {higher} than that of momentum of 0.9",
        ),
        (
            MaxTrainable(arm="heavy", within=0.1) / MaxTrainable(arm="plain", within=0.1),
            "max trainable (within 0.1), momentum of 0.9 over no momentum",
            "The max trainable (within 0.1) of momentum of 0.9 is {larger} than that of no momentum",
        ),
        # Two metrics that differ in more than the arm are no comparison of arms.
        (
            MaxTrainable(arm="heavy", within=0.1) / MaxTrainable(arm="plain", within=0.2),
            "quotient of max trainable (within 0.1), momentum of 0.9 and of max trainable (within 0.2), no momentum",
            "",
        ),
        (LossGap(left=LOSSES[0], right=LOSSES[1]).log2(), "log2 of tuned loss, no momentum against momentum of 0.9", ""),
    ],
)
def test_names_and_sentences(observable: LossGap, name: str, sentence: str) -> None:
    assert (name_of(observable, ARMS), sentence_of(observable, ARMS)) == (name, sentence)


def test_a_sentence_names_its_panel() -> None:
    said = sentence_of(LossGap(left=LOSSES[0], right=LOSSES[1]), ARMS, "MLP")
    assert said == "MLP: in tuned loss, no momentum {costs} of the loss reduction compared with momentum of 0.9"
