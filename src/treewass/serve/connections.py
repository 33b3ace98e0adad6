"""Connections that say nothing are closed, so that a thousand of them do no harm."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["PatientProtocol"]

_SECONDS = 15.0


class PatientProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with an end to connections that do not finish the head of a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection."""
        super().connection_made(transport)
        self.loop.call_later(_SECONDS, self._close_if_idle, None)

    def _close_if_idle(self, before: Any) -> None:
        """Close a connection on which no request has begun since the last look, and none is being answered."""
        if self.transport.is_closing():
            return
        latest = self.cycle
        if latest is before and (latest is None or latest.response_complete):
            self.transport.close()
        else:
            self.loop.call_later(_SECONDS, self._close_if_idle, latest)
