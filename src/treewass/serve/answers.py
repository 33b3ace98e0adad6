"""Answers of a service: from a model at one moment to what JSON shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import treewass
from treewass.documents.histograms import check_counts
from treewass.explain.pairs import explain_pair
from treewass.explain.predictions import Neighbor
from treewass.model.answers import class_probabilities, describe_document, explain_label
from treewass.model.contents import Contents
from treewass.search.contents import documents_of
from treewass.search.embedding import unknown_rows
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
from treewass.serve.settings import MOST_BYTES, MOST_CHARACTERS, MOST_NEIGHBORS, MOST_TEXTS, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.explain.pairs import Move

__all__ = ["compare", "count_texts", "describe_model", "known_texts", "predict_text", "search_texts", "show_document"]

_MOST_MOVES = 100


def count_texts(held: Contents, texts: Sequence[str]) -> csr_array:
    """Count the words of texts, in the form that searches take."""
    return check_counts(held.counter.count(texts), n_words=len(held.counter.words), caller="the model")


def known_texts(held: Contents, counts: csr_array) -> NDArray[np.bool_]:
    """Tell which counted texts hold a known word."""
    known = np.ones(counts.shape[0], dtype=bool)
    known[unknown_rows(held.index.metric, counts)] = False
    return known


def search_texts(held: Contents, texts: Sequence[str], k: int, highlight: bool) -> list[SearchResult]:
    """Find the k documents nearest to each text.

    Parameters
    ----------
    held : Contents
        The model.
    texts : sequence of str
    k : int
    highlight : bool
        Whether to mark the words that bring each document near.

    Returns
    -------
    list of SearchResult
        One a text; without neighbours for a text without a known word.
    """
    counts = count_texts(held, texts)
    known = known_texts(held, counts)
    results = [SearchResult(known=bool(flag), neighbors=[]) for flag in known]
    rows = np.flatnonzero(known)
    if rows.size:
        distances, ids = held.index.search(counts[rows], k)
        for row, near, numbers in zip(rows.tolist(), distances.tolist(), ids.tolist(), strict=True):
            views = [_neighbor(describe_document(held, n, d)) for n, d in zip(numbers, near, strict=True)]
            results[row].neighbors = views
            if highlight:
                _highlight(held, counts[[row]], views)
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
    known = bool(known_texts(held, count_texts(held, [text]))[0])
    if not known:
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
        row = documents_of(held.index, [document]) if isinstance(document, int) else count_texts(held, [document])
        if not known_texts(held, row)[0]:
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
        },
    )
