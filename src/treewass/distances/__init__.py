"""Distances between documents that are not L1 distances of an embedding."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.distances.flowtrees import Flowtree, WordFlows, flowtree, flowtree_flows
    from treewass.distances.inputs import check_vectors, covered_histograms
    from treewass.distances.unbalanced import unbalanced_distance

__all__ = [
    "Flowtree",
    "WordFlows",
    "check_vectors",
    "covered_histograms",
    "flowtree",
    "flowtree_flows",
    "unbalanced_distance",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Flowtree": ".flowtrees",
        "WordFlows": ".flowtrees",
        "check_vectors": ".inputs",
        "covered_histograms": ".inputs",
        "flowtree": ".flowtrees",
        "flowtree_flows": ".flowtrees",
        "unbalanced_distance": ".unbalanced",
    },
)
