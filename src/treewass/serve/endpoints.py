"""The JSON endpoints: reads on the model as it is at one moment, writes that are on the disk when they answer."""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Path, Query, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel

import treewass
from treewass.serve.answers import (
    compare,
    describe_model,
    is_known,
    predict_text,
    search_texts,
    show_document,
)
from treewass.serve.journal import DamagedJournalError, FailedDiskError, UncertainWriteError
from treewass.serve.live_model import KeyUsedError, LiveModel, NewDocument, UnknownDocumentError
from treewass.serve.schemas import (
    Added,
    BranchView,
    Comparison,
    DocumentView,
    ExplainRequest,
    Health,
    Metrics,
    ModelView,
    NewDocuments,
    Predictions,
    PredictRequest,
    Problem,
    Removed,
    RequestCount,
    SearchRequest,
    SearchResults,
)
from treewass.serve.settings import Settings
from treewass.serve.tree_view import TreeViews

if TYPE_CHECKING:
    from treewass.model.contents import Contents
    from treewass.serve.request_log import RequestLog

__all__ = ["add_endpoints"]

_BEARER = HTTPBearer(auto_error=False, description="The service's token.")
_Id = Annotated[int, Path(ge=-(2**63), lt=2**63, description="The id of a document.")]
_Responses = dict[int | str, dict[str, Any]]
_REFUSED: _Responses = {
    status: {"model": Problem, "description": description}
    for status, description in (
        (400, "No JSON."),
        (401, "No token, or a wrong one."),
        (403, "The service can be read only."),
        (408, "The body came too slowly."),
        (413, "The body is too large."),
        (415, "The body is not said to be JSON."),
        (421, "Another name of the host."),
        (422, "A value is not what it should be."),
        (500, "Something is wrong with the service."),
        (503, "Too busy, or the disk is full or has failed."),
    )
}
_NO_DOCUMENT: _Responses = {404: {"model": Problem, "description": "There is no such document."}}
_NO_BRANCH: _Responses = {404: {"model": Problem, "description": "There is no such branch."}}
_KEY_USED: _Responses = {409: {"model": Problem, "description": "The key was used for other documents."}}


def add_endpoints(api: FastAPI, live: LiveModel, settings: Settings, log: RequestLog) -> None:
    """Add all endpoints, below ``/api``; all but health take a thread of a pool.

    Parameters
    ----------
    api : FastAPI
        The application.
    live : LiveModel
        What is served.
    settings : Settings
        Who may read and write.
    log : RequestLog
        The counts of requests.
    """
    described = [Security(_BEARER)]
    reads = APIRouter(
        prefix="/api",
        route_class=_guarded(settings.token, settings.protect_reads),
        dependencies=described,
        responses=_REFUSED,
    )
    writes = APIRouter(
        prefix="/api", route_class=_guarded(settings.token, True), dependencies=described, responses=_REFUSED
    )
    _add_questions(reads, live)
    _add_views(reads, live, settings, log)
    _add_writes(writes, live)
    api.include_router(reads)
    api.include_router(writes)

    @api.get("/api/health", tags=["service"])
    async def health() -> Health:
        """Say that the service answers; needs no token."""
        return Health(status="ok", version=treewass.__version__)


def _guarded(token: str | None, needed: bool) -> type[APIRoute]:
    """Make routes that demand the token, where it is needed, then a body of JSON, before they look at the body."""

    class GuardedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            answer = super().get_route_handler()

            async def check_and_answer(request: Request) -> Response:
                if needed:
                    _demand_token(request, token)
                if self.body_field is not None:
                    _demand_json(request)
                return await answer(request)

            return check_and_answer

    return GuardedRoute


def _demand_token(request: Request, expected: str | None) -> None:
    if expected is None:
        raise HTTPException(403, "This service was started without a token: it can be read only.")
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), expected.encode()):
        raise HTTPException(
            401,
            "Expected the header Authorization: Bearer, with the service's token.",
            {"WWW-Authenticate": "Bearer"},
        )


def _demand_json(request: Request) -> None:
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"Expected the header Content-Type: application/json, got {kind[:100] or 'none'}.")


