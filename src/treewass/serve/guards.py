"""What stands before the endpoints: limits on bodies and on requests at a time, names of hosts, headers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from treewass.serve.settings import MOST_BYTES, Settings

__all__ = ["Application", "Guard", "Message", "Receive", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_MOST_REQUESTS = 256  # being answered at a time; more are turned away at once instead of waiting without end
_MOST_BUFFERED = 50 * MOST_BYTES  # of bodies at a time
_BODY_SECONDS = 20.0
_HEADERS = [
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class _RefusedError(Exception):
    """A request that is answered here."""

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> None:
        self.status, self.sentence, self.headers = status, sentence, headers


class Guard:
    """An application behind limits and checks; every answer gets headers that keep a browser strict.

    Parameters
    ----------
    application : ASGI application
        What answers the requests that pass.
    settings : Settings
        Names of hosts.
    """

    def __init__(self, application: Application, settings: Settings) -> None:
        self._application = application
        self._host_names = tuple(name.lower() for name in settings.host_names)
        self._n_running = 0
        self._n_buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
            await send(message)

        chunks: list[bytes] = []
        try:
            self._check(scope)
            await self._read_body(scope, receive, chunks)
            await self._pass_on(scope, _replay(b"".join(chunks), receive), send_with_headers)
        except _RefusedError as refusal:
            await _answer(refusal, send_with_headers)
        finally:
            self._n_buffered -= sum(map(len, chunks))

    def _check(self, scope: Scope) -> None:
        """Refuse what can be refused before the body has been read."""
        headers = dict(scope["headers"])
        if self._host_names and _host_name(headers.get(b"host", b"")) not in self._host_names:
            raise _RefusedError(421, f"This service answers to {', '.join(self._host_names)} only.")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > MOST_BYTES:
            raise _too_large()

    async def _read_body(self, scope: Scope, receive: Receive, chunks: list[bytes]) -> None:
        """Read a body up to the limit, in bounded time; a request without one is not waited for."""
        headers = dict(scope["headers"])
        more = b"content-length" in headers or b"transfer-encoding" in headers
        size = 0
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _RefusedError(400, "The body ended too early.")
                    chunks.append(message.get("body", b""))
                    more = message.get("more_body", False)
                    size += len(chunks[-1])
                    self._n_buffered += len(chunks[-1])
                    if size > MOST_BYTES:
                        raise _too_large()
                    if self._n_buffered > _MOST_BUFFERED:
                        raise _too_busy()
        except TimeoutError:
            sentence = f"The body took more than {_BODY_SECONDS:.0f} seconds."
            raise _RefusedError(408, sentence, (b"connection", b"close")) from None

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._n_running >= _MOST_REQUESTS:
            raise _too_busy()
        self._n_running += 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._n_running -= 1


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body again, then what follows it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


async def _answer(refusal: _RefusedError, send: Send) -> None:
    body = json.dumps({"detail": refusal.sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _too_large() -> _RefusedError:
    return _RefusedError(413, f"Expected a body of at most {MOST_BYTES} bytes.", (b"connection", b"close"))


def _too_busy() -> _RefusedError:
    return _RefusedError(503, "Too many requests at a time; try again soon.", (b"retry-after", b"1"))


def _host_name(header: bytes) -> str:
    """Return the name in a Host header, without its port."""
    name = header.decode("latin-1").lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]
