"""Corpora of any size for benchmarks, drawn straight into a sparse matrix."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["make_documents"]

# Documents are drawn in chunks of about this many tokens: many for NumPy, few beside the result.
_TOKENS_PER_CHUNK = 2**20


def make_documents(
    n_documents: int,
    *,
    n_words: int = 20_000,
    words_per_document: float = 40.0,
    n_classes: int = 8,
    topicality: float = 0.5,
    exponent: float = 1.0,
    random_state: int | np.random.Generator = 0,
) -> tuple[csr_array, npt.NDArray[np.int64]]:
    """Draw word counts of labelled documents whose words follow Zipf's law.

    Every token draws a rank r = 1, 2, …, `n_words` with probability proportional to r to the power of
    minus `exponent`. With probability `topicality` the token is the word of that rank in the list of
    its document's class, otherwise the word of that rank in the list that all classes share: column
    r − 1. A class's list is the shared one, shuffled. So ``topicality=0`` gives a plain Zipf corpus
    whose labels mean nothing.

    Parameters
    ----------
    n_documents : int
        How many documents, at least 1; a million of 40 tokens each is a matrix of 0.3 GB.
    n_words : int, default=20_000
        Size of the vocabulary, at least 1. Rare words may stand in no document.
    words_per_document : float, default=40.0
        Mean number of tokens a document, at least 1. A document has one token and a Poisson number more,
        and fewer distinct words than tokens where a word is drawn again.
    n_classes : int, default=8
        Number of classes, at least 1. Their sizes differ by one document at most.
    topicality : float, default=0.5
        Probability that a token comes from the list of its document's class, from 0 to 1.
    exponent : float, default=1.0
        Exponent of Zipf's law, at least 0. With 0 all words are equally likely.
    random_state : int or numpy.random.Generator, default=0
        Seed, or a generator that seeds are spawned from. The result depends on the arguments only.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n_documents, n_words), int32
        Counts. No row is empty; indices are sorted, without duplicates, and int32 while that can
        address every token.
    y : ndarray of shape (n_documents,), int64
        Labels from 0 to ``n_classes - 1``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number of its kind or out of its range.

    Examples
    --------
    >>> X, y = make_documents(1000, n_words=500, n_classes=3)
    >>> X.shape, X.dtype, bool(X.sum(axis=1).min() >= 1)
    ((1000, 500), dtype('int32'), True)
    >>> np.bincount(y)
    array([334, 333, 333])
    """
    n_documents = positive_integer("n_documents", n_documents)
    n_words = positive_integer("n_words", n_words)
    n_classes = positive_integer("n_classes", n_classes)
    mean = _number("words_per_document", words_per_document, at_least=1.0)
    topicality = _number("topicality", topicality, at_least=0.0, at_most=1.0)
    exponent = _number("exponent", exponent, at_least=0.0)

    words_random, labels_random, lengths_random, tokens_random = generator_of(random_state).spawn(4)
    vocabulary = _Vocabulary(n_words, n_classes, topicality, exponent, words_random)
    labels = labels_random.permutation(np.arange(n_documents, dtype=np.int64) % n_classes)
    lengths = 1 + lengths_random.poisson(mean - 1.0, size=n_documents)
    return _draw(lengths, labels, vocabulary, max(1, int(_TOKENS_PER_CHUNK / mean)), tokens_random), labels


def generator_of(random_state: int | np.random.Generator) -> np.random.Generator:
    """Return a generator seeded with `random_state`, or `random_state` itself if it is one.

    None is refused, since a built-in corpus is one that can be made again.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise TypeError(
            "Expected random_state to be an int or a numpy.random.Generator, "
            f"got {type(random_state).__name__}. Pass a seed such as 0."
        )
    if random_state < 0:
        raise ValueError(f"Expected random_state to be 0 or more, got {random_state}. Pass a seed such as 0.")
    return np.random.default_rng(int(random_state))


def positive_integer(name: str, value: Any) -> int:
    """Return an argument as an int, refusing what is not an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"Expected {name} to be an int, got {type(value).__name__}. Pass a whole number.")
    if value < 1:
        raise ValueError(f"Expected {name} to be at least 1, got {value}. Pass a positive number.")
    return int(value)


def _number(name: str, value: Any, *, at_least: float, at_most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"Expected {name} to be a number, got {type(value).__name__}. Pass a float or an int.")
    number = float(value)
    if not (math.isfinite(number) and at_least <= number <= at_most):
        span = f"from {at_least:g} to {at_most:g}" if at_most < math.inf else f"finite and at least {at_least:g}"
        raise ValueError(f"Expected {name} to be {span}, got {value}. Pass a number in that range.")
    return number


class _Vocabulary:
    """Draws tokens: ranks by Zipf's law, read in the shared list of words or in that of a class."""

    def __init__(
        self, n_words: int, n_classes: int, topicality: float, exponent: float, random: np.random.Generator
    ) -> None:
        self.size = n_words
        self.topicality = topicality
        cumulative = np.cumsum(np.arange(1.0, n_words + 1.0) ** -exponent)
        self.cumulative = cumulative / cumulative[-1]
        columns = np.arange(n_words, dtype=np.int32 if n_words <= 2**31 else np.int64)
        self.class_lists = np.tile(columns, (n_classes, 1))
        random.permuted(self.class_lists, axis=1, out=self.class_lists)

    def draw(self, token_labels: npt.NDArray[np.int64], random: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw a word (a column) for each token, given the label of the token's document."""
        words = np.searchsorted(self.cumulative, random.random(len(token_labels)), side="right")
        topical = np.flatnonzero(random.random(len(token_labels)) < self.topicality)
        words[topical] = self.class_lists[token_labels[topical], words[topical]]
        return words


def _draw(
    lengths: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    vocabulary: _Vocabulary,
    chunk_size: int,
    random: np.random.Generator,
) -> csr_array:
    """Draw the documents, `chunk_size` at a time, into arrays that become the matrix as they are."""
    from scipy.sparse import csr_array, get_index_dtype

    n_documents, n_tokens = len(lengths), int(lengths.sum())
    index_dtype = get_index_dtype(maxval=max(n_tokens, vocabulary.size))
    # Long enough if no word came twice, and cut in the end: memory that is never written to is never taken.
    counts = np.empty(n_tokens, dtype=np.int32)
    indices = np.empty(n_tokens, dtype=index_dtype)
    indptr = np.zeros(n_documents + 1, dtype=index_dtype)
    starts = range(0, n_documents, chunk_size)
    filled = 0
    for start, chunk_random in zip(starts, random.spawn(len(starts)), strict=True):
        stop = min(start + chunk_size, n_documents)
        documents = np.repeat(np.arange(start, stop), lengths[start:stop])
        tokens = (documents - start) * vocabulary.size + vocabulary.draw(labels[documents], chunk_random)
        tokens.sort()
        first = np.flatnonzero(np.diff(tokens, prepend=-1))
        cells = slice(filled, filled + len(first))
        counts[cells] = np.diff(first, append=len(tokens))
        rows, indices[cells] = np.divmod(tokens[first], vocabulary.size)
        indptr[start + 1 : stop + 1] = filled + np.cumsum(np.bincount(rows))
        filled = cells.stop
    counts.resize(filled, refcheck=False)
    indices.resize(filled, refcheck=False)
    matrix = csr_array((counts, indices, indptr), shape=(n_documents, vocabulary.size))
    matrix.has_canonical_format = True
    return matrix
