"""Two sets of documents over the points of their words, and what the distances on word vectors share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treewass.compute.arguments import check_choice
from treewass.compute.compiling import compiled
from treewass.compute.progress import show_progress
from treewass.compute.threads import cached_property
from treewass.documents.word_vectors import covered_histograms, finite_vectors, open_vectors
from treewass.storage.checkpoints import Arrays, PartStore, compute_in_parts, fingerprint

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "DocumentPairs",
    "Documents",
    "Floats",
    "Integers",
    "Query",
    "check_cost",
    "compute_rows",
    "csr_arrays",
    "fill_costs",
    "pair_documents",
    "pair_histograms",
    "pairwise_rows",
    "rows_in_parts",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Documents = tuple[Integers, Integers, Floats]  # where each begins, its points or words, their masses

COSTS = ("euclidean", "squared")
_FIRST_MULTIPLIER = 0x9E3779B97F4A7C15
_PAIRS_PER_PART, _MOST_ROWS = 20_000, 64


class Query(NamedTuple):
    """One document on the left: its row, its points in ascending order, their masses, and the costs to all points.

    The costs have the shape (n_points, n_query_points). `squared` says whether they are squared distances.
    """

    row: int
    points: NDArray[np.int32]
    masses: Floats
    costs: Floats
    squared: bool


@dataclass(frozen=True, eq=False)
class DocumentPairs:
    """Documents to compare, over the distinct points of the words that they hold.

    Rows are canonical and sum to one. Words with the same vector are one point. The order of points depends on nothing
    but their coordinates, so that the result for two documents never depends on the others. `same` says whether `right`
    is `left`.
    """

    left: csr_array
    right: csr_array
    points: Floats
    same: bool

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix of distances."""
        return int(self.left.shape[0]), int(self.right.shape[0])

    @cached_property
    def left_centroids(self) -> Floats:
        """The mean point of each document on the left."""
        return np.asarray(self.left @ self.points)

    @cached_property
    def right_centroids(self) -> Floats:
        """The mean point of each document on the right."""
        return self.left_centroids if self.same else np.asarray(self.right @ self.points)

    def query(self, row: int, squared: bool) -> Query:
        """Take a document on the left, and compute the costs from its points to all points."""
        span = slice(self.left.indptr[row], self.left.indptr[row + 1])
        points = self.left.indices[span]
        costs = np.empty((len(self.points), points.size))
        fill_costs(self.points, np.ascontiguousarray(self.points[points].T), squared, costs)
        return Query(row, points, self.left.data[span], costs, squared)


def pair_documents(X: Any, Y: Any, word_vectors: Any, *, caller: str) -> DocumentPairs:
    """Validate documents and vectors, as `wmd` takes them, and keep the points that are needed to compare them.

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


def pair_histograms(left: csr_array, right: csr_array, vectors: Floats) -> DocumentPairs:
    """Do the same for canonical rows of mass one; pass the same object twice to compare documents with themselves."""
    used = _used_words(left, right)
    return _compact(left, right, used, vectors[used])


def check_cost(cost: str) -> bool:
    """Return whether the cost is the squared distance; refuse an unknown name."""
    return check_choice("cost", cost, COSTS) == "squared"


def pairwise_rows(
    pairs: DocumentPairs, work: Callable[..., Arrays], settings: Mapping[str, Any], **options: Any
) -> Floats:
    """Return the array ``"distances"`` of `compute_rows`, also when there are no documents."""
    if not all(pairs.shape):
        return np.zeros(pairs.shape)
    return np.asarray(compute_rows(pairs, work, settings, **options)["distances"])


def compute_rows(
    pairs: DocumentPairs, work: Callable[..., Arrays], settings: Mapping[str, Any], **options: Any
) -> Arrays:
    """Call ``work(pairs, start, stop, **settings)`` on parts of the documents on the left.

    Options are those of `rows_in_parts`. Neither side may be empty. `work` is a function of a module; it returns named
    arrays with one row for each document.
    """
    n_rows, n_columns = pairs.shape
    sides = [pairs.left] if pairs.same else [pairs.left, pairs.right]
    inputs = [pairs.points, *(array for side in sides for array in csr_arrays(side))]
    block = max(1, min(_MOST_ROWS, _PAIRS_PER_PART // n_columns))
    return rows_in_parts(partial(work, pairs, **settings), n_rows, block, inputs, settings, **options)


def rows_in_parts(
    work: Callable[[int, int], Arrays],
    n_rows: int,
    block: int,
    inputs: list[NDArray[Any]],
    settings: Mapping[str, Any],
    *,
    name: str,
    processes: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Arrays:
    """Call ``work(start, stop)`` on parts of some rows, with a bar and a folder of finished parts where wanted.

    `work` returns named arrays with one row for each document. `inputs` and `settings` are all that the result depends
    on: they identify finished parts. `processes` says whether jobs are processes instead of threads.
    """
    stored = None
    if checkpoint is not None:
        stored = PartStore(checkpoint, fingerprint({"name": name, **settings}, *inputs), block)
    with show_progress(f"{name}, documents", n_rows, verbose) as progress:
        how: dict[str, Any] = {"n_jobs": n_jobs, "processes": processes, "progress": progress, "store": stored}
        return compute_in_parts(work, n_rows, block=block, **how)


def csr_arrays(rows: csr_array) -> Documents:
    """Take documents apart for compiled loops."""
    return rows.indptr, rows.indices, rows.data


@compiled
def fill_costs(points: Floats, others: Floats, squared: bool, costs: Floats) -> None:
    """Write the cost between each point and each of some others, which are transposed: shape (n_dimensions, n_others).

    Squared differences are added up in the order of the dimensions, so that a cost does not depend on what else is in
    the table, is the same both ways, and is zero for two equal points.
    """
    n_dimensions = points.shape[1]
    for point in range(points.shape[0]):
        row = costs[point]
        row[:] = 0.0
        for start in range(0, n_dimensions - 3, 4):  # four at a time, so that the row is loaded less often
            first, second = points[point, start], points[point, start + 1]
            third, fourth = points[point, start + 2], points[point, start + 3]
            for other in range(row.size):
                total = row[other] + (first - others[start, other]) ** 2
                total += (second - others[start + 1, other]) ** 2
                total += (third - others[start + 2, other]) ** 2
                row[other] = total + (fourth - others[start + 3, other]) ** 2
        for dimension in range(n_dimensions - n_dimensions % 4, n_dimensions):
            for other in range(row.size):
                row[other] += (points[point, dimension] - others[dimension, other]) ** 2
        if not squared:
            for other in range(row.size):
                row[other] = np.sqrt(row[other])


def _used_words(left: csr_array, right: csr_array) -> NDArray[np.intp]:
    """List the words that some document holds."""
    used = np.zeros(left.shape[1], dtype=np.bool_)
    used[left.indices] = True
    used[right.indices] = True
    return np.flatnonzero(used)


def _compact(left: csr_array, right: csr_array, used: NDArray[np.intp], vectors: Floats) -> DocumentPairs:
    """Replace words by the distinct points among the vectors of those that are used."""
    points, point_of_used = _distinct(vectors)
    point_of = np.zeros(left.shape[1], dtype=np.int32)
    point_of[used] = point_of_used
    moved = _moved(left, point_of, len(points))
    return DocumentPairs(moved, moved if right is left else _moved(right, point_of, len(points)), points, right is left)


def _distinct(vectors: Floats) -> tuple[Floats, NDArray[np.intp]]:
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
