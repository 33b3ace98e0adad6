"""The reasons of a prediction: what neighbours, words and class shares add to the odds of the label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.explain.predictions import PredictionExplanation, TypicalWord, WordSupport
from treewass.model.contents import Contents
from treewass.model.inference import CountedTexts, demand_labels, describe_hits
from treewass.model.word_pairs import term_names
from treewass.search.held_documents import documents_of
from treewass.trees.embedding import MASS_BITS, mass_units
from treewass.votes.channels import select_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.votes.pooled_vote import PooledVote

__all__ = ["explain_label"]

_LOOKED_AT = 200  # nearest documents that decide which of the classes without a vote comes next
_MOST_COUNTED = 5000  # documents of a class in which words are counted


def explain_label(counted: CountedTexts, number: int = 0) -> PredictionExplanation:
    """Explain the label that a text gets: the neighbours that vote, and the words that decide.

    A text without a known word gets the class shares and no reasons.
    """
    held = counted.held
    demand_labels(held)
    vote = held.vote
    n_looked_at = max(vote.n_neighbors, _LOOKED_AT) if vote.pool is None else vote.n_neighbors
    distances, ids = np.empty((1, 0)), np.empty((1, 0), dtype=np.int64)
    if number in counted.known and len(held.index):
        distances, ids = counted.nearest([number], n_looked_at, held.documents.voters)
    codes = held.documents.codes_of(ids)
    voting = codes[:, : vote.n_neighbors], distances[:, : vote.n_neighbors]
    scores = counted.scores(np.array([number]))
    weights = held.documents.weights_of(ids[:, : vote.n_neighbors])
    probabilities = vote.probabilities(*voting, scores, weights)[0]
    ranked = _ranked(probabilities, codes[0])
    shares = tuple((held.classes[code], float(probabilities[code])) for code in ranked)
    if not ids.size:
        return PredictionExplanation(shares[0][0], shares, ())
    best, second = ranked[:2]
    neighbors = tuple(describe_hits(held, ids[0, : vote.n_neighbors], distances[0, : vote.n_neighbors]))
    reasons: dict[str, Any] = {}
    if vote.pool is not None:
        reasons = _pooled_reasons(counted, number, vote.pool, (*voting, scores, vote.heard(weights)), (best, second))
    elif probabilities[second] > 0:
        reasons["log_odds"] = float(np.log(probabilities[best]) - np.log(probabilities[second]))
        reasons["neighbor_support"] = reasons["log_odds"]
    if vote.pool is None or not any(vote.pool.channel_weights):  # no channel is heard
        reasons["typical"] = _typical_words(counted, number, (best, second))
    return PredictionExplanation(shares[0][0], shares, neighbors, shares[1][0], **reasons)


def _ranked(probabilities: NDArray[np.float64], codes: NDArray[np.intp]) -> list[int]:
    """Rank classes: the predicted one, then the others by probability, and by their nearest document where they tie."""
    label = int(probabilities.argmax())
    first = {code: place for place, code in reversed(list(enumerate(codes.tolist())))}
    others = [code for code in range(probabilities.size) if code != label]
    return [label, *sorted(others, key=lambda code: (-probabilities[code], first.get(code, codes.size)))]


def _pooled_reasons(
    counted: CountedTexts, number: int, pool: PooledVote, voted: tuple[Any, ...], classes: tuple[int, int]
) -> dict[str, Any]:
    """Take apart the log-odds of two classes in a pooled vote; return fields of `PredictionExplanation`."""
    best, second = classes
    parts = pool.parts(*voted)
    prior = float(parts.prior[best] - parts.prior[second])
    supports: dict[int, float] = {}
    if counted.terms is not None:
        terms_of_text = select_rows(counted.terms, np.array([number]))
        channels = zip(counted.held.channels.values(), pool.channel_weights, strict=True)
        for channel, weight in [entry for entry in channels if entry[1]]:  # others are not heard
            prior += weight * (float(channel.intercepts[best]) - float(channel.intercepts[second]))
            _, terms, addends = channel.contributions(terms_of_text)
            for term, addend in zip(terms.tolist(), (addends[:, best] - addends[:, second]).tolist(), strict=True):
                supports[term] = supports.get(term, 0.0) + weight * addend
    names = term_names(np.array(list(supports), dtype=np.int64), counted.held.names)
    words = sorted(map(WordSupport, names, supports.values()), key=lambda word: (-word.support, word.word))
    neighbors = float(parts.neighbors[0, best] - parts.neighbors[0, second])
    return {
        "log_odds": neighbors + prior + sum(word.support for word in words),
        "neighbor_support": neighbors,
        "prior_support": prior,
        "words": tuple(words),
    }


def _typical_words(counted: CountedTexts, number: int, classes: tuple[int, int]) -> tuple[TypicalWord, ...]:
    """Say how common the words of a text are in the documents of two classes, as far as one has more of them.

    Of a large class, documents that are evenly spread over it are counted.
    """
    held = counted.held
    words = np.array(counted.known_row(number)[0], dtype=np.intp)
    masses = mass_units(held.index.metric, counted.matrix([number])).toarray()[0, words]
    shares = np.stack([_document_shares(held, words, code) for code in classes], axis=1)
    names = held.names
    entries = [
        TypicalWord(names[word], float(np.ldexp(mass, -MASS_BITS)), (own, other))
        for word, mass, (own, other) in zip(words.tolist(), masses.tolist(), shares.tolist(), strict=True)
        if mass and own != other
    ]
    return tuple(sorted(entries, key=lambda entry: (-entry.weight, entry.word)))


def _document_shares(held: Contents, words: NDArray[np.intp], code: int) -> NDArray[np.float64]:
    """Return the share of a class's documents that hold each of some words, shape (n_words,)."""
    ids = held.documents.ids[held.documents.codes == code]
    if not ids.size:
        return np.zeros(words.size)
    chosen = ids[np.linspace(0, ids.size - 1, min(ids.size, _MOST_COUNTED)).astype(np.intp)]
    documents = documents_of(held.index, chosen)
    return np.asarray(np.bincount(documents.indices, minlength=documents.shape[1])[words] / chosen.size)
