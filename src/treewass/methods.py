"""The methods of this library and those it is compared with, by name: how to build each, what it needs, whose it is.

The benchmark, the command line and the table in the documentation all read `METHODS`. Nothing here imports a method
before it is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from treewass.method_builders import Build, compared, linear, neighbours, searched, sentences, with_vectors

__all__ = ["DEFAULT_METHODS", "KINDS", "METHODS", "Method", "methods_markdown"]

KINDS = ("tree metric", "distance", "linear model")
NEEDS = ("labels", "vectors", "texts", "POT", "torch")
_FALLBACK, _CALIBRATED = "fall-back, k=19", "distance, k=19, calibrated"
_SEARCH = "O(s d) to embed, then the index"


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
        What it learns from or runs on, among ``"labels"``, ``"vectors"``, ``"texts"`` in the place of counts,
        ``"POT"`` and ``"torch"``.
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
        """Build the unfitted classifier.

        Parameters
        ----------
        vectors : AlignedVectors, optional
            The vector of each word of the vocabulary, where the method needs them.

        Returns
        -------
        estimator
            With ``fit(X, y)``, ``predict(X)``, ``classes_`` and, but for a linear SVM, ``predict_proba(X)``.

        Examples
        --------
        >>> METHODS["bow"].make()
        TreeWassersteinClassifier(metric='bow', vote='fallback')
        """
        if "vectors" in self.needs and vectors is None:
            raise ValueError(f"Expected word vectors for {self.configuration}, got None.")
        return self.build(vectors)


_PROFILE = "treewass.learners.profile:ProfileTreeWasserstein"
_QUADTREE = "treewass.learners.quadtree:QuadtreeWasserstein"
_FITTED = "treewass.learners.fitted_lengths:FittedLengths"
_SLICED = "treewass.learners.sliced:TreeSlicedWasserstein"
_SUPERVISED = "treewass.learners.stw:SupervisedTreeWasserstein"
_STAR = "O(s) to embed, then the index"
_MARGINS = (10.0, 5.0, 20.0)


def _word_mover(title: str, configuration: str, build: Build, complexity: str, citation: str, *needs: str) -> Method:
    return Method(title, "distance", _FALLBACK, configuration, build, ("vectors", *needs), complexity, citation)


def _constrained(iterations: int) -> Method:
    return _word_mover(
        f"ACT-{iterations}",
        f"act(iterations={iterations})",
        compared("treewass.distances.constrained:act", iterations=iterations),
        "O(s) a row of a table",
        "Atasu & Mittelholzer 2019",
    )


def _sliced(n_trees: int) -> Method:
    return Method(
        f"TSW-{n_trees}",
        "tree metric",
        _FALLBACK,
        f"TreeSlicedWasserstein(n_trees={n_trees})",
        neighbours(_SLICED, n_trees=n_trees),
        ("vectors",),
        _SEARCH if n_trees == 1 else f"{n_trees} × TSW-1",
        "Le et al. 2019",
    )


def _profile(title: str, vote: str, configuration: str, metric: str | None = _PROFILE, **settings: Any) -> Method:
    rule = _CALIBRATED if vote == "distance" else _FALLBACK
    build = neighbours(metric, vote, **settings)
    return Method(title, "tree metric", rule, configuration, build, ("labels",), _SEARCH, "this library")


def _supervised(title: str, configuration: str, **settings: Any) -> Method:
    build = neighbours(_SUPERVISED, **settings)
    return Method(title, "tree metric", _FALLBACK, configuration, build, ("labels",), _SEARCH, "Takezawa et al. 2021")


METHODS: dict[str, Method] = {
    "profile": _profile("**treewass**, default", "distance", "TreeWassersteinClassifier()", None),
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
    "quadtree": Method(
        "Quadtree",
        "tree metric",
        _FALLBACK,
        "QuadtreeWasserstein()",
        neighbours(_QUADTREE),
        ("vectors",),
        _SEARCH,
        "Indyk & Thaper 2003; Backurs et al. 2020",
    ),
    "quadtree-fitted": Method(
        "Quadtree, lengths fitted",
        "tree metric",
        _FALLBACK,
        "FittedLengths(QuadtreeWasserstein())",
        neighbours(_FITTED),
        ("vectors", "POT"),
        _SEARCH,
        "Yamada et al. 2022",
    ),
    "tsw-1": _sliced(1),
    "tsw-5": _sliced(5),
    "tsw-10": _sliced(10),
    "flowtree": Method(
        "Flowtree",
        "distance",
        _FALLBACK,
        "flowtree on a quadtree",
        compared("treewass.distances.flowtrees:flowtree"),
        ("vectors",),
        "O(s) for the flow, O(s d) for its cost",
        "Backurs et al. 2020",
    ),
    "wmd": _word_mover(
        "WMD",
        "wmd_neighbors: exact, by prefetch and prune",
        searched("treewass.distances.word_mover_search:wmd_neighbors"),
        "O(s³ log s), for few pairs",
        "Kusner et al. 2015",
        "POT",
    ),
    "wmd-sinkhorn": _word_mover(
        "WMD (Sinkhorn)",
        "sinkhorn()",
        compared("treewass.distances.entropic:sinkhorn"),
        "O(s²) an iteration",
        "Cuturi 2013",
    ),
    "rwmd": _word_mover(
        "RWMD", "rwmd()", compared("treewass.distances.relaxed:rwmd"), "O(s) a row of a table", "Kusner et al. 2015"
    ),
    "act-1": _constrained(1),
    "act-3": _constrained(3),
    "centroid": _word_mover(
        "word centroids",
        "centroid_distance()",
        compared("treewass.distances.centroid:centroid_distance"),
        "O(d)",
        "Kusner et al. 2015",
    ),
    "swmd": _word_mover(
        "S-WMD",
        "SupervisedWordMover()",
        with_vectors("treewass.distances.swmd:SupervisedWordMover"),
        "that of WMD",
        "Huang et al. 2016",
        "labels",
        "POT",
    ),
    "bow": Method(
        "bag of words, L1, k = 19 fall-back",
        "tree metric",
        _FALLBACK,
        "TreeWassersteinClassifier('bow')",
        neighbours("bow"),
        (),
        _STAR,
        "bag of words",
    ),
    "tfidf": Method(
        "TF-IDF, L1, k = 19 fall-back",
        "tree metric",
        _FALLBACK,
        "TreeWassersteinClassifier('tfidf')",
        neighbours("tfidf"),
        (),
        _STAR,
        "Spärck Jones 1972",
    ),
    "tfidf-distance": Method(
        "TF-IDF, L1, calibrated vote",
        "tree metric",
        _CALIBRATED,
        "TreeWassersteinClassifier('tfidf')",
        neighbours("tfidf", "distance"),
        (),
        _STAR,
        "Spärck Jones 1972",
    ),
    "minilm": Method(
        "sentence embeddings, kNN",
        "distance",
        _FALLBACK,
        "all-MiniLM-L6-v2, cosine",
        sentences(),
        ("texts", "torch"),
        "O(d)",
        "Reimers & Gurevych 2019; Wang et al. 2020",
    ),
    "svm": Method(
        "linear SVM, TF-IDF",
        "linear model",
        "none",
        "LinearSVC on sublinear TF-IDF, C of (0.1, 0.3, 1.0, 3.0, 10.0) by 5-fold accuracy",
        linear("svm"),
        ("labels",),
        "O(s) a class",
        "scikit-learn",
    ),
    "logistic": Method(
        "logistic regression, TF-IDF",
        "linear model",
        "none",
        "LogisticRegression on sublinear TF-IDF, C of (3.0, 10.0, 30.0, 100.0, 300.0) by 3-fold log-loss",
        linear("logistic"),
        ("labels",),
        "O(s) a class",
        "scikit-learn",
    ),
}
DEFAULT_METHODS = ("profile", "profile-fallback", "tfidf", "svm", "logistic")


def methods_markdown(names: Iterable[str] | None = None) -> str:
    """Lay methods out as the Markdown table of the documentation.

    Parameters
    ----------
    names : iterable of str, optional
        Names of `METHODS`; all by default.

    Returns
    -------
    str

    Examples
    --------
    >>> print(methods_markdown(["bow"]).splitlines()[2])
    | `bow` | tree metric | – | `TreeWassersteinClassifier('bow')` | O(s) to embed, then the index | bag of words |
    """
    header = "name | kind | needs | configuration | one comparison | source"
    lines = [f"| {header} |", "|" + "---|" * (header.count("|") + 1)]
    for name in METHODS if names is None else names:
        method = METHODS[name]
        code = method.configuration if " " in method.configuration else f"`{method.configuration}`"
        cells = (f"`{name}`", method.kind, ", ".join(method.needs) or "–", code, method.complexity, method.citation)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
