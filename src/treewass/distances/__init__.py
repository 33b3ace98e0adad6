"""Distances between documents that are not L1 distances of an embedding."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.distances.centroid import centroid_distance
    from treewass.distances.constrained import act
    from treewass.distances.entropic import sinkhorn
    from treewass.distances.flowtrees import Flowtree, WordFlows, flowtree, flowtree_flows
    from treewass.distances.inputs import check_vectors, covered_histograms
    from treewass.distances.relaxed import rwmd
    from treewass.distances.swmd import SupervisedWordMover
    from treewass.distances.swmd_training import SwmdRecord
    from treewass.distances.unbalanced import unbalanced_distance
    from treewass.distances.word_mover import wmd
    from treewass.distances.word_mover_search import wmd_neighbors

__all__ = [
    "Flowtree",
    "SupervisedWordMover",
    "SwmdRecord",
    "WordFlows",
    "act",
    "centroid_distance",
    "check_vectors",
    "covered_histograms",
    "flowtree",
    "flowtree_flows",
    "rwmd",
    "sinkhorn",
    "unbalanced_distance",
    "wmd",
    "wmd_neighbors",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Flowtree": ".flowtrees",
        "SupervisedWordMover": ".swmd",
        "SwmdRecord": ".swmd_training",
        "WordFlows": ".flowtrees",
        "act": ".constrained",
        "centroid_distance": ".centroid",
        "check_vectors": ".inputs",
        "covered_histograms": ".inputs",
        "flowtree": ".flowtrees",
        "flowtree_flows": ".flowtrees",
        "rwmd": ".relaxed",
        "sinkhorn": ".entropic",
        "unbalanced_distance": ".unbalanced",
        "wmd": ".word_mover",
        "wmd_neighbors": ".word_mover_search",
    },
)
