"""Learners: from documents to a tree metric."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.learners.edge_lengths import fit_edge_lengths
    from treewass.learners.profile import ProfileTreeWasserstein
    from treewass.learners.quadtree import QuadtreeWasserstein
    from treewass.learners.sliced import TreeSlicedWasserstein
    from treewass.learners.stars import bow_metric, tfidf_metric
    from treewass.learners.stw import SupervisedTreeWasserstein

__all__ = [
    "ProfileTreeWasserstein",
    "QuadtreeWasserstein",
    "SupervisedTreeWasserstein",
    "TreeSlicedWasserstein",
    "bow_metric",
    "fit_edge_lengths",
    "tfidf_metric",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "ProfileTreeWasserstein": ".profile",
        "QuadtreeWasserstein": ".quadtree",
        "SupervisedTreeWasserstein": ".stw",
        "TreeSlicedWasserstein": ".sliced",
        "bow_metric": ".stars",
        "fit_edge_lengths": ".edge_lengths",
        "tfidf_metric": ".stars",
    },
)
