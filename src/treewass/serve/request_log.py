"""Requests counted and logged: method, route, status and time, never what they say."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterator

from treewass.serve.guards import Application, Message, Receive, Scope, Send

__all__ = ["RequestLog"]

_LOGGER = logging.getLogger("treewass.serve")
_UNKNOWN = "(unknown)"  # a path that is no route may hold anything, so it is not logged
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class RequestLog:
    """An application whose requests are counted and logged.

    Parameters
    ----------
    application : ASGI application
        What answers.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._counting = threading.Lock()
        self._counts: dict[tuple[str, str, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self.started = time.time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note what came of it."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        status = 500  # unless an answer begins
        began = time.perf_counter()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._application(scope, receive, send_and_note)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", _UNKNOWN)
        method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
        _LOGGER.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)
        with self._counting:
            count = self._counts[method, route, status]
            count[0] += 1
            count[1] += seconds
            count[2] = max(count[2], seconds)

    def counts(self) -> Iterator[tuple[str, str, int, int, float, float]]:
        """Give method, route, status, number, seconds in all and the longest, for each kind of request."""
        with self._counting:
            noted = sorted((key, list(value)) for key, value in self._counts.items())
        for (method, route, status), (number, total, longest) in noted:
            yield method, route, status, int(number), total, longest
