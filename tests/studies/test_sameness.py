"""Studies and register are to the last letter what they were: rewriting how they are written changes nothing they say."""

import json
import os
from pathlib import Path

import pytest

from folklore.harness.declare import Study, fingerprint
from folklore.harness.plan.catalog import load_study, register, study_names
from folklore.harness.plan.plan import make_plan

WRITTEN = Path(__file__).with_name("sameness.json")
REGISTER = "register"
SCALES = {"smoke", "laptop", "gpu", "cluster"}


def _said(name: str) -> dict[str, str | int]:
    """What stands for all that a study declares, texts included, and for the trials of each of its scales; version and hash, by
    which published evidence, verdicts and declarations name it."""
    if name == REGISTER:
        found = register()
        return {
            part: fingerprint([each.model_dump(mode="json") for each in getattr(found, part)])
            for part in ("documents", "claims", "errata")
        }
    study = load_study(name)
    assert not (missing := SCALES - study.scales.keys()), f"{name} lacks the scales {missing}: studies here have all of them"
    said = {"version": study.version, "hash": study.hash, "declaration": fingerprint(study.canonical_json())}
    return {**said, **{scale: _trials(study, scale) for scale in study.scales}}


def _trials(study: Study, scale: str) -> str:
    """Of a plan whose packs hold each of its trials once."""
    plan = make_plan(study, scale, "cpu", "data", lanes=16)
    assert sum(len(pack.trials) for pack in plan.packs) == len(plan.digests)
    return fingerprint([each.digest for each in plan.trials])


@pytest.mark.parametrize("name", [REGISTER, *study_names()])
def test_it_says_what_it_said(name: str) -> None:
    said = _said(name)
    written = json.loads(WRITTEN.read_text()) if WRITTEN.exists() else {}
    before = written.get(name, {})
    if said.get("hash") != before.get("hash") and said.get("version") == before.get("version"):
        raise AssertionError(f"{name} decides otherwise than its version {said['version']} did: raise its version")
    if os.environ.get("FOLKLORE_GOLDEN") == "write":
        WRITTEN.write_text(json.dumps({**written, name: said}, indent=1, sort_keys=True) + "\n")
        return
    assert said == before, "if this is meant, FOLKLORE_GOLDEN=write pytest -n 0 tests/studies/test_sameness.py writes it again"
