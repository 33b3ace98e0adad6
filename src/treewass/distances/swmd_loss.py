"""The loss of the supervised word mover's distance and its gradient, on a batch of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treewass.compute.threads import run_in_blocks
from treewass.distances.document_pairs import Floats, Integers
from treewass.distances.entropic_kernels import PlacedDocuments, add_gradients, solve_pairs
from treewass.documents.histograms import row_totals, scale_rows

if TYPE_CHECKING:
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
    """What is learned: the linear map A of the word vectors, and the logarithms of the words' weights w."""

    linear_map: Floats
    log_weights: Floats

    def points(self, vectors: Floats) -> Floats:
        """Map word vectors: (n_words, n_components)."""
        return np.ascontiguousarray(vectors @ self.linear_map.T)

    def histograms(self, counts: csr_array) -> csr_array:
        """Weight the words of documents, and bring each document to mass one."""
        weighted = counts.copy()
        weighted.data = counts.data * np.exp(self.log_weights)[counts.indices]
        return scale_rows(weighted, row_totals(weighted))


@dataclass(frozen=True, slots=True)
class LabelledDocuments:
    """Documents to learn from: canonical counts, no row empty, class numbers, and the vectors of the words."""

    counts: csr_array
    labels: Integers
    vectors: Floats

    @property
    def longest(self) -> int:
        """The most words that a document holds."""
        return int(np.diff(self.counts.indptr).max())


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """How regularised transport is solved; the tolerance is the mass that may be in the wrong place at the end."""

    regularization: float
    tolerance: float
    max_iter: int
    n_jobs: int | None = None


def nearest_centroids(
    documents: LabelledDocuments, metric: SwmdMetric, batch: Integers, known: Integers, most: int
) -> Integers:
    """Select the documents that a batch is compared with: of the known ones those with the nearest centroids.

    There are at most `most` for each. One of the same class is always among them, if there is one; the document itself
    never is.
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
    documents: LabelledDocuments, metric: SwmdMetric, batch: Integers, neighbors: Integers, settings: TransportSettings
) -> tuple[float, SwmdMetric]:
    r"""Compute the mean loss of a batch, and its gradient by the map and by the logarithms of the weights.

    The loss of document i is :math:`-\log \sum_{j: y_j = y_i} p_{ij}`, with :math:`p_{ij} \propto \exp(-d_{ij})` over
    its neighbours j, and d the regularised transport cost. By the envelope theorem its derivative by the ground costs
    is the plan, and by the masses the dual potentials. Neighbours have the shape (n_batch, n_neighbors).
    """
    arrays, room = _arrays(documents, metric), (2, neighbors.shape[1], documents.longest)
    solving = (float(settings.regularization), float(settings.tolerance), settings.max_iter)
    block = -(-batch.size // _CHUNKS)
    losses = np.zeros(batch.size)
    point_gradients = np.zeros((-(-batch.size // block), *arrays[0].shape))
    weight_gradients = np.zeros(point_gradients.shape[:2])

    def work(start: int, stop: int) -> None:
        potentials, distances = np.empty(room), np.empty(neighbors.shape[1])
        gradients = point_gradients[start // block], weight_gradients[start // block]
        for place in range(start, stop):
            query, others = int(batch[place]), neighbors[place].astype(np.int64)
            solve_pairs(arrays, query, others, solving, distances, potentials)
            same = documents.labels[others] == documents.labels[query]
            losses[place], factors = _neighbor_loss(distances, same)
            add_gradients(arrays, query, others, solving[0], factors, potentials, gradients)

    run_in_blocks(work, batch.size, settings.n_jobs, block=block)
    by_points, by_weights = point_gradients.sum(axis=0), weight_gradients.sum(axis=0)
    return float(losses.mean()), SwmdMetric(by_points.T @ documents.vectors / batch.size, by_weights / batch.size)


def batch_distances(
    documents: LabelledDocuments, metric: SwmdMetric, batch: Integers, neighbors: Integers, settings: TransportSettings
) -> Floats:
    """Compute the regularised transport costs alone; parameters as in `batch_gradient`."""
    arrays, room = _arrays(documents, metric), (2, neighbors.shape[1], documents.longest)
    solving = (float(settings.regularization), float(settings.tolerance), settings.max_iter)
    distances = np.empty(neighbors.shape)

    def work(start: int, stop: int) -> None:
        potentials = np.empty(room)
        for place in range(start, stop):
            others = neighbors[place].astype(np.int64)
            solve_pairs(arrays, int(batch[place]), others, solving, distances[place], potentials)

    run_in_blocks(work, batch.size, settings.n_jobs, block=1)
    return distances


def _arrays(documents: LabelledDocuments, metric: SwmdMetric) -> PlacedDocuments:
    """Return the points of words and the weighted documents, as compiled loops take them."""
    histograms = metric.histograms(documents.counts)
    return metric.points(documents.vectors), histograms.indptr, histograms.indices, histograms.data


def mean_loss(distances: Floats, same: NDArray[np.bool_]) -> float:
    """Average the losses of documents with given distances to neighbours of the same class and of others."""
    return float(np.mean([_neighbor_loss(*row)[0] for row in zip(distances, same, strict=True)]))


def _neighbor_loss(distances: Floats, same: NDArray[np.bool_]) -> tuple[float, Floats]:
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
