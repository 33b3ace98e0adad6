"""Profiles for words of no labelled document, from the nearest words by vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import first_few
from treewass.learners.profiles import ClassCounts, ClassProfiles

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_word_vectors", "profiles_from_vectors"]

_NEAREST = 10
_BLOCK = 1 << 22


def check_word_vectors(vectors: ArrayLike, n_words: int) -> NDArray[np.float32]:
    """Demand finite vectors for all words.

    Parameters
    ----------
    vectors : array-like of shape (at least n_words, n_dimensions)
        Rows after the first `n_words` are left for words to come.
    n_words : int
        Number of words.

    Returns
    -------
    ndarray of float32, shape (n_words, n_dimensions)
    """
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[0] < n_words:
        raise ValueError(
            f"Expected word_vectors of shape (at least {n_words}, n_dimensions), one row a word, got {array.shape}. "
            "Align them with the vocabulary: WordVectors.align(words).vectors."
        )
    wrong = np.flatnonzero(~np.isfinite(array[:n_words]).all(axis=1))
    if wrong.size:
        raise ValueError(f"Expected finite word_vectors, got NaN or infinity in rows {first_few(wrong)}.")
    return array[:n_words]


def profiles_from_vectors(profiles: ClassProfiles, vectors: NDArray[np.float32]) -> ClassProfiles:
    """Give words of no labelled document the mean counts of the nearest labelled words.

    They count as much as the smoothing, so that such a word's profile lies half-way between the class shares and
    its neighbours' mean; where the neighbours disagree, it says little and carries little mass.

    Parameters
    ----------
    profiles : ClassProfiles
        Of the labelled words.
    vectors : ndarray of shape (n_words, n_dimensions)
        Zero for a word without a vector.

    Returns
    -------
    ClassProfiles
        Words with counts or without a vector keep what they have.

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> counted = ClassCounts.of(check_counts([[1, 0, 0], [0, 1, 0]]), np.array([0, 1]), 2)
    >>> vectors = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    >>> extended = profiles_from_vectors(ClassProfiles(counted, 1.0), vectors)
    >>> extended.document_counts
    array([1., 1., 1.])
    """
    norms = np.linalg.norm(vectors, axis=1)
    seen = profiles.document_counts > 0
    labelled, new = np.flatnonzero(seen & (norms > 0)), np.flatnonzero(~seen & (norms > 0))
    if not labelled.size or not new.size:
        return profiles
    added = _mean_shares(profiles.counts.by_word, labelled, new, vectors / np.maximum(norms, 1e-30)[:, None])
    by_word = profiles.counts.by_word + added * profiles.smoothing
    return ClassProfiles(ClassCounts(by_word, profiles.counts.by_class), profiles.smoothing)


def _mean_shares(
    by_word: Any, labelled: NDArray[np.intp], new: NDArray[np.intp], directions: NDArray[np.float32]
) -> Any:
    """Average the unsmoothed profiles of the labelled words nearest to each new word; zero for all others."""
    from scipy.sparse import csr_array

    near = min(_NEAREST, labelled.size)
    step = max(1, _BLOCK // labelled.size)
    nearest = []
    for start in range(0, new.size, step):
        likeness = directions[new[start : start + step]] @ directions[labelled].T
        nearest.append(labelled[np.argpartition(-likeness, near - 1, axis=1)[:, :near]])
    columns = np.concatenate(nearest).ravel()
    totals = np.asarray(by_word.sum(axis=1))
    rows = np.repeat(new, near)
    average = csr_array((1.0 / (near * totals[columns]), (rows, columns)), shape=(by_word.shape[0],) * 2)
    return csr_array(average @ by_word)
