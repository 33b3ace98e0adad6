"""Channels: class scores of a document that add up over its words, which a calibrated vote listens to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["WEIGHINGS", "CountedTerms", "ScoreChannel", "TermRows", "TermsOf", "select_rows"]

WEIGHINGS = ("tfidf", "mean")
_BLOCK = 1 << 20  # contributions held at a time


class CountedTerms(Protocol):
    """Counts of terms, a document after the other: what a `csr_array` has, so that SciPy is not needed."""

    @property
    def indptr(self) -> NDArray[np.integer]:
        """Where the entries of each document begin, and where the last ones end."""

    @property
    def indices(self) -> NDArray[np.integer]:
        """The term of each entry."""

    @property
    def data(self) -> NDArray[np.generic]:
        """Its count, above zero."""


TermsOf: TypeAlias = "Callable[[NDArray[np.intp]], CountedTerms]"  # counts the terms of documents, by their rows


class TermRows(NamedTuple):
    """Counts of terms without SciPy: see `CountedTerms`."""

    indptr: NDArray[np.integer]
    indices: NDArray[np.integer]
    data: NDArray[np.generic]

    @classmethod
    def of(cls, rows: Sequence[tuple[Sequence[int], Sequence[float]]]) -> TermRows:
        """Put the terms and counts of documents one after the other."""
        bounds = np.cumsum([0, *(len(terms) for terms, _ in rows)])
        terms = np.fromiter((term for row in rows for term in row[0]), np.int64, bounds[-1])
        counts = np.fromiter((count for row in rows for count in row[1]), np.float64, bounds[-1])
        return cls(bounds, terms, counts)


def select_rows(counted: CountedTerms, rows: NDArray[np.intp]) -> TermRows:
    """Take some documents, in the order given; all of them in their order are not copied."""
    if rows.size == counted.indptr.size - 1 and np.array_equal(rows, np.arange(rows.size)):
        return TermRows(counted.indptr, counted.indices, counted.data)
    lengths = np.diff(counted.indptr)[rows]
    bounds = np.append(0, np.cumsum(lengths))
    entries = np.arange(bounds[-1]) + np.repeat(counted.indptr[:-1][rows] - bounds[:-1], lengths)
    return TermRows(bounds, counted.indices[entries], counted.data[entries])


@dataclass(frozen=True, slots=True)
class ScoreChannel:
    r"""Scores of the classes, which add up over the terms of a document.

    :math:`s_c(x) = \sum_f x_f B_{fc} + b_c`. The weights :math:`x` of the terms come from their counts :math:`a`, by
    one of two weighings. ``"tfidf"`` takes :math:`(1 + \log(a_f / \min a)) \, i_f`, with a factor :math:`i` for each
    term, and brings them to Euclidean length one. ``"mean"`` takes :math:`a_f i_f`, and brings them to sum one. Neither
    changes if all counts of a document are multiplied.

    Terms are named by whole numbers, those of `columns`, ascending; others are passed over. The other arrays are
    float32: `factors` of shape (n_terms,), `weights` of shape (n_terms, n_classes), and `intercepts`.

    Examples
    --------
    >>> columns, ones = np.array([2, 5]), np.ones(2, dtype=np.float32)
    >>> channel = ScoreChannel("mean", columns, ones, np.eye(2, dtype=np.float32), np.zeros(2, dtype=np.float32))
    >>> channel.scores(TermRows.of([([2, 3, 5], [3, 9, 1])]))
    array([[0.75, 0.25]])
    """

    weighing: str
    columns: NDArray[np.int64]
    factors: NDArray[np.float32]  # i
    weights: NDArray[np.float32]  # B
    intercepts: NDArray[np.float32]  # b

    def scores(self, counted: CountedTerms) -> NDArray[np.float64]:
        """Score each class for each document, shape (n_documents, n_classes): the same bits for any batch."""
        n_documents, n_classes = counted.indptr.size - 1, self.intercepts.size
        found = np.tile(self.intercepts.astype(np.float64), (n_documents, 1))
        entries = max(1, _BLOCK // n_classes)
        start = 0
        while start < n_documents:
            stop = int(np.searchsorted(counted.indptr, counted.indptr[start] + entries, side="right")) - 1
            stop = min(max(stop, start + 1), n_documents)
            documents, _, shares = self.contributions(select_rows(counted, np.arange(start, stop)))
            first = np.flatnonzero(np.diff(documents, prepend=-1))
            if first.size:
                found[start + documents[first]] += np.add.reduceat(shares, first, axis=0)
            start = stop
        return found

    def contributions(self, counted: CountedTerms) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """Return what each known term of each document adds to the scores, in the order of documents.

        The arrays are the number of the document, the term, and the addends, shape (n_entries, n_classes). With the
        intercepts they add up to `scores`.
        """
        documents, places, weights = self.weighed(counted)
        return documents, self.columns[places], weights[:, None] * self.weights[places]

    def weighed(self, counted: CountedTerms) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Weigh the known terms of documents; return the document, the place in `columns` and the weight of each."""
        return weigh(counted, self.columns, self.factors, self.weighing)


def weigh(
    counted: CountedTerms, columns: NDArray[np.int64], factors: NDArray[np.float32], weighing: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Weigh terms as `ScoreChannel` does."""
    documents = np.repeat(np.arange(counted.indptr.size - 1), np.diff(counted.indptr))
    places = np.searchsorted(columns, counted.indices)
    places[places == columns.size] = 0
    known = np.flatnonzero(columns[places] == counted.indices) if columns.size else np.zeros(0, dtype=np.intp)
    documents, places, counts = documents[known], places[known], counted.data[known].astype(np.float64)
    first = np.flatnonzero(np.diff(documents, prepend=-1))
    if not first.size:
        return documents, places, counts
    lengths = np.diff(np.append(first, documents.size))
    if weighing == "tfidf":
        least = np.repeat(np.minimum.reduceat(counts, first), lengths)
        weights = (1 + np.log(counts / least)) * factors[places]
        totals = np.sqrt(np.add.reduceat(weights**2, first))
    else:
        weights = counts * factors[places]
        totals = np.add.reduceat(weights, first)
    return documents, places, weights / np.repeat(np.maximum(totals, np.finfo(float).tiny), lengths)
