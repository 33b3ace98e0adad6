"""Nearest neighbours under a tree metric, as scikit-learn's estimators find and pass them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from treewass.classify.metric_parameter import learn_metric
from treewass.compute.arguments import check_choice, check_integer
from treewass.documents.estimator_inputs import check_documents, check_labelled_documents, counts_tags
from treewass.documents.histograms import warn_about_empty_rows
from treewass.search.index import TreeIndex
from treewass.trees.embedding import unknown_rows
from treewass.trees.metric import TreeMetric
from treewass.votes.neighbors import NeighborSearch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["TreeNeighbors"]

_MODES = ("distance", "connectivity")


class TreeNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeighborSearch):
    """Find nearest neighbours exactly, with the methods of scikit-learn's `NearestNeighbors`.

    As a transformer it makes the graph that scikit-learn's estimators with ``metric="precomputed"`` take, and others
    such as UMAP and HDBSCAN.

    Parameters
    ----------
    metric : None, "profile", "stw", "topics", "bow", "tfidf", estimator or TreeMetric, default="bow"
        The distance, as in `TreeWassersteinClassifier`. Those that learn from labels need `y` in `fit`.
    n_neighbors : int, default=5
        Neighbours per document; all documents where there are fewer.
    radius : float, default=1.0
        How far `radius_neighbors` looks.
    mode : {"distance", "connectivity"}, default="distance"
        What `transform` fills the graph with: distances, and then each training document also finds itself, as in
        scikit-learn's `KNeighborsTransformer`; or ones.
    n_jobs : int, optional
        Threads for batches of queries; -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Passed to a learner given by its name.

    Attributes
    ----------
    metric_ : TreeMetric
        The distance in use.
    index_ : TreeIndex
        The training documents; ids are row numbers.
    learner_ : estimator or None
        The fitted learner, where there was a metric to learn.
    n_features_in_ : int
        Number of words.
    n_samples_fit_ : int
        Number of training documents.

    Examples
    --------
    >>> neighbors = TreeNeighbors(n_neighbors=1).fit([[1, 0], [3, 1], [0, 1]])
    >>> neighbors.kneighbors([[2, 1]])
    (array([[0.16666667]]), array([[1]]))
    >>> neighbors.transform([[2, 1]]).toarray().round(2)
    array([[0.67, 0.17, 0.  ]])
    """

    def __init__(
        self,
        metric: str | TreeMetric | BaseEstimator | None = "bow",
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        mode: str = "distance",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.mode = mode
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> TreeNeighbors:
        """Learn the metric, where there is one to learn, and index the documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Documents without a known word are never neighbours, with a warning.
        y : array-like of shape (n_documents,), optional
            Labels, for a metric that learns from them.

        Returns
        -------
        TreeNeighbors
            Itself.
        """
        check_integer("n_neighbors", self.n_neighbors)
        check_choice("mode", self.mode, _MODES)
        labels: Any = None
        if y is None or self.metric in ("bow", "tfidf") or isinstance(self.metric, TreeMetric):
            counts = check_documents(self, X, reset=True)
        else:
            counts, labels = check_labelled_documents(self, X, y)
        self.metric_, self.learner_ = learn_metric(
            self.metric, counts, labels, random_state=self.random_state, n_jobs=self.n_jobs
        )
        self.index_ = TreeIndex(self.metric_, n_jobs=self.n_jobs)
        self.index_.add(counts)
        self._documents, self._rows = counts, np.arange(counts.shape[0])
        self.n_samples_fit_ = self._n_features_out = counts.shape[0]
        return self

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True
    ) -> NDArray[np.object_] | tuple[NDArray[np.object_], NDArray[np.object_]]:
        """Find all training documents within a radius, exactly.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words), optional
            As in `kneighbors`.
        radius : float, optional
            The largest distance to return; that of the constructor by default.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of object, shape (n_queries,), only with `return_distance`
            An array for each query, ascending.
        rows : ndarray of object, shape (n_queries,)
            Row numbers of the training documents; ties in ascending order.

        Examples
        --------
        >>> TreeNeighbors().fit([[1, 0], [1, 1], [0, 1]]).radius_neighbors([[1, 0]], radius=1)[1]
        array([array([0, 1])], dtype=object)
        """
        check_is_fitted(self)
        queries = self._known_documents(self._documents if X is None else X)
        distances, rows = self.index_.within(queries, self.radius if radius is None else radius)
        if X is None:
            others = [own != row for row, own in enumerate(rows)]
            distances = [own[kept] for own, kept in zip(distances, others, strict=True)]
            rows = [own[kept] for own, kept in zip(rows, others, strict=True)]
        return (_ragged(distances), _ragged(rows)) if return_distance else _ragged(rows)

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity"
    ) -> csr_array:
        """Build the graph of training documents within a radius.

        Parameters
        ----------
        X, radius
            As in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or the distances.

        Returns
        -------
        csr_array of shape (n_queries, n_documents)
        """
        from scipy.sparse import csr_array

        check_choice("mode", mode, _MODES)
        distances, rows = self.radius_neighbors(X, radius)
        bounds = np.cumsum([0, *map(len, rows)])
        values = np.concatenate([*distances, np.empty(0)])
        columns = np.concatenate([*rows, np.empty(0, dtype=np.int64)])
        filled = values if mode == "distance" else np.ones(values.size)
        return csr_array((filled, columns, bounds), shape=(len(rows), self.n_samples_fit_))

    def transform(self, X: Any) -> csr_array:
        """Build the graph of nearest training documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words)
            Counts or weights. A document without a known word has no neighbours: an empty row, with a warning.

        Returns
        -------
        csr_array of shape (n_queries, n_documents)
            Each row in ascending order of distance, ties by row number.
        """
        from scipy.sparse import csr_array

        check_is_fitted(self)
        counts = check_documents(self, X)
        knows = self._knows(counts)
        warn_about_empty_rows(np.flatnonzero(~knows), "they have no neighbours.")
        distances, rows = self._search(counts[knows], self.n_neighbors + (self.mode == "distance"))
        values = distances if self.mode == "distance" else np.ones(rows.shape)
        bounds = np.concatenate([[0], np.cumsum(knows * rows.shape[1])])
        return csr_array((values.ravel(), rows.ravel(), bounds), shape=(counts.shape[0], self.n_samples_fit_))

    def fit_transform(self, X: Any, y: ArrayLike | None = None) -> csr_array:
        """Index the documents, and build the graph among them.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        csr_array of shape (n_documents, n_documents)
        """
        return self.fit(X, y).transform(X)

    def _knows(self, counts: csr_array) -> NDArray[np.bool_]:
        return ~np.isin(np.arange(counts.shape[0]), unknown_rows(self.metric_, counts))

    def _search(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self.index_.search(counts, k)

    def __sklearn_tags__(self) -> Tags:
        return counts_tags(super().__sklearn_tags__())


def _ragged(arrays: list[NDArray[Any]]) -> NDArray[np.object_]:
    """Put arrays of different lengths into an array of objects."""
    filled = np.empty(len(arrays), dtype=object)
    filled[:] = arrays
    return filled
