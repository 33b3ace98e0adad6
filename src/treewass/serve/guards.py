"""Between the network and the endpoints: limits on connections, bodies and requests, host names, headers, the log."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import re
import time
from contextlib import suppress
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treewass.serve.measures import Measures
from treewass.serve.service_settings import MOST_BYTES, MOST_HEADER_BYTES, Settings

__all__ = ["Guard", "PatientProtocol", "RequestLog"]

_LOGGER = logging.getLogger("treewass.serve")
_UNKNOWN = "(unknown)"  # a path that is no route may hold anything, so it is not logged
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SILENT_SECONDS = 15.0
_LONG_HEAD = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_ANSWER_SECONDS = 30.0  # until an answer begins, waiting included
_DRAIN_SECONDS = 5.0  # in which the rest of a refused body is read, so that its sender sees the answer
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


class PatientProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with an end to connections whose client neither asks nor listens, and to long heads.

    uvicorn has no setting for it. Its `timeout_keep_alive` begins after an answer and ends with the first byte of the
    next request, so it spares connections that have asked nothing yet, half requests, and answers that nobody reads.
    """

    _next_look: asyncio.TimerHandle
    _head_bytes = (
        0  # of a request, without its body: headers, and in a body in chunks what comes with each and after all
    )

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection."""
        super().connection_made(transport)
        self._look_later(True, None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch it no longer."""
        self._next_look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless headers, or those behind a body in chunks, have no end."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > 2 * MOST_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(_LONG_HEAD)
            self.transport.close()

    def on_body(self, body: bytes) -> None:
        """Count no part of a body, which has a limit of its own, nor the few bytes that come with a small part."""
        self._head_bytes = max(self._head_bytes - 8 * len(body), 0)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Count the next headers."""
        self._head_bytes = 0
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer a request for another protocol as if it asked for none, and close: what follows it was not read."""
        self.cycle.keep_alive = False

    def _look_later(self, is_idle: bool, latest: Any, unread: int) -> None:
        self._next_look = self.loop.call_later(_SILENT_SECONDS, self._look, is_idle, latest, unread)

    def _look(self, was_idle: bool, before: Any, unread_before: int) -> None:
        """Close a connection if nothing has happened since the last look, and no request was being answered then.

        If the client has taken nothing of an answer, the connection cannot be closed: it is cut.
        """
        latest, unread = self.cycle, self.transport.get_write_buffer_size()
        if 0 < unread == unread_before:
            self.transport.abort()
            return
        is_idle = not unread and (latest is None or latest.response_complete)
        if is_idle and was_idle and latest is before:
            self.transport.close()
        self._look_later(is_idle, latest, unread)


_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?")


class _RefusedError(Exception):
    """A request that is answered here."""

    def __init__(
        self, status: int, sentence: str, headers: dict[str, str] | None = None, *, drained: bool = False
    ) -> None:
        self.answer = JSONResponse({"detail": sentence}, status, headers)
        self.drained = drained


