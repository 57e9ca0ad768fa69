"""The Python interface: the command's results as objects, documented column by column."""

import json
import pkgutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from folklore import harness
from folklore.harness import columns, curves, load_study, run, trials, verdicts
from folklore.harness.declare import Study, canonical_json
from folklore.harness.errors import UserError
from folklore.harness.judge.trial_sets import stored_sets
from folklore.harness.plan.store import trial_schema
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import INITIAL_LOSS, bowl, changed, planned, result, rows, stored


@pytest.fixture
def store(study: Study, tmp_path: Path) -> str:
    """A store with all trials of the toy study, one of them diverged."""

    def outcome(trial):
        if trial.arm == "none" and trial.seed == 0 and trial.configuration.training.peak_lr > 2.0**-6:
            return result(float("nan"), divergence_step=3)
        loss = bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001)
        return result(loss, step=[5.0, 10.0], train_loss=[3.0, 2.0], lr=[0.1, 0.2])

    stored(study, Store(str(tmp_path)), outcome)
    return str(tmp_path)


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'torch', 'pandas', 'ray', 'mlflow', 'pydantic'}"
    code = (
        f"import json, sys, folklore.harness as harness; assert not {heavy} & set(sys.modules); print(json.dumps(dir(harness)))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert set(harness.__all__) <= set(json.loads(done.stdout))


def test_the_names_are_functions_whatever_was_imported_before() -> None:
    """A module of the same name would take the place of one as soon as it is imported."""
    for room in pkgutil.iter_modules(harness.__path__):
        assert room.name not in harness.__all__
    assert all(callable(getattr(harness, name)) for name in harness.__all__)
    with pytest.raises(AttributeError, match="no attribute 'trails'"):
        harness.trails  # noqa: B018


def test_trials_are_tidy_and_every_column_is_documented(study: Study, store: str) -> None:
    table = trials(study, "laptop", store)
    assert len(table) == table["digest"].nunique() == 50
    assert set(table["source"]) == {"this store"}
    assert not {column.name for column in trial_schema.COLUMNS if column.name not in trial_schema.SUMMARY} & {*table}
    for name in table:
        about = table.attrs["columns"][name]
        assert about["description"], name
        assert not any(isinstance(value, list | dict | np.ndarray) for value in table[name]), f"{name} holds more than a value"
    assert table.attrs["columns"]["test_loss"]["unit"] == "nats"
    assert table["peak_lr"].nunique() == 5


def test_losses_are_there_as_they_are_judged(study: Study, store: str) -> None:
    """The raw loss of a diverged run is nan, and a mean over pandas' nan leaves it out: the judge counts it."""
    table = trials(study, "laptop", store)
    diverged = table[table["outcome"] == "diverged"]
    assert diverged["test_loss"].isna().all()
    assert (diverged["judged_loss"] == INITIAL_LOSS).all()
    assert (diverged["judged_validation_loss"] == INITIAL_LOSS).all()
    others = table[table["outcome"] != "diverged"]
    assert (others["judged_loss"] == others["test_loss"]).all()
    (records,) = stored_sets(study, Ledger(Store(store), study.name))
    for arm in study.arms:
        judged = records.table.losses(arm, "peak_lr", "test_loss")
        rows = table[table["arm"] == arm].sort_values(["peak_lr", "seed"])
        assert rows["judged_loss"].tolist() == judged.ravel().tolist(), "equal to what the judge reads"


def test_dates_are_dates(study: Study, store: str) -> None:
    table = trials(study, "laptop", store)
    assert str(table["finished_at"].dtype).endswith(", UTC]")
    assert table["finished_at"].max() - table["finished_at"].min() < pd.Timedelta(hours=1)
    assert str(trials(study, store=store, source="published")["finished_at"].dtype).endswith(", UTC]"), "without rows, too"


def test_the_configuration_is_columns(study: Study, store: str) -> None:
    table = trials(study, "laptop", store)
    for _, trial in table.iterrows():
        parts = json.loads(trial["configuration"])
        for name, value in {**parts["workload"], **parts["training"], **parts["measurement"]}.items():
            there = trial[name]
            assert pd.isna(there) if value is None else there == (tuple(value) if isinstance(value, list) else value), name
    assert table.groupby("warmup_fraction")["arm"].unique().map(list).to_dict() == {0.0: ["none"], 0.5: ["half"]}
    assert table["clip_norm"].dtype == table["peak_lr"].dtype == float
    assert table["width"].dtype == int
    about = table.attrs["columns"]
    assert about["batch_size"] == {"unit": "sequences or examples", "description": "training: sequences a step"}
    assert about["peak_lr"]["description"] == "factor of the study: peak LR"


def test_a_field_that_came_later_than_a_trial_has_its_default(study: Study, tmp_path: Path) -> None:
    made = rows(study, planned(study).trials, lambda trial: result(2.0))
    older = []
    for text in made.column("configuration").to_pylist():
        parts = json.loads(text)
        del parts["measurement"]["solo"], parts["training"]["patience"]
        older.append(canonical_json(parts))
    at = made.column_names.index("configuration")
    Ledger(Store(str(tmp_path)), study.name).write("pack", made.set_column(at, "configuration", [older]))
    table = trials(study, "laptop", str(tmp_path))
    assert set(table["solo"]) == {False}
    assert set(table["patience"]) == {4}


def test_every_stored_column_is_documented() -> None:
    assert list(columns().index[: len(trial_schema.SCHEMA)]) == trial_schema.SCHEMA.names
    assert columns()["description"].str.len().min() > 4
    assert columns().index.is_unique
    assert columns("warmup").index.is_unique
    assert {"nats, of a squared error none", "s", "bytes"} <= set(columns()["unit"])
    assert {"nats", "s", "bytes"} <= set(columns("warmup")["unit"])
    assert not [unit for unit in columns("edge_of_stability")["unit"] if "nats" in unit], "all its losses are squared errors"
    assert "peak_lr" in columns("decay").index


def test_curves_are_long_and_belong_to_their_steps(study: Study, store: str) -> None:
    table = curves(study, "train_loss", "laptop", store)
    assert table[["step", "value"]].drop_duplicates().to_numpy().tolist()[:2] == [[5.0, 3.0], [10.0, 2.0]]
    assert table.attrs["columns"]["value"]["unit"] == "nats"
    assert table["digest"].nunique() == 50
    with pytest.raises(UserError, match="did you mean 'train_loss'"):
        curves(study, "trainloss", "laptop", store)


def test_verdicts_are_those_of_the_command_and_show_as_a_table(study: Study, store: str) -> None:
    outcomes = verdicts(study, "laptop", store)
    (verdict,) = outcomes
    assert (verdict.claim, verdict.verdict) == ("warmup.improves_best", "supported")
    assert outcomes.of("warmup.improves_best") == [verdict]
    frame = outcomes.frame()
    assert frame.loc[0, ["verdict", "unit", "seeds"]].tolist() == ["supported", "relative", 5]
    assert outcomes._repr_html_().count("<tr") == 2
    assert str(outcomes) == f"warmup.improves_best: supported. {verdict.plain_answer}"
    with pytest.raises(UserError, match=r"did you mean 'warmup\.improves_best'"):
        outcomes.of("warmup.improves")


def test_what_a_study_says_is_escaped_where_it_is_shown(study: Study, store: str) -> None:
    shown = study._repr_markdown_()
    assert "\\<b\\>it" in shown
    assert "| `none` | no \\<warmup\\> |" in shown
    outcomes = verdicts(study, "laptop", store)
    outcomes[0] = type(outcomes[0])(**{**vars(outcomes[0]), "reason": "<script>alert(1)</script>"})
    assert "<script>" not in outcomes._repr_html_()


def test_published_trials_stand_in_where_the_store_has_none(tmp_path: Path) -> None:
    table = trials("warmup", "laptop", str(tmp_path))
    assert set(table["source"]) == {"published"}
    assert len(table) > 500
    assert trials("warmup", "laptop", str(tmp_path), source="stored").empty
    assert len(verdicts("warmup", "laptop", str(tmp_path), source="published")) == len(load_study("warmup").judgements)


def test_a_frame_without_rows_has_its_columns_all_the_same(study: Study, tmp_path: Path) -> None:
    assert {"digest", "test_loss", "source"} <= set(trials(study, store=str(tmp_path)))
    assert {"step", "value"} <= set(curves(study, store=str(tmp_path)))
    assert verdicts(study, store=str(tmp_path)).frame().empty


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"study": "warmpu"}, "did you mean 'warmup'"),
        ({"study": "warmup", "scale": "labtop"}, "did you mean 'laptop'"),
        ({"study": "warmup", "device": "cdua"}, "did you mean 'cuda'"),
        ({"study": "warmup", "source": "publish"}, "did you mean 'published'"),
    ],
)
def test_what_is_not_there(arguments: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        trials(**arguments, store=str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers = 0: must be at least 1"),
        ({"settings": {"peek_lr": 0.1}}, "did you mean 'peak_lr'"),
        ({"only": ["haf"]}, "did you mean 'half'"),
        ({"scale": "labtop"}, "did you mean 'laptop'"),
    ],
)
def test_a_run_that_cannot_be(study: Study, tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        run(study, **{"scale": "smoke", **arguments}, store=str(tmp_path))
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_run_is_refused_where_ray_cannot_be_ours(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Running:
        @staticmethod
        def is_initialized() -> bool:
            return True

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ray", Running)
        with pytest.raises(UserError, match="has a Ray running already"):
            run(study, "smoke", str(tmp_path))
    refused: list[BaseException] = []

    def elsewhere() -> None:
        try:
            run(study, "smoke", str(tmp_path))
        except UserError as error:
            refused.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "from the main thread" in str(refused[0])


def test_factors_of_a_scale_alone_are_documented_too(study: Study, tmp_path: Path) -> None:
    varied = changed(study, {"scales.laptop.factors": {"weight_decay": (0.0, 0.1)}}, judgements=())
    stored(varied, Store(str(tmp_path)), lambda trial: result(bowl(trial, -7, 2.0)))
    table = trials(varied, "laptop", str(tmp_path))
    assert set(table["weight_decay"]) == {0.0, 0.1}
    assert table.attrs["columns"]["weight_decay"]["description"].startswith("factor of the study")
