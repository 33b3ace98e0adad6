"""``python -m treewass_bench accuracy``: error, macro-F1, log-loss and calibration of methods on text sets."""

from __future__ import annotations

import os
import time
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import TreeIndex
from treewass.documents import AlignedVectors
from treewass.learners import bow_metric
from treewass.model.methods import Method
from treewass.votes import distance_vote, fallback_vote
from treewass.votes.rules import vote_temperature
from treewass_bench.cells import Cell, Report, run_cells
from treewass_bench.datasets import PAPER_SETS, Split, TextSet, load_set, load_split, load_vectors
from treewass_bench.methods import DEFAULT_METHODS, METHODS
from treewass_bench.rows import Row, RowFiles, Value
from treewass_bench.timing import model_bytes, one_thread, watch_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "PROTOCOL",
    "accuracy_cells",
    "bench_accuracy",
    "calibration_error",
    "mean_rows",
    "measure",
]

_DOCSTRING_SPLITS = 5
PROTOCOL = (
    "one fit on the training documents of the split, measured on its test documents; every choice is made on training "
    "documents; seed 0, one thread, loops compiled before; log_loss and calibration_error (15 bins of equal width) of "
    "predict_proba; distance_vote: weights "
    "exp(-(d - nearest) / temperature) among the same 19 neighbours, temperature from 50 training documents, whose "
    "search is in query_seconds; CPU seconds; peak memory beyond that before the fit; the model pickled"
)
_BINS = 15
_NEIGHBORS, _SAMPLE = 19, 50


def bench_accuracy(
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = DEFAULT_METHODS,
    splits: int | None = None,
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    report: Report | None = None,
    seeds: int = 1,
) -> Iterator[Row]:
    """Measure methods on the splits of text sets.

    Parameters
    ----------
    sets, methods, splits, data
        As in `accuracy_cells`.
    output : path-like, optional
        A file of rows: those it holds are not measured again, new ones are appended.
    jobs : int, default=1
        Processes.
    report : callable, optional
        Takes a sentence about each new row.
    seeds : int, default=1
        As in `accuracy_cells`.

    Yields
    ------
    Row
        One per set, split and method, as soon as it is measured.
    """
    cells = accuracy_cells(sets, methods, splits, data, seeds=seeds)
    return run_cells(cells, None if output is None else RowFiles(output), jobs, report)


