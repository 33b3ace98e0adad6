"""One sentence for whatever is wrong with a request, or with the service."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from treewass.serve.writes import DamagedWritesError

__all__ = ["explain_problems"]

_LOGGER = logging.getLogger("treewass.serve")
_LONGEST = 1000  # characters of a sentence


def explain_problems(api: FastAPI) -> None:
    """Have an application answer problems with a sentence."""
    api.add_exception_handler(RequestValidationError, _explain_validation)
    api.add_exception_handler(AnyHTTPException, _explain_refusal)
    api.add_exception_handler(DamagedWritesError, _explain_damage)
    api.add_exception_handler(TimeoutError, _explain_slow_pattern)
    api.add_exception_handler(Exception, _explain_failure)


def _explain_validation(_: Request, error: Exception) -> JSONResponse:
    """Say in a sentence what the first wrong value is, without repeating it."""
    errors: list[dict[str, Any]] = [*error.errors()] if isinstance(error, RequestValidationError) else []
    errors.sort(key=lambda one: one["type"] != "too_long")  # what is too long is not of each other kind either
    first = errors[0] if errors else {}
    if first.get("type") == "json_invalid":
        return _answer(f"Expected JSON: {first['ctx']['error']}.", 400)
    place = ".".join(str(part) for part in first.get("loc", ()))
    message = str(first.get("msg", "wrong")).rstrip(".")
    return _answer(f"{place}: {message}.", 422)


def _explain_refusal(_: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, AnyHTTPException) else 500
    headers = getattr(error, "headers", None)
    sentence = str(getattr(error, "detail", "Something went wrong."))
    if status == 400 and error.__cause__ is not None:  # by FastAPI, for a body that is no JSON for other reasons
        causes = ((UnicodeDecodeError, "in UTF-8"), (RecursionError, "with fewer brackets inside each other"))
        wanted = next((text for kind, text in causes if isinstance(error.__cause__, kind)), "with shorter numbers")
        sentence = f"Expected JSON {wanted}."
    return _answer(sentence, status, headers)


def _explain_damage(_: Request, error: Exception) -> JSONResponse:
    _LOGGER.error("%s", error)
    sentence = "The file of writes is damaged, and nothing is written any more; the service's log says where."
    return _answer(sentence, 500)


def _explain_slow_pattern(request: Request, error: Exception) -> JSONResponse:
    if getattr(error, "errno", None) is not None:  # of the system, such as a connection
        return _explain_failure(request, error)
    return _answer("The model's token pattern takes too long to find the words of this text.", 422)


def _explain_failure(_: Request, __: Exception) -> JSONResponse:
    return _answer("Something went wrong in the service; its log says what.", 500)


def _answer(sentence: str, status: int, headers: Any = None) -> JSONResponse:
    """Answer with a sentence, which may repeat what was asked for: cut, and without characters that are none."""
    return JSONResponse({"detail": sentence.encode("utf-8", "replace").decode()[:_LONGEST]}, status, headers)
