"""Distances between documents that are not L1 distances of an embedding."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.distances.centroid import centroid_distance
    from treewass.distances.constrained import act
    from treewass.distances.entropic import sinkhorn
    from treewass.distances.inputs import check_vectors, covered_histograms
    from treewass.distances.relaxed import rwmd
    from treewass.distances.swmd import SupervisedWordMover
    from treewass.distances.swmd_training import SwmdRecord
    from treewass.distances.word_mover import wmd
    from treewass.distances.word_mover_search import wmd_neighbors

__all__ = [
    "SupervisedWordMover",
    "SwmdRecord",
    "act",
    "centroid_distance",
    "check_vectors",
    "covered_histograms",
    "rwmd",
    "sinkhorn",
    "wmd",
    "wmd_neighbors",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "SupervisedWordMover": ".swmd",
        "SwmdRecord": ".swmd_training",
        "act": ".constrained",
        "centroid_distance": ".centroid",
        "check_vectors": ".inputs",
        "covered_histograms": ".inputs",
        "rwmd": ".relaxed",
        "sinkhorn": ".entropic",
        "wmd": ".word_mover",
        "wmd_neighbors": ".word_mover_search",
    },
)
