"""The terms that channels look at: the words of a text, and pairs of words that follow each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.votes.channels import TermRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from treewass.model.vectorizers import TextCounter

__all__ = ["count_terms", "term_names"]

_BLOCK = 1 << 14  # texts counted together
_LARGEST = 2**62  # of a number that holds a text and a term


def count_terms(counter: TextCounter, texts: Sequence[str], n_words: int) -> TermRows:
    """Count the first `n_words` known words in texts, and the pairs of them that follow each other.

    A word has the number of its column, and the pair of words a and b the number n_words · (a + 1) + b. A counter that
    knows no order of words counts its terms alone.

    Examples
    --------
    >>> from treewass.model.vectorizers import WordCounter
    >>> counted = count_terms(WordCounter(words=["cat", "hot", "dog"]), ["hot dog, hot dog", "dog and cat"], 3)
    >>> term_names(counted.indices, ("cat", "hot", "dog")), counted.data.tolist()
    (['hot', 'dog', 'hot dog', 'dog hot', 'cat', 'dog'], [2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    """
    sequences = counter.sequences(texts)
    if sequences is None:
        return TermRows.of(counter.rows(texts))
    texts_at_once = min(_BLOCK, _LARGEST // (n_words * (n_words + 1) + 1))
    blocks = [
        _counted(sequences[start : start + texts_at_once], n_words) for start in range(0, len(sequences), texts_at_once)
    ]
    sizes = [np.zeros(1, dtype=np.int64), *(sizes for sizes, _, _ in blocks)]
    nothing = np.zeros(0, dtype=np.int64)
    return TermRows(
        np.cumsum(np.concatenate(sizes)),
        np.concatenate([nothing, *(terms for _, terms, _ in blocks)]),
        np.concatenate([nothing, *(counts for _, _, counts in blocks)]).astype(np.float64),
    )


def _counted(
    sequences: Sequence[Sequence[int]], n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count words, given in their order, where unknown ones are −1, and pairs.

    Returns how many terms each text has, the terms, ascending in each text, and their counts.
    """
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    words = np.fromiter((word for sequence in sequences for word in sequence), np.int64, lengths.sum())
    texts = np.repeat(np.arange(lengths.size), lengths)
    words[words >= n_words] = -1
    follows = np.flatnonzero((texts[1:] == texts[:-1]) & (words[1:] >= 0) & (words[:-1] >= 0))
    single, n_terms = np.flatnonzero(words >= 0), n_words * (n_words + 1)
    pairs = n_words * (words[follows] + 1) + words[follows + 1]
    keys = np.concatenate([texts[single] * n_terms + words[single], texts[follows] * n_terms + pairs])
    found, counts = np.unique(keys, return_counts=True)
    texts, terms = np.divmod(found, max(n_terms, 1))
    return np.bincount(texts, minlength=lengths.size), terms, counts


def term_names(terms: NDArray[np.integer], words: Sequence[str]) -> list[str]:
    """Name terms by their words; those of a pair have a space between them."""
    names = []
    for term in terms.tolist():
        first, second = divmod(term, len(words))
        names.append(words[second] if first == 0 else f"{words[first - 1]} {words[second]}")
    return names
