"""``python -m treewass_bench wmd``: the word mover's distances side by side, on one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.extras import require
from treewass.distances import act, centroid_distance, rwmd, sinkhorn, wmd, wmd_neighbors
from treewass.documents import AlignedVectors
from treewass_bench.datasets import load_set, load_vectors
from treewass_bench.rows import Row, Value
from treewass_bench.timing import alternate, one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "WordMoverSet",
    "bench_word_mover",
    "load_word_mover_set",
]

_CASES = ("gensim", "bounds", "neighbors")
_ROUNDS, _SEED = 3, 0
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
    """

    words: NDArray[np.object_]
    vectors: AlignedVectors
    X_train: csr_array
    y_train: NDArray[np.str_]
    X_test: csr_array
    y_test: NDArray[np.str_]


def load_word_mover_set(name: str, number: int, data: str | os.PathLike[str] | None = None) -> WordMoverSet:
    """Load a split with word vectors, without words and documents that these do not cover."""
    from scipy.sparse import csr_array

    split = load_set(name, data).split(number)
    vectors = load_vectors(split.words, data)
    parts: list[tuple[Any, Any]] = []
    for counts, labels in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        covered = csr_array(counts, dtype=np.float64)
        covered.data *= vectors.covered[covered.indices]
        covered.eliminate_zeros()
        kept = np.flatnonzero(np.diff(covered.indptr))
        parts.append((covered[kept], labels[kept]))
    return WordMoverSet(split.words, vectors, *parts[0], *parts[1])


def bench_word_mover(cases: Sequence[str] = _CASES, data: str | os.PathLike[str] | None = None) -> Iterator[Row]:
    """Measure word mover's distances.

    Parameters
    ----------
    cases : sequence of {"gensim", "bounds", "neighbors"}
        Exact distances beside gensim's on the same pairs; bounds and approximations beside exact distances; the
        pruned search beside the exhaustive one.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    """
    unknown = [case for case in cases if case not in _CASES]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(_CASES)}, got {', '.join(unknown)}.")
    with one_thread():
        if "gensim" in cases:
            for name in _GENSIM_SETS:
                yield from _beside_gensim(name, load_word_mover_set(name, 0, data))
        if "bounds" in cases:
            yield from _beside_exact(load_word_mover_set(_SEARCH_SET, 0, data))
        if "neighbors" in cases:
            yield _pruned_search(load_word_mover_set(_SEARCH_SET, 0, data))


def _beside_gensim(name: str, documents: WordMoverSet) -> Iterator[Row]:
    """Time gensim's function on each pair, and ours on the whole matrix and on each pair."""
    models = require("gensim.models", purpose="python -m treewass_bench wmd", package="gensim")
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

    theirs, together, alone = alternate([lambda _: gensim(), lambda _: matrix(), lambda _: pairs()], rounds=_ROUNDS)
    for label, ours in (("one call for all pairs", together), ("one call a pair", alone)):
        n_pairs = theirs.answer.size
        measures: dict[str, Value] = {
            "pairs": n_pairs,
            "ours_us": round(ours.microseconds / n_pairs, 1),
            "gensim_us": round(theirs.microseconds / n_pairs, 1),
            "ratio": round(theirs.over(ours)[0], 2),
            "largest_difference": float(f"{abs(ours.answer - theirs.answer).max():.1e}"),
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
        "Sinkhorn, numpy": (lambda X, Y: sinkhorn(X, Y, word_vectors=vectors, regularization=0.5), few),
    }
    calls = [lambda _, method=method, others=others: method(queries, others) for method, others in methods.values()]
    times = alternate(calls, rounds=_ROUNDS)
    each = [timing.microseconds / timing.answer.size for timing in times]
    for name, timing, microseconds in zip(methods, times, each, strict=True):
        measures: dict[str, Value] = {
            "pairs": timing.answer.size,
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
    pruned, whole = alternate([lambda _: search(True), lambda _: search(False)], rounds=1, warm_up="never")
    measures: dict[str, Value] = {
        "queries": _SEARCH_QUERIES,
        "documents": documents.X_train.shape[0],
        "pruned_ms_a_query": round(1e3 * pruned.median / _SEARCH_QUERIES, 1),
        "unpruned_ms_a_query": round(1e3 * whole.median / _SEARCH_QUERIES, 1),
        "ratio": round(whole.over(pruned)[0], 2),
        "same_answers": all(np.array_equal(one, other) for one, other in zip(pruned.answer, whole.answer, strict=True)),
    }
    case: dict[str, Value] = {"case": "WMD neighbours, pruned beside unpruned", "set": _SEARCH_SET, "k": _NEIGHBORS}
    return Row("wmd", case, measures, "CPU time of one run of each, seeded test documents, one thread")


def _tokens(documents: WordMoverSet, counts: csr_array) -> list[list[str]]:
    """Write documents as lists of words, as gensim takes them."""
    rows = [counts[[row]] for row in range(counts.shape[0])]
    return [[str(word) for word in np.repeat(documents.words[row.indices], row.data.astype(np.int64))] for row in rows]


def _protocol(documents: str) -> str:
    return f"median of {_ROUNDS} CPU times after a warm-up, in turns, {documents}, one thread"
