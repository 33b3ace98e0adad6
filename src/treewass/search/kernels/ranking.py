"""The compiled ranking: documents by the words of a query that they hold, and the branches they share with it.

Words are taken in falling weight. Once k documents are found, those that hold only the last words, light ones, cannot
come in any more. So only documents in the lists of the other words, the shorter ones, are looked at, and branches are
compared only for those whose words give enough. Bounds are whole numbers like the scores, so that nothing is lost.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import array_at, compiled, inlined, inner
from treewass.compute.records import record_of
from treewass.search.kernels.selection import gather, key_bound
from treewass.search.kernels.shared_branches import share_at, share_lists, share_rows
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
from treewass.search.scratch import BLOCK, CLASSES, DESK, MOST_SORTED
from treewass.search.word_lists import LARGEST_COUNT, LARGEST_QUERY
from treewass.trees.column_kernels import look_up
from treewass.trees.columns import TILE
from treewass.trees.embedding_kernels import in_order, spread_document, touched_in
from treewass.trees.layout import METRIC, ROOM, WORD

__all__ = ["LISTS", "RANKED", "fill_shares", "rank_queries"]

RANKED = record_of(
    "list_bounds", "list_places", "shares", "branches", "ids", "held", "directory", "n_directory",
    "tiles", "starts", "n_places", "dense", "postings",
    "n_bounds", "n_entries", "n_documents", "n_tiles", "tile", "n_rows", "n_postings",
    "shift", "lost", "is_narrow",
)  # fmt: skip
LISTS = record_of("places", "counts", "lengths", "n_entries", "n_documents")
_ROOM_AT = METRIC.itemsize
_DESK_AT = _ROOM_AT + ROOM.itemsize
_RANKED_AT = _DESK_AT + DESK.itemsize
_RANKED_BYTES, _WORD_BYTES = RANKED.itemsize, WORD.itemsize
_SPARSE = 64  # branches are compared one by one where fewer than one document in so many may be among the best
_FEW = 4  # documents in lists are looked at one by one where they are fewer than one in so many of a tile
_MOST_TOPIC = TOPIC_WEIGHT << SHARE_BITS
_PLACE, _FOUND = np.int64(0xFFFFFFFF), TILE + BLOCK


class _Asked(NamedTuple):
    """How many words and internal nodes of a query are written down, the sum at these, and how many hits are wanted."""

    n_words: Any
    n_features: Any
    norm: Any
    k: Any


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

    `plan` is a METRIC, a ROOM, a DESK and the RANKED segments; `shift` is that of `branch_shift`. Returns -1, or a row
    that must be checked and mended.
    """
    address = plan.ctypes.data
    metric, room = array_at(address, 1, METRIC)[0], array_at(address + _ROOM_AT, 1, ROOM)[0]
    desk = array_at(address + _DESK_AT, 1, DESK)[0]
    segments = array_at(address + _RANKED_AT, (8 * plan.size - _RANKED_AT) // _RANKED_BYTES, RANKED)
    n_queries, k = out_ids.shape
    all_documents = _logarithm(2 * n_documents + 2)
    for query in range(n_queries):
        start, stop = np.int64(indptr[query]), np.int64(indptr[query + 1])
        if not 0 <= start <= stop <= min(words.size, counts.size):
            return query
        is_sound, own_words, own_counts = in_order(words[start:stop], counts[start:stop], np.int64(2**31 - 1))
        for entry in range(own_counts.size):
            is_sound &= own_counts[entry] == np.floor(own_counts[entry]) and own_counts[entry] <= LARGEST_QUERY
        if not is_sound:
            return query
        n_held = _weigh(own_words, own_counts, frequencies, all_documents, desk)
        n_features, norm = _branches_of(metric, room, own_words, own_counts, shift, desk)
        asked, size = _Asked(n_held, n_features, norm, k), np.int64(0)
        for number in range(segments.size):
            size = _rank_segment(segments[number], asked, desk, size)
        _write_best(desk, size, out_scores[query], out_ids[query])
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


@inlined
def _weigh(words: Any, counts: Any, frequencies: Any, all_documents: Any, desk: Any) -> Any:
    """Weigh the words that some document holds, as `word_weights` does, and bring them into falling order of weight.

    Writes the words, their weights, and the most that all words from one on can add to a score; returns how many
    words there are.
    """
    held, weights = array_at(desk.words, desk.n_words, np.int32), array_at(desk.weights, desk.n_words, np.int64)
    rest = array_at(desk.rest, desk.n_words, np.int64)
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
    rest[size] = 0
    for place in range(size - 1, -1, -1):
        weights[place] = (weights[place] << WEIGHT_BITS) // total
        rest[place] = rest[place + 1] + (weights[place] << SHARE_BITS)
    return size


@inlined
def _branches_of(metric: Any, room: Any, words: Any, counts: Any, shift: Any, desk: Any) -> Any:
    """Embed a query and write its internal nodes and their values less the last bits; return how many, and the sum."""
    n_known = 0
    while n_known < words.size and words[n_known] < metric.n_words:
        n_known += 1
    n_touched = max(0, spread_document(metric, room, words[:n_known], counts[:n_known]))
    touched, amounts = touched_in(room)
    features, values = array_at(desk.features, n_touched, np.int32), array_at(desk.values, n_touched, np.int64)
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
    return size, norm


@inner
def _rank_segment(segment: Any, asked: Any, desk: Any, size: Any) -> Any:
    """Merge the documents of a segment into the best so far; return how many these are."""
    _find_lists(segment, asked, desk)
    keys, classes = array_at(desk.keys, TILE, np.int32), array_at(desk.classes, CLASSES, np.int32)
    for tile in range(segment.n_tiles):
        n_places = min(segment.tile, segment.n_documents - tile * segment.tile)
        if not _add_lists(segment, asked, desk, _needed(asked, desk, size), tile * segment.tile, n_places):
            continue
        high = np.int64(0)  # a sum that k documents of the tile have, if there are not yet k others
        if size < asked.k:
            high = max(np.int64(0), -np.int64(key_bound(keys, n_places, asked.k, classes)))
        if segment.is_narrow:
            narrow, sums = array_at(segment.dense, np.int64(1) << 48, np.uint16), array_at(desk.shared, TILE, np.uint16)
            size = _select(segment, narrow, sums, asked, desk, tile, n_places, high, size)
        else:
            wide, totals = array_at(segment.dense, np.int64(1) << 48, np.int32), array_at(desk.shared, TILE, np.int32)
            size = _select(segment, wide, totals, asked, desk, tile, n_places, high, size)
    return size


@inner
def _select(
    segment: Any, dense: Any, shared: Any, asked: Any, desk: Any, tile: Any, n_places: Any, high: Any, size: Any
) -> Any:
    """Merge documents of a tile into the best so far; return how many these are.

    Without k documents yet, those that hold most of the words come first: they give the score that others need.
    """
    first, lost = tile * segment.tile, segment.lost
    notes = _notes(desk)
    n_rows, n_lists = look_up(segment, tile, *_features(asked, desk), *notes)
    keys, found = array_at(desk.keys, TILE, np.int32), array_at(desk.found, _FOUND, np.int64)
    sums = array_at(desk.sums, _FOUND, np.int64)
    ids = array_at(segment.ids + 8 * first, n_places, np.int64)
    totals = array_at(segment.branches + 4 * first, n_places, np.int32)
    if n_lists > 0:
        share_lists(segment, notes, n_lists, n_places, shared)
    are_lists_in, are_rows_in = n_lists > 0, False
    for turn in range(0 if high > 0 else 1, 2):
        least = _least(asked, desk, size)
        enough = high if turn == 0 else max(np.int64(1), least - _MOST_TOPIC)
        n_found = _gather(segment, desk, _needed(asked, desk, size), first, n_places, enough)
        if not are_rows_in and n_found * _SPARSE > n_places:
            if not are_lists_in:
                shared[:n_places] = 0
            share_rows(segment, dense, notes, n_rows, tile, n_places, shared)
            are_lists_in = are_rows_in = True
        for entry in range(n_found):
            place = np.uint64(found[entry] & _PLACE)
            keys[place] = 0
            sums[entry] = np.int64(shared[place]) >> lost if are_lists_in else np.int64(0)
        if not are_rows_in:
            share_at(segment, dense, notes, n_rows, tile, found, n_found, sums)
        for entry in range(n_found):
            both = np.float64(max(np.int64(1), asked.norm + totals[np.uint64(found[entry] & _PLACE)]))
            topic = np.int64(np.float64(sums[entry] << (SHARE_BITS + 1)) / both)
            sums[entry] = TOPIC_WEIGHT * topic - (found[entry] >> 32)
        for entry in range(n_found):
            if sums[entry] >= least:
                size = _insert(sums[entry], ids[np.uint64(found[entry] & _PLACE)], asked, desk, size)
                least = _least(asked, desk, size)
    return size


@inlined
def _notes(desk: Any) -> Any:
    """View where dense rows and lists of postings are written down, and the query's values there."""
    room = desk.n_notes
    return (
        array_at(desk.rows, room, np.uint64), array_at(desk.row_values, room, np.int32),
        array_at(desk.lists, room, np.int64), array_at(desk.list_values, room, np.int32),
    )  # fmt: skip


@inlined
def _features(asked: Any, desk: Any) -> Any:
    """View the internal nodes of the query and its values there."""
    return array_at(desk.features, asked.n_features, np.int32), array_at(desk.values, asked.n_features, np.int64)


@inlined
def _positions(desk: Any) -> Any:
    """View where the part of each list that lies in a tile begins, where it ends, and where the list ends."""
    room = desk.n_words
    return (
        array_at(desk.starts, room, np.int64), array_at(desk.cursors, room, np.int64),
        array_at(desk.stops, room, np.int64),
    )  # fmt: skip


@inner
def _gather(segment: Any, desk: Any, n_needed: Any, first: Any, n_places: Any, enough: Any) -> Any:
    """Write down the documents of a tile whose words give enough, with their keys; return how many there are.

    A document must hold one of the first words. Where few do, these are looked at, otherwise all.
    """
    keys, found = array_at(desk.keys, TILE, np.int32), array_at(desk.found, _FOUND, np.int64)
    starts, cursors, _ = _positions(desk)
    n_entries = np.int64(0)
    for one in range(n_needed):
        n_entries += cursors[one] - starts[one]
    if n_entries * _FEW > n_places:
        return gather(keys, 0, n_places, -enough, found)[1]
    places = array_at(segment.list_places, segment.n_entries, np.int32)
    size, most, room = np.uint64(0), np.int32(-enough), np.uint64(n_places)
    for one in range(n_needed):
        for position in range(np.uint64(starts[one]), np.uint64(cursors[one])):
            place = np.uint64(places[position] - first) % np.uint64(TILE)
            key = keys[place]
            found[size] = np.int64(key) << 32 | np.int64(place)
            is_enough = (key <= most) & (place < room)
            keys[place] = np.int32(0) if is_enough else key  # it may be in another list as well
            size += np.uint64(is_enough)
    return np.int64(size)


@inner
def _add_lists(segment: Any, asked: Any, desk: Any, n_needed: Any, first: Any, n_places: Any) -> Any:
    """Write for each document of a tile what the words give it, negated; 0 for those that are not held.

    Returns whether one of the first words, of which a document must hold one, is in the tile; writes nothing if not.
    """
    keys, weights = array_at(desk.keys, TILE, np.int32), array_at(desk.weights, asked.n_words, np.int64)
    starts, cursors, stops = _positions(desk)
    places = array_at(segment.list_places, segment.n_entries, np.int32)
    shares = array_at(segment.shares, segment.n_entries, np.uint16)
    held = array_at(segment.held + first, n_places, np.uint8)
    is_there = False
    for one in range(asked.n_words):
        starts[one] = cursors[one]
        cursors[one] = _look_up(places, np.uint64(starts[one]), np.uint64(stops[one]), first + n_places)
        is_there |= one < n_needed and cursors[one] > starts[one]
    if not is_there:
        return False
    keys[:n_places] = 0
    for one in range(asked.n_words):
        weight = np.int32(weights[one])
        for position in range(np.uint64(starts[one]), np.uint64(cursors[one])):
            keys[np.uint64(places[position] - first) % np.uint64(TILE)] -= weight * np.int32(shares[position])
    for place in range(n_places):
        keys[place] *= np.int32(held[place])
    keys[n_places : -(-n_places // BLOCK) * BLOCK] = 0
    return True


@inlined
def _least(asked: Any, desk: Any, size: Any) -> Any:
    """Return the score that a document needs to be among the best; the last of k is the worst."""
    return array_at(desk.best, MOST_SORTED, np.int64)[size - 1] if size == asked.k else np.int64(0)


@inlined
def _needed(asked: Any, desk: Any, size: Any) -> Any:
    """Return how many words, the heaviest, a document must hold one of to be among the best."""
    least, n_needed, rest = _least(asked, desk, size), asked.n_words, array_at(desk.rest, desk.n_words, np.int64)
    while n_needed > 0 and rest[n_needed - 1] < least - _MOST_TOPIC:
        n_needed -= 1
    return n_needed


@inlined
def _find_lists(segment: Any, asked: Any, desk: Any) -> None:
    """Write where the list of each word begins, and ends; what a damaged file places elsewhere is left out."""
    bounds, words = (
        array_at(segment.list_bounds, segment.n_bounds, np.int64),
        array_at(desk.words, desk.n_words, np.int32),
    )
    _, cursors, stops = _positions(desk)
    for one in range(asked.n_words):
        word = np.int64(words[one])
        is_there = word + 1 < segment.n_bounds and 0 <= bounds[word] <= bounds[word + 1] <= segment.n_entries
        cursors[one] = bounds[word] if is_there else 0
        stops[one] = bounds[word + 1] if is_there else 0


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


@inlined
def _best(desk: Any) -> Any:
    """View the scores and ids of the best so far."""
    return array_at(desk.best, MOST_SORTED, np.int64), array_at(desk.best_ids, MOST_SORTED, np.int64)


@inner
def _insert(score: Any, number: Any, asked: Any, desk: Any, size: Any) -> Any:
    """Put a document among the best, if it belongs there; return how many these are."""
    best, ids = _best(desk)
    last = asked.k - 1
    if size <= last:
        best[size], ids[size] = score, number
        size += 1
    elif score > best[last] or (score == best[last] and number < ids[last]):
        best[last], ids[last] = score, number
    if size > last:
        worst = last
        for place in range(last):
            if best[place] < best[worst] or (best[place] == best[worst] and ids[place] > ids[worst]):
                worst = place
        best[worst], best[last] = best[last], best[worst]
        ids[worst], ids[last] = ids[last], ids[worst]
    return size


@inlined
def _write_best(desk: Any, size: Any, out_scores: Any, out_ids: Any) -> None:
    """Write the best in falling order of score and ascending order of id."""
    best, ids = _best(desk)
    out_scores[size:], out_ids[size:] = 0.0, -1
    for one in range(size):
        score, number, place = best[one], ids[one], 0
        for other in range(size):
            place += (best[other] > score) | ((best[other] == score) & (ids[other] < number))
        out_scores[place], out_ids[place] = math.ldexp(float(score), -SCORE_BITS), number


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
