"""From the labels and distances of neighbours to class probabilities, by any of the votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.classify.pooling import PooledVote
from treewass.classify.votes import distance_vote, fallback_vote, majority_vote

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["VOTES", "NeighborVote"]

VOTES = ("distance", "fallback", "majority")


@dataclass(frozen=True, slots=True)
class NeighborVote:
    """How neighbours decide.

    Parameters
    ----------
    kind : {"distance", "fallback", "majority"}
        Nearer ones count more; the paper's rule; or each the same.
    n_neighbors : int
        Neighbours that vote.
    prior : ndarray of shape (n_classes,)
        Class shares: the answer where there are no neighbours.
    temperature : float
        Scale of the distance vote.
    pool : PooledVote or None, default=None
        How the distance vote is calibrated.

    Examples
    --------
    >>> vote = NeighborVote("majority", 2, np.array([0.5, 0.5]), 1.0)
    >>> vote.probabilities(np.array([[0, 1]]), np.array([[1.0, 2.0]]))
    array([[0.5, 0.5]])
    """

    kind: str
    n_neighbors: int
    prior: NDArray[np.float64]
    temperature: float
    pool: PooledVote | None = None

    def probabilities(self, labels: NDArray[np.intp], distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute class probabilities from the neighbours' class numbers and distances, nearest first.

        Parameters
        ----------
        labels : ndarray of int, shape (n_queries, k)
        distances : ndarray of shape (n_queries, k)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to one.
        """
        if not labels.shape[1]:
            return np.tile(self.prior, (labels.shape[0], 1))
        if self.pool is not None:
            return self.pool.probabilities(labels, distances)
        if self.kind == "distance":
            return distance_vote(labels, distances, self.prior.size, self.temperature)
        vote = fallback_vote if self.kind == "fallback" else majority_vote
        return vote(labels, self.prior.size)
