"""Learning a model from texts, and changing it."""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import asdict, is_dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import treewass
from treewass.classify.metric_parameter import learn_metric, metric_learner, needs_labels
from treewass.compute.arguments import check_choice, check_integer, did_you_mean
from treewass.documents.histograms import first_few
from treewass.documents.row_checks import list_names
from treewass.documents.vector_sources import find_vectors, source_name
from treewass.documents.word_vectors import UncoveredWordsWarning, none_covered
from treewass.model.contents import Contents, Documents, MetricSettings
from treewass.model.labelled_texts import NewTexts, check_labels, class_numbers, labels_like
from treewass.model.vectorizers import make_counter
from treewass.search.held_documents import documents_of, moved_index
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric
from treewass.votes.rules import VOTES, NeighborVote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from treewass.classify.classifier import TreeWassersteinClassifier
    from treewass.documents.word_vectors import AlignedVectors
    from treewass.learners.profile.class_counts import ClassCounts
    from treewass.model.document_model import DocumentModel
    from treewass.model.vectorizers import TextCounter, WordCounter
    from treewass.votes.channels import TermsOf

__all__ = [
    "fit_contents",
    "fit_unlabelled",
    "learned_contents",
    "make_metric",
    "refuse_unknown_columns",
    "updated_contents",
    "with_documents",
    "without_documents",
]


def fit_contents(model: DocumentModel, new: NewTexts) -> Contents:
    """Learn a model from scratch, with the parameters of `model`."""
    without = np.array([row for row, label in enumerate(new.labels) if label is None])
    if without.size:
        raise ValueError(
            f"Expected a label for each text to learn from, but row(s) {first_few(without)} have none. Leave them out, "
            "and use add, which takes texts without labels."
        )
    _demand_classes(new.labels)
    counter, sequences = make_counter(model.vectorizer).learned(new.texts, anew=True)
    counter, vectors = _with_vectors(model, counter)
    terms = partial(sequences.terms, len(counter.words)) if sequences is not None and _hears_words(model) else None
    classifier = _classifier(model, vectors)
    classifier._fit(counter.count(new.texts, sequences), new.labels, new.weights, terms)
    classes = tuple(classifier.classes_.tolist())
    return Contents(
        counter,
        classifier.index_,
        classes,
        new.kept(classifier.index_.ids, class_numbers(new.labels, classes), keep_texts=model.keep_texts),
        classifier.neighbor_vote_,
        MetricSettings.of(model.metric, _learner_of(classifier, vectors)),
        _history(classifier.learner_),
        _stamp({}),
        channels=classifier.channels_,
        linear=model.linear,
        word_vectors=source_name(model.word_vectors),
    )


def fit_unlabelled(model: DocumentModel, new: NewTexts) -> Contents:
    """Learn a model from texts without labels: neighbours, but no classes."""
    counter, sequences = make_counter(model.vectorizer).learned(new.texts, anew=True)
    counter, vectors = _with_vectors(model, counter)
    counts = counter.count(new.texts, sequences)
    metric, learner = _learn_unlabelled(model, counts, new.weights, vectors)
    index = TreeIndex(metric, n_jobs=model.n_jobs)
    ids = index.add(counts)
    return Contents(
        counter,
        index,
        (),
        new.kept(ids, class_numbers(new.labels, ()), keep_texts=model.keep_texts),
        _no_vote(model),
        MetricSettings.of(model.metric, learner),
        _history(learner),
        _stamp({}),
        linear=model.linear,
        word_vectors=source_name(model.word_vectors),
    )


def _learn_unlabelled(
    model: DocumentModel, counts: Any, weights: NDArray[np.float64] | None, vectors: AlignedVectors | None
) -> tuple[TreeMetric, Any]:
    """Learn the metric from counts alone; return it, and the learner where there was one."""
    name = model.metric.name if isinstance(model.metric, MetricSettings) else model.metric
    metric = make_metric(
        "topics" if model.metric is None else model.metric,
        random_state=model.random_state,
        verbose=model.verbose,
    )
    if needs_labels(metric):
        raise ValueError(
            f"Expected labels, since the metric {name if isinstance(name, str) else metric!r:.60} learns from them, "
            'got none. Give labels, or take a metric that needs none: "topics", the default without labels, "tfidf" or '
            '"bow".'
        )
    if vectors is not None:
        metric = _taking_vectors(metric, vectors)
    learned, learner = learn_metric(metric, counts, None, weights)
    if vectors is not None:
        learner.set_params(word_vectors=None)  # what is kept of the learner is its settings
    return learned, learner


def _no_vote(model: DocumentModel) -> NeighborVote:
    """Keep how neighbours would decide, if there were labels."""
    check_choice("vote", model.vote, VOTES)
    return NeighborVote(model.vote, check_integer("n_neighbors", model.n_neighbors), np.zeros(0), 1.0)


