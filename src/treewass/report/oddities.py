"""Documents that deserve a look: near-duplicates, and labels that the other documents contradict."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.texts import defused
from treewass.explain.hits import Document, Hit
from treewass.model.contents import Contents
from treewass.model.cross_fitting import MOST_ASKED, held_out_scores, spread_documents
from treewass.model.inference import describe_document, describe_hits
from treewass.report.near_duplicates import alike_pairs, triple_sets
from treewass.search.held_documents import documents_of
from treewass.search.numpy_nearest import nearest_of_rows
from treewass.storage.folders import check_folder, replacing
from treewass.trees.embedding import unknown_rows
from treewass.votes.neighbors import others_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.model.document_model import DocumentModel

__all__ = ["Duplicate", "Oddities", "Suspect", "find_oddities", "oddities_of"]

_PRIOR_SHARE = 0.02  # of a vote that is not calibrated: no class is impossible
_MOST_DESCRIBED = 1000


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two documents that say nearly the same.

    Parameters
    ----------
    first, second : Document
        The documents. If their labels differ, one of them is probably wrong.
    likeness : float
        Triples of successive words that both hold, as a share of those that one of them holds: from 0.5 to 1.
    """

    first: Document
    second: Document
    likeness: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """A document for which another label is more probable than its own.

    Parameters
    ----------
    document : Document
        The document.
    suggested : str or int
        The most probable label, by all that the model learns from other documents.
    probability, own_probability : float
        Of the suggested label, and of its own.
    neighbors : tuple of Hit
        The nearest other documents.
    """

    document: Document
    suggested: Any
    probability: float
    own_probability: float
    neighbors: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Oddities:
    """Near-duplicates and doubtful labels among the documents of a model, as `find_oddities` finds them.

    Parameters
    ----------
    n_looked_at : int
        Documents whose neighbours were looked at.
    n_unknown : int
        Documents that were chosen, too, but hold no known word, so that they have no neighbours.
    n_documents : int
        How many documents there are to choose from: those with a label, or all of a model without labels.
    predicted : tuple of int
        The class number that the others vote for, of each document looked at.
    true : tuple of int
        Their own class numbers.
    ids : tuple of int
        Their ids.
    confidences : tuple of float
        Probability of the label voted for.
    doubts : tuple of float
        How doubtful their own labels are: the log-odds of the most probable other label against the own one.
    duplicates : tuple of Duplicate
        Pairs of different labels first, then those most alike; the first thousand.
    n_duplicates : int or None
        How many there are; None if the model keeps no texts to compare.
    suspects : tuple of Suspect
        The most doubtful first.
    """

    n_looked_at: int
    n_unknown: int
    n_documents: int
    predicted: tuple[int, ...]
    true: tuple[int, ...]
    ids: tuple[int, ...]
    confidences: tuple[float, ...]
    doubts: tuple[float, ...]
    duplicates: tuple[Duplicate, ...]
    n_duplicates: int | None
    suspects: tuple[Suspect, ...]

    @property
    def n_chosen(self) -> int:
        """How many documents were chosen; near-duplicates are pairs of them."""
        return self.n_looked_at + self.n_unknown

    @property
    def is_sample(self) -> bool:
        """Whether only some documents were chosen, evenly spread."""
        return self.n_chosen < self.n_documents

    def write_suspects(self, path: str | os.PathLike[str], *, defuse: bool = False) -> None:
        """Write the doubtful labels to a CSV file, the most doubtful first; all of it or nothing.

        Its columns are id, key, label, suggested, probability, own_probability, title, text and those that the model
        keeps.

        Parameters
        ----------
        path : path-like
            The file; replaced if it is there.
        defuse : bool, default=False
            Put an apostrophe before texts that a spreadsheet would run as formulas.
        """
        target = Path(path)
        check_folder(target)
        with replacing(target) as new, new.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            kept = list(self.suspects[0].document.columns) if self.suspects else []
            names = ("id", "key", "label", "suggested", "probability", "own_probability", "title", "text")
            writer.writerow([*names, *kept])
            for suspect in self.suspects:
                found, shares = suspect.document, (suspect.probability, suspect.own_probability)
                figures = (f"{share:.6g}" for share in shares)
                cells = [found.id, found.key, found.label, suspect.suggested, *figures, found.title, found.text]
                cells += [found.columns[name] for name in kept]
                writer.writerow([defused(cell) if defuse else cell for cell in cells])


def find_oddities(model: DocumentModel, *, max_documents: int = MOST_ASKED) -> Oddities:
    """Ask the model about each document, itself left out, and compare those that share their word triples.

    Its nearest other documents vote, and a linear channel that learned from four fifths of the documents, without this
    one, is heard. The metric was learned from the labels that it is asked about, so a contradiction means the more.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    max_documents : int, default=20000
        Documents to look at, evenly spread over all. Each is compared with all documents for its label, and with those
        looked at for near-duplicates.

    Returns
    -------
    Oddities

    Examples
    --------
    >>> from treewass import DocumentModel
    >>> texts = ["cats purr", "cats purr", "dogs bark", "dogs bark", "dogs growl", "dogs bark loudly"]
    >>> model = DocumentModel(n_neighbors=2).fit(texts, ["cat", "cat", "dog", "dog", "dog", "dog"])
    >>> [(pair.first.id, pair.second.id) for pair in find_oddities(model).duplicates]
    [(0, 1), (2, 3)]
    """
    return oddities_of(model.contents_, max_documents)


