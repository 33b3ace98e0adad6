"""Class profiles smoothed by word vectors: a word borrows documents from the labelled words that are like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import first_few
from treewass.documents.word_vectors import open_vectors
from treewass.learners.profile.class_profiles import ClassProfiles, ColumnCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["check_word_vectors", "smoothed_profiles"]

_NEAREST = 10  # labelled words that a word borrows from
_BORROWED = 10.0  # lambda: documents that a word borrows at most
_HALF = 5.0  # documents of the nearest words, weighted by likeness, at which it borrows half as many
_BLOCK = 1 << 23  # likenesses held at a time


def check_word_vectors(vectors: Any, n_words: int) -> NDArray[np.float32]:
    """Demand finite vectors for all words, shape (n_words, n_dimensions); further rows are left for words to come."""
    found, covered = open_vectors(vectors, caller="ProfileTreeWasserstein")
    if found.shape[0] < n_words:
        raise ValueError(
            f"Expected word_vectors of shape (at least {n_words}, n_dimensions), one row per word, got {found.shape}. "
            "Align them with the vocabulary: WordVectors.align(words).vectors."
        )
    array = np.where(covered[:n_words, None], found[:n_words], 0).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise ValueError(f"Expected finite word_vectors, got NaN or infinity in rows {first_few(wrong)}.")
    return array


def smoothed_profiles(counted: ClassProfiles, vectors: NDArray[np.float32]) -> ClassProfiles:
    r"""Let every word with a vector borrow documents from the ten labelled words nearest to it, never itself.

    With the cosines :math:`s_{wu}` and the counts :math:`n_{uc}`, let
    :math:`g_{wc} = \sum_u \max(s_{wu}, 0) n_{uc}` and :math:`t_w = \sum_c g_{wc}`. Then :math:`n_{wc}` becomes
    :math:`n_{wc} + 10 g_{wc} / (t_w + 5)`: a word gets up to ten documents, fewer where those near it are rare. Words
    of no labelled document get a profile, that of rare words is steadied, and that of frequent ones hardly changes.

    A vector of zeros means that the word has none; it neither borrows nor lends.

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> counted = ColumnCounts.of(check_counts([[1, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([0, 0, 1]), 2)
    >>> vectors = np.array([[1, 0], [-1, 1], [1, 0]], dtype=np.float32)
    >>> smoothed_profiles(ClassProfiles(counted, 1.0), vectors).counts.by_word.toarray().round(2)
    array([[2.  , 0.  ],
           [0.  , 1.  ],
           [2.86, 0.  ]])
    """
    labelled = counted.document_counts > 0
    borrowed = _borrowed_shares(vectors, labelled, counted.document_counts)
    by_word = counted.counts.by_word + borrowed @ counted.counts.by_word
    by_word.sort_indices()
    return ClassProfiles(ColumnCounts(by_word, counted.counts.by_class), counted.smoothing, borrowed, labelled)


def _borrowed_shares(
    vectors: NDArray[np.float32], labelled: NDArray[np.bool_], document_counts: NDArray[np.float64]
) -> csr_array:
    """Find how much of each labelled word's documents each word borrows, shape (n_words, n_words)."""
    from scipy.sparse import csr_array

    norms = np.linalg.norm(vectors, axis=1)
    lenders, borrowers = np.flatnonzero(labelled & (norms > 0)), np.flatnonzero(norms > 0)
    directions = vectors / np.maximum(norms, 1e-30)[:, None]
    found, likeness = _nearest(directions, lenders, borrowers)
    likeness = np.maximum(likeness, 0.0).astype(np.float64)
    totals = (likeness * document_counts[found]).sum(axis=1)  # t_w
    values = _BORROWED * likeness / (totals + _HALF)[:, None]
    rows = np.repeat(borrowers, found.shape[1])
    shares = csr_array((values.ravel(), (rows, found.ravel())), shape=(labelled.size, labelled.size))
    shares.eliminate_zeros()
    return shares


def _nearest(
    directions: NDArray[np.float32], lenders: NDArray[np.intp], borrowers: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Find the lenders nearest to each borrower by cosine, itself left out; return words and cosines, ten each."""
    from threadpoolctl import threadpool_limits

    near = min(_NEAREST, lenders.size)
    words = np.zeros((borrowers.size, near), dtype=np.intp)
    cosines = np.zeros(words.shape, dtype=np.float32)
    if not near:
        return words, cosines
    from treewass.learners.profile.likeness_kernels import largest

    step = max(1, _BLOCK // lenders.size)
    places = np.full(len(directions), -1)
    places[lenders] = np.arange(lenders.size)
    with threadpool_limits(1):  # sums over threads would make the result depend on their number
        for start in range(0, borrowers.size, step):
            block = slice(start, start + step)
            likeness = directions[borrowers[block]] @ directions[lenders].T
            largest(likeness, places[borrowers[block]], words[block], cosines[block])
    return lenders[words], cosines
