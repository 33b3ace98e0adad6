"""All that a search works with, written down in one array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from treewass.search.embedded import Embedded, embedded_documents
from treewass.search.layout import layout_of
from treewass.search.scratch import Scratch
from treewass.search.segments import EMBEDDED, EMBEDDED_BOUNDS, N_EMBEDDED, Segment
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["make_plan"]


def make_plan(metric: TreeMetric, scratch: Scratch, segments: Iterable[Segment]) -> NDArray[np.int64]:
    """Join the descriptions of a metric, of a thread's memory and of segments.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    scratch : Scratch
        Memory of the thread that will search.
    segments : iterable of Segment
        Documents.

    Returns
    -------
    ndarray of int64
        One argument instead of many: handing an array to compiled code takes as long as scanning a few hundred
        numbers. Metric, scratch and segments must outlive it.
    """
    searched = [_described(segment, embedded_documents(metric, segment)) for segment in segments]
    return np.concatenate([layout_of(metric).description, scratch.description, *searched])


def _described(segment: Segment, embedded: Embedded | None) -> NDArray[np.int64]:
    """Describe a segment, with its embedded documents if there are any."""
    if embedded is None:
        return segment.description
    description = segment.description.copy()
    description[EMBEDDED_BOUNDS] = embedded.bounds.ctypes.data
    description[EMBEDDED] = embedded.entries.ctypes.data
    description[N_EMBEDDED] = embedded.entries.size
    return description