def accuracy_cells(
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = DEFAULT_METHODS,
    splits: int | None = None,
    data: str | os.PathLike[str] | None = None,
    *,
    test_documents: int | None = None,
    seconds: float = 1.0,
    seeds: int = 1,
) -> list[Cell]:
    """List what there is to measure: methods on the splits of text sets.

    Parameters
    ----------
    sets : sequence of str
        Names of text sets, or ``"docstrings"`` for the built-in corpus, on five random splits.
    methods : sequence of str
        Names of `treewass_bench.methods.METHODS`.
    splits : int, optional
        The first so many splits of each set; all by default.
    data : path-like, optional
        Folder of the text sets and of ``word_vectors.npz``; that of the variable TREEWASS_DATA by default.
    test_documents : int, optional
        Measure on so many test documents, drawn with seed 0, where there are more; the row's case says so.
    seconds : float, default=1.0
        About how long a cell takes.
    seeds : int, default=1
        Measure profile trees and sliced trees with so many seeds, from 0; the row's case names those above.

    Returns
    -------
    list of Cell
        Set after set, split after split.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(f"Expected methods among {', '.join(METHODS)}, got {', '.join(unknown)}.")
    cells, folder = [], None if data is None else os.fspath(data)
    for name in sets:
        text_set = _text_set(name, folder)
        for number in range(min(splits or len(text_set.train_rows), len(text_set.train_rows))):
            n_test = len(text_set.corpus) - len(text_set.train_rows[number])
            limit = test_documents if test_documents is not None and test_documents < n_test else None
            for method in methods:
                for seed in range(seeds if method.startswith(("profile", "tsw")) else 1):
                    case = _case(name, number, method, limit, seed)
                    work = partial(_measured, name, number, method, folder, limit, seed)
                    shares = f"{name}, embedded by minilm" if method.startswith("minilm") else None
                    cells.append(Cell("accuracy", case, work, PROTOCOL, seconds, shares=shares))
    return cells


def _measured(
    name: str, number: int, method: str, data: str | None, test_documents: int | None, seed: int
) -> dict[str, Value]:
    split = _docstrings().split(number) if name == "docstrings" else load_split(name, number, data)
    if "clean texts" in METHODS[method].needs:
        words_of = _text_set(name, data).vectorizer().build_analyzer()
        train, test = ([" ".join(words_of(text)) for text in texts] for texts in (split.train_texts, split.test_texts))
        split = replace(split, train_texts=train, test_texts=test)
    return measure(method, split if test_documents is None else _some(split, test_documents), data, seed)


@lru_cache(maxsize=4)
def _text_set(name: str, data: str | None) -> TextSet:
    """Load a set once for its cells, as they follow each other."""
    return _docstrings() if name == "docstrings" else load_set(name, data)


def _some(split: Split, n_documents: int) -> Split:
    """Draw test documents."""
    rows = np.sort(np.random.RandomState(0).choice(split.y_test.size, n_documents, replace=False))
    texts = [split.test_texts[row] for row in rows]
    return replace(split, X_test=split.X_test[rows], y_test=split.y_test[rows], test_texts=texts)


def mean_rows(rows: Iterable[Row]) -> list[Row]:
    """Average rows over splits: what people want to see.

    Parameters
    ----------
    rows : iterable of Row
        As `bench_accuracy` yields them.

    Returns
    -------
    list of Row
        One per set and method, with the standard deviation of the error.
    """
    cells: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.case["set"], row.case["method"], row.case["vote"]), []).append(row)
    means = []
    for (name, method, vote), members in cells.items():
        measures: dict[str, Value] = {"splits": len(members)}
        for measured in (name for name in members[0].measures if name != "wrong"):
            values = [value for row in members if isinstance(value := row.measures[measured], (int, float))]
            measures[measured] = float(np.mean(values)) if values else None
            if measured == "error_percent":
                measures["error_deviation"] = float(np.std(values))
        case = {"set": name, "method": method, "vote": vote}
        means.append(Row("accuracy", case, measures, PROTOCOL, members[0].environment))
    return means


@lru_cache(maxsize=1)
def _docstrings() -> TextSet:
    """Make splits of the built-in corpus, seven of ten documents for training."""
    from treewass.documents import load_docstrings

    corpus = load_docstrings()
    train = tuple(
        np.sort(np.random.RandomState(seed).permutation(len(corpus))[: round(0.7 * len(corpus))])
        for seed in range(_DOCSTRING_SPLITS)
    )
    return TextSet(corpus, train, ())


def _case(name: str, split: int, method: str, test_documents: int | None, seed: int) -> dict[str, Value]:
    chosen = METHODS[method]
    case: dict[str, Value] = {
        "set": name,
        "split": split,
        "method": method,
        "vote": chosen.vote,
        "configuration": chosen.configuration,
    }
    if seed:
        case["random_state"] = seed
    return case if test_documents is None else {**case, "test_documents": test_documents}


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a fitted model says about test documents."""

    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    by_distance: NDArray[Any] | None


