"""Word vectors from the documents themselves, where there are no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.documents.histograms import to_histograms
from treewass.documents.word_vectors import AlignedVectors

__all__ = ["svd_vectors"]

_PASSES = 7
_LEAST_LENGTH = 1e-6  # as a share of the longest: what is shorter is rounding, and has no direction


def svd_vectors(
    X: Any, *, n_dimensions: int = 100, random_state: int | np.random.RandomState | None = 0
) -> AlignedVectors:
    """Make word vectors from the documents themselves, by a truncated singular value decomposition.

    Rows are brought to mass one; the vector of a word is its column in the best approximation of few dimensions, scaled
    to length one, so that words are near to each other which share documents, however often they occur.

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
        A word of no document has no vector, nor has one that the approximation leaves out, whose column there is
        shorter than a millionth of the longest; `missing` holds the numbers of such words.

    Examples
    --------
    >>> vectors = svd_vectors([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]], n_dimensions=2)
    >>> vectors.covered.tolist(), vectors.missing
    ([True, True, True, False], ('3',))
    >>> bool(abs(vectors.vectors[0] - vectors.vectors[1]).max() < 1e-6)
    True
    """
    from sklearn.utils import check_random_state
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits

    if not isinstance(n_dimensions, int | np.integer) or n_dimensions < 1:
        raise ValueError(f"Expected n_dimensions as an integer of at least 1, got {n_dimensions!r}.")
    histograms = to_histograms(X)
    if not histograms.nnz:
        raise ValueError("Expected at least one document with a word to make vectors from, got only zeros.")
    with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
        _, singular, directions = randomized_svd(
            histograms,
            min(n_dimensions, *histograms.shape),
            n_iter=_PASSES,
            random_state=check_random_state(random_state),
        )
    vectors = (directions * singular[:, None]).T
    lengths = np.linalg.norm(vectors, axis=1)
    held = np.bincount(histograms.indices, minlength=lengths.size) > 0
    covered = held & (lengths > _LEAST_LENGTH * lengths.max())
    vectors[covered] /= lengths[covered, None]
    vectors[~covered] = 0.0
    return AlignedVectors(vectors, covered, tuple(str(word) for word in np.flatnonzero(~covered)))
