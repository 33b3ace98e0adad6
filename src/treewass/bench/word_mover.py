"""``treewass bench wmd``: the word mover's distances side by side, on one thread."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.datasets import data_folder, load_set
from treewass.bench.rows import Row, Value
from treewass.distances import act, centroid_distance, rwmd, sinkhorn, wmd, wmd_neighbors
from treewass.documents.word_vectors import AlignedVectors, read_word_vectors
from treewass.exceptions import UncoveredWordsWarning
from treewass.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["WordMoverSet", "bench_word_mover", "load_word_mover_set"]

_CASES = ("gensim", "bounds", "neighbors", "errors")
_REPETITIONS, _SEED = 3, 0
_GENSIM_SETS, _GENSIM_DOCUMENTS = ("twitter", "reuters", "bbcsport"), 16
_SEARCH_SET, _BOUND_QUERIES, _SAMPLED, _SEARCH_QUERIES, _NEIGHBORS = "reuters", 40, 25, 10, 19


@dataclass(frozen=True, slots=True)
class WordMoverSet:
    """A split whose documents all hold a word with a vector.

    Parameters
    ----------
    words : ndarray of str, shape (n_words,)
        The vocabulary.
    vectors : AlignedVectors
        Their vectors.
    X_train, X_test : csr_array of shape (n_documents, n_words)
        Counts of words with a vector; no row is empty.
    y_train, y_test : ndarray of str
        Labels.
    left_out : int
        Test documents without such a word.
    """

    words: NDArray[np.object_]
    vectors: AlignedVectors
    X_train: csr_array
    y_train: NDArray[np.str_]
    X_test: csr_array
    y_test: NDArray[np.str_]
    left_out: int


def load_word_mover_set(name: str, number: int, data: str | os.PathLike[str] | None = None) -> WordMoverSet:
    """Load a split with word vectors, without words and documents that these do not cover.

    Parameters
    ----------
    name : str
        The set.
    number : int
        The split.
    data : path-like, optional
        Folder of the sets and of ``word_vectors.npz``; that of the variable TREEWASS_DATA by default.

    Returns
    -------
    WordMoverSet
    """
    from scipy.sparse import csr_array

    split = load_set(name, data).split(number)
    with warnings.catch_warnings(action="ignore", category=UncoveredWordsWarning):
        vectors = read_word_vectors(data_folder(data) / "word_vectors.npz").align(split.words)
    parts: list[tuple[Any, Any]] = []
    for counts, labels in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        covered = csr_array(counts, dtype=np.float64)
        covered.data *= vectors.covered[covered.indices]
        covered.eliminate_zeros()
        kept = np.flatnonzero(np.diff(covered.indptr))
        parts.append((covered[kept], labels[kept]))
    left_out = len(split.y_test) - len(parts[1][1])
    return WordMoverSet(split.words, vectors, *parts[0], *parts[1], left_out)


def bench_word_mover(cases: Sequence[str] = _CASES, data: str | os.PathLike[str] | None = None) -> Iterator[Row]:
    """Measure word mover's distances.

    Parameters
    ----------
    cases : sequence of {"gensim", "bounds", "neighbors", "errors"}
        Exact distances beside gensim's on the same pairs; bounds and approximations beside exact distances; the
        pruned search beside the exhaustive one; errors of nearest neighbours.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.

    Yields
    ------
    Row
    """
    unknown = [case for case in cases if case not in _CASES]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(_CASES)}, got {', '.join(unknown)}.")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        if "gensim" in cases:
            for name in _GENSIM_SETS:
                yield from _beside_gensim(name, load_word_mover_set(name, 0, data))
        if "bounds" in cases:
            yield from _beside_exact(load_word_mover_set(_SEARCH_SET, 0, data))
        if "neighbors" in cases:
            yield _pruned_search(load_word_mover_set(_SEARCH_SET, 0, data))
    if "errors" in cases:
        from treewass.bench.word_mover_errors import word_mover_errors

        yield from word_mover_errors(data)


def _beside_gensim(name: str, documents: WordMoverSet) -> Iterator[Row]:
    """Time gensim's function on each pair, and ours on the whole matrix and on each pair."""
    models = require("gensim.models", purpose="treewass bench wmd", extra="bench")
    covered = documents.vectors.covered
    keyed = models.KeyedVectors(documents.vectors.vectors.shape[1])
    keyed.add_vectors([str(word) for word in documents.words[covered]], documents.vectors.vectors[covered])
    rows = np.random.RandomState(_SEED).choice(documents.X_train.shape[0], 2 * _GENSIM_DOCUMENTS, replace=False)
    left, right = (documents.X_train[part] for part in (rows[:_GENSIM_DOCUMENTS], rows[_GENSIM_DOCUMENTS:]))
    texts = [_tokens(documents, part) for part in (left, right)]

    def gensim() -> NDArray[np.float64]:
        return np.array([[keyed.wmdistance(one, other, norm=False) for other in texts[1]] for one in texts[0]])

    def matrix() -> NDArray[np.float64]:
        return wmd(left, right, word_vectors=documents.vectors)

    def pairs() -> NDArray[np.float64]:
        singles = [right[[row]] for row in range(right.shape[0])]
        alone = documents.vectors
        return np.array(
            [[wmd(left[[row]], single, word_vectors=alone)[0, 0] for single in singles] for row in range(left.shape[0])]
        )

    times, results = _in_turns([gensim, matrix, pairs])
    for label, seconds, found in (
        ("one call for all pairs", times[1], results[1]),
        ("one call a pair", times[2], results[2]),
    ):
        n_pairs = results[0].size
        measures: dict[str, Value] = {
            "pairs": n_pairs,
            "ours_us": round(seconds / n_pairs * 1e6, 1),
            "gensim_us": round(times[0] / n_pairs * 1e6, 1),
            "ratio": round(times[0] / seconds, 2),
            "largest_difference": float(f"{abs(found - results[0]).max():.1e}"),
        }
        case: dict[str, Value] = {"case": "exact WMD beside gensim", "set": name, "calls": label}
        yield Row("wmd", case, measures, _protocol("seeded training documents"))