def measure(method: str, split: Split, data: str | os.PathLike[str] | None = None, seed: int = 0) -> dict[str, Value]:
    """Fit a method on a split and measure it.

    Parameters
    ----------
    method : str
        A name of `treewass_bench.methods.METHODS`.
    split : Split
        Training and test documents.
    data : path-like, optional
        Folder of ``word_vectors.npz``, for methods that need vectors.
    seed : int, default=0
        The ``random_state`` of a method that has one; at 0 it keeps its own.

    Returns
    -------
    dict
        ``error_percent``, ``distance_vote_error_percent``, ``macro_f1``, ``log_loss``, ``calibration_error``,
        ``fit_seconds``, ``query_seconds`` for all test documents, ``peak_megabytes`` and ``model_megabytes``; None
        where a method has no such thing. ``wrong`` says which test documents got a wrong label: a bit for each.
    """
    from sklearn.metrics import f1_score, log_loss

    chosen = METHODS[method]
    vectors = load_vectors(split.words, data) if "vectors" in chosen.needs else None
    model = chosen.make(vectors)
    if seed:
        model.set_params(**{"metric__random_state" if method.startswith("tsw") else "random_state": seed})
    _warm_up(method, split, vectors)
    train, test = _documents(chosen, split)
    with warnings.catch_warnings(), one_thread(), watch_memory() as memory:
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        start = time.process_time()
        model.fit(train, split.y_train)
        fitted = time.process_time() + _spared_seconds(model)
        answers = _ask(chosen, model, split, test, vectors)
        finished = time.process_time() + _spared_seconds(model)
    measures: dict[str, Value] = {
        "error_percent": _wrong(answers.predicted, split.y_test),
        "distance_vote_error_percent": _wrong(answers.by_distance, split.y_test),
        "macro_f1": round(float(f1_score(split.y_test, answers.predicted, average="macro", zero_division=0)), 4),
        "log_loss": None,
        "calibration_error": None,
        "fit_seconds": round(fitted - start, 3),
        "query_seconds": round(finished - fitted, 3),
        "peak_megabytes": None if memory.extra_bytes is None else round(memory.extra_bytes / 1e6, 1),
        "model_megabytes": round(model_bytes(model) / 1e6, 3),
        "wrong": b64encode(np.packbits(answers.predicted != split.y_test).tobytes()).decode(),
    }
    if answers.probabilities is not None:
        cut = np.maximum(answers.probabilities, 1e-15)
        cut /= cut.sum(axis=1, keepdims=True)
        measures["log_loss"] = round(float(log_loss(split.y_test, cut, labels=model.classes_)), 4)
        measures["calibration_error"] = round(calibration_error(answers.probabilities, model.classes_, split.y_test), 4)
    return measures


def _spared_seconds(model: Any) -> float:
    """Return what embedding took of the texts that an earlier cell had embedded already; 0 for most models."""
    return float(getattr(getattr(model, "encoder_", None), "spared", 0.0))


def calibration_error(
    probabilities: NDArray[np.float64], classes: NDArray[Any], truth: NDArray[Any], bins: int = _BINS
) -> float:
    """Compute the expected calibration error: how far confidence is from accuracy, in bins of equal width.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    classes : ndarray of shape (n_classes,)
        Labels of the columns.
    truth : ndarray of shape (n_documents,)
        Labels.
    bins : int, default=15
        Number of bins.

    Examples
    --------
    >>> calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array(["a", "b"]), np.array(["a", "b"]))
    0.4
    """
    confidence = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == truth
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.abs(np.bincount(place, right - confidence, bins))
    return float(gaps.sum() / truth.size)


def _documents(chosen: Method, split: Split) -> tuple[Any, Any]:
    """Choose what the method takes: texts or counts."""
    return (split.train_texts, split.test_texts) if _takes_texts(chosen) else (split.X_train, split.X_test)


def _takes_texts(chosen: Method) -> bool:
    return not {"texts", "clean texts"}.isdisjoint(chosen.needs)


_warm: set[str] = set()
_indexed: set[int] = set()


