"""The documents of a segment, embedded: to compare few of them again, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treewass.search.layout import layout_of
from treewass.search.segments import LONG, Segment
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Embedded", "embedded_documents"]

EMBEDDED_LIMIT = 32768  # documents that are not long; those of larger segments are embedded again from their words


class Embedded(NamedTuple):
    """Documents as features (upper half) and values in units (lower half): where each begins, and both in one."""

    bounds: NDArray[np.int64]
    entries: NDArray[np.int64]


def embedded_documents(metric: TreeMetric, segment: Segment) -> Embedded | None:
    """Return the embedded documents of a narrow segment, made on first use and kept with it.

    None for a segment that holds values whole, or so many documents that this would take too much memory, or words
    that only a damaged file can hold.

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> from treewass.search.segments import build_segment
    >>> from treewass.trees import star_tree
    >>> metric = TreeMetric(star_tree(2))
    >>> embedded_documents(metric, build_segment(metric, check_counts([[1, 0]]))) is None
    True
    """
    few = segment.ids.size <= EMBEDDED_LIMIT and segment.words.size <= LONG * EMBEDDED_LIMIT
    if not segment.is_narrow or not few:
        return None
    if "_embedded" not in vars(segment):
        vars(segment).setdefault("_embedded", _embed(metric, segment))  # what another thread made, if it was first
    kept: Embedded | None = vars(segment)["_embedded"]
    return kept


def _embed(metric: TreeMetric, segment: Segment) -> Embedded | None:
    from treewass.search.kernels.embedding import embed_rows

    arrays = (segment.document_bounds.astype(np.int32), np.array(segment.words), segment.weights.astype(np.float64))
    row, bounds, features, values = embed_rows(layout_of(metric).description, *arrays, True)
    return Embedded(bounds, features.astype(np.int64) << 32 | values.astype(np.int64)) if row < 0 else None
