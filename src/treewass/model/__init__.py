"""Models of labelled texts: one object from texts to labels, neighbours and explanations, and its folder on disk."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.model.document_model import DocumentModel
    from treewass.model.evaluation import Evaluation, evaluate
    from treewass.model.vectorizers import WordCounter

__all__ = ["DocumentModel", "Evaluation", "WordCounter", "evaluate"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "DocumentModel": ".document_model",
        "Evaluation": ".evaluation",
        "WordCounter": ".vectorizers",
        "evaluate": ".evaluation",
    },
)
