"""Documents ranked for typed words: by the words they hold, then by the branches of the tree that they share.

    score(q, d) = Σ_w weight(w) · count / (count + k₁ (1 − b + b · length / mean length)) + λ · topic(q, d)

The weights are those of BM25: how often the query holds a word times its rarity, scaled so that they add up to one. So
the sum is BM25 divided by the most that it can be for the query. `topic` is twice what query and document share at the
internal nodes of the tree, divided by the sum of what both have there, from 0 to 1; the words decide what is found, and
branches decide among documents that hold about as much. Only a document that holds a word of the query is a hit.

All of it is whole numbers: rarity comes from a logarithm that is made of squares and shifts, and every quotient is
rounded down. So scores are the same on every machine, for any number of threads and any order of insertion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treewass.search.segments import Segment
from treewass.search.snapshot import Snapshot
from treewass.search.word_lists import LARGEST_COUNT, Statistics, branch_shift, internal_features
from treewass.trees.columns import COUNT_BITS
from treewass.trees.metric import TreeMetric
from treewass.trees.numpy_embedding import embed_document

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["rank_documents", "rarity", "statistics_of", "whole_logarithm", "word_weights"]

K1, B = 12, 75  # BM25's k₁ = 1.2 in tenths and b = 0.75 in hundredths
LOG_BITS = 16  # of a logarithm, after the point
WEIGHT_BITS = 16  # the weights of a query's words add up to at most 2**16
SHARE_BITS = 14  # count / (count + …) is at most 2**14
SCORE_BITS = WEIGHT_BITS + SHARE_BITS  # scores are whole numbers of 2**-30
TOPIC_WEIGHT = 2**WEIGHT_BITS // 8  # λ
LENGTH_BITS = 10  # of what a length adds to a count, after the point
LONGEST = 2**30  # what a length adds, at most
FACTOR_BITS = 32  # of what one word of a length adds
FIRST_PART = (K1 * (100 - B) << FACTOR_BITS) // 1000  # k₁ (1 − b)


def rank_documents(
    metric: TreeMetric,
    snapshot: Snapshot,
    words: Sequence[int],
    counts: Sequence[int],
    k: int,
    statistics: Statistics,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rank the documents of a snapshot for one query.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    snapshot : Snapshot
        The documents to rank.
    words : sequence of int
        The query's words, ascending, those beyond the metric among them.
    counts : sequence of int
        How often the query holds them, each at least 1.
    k : int
        Documents to return, at most.
    statistics : Statistics
        Of the whole collection, of which the snapshot may be a part.

    Returns
    -------
    scores : ndarray of float64, shape (n_hits,)
        Falling, each above 0.
    ids : ndarray of int64, shape (n_hits,)
        Ties are in ascending order of id.
    """
    weights = word_weights(words, counts, statistics)
    n_known = sum(word < metric.n_words for word in words)
    query = embed_document(metric, words[:n_known], [float(count) for count in counts[:n_known]])
    lost = branch_shift(metric)
    branches = {
        feature: query[feature] >> lost
        for first, stop in internal_features(metric)
        for feature in query
        if first <= feature < stop
    }
    found = [_score_segment(metric, segment, weights, branches, statistics) for segment in snapshot.segments]
    scores = np.concatenate([*(one for one, _ in found), np.empty(0, dtype=np.int64)])
    ids = np.concatenate([*(other for _, other in found), np.empty(0, dtype=np.int64)])
    order = np.lexsort((ids, -scores))[:k]
    return np.ldexp(scores[order], -SCORE_BITS), ids[order]


