"""From texts to counts: a counter of words that needs NumPy only, and scikit-learn's vectorisers beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treewass.model.settings import portable_parameters

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["DEFAULT_PATTERN", "SklearnCounter", "TextCounter", "WordCounter", "make_counter", "restore_counter"]

DEFAULT_PATTERN = r"(?u)\b\w+\b"  # Unicode words of one character and more
_KINDS = ("CountVectorizer", "TfidfVectorizer")
_DTYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
_LARGEST_IDF = 1e6  # that of a word in one of n documents is below 2 + log(n)
# What `WordCounter` can do as well, without scikit-learn: these parameters as they are, any pattern and lower case.
_PLAIN = {
    "input": "content", "strip_accents": None, "preprocessor": None, "tokenizer": None, "stop_words": None,
    "ngram_range": (1, 1), "analyzer": "word", "max_df": 1.0, "min_df": 1, "max_features": None, "vocabulary": None,
    "binary": False,
}  # fmt: skip


class TextCounter(Protocol):
    """What a model needs of a vectoriser."""

    words: tuple[str, ...]

    def fitted(self, texts: Sequence[str]) -> TextCounter:
        """Return a counter of the words of these texts."""

    def widened(self, texts: Sequence[str]) -> TextCounter:
        """Return a counter that knows further words of these texts, where it can, after those known."""

    def count(self, texts: Sequence[str]) -> csr_array:
        """Count words: a row a text, a column a word."""

    def count_one(self, text: str) -> tuple[list[int], list[float]]:
        """Count the words of one text: ascending columns and their counts."""

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find where known words stand in a text."""

    def settings(self) -> dict[str, Any]:
        """Describe the counter, its words aside, in what JSON can hold."""


class WordCounter:
    r"""Count the words that a regular expression finds: scikit-learn's ``CountVectorizer`` of the same settings.

    Parameters
    ----------
    token_pattern : str, default=r"(?u)\b\w+\b"
        What a word is; with a group, the group.
    lowercase : bool, default=True
        Whether texts are put into lower case first.
    words : sequence of str, optional
        The words known, in the order of columns.

    Examples
    --------
    >>> counter = WordCounter().fitted(["A cat, a dog.", "Naïve cats"])
    >>> counter.words
    ('a', 'cat', 'cats', 'dog', 'naïve')
    >>> counter.count(["a cat and a CAT"]).toarray()
    array([[2, 2, 0, 0, 0]])
    """

    def __init__(self, token_pattern: str = DEFAULT_PATTERN, lowercase: bool = True, words: Sequence[str] = ()) -> None:
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.words = tuple(words)
        try:
            self._pattern = re.compile(token_pattern)
        except re.error as error:
            raise ValueError(
                f"Expected token_pattern as a regular expression, got {token_pattern!r}: {error}."
            ) from None
        if self._pattern.groups > 1:
            raise ValueError(f"Expected token_pattern with one group at most, got {token_pattern!r}.")

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each word."""
        return {word: column for column, word in enumerate(self.words)}

    def fitted(self, texts: Sequence[str]) -> WordCounter:
        """Return a counter of the words of these texts, sorted."""
        found = sorted({token for text in texts for token in self._tokens(text)})
        if not found:
            raise ValueError("Expected texts with words, but none holds a word. Check the text column, or the pattern.")
        return WordCounter(self.token_pattern, self.lowercase, found)

    def widened(self, texts: Sequence[str]) -> WordCounter:
        """Return a counter with the new words of these texts, sorted, after those known."""
        new = {token for text in texts for token in self._tokens(text)} - self.columns.keys()
        return WordCounter(self.token_pattern, self.lowercase, (*self.words, *sorted(new)))

    def count(self, texts: Sequence[str]) -> csr_array:
        """Count known words: shape (n_texts, n_words), int64."""
        from scipy.sparse import csr_array

        rows = [self.count_one(text) for text in texts]
        bounds = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(words) for words, _ in rows], out=bounds[1:])
        words = np.fromiter((word for row in rows for word in row[0]), np.int32, bounds[-1])
        counts = np.fromiter((count for row in rows for count in row[1]), np.int64, bounds[-1])
        kind = np.int32 if bounds[-1] < 2**31 else np.int64
        return csr_array((counts, words, bounds.astype(kind)), shape=(len(rows), len(self.words)))

    def count_one(self, text: str) -> tuple[list[int], list[float]]:
        """Count the known words of one text: ascending columns and their counts."""
        columns = self.columns
        counts = Counter(columns[token] for token in self._tokens(text) if token in columns)
        ordered = sorted(counts)
        return ordered, [float(counts[word]) for word in ordered]

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find where known words stand in a text; empty where lower case has another length."""
        searched = text.lower() if self.lowercase else text
        if len(searched) != len(text):
            return []
        group = self._pattern.groups
        matches = ((match.start(group), match.end(group), match[group]) for match in self._pattern.finditer(searched))
        return [match for match in matches if match[2] in self.columns]

    def settings(self) -> dict[str, Any]:
        """Describe the counter, its words aside."""
        return {"kind": "words", "token_pattern": self.token_pattern, "lowercase": self.lowercase}

    def _tokens(self, text: str) -> Iterable[str]:
        return self._pattern.findall(text.lower() if self.lowercase else text)


