"""``python -m treewass_bench few``: errors with few labels, with and without word vectors, beside rivals."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import DocumentModel
from treewass.documents import WordVectors, read_word_vectors, to_histograms
from treewass_bench.cells import Cell
from treewass_bench.datasets import TextSet, data_folder, load_set, load_vectors
from treewass_bench.layout import figure, mean_figure, sets_of, table
from treewass_bench.methods import TunedLinear, load_network
from treewass_bench.rows import Row, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEW_METHODS", "FEW_SETS", "drawn_rows", "few_cells", "few_markdown"]

FEW_SETS = ("twitter", "reuters", "20news")
FEW_METHODS = {
    "svm": "linear SVM, TF-IDF, C by cross-validation",
    "mean-logistic": "mean GloVe vector + logistic regression",
    "minilm-logistic": "MiniLM sentence vectors + logistic regression",
    "treewass": "**treewass**",
    "treewass-glove": "**treewass**, GloVe vectors",
    "treewass-minilm": '**treewass**, `word_vectors="minilm"`',
}
_RIVALS = ("svm", "mean-logistic", "minilm-logistic")
_SIZES = (20, 50, 100, 200)
_FROM = {"20news": 100}  # labels: it has twenty classes
_DRAWS = 5
_TEST = 1000
_PENALTIES = (1.0, 10.0, 100.0, 1000.0)
_PROTOCOL = (
    "labels drawn from the training documents of the first split, one of each class first, smaller draws within larger "
    f"ones; at most {_TEST} test documents, the same for all; words of any length, no stop words; penalties of rivals "
    "by five-fold accuracy on the labelled documents"
)


def few_cells(
    data: str | os.PathLike[str] | None = None,
    sets: Sequence[str] = FEW_SETS,
    methods: Sequence[str] = tuple(FEW_METHODS),
    draws: int = _DRAWS,
) -> list[Cell]:
    """List the cells: sets, draws, numbers of labels, methods."""
    return [
        Cell(
            "few",
            {"set": name, "labels": size, "draw": draw, "method": method},
            partial(_measured, name, size, draw, method, data),
            _PROTOCOL,
            5.0 if method.startswith("treewass") else 1.0,
        )
        for name in sets
        for draw in range(draws)
        for size in _SIZES
        if size >= _FROM.get(name, 0)
        for method in methods
    ]


def drawn_rows(labels: NDArray[Any], train: NDArray[np.intp], draw: int, size: int) -> NDArray[np.intp]:
    """Draw training documents: one of each class, then any; a smaller draw of the same number is the start of it.

    Examples
    --------
    >>> labels = np.array(["a", "a", "a", "b"])
    >>> sorted(labels[drawn_rows(labels, np.arange(4), 0, 2)].tolist())
    ['a', 'b']
    """
    order = np.random.default_rng(draw).permutation(train)
    first = np.sort(np.unique(labels[order], return_index=True)[1])
    return np.concatenate([order[first], np.delete(order, first)])[:size]


def _measured(name: str, size: int, draw: int, method: str, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Fit a method to a draw of labels, and classify test documents."""
    folder = str(data_folder(data))
    texts, test = _loaded(name, folder)
    rows = drawn_rows(texts.labels, texts.train_rows[0], draw, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word, classes in fewer folds
        if method.startswith("treewass"):
            found = _own(texts, rows, test, method, folder)
        else:
            found = _rival(name, texts, rows, test, method, folder)
    wrong = found != texts.labels[test]
    return {
        "error_percent": round(100 * float(np.mean(wrong)), 3),
        "documents": int(test.size),
    }


@lru_cache(maxsize=1)
def _loaded(name: str, folder: str) -> tuple[TextSet, NDArray[np.intp]]:
    """Load a set and choose its test documents."""
    texts = load_set(name, folder)
    test = np.setdiff1d(np.arange(len(texts.corpus)), texts.train_rows[0])
    if test.size > _TEST:
        test = np.sort(np.random.default_rng(0).choice(test, _TEST, replace=False))
    return texts, test


def _texts(texts: TextSet, rows: NDArray[np.intp]) -> list[str]:
    return [texts.corpus.texts[row] for row in rows]


def _own(texts: TextSet, rows: NDArray[np.intp], test: NDArray[np.intp], method: str, folder: str) -> NDArray[Any]:
    """Fit our model as a user would, with the vectors that the method names."""
    named = method.removeprefix("treewass").removeprefix("-") or None
    vectors = _glove(folder) if named == "glove" else named
    model = DocumentModel(word_vectors=vectors).fit(_texts(texts, rows), texts.labels[rows])
    return model.predict(_texts(texts, test))


@lru_cache(maxsize=1)
def _glove(folder: str) -> WordVectors:
    """Read the vectors of the data folder."""
    return read_word_vectors(Path(folder, "word_vectors.npz"))


def _rival(
    name: str, texts: TextSet, rows: NDArray[np.intp], test: NDArray[np.intp], method: str, folder: str
) -> NDArray[Any]:
    """Fit a rival to words, mean vectors or sentence vectors."""
    from sklearn.feature_extraction.text import CountVectorizer

    if method == "minilm-logistic":
        return _logistic(_sentences(name, folder), texts.labels, rows, test)
    counter = CountVectorizer(token_pattern=r"(?u)\b\w+\b")
    if method == "svm":
        learned = counter.fit_transform(_texts(texts, rows))
        return TunedLinear("svm").fit(learned, texts.labels[rows]).predict(counter.transform(_texts(texts, test)))
    both = np.concatenate([rows, test])
    counts = counter.fit_transform(_texts(texts, both))  # words without a vector have the vector zero
    vectors = load_vectors(counter.get_feature_names_out(), folder)
    lengths = np.maximum(np.linalg.norm(vectors.vectors, axis=1), 1e-9)
    means = to_histograms(counts) @ (vectors.vectors / lengths[:, None])
    means /= np.maximum(np.linalg.norm(means, axis=1), 1e-9)[:, None]
    every = np.zeros((len(texts.corpus), means.shape[1]))
    every[both] = means
    return _logistic(every, texts.labels, rows, test)


def _logistic(
    features: NDArray[np.float64], labels: NDArray[Any], rows: NDArray[np.intp], test: NDArray[np.intp]
) -> NDArray[Any]:
    """Fit logistic regression, its penalty chosen by five-fold accuracy."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, KFold

    search = GridSearchCV(
        LogisticRegression(max_iter=2000), {"C": _PENALTIES}, cv=KFold(5, shuffle=True, random_state=0)
    )
    return np.asarray(search.fit(features[rows], labels[rows]).predict(features[test]))


@lru_cache(maxsize=1)
def _sentences(name: str, folder: str) -> NDArray[np.float64]:
    """Embed the documents that any cell of a set needs; the others are zero."""
    texts, test = _loaded(name, folder)
    draws = [drawn_rows(texts.labels, texts.train_rows[0], draw, max(_SIZES)) for draw in range(_DRAWS)]
    needed = np.unique(np.concatenate([test, *draws]))
    found = load_network().encode(_texts(texts, needed), show_progress_bar=False, normalize_embeddings=True)
    every = np.zeros((len(texts.corpus), found.shape[1]))
    every[needed] = found
    return every


def few_markdown(rows: Iterable[Row]) -> str:
    """Lay out mean errors by set and number of labels, and their ratio to the best rival's.

    The ratio divides the mean over sets and draws by the least such mean of the rivals.
    """
    own = [row for row in rows if row.benchmark == "few"]
    sizes = sorted({int(row.case["labels"] or 0) for row in own})
    parts = [_table(own, sizes, name) for name in sets_of(own)]
    lines = []
    for method, title in FEW_METHODS.items():
        if method in {row.case["method"] for row in own}:
            means = [_mean(own, method, size) for size in sizes]
            least = [min(_mean(own, rival, size) for rival in _RIVALS) for size in sizes]
            lines.append((title, [f"{figure(a)} ({a / b:.2f})" for a, b in zip(means, least, strict=True)]))
    parts.append(table("mean over sets (over the best rival's)", [f"{size} labels" for size in sizes], lines))
    return "\n".join(parts)


def _table(rows: Sequence[Row], sizes: Sequence[int], name: str) -> str:
    lines = []
    for method, title in FEW_METHODS.items():
        errors = [_errors([row for row in rows if row.case["set"] == name], method, size) for size in sizes]
        if any(errors):
            lines.append((title, [mean_figure(found) for found in errors]))
    return table(f"{name.upper()}, error in %", [f"{size} labels" for size in sizes], lines)


def _errors(rows: Iterable[Row], method: str, size: int) -> list[float]:
    chosen = [row for row in rows if row.case["method"] == method and row.case["labels"] == size]
    return [float(row.measures["error_percent"] or 0.0) for row in chosen]


def _mean(rows: Sequence[Row], method: str, size: int) -> float:
    """Average over draws, then over sets."""
    by_set = [_errors([row for row in rows if row.case["set"] == name], method, size) for name in sets_of(rows)]
    found = [float(np.mean(errors)) for errors in by_set if errors]
    return float(np.mean(found)) if found else float("nan")
