"""Who is let in to MLflow's server, what they may do, and where artifacts lie."""

import asyncio
import re
import sqlite3
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from folklore.harness.errors import UserError
from folklore.harness.launch.tracking.guard import Guard, is_below
from folklore.harness.launch.tracking.server import require_artifacts_below
from folklore.harness.plan.store.mlflow_address import default_uri

TOKEN = "the-right-one"


async def _inside(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def answer(
    path: str,
    method: str = "GET",
    query: str = "",
    headers: dict[str, str] | None = None,
    write: bool = False,
    token: str | None = TOKEN,
) -> tuple[int, dict[str, str]]:
    """Status and headers."""
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"type": "http", "path": path, "method": method, "query_string": query.encode(), "headers": pairs}
    asyncio.run(Guard(_inside, token, write)(scope, None, send))  # type: ignore[arg-type]
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def cookie() -> str:
    return answer("/", query=f"token={TOKEN}")[1]["set-cookie"].partition(";")[0]


def test_the_printed_address_lets_a_browser_in_and_keeps_no_token() -> None:
    status, headers = answer("/", query=f"a=1&token={TOKEN}")
    assert (status, headers["location"]) == (303, "/?a=1")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Lax" in headers["set-cookie"]
    assert answer("/", headers={"cookie": f"other=1; {cookie()}"})[0] == 200


@pytest.mark.parametrize("token", ["a token of one's own", "a;b=c", "ü&x=1"])
def test_any_token_lets_a_browser_in(token: str) -> None:
    status, headers = answer("/", query=urlencode({"token": token}), token=token)
    assert status == 303
    assert token not in headers["set-cookie"]
    assert answer("/", headers={"cookie": headers["set-cookie"].partition(";")[0]}, token=token)[0] == 200


def test_no_redirect_leads_to_another_host() -> None:
    assert answer("//example.org/", query=f"token={TOKEN}")[1]["location"] == "/example.org/"


@pytest.mark.parametrize(
    "headers",
    [{}, {"cookie": "folklore=x"}, {"cookie": ";=;="}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer "}],
)
def test_nobody_else_is_let_in(headers: dict[str, str]) -> None:
    for path, query in (("/", ""), ("/get-artifact", "path=x"), ("/", "token=wrong"), ("/", "token=")):
        assert answer(path, query=query, headers=headers)[0] == 401
    assert answer("/health", headers=headers)[0] == 200


def test_clients_have_it_in_a_header() -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert answer("/api/2.0/mlflow/runs/search", "POST", headers=bearer)[0] == 200
    assert answer("/api/2.0/mlflow/runs/create", "POST", headers=bearer)[0] == 403
    assert answer("/api/2.0/mlflow/runs/create", "POST", headers=bearer, write=True)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/api/2.0/mlflow/experiments/delete", "/x/search/y", "/graphql/x", "/health"])
def test_who_looks_changes_nothing(path: str, method: str) -> None:
    assert answer(path, method, headers={"cookie": cookie()})[0] == 403
    assert answer(path, method, headers={"cookie": cookie()}, write=True)[0] == 200


def test_accounts_take_the_place_of_the_token() -> None:
    assert answer("/", token=None, write=True)[0] == 200


def test_all_calls_of_mlflow_that_are_let_through_only_read() -> None:
    """Calls of the installed version."""
    from mlflow.server.handlers import get_endpoints

    posts = {
        path
        for path, _, methods in get_endpoints()
        if "POST" in methods and answer(path, "POST", headers={"cookie": cookie()})[0] == 200
    }
    changing = re.compile("create|delete|update|log|set|restore|rename|upload|transition|register|add|remove")
    assert len(posts) > 8
    assert not [path for path in posts if changing.match(path.rpartition("/")[2])]


def test_what_lies_below_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mlartifacts"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    for inside in (str(folder), f"file://{folder}/toy", f"{folder}/toy/1", f"file:{folder}/a%20b", "runs:/1/x", "models:/m/1"):
        assert is_below(inside, folder), inside
    outside = (
        str(tmp_path),
        f"{folder}/../x",
        f"file://{folder}/%2e%2e/x",
        f"{folder}/link/x",
        "relative",
        "",
        "s3://b/x",
        "file://host/x",
    )
    for place in outside:
        assert not is_below(place, folder), place


@pytest.mark.parametrize(("table", "column"), [("experiments", "artifact_location"), ("runs", "artifact_uri")])
def test_a_strangers_database_serves_nothing_of_the_owners(table: str, column: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        connection.execute(f"CREATE TABLE {table} (experiment_id INTEGER, {column} TEXT)")
        connection.execute(f"INSERT INTO {table} VALUES (1, '{tmp_path}/mlartifacts/toy')")
    require_artifacts_below(tmp_path / "mlartifacts", default_uri(tmp_path))
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        connection.execute(f"INSERT INTO {table} VALUES (2, 'file:///home/owner')")
    with pytest.raises(
        UserError, match=r"has artifacts at file:///home/owner, which is not below .*they could be anybody's files"
    ):
        require_artifacts_below(tmp_path / "mlartifacts", default_uri(tmp_path))


def test_links_among_artifacts_and_half_a_database_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"SQLite format 3" + bytes(100))
    with pytest.raises(UserError, match=r"cannot be read .*; move it away, and `folklore sync` makes it again"):
        require_artifacts_below(tmp_path / "mlartifacts", default_uri(tmp_path))
    (tmp_path / "mlartifacts").symlink_to("/etc")
    with pytest.raises(UserError, match="is a link, and nothing is served through it; remove it"):
        require_artifacts_below(tmp_path / "mlartifacts", default_uri(tmp_path))
