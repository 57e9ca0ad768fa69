"""Malformed and hostile studies: each is refused in one line that names field or rule, and nothing is written."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from folklore.harness.declare import Spec, Study, study_file
from folklore.harness.errors import UserError
from folklore.harness.plan.catalog import judgeable, load_study, study_names
from folklore.harness.use.cli import app
from tests.harness.malformed import BY_SCHEMA, NO_STUDIES, ODD_CHARACTERS, TEXTS, VALUES, bomb, malformed, paths

# In CI the same examples every time.
SAME = "CI" in os.environ
ANY_TIME = settings(
    max_examples=150, deadline=None, derandomize=SAME, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ANY_TIME
@given(data=st.data(), suffix=st.sampled_from([".json", ".json", ".yaml"]))
def test_what_the_schema_refuses_is_refused_in_one_line(data: st.DataObject, suffix: str, study: Study, tmp_path: Path) -> None:
    """One place is wrong at most: a study that is taken all the same is one by its schema, and nothing in it is ignored."""
    content = data.draw(malformed(json.loads(study.canonical_json())))
    path = tmp_path / f"study{suffix}"
    text = json.dumps(content) if suffix == ".json" else yaml.safe_dump(content, allow_unicode=True)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        taken = judgeable(load_study(str(path)))
    except UserError:
        refusal = refused_by_command("plan", str(path), store=tmp_path / "store")
        assert 10 < len(refusal) < 4000
    else:
        assert list(BY_SCHEMA.iter_errors(content)) == []
        assert paths(content) - paths(taken.model_dump(mode="json")) == set()


@ANY_TIME
@given(content=VALUES | st.fixed_dictionaries({"claims": VALUES}) | st.lists(TEXTS, min_size=1, max_size=2))
def test_a_file_that_holds_no_claims_is_refused_in_one_line(content: Any, tmp_path: Path) -> None:
    runs, claims = tmp_path / "runs.csv", tmp_path / "claims.yaml"
    runs.write_text("arm,seed,loss\n" + "".join(f"{arm},{seed},{seed}\n" for arm in "ab" for seed in range(5)))
    claims.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8", errors="surrogatepass")
    called = CliRunner().invoke(app, ["judge", str(runs), "--claims", str(claims)])
    assert called.exit_code == 2, (called.output, called.exception)
    assert called.stderr.strip().isprintable(), called.stderr


@pytest.mark.parametrize(("suffix", "content"), NO_STUDIES)
def test_a_file_that_is_no_study(suffix: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"study{suffix}"
    path.write_bytes(content)
    refused_by_command("run", str(path), store=tmp_path / "store")


def refused_by_command(*arguments: str, store: Path) -> str:
    """The one line of a command that ends with 2 and leaves no store."""
    called = CliRunner().invoke(app, [*arguments, "--store", str(store)])
    assert called.exit_code == 2, (arguments, called.output, called.exception)
    assert len(called.stderr.strip().splitlines()) == 1, (arguments, called.stderr)
    assert called.stderr.strip().isprintable(), called.stderr
    assert not store.exists(), arguments
    return called.stderr.strip()


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("kind", ["zero", "pipe", "folder", "socket", "circle"])
def test_what_is_no_regular_file_is_not_opened(suffix: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose size is 0 and whose content has no end, a pipe that nobody writes to."""
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    path = tmp_path / f"study{suffix}"
    words = "and no regular file; copy what it holds into one"
    if kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    else:
        path.symlink_to(path)
        words = "cannot be read (Too many levels of symbolic links); give another file"
    assert words in refused_by_command("plan", str(path), store=tmp_path / "store")


