"""The methods of this library by name: how to build each, what it needs, whose it is.

The benchmarks and the table in the documentation read `METHODS`. Nothing is imported before a method is built, and
methods are named by the public names of their packages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

__all__ = ["KINDS", "METHODS", "Build", "Method", "compared", "methods_markdown", "neighbors"]

Build = Callable[..., Any]
KINDS = ("tree metric", "distance", "linear model")
NEEDS = ("labels", "vectors", "texts", "clean texts", "POT", "torch")
_FALLBACK, _CALIBRATED = "fall-back, k=19", "distance, k=19, calibrated"
_SEARCH = "O(s d) to embed, then the index"
_STAR = "O(s) to embed, then the index"
_MARGINS = (10.0, 5.0, 20.0)
_PROFILE = "treewass:ProfileTreeWasserstein"


@dataclass(frozen=True, slots=True)
class Method:
    """A way to classify word counts.

    Parameters
    ----------
    title : str
        What it is called in tables.
    kind : {"tree metric", "distance", "linear model"}
        A tree metric runs on the search engine; a distance compares a document with every other one.
    vote : str
        How neighbours decide, for the rows of benchmarks.
    configuration : str
        All that matters for repeating it.
    build : callable
        Called with `vectors` (AlignedVectors, or None where it needs none), makes the unfitted classifier.
    needs : tuple of str
        What it learns from or runs on, among ``"labels"``, ``"vectors"``, ``"texts"`` or ``"clean texts"`` (the words
        that are counted, with spaces between them) in the place of counts, ``"POT"`` and ``"torch"``.
    complexity : str
        Time of one distance, s words a document; d the depth of the tree, or the dimensions of vectors.
    citation : str
        Who proposed it.
    """

    title: str
    kind: str
    vote: str
    configuration: str
    build: Build
    needs: tuple[str, ...]
    complexity: str
    citation: str

    def __post_init__(self) -> None:
        unknown = sorted(set(self.needs) - set(NEEDS))
        if self.kind not in KINDS or unknown:
            raise ValueError(f"Expected a kind of {KINDS} and needs of {NEEDS}, got {self.kind!r} and {unknown}.")

    def make(self, vectors: Any = None) -> Any:
        """Build the unfitted classifier, with the vectors (AlignedVectors) of the words where the method needs them.

        It has ``fit(X, y)``, ``predict(X)``, ``classes_`` and, but for a linear SVM, ``predict_proba(X)``.

        Examples
        --------
        >>> METHODS["bow"].make()
        TreeWassersteinClassifier(metric='bow', vote='fallback')
        """
        if "vectors" in self.needs and vectors is None:
            raise ValueError(f"Expected word vectors for {self.configuration}, got None.")
        return self.build(vectors)


def neighbors(metric: str | None = None, vote: str = "fallback", linear: bool = False, **settings: Any) -> Build:
    """Classify on the search engine: by the name of a metric, or by a transformer given as ``module:class``.

    Neighbours alone decide, unless there is a linear channel.
    """

    def build(vectors: Any) -> Any:
        chosen: Any = metric
        if metric is not None and ":" in metric:
            given = settings if vectors is None else {**settings, "word_vectors": vectors}
            chosen = _load(metric)(**given)
        alone = {"linear": False} if vote == "distance" and not linear else {}
        return _load("treewass:TreeWassersteinClassifier")(chosen, vote=vote, **alone)

    return build


def compared(distance: str, **settings: Any) -> Build:
    """Classify by a function ``f(X, Y, word_vectors=…)`` or an estimator with ``pairwise``, as ``module:name``."""

    def build(vectors: Any) -> Any:
        chosen, given = _load(distance), settings
        if isinstance(chosen, type):
            chosen, given = chosen(word_vectors=vectors, **settings), {}
        return _compared_neighbors(vectors, distance=chosen, settings=given)

    return build


def _compared_neighbors(vectors: Any, **arguments: Any) -> Any:
    return _load("treewass.classify:ComparedNeighbors")(word_vectors=vectors, **arguments)


def _load(place: str) -> Any:
    """Import a name given as ``module:name``."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


