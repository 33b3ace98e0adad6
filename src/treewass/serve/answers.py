"""What the service answers, as the OpenAPI description shows it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from treewass.documents.texts import excerpt
from treewass.serve.requests import Value

_LONGEST_EXCERPT = 600  # characters of a text in a list
_MOST_BRANCH_WORDS = 8


class _Answer(BaseModel):
    model_config = {"from_attributes": True}


class Problem(_Answer):
    """What was wrong."""

    detail: str


class Piece(_Answer):
    """A part of a text."""

    text: str
    weight: Annotated[float, Field(description="From -1, the word that costs most, to 1, the one that helps most.")] = (
        0.0
    )


class Word(_Answer):
    """A word and what it weighs."""

    word: str
    weight: float


class Share(_Answer):
    """A label and its share, from 0 to 1."""

    label: str | int
    share: float


class DocumentView(_Answer):
    """A document."""

    id: int
    label: Annotated[str | int | None, Field(description="None for a document that is found but never votes.")]
    title: str | None = None
    text: Annotated[str | None, Field(description="The text, where the model keeps texts.")] = None
    key: Annotated[str | None, Field(description="The document's key, if it has one.")] = None
    columns: Annotated[dict[str, Value], Field(description="What else is kept of it.")] = {}


class ExcerptView(DocumentView):
    """A document in a list; its text is on one line, and cut if it is long."""

    @field_validator("text")
    @classmethod
    def _shorten(cls, text: str | None) -> str | None:
        return None if text is None else excerpt(text, _LONGEST_EXCERPT)


class BranchShared(_Answer):
    """A branch of the tree that brings a document near."""

    node: int
    component: int
    mass: Annotated[float, Field(description="The share that the document and the query both have there.")]
    words: Annotated[list[str], Field(description="Words of the document there, heaviest first.")]


class HitView(ExcerptView):
    """A document that was found, by its score, larger is better, or by its distance, smaller is better."""

    score: float | None = None
    distance: float | None = None
    words: Annotated[list[str], Field(description="Words of the query that it holds.")] = []
    missing: Annotated[list[str], Field(description="Words of the query that it does not hold.")] = []
    branch: BranchShared | None = None
    pieces: Annotated[list[Piece], Field(description="The passage that tells most, with the words that count.")] = []


class UnknownWord(_Answer):
    """A word of the query that no document holds."""

    word: str
    suggestion: Annotated[str | None, Field(description="A word that is spelled much like it, and is held.")]


class SearchResult(_Answer):
    """The documents found for one text."""

    ranking: Annotated[Literal["words", "distance"], Field(description="What the documents are ordered by.")]
    known: Annotated[bool, Field(description="Whether a document holds a word of the text.")]
    unknown: list[UnknownWord] = []
    hits: list[HitView]
    more: Annotated[bool, Field(description="Whether there are further ones.")] = False


class SearchResults(_Answer):
    """An answer for each text."""

    results: list[SearchResult]


class TypicalWordView(_Answer):
    """A word of a text, and how common it is in two classes."""

    word: str
    mass: Annotated[float, Field(description="Its share of the text's mass, from 0 to 1.")]
    shares: Annotated[
        tuple[float, float], Field(description="The share of documents that hold it: of the label, of the rival.")
    ]


class Addend(_Answer):
    """A part of the log-odds."""

    name: str
    log_odds: float
    made_of: Annotated[str, Field(description="What it is made of, in words.")]


class Prediction(_Answer):
    """The label of one text."""

    label: str | int
    known: Annotated[bool, Field(description="Whether the text holds a word that the model knows.")]
    probabilities: Annotated[list[Share], Field(description="Largest first.")]
    rival: Annotated[str | int | None, Field(description="The second label, which `words` compare with.")] = None
    log_odds: Annotated[
        float | None,
        Field(
            description="Log of the label's probability over the rival's: the sum of the addends; None without a vote."
        ),
    ] = None
    addends: Annotated[list[Addend], Field(description="What words, neighbours and the prior add to it.")] = []
    words: Annotated[
        list[Word], Field(description="What each word adds to the log-odds, those that speak for the label first.")
    ] = []
    typical: Annotated[
        list[TypicalWordView],
        Field(description="Where no channel counts words: those typical of the label first, of the rival last."),
    ] = []
    pieces: list[Piece] = []
    neighbors: Annotated[list[HitView], Field(description="The documents that voted.")] = []


class Predictions(_Answer):
    """An answer for each text."""

    predictions: list[Prediction]


class MoveView(_Answer):
    """Mass that goes from a word of the first document to a word of the second."""

    source: str
    target: str
    mass: float
    cost: float


class Crossing(_Answer):
    """A branch of the tree that one document uses more than the other."""

    node: int
    component: int
    cost: float
    masses: tuple[float, float]
    words: list[str]

    @field_validator("words")
    @classmethod
    def _shorten(cls, words: list[str]) -> list[str]:
        return words[:_MOST_BRANCH_WORDS]


class Comparison(_Answer):
    """Why two documents are near or far."""

    distance: float
    shared_mass: float
    shared: Annotated[list[MoveView], Field(description="What stays, heaviest first.")]
    moves: Annotated[list[MoveView], Field(description="What moves, costliest first; at most 100.")]
    n_moves: int
    branches: list[Crossing]
    first: Annotated[list[Piece], Field(description="The first text, where there is one.")]
    second: list[Piece]


class Added(_Answer):
    """Documents that are on the disk."""

    ids: list[int]
    known: Annotated[
        list[bool],
        Field(description="Whether each has neighbors; others are found by words alone."),
    ]
    repeated: Annotated[bool, Field(description="Whether the key was known, so that nothing was added.")]


class Removed(_Answer):
    """A document that is gone."""

    id: int
    repeated: Annotated[bool, Field(description="Whether the key was known, so that nothing more was removed.")]


class Child(_Answer):
    """A branch below another one."""

    node: int
    mass: float
    n_words: int
    classes: list[Share]
    is_mixed: Annotated[bool, Field(description="Whether no class stands out in it; such branches come last.")]
    words: list[Word]


class BranchDocument(ExcerptView):
    """A document that uses a branch."""

    mass: float


class BranchView(_Answer):
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


class Doubt(_Answer):
    """A document for which another label is more probable than its own."""

    document: ExcerptView
    suggested: str | int
    probability: Annotated[float, Field(description="Of the suggested label.")]
    own_probability: float


class Pair(_Answer):
    """Two documents that say nearly the same."""

    first: ExcerptView
    second: ExcerptView
    likeness: Annotated[float, Field(description="Triples of words that both hold, as a share of all: 0.5 to 1.")]


class Review(_Answer):
    """Labels to look at."""

    documents: int
    looked_at: Annotated[int, Field(description="Documents that were looked at: evenly spread, where there are many.")]
    is_sample: Annotated[bool, Field(description="Whether these are only some of the documents with a label.")]
    n_unknown: Annotated[int, Field(description="Documents left out because they hold no known word.")]
    n_doubtful: int
    doubtful: Annotated[list[Doubt], Field(description="The most doubtful first; at most 200.")]
    pairs: Annotated[list[Pair], Field(description="Near-duplicates of different labels; at most 200.")]


class ModelView(_Answer):
    """What is served."""

    name: str
    version: Annotated[str, Field(description="Of treewass.")]
    documents: int
    words: int
    classes: list[str | int]
    colors: Annotated[list[str], Field(description="The colour of each class, as in reports.")]
    class_counts: Annotated[list[int], Field(description="Documents of each class.")]
    unlabelled: Annotated[int, Field(description="Documents without a label.")]
    columns: Annotated[list[str], Field(description="Columns to filter by.")]
    examples: Annotated[
        list[str | None],
        Field(description="A query of each class that finds some of it, if any does; without classes some queries."),
    ]
    learned: str | None
    writable: bool
    protected: Annotated[bool, Field(description="Whether reads need a token.")]
    limits: dict[str, int]


class Health(_Answer):
    """Whether the service answers."""

    status: str
    version: str
