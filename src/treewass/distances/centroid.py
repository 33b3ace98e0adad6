"""The distance between the mean word vectors of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.cost_kernels import fill_costs
from treewass.distances.pairs import DocumentPairs, check_cost, pair_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["centroid_bounds", "centroid_distance"]


def centroid_distance(X: Any, Y: Any = None, *, word_vectors: Any, cost: str = "euclidean") -> NDArray[np.float64]:
    """Compute the distance between the mean word vectors of documents, a lower bound of `wmd` [1]_.

    Parameters
    ----------
    X, Y, word_vectors, cost
        As in `wmd`.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Symmetric where `Y` is `X`; zero for documents whose histograms have the same bits, and up to rounding
        for others that are equal.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> centroid_distance([[1, 1, 0]], [[0, 1, 1]], word_vectors=[[0.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    array([[1.]])
    """
    squared = check_cost(cost, caller="centroid_distance")
    return centroid_bounds(pair_documents(X, Y, word_vectors, caller="centroid_distance"), slice(None), squared)


def centroid_bounds(pairs: DocumentPairs, rows: slice, squared: bool) -> NDArray[np.float64]:
    """Compute the distances from the centroids of some documents on the left to those of all on the right."""
    left = pairs.left_centroids[rows]
    distances = np.empty((pairs.shape[1], len(left)))
    fill_costs(pairs.right_centroids, np.ascontiguousarray(left.T), squared, distances)
    return distances.T.copy()
