"""Two sets of documents made ready for comparison: histograms over the points that their words stand at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.inputs import covered_histograms, finite_vectors, open_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["COSTS", "DocumentPairs", "check_cost", "pair_documents", "pair_histograms"]

COSTS = ("euclidean", "squared")
_FIRST_MULTIPLIER = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class DocumentPairs:
    """Documents to compare, over the distinct points of the words that they hold.

    Words with the same vector are one point, and points stand in an order that depends on nothing but their
    coordinates, so that what is computed for two documents never depends on the others.

    Parameters
    ----------
    left, right : csr_array of shape (n_documents, n_points), float64
        Canonical rows that sum to one.
    points : ndarray of shape (n_points, n_dimensions), float64
        The coordinates.
    same : bool
        Whether `right` is `left`.
    """

    left: csr_array
    right: csr_array
    points: NDArray[np.float64]
    same: bool

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix of distances."""
        return int(self.left.shape[0]), int(self.right.shape[0])

    @cached_property
    def left_centroids(self) -> NDArray[np.float64]:
        """The mean point of each document on the left."""
        return np.asarray(self.left @ self.points)

    @cached_property
    def right_centroids(self) -> NDArray[np.float64]:
        """The mean point of each document on the right."""
        return self.left_centroids if self.same else np.asarray(self.right @ self.points)

    def of_left(self, row: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the points of a document on the left and their masses."""
        span = slice(self.left.indptr[row], self.left.indptr[row + 1])
        return self.left.indices[span], self.left.data[span]


def pair_documents(X: Any, Y: Any, word_vectors: Any, *, caller: str) -> DocumentPairs:
    """Validate documents and vectors, and keep the points that are needed to compare them.

    Parameters
    ----------
    X, Y : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Counts or weights, each row with a word that has a vector. `Y` may be None: the rows of `X` again.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each word.
    caller : str
        Named in error messages.

    Returns
    -------
    DocumentPairs

    Examples
    --------
    >>> pairs = pair_documents([[1, 1, 2], [0, 3, 0]], None, [[0.0], [1.0], [1.0]], caller="wmd")
    >>> pairs.points.shape, pairs.shape
    ((2, 1), (2, 2))
    """
    found, covered = open_vectors(word_vectors, caller=caller)
    left = covered_histograms(X, covered, caller=caller)
    right = left if Y is None else covered_histograms(Y, covered, caller=caller, name="Y")
    used = _used_words(left, right)
    return _compact(left, right, used, finite_vectors(found, used, caller=caller))


def pair_histograms(left: csr_array, right: csr_array, vectors: NDArray[np.float64]) -> DocumentPairs:
    """Do the same for rows of mass one that are canonical already; one and the same object stands for no `Y`."""
    used = _used_words(left, right)
    return _compact(left, right, used, vectors[used])


def check_cost(cost: str, *, caller: str) -> bool:
    """Return whether the cost is the squared distance; refuse an unknown name.

    Examples
    --------
    >>> check_cost("squared", caller="wmd")
    True
    """
    if cost not in COSTS:
        raise ValueError(f"{caller} expects cost to be one of {', '.join(COSTS)}, got {cost!r}.")
    return cost == "squared"


def _used_words(left: csr_array, right: csr_array) -> NDArray[np.intp]:
    """List the words that some document holds."""
    used = np.zeros(left.shape[1], dtype=np.bool_)
    used[left.indices] = True
    used[right.indices] = True
    return np.flatnonzero(used)


def _compact(left: csr_array, right: csr_array, used: NDArray[np.intp], vectors: NDArray[np.float64]) -> DocumentPairs:
    """Replace words by the distinct points among the vectors of those that are used."""
    points, point_of_used = _distinct(vectors)
    point_of = np.zeros(left.shape[1], dtype=np.int32)
    point_of[used] = point_of_used
    moved = _moved(left, point_of, len(points))
    return DocumentPairs(moved, moved if right is left else _moved(right, point_of, len(points)), points, right is left)


def _distinct(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Find the distinct rows, in the order of a hash of their bits, and the place of each row among them."""
    vectors = vectors + 0.0  # makes the two zeros one
    multipliers = np.cumprod(np.full(vectors.shape[1], _FIRST_MULTIPLIER, dtype=np.uint64))
    keys = vectors.view(np.uint64) @ multipliers
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    if first.size == len(vectors) or np.array_equal(vectors[first][places], vectors):
        return vectors[first], places
    distinct, places = np.unique(vectors, axis=0, return_inverse=True)  # two hashes met: sort the rows themselves
    return distinct, places


def _moved(histograms: csr_array, point_of: NDArray[np.int32], n_points: int) -> csr_array:
    """Give the words of each row their points; masses at one point are added up."""
    from scipy.sparse import csr_array

    arrays = (histograms.data.copy(), point_of[histograms.indices], histograms.indptr.copy())
    moved = csr_array(arrays, shape=(histograms.shape[0], n_points))
    moved.has_sorted_indices = moved.has_canonical_format = False
    moved.sum_duplicates()
    return moved
