"""What a model says about its own documents: none votes on itself, and the linear channel has not learned from it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treewass.model.inference import CountedTexts, count_documents
from treewass.model.word_pairs import count_terms
from treewass.search.held_documents import documents_of
from treewass.trees.embedding import unknown_rows
from treewass.votes.channels import ScoreChannel, TermRows, select_rows
from treewass.votes.linear_scores import LinearScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.model.contents import Contents

__all__ = ["MOST_ASKED", "count_apart", "held_out_scores", "learned_without", "silenced_channels", "spread_documents"]

MOST_ASKED = 20_000  # documents that are asked about, and learned from again
_PARTS = 5
_PENALTY = 0.32  # a loose fit, since some of the labels are wrong


def spread_documents(ids: NDArray[np.int64], most: int = MOST_ASKED) -> NDArray[np.int64]:
    """Choose documents evenly spread over those of some ids, ascending; return their ids."""
    return ids[np.linspace(0, ids.size - 1, min(ids.size, most)).astype(np.intp)]


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
    channel = _learned_from(held, others) if "linear" in held.channels else None
    return held if channel is None else held.changed(channels={**held.channels, "linear": channel})


def count_apart(held: Contents, number: int) -> CountedTexts:
    """Take a document of the model, by an id that is there, as a text that is counted, for the others to judge.

    The model that is asked about it holds it without a label, so it does not vote on itself. A channel that is heard
    gives the scores of `held_out_scores` with the documents of `spread_documents` that have a known word: the linear
    channel is learned again, and any other is silent.
    """
    own = np.array([number], dtype=np.int64)
    if held.documents.codes_of(own)[0] >= 0:
        codes = held.documents.codes.copy()
        codes[held.documents.places(own)] = -1
        others = replace(held.documents, codes=codes)
        held = held.changed(channels=_channels_apart(held, number), documents=others)
    return count_documents(held, [number], _terms(held, own) if held.channels else None)


def _channels_apart(held: Contents, number: int) -> dict[str, ScoreChannel]:
    """Return the channels of a model, learned from four fifths of the documents, without this one, or silent."""
    pool = held.vote.pool
    if pool is None or not any(pool.channel_weights):
        return held.channels  # none is heard
    channels = dict.fromkeys(held.channels, _silent(len(held.classes)))
    if dict(zip(held.channels, pool.channel_weights, strict=True)).get("linear"):
        ids = spread_documents(held.documents.labelled)
        ids = np.delete(ids, unknown_rows(held.index.metric, documents_of(held.index, ids)))
        part = np.searchsorted(ids, number) % _PARTS
        others = ids[np.arange(ids.size) % _PARTS != part]
        channels["linear"] = _learned_from(held, others) or channels["linear"]
    return channels


def silenced_channels(counted: CountedTexts) -> tuple[str, ...]:
    """Name the channels that are heard for texts, but that `count_apart` has made silent for this document."""
    channels, pool = counted.held.channels, counted.held.vote.pool
    weights = () if pool is None else zip(channels, pool.channel_weights, strict=True)
    return tuple(name for name, weight in weights if weight and not channels[name].columns.size)


def _silent(n_classes: int) -> ScoreChannel:
    """Make a channel that says nothing about any document."""
    nothing = np.zeros((0, n_classes), dtype=np.float32)
    return ScoreChannel("tfidf", np.zeros(0, dtype=np.int64), nothing[:, 0], nothing, np.zeros(n_classes, np.float32))


def _learned_from(held: Contents, ids: NDArray[np.int64]) -> ScoreChannel | None:
    """Learn the linear channel from some labelled documents; None if these are not of two classes."""
    learner = _learner(held, _terms(held, ids), ids)
    return learner.prepare(np.arange(ids.size))(_PENALTY) if np.unique(learner.codes).size > 1 else None


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
