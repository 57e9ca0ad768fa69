from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from pydantic import ValidationError
from tokenizers import Tokenizer

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.errors import UserError
from folklore.harness.train.workloads import data, workload_of
from folklore.harness.train.workloads.data import bpe, text
from tests.harness.train.workloads.data.conftest import source

DOCS = text.python_documentation()


def decoded(tokens: np.ndarray) -> bytes:
    return bpe.vocabulary("bpe-512").decode(tokens.tolist()).encode()


def test_a_study_may_name_what_is_shipped() -> None:
    field = Workload.model_fields["tokenizer"]
    assert get_args(field.annotation) == (text.BYTES, *bpe.SIZES)
    assert field.default == text.BYTES


@pytest.mark.parametrize("name", bpe.SIZES)
def test_every_text_can_be_read_back(name: str) -> None:
    """All bytes that UTF-8 has, none of them a token that stands for anything unknown."""
    tokenizer = bpe.vocabulary(name)
    assert sorted(tokenizer.get_vocab().values()) == list(range(bpe.SIZES[name]))
    characters = [
        chr(code) for code in (*range(0x2000), 0xFFFD, *range(0x10000, 0x110000, 0x1000)) if not 0xD800 <= code < 0xE000
    ]
    for written in ("".join(characters), "  \t\n\n x", "<unk>", "", "def f(x):\n    return x\r\n"):
        assert tokenizer.decode(bpe.encode(name, [written.encode()]).tolist()) == written


def test_training_gives_the_form_of_the_shipped_vocabulary() -> None:
    """The same one from the same text, as many tokens, the most common pair first, and no other settings."""
    once, again = (bpe.trained("bpe-512", [DOCS[:100_000], DOCS[100_000:200_000]]) for _ in range(2))
    assert once == again
    assert Tokenizer.from_str(once).get_vocab_size() == 512
    assert Tokenizer.from_str(once).id_to_token(256) == "ĠĠ", "indentation"
    shipped = bpe.shipped("bpe-512").read_text()
    assert once[: once.index('"vocab"')] == shipped[: shipped.index('"vocab"')]


def test_blocks_of_a_text_are_held_out_with_whole_characters(tmp_path: Path) -> None:
    written = "".join(f"{number} é€𝄞 = value\n" for number in range(20_000))
    (tmp_path / "a.txt").write_text(written)
    name = f"text:{tmp_path / 'a.txt'}"
    content, read = written.encode(), data.load(name, "bpe-512")
    assert isinstance(read, text.Text)
    for block, split in ((4, "validation"), (9, "test")):
        first = content[block * text.BLOCK_BYTES :]
        assert decoded(read.splits[split]).startswith(first.decode(errors="ignore")[:500].encode())
    assert len(b"".join(decoded(tokens) for tokens in read.splits.values())) == len(content)
    assert read.facts.classes == 512
    assert read.facts.hash not in ("", data.load(name).facts.hash)
    assert read.facts.contents == data.load(name).facts.contents == "1 files read"
    assert read.arrays("train")[0].max() < 512


def test_several_texts_have_as_many_tokens() -> None:
    """The shorter one is used whole, in every split, and no window of a task reaches into another one."""
    one, other = source(0, 4000), DOCS
    read, alone = (text.tokenize("x", *texts, tokenizer="bpe-512") for texts in ((one, other), (other,)))
    for split, tokens in read.splits.items():
        half = len(tokens) // 2
        assert read.tasks_of(split, 2, 8)[half] == 1
        assert (tokens[half:] == alone.splits[split][:half]).all()


def test_bytes_stay_what_they_were() -> None:
    """Their numbers are those that occur, in order, whether a tokenizer is named or not."""
    symbols = np.unique(np.frombuffer(DOCS, np.uint8))
    read = data.load("python-docs", "bytes")
    assert isinstance(read, text.Text)
    assert symbols[read.splits["train"]].tobytes()[: 4 * text.BLOCK_BYTES] == DOCS[: 4 * text.BLOCK_BYTES]
    assert read.facts == data.load("python-docs").facts
    assert read.facts.classes == len(symbols)


@pytest.mark.parametrize("name", ["digits", "markov:8", "regression:4"])
def test_what_is_no_text_has_no_tokens(name: str) -> None:
    with pytest.raises(UserError, match=f"tokenizer = bpe-512: dataset '{name}' is no text .*; leave it out"):
        data.load(name, "bpe-512")
    assert data.load(name).facts.hash
    with pytest.raises(UserError, match="no such file"):
        data.load("text:/no/such", "bpe-512")


def test_a_model_has_as_many_classes() -> None:
    """For data that are here and for those that a user is still to give; other models have no tokens."""
    workload = Workload(dataset="python-docs", width=8, heads=2, tokenizer="bpe-512")
    rows = {
        parameter.name: parameter.shape
        for parameter in workload_of(workload).model(workload_of(workload).data().facts).parameters
    }
    assert rows["embedding.token.weight"] == (512, 8)
    assert data.describe("web-text", "bpe-512").classes == 512
    assert data.describe("web-text").classes == 256
    with pytest.raises(ValidationError, match="tokenizer = bpe-512: is of gpt, and model = mlp; leave it out"):
        Workload(model="mlp", dataset="digits", tokenizer="bpe-512")


def test_epochs_are_of_what_is_trained_on() -> None:
    """Tokens of a text, examples of others, of the part that is trained on; a batch that grows counts."""
    read = text.tokenize("x", DOCS[:41_000])
    tokens = len(read.splits["train"])

    def epochs(dataset: data.Dataset, workload: Workload, **fields: object) -> float:
        training = Training.model_validate({"batch_size": 8, "steps": 100, **fields})
        return data.epochs_of(Configuration(workload=workload, training=training, measurement=Measurement()), dataset)

    gpt = Workload(context=32)
    assert epochs(read, gpt) == pytest.approx(100 * 8 * 32 / tokens, rel=0.01)
    half = gpt.model_copy(update={"training_set_size": tokens // 2})
    assert epochs(read, half) == pytest.approx(2 * epochs(read, gpt), rel=0.01)
    assert epochs(read, gpt, batch_ramp=(0.5,), batch_ramp_factor=2.0) > 1.2 * epochs(read, gpt)
    mlp = Workload(model="mlp", dataset="digits")
    assert epochs(data.load("digits"), mlp) == pytest.approx(800 / 1079)
