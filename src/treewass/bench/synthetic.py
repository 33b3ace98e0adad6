"""``treewass bench synthetic``: the paper's table 2 and the trees of its figure 1, on documents of ten instruments."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.cells import Cell
from treewass.bench.datasets import Split, load_vectors
from treewass.bench.rows import Value
from treewass.documents.instruments import INSTRUMENTS, make_instruments

if TYPE_CHECKING:
    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["SYNTHETIC_METHODS", "TREE_METHODS", "instrument_split", "synthetic_cells"]

SYNTHETIC_METHODS = ("quadtree", "flowtree", "tsw-1", "tsw-5", "tsw-10", "stw", "profile")
TREE_METHODS = ("quadtree", "tsw-1", "stw", "profile")
_SEEDS, _DOCUMENTS = 10, 1000
_NEIGHBORS = 19
_SECONDS = {"flowtree": 1.5, "stw": 1.5, "profile": 2.0}
_PROTOCOL = (
    f"{_DOCUMENTS} documents to learn from and {_DOCUMENTS} to test, drawn with the seed, which is also the method's; "
    "every non-empty set of the ten words is equally likely; fall-back vote from k = 19, and the nearest neighbour "
    "alone; STW: margin 10, perfect 5-ary tree of depth 1; a word without a vector carries no mass, and a document of "
    "such words alone is given the larger class"
)
_TREE_PROTOCOL = f"the tree that the method builds with seed 0 from {_DOCUMENTS} documents, as treewass.trees.to_json"


def synthetic_cells(data: str | os.PathLike[str] | None = None, seeds: int = _SEEDS) -> list[Cell]:
    """List the cells of the synthetic set: errors by method and seed, and the trees of the first seed.

    Parameters
    ----------
    data : path-like, optional
        Folder of ``word_vectors.npz``; that of the variable TREEWASS_DATA by default.
    seeds : int, default=10
        How many corpora to draw.

    Returns
    -------
    list of Cell
    """
    errors = [
        Cell(
            "synthetic",
            {"measure": "error", "method": method, "seed": seed},
            partial(_error, method, seed, data),
            _PROTOCOL,
            _SECONDS.get(method, 0.2),
        )
        for seed in range(seeds)
        for method in SYNTHETIC_METHODS
    ]
    trees = [
        Cell(
            "synthetic",
            {"measure": "tree", "method": method, "seed": 0},
            partial(_tree, method, data),
            _TREE_PROTOCOL,
            _SECONDS.get(method, 0.2),
        )
        for method in TREE_METHODS
    ]
    return errors + trees


@lru_cache(maxsize=1)
def instrument_split(seed: int) -> Split:
    """Draw instruments to learn from and to test.

    Parameters
    ----------
    seed : int

    Returns
    -------
    Split
        Its words are all ten instruments, sorted.

    Examples
    --------
    >>> split = instrument_split(0)
    >>> split.X_train.shape, split.X_test.shape, split.words[0]
    ((1000, 10), (1000, 10), 'cello')
    """
    from sklearn.feature_extraction.text import CountVectorizer

    corpus = make_instruments(2 * _DOCUMENTS, random_state=seed)
    words = np.array(sorted(INSTRUMENTS), dtype=object)
    counts = CountVectorizer(vocabulary=words).transform(corpus.texts)
    labels, texts = np.array(corpus.labels), list(corpus.texts)
    first, second = slice(None, _DOCUMENTS), slice(_DOCUMENTS, None)
    return Split(words, counts[first], labels[first], counts[second], labels[second], texts[first], texts[second])


def _error(method: str, seed: int, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Measure a method on the corpus of a seed, with nineteen neighbours and with one."""
    split = instrument_split(seed)
    vectors = load_vectors(split.words, data) if _needs_vectors(method) else None
    missing = [] if vectors is None else split.words[~vectors.covered].tolist()
    measures: dict[str, Value] = {}
    for name, n_neighbors in (("error_percent", _NEIGHBORS), ("nearest_error_percent", 1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # documents of words without a vector
            model = _classifier(method, seed, n_neighbors, vectors).fit(split.X_train, split.y_train)
            measures[name] = round(100 * float(np.mean(model.predict(split.X_test) != split.y_test)), 3)
    measures["words_without_vector"] = " ".join(missing)
    return measures


def _tree(method: str, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Build the tree of a method, and write it down."""
    from treewass.trees.exports import to_json

    split = instrument_split(0)
    vectors = load_vectors(split.words, data) if _needs_vectors(method) else None
    metric = _transformer(method, 0, vectors).fit(split.X_train, split.y_train).metric_
    words: Sequence[str] = split.words.tolist()
    return {"words": " ".join(words), "tree": to_json(metric)}


def _needs_vectors(method: str) -> bool:
    return method not in ("stw", "profile")


def _classifier(method: str, seed: int, n_neighbors: int, vectors: AlignedVectors | None) -> Any:
    """Make the unfitted classifier of a method."""
    if method == "flowtree":
        from treewass.classify.compared import ComparedNeighbors
        from treewass.distances.flowtrees import flowtree

        settings = {"random_state": seed}
        return ComparedNeighbors(distance=flowtree, word_vectors=vectors, settings=settings, n_neighbors=n_neighbors)
    from treewass.classify.classifier import TreeWassersteinClassifier

    return TreeWassersteinClassifier(_transformer(method, seed, vectors), n_neighbors=n_neighbors, vote="fallback")


def _transformer(method: str, seed: int, vectors: AlignedVectors | None) -> Any:
    """Make the unfitted tree of a method."""
    from treewass.learners import (
        ProfileTreeWasserstein,
        QuadtreeWasserstein,
        SupervisedTreeWasserstein,
        TreeSlicedWasserstein,
    )

    if method == "stw":
        return SupervisedTreeWasserstein(arity=5, depth=1, random_state=seed)
    if method == "profile":
        return ProfileTreeWasserstein(random_state=seed)
    if method == "quadtree":
        return QuadtreeWasserstein(word_vectors=vectors, random_state=seed)
    return TreeSlicedWasserstein(n_trees=int(method.removeprefix("tsw-")), word_vectors=vectors, random_state=seed)