def _beside_exact(documents: WordMoverSet) -> Iterator[Row]:
    """Time bounds against all training documents, and exact distances against a sample of them."""
    random_state = np.random.RandomState(_SEED)
    queries = documents.X_test[random_state.choice(documents.X_test.shape[0], _BOUND_QUERIES, replace=False)]
    sample = documents.X_train[random_state.choice(documents.X_train.shape[0], _SAMPLED, replace=False)]
    few = sample[:2]
    vectors = documents.vectors
    methods: dict[str, tuple[Callable[..., Any], Any]] = {
        "WMD": (lambda X, Y: wmd(X, Y, word_vectors=vectors), sample),
        "centroids": (lambda X, Y: centroid_distance(X, Y, word_vectors=vectors), documents.X_train),
        "RWMD": (lambda X, Y: rwmd(X, Y, word_vectors=vectors), documents.X_train),
        "ACT-1": (lambda X, Y: act(X, Y, word_vectors=vectors, iterations=1), documents.X_train),
        "ACT-3": (lambda X, Y: act(X, Y, word_vectors=vectors, iterations=3), documents.X_train),
        "Sinkhorn, numpy": (lambda X, Y: sinkhorn(X, Y, word_vectors=vectors, regularisation=0.5), few),
    }
    calls = [lambda method=method, others=others: method(queries, others) for method, others in methods.values()]
    times, results = _in_turns(calls)
    each = [seconds / found.size * 1e6 for seconds, found in zip(times, results, strict=True)]
    for name, found, microseconds in zip(methods, results, each, strict=True):
        measures: dict[str, Value] = {
            "pairs": found.size,
            "us_a_pair": round(microseconds, 2),
            "exact_us_a_pair": round(each[0], 1),
            "ratio": round(each[0] / microseconds, 2),
        }
        case: dict[str, Value] = {"case": "beside exact WMD", "set": _SEARCH_SET, "method": name}
        yield Row("wmd", case, measures, _protocol(f"{_BOUND_QUERIES} seeded test documents, preparation included"))


def _pruned_search(documents: WordMoverSet) -> Row:
    """Time the search with and without bounds on the same queries."""
    random_state = np.random.RandomState(_SEED)
    queries = documents.X_test[random_state.choice(documents.X_test.shape[0], _SEARCH_QUERIES, replace=False)]

    def search(prune: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        options: dict[str, Any] = {"n_neighbors": _NEIGHBORS, "word_vectors": documents.vectors}
        return wmd_neighbors(queries, documents.X_train, prune=prune, **options)

    wmd_neighbors(queries[:1], queries, n_neighbors=1, word_vectors=documents.vectors)  # compiles the loops
    times, results = _in_turns([lambda: search(True), lambda: search(False)], repetitions=1)
    measures: dict[str, Value] = {
        "queries": _SEARCH_QUERIES,
        "documents": documents.X_train.shape[0],
        "pruned_ms_a_query": round(times[0] / _SEARCH_QUERIES * 1e3, 1),
        "unpruned_ms_a_query": round(times[1] / _SEARCH_QUERIES * 1e3, 1),
        "ratio": round(times[1] / times[0], 2),
        "same_answers": all(np.array_equal(one, other) for one, other in zip(*results, strict=True)),
    }
    case: dict[str, Value] = {"case": "WMD neighbours, pruned beside unpruned", "set": _SEARCH_SET, "k": _NEIGHBORS}
    return Row("wmd", case, measures, "CPU time of one run of each, seeded test documents, one thread")


def _tokens(documents: WordMoverSet, counts: csr_array) -> list[list[str]]:
    """Write documents as lists of words, as gensim takes them."""
    rows = [counts[[row]] for row in range(counts.shape[0])]
    return [[str(word) for word in np.repeat(documents.words[row.indices], row.data.astype(np.int64))] for row in rows]


def _in_turns(methods: Sequence[Callable[[], Any]], repetitions: int = _REPETITIONS) -> tuple[list[float], list[Any]]:
    """Run methods in turns after a warm-up; return the smallest CPU time and the result of each."""
    results, times = [], [[] for _ in methods]  # type: tuple[list[Any], list[list[float]]]
    for repetition in range(repetitions + (repetitions > 1)):
        results = []
        for method, seconds in zip(methods, times, strict=True):
            start = time.process_time()
            results.append(method())
            if repetition or repetitions == 1:
                seconds.append(time.process_time() - start)
    return [min(seconds) for seconds in times], results


def _protocol(documents: str) -> str:
    return f"smallest of {_REPETITIONS} CPU times after a warm-up, in turns, {documents}, one thread"
