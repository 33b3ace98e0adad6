"""Learn a tree over words; compare, search, classify and explain documents with its Wasserstein distance."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.classify.classifier import TreeWassersteinClassifier
    from treewass.exceptions import EmptyDocumentWarning
    from treewass.learners.profile import ProfileTreeWasserstein
    from treewass.learners.quadtree import QuadtreeWasserstein
    from treewass.learners.sliced import TreeSlicedWasserstein
    from treewass.learners.stw import SupervisedTreeWasserstein
    from treewass.model.document_model import DocumentModel
    from treewass.search.index import TreeIndex
    from treewass.trees.metric import TreeMetric
    from treewass.trees.tree import Tree

__version__ = "0.1.0.dev0"
__all__ = [
    "DocumentModel",
    "EmptyDocumentWarning",
    "ProfileTreeWasserstein",
    "QuadtreeWasserstein",
    "SupervisedTreeWasserstein",
    "Tree",
    "TreeIndex",
    "TreeMetric",
    "TreeSlicedWasserstein",
    "TreeWassersteinClassifier",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "DocumentModel": ".model.document_model",
        "EmptyDocumentWarning": ".exceptions",
        "ProfileTreeWasserstein": ".learners.profile",
        "QuadtreeWasserstein": ".learners.quadtree",
        "SupervisedTreeWasserstein": ".learners.stw",
        "Tree": ".trees.tree",
        "TreeIndex": ".search.index",
        "TreeMetric": ".trees.metric",
        "TreeSlicedWasserstein": ".learners.sliced",
        "TreeWassersteinClassifier": ".classify.classifier",
    },
    subpackages=(
        "bench",
        "classify",
        "distances",
        "documents",
        "exceptions",
        "explain",
        "learners",
        "methods",
        "model",
        "plot",
        "report",
        "search",
        "trees",
    ),
)