def _tree_metric(
    title: str,
    configuration: str,
    metric: str | None,
    citation: str = "this library",
    *needs: str,
    vote: str = "fallback",
    complexity: str = _SEARCH,
    **settings: Any,
) -> Method:
    """Describe a metric on the search engine, made as in `neighbors`."""
    rule = _CALIBRATED if vote == "distance" else _FALLBACK
    build = neighbors(metric, vote, **settings)
    return Method(title, "tree metric", rule, configuration, build, needs, complexity, citation)


def _distance(title: str, configuration: str, build: Build, complexity: str, citation: str, *needs: str) -> Method:
    """Describe a distance that compares documents by the vectors of their words."""
    return Method(title, "distance", _FALLBACK, configuration, build, ("vectors", *needs), complexity, citation)


def _constrained(iterations: int) -> Method:
    build = compared("treewass.distances:act", iterations=iterations)
    name, configuration = f"ACT-{iterations}", f"act(iterations={iterations})"
    return _distance(name, configuration, build, "O(s) a row of a table", "Atasu & Mittelholzer 2019")


def _sliced(n_trees: int) -> Method:
    configuration, complexity = f"TreeSlicedWasserstein(n_trees={n_trees})", f"{n_trees} × TSW-1"
    return _tree_metric(
        f"TSW-{n_trees}",
        configuration,
        "treewass:TreeSlicedWasserstein",
        "Le et al. 2019",
        "vectors",
        complexity=_SEARCH if n_trees == 1 else complexity,
        n_trees=n_trees,
    )


def _published_sliced(n_trees: int) -> Method:
    """Describe sliced trees that hold documents by clusters, as published, on unit vectors."""
    build = neighbors("treewass:TreeSlicedWasserstein", n_trees=n_trees, words="clusters")
    return replace(
        _sliced(n_trees),
        title=f"TSW-{n_trees}, clusters",
        configuration=f"TreeSlicedWasserstein(n_trees={n_trees}, words='clusters') on vectors of length one",
        build=lambda vectors: build(vectors.unit()),
    )


def _profile(title: str, vote: str, configuration: str, metric: str | None = _PROFILE, **settings: Any) -> Method:
    return _tree_metric(title, configuration, metric, "this library", "labels", vote=vote, **settings)


def _supervised(title: str, configuration: str, **settings: Any) -> Method:
    metric = "treewass:SupervisedTreeWasserstein"
    return _tree_metric(title, configuration, metric, "Takezawa et al. 2021", "labels", **settings)


