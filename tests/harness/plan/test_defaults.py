"""Settings that a study leaves to defaults, and arms that are the same by them."""

from folklore.harness.declare import Study
from folklore.harness.plan.defaults import same_runs, same_runs_in_words
from folklore.studies.kit import compare


def study(a: dict[str, float], b: dict[str, float]) -> Study:
    training = {"optimizer": "sgd", "steps": 100}
    return compare(a, b, metric="test_error", by=0.005, name="momentum_at_all", labels=("a", "b"), training=training)


def test_arms_that_train_the_same_runs_are_named() -> None:
    """SGD has a momentum of 0.9 unless a study says otherwise."""
    same = study({}, {"momentum": 0.9})
    assert same_runs(same) == [["baseline", "candidate"]]
    line = "study 'momentum_at_all': arms 'baseline' and 'candidate' train the same runs: set what tells them apart"
    assert same_runs_in_words(same) == line


def test_arms_that_differ_are_not() -> None:
    assert same_runs_in_words(study({"momentum": 0.0}, {"momentum": 0.9})) == ""
