"""Counts of terms by a vectoriser of scikit-learn, kept as settings and words that JSON can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import cached_property
from treewass.model.word_pairs import WordSequences

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from treewass.model.vectorizers import CountedRow

__all__ = ["KINDS", "SklearnCounter", "portable_parameters", "restore_sklearn"]

KINDS = ("CountVectorizer", "TfidfVectorizer")
_DTYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
_LARGEST_IDF = 1e6  # that of a word in one of n documents is below 2 + log(n)


class SklearnCounter:
    """Count with a vectoriser of scikit-learn: n-grams, stop words, TF-IDF weights and so on.

    `parameters` are those of its constructor, without the vocabulary, in what JSON can hold. The terms known are in the
    order of columns; for TF-IDF each has an inverse document frequency.
    """

    def __init__(
        self, kind: str, parameters: dict[str, Any], words: Sequence[str] = (), idf: Sequence[float] | None = None
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"Expected the kind of a vectoriser as one of {', '.join(KINDS)}, got {kind!r}.")
        _check_parameters(parameters)
        self.kind = kind
        self.parameters = parameters
        self.words = tuple(words)
        self.spellings: Mapping[str, str] = {}
        self.idf = None if idf is None else [float(value) for value in idf]
        self.counts_words = kind == "CountVectorizer"

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each term."""
        return {word: column for column, word in enumerate(self.words)}

    @property
    def names(self) -> tuple[str, ...]:
        """The terms as they are shown to people: as they are."""
        return self.words

    @property
    def shown_columns(self) -> dict[str, int]:
        """The column of each term as it is shown."""
        return self.columns

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text, known or not."""
        return list(self._vectorizer.build_analyzer()(text))

    def typed(self, text: str) -> dict[str, str]:
        """Return the different terms of a text, known or not: as they are."""
        return {term: term for term in self.tokens(text)}

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

    def learned(self, texts: Sequence[str], *, anew: bool) -> tuple[SklearnCounter, WordSequences | None]:
        """Return what `fitted`, if `anew`, or `widened` does, and the words of the texts in their order, if any."""
        counter = self.fitted(texts) if anew else self.widened(texts)
        return counter, counter.sequences(texts)

    def widened(self, texts: Sequence[str]) -> SklearnCounter:  # noqa: ARG002 - frequencies of the first texts decide
        """Return itself: which terms are kept was decided on the texts of ``fit``."""
        return self

    def count(self, texts: Sequence[str], sequences: WordSequences | None = None) -> csr_array:  # noqa: ARG002
        """Count, or weigh, known terms: shape (n_texts, n_words)."""
        from scipy.sparse import csr_array

        counts = csr_array(self._vectorizer.transform(texts))
        counts.sort_indices()
        return counts

    def rows(self, texts: Sequence[str]) -> list[CountedRow]:
        """Count the known terms of each text: ascending columns and their weights."""
        counts = self.count(texts)
        spans = zip(counts.indptr[:-1].tolist(), counts.indptr[1:].tolist(), strict=True)
        words, weights = counts.indices.tolist(), counts.data.astype(float).tolist()
        return [(words[start:stop], weights[start:stop]) for start, stop in spans]

    def sequences(self, texts: Sequence[str]) -> WordSequences | None:
        """Find the columns of each text's words in their order, −1 for an unknown one; None if terms are no words."""
        ngrams = tuple(self.parameters.get("ngram_range", (1, 1)))
        if self.parameters.get("analyzer", "word") != "word" or ngrams != (1, 1):
            return None
        return WordSequences.of_texts(texts, self._vectorizer.build_analyzer(), self._vectorizer.vocabulary_)

    def spans(self, text: str) -> list[tuple[int, int, str]]:  # noqa: ARG002 - terms may be no parts of the text
        """Return nothing: a term need not be part of the text."""
        return []

    def settings(self) -> dict[str, Any]:
        """Describe the counter, its terms aside."""
        return {"kind": self.kind, "parameters": self.parameters, "idf": self.idf}


def restore_sklearn(settings: dict[str, Any], words: Sequence[str]) -> SklearnCounter:
    """Make the counter that `settings` describes, with its words, and try it; a ValueError if they describe none."""
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
    """Demand one inverse document frequency per word, if there are any."""
    if idf is None:
        return None
    if not isinstance(idf, list) or len(idf) != count:
        raise ValueError(f"Expected an inverse document frequency for each of {count} words.")
    wrong = [value for value in idf if type(value) not in (int, float) or not 0 <= value <= _LARGEST_IDF]
    if wrong:
        raise ValueError(f"Expected inverse document frequencies from 0 to {_LARGEST_IDF:g}, got {wrong[:5]}.")
    return [float(value) for value in idf]


def portable_parameters(estimator: Any, name: str) -> dict[str, Any]:
    """Return the parameters of an estimator as what JSON can hold; functions, arrays and others are a TypeError."""
    parameters = {}
    for parameter, value in estimator.get_params(deep=False).items():
        if parameter == "dtype":
            value = np.dtype(value).name
        elif isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, set | frozenset):
            value = sorted(value)
        elif parameter == "vocabulary" and isinstance(value, dict):
            value = sorted(value, key=value.__getitem__)
        if not _is_portable(value):
            raise TypeError(
                f"Expected settings that a model can store, but {parameter} of {name} is {type(value).__name__}, which "
                "JSON cannot hold. Give words, numbers or lists, and prepare texts beforehand instead of by a function."
            )
        parameters[parameter] = value
    return parameters


def _is_portable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_portable(entry) for entry in value)
    return value is None or isinstance(value, str | bool | int | float)
