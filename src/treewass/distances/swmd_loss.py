"""The loss of the supervised word mover's distance and its gradient, on a batch of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.distances.entropic_kernels import add_gradients, solve_pairs
from treewass.search.threads import run_in_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "LabelledDocuments",
    "SwmdMetric",
    "TransportSettings",
    "batch_distances",
    "batch_gradient",
    "mean_loss",
    "nearest_centroids",
]

_CHUNKS = 8  # of a batch, each with a gradient of its own: the order of the sum does not depend on the threads
_LEAST_FACTOR = 1e-6


@dataclass(frozen=True, slots=True)
class SwmdMetric:
    """What is learned: a linear map of the word vectors and a weight for each word.

    Parameters
    ----------
    linear_map : ndarray of shape (n_components, n_dimensions)
        A in the paper.
    log_weights : ndarray of shape (n_words,)
        Logarithms of the words' weights, w in the paper.
    """

    linear_map: NDArray[np.float64]
    log_weights: NDArray[np.float64]

    def points(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map word vectors: (n_words, n_components)."""
        return np.ascontiguousarray(vectors @ self.linear_map.T)

    def histograms(self, counts: csr_array) -> csr_array:
        """Weight the words of documents, and bring each document to mass one."""
        from treewass.documents.histograms import row_totals, scale_rows

        weighted = counts.copy()
        weighted.data = counts.data * np.exp(self.log_weights)[counts.indices]
        return scale_rows(weighted, row_totals(weighted))


@dataclass(frozen=True, slots=True)
class LabelledDocuments:
    """Documents to learn from.

    Parameters
    ----------
    counts : csr_array of shape (n_documents, n_words)
        Canonical rows, none of them empty.
    labels : ndarray of int, shape (n_documents,)
        Class numbers.
    vectors : ndarray of shape (n_words, n_dimensions)
        Word vectors.
    """

    counts: csr_array
    labels: NDArray[np.intp]
    vectors: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """How precisely regularised transport is solved: penalty, mass that may be astray, most iterations."""

    regularisation: float
    tolerance: float
    max_iterations: int