class Guard:
    """An application behind limits and checks; every answer gets headers that keep a browser strict."""

    def __init__(self, application: ASGIApp, settings: Settings) -> None:
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
            headers = self._checked(scope)
            await self._read_body(headers, receive, chunks)
            await self._pass_on(scope, _replay(b"".join(chunks), receive), send_with_headers)
        except _RefusedError as refusal:
            await _answer_and_drain(refusal, scope, receive, send_with_headers)
        finally:
            self._n_buffered -= sum(map(len, chunks))

    def _checked(self, scope: Scope) -> dict[bytes, bytes]:
        """Refuse what can be refused before the body has been read; return the headers."""
        pairs = scope["headers"]
        if sum(len(name) + len(value) for name, value in pairs) > MOST_HEADER_BYTES:
            raise _RefusedError(431, f"Expected headers of at most {MOST_HEADER_BYTES} bytes.", {"connection": "close"})
        hosts = [value for name, value in pairs if name == b"host"]
        if self._host_names and (len(hosts) != 1 or _host_name(hosts[0].strip()) not in self._host_names):
            raise _RefusedError(421, f"This service answers to {', '.join(self._host_names)} only.")
        headers = dict(pairs)
        if b"upgrade" in headers and (b"content-length" in headers or b"transfer-encoding" in headers):
            sentence = "Expected HTTP/1.1 without the header Upgrade for a request with a body."
            raise _RefusedError(400, sentence, {"connection": "close"})  # what follows is not known to be its body
        length = headers.get(b"content-length", b"0").strip()
        if not length.isdigit() or int(length[:20]) > MOST_BYTES:
            raise _too_large(drained=headers.get(b"expect") is None)
        return headers

    async def _read_body(self, headers: dict[bytes, bytes], receive: Receive, chunks: list[bytes]) -> None:
        """Read a body up to the limit, in bounded time; a request without one is not waited for."""
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
                        raise _too_large(drained=more)
                    if self._n_buffered > _MOST_BUFFERED:
                        raise too_busy()
        except TimeoutError:
            sentence = f"The body took more than {_BODY_SECONDS:.0f} seconds."
            raise _RefusedError(408, sentence, {"connection": "close"}) from None

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered, or say that it takes too long; work that has begun goes on and counts until it ends.

        A request that still waits for its turn is given up.
        """
        if self._n_running >= _MOST_REQUESTS:
            raise too_busy()
        begun = asyncio.Event()
        is_late = False

        async def send_in_time(message: Message) -> None:
            begun.set()
            if not is_late:
                await send(message)

        self._n_running += 1
        answering = asyncio.ensure_future(self._application(scope, receive, send_in_time))
        answering.add_done_callback(self._end)
        waiting = asyncio.ensure_future(begun.wait())
        try:
            await asyncio.wait({answering, waiting}, timeout=_ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not begun.is_set() and not answering.done():
            is_late = True
            answering.cancel()
            raise too_busy(f"No answer within {_ANSWER_SECONDS:.0f} seconds.", 10)
        await answering

    def _end(self, answering: asyncio.Future[None]) -> None:
        self._n_running -= 1
        if not answering.cancelled():
            answering.exception()  # raised where it was awaited


async def _answer_and_drain(refusal: _RefusedError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, and read the rest of a body for a while: closed at once, a connection may lose the answer."""

    async def send_first(message: Message) -> None:
        await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

    if not refusal.drained:
        await refusal.answer(scope, receive, send)
        return
    await refusal.answer(scope, receive, send_first)
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get("more_body", False):
                pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body again, then what follows it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


def _too_large(*, drained: bool) -> _RefusedError:
    sentence = f"Expected a body of at most {MOST_BYTES} bytes."
    return _RefusedError(413, sentence, {"connection": "close"}, drained=drained)


def too_busy(sentence: str = "Too many requests at a time; try again soon.", seconds: int = 1) -> _RefusedError:
    """Make what turns a request away for a while."""
    return _RefusedError(503, sentence, {"retry-after": str(seconds)})


def _host_name(header: bytes) -> str | None:
    """Return the name in a Host header, without its port; None if it is no such header."""
    found = _HOST.fullmatch(header.decode("latin-1").lower())
    return None if found is None else (found["address"] or found["name"]).removesuffix(".")


class RequestLog:
    """An application whose requests are measured and logged: id, method, route, status, time; never what they say."""

    def __init__(self, application: ASGIApp, measures: Measures) -> None:
        self._application = application
        self._measures = measures
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note its status and time."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = given if _REQUEST_ID.fullmatch(given) else b"%d-%d" % (os.getpid(), next(self._numbers))
        status = 500  # unless an answer begins
        began = time.perf_counter()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", []), (b"x-request-id", request_id)]}
            await send(message)

        try:
            await self._application(scope, receive, send_and_note)
        finally:
            self._note(scope, request_id.decode(), status, time.perf_counter() - began)

    def _note(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", _UNKNOWN)
        method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
        fields = {"request": request_id, "method": method, "route": route, "status": status, "seconds": seconds}
        _LOGGER.info("%s %s %d %.1f ms %s", method, route, status, 1000 * seconds, request_id, extra={"fields": fields})
        self._measures.note(method, route, status, seconds)
