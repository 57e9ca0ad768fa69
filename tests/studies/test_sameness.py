"""Studies and register are to the last letter what they were: rewriting how they are written changes nothing they say.

What is meant to change is written down again by `FOLKLORE_GOLDEN=write pytest tests/studies/test_sameness.py`.
"""

import json
import os
from pathlib import Path

import pytest

from folklore.harness.planning.catalog import load_study, register, study_names
from folklore.harness.planning.plan import make_plan
from folklore.harness.spec import Study, fingerprint

WRITTEN = Path(__file__).with_name("sameness.json")
REGISTER = "register"


def _said(name: str) -> dict[str, str]:
    """What stands for all that a study declares, texts included, and for the trials of each of its scales."""
    if name == REGISTER:
        found = register()
        return {
            part: fingerprint([each.model_dump(mode="json") for each in getattr(found, part)])
            for part in ("documents", "claims", "errata")
        }
    study = load_study(name)
    assert {"smoke", "laptop", "gpu", "cluster"} <= study.scales.keys()
    return {"declaration": fingerprint(study.canonical_json()), **{scale: _trials(study, scale) for scale in study.scales}}


def _trials(study: Study, scale: str) -> str:
    """Of a plan whose packs hold each of its trials once."""
    plan = make_plan(study, scale, "cpu", "data", lanes=16)
    assert sum(len(pack.trials) for pack in plan.packs) == len(plan.digests)
    return fingerprint([each.digest for each in plan.trials])


@pytest.mark.parametrize("name", [REGISTER, *study_names()])
def test_it_says_what_it_said(name: str) -> None:
    said = _said(name)
    written = json.loads(WRITTEN.read_text()) if WRITTEN.exists() else {}
    if os.environ.get("FOLKLORE_GOLDEN") == "write":
        WRITTEN.write_text(json.dumps({**written, name: said}, indent=1, sort_keys=True) + "\n")
        return
    assert said == written[name]
