"""From texts to counts: what a model needs of a counter, and one of words that needs NumPy only."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treewass.compute.threads import cached_property
from treewass.documents.histograms import short_bounds
from treewass.documents.writing_systems import UNSPACED, folded, stems
from treewass.model.sklearn_counter import KINDS, SklearnCounter, portable_parameters, restore_sklearn
from treewass.model.word_pairs import WordSequences

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "DEFAULT_PATTERN",
    "CountedRow",
    "TextCounter",
    "WordCounter",
    "counted_matrix",
    "make_counter",
    "restore_counter",
]

CountedRow = tuple[list[int], list[float]]  # the columns of a text's words, ascending, and their counts

DEFAULT_PATTERN = r"(?u)\b\w+\b"  # Unicode words of one character and more
# What `WordCounter` can do as well, without scikit-learn: these parameters as they are, any pattern and lower case.
_PLAIN = {
    "input": "content", "strip_accents": None, "preprocessor": None, "tokenizer": None, "stop_words": None,
    "ngram_range": (1, 1), "analyzer": "word", "max_df": 1.0, "min_df": 1, "max_features": None, "vocabulary": None,
    "binary": False,
}  # fmt: skip


class TextCounter(Protocol):
    """What a model needs of a vectoriser."""

    words: tuple[str, ...]
    spellings: Mapping[str, str]  # how words are written, where that is not how they are counted

    @property
    def names(self) -> tuple[str, ...]:
        """The words as they are shown to people, in the order of columns."""

    @property
    def counts_words(self) -> bool:
        """Whether it counts, and does not weigh."""

    @property
    def columns(self) -> dict[str, int]:
        """The column of each word."""

    @property
    def shown_columns(self) -> dict[str, int]:
        """The column of each word as it is shown."""

    def fitted(self, texts: Sequence[str]) -> TextCounter:
        """Return a counter of the words of these texts."""

    def learned(self, texts: Sequence[str], *, anew: bool) -> tuple[TextCounter, WordSequences | None]:
        """Return what `fitted`, if `anew`, or `widened` does, and the `sequences` that it then finds in these texts."""

    def widened(self, texts: Sequence[str]) -> TextCounter:
        """Return a counter that knows further words of these texts, where it can, after those known."""

    def count(self, texts: Sequence[str], sequences: WordSequences | None = None) -> csr_array:
        """Count words: one row per text, one column per word; `sequences`, if known, spare reading the texts."""

    def rows(self, texts: Sequence[str]) -> list[CountedRow]:
        """Count the words of each text: ascending columns and their counts."""

    def sequences(self, texts: Sequence[str]) -> WordSequences | None:
        """Find the columns of each text's words in their order, −1 for an unknown one; None where there is no order."""

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text, known or not, in their order."""

    def typed(self, text: str) -> dict[str, str]:
        """Return the different words of a text, known or not, in their order, each as the text first writes it."""

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find the places of known words in a text, with the words as they are shown."""

    def settings(self) -> dict[str, Any]:
        """Describe the counter, its words aside, in what JSON can hold."""