def oddities_of(held: Contents, max_documents: int) -> Oddities:
    """Find the oddities of a model at one moment, as `find_oddities` does."""
    every, _ = held.grouped
    chosen = spread_documents(every, max_documents)
    if not held.classes:
        return Oddities(chosen.size, 0, every.size, (), (), (), (), (), *_duplicates(held, chosen), ())
    votes = _votes(held, chosen)
    return Oddities(
        votes.ids.size,
        chosen.size - votes.ids.size,
        every.size,
        tuple(votes.predicted.tolist()),
        tuple(votes.true.tolist()),
        tuple(votes.ids.tolist()),
        tuple(votes.share(votes.predicted).tolist()),
        tuple(votes.doubts.tolist()),
        *_duplicates(held, chosen),
        _suspects(held, votes),
    )


@dataclass(frozen=True, slots=True)
class _Votes:
    """Documents with a known word, their nearest other documents, and what these and channels say of the classes."""

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    neighbors: NDArray[np.int64]
    true: NDArray[np.intp]
    log_shares: NDArray[np.float64]  # but for a constant of each document

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class number of each document."""
        return np.asarray(self.log_shares.argmax(axis=1))

    @property
    def doubts(self) -> NDArray[np.float64]:
        """The log-odds of the most probable other class against the document's own."""
        rows = np.arange(self.true.size)
        others = self.log_shares.copy()
        others[rows, self.true] = -np.inf
        return np.asarray(others.max(axis=1, initial=-np.inf) - self.log_shares[rows, self.true])

    def share(self, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the probability of one class number for each document."""
        shares = np.exp(self.log_shares - self.log_shares.max(axis=1, keepdims=True))
        return np.asarray((shares / shares.sum(axis=1, keepdims=True))[np.arange(codes.size), codes])


def _votes(held: Contents, ids: NDArray[np.int64]) -> _Votes:
    """Let the other documents vote on documents, and channels that learned from the others."""
    counts = documents_of(held.index, ids)
    known = np.setdiff1d(np.arange(ids.size), unknown_rows(held.index.metric, counts))
    words, weights = counts.indices.tolist(), counts.data.tolist()
    spans = zip(counts.indptr[known].tolist(), counts.indptr[known + 1].tolist(), strict=True)
    rows = [(words[start:stop], weights[start:stop]) for start, stop in spans]
    found = nearest_of_rows(held.index, rows, held.vote.n_neighbors + 1, where=held.documents.voters)
    distances, neighbors = others_only(*found, ids[known])
    labels, pool, counted = held.documents.codes_of(neighbors), held.vote.pool, held.documents.weights_of(neighbors)
    if pool is not None and labels.shape[1]:
        log_shares = pool.parts(labels, distances, held_out_scores(held, ids[known]), held.vote.heard(counted)).total()
    else:
        shares = held.vote.probabilities(labels, distances, weights=counted)
        log_shares = np.log((1 - _PRIOR_SHARE) * shares + _PRIOR_SHARE * held.vote.prior)
    return _Votes(ids[known], distances, neighbors, held.documents.codes_of(ids[known]), log_shares)


def _duplicates(held: Contents, ids: NDArray[np.int64]) -> tuple[tuple[Duplicate, ...], int | None]:
    """Describe pairs of documents that share their word triples, those of different labels first, and count them."""
    texts = held.documents.texts
    if texts is None:
        return (), None
    codes, count = held.documents.codes_of(ids), 0
    pairs, likeness = np.empty((0, 2), dtype=np.int64), np.empty(0)
    for more, more_likeness in alike_pairs(triple_sets(texts[place] for place in held.documents.places(ids).tolist())):
        count += len(more)
        pairs, likeness = np.concatenate([pairs, more]), np.concatenate([likeness, more_likeness])
        same_label = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -likeness, same_label))[:_MOST_DESCRIBED]
        pairs, likeness = pairs[order], likeness[order]
    described = [
        Duplicate(describe_document(held, one), describe_document(held, other), alike)
        for (one, other), alike in zip(ids[pairs].tolist(), likeness.tolist(), strict=True)
    ]
    return tuple(described), count


def _suspects(held: Contents, votes: _Votes) -> tuple[Suspect, ...]:
    """Describe documents for which another label is more probable than their own, the most doubtful first."""
    predicted, doubts = votes.predicted, votes.doubts
    own, best = votes.share(votes.true), votes.share(predicted)
    nearest = votes.distances.min(axis=1, initial=np.finfo(float).max)
    order = np.lexsort((votes.ids, nearest, -doubts))
    return tuple(
        Suspect(
            describe_document(held, int(votes.ids[row])),
            held.classes[predicted[row]],
            float(best[row]),
            float(own[row]),
            tuple(describe_hits(held, votes.neighbors[row, :3], votes.distances[row, :3])),
        )
        for row in order[doubts[order] > 0].tolist()
    )