def test_a_file_too_large_to_be_a_study(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(study_file.LARGEST_STUDY + 1)
    with pytest.raises(UserError, match="larger than 8 MB"):
        load_study(str(path))


@pytest.mark.parametrize(
    ("suffix", "content", "finding"),
    [
        (".yaml", bomb("a: &a [x, x, x, x, x, x, x, x, x]", "[{}]"), "more than 100000 values, which no study has; shorten it"),
        (".yaml", bomb("a: &a {x1: 1, x2: 2, x3: 3}", "{{<<: [{}]}}"), "more than 100000 values"),
        (".json", b"[" + b"1," * 100_000 + b"1]", "more than 100000 values"),
        (".yaml", b"&a [*a]\n", "an alias stands for a value that holds it"),
        (".yaml", b"version: " + b"1:" * 1_000 + b"1\n", "a number of 2001 characters"),
        (".yaml", b"name: a\nname: b\n", "key 'name' stands twice; keep one of them"),
        (".yaml", b"name: a\n'name': b\n", "key 'name' stands twice; keep one of them"),
        (".json", b'{"name": "a", "name": "b"}', "key 'name' stands twice in one object; keep one of them"),
        (".json", b'{"arms": {"a": {}, "a": {}}}', "key 'a' stands twice in one object"),
        (".yaml", b"version: !!bool x\n", "a value is none of what its tag says); fix it"),
        (".yaml", b"version: 010\n", "'010' is an octal in YAML, 8; write 8, or put a text into quotes"),
        (".yaml", b"seeds: 1:30\n", "'1:30' is to the base of 60 in YAML, 90; write 90"),
        (".yaml", b"seeds: 1:30.5\n", "'1:30.5' is to the base of 60 in YAML, 90.5; write 90.5"),
        (".json", b'{"version": ' + b"9" * 5000 + b"}", "integer string conversion"),
    ],
)
def test_files_that_grow_or_say_two_things(suffix: str, content: bytes, finding: str, tmp_path: Path) -> None:
    path = tmp_path / f"study{suffix}"
    path.write_bytes(content)
    assert finding in refused_by_command("plan", str(path), store=tmp_path / "store")


def _changed(study: Study, path: str, value: Any) -> dict[str, Any]:
    """A plain study with another value at a path of keys."""
    content = plain = json.loads(study.canonical_json())
    *above, last = path.split("/")
    for key in above:
        content = content[key]
    content[last] = value
    return dict(plain)


def _claim(name: str) -> list[dict[str, Any]]:
    source = {"document": "TB", "section": "2"}
    return [{"id": name, "kinds": ["empirical"], "paraphrase": "it helps", "sources": [source], "measure": "a gap"}]


@pytest.mark.parametrize(
    ("path", "value", "finding"),
    [
        ("claims", _claim("own/claim"), "claims.0.id = 'own/claim': String should match pattern"),
        ("claims", _claim("../own.claim"), "should match pattern"),
        ("claims", _claim("own." + "x" * 300), "should have at most 80 characters"),
        ("title", "x" * 201, "title has 201 characters, more than 200; shorten it"),
        ("arms/none/label", "x" * 201, "label has 201 characters, more than 200; shorten it"),
        ("departures", ["x" * 5000], "departures has 5000 characters, more than 4000; shorten it"),
        ("training/peak_lr", 1e39, "peak_lr = 1e+39: FP32, in which it is trained, holds 1.18e-38 to 3.4e+38, or 0"),
        ("factors/peak_lr", [1e-50, 1e-3, 1e-2], "peak_lr = 1e-50: FP32"),
        ("training/peak_lr", int("9" * 390), "peak_lr"),
        ("factors/peak_lr", [int("9" * 390)], "peak_lr"),
        ("version", int("9" * 390), "version"),
        ("arms/none/settings", {"peak_lr": int("9" * 390)}, "peak_lr"),
    ],
)
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_values_beyond_what_is_held_or_shown(
    path: str, value: Any, finding: str, suffix: str, study: Study, tmp_path: Path
) -> None:
    content = _changed(study, path, value)
    file = tmp_path / f"study{suffix}"
    file.write_text(json.dumps(content) if suffix == ".json" else yaml.safe_dump(content))
    said = refused_by_command("plan", str(file), store=tmp_path / "store")
    assert finding in said
    assert len(said) < 1200, said


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_file_that_names_code_imports_none(
    command: str, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hostile.py").write_text("open('imported', 'w')\n")
    content = json.loads(study.canonical_json()) | {
        "workload": {"model": "own", "dataset": "own:hostile:workload@0123456789abcdef"}
    }
    (tmp_path / "study.json").write_text(json.dumps(content))
    called = CliRunner().invoke(app, [command, "study.json", "--store", "store"])
    assert called.exit_code == 2
    way_out = "never imported because a file or a store names it; if you trust it, give --workload hostile:workload"
    assert way_out in called.stderr
    assert not (tmp_path / "imported").exists()


def test_a_file_makes_no_object(tmp_path: Path) -> None:
    made, path = tmp_path / "made", tmp_path / "study.yaml"
    path.write_text(f"!!python/object/apply:os.mkdir ['{made}']\n")
    with pytest.raises(UserError):
        load_study(str(path))
    assert not made.exists()


def test_values_are_counted_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_file, "MOST_VALUES", 10)
    for text, taken in (
        ("- 1\n" * 9, True),
        ("- 1\n" * 10, False),
        ("- &a [1, 2]\n- *a\n- *a", True),
        ("- &a [1]\n" + "- *a\n" * 4, False),
    ):
        path = tmp_path / "study.yaml"
        path.write_text(text)
        if taken:
            study_file.read_study_file(path)
        else:
            with pytest.raises(UserError, match="more than 10 values"):
                study_file.read_study_file(path)


def test_yaml_that_is_meant_so_is_read(tmp_path: Path) -> None:
    """Merged keys may be given again, aliases may repeat, and a byte order mark is passed over."""
    path = tmp_path / "study.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: &a {x: 1, y: 1}\nb: {<<: *a, x: 2}\nc: {<<: [*a, {z: 3}], x: 3}\nd: [*a, *a]\n")
    a = {"x": 1, "y": 1}
    assert study_file.read_study_file(path) == {"a": a, "b": {"x": 2, "y": 1}, "c": {"x": 3, "y": 1, "z": 3}, "d": [a, a]}


