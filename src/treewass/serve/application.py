"""The service as an ASGI application: JSON endpoints, pages, and one sentence for whatever is wrong with a request.

Reads see the model as it is at one moment. Writes are on the disk when they answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, FastAPI, Header, HTTPException, Path, Query, Response, Security
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel

import treewass
from treewass.model.inference import count_documents, count_texts, describe_document
from treewass.model.queries import example_queries
from treewass.serve import answers, requests
from treewass.serve.applied_writes import KeyUsedError, NewDocument, UnknownDocumentError
from treewass.serve.guarded_routes import guarded_route
from treewass.serve.guards import Guard, RequestLog
from treewass.serve.lanes import Lane, Lanes
from treewass.serve.live_model import LiveModel
from treewass.serve.measures import Measures
from treewass.serve.problems import explain_problems
from treewass.serve.responses import (
    Latest,
    TreeView,
    UnexplainedError,
    are_known,
    compare,
    describe_model,
    predict_texts,
    search_texts,
    similar_documents,
)
from treewass.serve.reviews import review_of
from treewass.serve.service_settings import Settings
from treewass.serve.writes import DamagedWritesError, UncertainWriteError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treewass.model.contents import Contents

__all__ = ["create_app"]

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_DESCRIPTION = """Search, classify and explain documents with a learned tree over words.

