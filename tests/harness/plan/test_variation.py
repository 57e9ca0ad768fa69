"""A variation is a study of its own, says what differs, and never passes for the study it comes from."""

import json
from pathlib import Path

import pytest

from folklore.harness.declare import Range, Search, Study, arms_of
from folklore.harness.errors import UserError
from folklore.harness.plan import catalog
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.store import Store
from folklore.harness.plan.variation import Changes, is_variation, settable, vary
from folklore.harness.use.reading.pages import write_pages
from folklore.harness.use.reading.stored_studies import named_study, stored_studies
from tests.harness.helpers import bowl, changed, result, stored


def parsed(*settings: str, seeds: int | None = None, only: tuple[str, ...] = ()) -> Changes:
    return Changes.parse(settings, seeds, only)


def varied(study: Study, *settings: str, seeds: int | None = None, only: tuple[str, ...] = ()) -> Study:
    return vary(study, "laptop", parsed(*settings, seeds=seeds, only=only))


def departures(study: Study) -> str:
    return " ".join(study.departures)


def test_values_are_read_as_people_write_them() -> None:
    settings = parsed("peak_lr=1e-3,2^-8,.5,1.", "steps=100", "nesterov=True", "clip_norm=none", "dataset=text:a").settings
    assert settings["peak_lr"] == (1e-3, 2.0**-8, 0.5, 1.0)
    assert settings["steps"] == (100,)
    assert type(settings["steps"][0]) is int
    assert (settings["nesterov"], settings["clip_norm"], settings["dataset"]) == ((True,), (None,), ("text:a",))


def test_a_factor_gets_other_values_in_every_arm(study: Study) -> None:
    variation = varied(study, "peak_lr=0.01,0.02,0.04,0.08")
    assert {variation.factors_at("laptop", arm)["peak_lr"] for arm in variation.arms} == {(0.01, 0.02, 0.04, 0.08)}
    assert "peak_lr = 0.01, 0.02, 0.04, 0.08, where the study has 5 values from 0.001953 to 0.03125" in departures(variation)
    assert variation.scale("laptop").judged, "four values and five seeds can be judged"
    assert list(variation.scales) == ["laptop"]


def test_a_field_is_set_where_arms_have_none_of_their_own(study: Study) -> None:
    variation = varied(study, "steps=7")
    assert {variation.configuration("laptop", arm, {}).training.steps for arm in variation.arms} == {7}
    variation = varied(changed(study, {"arms.half.settings.steps": 12}), "steps=7")
    assert [variation.configuration("laptop", arm, {}).training.steps for arm in ("none", "half")] == [7, 12]
    assert "the arms half keep values of their own" in departures(variation)
    with pytest.raises(UserError, match="every arm that is trained has a value of its own"):
        varied(study, "warmup_fraction=0.1")


def test_steps_that_followed_from_examples_are_set_all_the_same(study: Study) -> None:
    of_examples = changed(study, examples=80)
    assert of_examples.configuration("laptop", "none", {}).training.steps == 20
    assert varied(of_examples, "steps=7").configuration("laptop", "none", {}).training.steps == 7
    assert varied(of_examples, "examples=40").configuration("laptop", "none", {}).training.steps == 10


def test_a_searched_arm_is_trained_at_the_values_given(study: Study) -> None:
    searched = changed(study, {"arms.half.searched": True}, search=Search(low=0.001, high=0.1, first_seed=1000).model_dump())
    variation = varied(searched, "peak_lr=0.01,0.02,0.04")
    assert variation.search_at("laptop") is None
    assert variation.factors_at("laptop", "half") == {"peak_lr": (0.01, 0.02, 0.04)}
    assert "a searched value in half" in departures(variation)
    own = Range(factor="dropout", low=0.1, high=0.5).model_dump()
    lever = varied(
        changed(searched, {"arms.half.search": own}, factors={"peak_lr": (0.01,)}, judgements=()), "dropout=0.2,0.3,0.4"
    )
    assert lever.arms["half"].search is None
    assert lever.factors_at("laptop", "half")["dropout"] == (0.2, 0.3, 0.4)


def test_few_seeds_or_values_are_not_judged_and_say_so(study: Study) -> None:
    for variation, why in (
        (varied(study, seeds=3), "3 seeds, and a verdict takes at least 5"),
        (varied(study, "peak_lr=0.01"), "needs at least 3 values"),
    ):
        assert not variation.scale("laptop").judged
        assert "Not judged: " in departures(variation)
        assert why in departures(variation)
    assert varied(study, seeds=6).scale("laptop").judged


def test_arms_with_further_seeds_have_as_many_as_are_asked_for(study: Study) -> None:
    further = changed(study, {"scales.laptop.arm_seeds": {"half": 9}})
    assert varied(further, seeds=6).shared_seeds_at("laptop", ("half",)) == 6
    assert varied(further, "peak_lr=0.01,0.02,0.03").shared_seeds_at("laptop", ("half",)) == 9


def test_judgements_of_arms_that_are_gone_are_dropped_and_named(study: Study) -> None:
    variation = varied(study, only=("none",))
    assert list(variation.arms) == ["none"]
    assert variation.judgements == ()
    assert "the arms none alone; left out: half." in departures(variation)
    assert "Not judged, for they read arms that are not trained: warmup.improves_best." in departures(variation)


def test_the_name_stands_for_the_changes(study: Study) -> None:
    first = varied(study, "steps=7", "width=16", seeds=6)
    again = varied(study, "width=16", "steps=7", seeds=6)
    assert first.name == again.name != varied(study, "steps=8", "width=16", seeds=6).name
    assert is_variation(first.name)
    assert not is_variation(study.name)
    assert first.name.startswith("toy_varied_")
    long = varied(study.model_copy(update={"name": "x" * 64}), "steps=7")
    assert len(long.name) <= 64
    assert Study.model_validate(long.model_dump()) == long, "and the name is a name of a study"


