"""Connections that say nothing, or do not take their answers, are closed, so that a thousand of them do no harm."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["PatientProtocol"]

_SECONDS = 15.0


class PatientProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with an end to connections whose client neither asks nor listens."""

    _next_look: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection."""
        super().connection_made(transport)
        self._look_later(None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch it no longer."""
        self._next_look.cancel()
        super().connection_lost(exc)

    def _look_later(self, latest: Any, unread: int) -> None:
        self._next_look = self.loop.call_later(_SECONDS, self._look, latest, unread)

    def _look(self, before: Any, unread_before: int) -> None:
        """Close a connection if nothing has happened since the last look and no request is being answered.

        One that still holds an answer, of which the client has taken nothing, cannot be closed: it is cut.
        """
        latest, unread = self.cycle, self.transport.get_write_buffer_size()
        if 0 < unread == unread_before:
            self.transport.abort()
            return
        if latest is before and not unread and (latest is None or latest.response_complete):
            self.transport.close()
        self._look_later(latest, unread)
