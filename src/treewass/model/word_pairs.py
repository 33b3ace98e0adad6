"""The terms that channels look at: the words of a text, and pairs of words that follow each other."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.histograms import short_bounds
from treewass.votes.channels import TermRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.model.vectorizers import TextCounter

__all__ = ["WordSequences", "count_terms", "term_names"]

_BLOCK = 1 << 14  # texts counted together
_LARGEST = 2**62  # of a number that holds a text and a term


@dataclass(frozen=True, slots=True)
class WordSequences:
    """The words of texts in their order, so that one reading of the texts serves all that counts them.

    `words` holds the columns of the words, int32, one text after the other, −1 for an unknown one; `bounds`, int64,
    where each text begins, and where the last one ends.

    Examples
    --------
    >>> sequences = WordSequences.of([[1, 2, 1, 2], [2, -1, 0]])
    >>> sequences.counts(3).toarray()
    array([[0, 2, 2],
           [1, 0, 1]])
    >>> sequences.terms(3).indices.tolist(), sequences.terms(3).data.tolist()
    ([1, 2, 8, 10, 0, 2], [2, 2, 2, 1, 1, 1])
    """

    words: NDArray[np.int32]
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[Iterable[int]]) -> WordSequences:
        """Put the words of texts one after the other."""
        words, bounds = array("i"), array("q", [0])
        for text in texts:
            words.extend(text)
            bounds.append(len(words))
        return cls(np.frombuffer(words, dtype=np.int32), np.frombuffer(bounds, dtype=np.int64))

    @classmethod
    def of_texts(
        cls, texts: Iterable[str], words_of: Callable[[str], list[str]], columns: Mapping[str, int]
    ) -> WordSequences:
        """Find the words of each text in `columns`."""
        return cls.of(map(columns.get, words := words_of(text), repeat(-1, len(words))) for text in texts)

    def counts(self, n_words: int) -> csr_array:
        """Count words: shape (n_texts, n_words), int64."""
        from scipy.sparse import csr_array

        bounds, words, counts = _joined(self._counted(n_words, with_pairs=False), np.int32)
        return csr_array((counts.astype(np.int64), words, short_bounds(bounds)), shape=(self.bounds.size - 1, n_words))

    def terms(self, n_words: int, rows: NDArray[np.intp] | None = None) -> TermRows:
        """Count the first `n_words` words, and pairs of them that follow each other, numbered as in `count_terms`.

        The texts may be chosen by their rows.
        """
        chosen = self if rows is None else self._rows(rows)
        bounds, terms, counts = _joined(chosen._counted(n_words, with_pairs=True), np.int64)
        return TermRows(bounds, terms, counts)

    def _rows(self, rows: NDArray[np.intp]) -> WordSequences:
        lengths = np.diff(self.bounds)[rows]
        bounds = np.append(0, np.cumsum(lengths))
        places = np.arange(bounds[-1]) + np.repeat(self.bounds[:-1][rows] - bounds[:-1], lengths)
        return WordSequences(self.words[places], bounds)

    def _counted(
        self, n_words: int, *, with_pairs: bool
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Count some texts at a time: how many terms each has, the terms, ascending in each text, and their counts."""
        n_terms = max(n_words * (n_words + 1) if with_pairs else n_words, 1)
        texts_at_once = min(_BLOCK, _LARGEST // (n_terms + 1))
        for start in range(0, self.bounds.size - 1, texts_at_once):
            bounds = self.bounds[start : start + texts_at_once + 1]
            texts = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
            words = self.words[bounds[0] : bounds[-1]].astype(np.int64)
            known = (words >= 0) & (words < n_words)
            keys = [texts[known] * n_terms + words[known]]
            if with_pairs:
                follows = np.flatnonzero((texts[1:] == texts[:-1]) & known[1:] & known[:-1])
                keys.append(texts[follows] * n_terms + n_words * (words[follows] + 1) + words[follows + 1])
            found, counts = np.unique(np.concatenate(keys), return_counts=True)
            rows, terms = np.divmod(found, n_terms)
            yield np.bincount(rows, minlength=bounds.size - 1), terms, counts


def _joined(
    blocks: Iterable[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]], kind: type[np.signedinteger]
) -> tuple[NDArray[np.int64], NDArray[np.signedinteger], NDArray[np.int32]]:
    """Put the counts of blocks of texts one after the other: bounds of texts, terms and counts."""
    sizes, terms, counts = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=kind)], [np.zeros(0, dtype=np.int32)]
    for block in blocks:
        sizes.append(block[0])
        terms.append(block[1].astype(kind))
        counts.append(block[2].astype(np.int32))
    return np.cumsum(np.concatenate(sizes)), np.concatenate(terms), np.concatenate(counts)


def count_terms(counter: TextCounter, texts: Sequence[str], n_words: int) -> TermRows:
    """Count the first `n_words` known words in texts, and the pairs of them that follow each other.

    A word has the number of its column, and the pair of words a and b the number n_words · (a + 1) + b. A counter that
    knows no order of words counts its terms alone.

    Examples
    --------
    >>> from treewass.model.vectorizers import WordCounter
    >>> counted = count_terms(WordCounter(words=["cat", "hot", "dog"]), ["hot dog, hot dog", "dog and cat"], 3)
    >>> term_names(counted.indices, ("cat", "hot", "dog")), counted.data.tolist()
    (['hot', 'dog', 'hot dog', 'dog hot', 'cat', 'dog'], [2, 2, 2, 1, 1, 1])
    """
    sequences = counter.sequences(texts)
    return TermRows.of(counter.rows(texts)) if sequences is None else sequences.terms(n_words)


def term_names(terms: NDArray[np.integer], words: Sequence[str]) -> list[str]:
    """Name terms by their words; those of a pair have a space between them."""
    names = []
    for term in terms.tolist():
        first, second = divmod(term, len(words))
        names.append(words[second] if first == 0 else f"{words[first - 1]} {words[second]}")
    return names