def test_no_trial_of_a_variation_is_one_of_the_study(study: Study) -> None:
    """Not even those that are trained just so: the name is part of their digests."""
    variation = varied(study, seeds=6)
    declared, own = (make_plan(variant, "laptop", "cpu", "data").digests for variant in (study, variation))
    assert len(own) == 60
    assert not declared & own


@pytest.mark.parametrize("settings", [("width=48", "heads=3"), ("heads=3", "width=48")])
def test_settings_that_fit_each_other_alone_are_set_together(study: Study, settings: tuple[str, str]) -> None:
    workload = varied(study, *settings).configuration("laptop", "none", {}).workload
    assert (workload.width, workload.heads) == (48, 3)


@pytest.mark.parametrize(
    ("settings", "only", "message"),
    [
        (("lr=0.1",), (), "named 'lr': did you mean 'peak_lr'?"),
        (("learning_rate=0.1",), (), "named 'learning_rate': did you mean 'peak_lr'?"),
        (("peek_lr=0.1",), (), "no factor or field of study 'toy' named 'peek_lr': did you mean 'peak_lr'?"),
        (("peak_lr",), (), "write it as NAME=VALUE"),
        (("peak_lr=0.1,",), (), "write it as NAME=VALUE"),
        (("peak_lr=-1",), (), "--set peak_lr=-1: peak_lr = -1: must be greater than 0"),
        (("peak_lr=fast",), (), "must be a number"),
        (("peak_lr=0.1,0.1",), (), "a value stands there twice"),
        (("steps=7", "steps=8"), (), "steps is set twice"),
        (("batch_size=4,8",), (), "no factor of this study, so it takes one value; factors: peak_lr"),
        (("steps=2.5",), (), "must be a whole number"),
        (("examples=none",), (), "must be a whole number"),
        (("heads=3",), (), "must divide width"),
        ((), ("haf",), "no arm of study 'toy' at scale 'laptop' named 'haf': did you mean 'half'?"),
        (("steps=10",), ("none", "half"), "nothing of this differs"),
    ],
)
def test_bad_changes(study: Study, settings: tuple[str, ...], only: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError) as caught:
        vary(study, "laptop", Changes.parse(settings, None, only))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_variation_is_not_varied_again(study: Study) -> None:
    with pytest.raises(UserError, match="is a variation itself"):
        varied(varied(study, "steps=7"), "steps=8")


def test_what_could_not_be_read_again_is_not_made(study: Study) -> None:
    """Its title says that it is a variation; one that became too long was declared, and readers of the store left it out."""
    with pytest.raises(UserError, match=r"a variation of study 'toy': title has 202 characters, more than 200"):
        varied(study.model_copy(update={"title": "t" * 189}), "steps=7")


def test_what_was_varied_is_recorded(study: Study) -> None:
    (change,) = varied(study, "steps=7", seeds=6).changes
    assert change.settings == ("steps = 7", "seeds = 6")
    assert [line for line in change.why if line.startswith("Varied: ")] == [
        "Varied: steps = 7, where the study has 10.",
        "Varied: seeds = 6, where the study has 5.",
    ]


@pytest.mark.parametrize("name", catalog.study_names())
def test_every_study_can_be_varied(name: str) -> None:
    """Each arm alone, and few seeds: what is left is a valid study whose judgements read arms that are there."""
    study = catalog.load_study(name)
    for arm in study.arms_at("smoke")[:3]:
        variation = vary(study, "smoke", Changes(only=(arm,), seeds=1))
        assert list(variation.arms) == [arm]
        for judgement in variation.judgements:
            assert all(arms_of(criterion.observe) <= {arm} for criterion in judgement.criteria)
    assert {"steps", "width", "probes"} <= set(settable(study))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def _stored(study: Study, store: Store) -> None:
    declare(store, study, "laptop", 0)
    stored(study, store, lambda trial: result(bowl(trial, -7, 2.0, noise=0.001)))


def test_a_page_of_its_own_and_no_place_in_the_index(study: Study, store: Store, tmp_path: Path) -> None:
    known = study.model_copy(update={"claims": ()})
    variation = varied(known, seeds=6)
    _stored(variation, store)
    folder, verdicts = write_pages(store, [known, variation], only=[variation.name])
    assert [verdict.verdict for verdict in verdicts[variation.name]]
    assert verdicts[known.name] == [], "nothing of the variation counts as the study's"
    page = (folder / f"{variation.name}.html").read_text()
    assert "not that study as it was declared" in page
    assert variation.name not in (folder / "index.html").read_text()


def test_a_variation_is_found_again_by_its_name(study: Study, store: Store) -> None:
    variation = varied(study, "steps=7")
    _stored(variation, store)
    assert named_study(store, variation.name) == Study.model_validate(json.loads(variation.canonical_json()))
    with pytest.raises(UserError, match=f"did you mean '{variation.name}'"):
        named_study(store, variation.name[:-1] + ("0" if variation.name[-1] != "0" else "1"))


def test_one_that_an_earlier_folklore_declared_spoils_nothing(
    study: Study, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    variation, other = varied(study, "steps=7"), varied(study, "steps=8")
    for variant in (variation, other):
        declare(store, variant, "laptop", 0)
    for name in store.names(f"declared/{other.name}", ""):
        kept = json.loads(store.read(name))
        kept["declared"]["arms"] = {}
        store.write(name, json.dumps(kept).encode())
    assert [stored_study.name for stored_study in stored_studies(store)] == [variation.name]
    assert "declared by another Folklore" in caplog.text
