"""What is measured of a method on a split: errors under both votes, probabilities, times, memory."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from treewass.bench.datasets import Split, load_vectors
from treewass.bench.footprint import model_bytes, watch_memory
from treewass.bench.rows import Value
from treewass.classify.votes import distance_vote, fallback_vote, vote_temperature
from treewass.documents.word_vectors import AlignedVectors
from treewass.methods import METHODS, Method
from treewass.search.embedding import unknown_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PROTOCOL", "calibration_error", "measure"]

PROTOCOL = (
    "one fit on the training documents of the split, measured on its test documents; every choice is made on training "
    "documents; seed 0, one thread, loops compiled before; log_loss and calibration_error (15 bins of equal width) of "
    "predict_proba; distance_vote: weights "
    "exp(-(d - nearest) / temperature) among the same 19 neighbours, temperature from 50 training documents, whose "
    "search is in query_seconds; CPU seconds; peak memory beyond that before the fit; the model pickled"
)
_BINS = 15
_NEIGHBORS, _SAMPLE = 19, 50


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a fitted model says about test documents."""

    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    by_distance: NDArray[Any] | None


def measure(method: str, split: Split, data: str | os.PathLike[str] | None = None) -> dict[str, Value]:
    """Fit a method on a split and measure it.

    Parameters
    ----------
    method : str
        A name of `treewass.methods.METHODS`.
    split : Split
        Training and test documents.
    data : path-like, optional
        Folder of ``word_vectors.npz``, for methods that need vectors.

    Returns
    -------
    dict
        ``error_percent``, ``distance_vote_error_percent``, ``macro_f1``, ``log_loss``, ``calibration_error``,
        ``fit_seconds``, ``query_seconds`` for all test documents, ``peak_megabytes`` and ``model_megabytes``; None
        where a method has no such thing.
    """
    from sklearn.metrics import f1_score, log_loss

    chosen = METHODS[method]
    vectors = load_vectors(split.words, data) if "vectors" in chosen.needs else None
    model = chosen.make(vectors)
    _warm_up(method, split, vectors)
    train, test = _documents(chosen, split)
    with warnings.catch_warnings(), threadpool_limits(1), watch_memory() as memory:
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        start = time.process_time()
        model.fit(train, split.y_train)
        fitted = time.process_time()
        answers = _ask(chosen, model, split, test, vectors)
        finished = time.process_time()
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
    }
    if answers.probabilities is not None:
        cut = np.maximum(answers.probabilities, 1e-15)
        cut /= cut.sum(axis=1, keepdims=True)
        measures["log_loss"] = round(float(log_loss(split.y_test, cut, labels=model.classes_)), 4)
        measures["calibration_error"] = round(calibration_error(answers.probabilities, model.classes_, split.y_test), 4)
    return measures


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
    return (split.train_texts, split.test_texts) if "texts" in chosen.needs else (split.X_train, split.X_test)


_warm: set[str] = set()


def _warm_up(method: str, split: Split, vectors: AlignedVectors | None) -> None:
    """Load and compile what a method uses, once a process, with a few documents: that time is not the method's."""
    if method in _warm:
        return
    _warm.add(method)
    chosen = METHODS[method]
    rows = np.concatenate([np.flatnonzero(split.y_train == label)[:8] for label in np.unique(split.y_train)])
    words = np.unique(split.X_train[rows].indices)
    few, labels = split.X_train[rows][:, words], split.y_train[rows]
    some = None if vectors is None else AlignedVectors(vectors.vectors[words], vectors.covered[words], ())
    documents = [split.train_texts[row] for row in rows] if "texts" in chosen.needs else few
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
        return np.setdiff1d(np.arange(counts.shape[0]), unknown_rows(model.metric_, counts))
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
