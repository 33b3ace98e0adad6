"""Methods side by side on one's own texts: error, macro-F1 and times over splits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.documents.histograms import EmptyDocumentWarning
from treewass.documents.vector_sources import find_vectors
from treewass.documents.word_vectors import AlignedVectors, UncoveredWordsWarning
from treewass.model.evaluation import held_out_rows
from treewass.model.labelled_texts import check_labels, check_texts
from treewass.model.methods import METHODS, Method
from treewass.model.vectorizers import make_counter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["COMPARABLE", "DEFAULT_METHODS", "Compared", "compare_methods", "comparison_table", "known_methods"]


def _linear_svm(_: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(random_state=0))


COMPARABLE: dict[str, Method] = METHODS | {
    "linear-svm": Method(
        "linear SVM on TF-IDF",
        "linear model",
        "none",
        "LinearSVC(random_state=0) on sublinear TF-IDF",
        _linear_svm,
        ("labels",),
        "O(s) a class",
        "scikit-learn",
    )
}
DEFAULT_METHODS = ("profile", "profile-fallback", "stw-default", "tfidf-distance", "tfidf", "bow", "linear-svm")
_CONFIDENCE = 0.95
_WARMED = 8  # documents of each class that loops are compiled with before time counts


@dataclass(frozen=True, slots=True)
class Compared:
    """A method, measured on several splits of one corpus.

    Parameters
    ----------
    name : str
        Its name in `COMPARABLE`.
    errors, macro_f1 : tuple of float
        The share of wrong labels and the macro-averaged F1, by split.
    fit_seconds : tuple of float
        Seconds to fit, by split.
    query_milliseconds : tuple of float
        Milliseconds to predict a document, in one batch, by split.
    ratio : float
        Documents measured on, over those learned from.

    Examples
    --------
    >>> found = Compared("bow", (0.2, 0.3), (0.8, 0.7), (0.1, 0.1), (0.5, 0.5), 0.5)
    >>> found.interval(found.errors)
    (0.25, 0.898...)
    """

    name: str
    errors: tuple[float, ...]
    macro_f1: tuple[float, ...]
    fit_seconds: tuple[float, ...]
    query_milliseconds: tuple[float, ...]
    ratio: float

    def interval(self, values: Sequence[float]) -> tuple[float, float | None]:
        """Return the mean over splits and half the width of its 95 % interval, None for one split.

        Splits share documents, so that the variance of the mean is s² (1/n + test/training documents), the correction
        of Nadeau and Bengio (2003), with Student's t of n − 1 degrees.
        """
        if len(values) == 1:
            return float(values[0]), None
        from scipy.stats import t

        variance = float(np.var(values, ddof=1)) * (1 / len(values) + self.ratio)
        return float(np.mean(values)), float(t.ppf((1 + _CONFIDENCE) / 2, len(values) - 1) * variance**0.5)


def known_methods(names: Iterable[str], vectors: bool) -> list[str]:
    """Demand names of methods that can be compared, each once; those that need vectors only if there are some."""
    chosen = list(dict.fromkeys(names))
    unknown = [name for name in chosen if name not in COMPARABLE]
    if unknown or not chosen:
        raise ValueError(f"Expected methods among {', '.join(COMPARABLE)}, got {', '.join(unknown) or 'none'}.")
    needing = [name for name in chosen if "vectors" in COMPARABLE[name].needs]
    if needing and not vectors:
        raise ValueError(f"Expected word vectors for {', '.join(needing)}, got none. Give a file with --vectors.")
    return chosen


def compare_methods(
    texts: Sequence[str],
    labels: ArrayLike,
    methods: Sequence[str] = DEFAULT_METHODS,
    *,
    n_splits: int = 5,
    test_size: float = 0.3,
    word_vectors: Any = None,
    random_state: int = 0,
    report: Callable[[str], None] | None = None,
) -> list[Compared]:
    """Measure methods on random splits of labelled texts, the same for all of them.

    Words are counted as `DocumentModel` does, and are those of the training part. Loops are compiled before time
    counts.

    Parameters
    ----------
    texts : sequence of str
    labels : array-like of str or int, shape (n_texts,)
    methods : sequence of str
        Names of `COMPARABLE`.
    n_splits : int, default=5
        Random splits.
    test_size : float, default=0.3
        Share of the documents that each holds out, the same of every class where that is possible.
    word_vectors : path-like, "minilm" or WordVectors, optional
        Word vectors, for the methods that need them.
    random_state : int, default=0
        Seed of the first split; the others follow.
    report : callable, optional
        Takes the name of a method, and the number of the split, after each fit.

    Returns
    -------
    list of Compared
        In the order of `methods`.

    Examples
    --------
    >>> texts, labels = ["cats purr", "a cat", "dogs bark", "a dog"] * 5, ["cat", "cat", "dog", "dog"] * 5
    >>> [(found.name, found.errors) for found in compare_methods(texts, labels, ["linear-svm"], n_splits=2)]
    [('linear-svm', (0.0, 0.0))]
    """
    documents, chosen = check_texts(texts), known_methods(methods, word_vectors is not None)
    values, n_splits = check_labels(labels, len(documents)), check_integer("n_splits", n_splits, 1)
    measured: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in chosen}
    ratio = 0.0
    for number in range(n_splits):
        test = held_out_rows(values, test_size, random_state + number)
        train = np.setdiff1d(np.arange(values.size), test)
        ratio = test.size / train.size
        counter, sequences = make_counter(None).learned(own := [documents[row] for row in train], anew=True)
        X = counter.count(own, sequences), counter.count([documents[row] for row in test])
        given = None if word_vectors is None else _aligned(word_vectors, counter.words)
        for name in chosen:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyDocumentWarning)  # such texts count as errors, or not
                if number == 0:
                    _warm_up(COMPARABLE[name], X[0], values[train], given)
                measured[name].append(_measured(COMPARABLE[name], X, (values[train], values[test]), given))
            if report is not None:
                report(f"{name}, split {number + 1} of {n_splits}")
    found = []
    for name, rows in measured.items():
        errors, macro, seconds, milliseconds = zip(*rows, strict=True)
        found.append(Compared(name, errors, macro, seconds, milliseconds, ratio))
    return found


def _aligned(vectors: Any, words: Sequence[str]) -> AlignedVectors:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncoveredWordsWarning)  # names, numbers and mistakes have none in any file
        return find_vectors(vectors, words).align(words)


def _warm_up(method: Method, counts: Any, labels: NDArray[Any], vectors: AlignedVectors | None) -> None:
    """Load and compile what a method uses, with a few documents."""
    rows = np.sort(np.concatenate([np.flatnonzero(labels == label)[:_WARMED] for label in np.unique(labels)]))
    words = np.unique(counts[rows].indices)
    some = None if vectors is None else AlignedVectors(vectors.vectors[words], vectors.covered[words], ())
    few = counts[rows][:, words]
    if some is None or (some.covered.any() and (few @ some.covered.astype(np.float64) > 0).all()):
        method.make(some).fit(few, labels[rows]).predict(few)


def _measured(
    method: Method, X: tuple[Any, Any], y: tuple[NDArray[Any], NDArray[Any]], vectors: AlignedVectors | None
) -> tuple[float, float, float, float]:
    """Fit a method and predict; return error, macro-F1, seconds of the fit and milliseconds a document."""
    from sklearn.metrics import f1_score

    start = time.perf_counter()
    model = method.make(vectors).fit(X[0], y[0])
    fitted = time.perf_counter()
    predicted = model.predict(X[1])
    asked = time.perf_counter() - fitted
    macro = float(f1_score(y[1], predicted, average="macro", zero_division=0))
    return float(np.mean(predicted != y[1])), macro, fitted - start, 1000 * asked / y[1].size


def comparison_table(found: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    """Lay out what was measured: a header, and a row of strings for each method."""

    def shown(one: Compared, values: Sequence[float], factor: float, form: str) -> str:
        mean, half = one.interval(values)
        return f"{factor * mean:{form}}" + ("" if half is None else f" ± {factor * half:{form}}")

    rows = [
        [
            COMPARABLE[one.name].title.replace("**", ""),
            one.name,
            shown(one, one.errors, 100, ".1f"),
            shown(one, one.macro_f1, 1, ".3f"),
            shown(one, one.fit_seconds, 1, ".2f"),
            shown(one, one.query_milliseconds, 1, ".3f"),
        ]
        for one in found
    ]
    return ["method", "name", "error, %", "macro-F1", "fit, s", "query, ms"], rows
