"""Distances between documents that are not L1 distances of an embedding."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.distances.inputs import check_vectors, covered_histograms

__all__ = ["check_vectors", "covered_histograms"]
__getattr__, __dir__ = attach(
    __name__,
    {"check_vectors": ".inputs", "covered_histograms": ".inputs"},
)