def learned_contents(
    model: DocumentModel,
    counter: WordCounter,
    counts: ClassCounts,
    texts: list[str],
    labels: list[Any],
    weights: NDArray[np.float64] | None,
) -> Contents:
    """Learn a model of no documents from the counts of many and from some of them, the sample.

    If these are all of them, metric, vote and channels are those of `fit_contents`.
    """
    from treewass.learners import ProfileTreeWasserstein

    _demand_classes(counts.classes)
    counter = counter.with_words(counts.words)
    metric = make_metric(model.metric, random_state=model.random_state, verbose=model.verbose, n_jobs=model.n_jobs)
    sequences = counter.sequences(texts)
    sampled = counter.count(texts, sequences)
    learner = ProfileTreeWasserstein.from_counts(counts, (sampled, labels, weights), **metric.get_params())
    terms = partial(sequences.terms, len(counter.words)) if _hears_words(model) else None
    classifier = _classifier(model, None)
    classifier._fit(sampled, labels, weights, terms, learner)
    nothing = np.zeros(0, dtype=np.int64)
    return Contents(
        counter,
        TreeIndex(classifier.metric_, n_jobs=model.n_jobs),
        tuple(classifier.classes_.tolist()),
        Documents(nothing, nothing.astype(np.int32)),
        classifier.neighbor_vote_,
        MetricSettings.of(model.metric, learner),
        _history(learner),
        _stamp({}),
        channels=classifier.channels_,
        linear=model.linear,
    )


def with_documents(held: Contents, new: NewTexts) -> tuple[Contents, NDArray[np.int64], NDArray[np.intp]]:
    """Add documents without learning from them; return the model, their ids, and the rows without a known word."""
    codes = class_numbers(new.labels, held.classes)
    _refuse_known_keys(held, new)
    index = copy(held.index)  # shares the documents; whoever searches the other one meanwhile is not disturbed
    # Words that the metric does not know come in too: they are found, without mass.
    counter, sequences = held.counter.learned(new.texts, anew=False)
    counts = counter.count(new.texts, sequences)
    ids, unknown = index.hold(counts)
    added = new.kept(ids, codes, keep_texts=held.documents.texts is not None)
    return held.changed(counter=counter, index=index, documents=held.documents.joined(added)), ids, unknown


def _refuse_known_keys(held: Contents, new: NewTexts) -> None:
    known = sorted(held.documents.key_ids.keys() & set(new.keys or ()))
    if known:
        listed = first_few([repr(key) for key in known])
        raise ValueError(f"Expected new keys, but the model holds documents of {listed}. Remove those first.")


def refuse_unknown_columns(held: Contents, names: Iterable[str]) -> None:
    """Refuse columns that the documents of a model do not have; its first columns may be any."""
    known = held.documents.columns
    unknown = next((name for name in names if name not in known), None)
    if known and unknown is not None:
        raise ValueError(
            f"Expected columns that the model has ({list_names(known)}), got {unknown!r}"
            f"{did_you_mean(unknown, known)}. Use update, which takes new ones."
        )


def without_documents(held: Contents, ids: NDArray[np.int64]) -> Contents:
    """Remove documents by their ids, all of which must be there."""
    index = copy(held.index)
    index.remove(ids)
    return held.changed(index=index, documents=held.documents.without(ids))


def updated_contents(model: DocumentModel, new: NewTexts) -> tuple[Contents, NDArray[np.int64]]:
    """Learn again, from the documents that a model holds and from new ones; return the model and the new ids."""
    from scipy.sparse import vstack

    held = model._fitted()
    _refuse_known_keys(held, new)
    old = [None if code < 0 else held.classes[code] for code in held.documents.codes.tolist()]
    every_label = [*old, *new.labels]
    labelled = np.array([row for row, label in enumerate(every_label) if label is not None], dtype=np.intp)
    if held.classes:
        given = [label for label in new.labels if label is not None]
        labels_like(check_labels(given, len(given)), held.classes)
    labels = [every_label[row] for row in labelled.tolist()]
    if not labels and not held.classes:
        labelled = np.arange(len(every_label))  # learned from without labels, as before
    else:
        _demand_classes(labels)
    counter, sequences = held.counter.learned(new.texts, anew=False)
    counter, vectors = _with_vectors(model, counter)
    before, counts = documents_of(held.index, beyond=True), counter.count(new.texts, sequences)
    before.resize((before.shape[0], len(counter.words)))
    n_learned = held.index.metric.n_words if isinstance(model.metric, TreeMetric) else len(counter.words)
    every = vstack([before, counts], format="csr")[labelled][:, :n_learned]
    weights = held.documents.weights
    if weights is not None:
        weights = np.concatenate([weights, np.ones(len(new.texts))])[labelled]
    if labels:
        hears_pairs = sequences is not None and _hears_words(model)
        terms = _terms_again(held, counter, new, labelled, n_learned) if hears_pairs else None
        classifier = _classifier(model, vectors)
        classifier._fit(every, labels, weights, terms)
        metric, learner, vote = classifier.metric_, _learner_of(classifier, vectors), classifier.neighbor_vote_
        classes, channels = tuple(classifier.classes_.tolist()), classifier.channels_
    else:
        metric, learner = _learn_unlabelled(model, every, weights, vectors)
        vote, classes, channels = _no_vote(model), (), {}
    index = moved_index(held.index, metric)
    ids = index.add(counts)
    codes = class_numbers(every_label, classes)
    added = new.kept(ids, codes[len(old) :], keep_texts=held.documents.texts is not None)
    contents = held.changed(
        counter=counter,
        index=index,
        classes=classes,
        documents=replace(held.documents, codes=codes[: len(old)]).joined(added),
        vote=vote,
        metric_settings=MetricSettings.of(model.metric, learner),
        history=_history(learner),
        about=_stamp(held.about),
        evaluation=None,
        channels=channels,
        linear=model.linear,
        word_vectors=source_name(model.word_vectors),
    )
    return contents, ids


