"""What a fitted model answers: neighbours and class probabilities.

Texts are counted once, by `count_texts`. Every question about them is then one search.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import EmptyDocumentWarning
from treewass.documents.texts import excerpt
from treewass.explain.hits import Document, Hit
from treewass.model.contents import Contents
from treewass.model.vectorizers import CountedRow, counted_matrix
from treewass.model.word_pairs import count_terms
from treewass.search.held_documents import rows_of
from treewass.search.numpy_nearest import nearest_of_rows
from treewass.trees.numpy_embedding import has_known_word
from treewass.votes.channels import TermRows, select_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array


__all__ = [
    "UNKNOWN_TEXTS",
    "CountedTexts",
    "class_probabilities",
    "count_documents",
    "count_texts",
    "demand_labels",
    "describe_document",
    "describe_hit",
    "describe_hits",
    "warn_about_unknown",
    "without_known_word",
]

_SHOWN = 60  # characters of a text in a message
UNKNOWN_TEXTS = "they get the class shares of the training."


@dataclass(frozen=True, slots=True)
class CountedTexts:
    """Texts, counted by a model at one moment.

    `rows` holds the words of each text and their counts, as `TextCounter.rows` returns them; `known` the numbers of the
    texts with a known word, ascending; `terms` what the channels of the model look at.
    """

    held: Contents
    rows: list[CountedRow]
    known: NDArray[np.intp]
    terms: TermRows | None = None

    @property
    def unknown(self) -> NDArray[np.intp]:
        """The numbers of the texts without a known word, ascending."""
        return np.setdiff1d(np.arange(len(self.rows)), self.known)

    def matrix(self, numbers: Sequence[int]) -> csr_array:
        """Return the counts of some of the texts, shape (n_texts, n_words)."""
        return counted_matrix(
            [self.known_row(number) for number in numbers], self.held.index.metric.n_words, np.float64
        )

    def known_row(self, number: int) -> CountedRow:
        """Return the metric's words in a text, and their counts."""
        words, counts = self.rows[number]
        n_known = bisect_left(words, self.held.index.metric.n_words)
        return words[:n_known], counts[:n_known]

    def nearest(
        self, numbers: Sequence[int], k: int, where: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k documents nearest to some of the texts, each with a known word; only `where` unless it is None.

        Returns distances and ids, each of shape (n_texts, min(k, n_documents)).
        """
        return nearest_of_rows(self.held.index, [self.known_row(number) for number in numbers], k, where=where)

    def scores(self, numbers: NDArray[np.intp]) -> list[NDArray[np.float64]]:
        """Return the scores that each channel gives some of the texts, each of shape (n_texts, n_classes)."""
        if self.terms is None:
            return []
        terms = select_rows(self.terms, numbers)
        return [channel.scores(terms) for channel in self.held.channels.values()]


def count_texts(held: Contents, texts: Sequence[str]) -> CountedTexts:
    """Count texts, once for all questions about them."""
    return _counted(
        held,
        held.counter.rows(texts),
        count_terms(held.counter, texts, held.index.metric.n_words) if held.channels else None,
    )


def count_documents(held: Contents, ids: Sequence[int], terms: TermRows | None = None) -> CountedTexts:
    """Take documents of the model, by ids that are there, as texts that are counted; channels look at `terms`."""
    return _counted(held, rows_of(held.index, ids), terms)


def _counted(held: Contents, rows: list[CountedRow], terms: TermRows | None = None) -> CountedTexts:
    counted = CountedTexts(held, rows, np.empty(0, dtype=np.intp), terms)
    known = [n for n in range(len(rows)) if has_known_word(held.index.metric, *counted.known_row(n))]
    return replace(counted, known=np.array(known, dtype=np.intp))


def without_known_word(held: Contents, document: str | int) -> str:
    """Say that the model knows no word of a text, or of a document by its id: the beginning of a sentence."""
    if isinstance(document, str):
        if not document.strip():
            return "The text is empty"
        return f"The model knows no word of the text {excerpt(document, _SHOWN)!r}"
    found = describe_document(held, int(document))
    named = f"the document {f'with the key {found.key!r}' if found.key else f'with id {found.id}'}"
    if found.text is not None and not found.text.strip():
        return f"The text of {named} is empty"
    return f"The model knows no word of {named}"


def warn_about_unknown(counted: CountedTexts, document: str | int, consequence: str) -> None:
    """Warn about a text, or a document of the model, that is the only one counted, if it holds no known word."""
    if counted.unknown.size:
        message = f"{without_known_word(counted.held, document)}, so {consequence}"
        warnings.warn(message, EmptyDocumentWarning, stacklevel=3)


def demand_labels(held: Contents) -> None:
    """Refuse a question about labels to a model that was learned without any."""
    if not held.classes:
        raise ValueError(
            "Expected a model that was learned from labels, but this one was learned without: it can search, find "
            "similar documents and explain pairs, but not predict. Fit it with labels, or update it with labelled "
            "texts."
        )


def class_probabilities(counted: CountedTexts) -> NDArray[np.float64]:
    """Estimate the probability of each class for each text, shape (n_texts, n_classes).

    Texts without a known word get the class shares of the training.
    """
    held = counted.held
    demand_labels(held)
    probabilities = np.tile(held.vote.prior, (len(counted.rows), 1))
    if counted.known.size and len(held.index):
        distances, ids = counted.nearest(counted.known.tolist(), held.vote.n_neighbors, held.documents.voters)
        scores = counted.scores(counted.known)
        probabilities[counted.known] = held.vote.probabilities(
            held.documents.codes_of(ids), distances, scores, held.documents.weights_of(ids)
        )
    return probabilities


def describe_document(held: Contents, number: int) -> Document:
    """Describe a document by its id; one that the model does not hold is a ValueError."""
    return Document(*_fields(held, number))


def describe_hit(held: Contents, number: int, **found: Any) -> Hit:
    """Describe a document that was found, with further fields of a `Hit`."""
    return Hit(*_fields(held, number), **found)


def _fields(held: Contents, number: int) -> tuple[Any, ...]:
    """Return what a model keeps of a document, in the order of the fields of `Document`."""
    if number not in held.index:
        raise ValueError(f"No document in the model has id {number}.")
    place = int(held.documents.places(np.array([number]))[0])
    kept, code = held.documents, held.documents.codes[place]
    return (
        int(number),
        None if code < 0 else held.classes[code],
        (kept.titles[place] or None) if kept.titles is not None else None,
        kept.texts[place] if kept.texts is not None else None,
        (kept.keys[place] or None) if kept.keys is not None else None,
        {name: column[place] for name, column in kept.columns.items()},
    )


def describe_hits(held: Contents, ids: NDArray[np.int64], distances: NDArray[np.float64]) -> list[Hit]:
    """Describe documents that were found, with their distances."""
    return [
        describe_hit(held, number, distance=float(distance)) for number, distance in zip(ids, distances, strict=True)
    ]
