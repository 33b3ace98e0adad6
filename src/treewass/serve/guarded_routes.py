"""What a route demands before it looks at a body: a token, JSON, and not too many values."""

from __future__ import annotations

import asyncio
import hmac
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from treewass.serve.service_settings import MOST_VALUES

__all__ = ["guarded_route"]

_WRONG_TOKEN_SECONDS = 1.0
_DELAYED = threading.Semaphore(64)  # wrong tokens that wait; more would use up the requests that are answered at once


def guarded_route(tokens: list[str | None] | None) -> type[APIRoute]:
    """Make routes that demand one of some tokens, then a body of JSON, before they look at the body."""

    class GuardedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            answer = super().get_route_handler()

            async def check_and_answer(request: Request) -> Response:
                if tokens is not None:
                    await _demand_token(request, [token for token in tokens if token is not None])
                if self.body_field is not None:
                    _demand_json(request)
                    _demand_few_values(await request.body())
                return await answer(request)

            return check_and_answer

    return GuardedRoute


async def _demand_token(request: Request, expected: list[str]) -> None:
    """Demand one of some tokens, compared in constant time; a wrong one is answered after a while."""
    if not expected:
        raise HTTPException(403, "This service was started without a token for writing: it can be read only.")
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    found = [hmac.compare_digest(given.strip().encode(), token.encode()) for token in expected]
    if scheme.lower() == "bearer" and any(found):
        return
    if given and _DELAYED.acquire(blocking=False):
        try:
            await asyncio.sleep(_WRONG_TOKEN_SECONDS)
        finally:
            _DELAYED.release()
    raise HTTPException(
        401, "Expected the header Authorization: Bearer, with the service's token.", {"WWW-Authenticate": "Bearer"}
    )


def _demand_json(request: Request) -> None:
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"Expected the header Content-Type: application/json, got {kind[:100] or 'none'}.")
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise HTTPException(415, f"Expected a body without Content-Encoding, got {encoding[:100]}.")


def _demand_few_values(body: bytes) -> None:
    """Refuse JSON of very many values before it is read: that would keep all others waiting for seconds."""
    if b"\0" in body:  # of UTF-16 or UTF-32, where strings end otherwise
        raise HTTPException(400, "Expected JSON in UTF-8.")
    without_escapes = body.replace(rb"\\", b"").replace(rb"\"", b"")
    count = without_escapes.count(b'"') // 2
    if count <= MOST_VALUES:
        outside_strings = b"".join(without_escapes.split(b'"')[::2])
        count = sum(map(outside_strings.count, (b",", b"[", b"{")))
    if count > MOST_VALUES:
        raise HTTPException(422, f"Expected at most {MOST_VALUES} values in a body, got about {count}.")
