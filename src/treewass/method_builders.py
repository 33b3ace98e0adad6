"""How the methods of the registry are built: each function here returns one that makes an unfitted classifier.

Nothing is imported before a method is built.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["Build", "compared", "linear", "neighbours", "searched", "sentences", "with_vectors"]

Build = Callable[..., Any]


def _load(place: str) -> Any:
    """Import a name given as ``module:name``."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


def neighbours(metric: str | None = None, vote: str = "fallback", **settings: Any) -> Build:
    """Classify on the search engine: by the name of a metric, or by a transformer given as ``module:class``."""

    def build(vectors: Any) -> Any:
        chosen: Any = metric
        if metric is not None and ":" in metric:
            given = settings if vectors is None else {**settings, "word_vectors": vectors}
            chosen = _load(metric)(**given)
        return _load("treewass.classify.classifier:TreeWassersteinClassifier")(chosen, vote=vote)

    return build


def compared(distance: str, **settings: Any) -> Build:
    """Classify by a function ``f(X, Y, word_vectors=…)`` or an estimator with ``pairwise``, as ``module:name``."""

    def build(vectors: Any) -> Any:
        chosen, given = _load(distance), settings
        if isinstance(chosen, type):
            chosen, given = chosen(word_vectors=vectors, **settings), {}
        model = _load("treewass.classify.compared:ComparedNeighbors")
        return model(distance=chosen, word_vectors=vectors, settings=given)

    return build


def searched(search: str, **settings: Any) -> Build:
    """Classify by a function that finds neighbours without all distances, given as ``module:function``."""

    def build(vectors: Any) -> Any:
        model = _load("treewass.classify.compared:ComparedNeighbors")
        return model(search=_load(search), word_vectors=vectors, settings=settings)

    return build


def with_vectors(classifier: str) -> Build:
    """Build a classifier that takes word vectors itself, given as ``module:class``."""
    return lambda vectors: _load(classifier)(word_vectors=vectors)


def linear(kind: str) -> Build:
    """Build a linear model whose penalty is chosen by cross-validation, ``"svm"`` or ``"logistic"``."""
    return lambda _: _load("treewass.bench.linear_models:TunedLinear")(kind)


def sentences() -> Build:
    """Build nearest neighbours of sentence embeddings, which take texts instead of counts."""
    return lambda _: _load("treewass.bench.sentences:SentenceNeighbors")()
