"""How good a model is on texts that it has not seen, compared with what people would try otherwise."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treewass.compute.arguments import argument, counted_noun
from treewass.compute.progress import compile_seconds
from treewass.documents.histograms import EmptyDocumentWarning, warn_about_empty_rows
from treewass.model.inference import UNKNOWN_TEXTS, class_probabilities, count_texts
from treewass.model.kept_columns import Value
from treewass.model.labelled_texts import check_documents, check_labels, check_texts, labels_like

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from treewass.model.contents import Contents
    from treewass.model.document_model import DocumentModel

__all__ = ["Evaluation", "evaluate", "fit_and_evaluate", "held_out_rows", "usual_rivals"]

_TEXTS_AT_ONCE = 1 << 12  # counted and labelled together


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
        """Make the figures of what `to_dict` wrote; anything else is a ValueError."""
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
    """Choose documents to hold out, the same share of every class where that is possible; return ascending rows.

    The only document of a class is never held out, and fewer are where a class would lose its last one. If there are
    too few documents to hold some out, it is a ValueError.
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
            f"Some classes are too small to hold {n_test} of {values.size} documents out. Hold out less "
            f"({argument('test_size', 0)} holds out none), or merge classes."
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
        Unfitted classifiers of counts to fit on the model's documents and measure on the same texts, some at a time.

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
    evaluation, tested = _evaluated(model, texts, labels, with_counts=bool(rivals))
    return evaluation if tested is None else replace(evaluation, rivals=_errors(rivals, tested))


class _Tested(NamedTuple):
    """What other methods learn from and answer: counts of documents and queries, with their labels."""

    documents: csr_array
    labels: NDArray[Any]
    queries: csr_array
    truth: NDArray[Any]


def _evaluated(
    model: DocumentModel, texts: Sequence[str], labels: ArrayLike, *, with_counts: bool
) -> tuple[Evaluation, _Tested | None]:
    """Measure a model; return the figures, and with counts what other methods are measured on."""
    held_texts = check_texts(texts)
    contents = model._fitted()
    truth = labels_like(check_labels(labels, len(held_texts)), contents.classes)
    predicted, counts = _predicted(contents, held_texts, with_counts=with_counts)
    classes = np.unique(np.concatenate([model.classes_, truth]))
    confusion = np.zeros((classes.size, classes.size), dtype=int)
    np.add.at(confusion, (np.searchsorted(classes, truth), np.searchsorted(classes, predicted)), 1)
    evaluation = Evaluation(tuple(classes.tolist()), tuple(map(tuple, confusion.tolist())), len(contents.index), {})
    if not with_counts:
        return evaluation, None
    from scipy.sparse import vstack

    return evaluation, _Tested(*_labelled_documents(contents), vstack(counts, format="csr"), truth)


def _errors(rivals: Sequence[tuple[str, Any]], tested: _Tested, *, usual: bool = False) -> dict[str, float]:
    """Fit other methods, one after the other, and measure the error of each.

    Each gets a copy of the documents in float64, but for the usual ones, which do without.
    """
    from sklearn.base import clone

    errors = {}
    for name, estimator in rivals:
        documents = tested.documents if usual else tested.documents.astype(np.float64)
        fitted = clone(estimator, safe=False).fit(documents, tested.labels)  # the clone goes, with its memory
        starts = range(0, max(tested.truth.size, 1), _TEXTS_AT_ONCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyDocumentWarning)  # given already, with the rows of all texts
            labels = [fitted.predict(tested.queries[start : start + _TEXTS_AT_ONCE]) for start in starts]
        errors[name] = float((np.concatenate(labels) != tested.truth).mean())
        del documents, fitted
    return errors


def _predicted(contents: Contents, texts: list[str], *, with_counts: bool) -> tuple[NDArray[Any], list[csr_array]]:
    """Predict the label of each text, some texts at a time; return the labels, and the texts' counts if wanted."""
    labels, counts, unknown = [], [], []
    for start in range(0, max(len(texts), 1), _TEXTS_AT_ONCE):
        block = texts[start : start + _TEXTS_AT_ONCE]
        counted = count_texts(contents, block)
        unknown.append(start + counted.unknown)
        labels.append(np.array(contents.classes)[class_probabilities(counted).argmax(axis=1)])
        if with_counts:
            counts.append(counted.matrix(range(len(block))))
    warn_about_empty_rows(np.concatenate(unknown), UNKNOWN_TEXTS)
    return np.concatenate(labels), counts


def _labelled_documents(contents: Contents) -> tuple[csr_array, NDArray[Any]]:
    """Return the counts and the labels of a model's documents, those without a label aside."""
    from treewass.search.held_documents import documents_of
    from treewass.search.segments import compact_weights

    ids = contents.documents.labelled
    documents = documents_of(contents.index, None if ids.size == len(contents.index) else ids)
    documents.data = compact_weights(documents.data)
    return documents, np.array(contents.classes)[contents.documents.codes_of(ids)]


def _nothing_said(doing: str, expected: float | None) -> AbstractContextManager[object]:  # noqa: ARG001
    return nullcontext()