def _add_questions(router: APIRouter, live: LiveModel) -> None:
    @router.post("/search", tags=["questions"], response_model=SearchResults)
    def search(request: SearchRequest) -> Response:
        """Find the documents nearest to texts, exactly."""
        _demand_one(request.texts, request.highlight, "highlight")
        return _written(
            SearchResults(results=search_texts(live.current(), request.texts, request.k, request.highlight))
        )

    @router.post("/predict", tags=["questions"], response_model=Predictions)
    def predict(request: PredictRequest) -> Response:
        """Predict the labels of texts."""
        _demand_one(request.texts, request.explain, "explain")
        held = live.current()
        return _written(Predictions(predictions=[predict_text(held, text, request.explain) for text in request.texts]))

    @router.post("/explain", tags=["questions"], responses=_NO_DOCUMENT)
    def explain(request: ExplainRequest) -> Comparison:
        """Explain the distance of two documents: what stays, what moves where, and what it costs."""
        held = live.current()
        for document in (request.first, request.second):
            if isinstance(document, int):
                _demand_document(held, document)
        try:
            return compare(held, request.first, request.second)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error


def _written(answer: BaseModel) -> Response:
    """Write an answer here and now: FastAPI would check it again, in another thread."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _add_views(router: APIRouter, live: LiveModel, settings: Settings, log: RequestLog) -> None:
    views = TreeViews()

    @router.get("/model", tags=["service"])
    def model() -> ModelView:
        """Tell what is served."""
        return describe_model(live.current(), settings)

    @router.get("/metrics", tags=["service"])
    def metrics() -> Metrics:
        """Count requests since this worker started."""
        return Metrics(
            worker=os.getpid(),
            uptime_seconds=time.time() - log.started,
            documents=len(live.current().index),
            journal_bytes=live.journal_bytes,
            requests=[
                RequestCount(method=m, route=r, status=s, count=n, seconds=total, longest_seconds=longest)
                for m, r, s, n, total, longest in log.counts()
            ],
        )

    @router.get("/documents/{number}", tags=["documents"], responses=_NO_DOCUMENT)
    def get_document(number: _Id) -> DocumentView:
        """Show a document."""
        held = live.current()
        _demand_document(held, number)
        return show_document(held, number)

    @router.get("/tree", tags=["questions"], responses=_NO_BRANCH)
    def tree(
        node: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        component: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    ) -> BranchView:
        """Show a branch of the tree: its classes, words, documents and the branches below it."""
        held = live.current()
        trees = held.index.metric.trees
        if component >= len(trees) or node >= trees[component].n_nodes:
            raise HTTPException(404, f"There is no node {node} in a tree {component}.")
        return views.get(held, component).branch(node)


def _add_writes(router: APIRouter, live: LiveModel) -> None:
    @router.post("/documents", status_code=201, tags=["documents"], responses=_KEY_USED)
    def add_documents(request: NewDocuments) -> Added:
        """Add documents, to find and to vote; they are on the disk when this answers."""
        new = [NewDocument(d.text, d.label, d.title) for d in request.documents]
        try:
            ids, repeated = live.add(new, request.key)
        except (DamagedJournalError, FailedDiskError):
            raise  # it is not the request that is wrong
        except KeyUsedError as error:
            raise HTTPException(409, str(error)) from error
        except (ValueError, TypeError) as error:
            raise HTTPException(422, str(error)) from error
        except OSError as error:
            raise _disk_problem(error) from error
        held = live.current()
        return Added(ids=ids, known=[is_known(held, document.text) for document in new], repeated=repeated)

    @router.delete("/documents/{number}", tags=["documents"], responses=_NO_DOCUMENT)
    def remove_document(number: _Id) -> Removed:
        """Remove a document; the disk knows when this answers."""
        try:
            live.remove([number])
        except UnknownDocumentError as error:
            raise HTTPException(404, f"There is no document {number}.") from error
        except FailedDiskError:
            raise
        except OSError as error:
            raise _disk_problem(error) from error
        return Removed(id=number)


def _demand_document(held: Contents, number: int) -> None:
    if number not in held.index:
        raise HTTPException(404, f"There is no document {number}.")


def _demand_one(texts: list[str], detailed: bool, name: str) -> None:
    """Refuse details on many texts: each can take as long as a thousand plain answers."""
    if detailed and len(texts) > 1:
        raise HTTPException(422, f"Expected one text with {name}, got {len(texts)}.")


def _disk_problem(error: OSError) -> HTTPException:
    reason = error.strerror or "the disk cannot be written"
    if isinstance(error, UncertainWriteError):
        return HTTPException(503, f"It is not known whether this was written, ask again with the same key: {reason}.")
    return HTTPException(503, f"Nothing was written: {reason}.")
