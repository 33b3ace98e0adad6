"""Answers of a service: from a model at one moment to what JSON shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import treewass
from treewass.explain.pairs import explain_pair
from treewass.explain.predictions import Neighbor
from treewass.model.answers import (
    class_probabilities,
    describe_document,
    explain_label,
    find_neighbors,
)
from treewass.model.contents import Contents
from treewass.search.contents import documents_of
from treewass.search.plain import has_known_word
from treewass.serve.highlights import cut, near_words, pair_weights, pieces, top_words
from treewass.serve.schemas import (
    Comparison,
    Crossing,
    DocumentView,
    ModelView,
    MoveView,
    NeighborView,
    Prediction,
    SearchResult,
    Share,
    Word,
)
from treewass.serve.settings import MOST_BYTES, MOST_CHARACTERS, MOST_HIGHLIGHTS, MOST_NEIGHBORS, MOST_TEXTS, Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from treewass.explain.pairs import Move

__all__ = ["compare", "describe_model", "is_known", "predict_text", "search_texts", "show_document"]

_MOST_MOVES = 100


def is_known(held: Contents, text: str) -> bool:
    """Tell whether a text holds a word that the model knows."""
    return has_known_word(held.index.metric, *held.counter.count_one(text))


def search_texts(held: Contents, texts: Sequence[str], k: int, highlight: bool) -> list[SearchResult]:
    """Find the k documents nearest to each text.

    Parameters
    ----------
    held : Contents
        The model.
    texts : sequence of str
    k : int
    highlight : bool
        Whether to mark the words that bring each of the nearest `MOST_HIGHLIGHTS` documents near.

    Returns
    -------
    list of SearchResult
        One a text; without neighbours for a text without a known word.
    """
    results = []
    for text in texts:
        known = is_known(held, text)
        found = find_neighbors(held, text, k, compiled=True) if known else []
        results.append(SearchResult(known=known, neighbors=[_neighbor(neighbor) for neighbor in found]))
        if highlight and found:
            _highlight(held, held.counter.count([text]), results[-1].neighbors[:MOST_HIGHLIGHTS])
    return results


def _highlight(held: Contents, query: csr_array, views: Sequence[NeighborView]) -> None:
    """Mark the words that bring documents near a query."""
    documents = documents_of(held.index, [view.id for view in views])
    for place, view in enumerate(views):
        weights = near_words(held, query, documents[[place]])
        view.pieces = pieces(held, view.text, weights, faintest=0.1)
        view.words = top_words(weights)


def _neighbor(neighbor: Neighbor) -> NeighborView:
    """Show a document that was found."""
    return NeighborView(
        id=neighbor.id,
        distance=neighbor.distance,
        label=neighbor.label,
        title=neighbor.title,
        text=cut(neighbor.text),
    )


def predict_text(held: Contents, text: str, explain: bool) -> Prediction:
    """Classify a text, with reasons if asked; one without a known word gets the class shares of the training."""
    if not is_known(held, text):
        order = np.argsort(-held.vote.prior, kind="stable").tolist()
        shares = [Share(label=held.classes[code], share=float(held.vote.prior[code])) for code in order]
        return Prediction(label=shares[0].label, known=False, probabilities=shares, pieces=pieces(held, text, {}))
    if not explain:
        probabilities = class_probabilities(held, [text], compiled=True)[0]
        order = np.argsort(-probabilities, kind="stable").tolist()
        shares = [Share(label=held.classes[code], share=float(probabilities[code])) for code in order]
        return Prediction(label=shares[0].label, known=True, probabilities=shares)
    reasons = explain_label(held, text, compiled=True)
    return Prediction(
        label=reasons.label,
        known=True,
        probabilities=[Share(label=label, share=share) for label, share in reasons.probabilities],
        rival=reasons.rival,
        words=[Word(word=word.word, weight=word.support) for word in reasons.words],
        pieces=pieces(held, text, {word.word: word.support for word in reasons.words}),
        neighbors=[_neighbor(neighbor) for neighbor in reasons.neighbors],
    )


def compare(held: Contents, first: str | int, second: str | int) -> Comparison:
    """Explain the distance of two documents.

    Parameters
    ----------
    held : Contents
        The model.
    first, second : str or int
        Texts, or ids of documents that are there.

    Raises
    ------
    ValueError
        If one of them holds no known word.
    """
    counts = []
    for place, document in (("first", first), ("second", second)):
        row = documents_of(held.index, [document]) if isinstance(document, int) else held.counter.count([document])
        if not has_known_word(held.index.metric, row.indices.tolist(), row.data.tolist()):
            raise ValueError(f"Expected a known word in the {place} document, but there is none: it has no distance.")
        counts.append(row)
    explanation = explain_pair(held.index.metric, counts[0], counts[1], held.counter.words)
    texts = [d if isinstance(d, str) else describe_document(held, d).text for d in (first, second)]
    shown = [pieces(held, text, own) for text, own in zip(texts, pair_weights(explanation), strict=True)]
    return Comparison(
        distance=explanation.distance,
        shared_mass=explanation.shared_mass,
        shared=[_move(move) for move in explanation.shared[:_MOST_MOVES]],
        moves=[_move(move) for move in explanation.moves[:_MOST_MOVES]],
        n_moves=len(explanation.moves),
        branches=[
            Crossing(node=b.node, component=b.component, cost=b.cost, masses=b.masses, words=list(b.words[:8]))
            for b in explanation.branches
        ],
        first=shown[0],
        second=shown[1],
    )


def _move(move: Move) -> MoveView:
    return MoveView(source=move.source, target=move.target, mass=move.mass, cost=move.cost)


def show_document(held: Contents, number: int) -> DocumentView:
    """Show a document that is there, whole."""
    found = describe_document(held, number)
    return DocumentView(id=found.id, label=found.label, title=found.title, text=found.text)


def describe_model(held: Contents, settings: Settings) -> ModelView:
    """Tell what is served."""
    return ModelView(
        name=held.about.get("name", "A model of labelled texts"),
        version=treewass.__version__,
        documents=len(held.index),
        words=len(held.counter.words),
        classes=list(held.classes),
        writable=settings.token is not None,
        protected=settings.protect_reads,
        limits={
            "bytes": MOST_BYTES,
            "characters": MOST_CHARACTERS,
            "texts": MOST_TEXTS,
            "neighbors": MOST_NEIGHBORS,
            "highlights": MOST_HIGHLIGHTS,
        },
    )