def fit_and_evaluate(
    model: DocumentModel,
    texts: Sequence[str],
    labels: ArrayLike,
    *,
    titles: Sequence[str] | None = None,
    keys: Sequence[str | None] | None = None,
    columns: Mapping[str, Sequence[Value]] | None = None,
    test_size: float = 0.3,
    test_rows: ArrayLike | None = None,
    rivals: Sequence[tuple[str, Any]] | None = None,
    refit: bool = True,
    random_state: int | None = 0,
    about: Mapping[str, str] | None = None,
    stage: Callable[[str, float | None], AbstractContextManager[object]] = _nothing_said,
) -> tuple[Evaluation | None, float]:
    """Fit a model, measure it on documents held out, and note the figures in the model, for its card and its report.

    Parameters
    ----------
    model : DocumentModel
        Unfitted; fitted afterwards.
    texts : sequence of str
        The documents.
    labels : array-like of str or int, shape (n_texts,)
        Their labels.
    titles, keys, columns
        As in `DocumentModel.fit`.
    test_size : float, default=0.3
        Share of the documents to hold out; 0 holds none out, and measures nothing.
    test_rows : array-like of int, optional
        The documents to hold out, instead of a share of all.
    rivals : sequence of (str, estimator), optional
        Other methods to measure on the same documents, as in `evaluate`; by default `usual_rivals`.
    refit : bool, default=True
        Fit again on all documents after measuring. What was learned first is let go before other methods are measured;
        if one of them raises, the model is not fitted. With False, the model has never seen those held out.
    random_state : int or None, default=0
        Seed of the choice of documents.
    about : mapping of str to str, optional
        What the card says: ``name`` and ``data``, and ``protocol``, how the documents were held out.
    stage : callable, optional
        Takes what is done next and the seconds that it should take, or None, and makes a context manager that is
        entered while it is done, for instance to say so.

    Returns
    -------
    evaluation : Evaluation or None
        None if no document was held out.
    seconds : float
        The duration of the last fit.

    Examples
    --------
    >>> from treewass import DocumentModel
    >>> model = DocumentModel(n_neighbors=1)
    >>> texts, labels = ["cats purr", "a cat", "dogs bark", "a dog"] * 3, ["cat", "cat", "dog", "dog"] * 3
    >>> evaluation, seconds = fit_and_evaluate(model, texts, labels, rivals=())
    >>> evaluation.n_test, evaluation.n_train, len(model.index_)
    (4, 8, 12)
    """
    new = check_documents(texts, labels, titles, keys, columns)
    texts, values, rows = new.texts, check_labels(new.labels, len(new.texts)), np.arange(len(new.texts))
    if test_rows is not None:
        held_out = np.sort(np.asarray(test_rows, dtype=np.intp))
    else:
        held_out = held_out_rows(values, test_size, random_state) if test_size else rows[:0]

    def fit(chosen: NDArray[np.intp], doing: str, expected: float | None = None) -> tuple[float, float]:
        start = time.perf_counter()
        with stage(doing, expected), compile_seconds() as compiling:
            model.fit(
                [texts[row] for row in chosen],
                values[chosen],
                titles=None if new.titles is None else [new.titles[row] for row in chosen],
                keys=None if new.keys is None else [new.keys[row] for row in chosen],
                columns={name: [column[row] for row in chosen] for name, column in new.columns.items()},
            )
        return time.perf_counter() - start, sum(compiling)

    evaluation, notes = None, dict(about or {})
    learned, twice = np.setdiff1d(rows, held_out), bool(held_out.size) and refit
    without = f", without {held_out.size} held out" if held_out.size else ""
    seconds, compiling = fit(learned, f"learning from {learned.size} documents{without}{' (1 of 2)' if twice else ''}")
    if held_out.size:
        compared = usual_rivals(model.n_neighbors, model.vote) if rivals is None else rivals
        with stage(f"measuring on the {counted_noun(held_out.size, 'document')} held out, with other methods", None):
            known = [texts[row] for row in held_out], values[held_out]
            evaluation, tested = _evaluated(model, *known, with_counts=bool(compared))
            if refit:
                del model.contents_  # other methods need its memory, and then the next one does
            if tested is not None:
                evaluation = replace(evaluation, rivals=_errors(compared, tested, usual=rivals is None))
                del tested
        if refit:
            expected = (seconds - compiling) * rows.size / learned.size
            seconds, _ = fit(rows, f"learning from all {rows.size} documents (2 of 2)", expected)
            notes.setdefault("protocol", f"Afterwards the model was learned again, from all {rows.size} documents.")
        notes.setdefault("protocol", "The model was never learned from the documents held out.")
    held = model.contents_
    figures = None if evaluation is None else evaluation.to_dict()
    model.contents_ = held.changed(about={**held.about, **notes}, evaluation=figures)
    return evaluation, seconds


def usual_rivals(n_neighbors: int, vote: str) -> list[tuple[str, Any]]:
    """Make what people would try otherwise: TF-IDF neighbours alone with the same vote, and a linear SVM on TF-IDF."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from treewass.classify.classifier import TreeWassersteinClassifier

    machine = LinearSVC(dual=True, random_state=0)  # of many documents ten times as fast as what "auto" chooses
    return [
        ("TF-IDF neighbours", TreeWassersteinClassifier("tfidf", n_neighbors=n_neighbors, vote=vote, linear=False)),
        (
            "linear SVM on TF-IDF",
            make_pipeline(TfidfTransformer(sublinear_tf=True), machine),
        ),
    ]
