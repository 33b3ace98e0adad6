"""Word vectors: aligned with a vocabulary, checked, or made from the documents themselves."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.documents.histograms import (
    check_counts,
    empty_rows,
    first_few,
    refuse_texts,
    row_totals,
    scale_rows,
    to_histograms,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "AlignedVectors",
    "UncoveredWordsWarning",
    "WordVectors",
    "as_words",
    "check_shape",
    "check_vectors",
    "covered_histograms",
    "finite_vectors",
    "first_words",
    "none_covered",
    "open_vectors",
    "svd_vectors",
]

_LARGEST = 1e150  # length of a vector
_PASSES = 7
_LEAST_LENGTH = 1e-6  # as a share of the longest: what is shorter is rounding, and has no direction


class UncoveredWordsWarning(UserWarning):
    """Some words of the vocabulary have no word vector."""


@dataclass(frozen=True, slots=True, eq=False)
class AlignedVectors:
    """One vector for each word of a vocabulary, as `WordVectors.align` returns them.

    Parameters
    ----------
    vectors : ndarray of shape (n_words, n_dimensions), float32, read-only
        The vectors in the order of the vocabulary; zero for a word without one.
    covered : ndarray of shape (n_words,), bool, read-only
        True for a word that has a vector.
    missing : tuple of str
        The words without a vector, in the order of the vocabulary.
    """

    vectors: NDArray[np.float32]
    covered: NDArray[np.bool_]
    missing: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", _frozen(self.vectors, np.float32))
        object.__setattr__(self, "covered", _frozen(self.covered, np.bool_))

    def unit(self) -> AlignedVectors:
        """Scale each vector to length one; a vector of zeros stays as it is.

        Examples
        --------
        >>> WordVectors(("cat",), [[3.0, 4.0]]).align(["cat"]).unit().vectors.round(1).tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        vectors = self.vectors.astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return AlignedVectors((vectors / np.where(norms > 0, norms, 1)).astype(np.float32), self.covered, self.missing)

    def __reduce__(self) -> tuple[Any, ...]:
        return AlignedVectors, (self.vectors, self.covered, self.missing)


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words and their vectors, immutable.

    Parameters
    ----------
    words : sequence of str
        The words, each once.
    vectors : array-like of shape (n_words, n_dimensions)
        Finite numbers, held as a read-only float32 array; an array that is one already is not copied.

    Examples
    --------
    >>> vectors = WordVectors(("cat", "dog", "car"), [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> len(vectors), vectors.n_dimensions
    (3, 2)
    >>> vectors.align(["car", "cat"]).vectors.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        words, vectors = as_words(self.words), _frozen(self.vectors, np.float32)
        check_shape(len(words), vectors.shape)
        first_row = {word: row for row, word in reversed(list(enumerate(words)))}
        _refuse(words, (first_row[word] < row for row, word in enumerate(words)), "Expected each word once")
        with np.errstate(invalid="ignore"):
            sums = vectors.sum(axis=1, dtype=np.float64)  # finite if and only if every number is
        _refuse(words, ~np.isfinite(sums), "Expected vectors that are finite in float32 (no NaN, no infinity)")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", vectors)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordVectors, (self.words, self.vectors)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def n_dimensions(self) -> int:
        """The length of each vector."""
        return int(self.vectors.shape[1])

    def align(self, vocabulary: Iterable[str]) -> AlignedVectors:
        """Put the vectors in the order of a vocabulary.

        Parameters
        ----------
        vocabulary : sequence of str or ndarray of str
            The words in the wanted order, such as a vectoriser's ``get_feature_names_out()``.

        Returns
        -------
        AlignedVectors
            The vectors, a mask of the words covered, and the words that are not: if there are any of these,
            an ``UncoveredWordsWarning`` says how many.

        Raises
        ------
        ValueError
            If no word of the vocabulary has a vector.

        Examples
        --------
        >>> import warnings
        >>> vectors = WordVectors(("cat", "dog"), [[1.0, 0.0], [0.5, 0.5]])
        >>> with warnings.catch_warnings(action="ignore"):
        ...     aligned = vectors.align(["cat", "yeti"])
        >>> aligned.covered.tolist(), aligned.missing
        ([True, False], ('yeti',))
        """
        if isinstance(vocabulary, Set | Mapping):
            raise TypeError(
                f"Expected the words in the order of their columns, got a {type(vocabulary).__name__}. "
                "Pass a list, or the vectoriser's get_feature_names_out()."
            )
        wanted = as_words(vocabulary)
        row_of = {word: row for row, word in enumerate(self.words)}
        rows = np.array([row_of.get(word, -1) for word in wanted], dtype=np.intp)
        covered = rows >= 0
        if not covered.any():
            raise ValueError(none_covered(wanted, self.words))
        missing = tuple(compress(wanted, ~covered))
        if missing:
            warnings.warn(
                f"{len(missing)} of {len(wanted)} words ({len(missing) / len(wanted):.1%}) have no word "
                f"vector and get a row of zeros: {first_words(missing)}.",
                UncoveredWordsWarning,
                stacklevel=2,
            )
        vectors = np.zeros((len(wanted), self.n_dimensions), dtype=np.float32)
        vectors[covered] = self.vectors[rows[covered]]
        vectors.setflags(write=False)
        return AlignedVectors(vectors, covered, missing)


def svd_vectors(
    X: Any, *, n_dimensions: int = 100, random_state: int | np.random.RandomState | None = 0
) -> AlignedVectors:
    """Make word vectors from the documents themselves, by a truncated singular value decomposition.

    Rows are brought to mass one. The vector of a word is its column in the best approximation of few dimensions, scaled
    to length one. So words that share documents are near to each other, however often they occur.

    Parameters
    ----------
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.
    n_dimensions : int, default=100
        Dimensions; at most the number of documents and the number of words.
    random_state : int, RandomState instance or None, default=0
        Starts the decomposition.

    Returns
    -------
    AlignedVectors
        A word of no document has no vector. Nor has a word that the approximation leaves out: its column is shorter
        than a millionth of the longest. `missing` holds the numbers of such words.

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

    n_dimensions = check_integer("n_dimensions", n_dimensions)
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


def check_vectors(
    word_vectors: Any, *, caller: str, n_words: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Validate the vectors of a vocabulary.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each column of the counts. An array must be finite throughout; `WordVectors.align` also
        marks the words that have none.
    caller : str
        Named in error messages.
    n_words : int, optional
        The number of columns of the counts, if it is known: there must be as many vectors.

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
    found, covered = open_vectors(word_vectors, caller=caller, n_words=n_words)
    return finite_vectors(found, np.arange(len(found)), caller=caller), covered


def open_vectors(
    word_vectors: Any, *, caller: str, n_words: int | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Do as `check_vectors`, but check the shape and the type only, and return the vectors as they are."""
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
    if n_words is not None:
        _demand_each_word(len(found), n_words, "X", caller)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{caller} expects word_vectors of real numbers, got dtype {found.dtype}.")
    return found, np.array(word_vectors.covered) if aligned else np.ones(len(found), dtype=np.bool_)


def finite_vectors(found: NDArray[Any], words: NDArray[np.intp], *, caller: str) -> NDArray[np.float64]:
    """Take the vectors of some words from `open_vectors`; refuse NaN, infinity and numbers whose squares overflow."""
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
    counts = check_counts(X, caller=caller)
    _demand_each_word(covered.size, counts.shape[1], name, caller)
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


def _demand_each_word(n_vectors: int, n_words: int, name: str, caller: str) -> None:
    if n_vectors != n_words:
        raise ValueError(
            f"{caller} expects one word vector for each of the {n_words} columns of {name}, got {n_vectors}. Align "
            "them with the vocabulary: WordVectors.align(words)."
        )


def check_shape(n_words: int, shape: tuple[int, ...]) -> None:
    """Demand one vector for each word, at least one word and one dimension."""
    if len(shape) != 2 or shape[0] != n_words or 0 in shape:
        raise ValueError(
            f"Expected vectors of shape (n_words, n_dimensions), neither of them zero, for {n_words} words; "
            f"got the shape {shape}."
        )


def none_covered(vocabulary: Sequence[str], words: Sequence[str]) -> str:
    """Say that no word of a vocabulary has a vector."""
    return (
        f"None of the {len(vocabulary)} words of the vocabulary ({first_words(vocabulary)}) has a vector; "
        f"those with one start with {first_words(words)}. Check the language and the case."
    )


def first_words(words: Sequence[Any]) -> str:
    """List the first few words for a message."""
    return first_few([repr(word) for word in words]) or "none"


def as_words(words: Iterable[str]) -> tuple[str, ...]:
    """Take words as plain strings; refuse a single string and other values."""
    listed = tuple(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in listed):
        raise TypeError("Expected the words as a sequence of strings, got a single string or other values.")
    return tuple(str(word) for word in listed)


def _refuse(words: Sequence[str], is_bad: Iterable[bool], expected: str) -> None:
    bad = tuple(compress(words, is_bad))
    if bad:
        raise ValueError(f"{expected}; {len(bad)} of {len(words)} are not: {first_words(bad)}.")


def _frozen(values: Any, dtype: type[Any]) -> NDArray[Any]:
    """Copy what could change later; take a read-only array of the right type as it is."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and _is_frozen(values):
        return values
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _is_frozen(values: NDArray[Any]) -> bool:
    """Return whether nobody can write to an array, not even through one that it is a view of."""
    return not values.flags.writeable and (not isinstance(values.base, np.ndarray) or _is_frozen(values.base))