class SklearnCounter:
    """Count with a vectoriser of scikit-learn: n-grams, stop words, TF-IDF weights and so on.

    Parameters
    ----------
    kind : {"CountVectorizer", "TfidfVectorizer"}
        Its class.
    parameters : dict
        Of its constructor, without the vocabulary, in what JSON can hold.
    words : sequence of str, optional
        The terms known, in the order of columns.
    idf : sequence of float, optional
        Inverse document frequencies, for TF-IDF.
    """

    def __init__(
        self, kind: str, parameters: dict[str, Any], words: Sequence[str] = (), idf: Sequence[float] | None = None
    ) -> None:
        if kind not in _KINDS:
            raise ValueError(f"Expected the kind of a vectoriser as one of {', '.join(_KINDS)}, got {kind!r}.")
        _check_parameters(parameters)
        self.kind = kind
        self.parameters = parameters
        self.words = tuple(words)
        self.idf = None if idf is None else [float(value) for value in idf]

    def _make(self, **changes: Any) -> Any:
        from sklearn.feature_extraction import text

        parameters = {**self.parameters, **changes}
        if "ngram_range" in parameters:
            parameters["ngram_range"] = tuple(parameters["ngram_range"])
        if "dtype" in parameters:
            parameters["dtype"] = np.dtype(parameters["dtype"]).type
        return getattr(text, self.kind)(**parameters)

    @cached_property
    def _vectorizer(self) -> Any:
        vectorizer = self._make(vocabulary=list(self.words)).fit([""])  # learns nothing: the words are given
        if self.idf is not None:
            vectorizer.idf_ = np.array(self.idf)
        return vectorizer

    def fitted(self, texts: Sequence[str]) -> SklearnCounter:
        """Return a counter of the terms of these texts."""
        fitted = self._make().fit(texts)
        idf = getattr(fitted, "idf_", None) if self.parameters.get("use_idf") else None
        return SklearnCounter(self.kind, self.parameters, fitted.get_feature_names_out().tolist(), idf)

    def widened(self, texts: Sequence[str]) -> SklearnCounter:  # noqa: ARG002 - frequencies of the first texts decide
        """Return itself: which terms are kept was decided on the texts of ``fit``."""
        return self

    def count(self, texts: Sequence[str]) -> csr_array:
        """Count, or weigh, known terms: shape (n_texts, n_words)."""
        from scipy.sparse import csr_array

        counts = csr_array(self._vectorizer.transform(texts))
        counts.sort_indices()
        return counts

    def count_one(self, text: str) -> tuple[list[int], list[float]]:
        """Count the known terms of one text: ascending columns and their weights."""
        row = self.count([text])
        return row.indices.tolist(), row.data.astype(float).tolist()

    def spans(self, text: str) -> list[tuple[int, int, str]]:  # noqa: ARG002 - terms may be no parts of the text
        """Return nothing: a term may be no part of the text as it stands."""
        return []

    def settings(self) -> dict[str, Any]:
        """Describe the counter, its terms aside."""
        return {"kind": self.kind, "parameters": self.parameters, "idf": self.idf}


