"""A guard before MLflow's server, which asks nobody who they are: a machine may have other users.

A request needs the token that the printed address carries (a browser keeps it in a cookie) and, unless writing was asked for,
must only read; artifacts lie below one folder. Nothing here imports MLflow.
"""

import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Paths that clients ask for before anything else; they tell nothing of what is stored.
OPEN = ("/health", "/version")
READING = ("GET", "HEAD", "OPTIONS")
# MLflow's calls that search by a POST. Its GraphQL has no mutation that writes.
SEARCHES = re.compile(
    r"/graphql|.*/(search|search-datasets|batchGetInfos|get-latest-versions|calculate-filter-correlation|traces/metrics)"
)
# Addresses that MLflow resolves to another one, of which it asks again.
RESOLVED = ("runs", "models")


class Guard:
    """An ASGI application around another. token: None where accounts are asked for instead."""

    def __init__(self, application: Application, token: str | None, write: bool):
        self.application, self.token, self.write = application, token, write
        # Whatever characters the token has, a cookie can hold this. A browser keeps cookies by host and whatever the port, so
        # that servers of several stores must not take each other's: it has a name of its own, too.
        self.kept = hashlib.sha256((token or "").encode()).hexdigest()
        self.cookie = f"folklore_{self.kept[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not (scope["path"] in OPEN and scope["method"] in READING):
            query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            if self._is(query.pop("token", "")):
                await self._admit(scope, query, send)
                return
            if not self._is_known(scope):
                await _answer(
                    send, 401, "open the address that `folklore mlflow` printed: it carries the token that lets you in"
                )
                return
            if not self.write and not _reads(scope):
                await _answer(
                    send, 403, "this server only shows what is stored: start it by `folklore mlflow --write` to change it"
                )
                return
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        await self.application(scope, receive, send)

    def _is(self, token: str) -> bool:
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    def _is_known(self, scope: Scope) -> bool:
        if self.token is None:
            return True
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            kept = None
        if kept and hmac.compare_digest(kept.value.encode(), self.kept.encode()):
            return True
        # By MLFLOW_TRACKING_TOKEN, MLflow's clients send it so.
        return self._is(headers.get("authorization", "").removeprefix("Bearer "))

    async def _admit(self, scope: Scope, query: dict[str, str], send: Send) -> None:
        """Redirects to the same page, without the token in the address, which histories and screens keep."""
        # //host/ would lead elsewhere.
        there = "/" + scope["path"].lstrip("/") + (f"?{urlencode(query)}" if query else "")
        cookie = f"{self.cookie}={self.kept}; Path=/; HttpOnly; SameSite=Lax"
        await _answer(send, 303, "", (b"location", there.encode()), (b"set-cookie", cookie.encode()))


def _reads(scope: Scope) -> bool:
    return scope["method"] in READING or (scope["method"] == "POST" and SEARCHES.fullmatch(scope["path"]) is not None)


async def _answer(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    kind = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [kind, (b"cache-control", b"no-store"), *headers]})
    await send({"type": "http.response.body", "body": text.encode()})


def is_below(address: str, folder: Path) -> bool:
    """Whether an artifact's address lies in a folder, links followed; one that MLflow resolves first will be asked again."""
    url = urlsplit(address)
    if url.scheme in RESOLVED:
        return True
    if url.scheme not in ("", "file") or url.netloc not in ("", "localhost"):
        return False
    path = Path(unquote(url.path) if url.scheme else address)
    return path.is_absolute() and path.resolve().is_relative_to(folder.resolve())
