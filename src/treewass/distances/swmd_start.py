"""Where the supervised word mover's distance starts: a metric learned on centroids, brought to a useful scale."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from treewass.distances.swmd_loss import (
    LabelledDocuments,
    SwmdMetric,
    TransportSettings,
    batch_distances,
    mean_loss,
    nearest_centroids,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mean_cost", "scaled_start", "start_metric"]

_MOST_DOCUMENTS, _ITERATIONS = 1000, 30
_SCALES = 2.0 ** np.arange(-4, 5)


def start_metric(documents: LabelledDocuments, rows: NDArray[np.intp], n_components: int, seed: int) -> SwmdMetric:
    """Learn the linear map on the documents' centroids, by neighbourhood components analysis; all weights are one.

    Parameters
    ----------
    documents : LabelledDocuments
        All documents.
    rows : ndarray of int
        Those to learn from, of at least two classes; a thousand of them, if there are more.
    n_components : int
        Rows of the map.
    seed : int
        Chooses the thousand.

    Returns
    -------
    SwmdMetric
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    n_words, n_dimensions = documents.vectors.shape
    metric = SwmdMetric(np.eye(n_dimensions), np.zeros(n_words))
    if rows.size > _MOST_DOCUMENTS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _MOST_DOCUMENTS, replace=False))
    centroids = metric.histograms(documents.counts[rows]) @ documents.vectors
    directions = np.linalg.svd(centroids - centroids.mean(axis=0))[2][:n_components]
    spread = float(np.sqrt(((centroids - centroids.mean(axis=0)) ** 2).sum(axis=1).mean()))
    if spread == 0.0:
        return SwmdMetric(directions, metric.log_weights)
    learner = NeighborhoodComponentsAnalysis(init=directions / spread, max_iter=_ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learned = learner.fit(centroids, documents.labels[rows]).components_
    return SwmdMetric(np.ascontiguousarray(learned, dtype=np.float64), metric.log_weights)


def mean_cost(documents: LabelledDocuments, metric: SwmdMetric, rows: NDArray[np.intp]) -> float:
    """Compute the mean squared distance between a word of one document and a word of another.

    Parameters
    ----------
    documents : LabelledDocuments
        All documents.
    metric : SwmdMetric
        Map and weights.
    rows : ndarray of int
        The documents that count.

    Returns
    -------
    float
    """
    points, histograms = metric.points(documents.vectors), metric.histograms(documents.counts[rows])
    squares = float((histograms @ (points**2).sum(axis=1)).mean())
    centre = np.asarray(histograms @ points).mean(axis=0)
    return max(2.0 * (squares - float(centre @ centre)), 0.0)


def scaled_start(
    documents: LabelledDocuments,
    metric: SwmdMetric,
    rows: NDArray[np.intp],
    n_neighbors: int,
    settings: TransportSettings,
    n_jobs: int | None,
) -> tuple[SwmdMetric, float]:
    """Choose the scale of the linear map for which the loss of some documents is least.

    Where no document has neighbours both of its class and of others, nothing can be chosen: the median distance
    becomes one.

    Parameters
    ----------
    documents : LabelledDocuments
        All documents.
    metric : SwmdMetric
        From `start_metric`.
    rows : ndarray of int
        Documents to measure the loss on; neighbours are sought among them too.
    n_neighbors : int
        Neighbours of each.
    settings : TransportSettings
        With the regularisation as a share of the mean cost.
    n_jobs : int or None
        Threads.

    Returns
    -------
    metric : SwmdMetric
    regularisation : float
        In the units of the scaled cost. Distances and this grow alike, so that one solution serves all scales.
    """
    regularisation = settings.regularisation * mean_cost(documents, metric, rows)
    if regularisation == 0.0:
        return metric, settings.regularisation
    neighbors = nearest_centroids(documents, metric, rows, rows, n_neighbors)
    solving = TransportSettings(regularisation, settings.tolerance, settings.max_iterations)
    distances = batch_distances(documents, metric, rows, neighbors, solving, n_jobs)
    typical = float(np.median(distances))
    if typical <= 0.0:
        return metric, regularisation
    same = documents.labels[neighbors] == documents.labels[rows][:, None]
    scale = 1.0 / typical
    if (same.any(axis=1) & ~same.all(axis=1)).any():
        scale *= float(_SCALES[int(np.argmin([mean_loss(distances * (scale * more), same) for more in _SCALES]))])
    return SwmdMetric(metric.linear_map * np.sqrt(scale), metric.log_weights), regularisation * scale