def _warm_up(method: str, split: Split, vectors: AlignedVectors | None) -> None:
    """Load and compile what a method uses, once a process, with a few documents: that time is not the method's."""
    n_documents, n_words = split.X_train.shape
    if n_documents not in _indexed:  # an index of many documents has other loops than one of few
        _indexed.add(n_documents)
        index = TreeIndex(bow_metric(n_words))
        index.add(split.X_train)
        index.search(split.X_test[:2], _NEIGHBORS)
    if method in _warm:
        return
    _warm.add(method)
    chosen = METHODS[method]
    rows = np.concatenate([np.flatnonzero(split.y_train == label)[:8] for label in np.unique(split.y_train)])
    words = np.unique(split.X_train[rows].indices)
    few, labels = split.X_train[rows][:, words], split.y_train[rows]
    some = None if vectors is None else AlignedVectors(vectors.vectors[words], vectors.covered[words], ())
    documents = [split.train_texts[row] for row in rows] if _takes_texts(chosen) else few
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        chosen.make(some).fit(documents, labels).predict(documents)


def _ask(chosen: Method, model: Any, split: Split, test: Any, vectors: AlignedVectors | None) -> _Answers:
    """Predict by the method's own rule, and by the distance vote where it looks at neighbours."""
    if chosen.vote == "none":
        probabilities = model.predict_proba(test) if hasattr(model, "predict_proba") else None
        return _Answers(model.predict(test), probabilities, None)
    if not chosen.vote.startswith("fall-back"):
        probabilities = model.predict_proba(test)
        predicted = model.classes_[probabilities.argmax(axis=1)]
        return _Answers(predicted, probabilities, predicted)
    codes = np.searchsorted(model.classes_, split.y_train)
    prior = np.bincount(codes) / codes.size
    known, sampled = (_known_rows(model, counts, vectors) for counts in (split.X_test, split.X_train))
    distances, rows = model.kneighbors(_take(test, known), _NEIGHBORS)
    train = split.train_texts if isinstance(test, list) else split.X_train
    temperature = _temperature(model, train, sampled[:: max(1, -(-sampled.size // _SAMPLE))])
    votes = fallback_vote(codes[rows], prior.size), distance_vote(codes[rows], distances, prior.size, temperature)
    fallback, by_distance = (_with_prior(vote, known, prior, split.y_test.size) for vote in votes)
    return _Answers(model.classes_[fallback.argmax(axis=1)], fallback, model.classes_[by_distance.argmax(axis=1)])


def _known_rows(model: Any, counts: Any, vectors: AlignedVectors | None) -> NDArray[np.intp]:
    """Find the documents that have a place: a word that the tree knows, or one with a vector."""
    if hasattr(model, "metric_"):
        return np.flatnonzero(counts @ model.metric_.known_words.astype(np.float64) > 0)
    if vectors is None:
        return np.arange(counts.shape[0])
    return np.flatnonzero(counts @ vectors.covered.astype(np.float64) > 0)


def _take(documents: Any, rows: NDArray[np.intp]) -> Any:
    return [documents[row] for row in rows] if isinstance(documents, list) else documents[rows]


def _temperature(model: Any, documents: Any, rows: NDArray[np.intp]) -> float:
    """Choose the temperature of the distance vote from the neighbours of training documents, each but itself."""
    distances, found = model.kneighbors(_take(documents, rows), _NEIGHBORS + 1)
    others = found != rows[:, None]
    others[others.all(axis=1), -1:] = False
    return vote_temperature(distances[others].reshape(len(rows), -1), float(np.finfo(np.float64).tiny))


def _with_prior(
    votes: NDArray[np.float64], known: NDArray[np.intp], prior: NDArray[np.float64], n_documents: int
) -> NDArray[np.float64]:
    """Give documents without a place the class prior."""
    probabilities = np.tile(prior, (n_documents, 1))
    probabilities[known] = votes
    return probabilities


def _wrong(predicted: NDArray[Any] | None, truth: NDArray[Any]) -> float | None:
    return None if predicted is None else round(100 * float(np.mean(predicted != truth)), 3)
