"""Learners: from documents to a tree metric."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.learners.profile import ProfileTreeWasserstein
    from treewass.learners.stars import bow_metric, tfidf_metric
    from treewass.learners.stw import SupervisedTreeWasserstein

__all__ = ["ProfileTreeWasserstein", "SupervisedTreeWasserstein", "bow_metric", "tfidf_metric"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "ProfileTreeWasserstein": ".profile",
        "SupervisedTreeWasserstein": ".stw",
        "bow_metric": ".stars",
        "tfidf_metric": ".stars",
    },
)
