"""What the distances on word vectors accept: one vector a word, and documents with at least one such word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import check_counts, empty_rows, first_few, refuse_texts, row_totals, scale_rows
from treewass.documents.word_vectors import AlignedVectors, WordVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["check_vectors", "covered_histograms", "finite_vectors", "open_vectors"]

_LARGEST = 1e150  # length of a vector


def check_vectors(word_vectors: Any, *, caller: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Validate the vectors of a vocabulary.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each column of the counts. An array must be finite throughout; `WordVectors.align` gives
        vectors that also tell which words have none.
    caller : str
        Named in error messages.

    Returns
    -------
    vectors : ndarray of shape (n_words, n_dimensions), float64
        Zero for a word without a vector.
    covered : ndarray of shape (n_words,), bool
        True for a word with a vector.

    Raises
    ------
    ValueError
        For a wrong shape, or numbers that are NaN, infinite or above 1e150 over the root of the dimensions.
    TypeError
        For values that are not real numbers, or vectors that are not in the order of a vocabulary.

    Examples
    --------
    >>> vectors, covered = check_vectors([[0, 1], [2, 3]], caller="wmd")
    >>> vectors.dtype, covered.tolist()
    (dtype('float64'), [True, True])
    """
    found, covered = open_vectors(word_vectors, caller=caller)
    return finite_vectors(found, np.arange(len(found)), caller=caller), covered


def open_vectors(word_vectors: Any, *, caller: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Validate the shape and the kind of vectors, without looking at the numbers.

    Parameters
    ----------
    word_vectors, caller
        As in `check_vectors`.

    Returns
    -------
    vectors : ndarray of shape (n_words, n_dimensions)
        As they are.
    covered : ndarray of shape (n_words,), bool
        True for a word with a vector.
    """
    if isinstance(word_vectors, WordVectors):
        raise TypeError(
            f"{caller} expects one vector for each column of the counts, got WordVectors, which have an order of their "
            "own. Pass word_vectors.align(vocabulary)."
        )
    aligned = isinstance(word_vectors, AlignedVectors)
    found = np.asarray(word_vectors.vectors if aligned else word_vectors)
    if found.ndim != 2 or not all(found.shape):
        raise ValueError(
            f"{caller} expects word_vectors of shape (n_words, n_dimensions), one row for each column of the counts, "
            f"got shape {found.shape}."
        )
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{caller} expects word_vectors of real numbers, got dtype {found.dtype}.")
    return found, np.array(word_vectors.covered) if aligned else np.ones(len(found), dtype=np.bool_)


def finite_vectors(found: NDArray[Any], words: NDArray[np.intp], *, caller: str) -> NDArray[np.float64]:
    """Take the vectors of some words, and refuse numbers that are NaN, infinite, or so large that squares overflow.

    Parameters
    ----------
    found : ndarray of shape (n_words, n_dimensions)
        From `open_vectors`.
    words : ndarray of int
        The words that are needed.
    caller : str
        Named in error messages.

    Returns
    -------
    ndarray of shape (n_needed, n_dimensions), float64
    """
    vectors = np.ascontiguousarray(found[words], dtype=np.float64)
    wrong = words[~np.isfinite(vectors).all(axis=1)]
    if wrong.size:
        raise ValueError(
            f"{caller} expects finite word_vectors, got NaN or infinity for {wrong.size} of {len(vectors)} words "
            f"(rows {first_few(wrong)}). Where words have no vector, pass those of WordVectors.align, which marks them."
        )
    most = _LARGEST / vectors.shape[1] ** 0.5
    if max(vectors.max(initial=0.0), -vectors.min(initial=0.0)) > most:
        large = words[(abs(vectors) > most).any(axis=1)]
        raise ValueError(
            f"{caller} expects word_vectors whose squared distances fit a float64, with numbers up to {most:.3g}, got "
            f"larger ones for {large.size} of {len(vectors)} words (rows {first_few(large)}). Scale them down."
        )
    return vectors


def covered_histograms(X: Any, covered: NDArray[np.bool_], *, caller: str, name: str = "X") -> csr_array:
    """Bring documents to mass one over the words that have a vector.

    Parameters
    ----------
    X : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Counts or weights.
    covered : ndarray of shape (n_words,), bool
        Which words have a vector; the others are left out.
    caller, name : str
        Named in error messages.

    Returns
    -------
    csr_array of shape (n_documents, n_words), float64
        Canonical rows that sum to one.

    Raises
    ------
    ValueError
        If a document holds no word with a vector: it has no transport distance.

    Examples
    --------
    >>> covered_histograms([[2, 1, 1]], np.array([True, True, False]), caller="wmd").toarray().round(2)
    array([[0.67, 0.33, 0.  ]])
    """
    refuse_texts(X)
    counts = check_counts(X, n_words=covered.size, caller=caller)
    if not covered.all():
        counts.data[~covered[counts.indices]] = 0.0
        counts.eliminate_zeros()
    empty = empty_rows(counts)
    if empty.size:
        raise ValueError(
            f"{caller} expects each document to hold a word with a vector, but {empty.size} of the {counts.shape[0]} "
            f"rows of {name} hold none (rows {first_few(empty)}): they have no transport distance. Leave them out."
        )
    return scale_rows(counts, row_totals(counts))