@pytest.mark.parametrize("name", ["warmup", "warmup_varied_0123abcd", "warmup_own_0123abcd"])
def test_the_name_of_a_study_that_is_there(name: str, study: Study, tmp_path: Path) -> None:
    """Its page and its declaration would be written over."""
    path = tmp_path / "study.json"
    path.write_text(study.model_copy(update={"name": name}).canonical_json())
    for command in ("plan", "run"):
        message = refused_by_command(command, str(path), store=tmp_path / "store")
        assert message.endswith("whose page and declaration it would overwrite; choose another name")


def test_a_study_that_is_there_and_changed() -> None:
    """In Python, without a file."""
    assert judgeable(load_study("warmup")).name == "warmup"
    with pytest.raises(UserError, match="study 'warmup': name = warmup: is a built-in study's"):
        judgeable(load_study("warmup").model_copy(update={"title": "Mine"}))


@pytest.mark.parametrize("odd", ODD_CHARACTERS)
def test_texts_that_cannot_be_shown(odd: str, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    content = json.loads(study.canonical_json())
    path.write_text(json.dumps(content | {"question": f"Does it{odd}?"}))
    message = refused_by_command("plan", str(path), store=tmp_path / "store")
    assert f"question holds U+{ord(odd[0]):04X}, which cannot be shown as it is; take it out" in message


def specs_in(value: object) -> Iterator[Spec]:
    if isinstance(value, Spec):
        yield value
    inside = vars(value).values() if isinstance(value, Spec) else value.values() if isinstance(value, dict) else value
    for part in inside if isinstance(value, Spec | dict | tuple) else ():
        yield from specs_in(part)


def test_no_field_of_any_spec_takes_them() -> None:
    """Any field that holds a text, alone, in a list or in a mapping; one spec of each kind in the catalogue's studies."""
    specs = {type(spec): spec for name in study_names() for spec in specs_in(load_study(name))}
    assert len(specs) > 60
    for kind, spec in specs.items():
        for field in kind.model_fields:
            for value in ("\x1b[31m", ("\x1b[31m",), {"\x1b[31m": 1}):
                with pytest.raises(ValidationError):
                    kind.model_validate({**vars(spec), field: value})


def test_texts_of_any_language_stand(study: Study) -> None:
    question = "Hilft das? Ça marche ? 効きますか。 می‌خواهم 👩‍🔬 [/b] <b>\n\tα ≥ 2"
    assert Study.model_validate(json.loads(study.canonical_json()) | {"question": question}).question == question


def test_a_study_too_large_to_be_planned(study: Study) -> None:
    content = json.loads(study.canonical_json()) | {"judgements": []}
    many_scales = {f"s{index}": content["scales"]["smoke"] | {"seeds": 505} for index in range(200)}
    for changes in ({"seeds": 10_000, "factors": {"peak_lr": [1e-5 * n for n in range(1, 52)]}}, {"scales": many_scales}):
        with pytest.raises(ValidationError, match="trials at all scales together: must be at most 1000000; take fewer seeds"):
            Study.model_validate(content | changes)


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "\udcff.json"),
        ("plan", "warmup", "--scale", "\udcff"),
        ("plan", "warmup", "--data", "python-docs=text:/\udcff"),
        ("run", "warmup", "--only", "\udcff"),
    ],
)
def test_arguments_that_are_not_utf8(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert "is not UTF-8; rename it" in refused_by_command(*arguments, store=tmp_path / "store")
