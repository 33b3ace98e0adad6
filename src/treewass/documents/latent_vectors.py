"""Word vectors from the documents themselves, where there are no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.documents.histograms import to_histograms
from treewass.documents.word_vectors import AlignedVectors

__all__ = ["svd_vectors"]

_PASSES = 7


def svd_vectors(
    X: Any, *, n_dimensions: int = 100, random_state: int | np.random.RandomState | None = 0
) -> AlignedVectors:
    """Make word vectors from the documents themselves, by a truncated singular value decomposition.

    The columns of `X`, rows brought to mass one, are scaled to length one, so that the product of two columns says
    how often two words share a document; the vectors are the best approximation of that in few dimensions.

    Parameters
    ----------
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.
    n_dimensions : int, default=100
        Dimensions; as many as there are documents or words, where there are fewer.
    random_state : int, RandomState instance or None, default=0
        Starts the decomposition.

    Returns
    -------
    AlignedVectors
        A word of no document has no vector; `missing` holds the numbers of such words.

    Examples
    --------
    >>> vectors = svd_vectors([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]], n_dimensions=2)
    >>> vectors.covered.tolist(), vectors.missing
    ([True, True, True, False], ('3',))
    >>> bool(abs(vectors.vectors[0] - vectors.vectors[1]).max() < 1e-6)
    True
    """
    from scipy.sparse import diags_array
    from sklearn.utils import check_random_state
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits

    if not isinstance(n_dimensions, int | np.integer) or n_dimensions < 1:
        raise ValueError(f"Expected n_dimensions as an integer of at least 1, got {n_dimensions!r}.")
    histograms = to_histograms(X)
    norms = np.sqrt(np.bincount(histograms.indices, histograms.data**2, histograms.shape[1]))
    covered = norms > 0
    if not covered.any():
        raise ValueError("Expected at least one document with a word to make vectors from, got only zeros.")
    scaled = histograms[:, covered] @ diags_array(1 / norms[covered])
    with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
        _, singular, directions = randomized_svd(
            scaled,
            min(n_dimensions, *scaled.shape),
            n_iter=_PASSES,
            random_state=check_random_state(random_state),
        )
    vectors = np.zeros((covered.size, singular.size), dtype=np.float32)
    vectors[covered] = (directions * singular[:, None]).T
    return AlignedVectors(vectors, covered, tuple(str(word) for word in np.flatnonzero(~covered)))
