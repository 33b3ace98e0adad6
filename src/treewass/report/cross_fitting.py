"""What the linear channel says about documents that it has not learned from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treewass.model.word_pairs import count_terms
from treewass.search.held_documents import documents_of
from treewass.votes.channels import TermRows, select_rows
from treewass.votes.linear_scores import LinearScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.model.contents import Contents

__all__ = ["held_out_scores", "learned_without"]

_PARTS = 5
_PENALTY = 0.32  # a loose fit, since some of the labels are wrong


def held_out_scores(held: Contents, ids: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Score labelled documents by channels that learned from four fifths of them, without the document itself.

    Returns the scores of each channel of the model, shape (n_documents, n_classes); a channel that cannot be learned
    again is silent, with zeros.
    """
    scores = [np.zeros((ids.size, len(held.classes))) for _ in held.channels]
    if "linear" not in held.channels:
        return scores
    linear, terms = scores[list(held.channels).index("linear")], _terms(held, ids)
    rows = np.arange(ids.size)
    for part in range(_PARTS):
        own = rows % _PARTS == part
        learner = _learner(held, terms, ids)
        if np.unique(learner.codes[~own]).size > 1:
            linear[own] = learner.prepare(rows[~own])(_PENALTY).scores(select_rows(terms, rows[own]))
    return scores


def learned_without(held: Contents, ids: NDArray[np.int64]) -> Contents:
    """Return the model with a linear channel, if it has one, that learned from all documents but these."""
    others = np.setdiff1d(held.documents.labelled, ids)
    if "linear" not in held.channels or np.unique(held.documents.codes_of(others)).size < 2:
        return held
    channel = _learner(held, _terms(held, others), others).prepare(np.arange(others.size))(_PENALTY)
    return held.changed(channels={**held.channels, "linear": channel})


def _terms(held: Contents, ids: NDArray[np.int64]) -> TermRows:
    """Count what the channel looks at; words alone, without pairs, in a model that keeps no texts."""
    texts = held.documents.texts
    if texts is None:
        counts = documents_of(held.index, ids)
        return TermRows(counts.indptr, counts.indices, counts.data)
    own = [texts[place] for place in held.documents.places(ids).tolist()]
    return count_terms(held.counter, own, held.index.metric.n_words)


def _learner(held: Contents, terms: TermRows, ids: NDArray[np.int64]) -> LinearScores:
    weights = held.documents.weights_of(ids)
    counted = np.ones(ids.size) if weights is None else weights
    return LinearScores(partial(select_rows, terms), held.documents.codes_of(ids), len(held.classes), counted)
