"""``python -m treewass_bench trees``: unsupervised trees and Flowtree beside the paper's tree and exact transport."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import QuadtreeWasserstein, TreeIndex, TreeMetric, TreeSlicedWasserstein
from treewass.compute.extras import require
from treewass.distances import Flowtree
from treewass.documents import covered_histograms
from treewass.trees import quadtree
from treewass_bench.datasets import PAPER_SETS, Split, load_set, load_vectors
from treewass_bench.rows import Row, Value
from treewass_bench.speed_rivals import random_metric
from treewass_bench.timing import alternate, one_thread, rounded, turns_protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.documents import AlignedVectors

__all__ = ["bench_trees"]

_DOCUMENTS, _NEIGHBORS = 500, 19
_QUERY_BAR, _FLOW_BAR, _BUILD_BAR = 1.5, 20.0, 10.0


def bench_trees(quick: bool = False, folder: str | os.PathLike[str] | None = None) -> Iterator[Row]:
    """Measure queries on unsupervised trees, Flowtree and the building of a quadtree, each beside its rival.

    Parameters
    ----------
    quick : bool, default=False
        Two sets, few queries and pairs, and a tenth of the points; rough figures.
    folder : path-like, optional
        Where the text sets and word vectors are.
    """
    with one_thread():
        for name in PAPER_SETS[:2] if quick else PAPER_SETS:
            split = load_set(name, folder).split(0)
            vectors = load_vectors(split.words, folder)
            yield from _query_rows(name, split, vectors, quick)
            yield _flow_row(name, split, vectors, quick)
        yield _build_row(quick)


def _query_rows(name: str, split: Split, vectors: AlignedVectors, quick: bool) -> Iterator[Row]:
    """Time one query against 500 documents on each tree."""
    n_queries, rounds, passes = (10, 3, 1) if quick else (40, 9, 2)
    learners = {
        "quadtree": QuadtreeWasserstein(word_vectors=vectors),
        "tsw-1": TreeSlicedWasserstein(n_trees=1, word_vectors=vectors),
    }
    metrics = {method: learner.fit(split.X_train).metric_ for method, learner in learners.items()}
    random = np.random.default_rng(0)
    documents, others = (_known(counts, vectors) for counts in (split.X_train, split.X_test))
    documents = documents[random.permutation(documents.shape[0])[:_DOCUMENTS]]
    queries = [others[[row]] for row in random.permutation(others.shape[0])[:n_queries]]
    placed = TreeMetric(random_metric(split.words.size).trees, vectors.covered.astype(np.float64))
    answers = [_search(metric, documents) for metric in (placed, *metrics.values())]
    times = alternate(answers, queries, rounds=rounds, passes=passes, warm_up="each round")
    protocol = (
        f"one query against {documents.shape[0]} documents, top {_NEIGHBORS}, words with a vector only; "
        f"{turns_protocol(n_queries, rounds, passes)}; the paper's tree is the perfect 5-ary tree of depth 5, words "
        "placed at random"
    )
    for (method, metric), timing in zip(metrics.items(), times[1:], strict=True):
        measures: dict[str, Value] = {
            "microseconds": rounded(timing.microseconds),
            "paper_tree_microseconds": rounded(times[0].microseconds),
            "ratio": rounded(timing.over(times[0])[0]),
            "bar_at_most": _QUERY_BAR,
            "nodes": metric.trees[0].n_nodes,
            "depth": metric.trees[0].depth,
        }
        yield Row("trees", {"measure": "query", "set": name, "method": method}, measures, protocol)


def _search(metric: TreeMetric, documents: csr_array) -> Callable[[Any], Any]:
    index = TreeIndex(metric)
    index.add(documents)
    return lambda query: index.search(query, _NEIGHBORS)


def _known(counts: Any, vectors: AlignedVectors) -> csr_array:
    """Keep words with a vector, and documents that hold one."""
    from scipy.sparse import csr_array

    rows = csr_array(counts)
    return covered_histograms(rows[np.flatnonzero(rows @ vectors.covered)], vectors.covered, caller="bench trees")


def _flow_row(name: str, split: Split, vectors: AlignedVectors, quick: bool) -> Row:
    """Time Flowtree and exact transport on the same pairs of documents."""
    side, rounds = (8, 2) if quick else (20, 5)
    random = np.random.default_rng(0)
    documents, others = (_known(counts, vectors) for counts in (split.X_train, split.X_test))
    rows = others[random.permutation(others.shape[0])[:side]]
    columns = documents[random.permutation(documents.shape[0])[:side]]
    points, prepared = vectors.vectors.astype(np.float64), Flowtree(vectors)
    own, other = alternate(
        [lambda _: prepared.pairwise(rows, columns), lambda _: _exact_costs(rows, columns, points)], rounds=rounds
    )
    flows, exact = own.answer, other.answer
    measures: dict[str, Value] = {
        "microseconds_a_pair": rounded(own.microseconds / flows.size),
        "exact_microseconds_a_pair": rounded(other.microseconds / flows.size),
        "ratio": rounded(other.over(own)[0]),
        "bar_at_least": _FLOW_BAR,
        "cost_over_exact": rounded(float((flows / exact)[exact > 0].mean())),
    }
    protocol = (
        f"{flows.size} pairs of test and training documents; median CPU time of {rounds}, in turns, one "
        "thread; the quadtree is prepared before; exact: POT's emd2 on the pair's own words, the Euclidean distances "
        "between their vectors included"
    )
    return Row("trees", {"measure": "flowtree", "set": name, "method": "flowtree"}, measures, protocol)


def _exact_costs(rows: csr_array, columns: csr_array, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the word mover's distance of all pairs by POT."""
    transport = require("ot", purpose="python -m treewass_bench trees", extra="ot")
    costs = np.empty((rows.shape[0], columns.shape[0]))
    for row in range(rows.shape[0]):
        own = slice(rows.indptr[row], rows.indptr[row + 1])
        masses, vectors = rows.data[own], points[rows.indices[own]]
        for column in range(columns.shape[0]):
            its = slice(columns.indptr[column], columns.indptr[column + 1])
            apart = transport.dist(vectors, points[columns.indices[its]], metric="euclidean")
            costs[row, column] = transport.emd2(masses, columns.data[its], apart)
    return costs


def _build_row(quick: bool) -> Row:
    """Time a quadtree over 100,000 points of 300 dimensions, and one iteration of k-means with 100 centres."""
    from sklearn.cluster import KMeans

    n_points, rounds, more = (10_000, 2, 3) if quick else (100_000, 5, 5)
    points = np.random.default_rng(0).normal(size=(n_points, 300))

    def cluster(iterations: int) -> Any:
        return KMeans(100, init=points[:100], n_init=1, max_iter=iterations, tol=0).fit(points)

    building, one, several = alternate(
        [lambda _: quadtree(points), lambda _: cluster(1), lambda _: cluster(1 + more)], rounds=rounds
    )
    iteration = (several.median - one.median) / more
    measures: dict[str, Value] = {
        "seconds": rounded(building.median),
        "iteration_seconds": rounded(iteration),
        "ratio": rounded(building.median / iteration),
        "bar_at_most": _BUILD_BAR,
    }
    protocol = (
        f"median CPU time of {rounds}, in turns, one thread; normal points; an iteration is the difference "
        f"between {1 + more} iterations of scikit-learn's KMeans with 100 centres and one, over {more}"
    )
    case: dict[str, Value] = {"measure": "build", "set": f"{n_points} × 300", "method": "quadtree"}
    return Row("trees", case, measures, protocol)