def nearest_centroids(
    documents: LabelledDocuments, metric: SwmdMetric, batch: NDArray[np.intp], known: NDArray[np.intp], most: int
) -> NDArray[np.intp]:
    """Select the documents that a batch is compared with: those with the nearest centroids.

    One of the same class is always among them, if there is one; the document itself never is.

    Parameters
    ----------
    documents : LabelledDocuments
        All documents.
    metric : SwmdMetric
        The metric so far.
    batch, known : ndarray of int
        Rows to find neighbours for, and rows to choose from.
    most : int
        Neighbours of each.

    Returns
    -------
    ndarray of int, shape (n_batch, n_neighbors)
    """
    histograms, points = metric.histograms(documents.counts), metric.points(documents.vectors)
    chosen, others = histograms[batch] @ points, histograms[known] @ points
    distances = (chosen**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * chosen @ others.T
    distances[batch[:, None] == known] = np.inf
    most = min(most, known.size - int(np.isin(batch, known).any()))
    order = np.argsort(distances, axis=1, kind="stable")
    same = documents.labels[known][order] == documents.labels[batch][:, None]
    same &= np.isfinite(np.take_along_axis(distances, order, axis=1))
    first = same.argmax(axis=1)
    late = same.any(axis=1) & (first >= most)
    order[late, most - 1] = order[late, first[late]]
    return np.asarray(known[order[:, :most]])


def batch_gradient(
    documents: LabelledDocuments,
    metric: SwmdMetric,
    batch: NDArray[np.intp],
    neighbors: NDArray[np.intp],
    settings: TransportSettings,
    n_jobs: int | None = None,
) -> tuple[float, SwmdMetric]:
    r"""Compute the mean loss of a batch, and its gradient by the map and by the logarithms of the weights.

    The loss of document i is :math:`-\log \sum_{j: y_j = y_i} p_{ij}`, with
    :math:`p_{ij} \propto \exp(-d_{ij})` over its neighbours j, and d the regularised transport cost. By the envelope
    theorem its derivative by the ground costs is the plan, and by the masses the dual potentials.

    Parameters
    ----------
    documents : LabelledDocuments
        All documents.
    metric : SwmdMetric
        Where to compute them.
    batch : ndarray of int, shape (n_batch,)
        Rows of the documents.
    neighbors : ndarray of int, shape (n_batch, n_neighbors)
        Rows that each of them is compared with.
    settings : TransportSettings
        How precisely.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    loss : float
    gradient : SwmdMetric
    """
    points, histograms = metric.points(documents.vectors), metric.histograms(documents.counts)
    arrays = (points, histograms.indptr, histograms.indices, histograms.data)
    longest = int(np.diff(histograms.indptr).max())
    block = -(-batch.size // _CHUNKS)
    losses = np.zeros(batch.size)
    point_gradients = np.zeros((-(-batch.size // block), *points.shape))
    weight_gradients = np.zeros((len(point_gradients), points.shape[0]))

    def work(start: int, stop: int) -> None:
        potentials = np.empty((2, neighbors.shape[1], longest))
        distances = np.empty(neighbors.shape[1])
        gradients = point_gradients[start // block], weight_gradients[start // block]
        for place in range(start, stop):
            query, others = int(batch[place]), neighbors[place].astype(np.int64)
            solving = (settings.regularisation, settings.tolerance, settings.max_iterations)
            solve_pairs(*arrays, query, others, *solving, distances, *potentials)
            same = documents.labels[others] == documents.labels[query]
            losses[place], factors = _neighbor_loss(distances, same)
            add_gradients(*arrays, query, others, settings.regularisation, factors, *potentials, *gradients)

    run_in_blocks(work, batch.size, n_jobs, block=block)
    by_points, by_weights = point_gradients.sum(axis=0), weight_gradients.sum(axis=0)
    return float(losses.mean()), SwmdMetric(by_points.T @ documents.vectors / batch.size, by_weights / batch.size)


def batch_distances(
    documents: LabelledDocuments,
    metric: SwmdMetric,
    batch: NDArray[np.intp],
    neighbors: NDArray[np.intp],
    settings: TransportSettings,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the regularised transport costs alone; parameters as in `batch_gradient`."""
    points, histograms = metric.points(documents.vectors), metric.histograms(documents.counts)
    arrays = (points, histograms.indptr, histograms.indices, histograms.data)
    longest = int(np.diff(histograms.indptr).max())
    distances = np.empty(neighbors.shape)

    def work(start: int, stop: int) -> None:
        potentials = np.empty((2, neighbors.shape[1], longest))
        solving = (settings.regularisation, settings.tolerance, settings.max_iterations)
        for place in range(start, stop):
            others = neighbors[place].astype(np.int64)
            solve_pairs(*arrays, int(batch[place]), others, *solving, distances[place], *potentials)

    run_in_blocks(work, batch.size, n_jobs, block=1)
    return distances


def mean_loss(distances: NDArray[np.float64], same: NDArray[np.bool_]) -> float:
    """Average the losses of documents with given distances to neighbours of the same class and of others."""
    return float(np.mean([_neighbor_loss(*row)[0] for row in zip(distances, same, strict=True)]))


def _neighbor_loss(distances: NDArray[np.float64], same: NDArray[np.bool_]) -> tuple[float, NDArray[np.float64]]:
    """Return the loss of one document, and its derivative by the distances; zero where all neighbours are alike."""
    if same.all() or not same.any():
        return 0.0, np.zeros(distances.size)
    likeness = np.exp(distances.min() - distances)
    nearest_same = distances[same].min()
    same_likeness = np.exp(np.where(same, nearest_same - distances, -np.inf))
    loss = nearest_same - distances.min() + np.log(likeness.sum()) - np.log(same_likeness.sum())
    factors = same_likeness / same_likeness.sum() - likeness / likeness.sum()
    factors[abs(factors) < _LEAST_FACTOR] = 0.0
    return float(loss), factors
