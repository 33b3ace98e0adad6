"""Generated corpora: counts of any size for benchmarks, and the paper's ten instruments."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewass.compute.arguments import check_integer, shown
from treewass.documents.corpus import Corpus

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["INSTRUMENTS", "make_documents", "make_instruments"]

INSTRUMENTS = (
    "piano",
    "violin",
    "cello",
    "viola",
    "contrabass",
    "trumpet",
    "trombone",
    "clarinet",
    "flute",
    "harpsichord",
)
_TELLING = {"piano", "violin"}

# Documents are drawn in chunks of about this many tokens: many for NumPy, few compared with the result.
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
        Size of the vocabulary, at least 1. Rare words may be in no document.
    words_per_document : float, default=40.0
        Mean number of tokens per document, at least 1. A document has one token and a Poisson number more,
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
    ValueError
        If an argument is not a number of its kind or out of its range.

    Examples
    --------
    >>> X, y = make_documents(1000, n_words=500, n_classes=3)
    >>> X.shape, X.dtype, bool(X.sum(axis=1).min() >= 1)
    ((1000, 500), dtype('int32'), True)
    >>> np.bincount(y)
    array([334, 333, 333])
    """
    n_documents = check_integer("n_documents", n_documents)
    n_words = check_integer("n_words", n_words)
    n_classes = check_integer("n_classes", n_classes)
    mean = _number("words_per_document", words_per_document, at_least=1.0)
    topicality = _number("topicality", topicality, at_least=0.0, at_most=1.0)
    exponent = _number("exponent", exponent, at_least=0.0)

    words_random, labels_random, lengths_random, tokens_random = _generator_of(random_state).spawn(4)
    vocabulary = _Vocabulary(n_words, n_classes, topicality, exponent, words_random)
    labels = labels_random.permutation(np.arange(n_documents, dtype=np.int64) % n_classes)
    lengths = 1 + lengths_random.poisson(mean - 1.0, size=n_documents)
    return _draw(lengths, labels, vocabulary, max(1, int(_TOKENS_PER_CHUNK / mean)), tokens_random), labels


def make_instruments(n_documents: int = 1000, *, random_state: int | np.random.Generator = 0) -> Corpus:
    """Make the paper's synthetic corpus: ten words, each present or not, and two classes.

    A document's label is ``"with piano or violin"`` if it contains at least one of these two words and
    ``"without"`` otherwise. The paper (section 4.3) does not say how documents are drawn. Here each word
    is present with probability 1/2, independently, and an empty document is drawn again: every non-empty
    set of words is equally likely, and about three documents in four have a piano or a violin.
    Repeated documents are likely: there are 1023 different ones.

    Parameters
    ----------
    n_documents : int, default=1000
        How many documents to draw; at least 1.
    random_state : int or numpy.random.Generator, default=0
        Seed, or the generator to draw from.

    Returns
    -------
    corpus : Corpus
        Each text holds its words once, in the order of `INSTRUMENTS`, with a space between.

    Examples
    --------
    >>> corpus = make_instruments(4)
    >>> corpus.texts[1], corpus.labels[1]
    ('cello viola clarinet harpsichord', 'without')
    >>> corpus.class_counts()
    {'with piano or violin': 2, 'without': 2}
    """
    size = check_integer("n_documents", n_documents)
    sets = _generator_of(random_state).integers(1, 2 ** len(INSTRUMENTS), size=size)
    present = sets[:, np.newaxis] >> np.arange(len(INSTRUMENTS)) & 1
    documents = [[word for word, held in zip(INSTRUMENTS, row, strict=True) if held] for row in present.tolist()]
    return Corpus(
        "instruments",
        tuple(" ".join(words) for words in documents),
        tuple("without" if _TELLING.isdisjoint(words) else "with piano or violin" for words in documents),
    )


def _generator_of(random_state: int | np.random.Generator) -> np.random.Generator:
    """Return a generator seeded with `random_state`, or `random_state` itself if it is one.

    None is refused, because a built-in corpus can always be made again.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ValueError(
            f"Expected random_state to be a numpy.random.Generator or an integer of at least 0, got "
            f"{shown(random_state)}. Pass a seed such as 0."
        )
    return np.random.default_rng(int(random_state))


def _number(name: str, value: Any, *, at_least: float, at_most: float = math.inf) -> float:
    """Return an argument as a float; refuse what is not a finite number in its range."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not at_least <= float(value) <= at_most or math.isinf(value):
        most = f" and at most {at_most:g}" if at_most < math.inf else ""
        raise ValueError(f"Expected {name} as a finite number of at least {at_least:g}{most}, got {shown(value)}.")
    return float(value)


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
