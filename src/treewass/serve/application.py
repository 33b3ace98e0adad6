"""The service as an ASGI application: endpoints, pages, and one sentence for whatever is wrong with a request."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

import treewass
from treewass.serve.endpoints import add_endpoints
from treewass.serve.guards import Guard
from treewass.serve.journal import DamagedJournalError, FailedDiskError
from treewass.serve.live_model import LiveModel
from treewass.serve.request_log import RequestLog
from treewass.serve.settings import Settings

__all__ = ["create_app"]

_LOGGER = logging.getLogger("treewass.serve")
_MOST_THREADS = 8
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_DESCRIPTION = """Search, classify and explain documents with a learned tree over words.

Every error is `{"detail": "one sentence"}`. Writes need the token as `Authorization: Bearer …`."""


def create_app(live: LiveModel, settings: Settings | None = None) -> RequestLog:
    """Make the application that serves a model.

    Parameters
    ----------
    live : LiveModel
        The model; closed by whoever opened it.
    settings : Settings, optional
        Who may read and write; by default anyone may read and nobody write.

    Returns
    -------
    RequestLog
        An ASGI application.
    """
    settings = Settings() if settings is None else settings
    api = FastAPI(
        title="treewass",
        version=treewass.__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    log = RequestLog(Guard(api, settings))
    add_endpoints(api, live, settings, log)
    _add_pages(api)
    _add_description(api)
    api.add_exception_handler(RequestValidationError, _explain_validation)
    api.add_exception_handler(HTTPException, _explain_refusal)
    api.add_exception_handler(DamagedJournalError, _explain_damage)
    api.add_exception_handler(FailedDiskError, _explain_failed_disk)
    api.add_exception_handler(Exception, _explain_failure)
    return log


@asynccontextmanager
async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = min(_MOST_THREADS, 2 * (os.cpu_count() or 1))
    yield


def _add_pages(api: FastAPI) -> None:
    """Serve the files of the page under their own names, and nothing else."""
    folder = files("treewass.serve") / "page"
    for entry in folder.iterdir():
        kind = _TYPES.get(PurePath(entry.name).suffix)
        if kind is not None:
            paths = {"index.html": "/", "reference.html": "/docs"}
            api.add_api_route(
                paths.get(entry.name, f"/{entry.name}"),
                _page(entry.read_bytes(), kind),
                methods=["GET", "HEAD"],
                include_in_schema=False,
            )


def _add_description(api: FastAPI) -> None:
    """Serve the OpenAPI description, which FastAPI makes once."""

    async def describe() -> Response:
        return JSONResponse(api.openapi())

    api.add_api_route("/openapi.json", describe, methods=["GET", "HEAD"], include_in_schema=False)


def _page(content: bytes, kind: str) -> Callable[[], Coroutine[Any, Any, Response]]:
    """Make what answers with a file; it waits for no thread, so that a busy service still shows its page."""

    async def answer() -> Response:
        return Response(content, media_type=kind)

    return answer


def _explain_validation(_: Request, error: Exception) -> JSONResponse:
    """Say in a sentence what the first wrong value is, without repeating it."""
    first: dict[str, Any] = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    if first.get("type") == "json_invalid":
        return JSONResponse({"detail": f"Expected JSON: {first['ctx']['error']}."}, 400)
    place = ".".join(str(part) for part in first.get("loc", ()))
    message = str(first.get("msg", "wrong")).rstrip(".")
    sentence = f"{place}: {message}."
    return JSONResponse({"detail": sentence.encode("utf-8", "replace").decode()[:500]}, 422)


def _explain_refusal(_: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = getattr(error, "headers", None)
    sentence = str(getattr(error, "detail", "Something went wrong."))
    if status == 400:  # by FastAPI, for a body that json.loads cannot read for another reason than its form
        causes = ((UnicodeDecodeError, "in UTF-8"), (RecursionError, "with fewer brackets inside each other"))
        wanted = next((text for kind, text in causes if isinstance(error.__cause__, kind)), "with shorter numbers")
        sentence = f"Expected JSON {wanted}."
    return JSONResponse({"detail": sentence}, status, headers)


def _explain_damage(_: Request, error: Exception) -> JSONResponse:
    _LOGGER.error("%s", error)
    sentence = "The journal of writes is damaged, and nothing is written any more; the service's log says where."
    return JSONResponse({"detail": sentence}, 500)


def _explain_failed_disk(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": getattr(error, "strerror", "")}, 503)


def _explain_failure(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse({"detail": "Something went wrong in the service; its log says what."}, 500)