class WordCounter:
    r"""Count words, of any language: those that a regular expression finds, or pairs of characters.

    Parameters
    ----------
    token_pattern : str, default=r"(?u)\b\w+\b"
        What a word is; with a group, the group.
    lowercase : bool, default=True
        Whether texts are put into lower case first.
    words : sequence of str, optional
        The words known, in the order of columns.
    fold : bool, default=True
        Count words that differ in accents only, or in case beyond `lowercase`, as one: ``naïve`` and ``naive``,
        ``Straße`` and ``STRASSE``. Only accents of Latin and Greek letters are dropped.
    pairs : bool, default=True
        Count each two neighbouring characters of scripts without spaces between words (Chinese, Japanese, Thai, Lao,
        Khmer, Burmese) instead of whole runs of them.
    stem : str or None, default=None
        A language, such as ``"english"``: words are counted by their stems, so that ``storms`` finds ``storm``. Needs
        PyStemmer.

    Notes
    -----
    Without `fold`, `pairs` and `stem` it counts as scikit-learn's ``CountVectorizer`` of the same settings.

    Words that are folded are shown as the texts write them most often, and words that come later as the first text
    writes them that holds them: `names` has these forms, and `spellings` those that differ from `words`. Stems are
    shown as they are counted.

    Examples
    --------
    >>> counter = WordCounter().fitted(["A cat, a dog.", "Naïve cats"])
    >>> counter.words
    ('a', 'cat', 'cats', 'dog', 'naive')
    >>> counter.names
    ('a', 'cat', 'cats', 'dog', 'naïve')
    >>> counter.count(["a cat and a CAT"]).toarray()
    array([[2, 2, 0, 0, 0]])
    >>> WordCounter().tokens("東京都 in 2020")
    ['東京', '京都', 'in', '2020']
    """

    counts_words = True

    def __init__(
        self,
        token_pattern: str = DEFAULT_PATTERN,
        lowercase: bool = True,
        words: Sequence[str] = (),
        *,
        fold: bool = True,
        pairs: bool = True,
        stem: str | None = None,
    ) -> None:
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.words = tuple(words)
        self.spellings: Mapping[str, str] = {}
        self.fold = fold
        self.pairs = pairs
        self.stem = stem
        try:
            self._pattern = re.compile(token_pattern)
        except re.error as error:
            raise ValueError(
                f"Expected token_pattern as a regular expression, got {token_pattern!r}: {error}."
            ) from None
        if self._pattern.groups > 1:
            raise ValueError(f"Expected token_pattern with one group at most, got {token_pattern!r}.")
        if stem is not None:
            stems([], stem)  # an unknown language is refused now

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each word."""
        return {word: column for column, word in enumerate(self.words)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words as they are shown to people, in the order of columns."""
        return tuple(map(self.spellings.get, self.words, self.words)) if self.spellings else self.words

    @cached_property
    def shown_columns(self) -> dict[str, int]:
        """The column of each word as it is shown."""
        return {name: column for column, name in enumerate(self.names)} if self.spellings else self.columns

    def fitted(self, texts: Sequence[str]) -> WordCounter:
        """Return a counter of the words of these texts, sorted."""
        return self.learned(texts, anew=True)[0]

    def widened(self, texts: Sequence[str]) -> WordCounter:
        """Return a counter with the new words of these texts, sorted, after those known."""
        return self.learned(texts, anew=False)[0]

    def learned(self, texts: Sequence[str], *, anew: bool) -> tuple[WordCounter, WordSequences]:
        """Return what `fitted`, if `anew`, or `widened` does, and the words of the texts in their order.

        Examples
        --------
        >>> counter, sequences = WordCounter().learned(["the dog", "a dog"], anew=True)
        >>> counter.words, sequences.words.tolist(), sequences.bounds.tolist()
        (('a', 'dog', 'the'), [2, 1, 0, 1], [0, 2, 4])
        """
        known = () if anew else self.words
        numbers: defaultdict[str, int] = defaultdict(None, {} if anew else self.columns)
        numbers.default_factory = numbers.__len__  # a new word gets the next number
        forms: Counter[str] = Counter()  # those that folding changes, in all texts
        first: dict[str, str] = {}  # the form of each new word in the text that brings it

        def numbered(text: str) -> Iterator[int]:
            written, words = self._written(text)
            if written is not words and self.stem is None:
                both = zip(written, words, strict=True)
                if anew:
                    forms.update(form for form, word in both if form != word)
                else:
                    first.update((word, form) for form, word in reversed(list(both)) if word not in numbers)
            return map(numbers.__getitem__, words)

        found = WordSequences.of(map(numbered, texts))
        if anew and not numbers:
            raise ValueError("Expected texts with words, but none holds a word. Check the text column.")
        new = sorted(islice(numbers, len(known), None))
        if not new:
            return self, found
        columns = np.arange(len(numbers), dtype=np.int32)
        columns[[numbers[word] for word in new]] = np.arange(len(known), len(numbers))
        counter, found = self.with_words([*known, *new]), WordSequences(columns[found.words], found.bounds)
        if anew:
            totals = np.bincount(found.words, minlength=len(numbers)).tolist()
            counter.spellings = _spellings(forms, dict(zip(new, totals, strict=True))) if forms else {}
        else:
            counter.spellings = {**self.spellings, **{word: form for word, form in first.items() if form != word}}
        return counter, found

    def with_words(self, words: Sequence[str]) -> WordCounter:
        """Return a counter of the same settings that knows other words, in the order of columns."""
        counter = copy(self)
        counter.words = tuple(words)
        for made in ("columns", "names", "shown_columns"):
            vars(counter).pop(made, None)
        return counter

    def count(self, texts: Sequence[str], sequences: WordSequences | None = None) -> csr_array:
        """Count known words: shape (n_texts, n_words), int64; `sequences`, if known, spare reading the texts."""
        return (self.sequences(texts) if sequences is None else sequences).counts(len(self.words))

    def rows(self, texts: Sequence[str]) -> list[CountedRow]:
        """Count the known words of each text: ascending columns and their counts."""
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> CountedRow:
        columns = self.columns
        counts = Counter(columns[token] for token in self.tokens(text) if token in columns)
        ordered = sorted(counts)
        return ordered, [float(counts[word]) for word in ordered]

    def sequences(self, texts: Sequence[str]) -> WordSequences:
        """Find the columns of each text's words in their order, −1 for an unknown one."""
        return WordSequences.of_texts(texts, self.tokens, self.columns)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find the places of known words in a text, and these as shown; none if lower case changes its length."""
        searched = self._prepared(text)
        if len(searched) != len(text):
            return []
        known, shown = self.columns, self.spellings
        return [(begin, end, shown.get(word, word)) for begin, end, word in self._places(searched) if word in known]

    def settings(self) -> dict[str, Any]:
        """Describe the counter, its words aside."""
        own = {"token_pattern": self.token_pattern, "lowercase": self.lowercase}
        return {"kind": "words", **own, "fold": self.fold, "pairs": self.pairs, "stem": self.stem}

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text, known or not, in their order."""
        return self._written(text)[1]

    def typed(self, text: str) -> dict[str, str]:
        """Return the different words of a text, known or not, in their order, each as the text first writes it.

        Examples
        --------
        >>> WordCounter().typed("Tortüe, a tortue")
        {'tortue': 'tortüe', 'a': 'a'}
        """
        first: dict[str, str] = {}
        for form, word in zip(*self._written(text), strict=True):
            first.setdefault(word, form)
        return first

    def _written(self, text: str) -> tuple[list[str], list[str]]:
        """Return the words of a text as it writes them, in lower case if that is asked for, and as they are counted."""
        text = self._prepared(text)
        if self.pairs and not text.isascii() and UNSPACED.search(text):
            places = list(self._places(text))
            return [text[start:stop] for start, stop, _ in places], [word for _, _, word in places]
        words = written = self._pattern.findall(text)
        if self.fold and not text.isascii():
            words = [token if token.isascii() else folded(token) for token in written]
        return written, words if self.stem is None else stems(words, self.stem)

    def _prepared(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        return unicodedata.normalize("NFC", text) if self.fold and not text.isascii() else text

    def _places(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Find each word of a prepared text, with where it begins and ends."""
        begin = 0
        for run in UNSPACED.finditer(text) if self.pairs and not text.isascii() else ():
            yield from self._spaced(text, begin, run.start())
            begin = run.end()
            for first in range(run.start(), max(run.end() - 1, run.start() + 1)):
                stop = min(first + 2, run.end())
                yield first, stop, text[first:stop]
        yield from self._spaced(text, begin, len(text))

    def _spaced(self, text: str, begin: int, end: int) -> Iterator[tuple[int, int, str]]:
        group = self._pattern.groups
        for match in self._pattern.finditer(text[begin:end]):
            start, stop = (begin + place for place in match.span(group))
            word = folded(text[start:stop]) if self.fold else text[start:stop]
            if self.stem is not None:
                word = stems([word], self.stem)[0]
            yield start, stop, word


def _spellings(forms: Counter[str], totals: Mapping[str, int]) -> dict[str, str]:
    """Return the form in which each word is written most often, the first of equals, where it is not the word itself.

    Counted are the forms that are not the word itself, and each word in all of its forms.
    """
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for form, count in forms.items():
        if (word := folded(form)) in totals:
            written[word][form] = count
    for word, counts in written.items():
        counts[word] = totals[word] - counts.total()
    best = {word: min(counts, key=lambda form: (-counts[form], form)) for word, counts in written.items()}
    return {word: form for word, form in best.items() if form != word}


def counted_matrix(rows: Sequence[CountedRow], n_words: int, kind: type[np.generic]) -> csr_array:
    """Put counted texts into a matrix with a row for each, shape (n_texts, n_words)."""
    from scipy.sparse import csr_array

    bounds = np.cumsum([0, *(len(words) for words, _ in rows)], dtype=np.int64)
    words = np.fromiter((word for row in rows for word in row[0]), np.int32, bounds[-1])
    counts = np.fromiter((count for row in rows for count in row[1]), kind, bounds[-1])
    return csr_array((counts, words, short_bounds(bounds)), shape=(len(rows), n_words))


def make_counter(vectorizer: Any) -> TextCounter:
    """Turn the parameter `vectorizer` of a model into a counter with the same settings.

    What it was fitted on does not matter. Other objects, and settings that JSON cannot hold, are a TypeError.
    """
    if vectorizer is None:
        return WordCounter()
    if isinstance(vectorizer, WordCounter | SklearnCounter):
        return vectorizer
    kind = type(vectorizer).__name__
    if kind not in KINDS:
        raise TypeError(
            f"Expected vectorizer as None or scikit-learn's {' or '.join(KINDS)}, got {kind}: a model stores settings "
            "and words, so that no other object can be kept."
        )
    parameters = portable_parameters(vectorizer, f"this {kind}")
    if kind == "CountVectorizer" and all(repr(parameters[name]) == repr(value) for name, value in _PLAIN.items()):
        return WordCounter(parameters["token_pattern"], parameters["lowercase"], fold=False, pairs=False)
    return SklearnCounter(kind, parameters)


def restore_counter(
    settings: dict[str, Any], words: Sequence[str], spellings: Mapping[str, str] | None = None
) -> TextCounter:
    """Make the counter that `settings` describes, with its words; settings that describe none are a ValueError."""
    if settings.get("kind") != "words":
        return restore_sklearn(settings, words)
    pattern, lowercase = settings.get("token_pattern"), settings.get("lowercase")
    if not isinstance(pattern, str) or not isinstance(lowercase, bool):
        raise ValueError(f"Expected a token_pattern and lowercase, got {pattern!r} and {lowercase!r}.")
    fold, pairs, stem = settings.get("fold", False), settings.get("pairs", False), settings.get("stem")
    if not isinstance(fold, bool) or not isinstance(pairs, bool) or not isinstance(stem, str | None):
        raise ValueError(f"Expected fold and pairs as bool, and stem as a language, got {fold!r}, {pairs!r}, {stem!r}.")
    counter = WordCounter(pattern, lowercase, words, fold=fold, pairs=pairs, stem=stem)
    counter.spellings = spellings or {}
    return counter