def _score_segment(
    metric: TreeMetric, segment: Segment, weights: dict[int, int], branches: dict[int, int], statistics: Statistics
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the score and the id of each document that is held and holds a word of the query."""
    lists = segment.lists.get(metric, segment)
    sums = np.zeros(segment.ids.size, dtype=np.int64)
    factor = length_factor(statistics)
    for word, weight in weights.items():
        own = lists.holding(word)
        places, count = lists.list_places[own], lists.list_counts[own].astype(np.int64)
        lengths = lists.lengths[places].astype(np.int64)
        added = np.minimum((FIRST_PART + lengths * factor) >> (FACTOR_BITS - LENGTH_BITS), LONGEST)
        sums[places] += weight * ((count << (SHARE_BITS + LENGTH_BITS)) // ((count << LENGTH_BITS) + added))
    hits = np.flatnonzero((sums > 0) & segment.held)
    shared = _shared_branches(metric, segment, branches)[hits]
    both = lists.branches[hits] + max(1, sum(branches.values()))
    return sums[hits] + TOPIC_WEIGHT * ((shared << (SHARE_BITS + 1)) // both), segment.ids[hits]


def _shared_branches(metric: TreeMetric, segment: Segment, branches: dict[int, int]) -> NDArray[np.int64]:
    """Add up what each document shares with the query at internal nodes."""
    n_tiles, tile = segment.dense.shape[0], segment.tile
    lost = max(0, branch_shift(metric) - segment.shift)
    half, entries = segment.postings.itemsize * 4, segment.entries(list(branches))
    shared = np.zeros((n_tiles, tile), dtype=np.int64)
    for value, own in zip(branches.values(), entries.tolist(), strict=True):
        for number, entry in enumerate(own):
            if entry < 0:
                shared[number] += np.minimum(segment.dense[number, ~entry] >> lost, value)
            elif count := entry & ((1 << COUNT_BITS) - 1):
                start = entry >> COUNT_BITS
                postings = segment.postings[start : start + count].astype(np.int64)
                shared[number, postings >> half] += np.minimum((postings & ((1 << half) - 1)) >> lost, value)
    return shared.ravel()


def statistics_of(metric: TreeMetric, snapshot: Snapshot) -> Statistics:
    """Return what ranking needs to know of the documents of a snapshot, kept with it and with each segment."""
    if "statistics" not in snapshot.kept:
        whole = Statistics(0, 0, np.zeros(metric.n_words, dtype=np.int64))
        for segment in snapshot.segments:
            whole = whole + segment.statistics(metric)
        snapshot.kept["statistics"] = whole
    return snapshot.kept["statistics"]


def word_weights(words: Sequence[int], counts: Sequence[int], statistics: Statistics) -> dict[int, int]:
    """Weigh the words of a query that some document holds; the weights add up to at most ``2**WEIGHT_BITS``.

    Examples
    --------
    >>> word_weights([0, 1, 5], [1, 1, 1], Statistics(9, 50, np.array([9, 1])))
    {0: 1725, 1: 63810}
    """
    frequencies, n_documents = statistics.frequencies, statistics.n_documents
    weights = {
        word: min(count, LARGEST_COUNT) * rarity(int(frequencies[word]), n_documents)
        for word, count in zip(words, counts, strict=True)
        if word < frequencies.size and frequencies[word]
    }
    total = sum(weights.values())
    return {word: (weight << WEIGHT_BITS) // total for word, weight in weights.items()}


def rarity(frequency: int, n_documents: int) -> int:
    """Return BM25's inverse document frequency, log₂(1 + (n − f + ½) / (f + ½)), in units of ``2**-LOG_BITS``.

    Examples
    --------
    >>> rarity(1, 3) / 2**LOG_BITS
    1.4150390625
    """
    return max(1, whole_logarithm(2 * n_documents + 2) - whole_logarithm(2 * frequency + 1))


def whole_logarithm(number: int) -> int:
    """Return log₂ of a number from 1 to ``2**62``, in units of ``2**-LOG_BITS``, bit by bit.

    Squaring a number doubles its logarithm; each time the square exceeds 2, the next bit is one.

    Examples
    --------
    >>> whole_logarithm(8) / 2**LOG_BITS, whole_logarithm(10) / 2**LOG_BITS
    (3.0, 3.3219146728515625)
    """
    result = number.bit_length() - 1
    number = number << (31 - result) if result <= 31 else number >> (result - 31)
    for _ in range(LOG_BITS):
        number = (number * number) >> 31
        is_above = number >> 32
        number >>= is_above
        result = 2 * result + is_above
    return result


def length_factor(statistics: Statistics) -> int:
    """Return k₁ b / mean length, in units of ``2**-32``, rounded down to its first 7 binary digits.

    So it stays the same while a few documents come and go, and with it what is kept of a large collection.

    Examples
    --------
    >>> length_factor(Statistics(2, 20, np.zeros(0, dtype=np.int64))) / 2**32
    0.08984375
    """
    factor = (K1 * B * statistics.n_documents << FACTOR_BITS) // (1000 * max(1, statistics.total_length))
    lost = max(0, factor.bit_length() - 7)
    return factor >> lost << lost
