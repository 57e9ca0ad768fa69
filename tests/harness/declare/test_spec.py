import json
import math

import pytest
from pydantic import ValidationError, create_model

from folklore.harness.declare import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Claim,
    Configuration,
    Criterion,
    Judgement,
    Measurement,
    Regime,
    Reported,
    Side,
    Study,
    Training,
    Within,
    Workload,
    canonical_json,
    fingerprint,
    log2_grid,
)
from folklore.harness.declare.configuration import PerLane
from folklore.harness.declare.metrics import TunedLoss
from folklore.harness.errors import UserError, invalid
from folklore.harness.plan import catalog
from tests.harness.helpers import changed


def message_of(study: Study, places: dict[str, object] | None = None, **fields: object) -> str:
    """The message about a study that cannot be declared."""
    with pytest.raises(ValidationError) as caught:
        changed(study, places, **fields)
    return str(invalid("study", caught.value))


def test_grid() -> None:
    assert log2_grid(-2, 0) == (0.25, 2**-1.5, 0.5, 2**-0.5, 1.0)
    assert log2_grid(-1, 0, per_octave=1) == (0.5, 1.0)


def test_canonical_json_is_one_spelling() -> None:
    assert canonical_json({"b": 1.0, "a": (2,)}) == '{"a":[2],"b":1.0}'
    assert fingerprint({"a": 1}) == fingerprint({"a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_a_study_survives_its_own_json(study: Study) -> None:
    again = Study.model_validate(json.loads(study.canonical_json()))
    assert again == study
    assert again.hash == study.hash


@pytest.mark.parametrize(("region", "value"), [("claimed", 0.01), ("refuted", -0.01)])
def test_the_hash_covers_thresholds(region: str, value: float, study: Study) -> None:
    assert changed(study, {f"judgements.0.criteria.0.{region}.value": value}).hash != study.hash


def test_the_hash_ignores_words(study: Study) -> None:
    words = {"judgements.0.note": "Said better.", "arms.none.label": "plain"}
    assert changed(study, words, question="Else?", departures=("a",)).hash == study.hash
    assert changed(study, words, seeds=6).hash != study.hash
    assert changed(study, {**words, "arms.none.settings.beta2": 0.9}).hash != study.hash


def test_specs_are_frozen_and_closed(study: Study) -> None:
    with pytest.raises(ValidationError, match=r"frozen"):
        study.version = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match=r"Extra inputs are not permitted"):
        Training(learning_rate=0.1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("fields", "finding"),
    [
        ({"factors": {"peak_lrs": (0.1, 0.2, 0.4)}}, "no factor named 'peak_lrs': did you mean 'peak_lr'?"),
        ({"factors": {"peak_lr": (0.1, -0.2, 0.4)}}, "peak_lr"),
        ({"factors": {"peak_lr": (0.1, 0.1, 0.4)}}, "a value stands there twice"),
        (
            {"scales": {"laptop": {"description": "x", "arm_seeds": {"half": 3}}}},
            "arm 'half' has 3 seeds of its own at scale 'laptop', and all arms have 5: lower seeds",
        ),
        ({"workload": {"width": 30, "heads": 4}}, "heads = 4: must divide width = 30"),
        ({"training": {"warmup_fraction": 1.5}}, "warmup_fraction"),
        ({"training": {"micro_batches": 3}}, "micro_batches = 3: must divide batch_size = 8"),
        ({"training": {"micro_batches": 16}}, "micro_batches = 16: must divide batch_size = 8"),
        ({"training": {"micro_batches": 0}}, "micro_batches = 0: must be at least 1"),
        ({"training": {"micro_batches": "2"}}, "micro_batches = '2': must be a whole number"),
        ({"training": {"sampling": "epoch"}}, "sampling = 'epoch': did you mean 'epochs'?"),
        ({"training": {"sampling": None}}, "sampling = None: must be 'replacement', 'epochs' or 'full'"),
        (
            {"scales": {"laptop": {"description": "x", "training": {"micro_batches": 5}}}},
            "micro_batches = 5: must divide batch_",
        ),
        ({"scales": {"laptop": {"description": "x", "training": {"step": 5}}}}, "did you mean 'steps'?"),
        ({"arms": {"none": {"label": "a"}, "half": {"label": "b"}}}, "have the same settings"),
    ],
)
def test_an_invalid_study_says_field_value_and_rule(study: Study, fields: dict[str, object], finding: str) -> None:
    message = message_of(study, **fields)
    assert finding in message
    assert "\n" not in message


def test_a_judgement_of_an_unknown_arm_names_the_nearest(study: Study) -> None:
    with pytest.raises(ValueError, match=r"no arm named 'nome': did you mean 'none'"):
        changed(study, {"judgements.0.criteria.0.observe.left.arm": "nome"})


def test_regions_that_overlap_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"overlap"):
        Criterion(name="c", observe=TunedLoss(arm="a"), claimed=AtLeast(value=0.0), refuted=Within(low=-1, high=0.5))
    Criterion(name="c", observe=TunedLoss(arm="a"), claimed=AtLeast(value=0.0), refuted=AtMost(value=0.0))


