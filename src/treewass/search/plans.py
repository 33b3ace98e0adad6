"""All that a search works with, written down in one array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from treewass.search.layout import layout_of
from treewass.search.scratch import Scratch
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["make_plan"]


def make_plan(metric: TreeMetric, scratch: Scratch, segments: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the descriptions of a metric, of a thread's memory and of segments.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    scratch : Scratch
        Memory of the thread that will search.
    segments : iterable of ndarray of int64
        Descriptions of segments.

    Returns
    -------
    ndarray of int64
        One argument instead of many: handing an array to compiled code takes as long as scanning a few hundred
        numbers. Metric, scratch and segments must outlive it.
    """
    return np.concatenate([layout_of(metric).description, scratch.description, *segments])
