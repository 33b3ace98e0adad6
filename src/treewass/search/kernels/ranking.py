"""The compiled ranking: documents by the words of a query that they hold, and the branches they share with it.

Words are taken in falling weight. Once k documents are found, those that hold only the last words, light ones, cannot
come in any more. So only documents in the lists of the other words, the shorter ones, are looked at, and branches are
compared only for those whose words give enough. Bounds are whole numbers like the scores, so that nothing is lost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import array_at, compiled, inlined, inner
from treewass.compute.records import record_of
from treewass.search.kernels.selection import gather, key_bound
from treewass.search.kernels.shared_branches import make_notes, share_lists, share_rows, shared_at
from treewass.search.numpy_ranking import (
    FACTOR_BITS,
    FIRST_PART,
    LENGTH_BITS,
    LONGEST,
    SCORE_BITS,
    SHARE_BITS,
    TOPIC_WEIGHT,
    WEIGHT_BITS,
)
from treewass.search.scratch import BLOCK, CLASSES
from treewass.search.word_lists import LARGEST_COUNT, LARGEST_QUERY
from treewass.trees.column_kernels import look_up
from treewass.trees.columns import TILE
from treewass.trees.embedding_kernels import in_order, spread_document, touched_in
from treewass.trees.layout import METRIC, ROOM, WORD

__all__ = ["LISTS", "RANKED", "fill_shares", "rank_queries"]

RANKED = record_of(
    "list_bounds", "list_places", "shares", "branches", "ids", "held", "directory", "n_directory",
    "tiles", "starts", "n_places", "dense", "postings",
    "n_bounds", "n_entries", "n_documents", "n_tiles", "tile", "piece", "n_rows", "n_postings",
    "shift", "lost", "is_narrow",
)  # fmt: skip
LISTS = record_of("places", "counts", "lengths", "n_entries", "n_documents")
_ROOM_AT = METRIC.itemsize
_RANKED_AT = _ROOM_AT + ROOM.itemsize
_RANKED_BYTES, _WORD_BYTES = RANKED.itemsize, WORD.itemsize
_SPARSE = 64  # branches are compared one by one where fewer than one document in so many may be among the best
_FEW = 8  # documents in lists are looked at one by one where they are fewer than one in so many of a tile
_MOST_TOPIC = TOPIC_WEIGHT << SHARE_BITS
_PLACE = np.int64(0xFFFFFFFF)


@compiled
def rank_queries(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    shift: int,
    frequencies: NDArray[np.int64],
    n_documents: int,
    out_scores: NDArray[np.float64],
    out_ids: NDArray[np.int64],
) -> int:
    """Write the best documents of all queries, scores of 0 and ids of -1 after them.

    `plan` is a METRIC, a ROOM and the RANKED segments; `shift` is that of `branch_shift`. Returns -1, or a row that
    must be checked and mended.
    """
    address = plan.ctypes.data
    metric, room = array_at(address, 1, METRIC)[0], array_at(address + _ROOM_AT, 1, ROOM)[0]
    segments = array_at(address + _RANKED_AT, (8 * plan.size - _RANKED_AT) // _RANKED_BYTES, RANKED)
    n_queries, k = out_ids.shape
    best, all_documents = np.empty(k, np.int64), _logarithm(2 * n_documents + 2)
    scratch = (
        np.empty(TILE, np.int32), np.empty(CLASSES, np.int32), np.empty(TILE + BLOCK, np.int64),
        np.empty(TILE, np.int32), np.empty(TILE, np.uint16),
    )  # fmt: skip
    for query in range(n_queries):
        start, stop = np.int64(indptr[query]), np.int64(indptr[query + 1])
        if not 0 <= start <= stop <= min(words.size, counts.size):
            return query
        is_sound, own_words, own_counts = in_order(words[start:stop], counts[start:stop], np.int64(2**31 - 1))
        for entry in range(own_counts.size):
            is_sound &= own_counts[entry] == np.floor(own_counts[entry]) and own_counts[entry] <= LARGEST_QUERY
        if not is_sound:
            return query
        held, weights, rest = _weigh(own_words, own_counts, frequencies, all_documents)
        features, values, norm = _branches_of(metric, room, own_words, own_counts, shift)
        size = 0
        for number in range(segments.size):
            size = _rank_segment(
                segments[number], held, weights, rest, features, values, norm, scratch, best, out_ids[query], size
            )
        for place in range(k):
            is_hit = place < size
            out_scores[query, place] = math.ldexp(float(best[place]), -SCORE_BITS) if is_hit else 0.0
            out_ids[query, place] = out_ids[query, place] if is_hit else -1
    return -1


@inner
def _logarithm(number: Any) -> Any:
    """Return log₂ as `whole_logarithm` does."""
    result, rest = np.int64(0), np.uint64(number)
    while rest >> np.uint64(1) > np.uint64(0):
        rest >>= np.uint64(1)
        result += 1
    rest = np.uint64(number) << np.uint64(31 - result) if result <= 31 else np.uint64(number) >> np.uint64(result - 31)
    for _ in range(16):
        rest = (rest * rest) >> np.uint64(31)
        above = rest >> np.uint64(32)
        rest >>= above
        result = 2 * result + np.int64(above)
    return result


@inner
def _weigh(words: Any, counts: Any, frequencies: Any, all_documents: Any) -> Any:
    """Weigh the words that some document holds, as `word_weights` does, and bring them into falling order of weight.

    Returns the words, their weights, and the most that all words from one on can add to a score.
    """
    held, weights = np.empty(words.size, np.int32), np.empty(words.size, np.int64)
    total, size = np.int64(0), 0
    for entry in range(words.size):
        word, count = words[entry], np.int64(min(counts[entry], LARGEST_COUNT))
        if word < frequencies.size and frequencies[word] > 0 and count > 0:
            weight = count * max(1, all_documents - _logarithm(2 * frequencies[word] + 1))
            total += weight
            place = size
            while place > 0 and weights[place - 1] < weight:
                held[place], weights[place] = held[place - 1], weights[place - 1]
                place -= 1
            held[place], weights[place] = word, weight
            size += 1
    rest = np.zeros(size + 1, np.int64)
    for place in range(size - 1, -1, -1):
        weights[place] = (weights[place] << WEIGHT_BITS) // total
        rest[place] = rest[place + 1] + (weights[place] << SHARE_BITS)
    return held[:size], weights[:size], rest


@inner
def _branches_of(metric: Any, room: Any, words: Any, counts: Any, shift: Any) -> Any:
    """Embed a query and return its internal nodes, their values less the last bits, and the sum of these."""
    n_known = 0
    while n_known < words.size and words[n_known] < metric.n_words:
        n_known += 1
    n_touched = max(0, spread_document(metric, room, words[:n_known], counts[:n_known]))
    touched, amounts = touched_in(room)
    features, values = np.empty(n_touched, np.int32), np.empty(n_touched, np.int64)
    size, norm = 0, np.int64(0)
    for position in range(n_touched):
        feature, is_leaf = touched[position], False
        for component in range(metric.n_components):
            first = array_at(metric.words + component * metric.n_words * _WORD_BYTES, 1, WORD)[0].leaf
            is_leaf |= first <= feature < first + metric.n_words
        value = np.int64(np.rint(amounts[position])) >> shift
        if not is_leaf and value > 0:
            features[size], values[size] = feature, value
            norm += value
            size += 1
    return features[:size], values[:size], norm


@inner
def _rank_segment(
    segment: Any,
    words: Any,
    weights: Any,
    rest: Any,
    features: Any,
    values: Any,
    norm: Any,
    scratch: Any,
    best: Any,
    out_ids: Any,
    size: Any,
) -> Any:
    """Merge the documents of a segment into the best so far; return how many these are."""
    starts, cursors, stops = _find_lists(segment, words)
    branches = make_notes(features.size)
    keys, classes, found, shared, narrow_shared = scratch
    for tile in range(segment.n_tiles):
        n_places = min(segment.tile, segment.n_documents - tile * segment.tile)
        n_needed = _needed(best, size, rest)
        if not _add_lists(segment, n_needed, weights, starts, cursors, stops, tile * segment.tile, n_places, keys):
            continue
        high = np.int64(0)  # a sum that k documents of the tile have, if there are not yet k others
        if size < best.size:
            high = max(np.int64(0), -np.int64(key_bound(keys, n_places, best.size, classes)))
        n_branches = look_up(segment, tile, features, values, *branches)
        if segment.is_narrow:
            dense = array_at(segment.dense, np.int64(1) << 48, np.uint16)
            size = _select(
                segment, dense, branches, n_branches, norm, tile, n_places, keys, high, found, starts, cursors, rest,
                narrow_shared, best, out_ids, size,
            )  # fmt: skip
        else:
            dense = array_at(segment.dense, np.int64(1) << 48, np.int32)
            size = _select(
                segment, dense, branches, n_branches, norm, tile, n_places, keys, high, found, starts, cursors, rest,
                shared, best, out_ids, size,
            )  # fmt: skip
    return size


@inner
def _select(
    segment: Any,
    dense: Any,
    branches: Any,
    n_branches: Any,
    norm: Any,
    tile: Any,
    n_places: Any,
    keys: Any,
    high: Any,
    found: Any,
    starts: Any,
    cursors: Any,
    rest: Any,
    shared: Any,
    best: Any,
    out_ids: Any,
    size: Any,
) -> Any:
    """Merge documents of a tile into the best so far; return how many these are.

    Without k documents yet, those that hold most of the words come first: they give the score that others need.
    """
    first, lost = tile * segment.tile, segment.lost
    n_rows, n_lists = n_branches
    ids = array_at(segment.ids + 8 * first, n_places, np.int64)
    totals = array_at(segment.branches + 4 * first, n_places, np.int32)
    if n_lists > 0:
        share_lists(segment, branches, n_lists, n_places, shared)
    are_lists_in, are_rows_in = n_lists > 0, False
    for turn in range(0 if high > 0 else 1, 2):
        least = best[size - 1] if size == best.size else np.int64(0)
        enough = high if turn == 0 else max(np.int64(1), least - _MOST_TOPIC)
        n_found = _gather(segment, starts, cursors, _needed(best, size, rest), first, n_places, keys, enough, found)
        if not are_rows_in and n_found * _SPARSE > n_places:
            if not are_lists_in:
                shared[:n_places] = 0
            share_rows(segment, dense, branches, n_rows, tile, n_places, shared)
            are_lists_in = are_rows_in = True
        for entry in range(n_found):
            score, place = -(found[entry] >> 32), np.uint64(found[entry] & _PLACE)
            keys[place] = 0
            if score < enough:
                continue
            own = np.int64(shared[place]) if are_lists_in else np.int64(0)
            if not are_rows_in:
                own += shared_at(segment, dense, branches, n_rows, tile, np.int64(place))
            both = np.float64(max(np.int64(1), norm + totals[place]))
            score += TOPIC_WEIGHT * np.int64(np.float64((own >> lost) << (SHARE_BITS + 1)) / both)
            if score >= least:
                size = _insert(score, ids[place], best, out_ids, size)
                least = best[size - 1] if size == best.size else np.int64(0)
                enough = enough if turn == 0 else max(np.int64(1), least - _MOST_TOPIC)
    return size


@inner
def _gather(
    segment: Any,
    starts: Any,
    cursors: Any,
    n_needed: Any,
    first: Any,
    n_places: Any,
    keys: Any,
    enough: Any,
    found: Any,
) -> Any:
    """Write down the documents of a tile whose words give enough, with their keys; return how many there are.

    A document must hold one of the first words. Where few do, these are looked at, otherwise all.
    """
    n_entries = np.int64(0)
    for one in range(n_needed):
        n_entries += cursors[one] - starts[one]
    if n_entries * _FEW > n_places:
        return gather(keys, 0, n_places, -enough, found)[1]
    places, size = array_at(segment.list_places, segment.n_entries, np.int32), np.uint64(0)
    for one in range(n_needed):
        for position in range(np.uint64(starts[one]), np.uint64(cursors[one])):
            place = np.uint64(places[position] - first) % np.uint64(TILE)
            key = np.int64(keys[place])
            found[size] = key << 32 | np.int64(place)
            if key <= -enough and place < np.uint64(n_places):
                keys[place] = 0  # it may be in another list as well
                size += np.uint64(1)
    return np.int64(size)


@inner
def _add_lists(
    segment: Any,
    n_needed: Any,
    weights: Any,
    starts: Any,
    cursors: Any,
    stops: Any,
    first: Any,
    n_places: Any,
    keys: Any,
) -> Any:
    """Write for each document of a tile what the words give it, negated; 0 for those that are not held.

    Returns whether one of the first words, of which a document must hold one, is in the tile; writes nothing if not.
    """
    places = array_at(segment.list_places, segment.n_entries, np.int32)
    shares = array_at(segment.shares, segment.n_entries, np.uint16)
    held = array_at(segment.held + first, n_places, np.uint8)
    is_there = False
    for one in range(weights.size):
        starts[one] = cursors[one]
        cursors[one] = _look_up(places, np.uint64(starts[one]), np.uint64(stops[one]), first + n_places)
        is_there |= one < n_needed and cursors[one] > starts[one]
    if not is_there:
        return False
    keys[:n_places] = 0
    for one in range(weights.size):
        weight = np.int32(weights[one])
        for position in range(np.uint64(starts[one]), np.uint64(cursors[one])):
            keys[np.uint64(places[position] - first) % np.uint64(TILE)] -= weight * np.int32(shares[position])
    for place in range(n_places):
        keys[place] *= np.int32(held[place])
    keys[n_places : -(-n_places // BLOCK) * BLOCK] = 0
    return True


@inlined
def _needed(best: Any, size: Any, rest: Any) -> Any:
    """Return how many words, the heaviest, a document must hold one of to be among the best."""
    least = best[size - 1] if size == best.size else np.int64(0)
    n_needed = rest.size - 1
    while n_needed > 0 and rest[n_needed - 1] < least - _MOST_TOPIC:
        n_needed -= 1
    return n_needed


@inlined
def _find_lists(segment: Any, words: Any) -> Any:
    """Return where the list of each word begins, twice, and ends; what a damaged file places elsewhere is left out."""
    bounds = array_at(segment.list_bounds, segment.n_bounds, np.int64)
    found = np.zeros((3, words.size), np.int64)
    for one in range(words.size):
        word = np.int64(words[one])
        if word + 1 < segment.n_bounds and 0 <= bounds[word] <= bounds[word + 1] <= segment.n_entries:
            found[0, one] = found[1, one] = bounds[word]
            found[2, one] = bounds[word + 1]
    return found[0], found[1], found[2]


@inner
def _look_up(places: Any, start: Any, stop: Any, document: Any) -> Any:
    """Return the first position of a list, from `start` on, whose document is not before the one looked for."""
    step = np.uint64(1)
    while start + step < stop and places[start + step] < document:
        start += step
        step += step
    high = min(stop, start + step)
    while start < high:
        middle = (start + high) >> np.uint64(1)
        if places[middle] < document:
            start = middle + np.uint64(1)
        else:
            high = middle
    return np.int64(start)


@inner
def _insert(score: Any, number: Any, best: Any, out_ids: Any, size: Any) -> Any:
    """Put a document in its place among the best, if it has one; return how many these are."""
    place = size
    while place > 0 and (best[place - 1] < score or (best[place - 1] == score and out_ids[place - 1] > number)):
        if place < best.size:
            best[place], out_ids[place] = best[place - 1], out_ids[place - 1]
        place -= 1
    if place < best.size:
        best[place], out_ids[place] = score, number
    return min(size + 1, best.size)


@compiled
def fill_shares(plan: NDArray[np.int64], factor: int, shares: NDArray[np.uint16]) -> None:
    """Write count / (count + what the length adds) of every entry of the lists that a LISTS describes, rounded down.

    Quotients of doubles are exact enough for that: none is nearer below a whole number than one part of the divisor.
    """
    lists = array_at(plan.ctypes.data, 1, LISTS)[0]
    places, counts = (
        array_at(lists.places, lists.n_entries, np.int32),
        array_at(lists.counts, lists.n_entries, np.uint8),
    )
    lengths = array_at(lists.lengths, lists.n_documents, np.int32)
    for position in range(shares.size):
        count, place = np.int64(counts[position]), np.uint64(places[position])
        length = np.int64(lengths[place]) if place < np.uint64(lists.n_documents) else np.int64(0)
        added: Any = max(1, min(LONGEST, (FIRST_PART + length * factor) >> (FACTOR_BITS - LENGTH_BITS)))
        quotient = np.float64(count << (SHARE_BITS + LENGTH_BITS)) / np.float64((count << LENGTH_BITS) + added)
        shares[position] = np.uint16(quotient)
