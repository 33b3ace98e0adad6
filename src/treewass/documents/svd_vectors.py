"""Word vectors from the documents themselves, where there are no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["svd_word_vectors"]


def svd_word_vectors(
    counts: csr_array, n_components: int = 100, random_state: int | np.random.RandomState | None = 0
) -> NDArray[np.float64]:
    """Make word vectors from the documents that words share: latent semantic analysis.

    They are the right singular vectors, times the singular values, of the logarithms of one plus the counts.

    Parameters
    ----------
    counts : csr_array of shape (n_documents, n_words)
        Canonical rows.
    n_components : int, default=100
        Length of a vector; fewer where there are fewer documents or words.
    random_state : int, RandomState instance or None, default=0
        Starts the randomised decomposition.

    Returns
    -------
    ndarray of shape (n_words, n_components)
        Zero for a word of no document.

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> vectors = svd_word_vectors(check_counts([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]]), n_components=2)
    >>> vectors.shape, bool(np.allclose(vectors[0], vectors[1])), bool(np.allclose(vectors[0], vectors[2]))
    ((4, 2), True, False)
    """
    from sklearn.utils.extmath import randomized_svd

    _, values, directions = randomized_svd(counts.log1p(), min(n_components, *counts.shape), random_state=random_state)
    return np.ascontiguousarray((directions * values[:, None]).T, dtype=np.float64)
