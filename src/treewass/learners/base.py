"""What every learner shares: once it has a metric, it embeds and compares documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from treewass.compute.extras import require
from treewass.documents.estimator_inputs import check_documents, counts_tags
from treewass.trees.embedding import embed
from treewass.trees.metric import TreeMetric
from treewass.trees.pairwise_distances import pairwise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["TreeTransformer"]


def _sparse_frame(rows: csr_array, index: Any) -> Any:
    """Make a data frame of sparse columns, which scikit-learn gives their names."""
    from scipy.sparse import csr_matrix

    pandas = require("pandas", purpose='set_output(transform="pandas")', package="pandas")
    names = index if isinstance(index, pandas.Index) else None
    return pandas.DataFrame.sparse.from_spmatrix(csr_matrix(rows), index=names)


class TreeTransformer(TransformerMixin, BaseEstimator):
    """Base of the learners: a fitted one holds `metric_`, and the rest follows from it.

    Attributes
    ----------
    metric_ : TreeMetric
        What was learned; set by ``fit``.
    n_features_in_ : int
        Number of words.
    """

    metric_: TreeMetric

    def transform(self, X: Any) -> Any:
        """Embed documents so that L1 distances between rows are tree-Wasserstein distances.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights; rows are normalised inside.

        Returns
        -------
        csr_array of shape (n_documents, n_features), float64
            A document without a known word gives a row of zeros. After ``set_output(transform="pandas")`` it is a data
            frame of sparse columns instead, and a dense frame of polars, which has no sparse ones.
        """
        check_is_fitted(self)
        embedded = embed(self.metric_, check_documents(self, X))
        chosen = getattr(self, "_sklearn_output_config", {})  # by set_output; scikit-learn has no public way to ask
        container = chosen.get("transform", get_config()["transform_output"])
        if container == "pandas":
            return _sparse_frame(embedded, getattr(X, "index", None))
        return embedded if container == "default" else embedded.toarray()

    def pairwise(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Compute the distance between each row of `X` and each row of `Y`.

        Parameters
        ----------
        X, Y : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights, each row with at least one known word; `Y` defaults to `X`.
        n_jobs : int, optional
            Threads; -1 for all cores. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        check_is_fitted(self)
        others = None if Y is None else check_documents(self, Y)
        return pairwise(self.metric_, check_documents(self, X), others, n_jobs=n_jobs)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Name the columns of `transform`: internal nodes as ``node12``, words as ``word_`` and their name.

        Parameters
        ----------
        input_features : sequence of str, length n_words, optional
            Names of the words; by default those seen in ``fit``, or ``word_x0``, ``word_x1``, ….

        Returns
        -------
        ndarray of object, shape (n_features,)
        """
        check_is_fitted(self)
        seen = getattr(self, "feature_names_in_", None)
        if input_features is None:
            words = seen if seen is not None else [f"x{word}" for word in range(self.metric_.n_words)]
            return self.metric_.feature_names(list(words))
        if len(input_features) != self.metric_.n_words:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.metric_.n_words}), got {len(input_features)}"
            )
        if seen is not None and not np.array_equal(seen, np.asarray(input_features, dtype=object)):
            raise ValueError("input_features is not equal to feature_names_in_")
        return self.metric_.feature_names(list(input_features))

    def __sklearn_tags__(self) -> Tags:
        return counts_tags(super().__sklearn_tags__())
