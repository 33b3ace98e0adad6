"""Checks of segments that come from files: shapes, numbers, and that everything follows from the documents."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.search.segments import ARRAYS, BEYOND, Segment, turned_documents
from treewass.search.word_lists import LIST_ARRAYS, build_lists
from treewass.trees.columns import ABSENT, COUNT_BITS, TILE, Columns
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_contents", "check_documents", "check_shapes"]


def check_shapes(segment: Segment, metric: TreeMetric, name: str) -> None:
    """Demand that the arrays of a file fit each other and the metric in kind and size; reads next to nothing.

    Parameters
    ----------
    segment : Segment
        As read from a file.
    metric : TreeMetric
        The metric it was built with.
    name : str
        The file, for messages.

    Raises
    ------
    ValueError
        If a kind or a size does not fit.
    """
    for array, kinds in {**ARRAYS, **BEYOND}.items():
        kind = getattr(segment, array).dtype.name
        _demand(kind in kinds, name, f"{array} of kind {' or '.join(kinds)}, got {kind}")
    shape = segment.dense.shape
    _demand(len(shape) == 3, name, f"dense rows of shape (tiles, rows, tile), got {shape}")
    n_documents, n_tiles, tile = segment.ids.size, shape[0], segment.tile
    _demand(0 < tile <= TILE and tile % 64 == 0, name, f"tiles of a multiple of 64 up to {TILE}, got {tile}")
    expected = {
        "ids": n_documents,
        "held": n_documents,
        "document_bounds": n_documents + 1,
        "words": segment.weights.size,
        "weights": segment.weights.size,
        "norms": n_tiles * tile,
        "directory": metric.n_features,
        "tiles": segment.tiles.size if n_tiles > 1 else 0,
        "starts": segment.tiles.size + 1,
        "postings": segment.postings.size,
        **dict.fromkeys(BEYOND, segment.beyond_words.size),
    }
    for array, size in expected.items():
        found = getattr(segment, array).shape
        _demand(found == (size,), name, f"{array} of shape ({size},), got {found}")
    _demand(0 < n_documents <= n_tiles * tile < n_documents + tile, name, f"{n_documents} documents in {n_tiles} tiles")
    same_width = segment.is_narrow == (segment.postings.dtype == np.uint32)
    _demand(same_width, name, "dense rows and postings of the same width")
    _demand(0 <= segment.shift <= 16 * segment.is_narrow, name, f"a shift that fits the values, got {segment.shift}")
    _demand(segment.document_bounds[-1] == segment.words.size, name, "bounds of documents that end with their words")


def check_contents(segment: Segment, name: str) -> None:
    """Demand that every number in a segment is one that building it can give; reads all of it.

    Parameters
    ----------
    segment : Segment
        Of sound shapes.
    name : str
        The file, for messages.

    Raises
    ------
    ValueError
        If a number is out of its range, or an order is broken.
    """
    _demand(bool((np.diff(segment.ids) > 0).all()), name, "ascending ids")
    bounds = segment.document_bounds
    _demand(bounds[0] == 0 and bool((np.diff(bounds) >= 0).all()), name, "document_bounds that ascend from 0")
    _check_directory(segment, name)
    _demand(_within(segment.words, 0, segment.n_words), name, f"words from 0 to {segment.n_words - 1}")
    rising = segment.words[1:] > segment.words[:-1]
    rising[bounds[1:-1][(bounds[1:-1] > 0) & (bounds[1:-1] <= rising.size)] - 1] = True
    _demand(bool(rising.all()), name, "ascending words in every document")
    for weights in (segment.weights, segment.beyond_weights):
        heaviest = weights.max(initial=0)  # not a number if one of them is not
        _demand(bool(np.isfinite(heaviest) and weights.min(initial=0) >= 0), name, "finite weights of at least 0")
    beyond = segment.beyond_places.astype(np.int64) << 32 | segment.beyond_words
    _demand(bool((np.diff(beyond) > 0).all()), name, "words beyond the metric in order")
    _demand(_within(segment.beyond_places, 0, segment.ids.size), name, "words beyond the metric of its documents")
    _demand(_within(segment.beyond_words, segment.n_words, 2**31), name, "words beyond the metric")
    rows = ~segment.directory[segment.directory < 0]
    _demand(_within(rows, 0, segment.dense.shape[1]), name, "rows that exist")
    norms = segment.norms[segment.norms != ABSENT]
    _demand(_within(norms, 0, 2**30), name, "norms from 0 to 2**30")
    hidden = np.append(~segment.held, np.ones(segment.norms.size - segment.held.size, dtype=bool))
    _demand(bool((segment.norms[hidden] == ABSENT).all()), name, "no norm for a document that is not held")
    last_place = int(segment.postings.max(initial=0)) >> (16 if segment.is_narrow else 32)
    _demand(last_place < segment.tile, name, f"places from 0 to {segment.tile - 1}")


def _check_directory(segment: Segment, name: str) -> None:
    """Demand postings, and tiles where there are several, that follow each other as the directory lists them."""
    lists = segment.directory[segment.directory >= 0]
    starts, counts = lists >> COUNT_BITS, lists & ((1 << COUNT_BITS) - 1)
    several = segment.dense.shape[0] > 1
    _demand(np.array_equal(starts, np.cumsum(counts) - counts), name, "lists of postings one after the other")
    listed = segment.tiles.size if several else segment.postings.size
    what = "tiles" if several else "postings"
    _demand(int(counts.sum()) == listed, name, f"as many {what} as the directory lists")
    if several:
        begins = segment.starts.astype(np.int64)
        _demand(begins[0] == 0 and bool((np.diff(begins) > 0).all()), name, "postings of each tile one after the other")
        _demand(int(begins[-1]) == segment.postings.size, name, "as many postings as the directory lists")
        order = np.repeat(np.arange(counts.size), counts) << 16 | segment.tiles
        _demand(bool((np.diff(order) > 0).all()), name, "ascending tiles of each feature")
        _demand(_within(segment.tiles, 0, segment.dense.shape[0]), name, "tiles that exist")


def check_documents(segment: Segment, metric: TreeMetric, name: str) -> None:
    """Demand norms, dense rows, postings and lists of words as the documents give them, by embedding these again.

    Parameters
    ----------
    segment : Segment
        Of sound contents.
    metric : TreeMetric
        The metric it was built with.
    name : str
        The file, for messages.

    Raises
    ------
    ValueError
        If a number is another one.
    """
    made = turned_documents(
        metric,
        segment.document_bounds,
        segment.words,
        segment.weights,
        tile=segment.tile,
        narrow=segment.is_narrow,
    )
    made.norms[: segment.held.size][~segment.held] = ABSENT
    for one in fields(Columns):
        same = np.array_equal(getattr(made, one.name), getattr(segment, one.name))
        _demand(same, name, f"{one.name} as the documents and the metric give it")
    if segment.lists.n_bytes:  # in the file
        found, expected = segment.lists.get(metric, segment), build_lists(metric, segment)
        same = all(np.array_equal(getattr(found, array), getattr(expected, array)) for array in LIST_ARRAYS)
        _demand(same, name, "lists of words as the documents give them")


def _within(values: NDArray[Any], low: int, high: int) -> bool:
    return not values.size or bool(low <= values.min() and values.max() < high)


def _demand(holds: bool, name: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"Expected {expected}: {name} is damaged or belongs to another index.")
