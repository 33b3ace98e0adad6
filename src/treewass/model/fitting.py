"""Learning a model from texts, and changing one."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

import treewass
from treewass.documents.texts import Texts
from treewass.model.contents import Contents, Documents
from treewass.model.inputs import labels_like
from treewass.model.settings import describe_learner, make_learner
from treewass.model.vectorizers import make_counter
from treewass.search.contents import documents_of, moved_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.classify.classifier import TreeWassersteinClassifier
    from treewass.model.document_model import DocumentModel

__all__ = ["fit_contents", "updated_contents", "with_documents", "without_documents"]


def fit_contents(model: DocumentModel, texts: list[str], labels: NDArray[Any], titles: list[str] | None) -> Contents:
    """Learn a model from scratch.

    Parameters
    ----------
    model : DocumentModel
        Its parameters.
    texts : list of str
    labels : ndarray of shape (n_texts,)
    titles : list of str or None

    Returns
    -------
    Contents
    """
    _demand_classes(labels)
    counter = make_counter(model.vectorizer).fitted(texts)
    learner = make_learner(model.learner, random_state=model.random_state)
    if isinstance(model.learner, str) and model.verbose and "verbose" in learner.get_params():
        learner.set_params(verbose=True)
    classifier = _learn(model, learner, counter.count(texts), labels)
    documents = Documents(
        classifier.index_.ids,
        np.searchsorted(classifier.classes_, labels).astype(np.int32),
        Texts.of(texts) if model.keep_texts else None,
        None if titles is None else Texts.of(titles),
    )
    return Contents(
        counter,
        classifier.index_,
        tuple(classifier.classes_.tolist()),
        documents,
        classifier.neighbor_vote_,
        describe_learner(learner),
        _history(classifier.learner_),
        _stamp({}),
    )


def with_documents(
    held: Contents, texts: list[str], labels: NDArray[Any], titles: list[str] | None
) -> tuple[Contents, NDArray[np.int64]]:
    """Add documents without learning from them; return the model and their ids."""
    known, labels = np.array(held.classes), labels_like(labels, held.classes)
    new = np.setdiff1d(labels, known)
    if new.size:
        raise ValueError(
            f"Expected labels that the model has learned, got {new[:5].tolist()}. Use update, which learns new ones."
        )
    index = copy(held.index)  # shares the documents; whoever searches the other one meanwhile is not disturbed
    ids = index.add(held.counter.count(texts))
    codes = np.searchsorted(known, labels).astype(np.int32)
    return held.changed(index=index, documents=held.documents.joined(ids, codes, texts, titles)), ids


def without_documents(held: Contents, ids: NDArray[np.int64]) -> Contents:
    """Remove documents by their ids, all of which must be there."""
    index = copy(held.index)
    index.remove(ids)
    return held.changed(index=index, documents=held.documents.without(ids))


def updated_contents(
    model: DocumentModel, texts: list[str], labels: NDArray[Any], titles: list[str] | None
) -> tuple[Contents, NDArray[np.int64]]:
    """Learn anew from the documents that a model holds and from new ones; return the model and the new ids."""
    from scipy.sparse import vstack

    held = model._fitted()
    old, labels = np.array(held.classes)[held.documents.codes], labels_like(labels, held.classes)
    counter = held.counter.widened(texts)
    before = documents_of(held.index)
    before.resize((before.shape[0], len(counter.words)))
    counts = counter.count(texts)
    every_label = np.concatenate([old, labels])
    _demand_classes(every_label)
    learner = _learner_again(model, held)
    classifier = _learn(model, learner, vstack([before, counts], format="csr"), every_label)
    index = moved_index(held.index, classifier.metric_)
    ids = index.add(counts)
    codes = np.searchsorted(classifier.classes_, every_label).astype(np.int32)
    renumbered = Documents(held.documents.ids, codes[: old.size], held.documents.texts, held.documents.titles)
    contents = held.changed(
        counter=counter,
        index=index,
        classes=tuple(classifier.classes_.tolist()),
        documents=renumbered.joined(ids, codes[old.size :], texts, titles),
        vote=classifier.neighbor_vote_,
        learner=describe_learner(learner),
        history=_history(classifier.learner_),
        about=_stamp(held.about),
        evaluation=None,
    )
    return contents, ids


def _learn(model: DocumentModel, learner: Any, counts: Any, labels: NDArray[Any]) -> TreeWassersteinClassifier:
    from treewass.classify.classifier import TreeWassersteinClassifier

    classifier = TreeWassersteinClassifier(
        learner,
        n_neighbors=model.n_neighbors,
        vote=model.vote,
        calibrate=model.calibrate,
        n_jobs=model.n_jobs,
        random_state=model.random_state,
    )
    return classifier.fit(counts, labels)


def _learner_again(model: DocumentModel, held: Contents) -> Any:
    """Make the learner that a model was learned with."""
    if held.learner["name"] is not None:
        return make_learner(held.learner["name"], parameters=held.learner["parameters"])
    if isinstance(model.learner, str):
        raise ValueError(
            f"Expected a learner to learn with again, but the settings of {held.learner['class']} are not in the "
            "model's folder. Set model.learner to an unfitted one."
        )
    return make_learner(model.learner)


def _demand_classes(labels: NDArray[Any]) -> None:
    found = np.unique(labels).tolist()
    if len(found) < 2:
        raise ValueError(f"Expected at least two different labels, got {found}. There is nothing to tell apart.")


def _history(learner: Any) -> tuple[dict[str, Any], ...]:
    """Return what the learner reported, as plain numbers."""
    records = (asdict(record) for record in getattr(learner, "history_", ()) if is_dataclass(record))  # type: ignore[arg-type]
    return tuple({name: _plain(value) for name, value in record.items()} for record in records)


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, and one that is not finite, which JSON cannot hold, into None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _stamp(about: dict[str, Any]) -> dict[str, Any]:
    """Note time and version."""
    return {**about, "learned": datetime.now(UTC).isoformat(timespec="seconds"), "treewass": treewass.__version__}
