"""The recipe says what is trained and how: of a study, of a trial, and on a page."""

import itertools
import json
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from folklore.harness.declare import Study
from folklore.harness.declare.configuration import SamplingName
from folklore.harness.plan import catalog
from folklore.harness.plan.plan import points
from folklore.harness.plan.recipe import study_recipe, trial_recipe
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.procedures import SAMPLINGS
from folklore.harness.use.cli import app
from tests.harness.helpers import changed, planned, result, rows

CLI = CliRunner()


def test_of_a_study_whose_arms_differ() -> None:
    study = catalog.load_study("warmup")
    recipe = study_recipe(study, "laptop")
    assert recipe["model"] == "gpt, width 16, depth 1, 2 heads, context 16 tokens"
    assert recipe["data"] == "python-docs"
    assert "in held: 420 steps of 8 × 16 tokens: 53,760 tokens, 16 a parameter" in recipe["training"]
    assert recipe["schedule"] == "cosine decay to 10% of the peak"
    assert "in warmup_10%: over the first 10% of the steps" in recipe["linear warmup"]
    assert "in held: held at zero over the first 4.76% of the steps" in recipe["linear warmup"]
    assert "in sgd: 6 values from 2^-2 to 2^0" in recipe["peak LR"]
    assert "in sgd, sgd_warmup_20%: sgd, momentum 0.9" in recipe["optimizer"]
    last = study.first_seed + study.seeds_at("laptop") - 1
    assert recipe["seeds"].startswith(f"{study.seeds_at('laptop')}, numbered {study.first_seed} to {last}")


def test_of_a_search() -> None:
    recipe = study_recipe(catalog.load_study("overfitting"), "laptop")
    levers = (
        "in clean_dropout, noisy_dropout, text_dropout: dropout tuned by Optuna (tpe) from 0 to 0.9: 9 proposals in 3 rounds"
    )
    assert recipe["search"].startswith("none; ")
    assert levers in recipe["search"]
    tuned = study_recipe(catalog.load_study("optimizer_generalization"), "laptop")["peak LR"]
    assert "in mlp_sgd, mlp_adam, mlp_adamw" in tuned
    assert ": tuned by Optuna (tpe) from 2^-11 to 2^1: 16 proposals in 4 rounds" in tuned


@pytest.mark.parametrize("name", catalog.study_names())
def test_trials_that_train_differently_have_different_recipes(name: str) -> None:
    """Nothing that is trained differently may read the same."""
    study = catalog.load_study(name)
    for scale in study.scales:
        by_recipe: dict[str, object] = {}
        settings = [*points(study, scale), *((arm, {}) for arm in study.arms_at(scale))]
        for arm, point in settings:
            configuration = study.configuration(scale, arm, point)
            recipe = json.dumps(trial_recipe(configuration))
            trained = (configuration.workload, configuration.training)
            assert by_recipe.setdefault(recipe, trained) == trained, recipe


def test_another_factor_is_told_by_all_its_values(study: Study) -> None:
    both = changed(study, factors={**study.factors, "batch_size": (4, 8)}, judgements=())
    assert study_recipe(both, "laptop")["training"] == (
        "10 steps of 4 × 8 tokens: 320 tokens, 0.36 a parameter without embeddings"
        " / 10 steps of 8 × 8 tokens: 640 tokens, 0.72 a parameter without embeddings"
    )


def test_every_sampling_has_words() -> None:
    assert set(SAMPLINGS) == set(get_args(SamplingName))
    assert len({sampling.said for sampling in SAMPLINGS.values()}) == len(SAMPLINGS)


def test_batches_that_are_not_chosen_or_differentiated_as_usual(study: Study) -> None:
    usual = "10 steps of 4 × 8 tokens: 320 tokens, 0.36 a parameter without embeddings"
    for settings, words in (
        ({}, ""),
        ({"sampling": "epochs"}, ", every example once an epoch in a random order"),
        ({"micro_batches": 2}, ", 2 micro-batches a step"),
        ({"sampling": "full", "micro_batches": 4}, ", all training examples at every step, 4 micro-batches a step"),
    ):
        variant = changed(study, {f"training.{name}": value for name, value in settings.items()})
        assert study_recipe(variant, "laptop")["training"] == usual + words


def test_it_stands_in_plan_show_and_on_the_page(study: Study, tmp_path: Path) -> None:
    file, store = tmp_path / "toy.json", Store(str(tmp_path / "s"))
    file.write_text(study.canonical_json())
    trials = planned(study).trials
    Ledger(store, "toy").write("x", rows(study, trials, lambda _: result(2.0), "x"))
    line = "10 steps of 4 × 8 tokens: 320 tokens, 0.36 a parameter without embeddings"
    plan = ["plan", str(file), "--scale", "laptop", "--store", store.uri]
    assert line in CLI.invoke(app, plan).stdout
    assert json.loads(CLI.invoke(app, [*plan, "--json"]).stdout)["recipe"]["training"] == line
    show = ["show", trials[0].digest, "--store", store.uri]
    shown = CLI.invoke(app, show).stdout
    assert all(text in shown for text in itertools.chain.from_iterable(trial_recipe(trials[0].configuration).items()))
    assert json.loads(CLI.invoke(app, [*show, "--json"]).stdout)["recipe"]["training"] == line
