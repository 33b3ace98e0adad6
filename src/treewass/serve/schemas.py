"""What requests and answers hold, as the OpenAPI description shows them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, StrictStr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from treewass.serve.settings import MOST_CHARACTERS, MOST_HIGHLIGHTS, MOST_NEIGHBORS, MOST_TEXTS

__all__ = [
    "Added",
    "BranchDocument",
    "BranchView",
    "Child",
    "Comparison",
    "Crossing",
    "DocumentView",
    "ExplainRequest",
    "Health",
    "Label",
    "Metrics",
    "ModelView",
    "MoveView",
    "NeighborView",
    "NewDocumentView",
    "NewDocuments",
    "Piece",
    "PredictRequest",
    "Prediction",
    "Predictions",
    "Problem",
    "Removed",
    "RequestCount",
    "SearchRequest",
    "SearchResult",
    "SearchResults",
    "Share",
    "Word",
]

_WRITTEN_ID = re.compile(r"id:\d+")

_LONGEST_NAME = 50  # characters of an unknown name in a message
Number = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
Label = Annotated[StrictStr, Field(max_length=1000)] | Number
Text = Annotated[StrictStr, Field(max_length=MOST_CHARACTERS)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]


class _Request(BaseModel):
    model_config = {"extra": "forbid", "strict": True}

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_names(cls, values: Any) -> Any:
        """Refuse the first name that is none of the fields; an error for each could be hundreds of thousands."""
        names = values if isinstance(values, dict) else ()
        unknown = next((name for name in names if name not in cls.model_fields), None)
        if unknown is not None:
            shown = unknown[:_LONGEST_NAME].encode("utf-8", "replace").decode()
            known = ", ".join(cls.model_fields)
            raise PydanticCustomError("unknown_name", "Expected {known}, got {shown}", {"known": known, "shown": shown})
        return values


class SearchRequest(_Request):
    """Texts to find the nearest documents of."""

    texts: Texts
    k: Annotated[int, Field(ge=1, le=MOST_NEIGHBORS, description="Documents to find for each text.")] = 10
    highlight: Annotated[
        bool,
        Field(
            description="Whether to mark the words that bring each document near, in the nearest "
            f"{MOST_HIGHLIGHTS}; with one text only."
        ),
    ] = False


class PredictRequest(_Request):
    """Texts to classify."""

    texts: Texts
    explain: Annotated[
        bool, Field(description="Whether to tell which words and documents decided; with one text only.")
    ] = False


class ExplainRequest(_Request):
    """Two documents: texts, or ids of documents that the service holds."""

    first: Annotated[Text | Number, Field(description="A text, or the id of a document as a number.")]
    second: Annotated[Text | Number, Field(description="A text, or the id of a document as a number.")]

    @field_validator("first", "second")
    @classmethod
    def _no_written_id(cls, value: str | int) -> str | int:
        if isinstance(value, str) and _WRITTEN_ID.fullmatch(value):
            raise PydanticCustomError("written_id", "Expected an id as a number, such as 17, got a text such as id:17.")
        return value


class NewDocumentView(_Request):
    """A document to add."""

    text: Text
    label: Annotated[Label, Field(description="One of the labels that the model has learned.")]
    title: Annotated[str, Field(max_length=1000)] = ""


class NewDocuments(_Request):
    """Documents to add, all of them or none."""

    documents: Annotated[list[NewDocumentView], Field(min_length=1, max_length=MOST_TEXTS)]
    key: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="A name of this request, such as a UUID: sent again, it adds nothing and gets the same ids.",
        ),
    ] = None


class Problem(BaseModel):
    """What was wrong."""

    detail: str


class Piece(BaseModel):
    """A part of a text."""

    text: str
    weight: Annotated[float, Field(description="From -1, the word that costs most, to 1, the one that helps most.")] = (
        0.0
    )


class Word(BaseModel):
    """A word and what it weighs."""

    word: str
    weight: float


class Share(BaseModel):
    """A label and its share, from 0 to 1."""

    label: str | int
    share: float


class DocumentView(BaseModel):
    """A document."""

    id: int
    label: str | int
    title: str | None = None
    text: Annotated[str | None, Field(description="The text, where the model keeps texts.")] = None


class NeighborView(DocumentView):
    """A document near a text; its text is cut if it is long."""

    distance: float
    pieces: Annotated[list[Piece], Field(description="The text, with the words that bring it near.")] = []
    words: Annotated[list[Word], Field(description="The words that bring it near, heaviest first.")] = []


class SearchResult(BaseModel):
    """The documents nearest to one text."""

    known: Annotated[bool, Field(description="Whether the text holds a word that the model knows.")]
    neighbors: list[NeighborView]


class SearchResults(BaseModel):
    """An answer for each text."""

    results: list[SearchResult]


class Prediction(BaseModel):
    """The label of one text."""

    label: str | int
    known: Annotated[bool, Field(description="Whether the text holds a word that the model knows.")]
    probabilities: Annotated[list[Share], Field(description="Largest first.")]
    rival: Annotated[str | int | None, Field(description="The second label, which `words` compare with.")] = None
    words: Annotated[list[Word], Field(description="Words of the text, those that speak for the label first.")] = []
    pieces: list[Piece] = []
    neighbors: Annotated[list[NeighborView], Field(description="The documents that voted.")] = []


class Predictions(BaseModel):
    """An answer for each text."""

    predictions: list[Prediction]


class MoveView(BaseModel):
    """Mass that goes from a word of the first document to a word of the second."""

    source: str
    target: str
    mass: float
    cost: float


class Crossing(BaseModel):
    """A branch of the tree that one document uses more than the other."""

    node: int
    component: int
    cost: float
    masses: tuple[float, float]
    words: list[str]


class Comparison(BaseModel):
    """Why two documents are near or far."""

    distance: float
    shared_mass: float
    shared: Annotated[list[MoveView], Field(description="What stays, heaviest first.")]
    moves: Annotated[list[MoveView], Field(description="What moves, costliest first; at most 100.")]
    n_moves: int
    branches: list[Crossing]
    first: Annotated[list[Piece], Field(description="The first text, where there is one.")]
    second: list[Piece]


class Added(BaseModel):
    """Documents that are on the disk."""

    ids: list[int]
    known: Annotated[list[bool], Field(description="Whether each holds a known word; others are never found.")]
    repeated: Annotated[bool, Field(description="Whether the key was known, so that nothing was added.")]


class Removed(BaseModel):
    """A document that is gone."""

    id: int


class Child(BaseModel):
    """A branch below another one."""

    node: int
    mass: float
    n_words: int
    classes: list[Share]
    words: list[Word]


class BranchDocument(DocumentView):
    """A document that uses a branch; its text is cut if it is long."""

    mass: float


class BranchView(BaseModel):
    """A branch of the tree: the classes that use it, its words, the documents that use it most."""

    node: int
    component: int
    n_components: int
    path: Annotated[list[int], Field(description="The nodes from the root to this one.")]
    edge_length: float
    mass: Annotated[float, Field(description="Mean mass of a document below the node, over classes.")]
    n_words: int
    classes: list[Share]
    words: Annotated[list[Word], Field(description="By mean mass; at most 40.")]
    children: Annotated[list[Child], Field(description="By mass; at most 100.")]
    n_children: int
    documents: Annotated[list[BranchDocument], Field(description="Those with most mass here; at most 20.")]


class ModelView(BaseModel):
    """What is served."""

    name: str
    version: Annotated[str, Field(description="Of treewass.")]
    documents: int
    words: int
    classes: list[str | int]
    writable: bool
    protected: Annotated[bool, Field(description="Whether reads need the token.")]
    limits: dict[str, int]


class Health(BaseModel):
    """Whether the service answers."""

    status: str
    version: str


class RequestCount(BaseModel):
    """Requests of one kind."""

    method: str
    route: str
    status: int
    count: int
    seconds: float
    longest_seconds: float


class Metrics(BaseModel):
    """Counts of one worker since it started."""

    worker: int
    uptime_seconds: float
    documents: int
    journal_bytes: int
    requests: list[RequestCount]
