"""Class counts by the name of each word: what partitions of the data are merged by."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import first_few
from treewass.learners.profile.class_profiles import ColumnCounts, count_in_parts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ClassCounting", "ClassCounts"]

_SHIFT = 31  # bits of a class number beside that of a word, and of a word beside that of a text
_LOW = (1 << _SHIFT) - 1
_BLOCK = 4096  # texts counted at a time
_MOST_PENDING = 1 << 20  # pairs of a word and a class that wait to be added up


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """In how many documents of each class each word occurs, by the word's name. Counts of parts of the data add up.

    The sum of the counts of any parts, in any order, is the count of the whole, to the bit: count each part where it
    is, add, and learn with `ProfileTreeWasserstein.from_counts`.

    Parameters
    ----------
    words : tuple of str
        The words, sorted, each once.
    classes : tuple of str, or of int
        The labels, sorted.
    columns : ColumnCounts
        The counts: ``columns.by_word`` is sparse, of shape (n_words, n_classes), and ``columns.by_class``, of shape
        (n_classes,), holds the number of documents of each class.

    See Also
    --------
    treewass.ProfileTreeWasserstein.from_counts : Learns from them.

    Examples
    --------
    >>> north = ClassCounts.from_texts(["cats purr", "dogs bark"], ["cat", "dog"], str.split)
    >>> south = ClassCounts.from_texts(["cats meow"], ["cat"], str.split)
    >>> both = north + south
    >>> both.words, both.classes
    (('bark', 'cats', 'dogs', 'meow', 'purr'), ('cat', 'dog'))
    >>> both.columns.by_word.toarray()[1]
    array([2., 0.])
    """

    words: tuple[str, ...]
    classes: tuple[Any, ...]
    columns: ColumnCounts

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], labels: Iterable[Any], words_of: Callable[[str], Iterable[str]]
    ) -> ClassCounts:
        """Count texts, which may come one at a time and need not fit into memory.

        Parameters
        ----------
        texts : iterable of str
        labels : iterable of str or int
            One for each text.
        words_of : callable
            Returns the words of a text, such as ``CountVectorizer().build_analyzer()``.

        Returns
        -------
        ClassCounts
        """
        counting, pairs = ClassCounting(words_of), zip(texts, labels, strict=True)
        while block := list(islice(pairs, _BLOCK)):
            counting.add((text for text, _ in block), (label for _, label in block))
        return counting.counts()

    @classmethod
    def from_matrix(
        cls, X: Any, y: ArrayLike, words: Sequence[str], *, sample_weight: ArrayLike | None = None
    ) -> ClassCounts:
        """Count documents that are rows of a matrix.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : array-like of shape (n_documents,)
            Labels.
        words : sequence of str, length n_words
            The name of each column, such as ``CountVectorizer.get_feature_names_out()``.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document. Sums of weights that are not whole numbers may differ in the last bit with the
            order of the parts.

        Returns
        -------
        ClassCounts
            A word that occurs in no document is counted as zero; it is kept.

        Examples
        --------
        >>> ClassCounts.from_matrix([[1, 0], [2, 1]], ["cat", "dog"], ["sat", "ran"]).words
        ('ran', 'sat')
        """
        from treewass.documents.estimator_inputs import check_weights

        labels = np.asarray(y)
        matrix = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        names = [str(word) for word in words]
        if matrix.shape != (labels.size, len(names)):
            raise ValueError(
                f"Expected a row for each of {labels.size} labels and a column for each of {len(names)} words, got "
                f"shape {matrix.shape}."
            )
        weights = check_weights(sample_weight, labels.size)
        classes = np.unique(labels[weights > 0])
        return _sorted(names, classes.tolist(), count_in_parts(matrix, labels, weights, classes))

    def __post_init__(self) -> None:
        shape = self.columns.by_word.shape
        if shape != (len(self.words), len(self.classes)) or self.columns.by_class.shape != (len(self.classes),):
            raise ValueError(
                f"Expected counts of {len(self.words)} words in {len(self.classes)} classes, got shape {shape}."
            )
        for what, names in (("words", self.words), ("classes", self.classes)):
            wrong = next(((first, second) for first, second in pairwise(names) if not first < second), None)
            if wrong is not None:
                raise ValueError(f"Expected {what} sorted, each once, got {wrong[0]!r} before {wrong[1]!r}.")

    def __repr__(self) -> str:
        return f"ClassCounts({self.n_documents:g} documents, {len(self.words)} words, {len(self.classes)} classes)"

    @property
    def n_documents(self) -> float:
        """The number of documents counted, or their weight."""
        return float(self.columns.by_class.sum())

    def __add__(self, other: ClassCounts) -> ClassCounts:
        words = self.words if self.words == other.words else tuple(sorted({*self.words, *other.words}))
        try:
            classes = tuple(sorted({*self.classes, *other.classes}))
        except TypeError:
            raise ValueError(
                f"Expected labels of one kind, all str or all int, got {self.classes[0]!r} and {other.classes[0]!r}."
            ) from None
        return ClassCounts(words, classes, self._placed(words, classes) + other._placed(words, classes))

    def _placed(self, words: tuple[str, ...], classes: tuple[Any, ...]) -> ColumnCounts:
        """Bring the counts to the places of their words and classes among more of them."""
        from scipy.sparse import csr_array

        if (words, classes) == (self.words, self.classes):
            return self.columns
        word_places, class_places = _places(words, self.words), _places(classes, self.classes)
        old, sizes = self.columns.by_word, np.zeros(len(words), dtype=np.int64)
        sizes[word_places] = np.diff(old.indptr)  # rows keep their order: both lists of words are sorted
        by_word = csr_array(
            (old.data, class_places[old.indices], np.append(0, np.cumsum(sizes))), shape=(len(words), len(classes))
        )
        by_class = np.zeros(len(classes))
        by_class[class_places] = self.columns.by_class
        return ColumnCounts(by_word, by_class)

    def most_frequent(self, max_words: int) -> ClassCounts:
        """Leave out rare words, if there are more words than wanted.

        The rule: words in fewer than m documents are left out, where m is the smallest whole number that leaves at
        most `max_words` words. Apply it to the sum of all parts: then it does not depend on how the data was divided.

        Parameters
        ----------
        max_words : int
            The most words to keep.

        Returns
        -------
        ClassCounts

        Examples
        --------
        >>> counts = ClassCounts.from_texts(["a b", "a c", "a b d"], ["x", "x", "y"], str.split)
        >>> counts.most_frequent(3).words, counts.most_frequent(1).words
        (('a', 'b'), ('a',))
        """
        if len(self.words) <= max_words:
            return self
        found_in = np.asarray(self.columns.by_word.sum(axis=1))
        least = np.floor(np.sort(found_in)[len(self.words) - max_words - 1]) + 1
        kept = np.flatnonzero(found_in >= least)
        words = tuple(self.words[place] for place in kept.tolist())
        return ClassCounts(words, self.classes, ColumnCounts(self.columns.by_word[kept], self.columns.by_class))


class ClassCounting:
    """Count texts, some at a time; `counts` returns what was counted so far.

    Words that texts have in common are kept once, and the texts not at all.

    Examples
    --------
    >>> counting = ClassCounting(str.split)
    >>> counting.add(["b a b", "a c"], ["x", "y"])
    (array([0, 1, 0, 1, 2], dtype=int32), array([0, 3, 5]))
    >>> counting.words, counting.counts().columns.by_word.toarray().tolist()
    (['b', 'a', 'c'], [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, words_of: Callable[[str], Iterable[str]]) -> None:
        self._words_of = words_of
        self._words: defaultdict[str, int] = defaultdict()
        self._words.default_factory = self._words.__len__  # a new word gets the next number
        self._classes: dict[Any, int] = {}
        self._pending: list[NDArray[np.int64]] = []
        self._found: tuple[NDArray[np.int64], NDArray[np.float64]] = np.zeros(0, np.int64), np.zeros(0)
        self._n_documents = np.zeros(0, dtype=np.int64)

    @property
    def words(self) -> list[str]:
        """The words found so far, by their numbers."""
        return list(self._words)

    def add(self, texts: Iterable[str], labels: Iterable[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Count some texts; return the numbers of their words, in their order, and where each text begins and ends."""
        words, bounds = array("i"), array("q", [0])
        for text in texts:
            words.extend(map(self._words.__getitem__, self._words_of(text)))
            bounds.append(len(words))
        numbers, ends = np.array(words, dtype=np.int32), np.array(bounds, dtype=np.int64)
        codes = np.array([self._classes.setdefault(label, len(self._classes)) for label in labels], dtype=np.int64)
        rows = np.repeat(np.arange(codes.size), np.diff(ends))
        once = np.unique(rows << _SHIFT | numbers)  # a word counts once in a text
        self._pending.append((once & _LOW) << _SHIFT | codes[once >> _SHIFT])
        counted = np.bincount(codes, minlength=len(self._classes))
        counted[: self._n_documents.size] += self._n_documents
        self._n_documents = counted
        if sum(pairs.size for pairs in self._pending) > max(_MOST_PENDING, self._found[0].size):
            self._add_up()
        return numbers, ends

    def _add_up(self) -> None:
        keys, counts = np.unique(np.concatenate(self._pending), return_counts=True)
        pairs, places = np.unique(np.concatenate([self._found[0], keys]), return_inverse=True)
        self._found = pairs, np.bincount(places, np.concatenate([self._found[1], counts])).astype(np.float64)
        self._pending = []

    def counts(self) -> ClassCounts:
        """Return the counts of all texts so far."""
        from scipy.sparse import csr_array

        if self._pending:
            self._add_up()
        keys, found = self._found
        shape = len(self._words), len(self._classes)
        bounds = np.searchsorted(keys, np.arange(shape[0] + 1) << _SHIFT)
        by_word = csr_array((found, (keys & _LOW).astype(np.int32), bounds), shape=shape)
        classes = [label.item() if isinstance(label, np.generic) else label for label in self._classes]
        return _sorted(self.words, classes, ColumnCounts(by_word, self._n_documents.astype(np.float64)))


def _sorted(words: list[str], classes: list[Any], columns: ColumnCounts) -> ClassCounts:
    """Bring counts into the order of their words and classes, which must differ from each other."""
    from scipy.sparse import csr_array

    kinds = sorted({type(label).__name__ for label in classes})
    if kinds not in ([], ["int"], ["str"]):
        raise TypeError(f"Expected labels that are all str or all int, got {' and '.join(kinds)}.")
    order = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.intp)
    ranks = np.array(sorted(range(len(classes)), key=classes.__getitem__), dtype=np.intp)
    again = np.array([place for place in range(1, len(words)) if words[order[place]] == words[order[place - 1]]])
    if again.size:
        raise ValueError(
            f"Expected words that differ from each other, but columns {first_few(order[again])} repeat others."
        )
    places = np.empty_like(ranks)
    places[ranks] = np.arange(ranks.size)
    rows = columns.by_word[order]
    by_word = csr_array((rows.data, places[rows.indices].astype(np.int32), rows.indptr), shape=rows.shape)
    by_word.sort_indices()
    return ClassCounts(
        tuple(words[place] for place in order.tolist()),
        tuple(classes[place] for place in ranks.tolist()),
        ColumnCounts(by_word, columns.by_class[ranks]),
    )


def _places(all_names: Sequence[Any], names: Sequence[Any]) -> NDArray[np.int32]:
    """Find the place of each name among more of them."""
    places = {name: place for place, name in enumerate(all_names)}
    return np.fromiter((places[name] for name in names), np.int32, len(names))
