"""How good a model is on texts that it has not seen, beside what people would try otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.model.inputs import check_labels, check_texts, labels_like

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.model.document_model import DocumentModel

__all__ = ["Evaluation", "evaluate", "held_out_rows", "usual_rivals"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures on documents held out of the training.

    Parameters
    ----------
    classes : tuple of str, or of int
        The labels, sorted.
    confusion : tuple of tuple of int, shape (n_classes, n_classes)
        Documents of each class (rows) that got each label (columns).
    n_train : int
        Documents that were learned from.
    rivals : dict of str to float
        The error of other methods on the same documents.

    Examples
    --------
    >>> evaluation = Evaluation(("cat", "dog"), ((8, 2), (1, 9)), 60, {"linear SVM": 0.2})
    >>> evaluation.error, evaluation.n_test, evaluation.class_errors()
    (0.15, 20, {'cat': 0.2, 'dog': 0.1})
    """

    classes: tuple[Any, ...]
    confusion: tuple[tuple[int, ...], ...]
    n_train: int
    rivals: dict[str, float]

    @property
    def n_test(self) -> int:
        """Documents held out."""
        return sum(map(sum, self.confusion))

    @property
    def error(self) -> float:
        """The share of held-out documents with a wrong label."""
        right = sum(row[code] for code, row in enumerate(self.confusion))
        return round(1 - right / self.n_test, 12) if self.n_test else 0.0

    def class_errors(self) -> dict[Any, float]:
        """Return the error on the documents of each class, where there are any."""
        return {
            label: round(1 - row[code] / sum(row), 12)
            for code, (label, row) in enumerate(zip(self.classes, self.confusion, strict=True))
            if sum(row)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as what JSON can hold."""
        return {**asdict(self), "error": self.error, "n_test": self.n_test}

    @classmethod
    def from_dict(cls, fields: Any) -> Evaluation:
        """Make the figures of what `to_dict` wrote.

        Raises
        ------
        ValueError
            If they are something else.
        """
        names = ("classes", "confusion", "n_train", "rivals")
        classes, confusion, n_train, rivals = (fields.get(n) if isinstance(fields, dict) else None for n in names)
        if (
            not isinstance(classes, list | tuple)
            or not all(type(label) in (str, int) for label in classes)
            or not isinstance(confusion, list | tuple)
            or len(confusion) != len(classes)
            or not all(_is_row(row, len(classes)) for row in confusion)
            or not isinstance(n_train, int)
            or not isinstance(rivals, dict)
            or not all(type(error) in (int, float) and 0 <= error <= 1 for error in rivals.values())
        ):
            raise ValueError("Expected an evaluation: classes, a square table of counts, n_train and errors of rivals.")
        return cls(tuple(classes), tuple(map(tuple, confusion)), n_train, rivals)


def _is_row(row: Any, length: int) -> bool:
    return isinstance(row, list | tuple) and len(row) == length and all(type(n) is int and n >= 0 for n in row)


def held_out_rows(labels: ArrayLike, test_size: float, random_state: int | None = 0) -> NDArray[np.intp]:
    """Choose documents to hold out, the same share of every class where that is possible.

    The only document of a class is never held out, and fewer are where a class would lose its last one.

    Parameters
    ----------
    labels : array-like of shape (n_documents,)
    test_size : float
        Share to hold out, above 0 and below 1.
    random_state : int or None, default=0

    Returns
    -------
    ndarray of int
        Ascending row numbers.

    Raises
    ------
    ValueError
        If there are too few documents to hold some out.

    Examples
    --------
    >>> held_out_rows(["a", "b"] * 5, 0.4).size
    4
    """
    from sklearn.model_selection import train_test_split

    values = np.asarray(labels)
    if not 0 < test_size < 1:
        raise ValueError(f"Expected test_size above 0 and below 1, got {test_size}.")
    n_test = int(np.ceil(test_size * values.size))
    _, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
    several = np.flatnonzero(sizes[codes] > 1)
    n_classes = np.unique(codes[several]).size
    n_held_out = min(n_test, several.size - n_classes)
    if n_test >= values.size or n_held_out < 1:
        raise ValueError(
            f"Expected documents of each class to learn from and others to hold out, but {n_test} of {values.size} are "
            "too many: there are too few documents to hold some out. Hold out fewer, or none (--test-size 0)."
        )
    strata = codes[several] if n_held_out >= n_classes else None
    _, rows = train_test_split(several, test_size=n_held_out, stratify=strata, random_state=random_state)
    return np.sort(rows)


def evaluate(
    model: DocumentModel, texts: Sequence[str], labels: ArrayLike, *, rivals: Sequence[tuple[str, Any]] = ()
) -> Evaluation:
    """Measure a fitted model on labelled texts that it has not seen.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    texts : sequence of str
        Texts held out of its training.
    labels : array-like of str or int, shape (n_texts,)
        Their labels.
    rivals : sequence of (str, estimator), optional
        Unfitted classifiers of counts to fit on the model's documents and measure on the same texts.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from treewass import DocumentModel
    >>> model = DocumentModel(n_neighbors=1).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    >>> evaluate(model, ["cats", "dogs purr", "dogs"], ["cat", "cat", "dog"]).confusion
    ((2, 0), (0, 1))
    """
    from treewass.search.contents import documents_of

    held_texts = check_texts(texts)
    contents = model.contents_
    truth = labels_like(check_labels(labels, len(held_texts)), contents.classes)
    classes = np.unique(np.concatenate([model.classes_, truth]))
    predicted = model.predict(held_texts)
    confusion = np.zeros((classes.size, classes.size), dtype=int)
    np.add.at(confusion, (np.searchsorted(classes, truth), np.searchsorted(classes, predicted)), 1)
    errors = {}
    if rivals:
        documents = documents_of(contents.index)
        known = model.classes_[contents.documents.codes]
        counts = contents.counter.count(held_texts)
        for name, estimator in rivals:
            errors[name] = float((estimator.fit(documents, known).predict(counts) != truth).mean())
    return Evaluation(tuple(classes.tolist()), tuple(map(tuple, confusion.tolist())), len(contents.index), errors)


def usual_rivals(n_neighbors: int, vote: str) -> list[tuple[str, Any]]:
    """Make what people would try otherwise: TF-IDF neighbours by the same vote, and a linear SVM on TF-IDF."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from treewass.classify.classifier import TreeWassersteinClassifier

    return [
        ("TF-IDF neighbours", TreeWassersteinClassifier("tfidf", n_neighbors=n_neighbors, vote=vote)),
        ("linear SVM on TF-IDF", make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC())),
    ]