def _terms_again(
    held: Contents, counter: TextCounter, new: NewTexts, labelled: NDArray[np.intp], n_words: int
) -> TermsOf | None:
    """Return what counts the terms of the linear channel, in the labelled documents among those held and new ones."""
    texts = held.documents.texts
    if texts is None:
        raise ValueError(
            "Expected the texts of the documents, since the linear channel learns pairs of words again, but the "
            "model does not keep them. Turn the channel off: model.linear = False."
        )
    every_text = [*texts, *new.texts]
    sequences = counter.sequences([every_text[row] for row in labelled.tolist()])
    return None if sequences is None else partial(sequences.terms, n_words)


def _hears_words(model: DocumentModel) -> bool:
    """Tell whether there is a linear channel, which looks at pairs of words where words have an order."""
    return bool(model.linear and model.calibrate and model.vote == "distance")


def _with_vectors(model: DocumentModel, counter: TextCounter) -> tuple[TextCounter, AlignedVectors | None]:
    """Let a counter know the words that the model's vectors list, too; return it with the vectors of its words."""
    if model.word_vectors is None:
        return counter, None
    found = find_vectors(model.word_vectors, counter.words)
    if frozenset(found.words).isdisjoint(counter.words):
        raise ValueError(none_covered(counter.words, found.words))
    counter = counter.widened(found.words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncoveredWordsWarning)  # names, numbers and mistakes have none in any file
        return counter, found.align(counter.words)


def _classifier(model: DocumentModel, vectors: AlignedVectors | None) -> TreeWassersteinClassifier:
    """Make what learns a model, unfitted."""
    from treewass.classify.classifier import TreeWassersteinClassifier

    metric = make_metric(model.metric, random_state=model.random_state, verbose=model.verbose, n_jobs=model.n_jobs)
    if vectors is not None:
        metric = _taking_vectors(metric, vectors)
    return TreeWassersteinClassifier(
        metric,
        n_neighbors=model.n_neighbors,
        vote=model.vote,
        calibrate=model.calibrate,
        linear=model.linear,
        n_jobs=model.n_jobs,
        random_state=model.random_state,
    )


def _learner_of(classifier: TreeWassersteinClassifier, vectors: AlignedVectors | None) -> Any:
    """Return the learner of a fitted classifier without the vectors given: what is kept of it is its settings."""
    return classifier.learner_ if vectors is None else classifier.learner_.set_params(word_vectors=None)


def _taking_vectors(metric: Any, vectors: AlignedVectors) -> Any:
    """Give a learner word vectors; the one given stays as it is."""
    from sklearn.base import clone

    if not hasattr(metric, "get_params") or "word_vectors" not in metric.get_params():
        raise ValueError(
            'Expected a metric that takes word vectors, such as "profile", with word_vectors, got '
            f"{metric!r:.60}. Leave word_vectors out, or choose another metric."
        )
    return clone(metric).set_params(word_vectors=vectors)


def make_metric(metric: Any, *, random_state: int | None, verbose: bool, n_jobs: int | None = None) -> Any:
    """Make what `TreeWassersteinClassifier` takes as its `metric` from that of a model, which may be `MetricSettings`.

    The seed and the threads are those of a learner given by name. A learner given by name or by settings shows its
    progress if `verbose`.
    """
    if metric is None or isinstance(metric, str):
        learner = metric_learner(metric, random_state=random_state, verbose=verbose, n_jobs=n_jobs)
        return metric if learner is None else learner
    if not isinstance(metric, MetricSettings):
        return metric
    made = metric.make()
    return made.set_params(verbose=True) if verbose and not isinstance(made, str) else made


def _demand_classes(labels: Sequence[Any]) -> None:
    found = sorted(set(labels))
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
