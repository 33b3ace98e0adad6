"""Classify: nearest neighbours and their votes."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.classify.classifier import TreeWassersteinClassifier
    from treewass.classify.compared import ComparedNeighbors
    from treewass.classify.votes import distance_vote, fallback_vote, majority_vote

__all__ = ["ComparedNeighbors", "TreeWassersteinClassifier", "distance_vote", "fallback_vote", "majority_vote"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "ComparedNeighbors": ".compared",
        "TreeWassersteinClassifier": ".classifier",
        "distance_vote": ".votes",
        "fallback_vote": ".votes",
        "majority_vote": ".votes",
    },
)
