"""What a fitted model answers: neighbours, class probabilities, and the reasons of a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.histograms import warn_about_empty_rows
from treewass.explain.predictions import Neighbor, PredictionExplanation, WordSupport
from treewass.model.contents import Contents
from treewass.search.contents import documents_of
from treewass.search.plain import has_known_word, nearest_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "UNKNOWN_TEXTS",
    "answered_texts",
    "class_probabilities",
    "describe_document",
    "explain_label",
    "find_neighbors",
]

UNKNOWN_TEXTS = "they get the class shares of the training."
_COMPARED = 3  # documents of the predicted class and of its rival that a prediction is explained with
_LOOKED_AT = 200  # nearest documents among which they are looked for first
_CountedText = tuple[list[int], list[float]]  # ascending columns and their counts


def class_probabilities(held: Contents, texts: Sequence[str], *, compiled: bool) -> NDArray[np.float64]:
    """Estimate the probability of each class for each text.

    Parameters
    ----------
    held : Contents
        The model.
    texts : sequence of str
        Those without a known word get the class shares of the training, with a warning.
    compiled : bool
        Whether to search with compiled loops.

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    probabilities, unknown = answered_texts(held, texts, compiled=compiled)
    warn_about_empty_rows(unknown, UNKNOWN_TEXTS)
    return probabilities


def answered_texts(
    held: Contents, texts: Sequence[str], *, compiled: bool
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Do as `class_probabilities`, but return the rows without a known word beside it, and warn of nothing.

    Parameters
    ----------
    held, texts, compiled
        As in `class_probabilities`.

    Returns
    -------
    probabilities : ndarray of shape (n_texts, n_classes)
    unknown : ndarray of int
        Ascending row numbers.
    """
    rows = [held.counter.count_one(text) for text in texts]
    probabilities = np.tile(held.vote.prior, (len(rows), 1))
    known = [number for number, row in enumerate(rows) if has_known_word(held.index.metric, *row)]
    if known:
        distances, ids = _nearest(held, [rows[number] for number in known], held.vote.n_neighbors, compiled)
        probabilities[known] = held.vote.probabilities(held.documents.codes_of(ids), distances)
    return probabilities, np.setdiff1d(np.arange(len(rows)), known)


def find_neighbors(held: Contents, text: str, k: int, *, compiled: bool) -> list[Neighbor]:
    """Find the k documents nearest to a text; none, with a warning, for one without a known word.

    Parameters
    ----------
    held : Contents
        The model.
    text : str
        The query.
    k : int
        At least 1.
    compiled : bool
        Whether to search with compiled loops.

    Returns
    -------
    list of Neighbor
    """
    row = held.counter.count_one(text)
    if not has_known_word(held.index.metric, *row):
        warn_about_empty_rows(np.array([0]), "there are no neighbours.")
        return []
    distances, ids = _nearest(held, [row], k, compiled)
    return [describe_document(held, number, distance) for number, distance in zip(ids[0], distances[0], strict=True)]


def explain_label(held: Contents, text: str, *, compiled: bool) -> PredictionExplanation:
    """Explain the label that a text gets: the neighbours that vote, and the words that decide.

    Parameters
    ----------
    held : Contents
        The model.
    text : str
        One without a known word gets the class shares and no reasons, with a warning.
    compiled : bool
        Whether to search with compiled loops.

    Returns
    -------
    PredictionExplanation
    """
    from treewass.explain.predictions import deciding_words

    probabilities = class_probabilities(held, [text], compiled=compiled)[0]
    row = held.counter.count_one(text)
    known = has_known_word(held.index.metric, *row) and len(held.index)
    ids = _nearest(held, [row], _LOOKED_AT, compiled)[1][0] if known else np.empty(0, dtype=np.int64)
    codes = held.documents.codes_of(ids)
    ranked = _ranked(probabilities, codes)
    shares = tuple((held.classes[code], float(probabilities[code])) for code in ranked)
    if not known:
        return PredictionExplanation(shares[0][0], shares, ())
    neighbors = tuple(find_neighbors(held, text, held.vote.n_neighbors, compiled=compiled))
    winners, rivals = (_nearest_of_class(held, row, code, ids[codes == code]) for code in ranked[:2])
    support: tuple[WordSupport, ...] = ()
    if winners.shape[0] and rivals.shape[0]:
        support = deciding_words(held.index.metric, held.counter.count([text]), winners, rivals, held.counter.words)
    return PredictionExplanation(shares[0][0], shares, neighbors, shares[1][0], support)


def _ranked(probabilities: NDArray[np.float64], codes: NDArray[np.intp]) -> list[int]:
    """Rank classes: the predicted one, then the others by probability, and by their nearest document where they tie."""
    label = int(probabilities.argmax())
    first = {code: place for place, code in reversed(list(enumerate(codes.tolist())))}
    others = [code for code in range(probabilities.size) if code != label]
    return [label, *sorted(others, key=lambda code: (-probabilities[code], first.get(code, codes.size)))]


def describe_document(held: Contents, number: int, distance: float = 0.0) -> Neighbor:
    """Describe a document by its id.

    Raises
    ------
    ValueError
        If the model does not hold it.
    """
    if number not in held.index:
        raise ValueError(f"Expected the id of a document that the model holds, got {number}.")
    place = int(held.documents.places(np.array([number]))[0])
    texts, titles = held.documents.texts, held.documents.titles
    return Neighbor(
        int(number),
        float(distance),
        held.classes[held.documents.codes[place]],
        (titles[place] or None) if titles is not None else None,
        texts[place] if texts is not None else None,
    )


def _nearest(
    held: Contents, rows: list[_CountedText], k: int, compiled: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the k nearest documents of counted texts, each with a known word."""
    if compiled:
        return held.index.search(_matrix(rows, len(held.counter.words)), k)
    found = [nearest_documents(held.index, words, weights, k) for words, weights in rows]
    return np.array([distances for distances, _ in found]), np.array([ids for _, ids in found])


def _nearest_of_class(held: Contents, row: _CountedText, code: int, found: NDArray[np.int64]) -> csr_array:
    """Take the documents of a class nearest to a query: of those found if they are enough, else of the whole class."""
    if found.size < _COMPARED:
        of_class = held.documents.ids[held.documents.codes == code]
        found = nearest_documents(held.index, *row, _COMPARED, among=of_class)[1]
    return documents_of(held.index, found[:_COMPARED])


def _matrix(rows: list[_CountedText], n_words: int) -> csr_array:
    """Put counted texts one below the other."""
    from scipy.sparse import csr_array

    bounds = np.cumsum([0, *(len(words) for words, _ in rows)])
    words = np.array([word for row in rows for word in row[0]], dtype=np.int32)
    weights = np.array([weight for row in rows for weight in row[1]], dtype=np.float64)
    return csr_array((weights, words, bounds.astype(np.int32)), shape=(len(rows), n_words))