def test_the_narrowest_factor_declaration_wins(study: Study) -> None:
    layered = changed(
        study,
        {
            "arms.half.factors": {"peak_lr": (1.0, 2.0, 4.0)},
            "scales.laptop.factors": {"peak_lr": (8.0, 16.0, 32.0)},
            "scales.smoke.arm_factors": {"half": {"peak_lr": (64.0,)}},
        },
    )
    assert layered.factors_at("laptop", "none")["peak_lr"] == (8.0, 16.0, 32.0)
    assert layered.factors_at("laptop", "half")["peak_lr"] == (1.0, 2.0, 4.0)
    assert layered.factors_at("smoke", "half")["peak_lr"] == (64.0,)
    assert layered.factors_at("smoke", "none")["peak_lr"] == study.factors["peak_lr"]


def test_settings_reach_the_configuration(study: Study) -> None:
    configuration = changed(
        study, {"scales.laptop.workload": {"width": 16}, "scales.laptop.training": {"steps": 50}}
    ).configuration("laptop", "half", {"peak_lr": 0.5})
    assert (configuration.workload.width, configuration.training.steps, configuration.training.warmup_fraction) == (16, 50, 0.5)
    assert configuration.training.peak_lr == 0.5


def test_pack_keys_ignore_only_what_lanes_may_vary() -> None:
    def configuration(**training: object) -> Configuration:
        return Configuration(workload=Workload(), training=Training(**training), measurement=Measurement())

    base = configuration().pack_key
    for same in ({"peak_lr": 1.0}, {"warmup_fraction": 0.0}, {"schedule": "step"}, {"clip_norm": 1.0}, {"beta2": 0.9}):
        assert configuration(**same).pack_key == base, same
    for other in (
        {"optimizer": "sgd"}, {"steps": 7}, {"batch_size": 2}, {"precision": "bf16"}, {"nesterov": True}, {"micro_batches": 2},
        {"sampling": "epochs"},
    ):  # fmt: skip
        assert configuration(**other).pack_key != base, other
    cost = configuration().shape_key
    assert configuration(sampling="epochs").shape_key == cost, "a step takes as long whichever examples it sees"
    assert configuration(micro_batches=2).shape_key != cost


def test_a_former_field_is_read_at_the_value_that_holds_now() -> None:
    assert Training.model_validate({"fisher_examples": 64, "steps": 7}) == Training(steps=7)
    with pytest.raises(ValidationError, match="fisher_examples = 3: is always 64 now, and no setting; leave it out"):
        Training.model_validate({"fisher_examples": 3})


def test_an_arm_may_not_set_what_is_no_field(study: Study) -> None:
    with pytest.raises(ValueError, match=r"did you mean 'warmup_fraction'"):
        changed(study, arms={"a": Arm(label="a", settings={"warmup_fractions": 0.1}), "b": Arm(label="b")}, judgements=())