METHODS: dict[str, Method] = {
    "profile": _profile(
        "**treewass**, default", "distance", "TreeWassersteinClassifier(), with its linear channel", None, linear=True
    ),
    "profile-neighbors": _profile(
        "**treewass**, neighbours alone", "distance", "TreeWassersteinClassifier(linear=False)", None
    ),
    "profile-fallback": _profile(
        "**treewass**, k = 19 fall-back", "fallback", "TreeWassersteinClassifier(vote='fallback')", None
    ),
    "profile-trees3": _profile("**treewass**, three trees", "distance", "ProfileTreeWasserstein(n_trees=3)", n_trees=3),
    "stage1": _profile("**treewass**, not refined", "distance", "ProfileTreeWasserstein(refine=False)", refine=False),
    "stage1-fallback": _profile(
        "**treewass**, not refined, k = 19 fall-back", "fallback", "ProfileTreeWasserstein(refine=False)", refine=False
    ),
    "stw": _supervised(
        "STW, margin selected",
        f"SupervisedTreeWasserstein(margin={_MARGINS}, patience=5): margin by validation error, epoch by loss",
        margin=_MARGINS,
        patience=5,
    ),
    "stw-default": _supervised("STW, margin 10", "SupervisedTreeWasserstein(): margin 10"),
    "stw-lars": _supervised(
        "STW, trust ratio",
        f"SupervisedTreeWasserstein(margin={_MARGINS}, patience=5, optimizer='lars')",
        margin=_MARGINS,
        patience=5,
        optimizer="lars",
    ),
    "quadtree": _tree_metric(
        "Quadtree",
        "QuadtreeWasserstein()",
        "treewass:QuadtreeWasserstein",
        "Indyk & Thaper 2003; Backurs et al. 2020",
        "vectors",
    ),
    "quadtree-fitted": _tree_metric(
        "Quadtree, lengths fitted",
        "FittedLengths(QuadtreeWasserstein())",
        "treewass.distances:FittedLengths",
        "Yamada et al. 2022",
        "vectors",
        "POT",
    ),
    "ultrametric": _tree_metric(
        "ultrametric tree, fitted",
        "UltrametricWasserstein()",
        "treewass.distances:UltrametricWasserstein",
        "Chen et al. 2024",
        "vectors",
        "POT",
    ),
    "tsw-1": _sliced(1),
    "tsw-5": _sliced(5),
    "tsw-10": _sliced(10),
    "tsw-1-clusters": _published_sliced(1),
    "tsw-5-clusters": _published_sliced(5),
    "tsw-10-clusters": _published_sliced(10),
    "singular": _tree_metric(
        "tree singular vectors",
        "SingularTreeWasserstein()",
        "treewass.learners:SingularTreeWasserstein",
        "Düsterwald et al. 2025",
    ),
    "flowtree": _distance(
        "Flowtree",
        "flowtree on a quadtree",
        compared("treewass.distances:flowtree"),
        "O(s) for the flow, O(s d) for its cost",
        "Backurs et al. 2020",
    ),
    "wmd": _distance(
        "WMD",
        "wmd_neighbors: exact, by prefetch and prune",
        lambda vectors: _compared_neighbors(vectors, search=_load("treewass.distances:wmd_neighbors")),
        "O(s³ log s), for few pairs",
        "Kusner et al. 2015",
        "POT",
    ),
    "wmd-sinkhorn": _distance(
        "WMD (Sinkhorn)", "sinkhorn()", compared("treewass.distances:sinkhorn"), "O(s²) an iteration", "Cuturi 2013"
    ),
    "rwmd": _distance(
        "RWMD", "rwmd()", compared("treewass.distances:rwmd"), "O(s) a row of a table", "Kusner et al. 2015"
    ),
    "act-1": _constrained(1),
    "act-3": _constrained(3),
    "centroid": _distance(
        "word centroids",
        "centroid_distance()",
        compared("treewass.distances:centroid_distance"),
        "O(d)",
        "Kusner et al. 2015",
    ),
    "swmd": _distance(
        "S-WMD",
        "SupervisedWordMover()",
        lambda vectors: _load("treewass.distances:SupervisedWordMover")(word_vectors=vectors),
        "that of WMD",
        "Huang et al. 2016",
        "labels",
        "POT",
    ),
    "bow": _tree_metric(
        "bag of words, L1, k = 19 fall-back",
        "TreeWassersteinClassifier('bow')",
        "bow",
        "bag of words",
        complexity=_STAR,
    ),
    "tfidf": _tree_metric(
        "TF-IDF, L1, k = 19 fall-back",
        "TreeWassersteinClassifier('tfidf')",
        "tfidf",
        "Spärck Jones 1972",
        complexity=_STAR,
    ),
    "tfidf-distance": _tree_metric(
        "TF-IDF, L1, calibrated vote",
        "TreeWassersteinClassifier('tfidf')",
        "tfidf",
        "Spärck Jones 1972",
        vote="distance",
        complexity=_STAR,
    ),
}


def methods_markdown(methods: Mapping[str, Method] = METHODS) -> str:
    """Lay methods out as the Markdown table of the documentation."""
    header = "name | kind | needs | configuration | one comparison | source"
    lines = [f"| {header} |", "|" + "---|" * (header.count("|") + 1)]
    for name, method in methods.items():
        code = method.configuration if " " in method.configuration else f"`{method.configuration}`"
        cells = (f"`{name}`", method.kind, ", ".join(method.needs) or "–", code, method.complexity, method.citation)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
