"""Messages of other libraries within ours."""

import pytest

from folklore.harness.errors import LONGEST_QUOTE, quoted

MLFLOW = (
    "Detected out-of-date database schema (found version 0, but expected version 1). Take a backup of your database, then run"
    " 'mlflow db upgrade <database_uri>' to migrate your database to the latest schema. NOTE: schema migration may result in"
    " database downtime - please consult your database's documentation for more details."
)


def test_mlflows_advice_is_quoted_to_its_end() -> None:
    assert quoted(ValueError(MLFLOW)) == MLFLOW


@pytest.mark.parametrize("text", [MLFLOW * 5, "word " * 500, "x" * 5_000 + " y"])
def test_a_long_message_ends_with_a_sentence_or_a_word(text: str) -> None:
    said = quoted(ValueError(text))
    assert len(said) <= LONGEST_QUOTE + 2
    assert said.endswith((".", "word …", "…"))
    assert text.startswith(said.removesuffix(" …"))
