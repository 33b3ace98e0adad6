"""``python -m treewass_bench synthetic``: the paper's table 2 and figure 1, on documents of ten instruments."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.synthetic import INSTRUMENTS, make_instruments
from treewass_bench.cells import Cell
from treewass_bench.datasets import Split, load_vectors
from treewass_bench.layout import figure, mean_figure, table
from treewass_bench.methods import tree_learner
from treewass_bench.rows import Row, Value

if TYPE_CHECKING:
    from treewass.documents import AlignedVectors

__all__ = [
    "PUBLISHED_SYNTHETIC",
    "SYNTHETIC_METHODS",
    "TREE_METHODS",
    "draw_instruments",
    "instrument_split",
    "synthetic_cells",
    "synthetic_markdown",
]

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
PUBLISHED_SYNTHETIC = {"quadtree": 0.3, "flowtree": 1.6, "tsw-1": 7.5, "tsw-5": 4.2, "tsw-10": 3.9, "stw": 0.0}
_TITLES = {
    "quadtree": "Quadtree",
    "flowtree": "Flowtree",
    "tsw-1": "TSW-1",
    "tsw-5": "TSW-5",
    "tsw-10": "TSW-10",
    "stw": "STW",
    "profile": "**treewass**",
}
_DRAWN = {"quadtree": "Quadtree", "tsw-1": "TSW", "stw": "STW"}
_MEASURES = {
    "ours, fall-back vote from k = 19": "error_percent",
    "ours, nearest neighbour alone": "nearest_error_percent",
}


def synthetic_cells(data: str | os.PathLike[str] | None = None, seeds: int = _SEEDS) -> list[Cell]:
    """List the cells of the synthetic set: errors by method and seed, and the trees of the first seed.

    Parameters
    ----------
    data : path-like, optional
        Folder of ``word_vectors.npz``; that of the variable TREEWASS_DATA by default.
    seeds : int, default=10
        How many corpora to draw.
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
    from treewass.trees import to_json

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
        from treewass.classify import ComparedNeighbors
        from treewass.distances import flowtree

        settings = {"random_state": seed}
        return ComparedNeighbors(distance=flowtree, word_vectors=vectors, settings=settings, n_neighbors=n_neighbors)
    from treewass import TreeWassersteinClassifier

    return TreeWassersteinClassifier(_transformer(method, seed, vectors), n_neighbors=n_neighbors, vote="fallback")


def _transformer(method: str, seed: int, vectors: AlignedVectors | None) -> Any:
    """Make the unfitted tree of a method."""
    small = {"arity": 5, "depth": 1} if method == "stw" else {}
    return tree_learner(method, vectors, random_state=seed, **small)


def synthetic_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors on the synthetic set, the published ones beside.

    Examples
    --------
    >>> case, measures = {"measure": "error", "method": "stw", "seed": 0}, {"error_percent": 0.0}
    >>> print(synthetic_markdown([Row("synthetic", case, measures, "", environment={})]).splitlines()[2])
    | published | 0.0 |
    """
    errors = [row for row in rows if row.case["measure"] == "error"]
    methods = [name for name in SYNTHETIC_METHODS if any(row.case["method"] == name for row in errors)]
    lines = [("published", [figure(PUBLISHED_SYNTHETIC.get(method)) for method in methods])]
    for title, measure in _MEASURES.items():
        lines.append((title, [mean_figure(_values(errors, method, measure)) for method in methods]))
    seeds = len({row.case["seed"] for row in errors})
    return table("test error in %", [_TITLES[method] for method in methods], lines) + (
        f"\nMeans and standard deviations over {seeds} corpora of 1000 documents to learn from and 1000 to test; every "
        "non-empty set of the ten words is equally likely. The paper says neither how documents are drawn nor k. "
        f"{_missing(errors)}STW and treewass use no vectors.\n"
    )


def _values(rows: Iterable[Row], method: str, measure: str) -> list[float]:
    found = [row.measures.get(measure) for row in rows if row.case["method"] == method]
    return [value for value in found if isinstance(value, int | float)]


def _missing(rows: Iterable[Row]) -> str:
    """Say which words have no vector."""
    words = sorted({word for row in rows for word in str(row.measures.get("words_without_vector") or "").split()})
    if not words:
        return ""
    return (
        f"Our file of GloVe vectors (100 dimensions; the paper: word2vec, 300) lacks {' and '.join(words)}: these "
        "carry no mass for Quadtree, Flowtree and TSW, and documents of them alone count as errors. "
    )


def draw_instruments(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw the trees of Quadtree, TSW and STW side by side: the paper's figure 1."""
    from treewass.trees import TreeMetric, from_json
    from treewass_bench.drawing import draw_tree, panels, save_figure

    found = {row.case["method"]: row.measures for row in rows if row.case["measure"] == "tree"}
    canvas, axes = panels(1, 3, (9.6, 3.2))
    for ax, (method, title) in zip(axes, _DRAWN.items(), strict=True):
        ax.set_title(title)
        ax.set_axis_off()
        metric = from_json(str(found[method]["tree"])) if method in found else None
        if isinstance(metric, TreeMetric):
            draw_tree(ax, metric, str(found[method]["words"]).split(), telling=("piano", "violin"))
    save_figure(canvas, path)