def test_steps_follow_from_examples(study: Study) -> None:
    equal = changed(study, {"arms.half.settings.batch_size": 32, "scales.smoke.examples": 64}, examples=640)
    assert equal.configuration("laptop", "none", {}).training.steps == 160
    assert equal.configuration("laptop", "half", {}).training.steps == 20
    assert equal.configuration("smoke", "half", {}).training.steps == 2
    assert study.configuration("laptop", "none", {}).training.steps == 10


FAILURES = {"kind": "failure_rate", "arm": "none", "tuned_for": "half"}
SUGGESTIONS = {"kind": "suggestion_rate", "arm": "none", "rule": "valley"}


def share(observe: dict[str, str], low: float = 0.2, high: float = 0.8) -> dict[str, object]:
    return {
        "name": "share",
        "observe": observe,
        "supported": {"kind": "at_least", "value": high},
        "refuted": {"kind": "at_most", "value": low},
    }


def share_of_seeds(observe: dict[str, str], seeds: int, low: float, high: float) -> dict[str, object]:
    criterion = share(observe, low, high)
    return {"seeds": seeds, "judgements": [{"claim": "warmup.improves_best", "criteria": [criterion]}]}


@pytest.mark.parametrize("observe", [FAILURES, SUGGESTIONS], ids=lambda observable: observable["kind"])
def test_seeds_that_no_outcome_could_decide_with(study: Study, observe: dict[str, str]) -> None:
    """Five of five failures leave an interval from 0.48 up: above 0.4, not above 0.8; and none of five one up to 0.52."""
    with pytest.raises(ValueError, match="no outcome of 5 seeds could decide it; add seeds"):
        changed(study, **share_of_seeds(observe, 5, 0.2, 0.8))
    changed(study, **share_of_seeds(observe, 5, 0.2, 0.4))
    changed(study, **share_of_seeds(observe, 17, 0.2, 0.8))


@pytest.mark.parametrize(
    ("observe", "setting", "value"),
    [
        ({"kind": "curve", "arm": "none", "of": "evaluation_test_loss"}, "measurement.test_examples", 4),
        ({"kind": "curve", "arm": "none", "of": "lr", "divided_by": "token_loss_rare"}, "measurement.token_rows", True),
        ({"kind": "sharpness_at_loss", "arm": "none"}, "measurement.training_examples", 4),
    ],
)
def test_runs_that_would_not_keep_what_is_read_are_refused(
    study: Study, observe: dict[str, str], setting: str, value: object
) -> None:
    observed = {"judgements": [{"claim": "warmup.improves_best", "criteria": [share(observe)]}], "measurement.sharpness": "end"}
    refused = f"criterion 'share' at scale 'laptop' reads what runs of arm 'none' do not keep: set {setting}"
    with pytest.raises(ValueError, match=refused):
        changed(study, observed)
    changed(study, {**observed, setting: value})


def test_a_criterion_of_a_scale_leaves_none_without(study: Study) -> None:
    for scale, message in (("smoke", "has no criterion at scale 'laptop'"), ("latpop", "did you mean 'laptop'")):
        with pytest.raises(ValueError, match=message):
            changed(study, {"judgements.0.criteria.0.scales": [scale]})


def test_an_arm_of_single_scales(study: Study) -> None:
    only = changed(study, {"arms.half.scales": ["smoke"]})
    assert only.arms_at("laptop") == ["none"]
    assert only.arms_at("smoke") == ["none", "half"]
    with pytest.raises(ValueError, match="no scale named 'cloud'"):
        changed(study, {"arms.half.scales": ["cloud"]})


def test_an_arm_may_set_what_is_measured(study: Study) -> None:
    own = "scales.smoke.arm_settings"
    both = changed(study, {"arms.half.settings.evaluations": 3, own: {"none": {"steps": 7}}})
    assert both.configuration("laptop", "half", {}).measurement.evaluations == 3
    assert both.configuration("laptop", "none", {}).measurement.evaluations == 1
    assert both.configuration("smoke", "none", {}).training.steps == 7
    assert both.configuration("smoke", "half", {}).training.steps == 5
    with pytest.raises(ValueError, match="no arm named 'nine'"):
        changed(study, {own: {"nine": {"steps": 7}}})


