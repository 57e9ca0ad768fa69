"""`folklore schema --explain`: everything a study can be made of, complete, and with examples that hold."""

import re

import pytest
import yaml
from pydantic import TypeAdapter
from typer.testing import CliRunner

from folklore.harness.declare import Observable, Rule, Spec
from folklore.harness.declare.explanation import RULES, example_of, explained, parts
from folklore.harness.declare.observed import KINDS
from folklore.harness.use.cli import app

CLI = CliRunner()
OBSERVABLES = [*KINDS.values()]
OBSERVED: TypeAdapter[Spec] = TypeAdapter(Observable)
REGION: TypeAdapter[Spec] = TypeAdapter(Rule)


def test_every_observable_and_rule_is_there() -> None:
    printed = CLI.invoke(app, ["schema", "--explain"]).stdout
    schema = OBSERVED.json_schema()
    headings = re.findall(r"^## (\w+)$", printed, flags=re.MULTILINE)
    assert len(OBSERVABLES) == len(schema["discriminator"]["mapping"]) > 30
    assert set(headings) >= schema["discriminator"]["mapping"].keys() | REGION.json_schema()["discriminator"]["mapping"].keys()
    assert len(set(headings)) == len(headings) == sum(map(len, parts().values()))


@pytest.mark.parametrize("spec", [*OBSERVABLES, *RULES])
def test_its_example_is_one(spec: type[Spec]) -> None:
    """Read back from the YAML that is printed, by the union that a criterion has."""
    (line,) = re.findall(r"^    (?:observe|claimed): (.+)$", explained(spec), flags=re.MULTILINE)
    written = yaml.safe_load(line)
    assert written == example_of(spec)
    read = (OBSERVED if spec in OBSERVABLES else REGION).validate_python(written)
    assert type(read) is spec
    assert (OBSERVED if spec in OBSERVABLES else REGION).validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize("spec", OBSERVABLES)
def test_it_is_readable_without_the_source(spec: type[Spec]) -> None:
    text = explained(spec)
    assert re.search(r"^Unit: \S.*\.$", text, flags=re.MULTILINE)
    fields = spec.model_fields.keys() - {"kind"}
    assert set(re.findall(r"^- `(\w+)` \([^;]+; (?:required|default \S.*?)\): \S", text, flags=re.MULTILINE)) == fields
    used = example_of(spec)
    assert used is not None
    assert {name for name, field in spec.model_fields.items() if field.is_required()} <= used.keys()