Every error is `{"detail": "one sentence"}`. Writes need the token as `Authorization: Bearer …`."""
_BEARER = HTTPBearer(auto_error=False, description="The service's token.")
_Id = Annotated[int, Path(ge=-(2**63), lt=2**63, description="The id of a document.")]
_Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="A name of this request, such as a UUID: sent again, it changes nothing and gets the same answer.",
    ),
]
_Responses = dict[int | str, dict[str, Any]]
_REFUSED: _Responses = {
    status: {"model": answers.Problem, "description": description}
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
_NO_DOCUMENT: _Responses = {404: {"model": answers.Problem, "description": "There is no such document."}}
_NO_BRANCH: _Responses = {404: {"model": answers.Problem, "description": "There is no such branch."}}
_KEY_USED: _Responses = {409: {"model": answers.Problem, "description": "The key was used for another request."}}


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
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    measures = Measures()
    _add_endpoints(api, live, settings, measures)
    _add_pages(api)
    _add_description(api)
    explain_problems(api)
    return RequestLog(Guard(api, settings), measures)


def _add_endpoints(api: FastAPI, live: LiveModel, settings: Settings, measures: Measures) -> None:
    """Add all endpoints, below ``/api``; all but health take a thread of a pool."""

    def router(route: type[APIRoute], prefix: str = "/api") -> APIRouter:
        return APIRouter(prefix=prefix, route_class=route, dependencies=[Security(_BEARER)], responses=_REFUSED)

    reads = router(guarded_route([settings.token, settings.read_token] if settings.reads_need_token else None))
    writes = router(guarded_route([settings.token]))
    lanes = Lanes()
    _add_searches(reads, live, lanes)
    _add_questions(reads, live, lanes)
    _add_review(reads, live, lanes.reviews)
    _add_views(reads, live, lanes, settings)
    _add_writes(writes, live, lanes.writes)
    api.include_router(reads)
    api.include_router(writes)
    counts = router(reads.route_class, "")

    @counts.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        def count() -> bytes:
            return measures.text(len(live.current().index), live.n_pending, live.pending_bytes)

        return Response(await lanes.reads.run(count), media_type="text/plain; version=0.0.4")

    api.include_router(counts)

    @api.get("/api/health", tags=["service"])
    async def health() -> answers.Health:
        """Say that the service answers; needs no token."""
        return answers.Health(status="ok", version=treewass.__version__)


def _add_searches(router: APIRouter, live: LiveModel, lanes: Lanes) -> None:
    @router.post("/search", tags=["questions"], response_model=answers.SearchResults)
    async def search(request: requests.SearchRequest) -> Response:
        """Find documents by typed words: those that hold them, of their topic first."""
        _demand_one(request.texts, request.highlight, "highlight")

        def answer() -> answers.SearchResults:
            held = live.current()
            where = _matching(held, request.where)
            found = search_texts(
                held, request.texts, request.k, where=where, offset=request.offset, highlight=request.highlight
            )
            return answers.SearchResults(results=found)

        return await _written(lanes.of(request.texts, explained=request.highlight), answer)

    @router.post("/similar", tags=["questions"], response_model=answers.SearchResults, responses=_NO_DOCUMENT)
    async def similar(request: requests.SimilarRequest) -> Response:
        """Find the documents nearest to whole texts, or to one that the service holds, by the learned distance."""
        _demand_one(request.texts or [], request.highlight, "highlight")

        def answer() -> answers.SearchResults:
            held = live.current()
            where = _matching(held, request.where)
            if request.texts is not None:
                counted = count_texts(held, request.texts)
            else:
                own = _named(held, request.id, request.key)
                others = held.documents.ids if where is None else where
                counted, where = count_documents(held, [own]), others[others != own]
            found = similar_documents(
                counted, request.k, where=where, offset=request.offset, highlight=request.highlight
            )
            return answers.SearchResults(results=found)

        return await _written(lanes.of(request.texts or [], explained=request.highlight), answer)


def _add_questions(router: APIRouter, live: LiveModel, lanes: Lanes) -> None:
    @router.post("/predict", tags=["questions"], response_model=answers.Predictions)
    async def predict(request: requests.PredictRequest) -> Response:
        """Predict the labels of texts."""
        _demand_one(request.texts, request.explain, "explain")

        def answer() -> answers.Predictions:
            return answers.Predictions(predictions=predict_texts(live.current(), request.texts, request.explain))

        return await _written(lanes.of(request.texts, explained=request.explain), answer)

    @router.post("/explain", tags=["questions"], responses=_NO_DOCUMENT, response_model=answers.Comparison)
    async def explain(request: requests.ExplainRequest) -> Response:
        """Explain the distance of two documents: what stays, what moves where, and what it costs."""

        def answer() -> answers.Comparison:
            held = live.current()
            return compare(held, *(_text_or_id(held, document) for document in (request.first, request.second)))

        return await _written(lanes.explanations, answer)


async def _written(lane: Lane, answer: Callable[[], BaseModel]) -> Response:
    """Make an answer in a lane, and write it there: FastAPI would check it again, in another thread."""

    def write() -> str:
        try:
            return answer().model_dump_json()
        except UnexplainedError as error:
            raise HTTPException(422, str(error)) from error

    return Response(await lane.run(write), media_type="application/json")


def _add_views(router: APIRouter, live: LiveModel, lanes: Lanes, settings: Settings) -> None:
    views, examples = Latest(TreeView), Latest(example_queries)

    @router.get("/model", tags=["service"], response_model=answers.ModelView)
    async def model() -> Response:
        """Describe the model that is served."""

        def describe() -> answers.ModelView:
            held = live.current()
            return describe_model(held, settings, examples.of(held))

        return await _written(lanes.reads, describe)

    @router.get("/documents/{number}", tags=["documents"], responses=_NO_DOCUMENT, response_model=answers.DocumentView)
    async def get_document(number: _Id) -> Response:
        """Show a document."""
        return await _written(lanes.reads, lambda: _shown(live.current(), number))

    @router.get("/tree", tags=["questions"], responses=_NO_BRANCH, response_model=answers.BranchView)
    async def tree(
        node: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        component: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    ) -> Response:
        """Show a branch of the tree: its classes, words, documents and the branches below it."""

        def answer() -> answers.BranchView:
            held = live.current()
            trees = held.index.metric.trees
            if component >= len(trees) or node >= trees[component].n_nodes:
                raise HTTPException(404, f"There is no node {node} in tree {component}.")
            return views.of(held, component).branch(node)

        return await _written(lanes.explanations, answer)  # after a write, it looks at all documents again


def _add_review(router: APIRouter, live: LiveModel, lane: Lane) -> None:
    reviews = Latest(review_of)

    @router.get("/review", tags=["questions"], response_model=answers.Review)
    async def review() -> Response:
        """List labels that look wrong, and near-duplicates whose labels differ, to go through them."""
        return await _written(lane, lambda: reviews.of(live.current()))


def _add_writes(router: APIRouter, live: LiveModel, lane: Lane) -> None:
    @router.post("/documents", status_code=201, tags=["documents"], responses=_KEY_USED)
    async def add_documents(request: requests.NewDocuments, idempotency_key: _Key = None) -> answers.Added:
        """Add documents, to find and to vote; they are on the disk when this answers."""
        new = [NewDocument(d.text, d.label, d.title, d.key, d.columns) for d in request.documents]

        def add() -> answers.Added:
            ids, repeated = live.add(new, idempotency_key)
            known = are_known(count_texts(live.current(), [document.text for document in new]))
            return answers.Added(ids=ids, known=known, repeated=repeated)

        with _explaining_writes():
            return await lane.run(add)

    @router.patch("/documents/{number}", tags=["documents"], responses={**_NO_DOCUMENT, **_KEY_USED})
    async def relabel_document(
        number: _Id, request: requests.NewLabel, idempotency_key: _Key = None
    ) -> answers.DocumentView:
        """Give a document another label; the disk knows when this answers."""

        def relabel() -> answers.DocumentView:
            live.relabel(number, request.label, idempotency_key)
            return _shown(live.current(), number)

        with _explaining_writes():
            return await lane.run(relabel)

    @router.delete("/documents/{number}", tags=["documents"], responses={**_NO_DOCUMENT, **_KEY_USED})
    async def remove_document(number: _Id, idempotency_key: _Key = None) -> answers.Removed:
        """Remove a document; the disk knows when this answers."""
        with _explaining_writes():
            repeated = await lane.run(lambda: live.remove([number], idempotency_key))
        return answers.Removed(id=number, repeated=repeated)


@contextmanager
def _explaining_writes() -> Iterator[None]:
    """Say what is wrong with a write, or with the disk."""
    try:
        yield
    except (DamagedWritesError, TimeoutError, HTTPException):
        raise  # it is not the request that is wrong, or others explain it
    except UnknownDocumentError as error:
        raise HTTPException(404, str(error)) from error
    except KeyUsedError as error:
        raise HTTPException(409, str(error)) from error
    except (ValueError, TypeError) as error:
        raise HTTPException(422, str(error)) from error
    except OSError as error:
        raise _disk_problem(error) from error


def _matching(held: Contents, where: dict[str, Any] | None) -> NDArray[np.int64] | None:
    """Return the ids that a filter lets through."""
    try:
        return held.matching(where)
    except ValueError as error:
        raise HTTPException(422, f"where: {error}") from error


def _named(held: Contents, id: int | None, key: str | None = None) -> int:
    """Return the id of a document that is named by its id or its key."""
    try:
        return held.id_of(id, key)
    except ValueError as error:
        raise HTTPException(404, str(error)) from error


def _text_or_id(held: Contents, document: str | int | requests.DocumentKey) -> str | int:
    """Return a text as it is, and the id of a document that is there."""
    if isinstance(document, requests.DocumentKey):
        return _named(held, None, document.key)
    return document if isinstance(document, str) else _named(held, document)


def _shown(held: Contents, number: int) -> answers.DocumentView:
    return answers.DocumentView.model_validate(describe_document(held, _named(held, number)))


def _demand_one(texts: list[str], detailed: bool, name: str) -> None:
    """Refuse details on many texts: each can take as long as a thousand plain answers."""
    if detailed and len(texts) > 1:
        raise HTTPException(422, f"Expected one text with {name}, got {len(texts)}.")


def _disk_problem(error: OSError) -> HTTPException:
    reason = error.strerror or str(error).rstrip(".") or "the disk cannot be written"
    if isinstance(error, UncertainWriteError):
        sentence = f"It is not known whether this was written, ask again with the same key: {reason}."
    else:
        sentence = f"Nothing was written: {reason}."
    return HTTPException(503, sentence, {"Retry-After": "30"})


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