def test_what_is_reported_changes_no_hash(study: Study) -> None:
    def reporting(arm: str) -> Study:
        beside = {"name": "beside", "observe": {"kind": "tuned_loss", "arm": arm}}
        return changed(study, {"judgements.0.reported": [beside]})

    assert reporting("none").hash == study.hash
    with pytest.raises(ValueError, match="no arm named 'nobody'"):
        reporting("nobody")


def test_a_later_field_changes_the_hash_once_it_is_used(study: Study) -> None:
    for field, used, unused in (("loss_scale", 2.0, 2.0**16), ("sampling", "epochs", "replacement"), ("micro_batches", 2, 1)):
        assert changed(study, {f"training.{field}": used}).hash != study.hash
        spelled = changed(study, {f"training.{field}": unused})
        assert (spelled.hash, spelled.canonical_json()) == (study.hash, study.canonical_json())
        assert field not in spelled.configuration("laptop", "half", {}).identity()["training"]  # type: ignore[operator]


@pytest.mark.parametrize("part", ["workload", "training", "measurement"])
def test_a_new_field_of_a_configuration_changes_no_hash_until_it_is_used(part: str, study: Study) -> None:
    """However it is marked: a field copied from a neighbour is a later one, too."""
    own = getattr(study, part)
    longer = create_model("Longer", __base__=type(own), new=(PerLane[float], 0.1))
    unused, used = (study.model_copy(update={part: longer(**own.model_dump(), new=value)}) for value in (0.1, 0.2))
    assert unused.hash == study.hash
    assert used.hash != study.hash


def test_one_criterion_and_readings_by_name_are_lists_of_one_and_of_several() -> None:
    loss, other = TunedLoss(arm="a"), {"kind": "tuned_loss", "arm": "b"}
    criterion = Criterion(name="c", observe=loss, claimed=AtMost(value=0), refuted=AtLeast(value=1), alternatives={"d": other})
    short = Judgement(claim="a.b", criteria=criterion, reported={"plain": loss, "in nats": [other, "nats"]})
    assert short.criteria[0].alternatives == (Alternative(name="d", observe=TunedLoss(arm="b")),)
    assert short == Judgement(
        claim="a.b",
        criteria=(criterion,),
        reported=(
            Reported(name="plain", observe=loss),
            Reported(name="in nats", observe=TunedLoss(arm="b"), unit="nats"),
        ),
    )
    assert Judgement.model_validate(short.model_dump()) == short
    with pytest.raises(ValidationError, match="'plain' has 3 parts: must be an observable, or an observable and its unit"):
        Judgement(claim="a.b", criteria=criterion, reported={"plain": (loss, "nats", "x")})


def test_sides_and_a_regime_can_be_texts() -> None:
    fields = {"id": "a.b", "paraphrase": "p", "measure": "m"}
    texts = ("never: it: never helps [CP Q3; TB 2]", "28 GB: by arithmetic")
    claim = Claim(**fields, regime="SGD", sides=texts)
    assert claim.regime == Regime(words="SGD")
    assert claim.sides == (
        Side(name="never", says="it: never helps", sources="CP Q3; TB 2"),
        Side(name="28 GB", says="by arithmetic"),
    )
    assert Claim.model_validate(claim.model_dump()) == claim
    with pytest.raises(ValidationError, match="'never': needs a name and what it says, as in"):
        Claim(**fields, sides=("never",))


