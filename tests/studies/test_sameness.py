"""Studies and register are to the last letter what they were: rewriting how they are written changes nothing they say."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.declare import Configuration, Measurement, Study, Training, Workload, fingerprint
from folklore.harness.plan.catalog import load_study, register, study_names
from folklore.harness.plan.plan import make_plan
from folklore.harness.train import ENGINE_VERSION

WRITTEN = Path(__file__).with_name("sameness.json")
REGISTER, DEFAULTS = "register", "defaults"
HOW = "FOLKLORE_GOLDEN=write pytest -n 0 tests/studies/test_sameness.py writes it again"
SCALES = {"smoke", "laptop", "gpu", "cluster"}


def _said(name: str) -> dict[str, str | int]:
    """Fingerprints of all that a study declares, texts included, and of the trials of each of its scales; version and hash, by
    which published evidence, verdicts and declarations name it."""
    if name == REGISTER:
        entries = register()
        return {
            part: fingerprint([entry.model_dump(mode="json") for entry in getattr(entries, part)])
            for part in ("documents", "claims", "errata")
        }
    study = load_study(name)
    assert not (missing := SCALES - study.scales.keys()), f"{name} lacks the scales {missing}: studies here have all of them"
    content = study.model_dump(mode="json")
    for part in ("workload", "training", "measurement"):  # a new field is said once it is used
        own = getattr(study, part)
        content[part] = {name: content[part][name] for name in own.FIRST_FIELDS | own.model_dump(exclude_defaults=True).keys()}
    said = {"version": study.version, "hash": study.hash, "declaration": fingerprint(content)}
    return {**said, **{scale: _trials(study, scale) for scale in study.scales}}


def _trials(study: Study, scale: str) -> str:
    """Fingerprint of a plan whose packs hold each of its trials once."""
    plan = make_plan(study, scale, "cpu", "data", lanes=16)
    assert sum(len(pack.trials) for pack in plan.packs) == len(plan.digests)
    return fingerprint([trial.digest for trial in plan.trials])


@pytest.mark.parametrize("name", [REGISTER, *study_names()])
def test_it_says_what_it_said(name: str) -> None:
    said = _said(name)
    before = json.loads(WRITTEN.read_text()).get(name, {})
    if said.get("hash") != before.get("hash") and said.get("version") == before.get("version"):
        raise AssertionError(
            f"{name} decides otherwise than its version {said['version']} did. If you changed it, raise its version. If you"
            " gave studies, arms or criteria a new field, let its default be None, which no hash holds; if you changed a"
            " default, give it back"
        )
    if not _wrote(name, said):
        assert said == before, f"if this is meant, {HOW}"


def test_a_default_means_what_it_meant() -> None:
    """A digest leaves defaults out: once one changes, or its field goes, digests of stored trials mean others. A new field
    joins when this is next written, with the first study that uses it."""
    parts = Configuration(workload=Workload(), training=Training(), measurement=Measurement()).model_dump(mode="json")
    said = {f"{part}.{name}": value for part, fields in parts.items() for name, value in fields.items()}
    before = json.loads(WRITTEN.read_text())[DEFAULTS]
    changed = [name for name, value in before.items() if name != "version" and said.get(name, ...) != value]
    assert not changed or before["version"] != ENGINE_VERSION, (
        f"{changed} had another default: give it back, or raise ENGINE_VERSION (harness/train/__init__.py)"
    )
    if not _wrote(DEFAULTS, {**said, "version": ENGINE_VERSION}):
        assert before["version"] == ENGINE_VERSION, HOW


def _wrote(name: str, said: dict[str, Any]) -> bool:
    """Whether it is asked to write the record, which it then does."""
    write = os.environ.get("FOLKLORE_GOLDEN") == "write"
    if write:
        written = json.loads(WRITTEN.read_text())
        WRITTEN.write_text(json.dumps({**written, name: said}, indent=1, sort_keys=True) + "\n")
    return write