def make_counter(vectorizer: Any) -> TextCounter:
    """Turn the parameter `vectorizer` of a model into a counter.

    Parameters
    ----------
    vectorizer : None, CountVectorizer, TfidfVectorizer or TextCounter
        Settings are taken; what it was fitted on does not matter.

    Raises
    ------
    TypeError
        For anything else, and for settings that JSON cannot hold, such as a function.
    """
    if vectorizer is None:
        return WordCounter()
    if isinstance(vectorizer, WordCounter | SklearnCounter):
        return vectorizer
    kind = type(vectorizer).__name__
    if kind not in _KINDS:
        raise TypeError(
            f"Expected vectorizer as None or scikit-learn's {' or '.join(_KINDS)}, got {kind}: a model stores settings "
            "and words, so that no other object can be kept."
        )
    parameters = portable_parameters(vectorizer, f"this {kind}")
    if kind == "CountVectorizer" and all(repr(parameters[name]) == repr(value) for name, value in _PLAIN.items()):
        return WordCounter(parameters["token_pattern"], parameters["lowercase"])
    return SklearnCounter(kind, parameters)


def restore_counter(settings: dict[str, Any], words: Sequence[str]) -> TextCounter:
    """Make the counter that `settings` describes, with its words.

    Raises
    ------
    ValueError
        If they describe none.
    """
    if settings.get("kind") != "words":
        return _restore_sklearn(settings, words)
    pattern, lowercase = settings.get("token_pattern"), settings.get("lowercase")
    if not isinstance(pattern, str) or not isinstance(lowercase, bool):
        raise ValueError(f"Expected a token_pattern and lowercase, got {pattern!r} and {lowercase!r}.")
    return WordCounter(pattern, lowercase, words)


def _restore_sklearn(settings: dict[str, Any], words: Sequence[str]) -> SklearnCounter:
    """Make the counter that `settings` describes, and try it."""
    kind, parameters, idf = (settings.get(name) for name in ("kind", "parameters", "idf"))
    if not isinstance(parameters, dict):
        raise ValueError(f"Expected the parameters of a vectoriser, got {parameters!r}.")
    counter = SklearnCounter(str(kind), parameters, words, _idf(idf, len(words)))
    if (idf is not None) != (kind == "TfidfVectorizer" and bool(parameters.get("use_idf", True))):
        raise ValueError("Expected inverse document frequencies for a TfidfVectorizer with use_idf, and for it alone.")
    try:
        counter.count(["", "Some words, to try it."])
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, re.error) as error:
        raise ValueError(f"Expected parameters of {kind}: {error}.") from error
    return counter


def _check_parameters(parameters: dict[str, Any]) -> None:
    """Demand a vectoriser of texts that counts in real numbers."""
    if parameters.get("input", "content") != "content":
        raise ValueError(f'Expected a vectoriser of texts, input="content", got input={parameters["input"]!r}.')
    dtype = parameters.get("dtype", "int64")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"Expected dtype as one of {', '.join(_DTYPES)}, got {dtype!r}.")


def _idf(idf: Any, count: int) -> list[float] | None:
    """Demand an inverse document frequency a word, if there are any."""
    if idf is None:
        return None
    if not isinstance(idf, list) or len(idf) != count:
        raise ValueError(f"Expected an inverse document frequency for each of {count} words.")
    wrong = [value for value in idf if type(value) not in (int, float) or not 0 <= value <= _LARGEST_IDF]
    if wrong:
        raise ValueError(f"Expected inverse document frequencies from 0 to {_LARGEST_IDF:g}, got {wrong[:5]}.")
    return [float(value) for value in idf]