@pytest.mark.parametrize(
    ("measure", "clauses", "way"),
    [
        ("(a) steps; (b) loss, ours; reported: time", {"a": "steps", "b": "loss, ours"}, None),
        (
            "(a) steps; (b) loss",
            {"a": "steps", "b": "loss"},
            r"no criterion decides clause \(b\) of its measure, 'loss'; add one",
        ),
        ("(b) loss; reported: (a) steps", {"b": "loss"}, "has clause = 'a', and its measure has b; name the clause"),
        ("steps and loss", {"": "steps and loss"}, "has clause = 'a', and its measure has none; name the clause"),
    ],
)
def test_what_a_measure_promises_is_what_is_judged(
    study: Study, measure: str, clauses: dict[str, str], way: str | None
) -> None:
    claim = Claim(id="mine.one", paraphrase="p", measure=measure)
    assert claim.clauses == clauses
    judgement = study.judgements[0]
    letters = "ab" if way is None else "a"
    criteria = tuple(judgement.criteria[0].model_copy(update={"clause": letter, "name": letter}) for letter in letters)
    own = judgement.model_copy(update={"claim": claim.id, "criteria": criteria})
    asked = study.model_copy(update={"claims": (claim,), "judgements": (own,)})
    if way is None:
        assert catalog.judgeable(asked).judgements == (own,)
        unnamed = tuple(criterion.model_copy(update={"clause": ""}) for criterion in criteria)
        without = asked.model_copy(update={"judgements": (own.model_copy(update={"criteria": unnamed}),)})
        assert asked.hash == without.hash, "which clause a criterion decides is a word"
    else:
        with pytest.raises(UserError, match=way):
            catalog.judgeable(asked)


def test_a_claim_stands_in_a_document_that_is_known(study: Study) -> None:
    source = {"document": "my-blog", "section": "2"}
    claim = {"id": "mine.one", "kinds": ["empirical"], "paraphrase": "p", "measure": "m", "sources": [source]}
    own = changed(study, claims=[claim])
    with pytest.raises(UserError, match="my-blog"):
        catalog.judgeable(own)
    with pytest.raises(ValueError, match="section"):
        changed(study, claims=[{**claim, "sources": [{**source, "section": ""}]}])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"factors": {"peak_lr": [math.nan, 0.1, 0.2]}}, "study: factors.peak_lr.0 = nan: must be a finite number, a text"),
        ({"factors": {"peak_lr": [0.1, {}, 0.2]}}, "study: factors.peak_lr.1 = {}: must be a finite number, a text, true"),
        ({"training": {"peak_lr": math.nan}}, "study: training.peak_lr = nan: must be a finite number"),
        ({"judgements.0.criteria.0.observe.arm": 3}, "study: judgements.0.criteria.0.observe."),
    ],
)
def test_a_wrong_value_is_one_finding(study: Study, fields: dict[str, object], said: str) -> None:
    """One finding, whatever types it was tried as and wherever it stands."""
    message = message_of(study, fields)
    assert message.startswith(said)
    assert message.count(" = ") == 1


def test_a_field_that_is_none_is_named_without_its_content(study: Study) -> None:
    assert message_of(study, {"judgement": [{"claim": "x" * 100}]}) == "study: judgement: there is no such field"


@pytest.mark.parametrize(("setting", "shown"), [(math.inf, "inf"), ([0.5, math.nan], "[0.5, nan]"), ({"a": 1}, "{'a': 1}")])
def test_a_wrong_setting_is_one_finding(study: Study, setting: object, shown: str) -> None:
    places = {"arms.half.settings.step_drops": setting, "scales.smoke.search": {"low": math.nan}}
    first, second = message_of(study, places).split("; ")
    rule = "must be a finite number, a text, true, false, none or a list of finite numbers"
    assert first == f"study: arms.half.settings.step_drops = {shown}: {rule}"
    assert second == "scales.smoke.search.low = nan: must be a finite number"


def test_of_many_findings_the_first_are_told(study: Study) -> None:
    message = message_of(study, factors={"peak_lr": [math.nan] * 12})
    assert message.count("= nan") == 5
    assert message.endswith("; and 7 more")


@pytest.mark.parametrize(
    ("kind", "hint"), [("tuned_los", "did you mean 'tuned_loss'? `folklore"), ("spread", "there is no 'spread'; `folklore")]
)
def test_an_unknown_kind_is_answered_by_the_nearest_and_not_by_all(kind: str, hint: str, study: Study) -> None:
    said = message_of(study, {"judgements.0.criteria.0.observe": {"kind": kind, "arm": "none"}})
    assert "observe.kind: " in said
    assert hint in said
    assert "between_lines" not in said
