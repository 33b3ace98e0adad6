"""The nearest documents of few queries with NumPy alone: the same answers as the compiled loops, no start-up time.

For command lines, where a process answers one question: importing numba and loading compiled code takes longer than
this search over a hundred thousand documents, and the first run on a machine would compile for some seconds.
"""

from __future__ import annotations

import heapq
import sys
from typing import TYPE_CHECKING

import numpy as np

from treewass.search.segments import Segment
from treewass.trees.columns import ABSENT, COUNT_BITS
from treewass.trees.metric import TreeMetric
from treewass.trees.numpy_embedding import embed_document, has_known_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from treewass.search.held_documents import AnyIndex

__all__ = ["nearest_documents", "nearest_of_rows"]

COMPILED_FROM = 2_000_000  # comparisons: fewer are made sooner without starting numba
LEAST = 1000  # documents: a query costs at least as much as comparing so many


def nearest_of_rows(
    index: AnyIndex,
    rows: Sequence[tuple[Sequence[int], Sequence[float]]],
    k: int,
    *,
    where: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the k nearest documents of each query, whichever way is sooner: the answers are the same.

    The compiled loops answer once numba is loaded in the process, as it is after `fit`, `TreeIndex.add` or
    `TreeIndex.search`, and where there is much to compare. Otherwise NumPy does. A process that will answer many
    queries one by one should import numba when it starts.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        The documents.
    rows : sequence of (words, weights)
        The queries: ascending words and their counts, each above 0, with at least one known word.
    k : int
        Neighbours, at least 1.
    where : ndarray of int64, optional
        Ids of the only documents to consider; all by default.

    Returns
    -------
    distances : ndarray of float64, shape (n_queries, min(k, n))
    ids : ndarray of int64, shape (n_queries, min(k, n))

    Examples
    --------
    >>> from treewass import TreeIndex, TreeMetric
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(3)))
    >>> index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    array([0, 1, 2])
    >>> nearest_of_rows(index, [([0], [2.0]), ([2], [1.0])], k=1)
    (array([[0.],
           [0.]]), array([[0],
           [2]]))
    """
    n_comparisons = len(rows) * max(len(index), LEAST)
    if "numba" not in sys.modules and n_comparisons < COMPILED_FROM:
        found = [nearest_documents(index, words, weights, k, among=where) for words, weights in rows]
        shape = (len(rows), found[0][0].size if found else min(k, index._snapshot.n_searchable))
        distances, ids = np.empty(shape), np.empty(shape, dtype=np.int64)
        for row, (near, numbers) in enumerate(found):
            distances[row], ids[row] = near, numbers
        return distances, ids
    from scipy.sparse import csr_array

    bounds = np.cumsum([0, *(len(words) for words, _ in rows)]).astype(np.int32)
    words = np.array([word for row in rows for word in row[0]], dtype=np.int32)
    weights = np.array([weight for row in rows for weight in row[1]], dtype=np.float64)
    return index.search(csr_array((weights, words, bounds), shape=(len(rows), index.metric.n_words)), k, where=where)


def nearest_documents(
    index: AnyIndex,
    words: Sequence[int],
    weights: Sequence[float],
    k: int,
    *,
    among: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the k nearest documents of one query, exactly as `TreeIndex.search` does.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        The documents.
    words : sequence of int
        The query's words, ascending.
    weights : sequence of float
        Their counts, each above 0.
    k : int
        Neighbours, at least 1.
    among : ndarray of int64, optional
        Ids of the only documents to consider; all by default.

    Returns
    -------
    distances : ndarray of float64, shape (min(k, n),)
        Ascending; empty for a query without a known word.
    ids : ndarray of int64, shape (min(k, n),)
        Ties are in ascending order of id.

    Examples
    --------
    >>> from treewass import TreeIndex, TreeMetric
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(3)))
    >>> index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    array([0, 1, 2])
    >>> nearest_documents(index, [0], [2.0], k=2)
    (array([0., 1.]), array([0, 1]))
    """
    query = embed_document(index.metric, words, weights)
    found: list[tuple[int, int]] = []  # of minus distance and minus id, the worst first
    for segment in index._snapshot.segments if has_known_word(index.metric, words, weights) else ():
        positions = segment.searchable
        if among is not None:
            positions = positions[np.isin(segment.ids[positions], among)]
        _offer_segment(index.metric, segment, positions, query, k, found)
    ranked = sorted((-distance, -number) for distance, number in found)
    distances = np.array([distance for distance, _ in ranked], dtype=np.int64)
    return np.ldexp(distances, -index.metric.fraction_bits), np.array([number for _, number in ranked], dtype=np.int64)


def _offer_segment(
    metric: TreeMetric,
    segment: Segment,
    positions: NDArray[np.intp],
    query: dict[int, int],
    k: int,
    found: list[tuple[int, int]],
) -> None:
    """Offer every document of a segment, of those at some positions, that may be among the k nearest."""
    norm = sum(query.values())
    keys = _keys(segment, query)[positions]
    slack = len(query) << (segment.shift + 1) if segment.is_narrow else 0
    if keys.size > k:
        near = np.flatnonzero(keys <= np.partition(keys, k - 1)[k - 1] + slack)
        keys, positions = keys[near], positions[near]
    order = np.argsort(keys, kind="stable")
    for key, position in zip(keys[order].tolist(), positions[order].tolist(), strict=True):
        if len(found) == k and key + norm - slack > -found[0][0]:
            break
        distance = _exact_distance(metric, segment, position, query, norm) if slack else key + norm
        entry = (-distance, -int(segment.ids[position]))
        if len(found) < k:
            heapq.heappush(found, entry)
        else:
            heapq.heappushpop(found, entry)


def _keys(segment: Segment, query: dict[int, int]) -> NDArray[np.int64]:
    """Compute each document's norm less twice what it shares with the query; no less than that if values lost bits."""
    n_tiles, tile = segment.dense.shape[0], segment.tile
    entries = segment.entries(list(query))
    bits = 16 if segment.is_narrow else 32
    shared = np.zeros((n_tiles, tile), dtype=np.int64)
    for value, own in zip(query.values(), entries.tolist(), strict=True):
        narrowed = min(value >> segment.shift, 65535) if segment.is_narrow else value
        for number, entry in enumerate(own):
            if entry < 0:
                shared[number] += np.minimum(segment.dense[number, ~entry], narrowed)
            elif count := entry & ((1 << COUNT_BITS) - 1):
                start = entry >> COUNT_BITS
                postings = segment.postings[start : start + count].astype(np.int64)
                shared[number, postings >> bits] += np.minimum(postings & ((1 << bits) - 1), narrowed)
    keys = segment.norms.astype(np.int64) - (shared.ravel() << (segment.shift + 1))
    keys[segment.norms == ABSENT] = ABSENT
    return keys


def _exact_distance(metric: TreeMetric, segment: Segment, position: int, query: dict[int, int], norm: int) -> int:
    """Embed a document from its words and compare it with the query, in units."""
    span = slice(int(segment.document_bounds[position]), int(segment.document_bounds[position + 1]))
    document = embed_document(metric, segment.words[span].tolist(), segment.weights[span].astype(float).tolist())
    shared = sum(min(value, query[feature]) for feature, value in document.items() if feature in query)
    return norm + sum(document.values()) - 2 * shared
