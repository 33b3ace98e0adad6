"""What of a model's documents deserves a look: near-duplicates, and labels that the neighbours contradict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.explain.predictions import Neighbor
from treewass.search.contents import documents_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.model.document_model import DocumentModel

__all__ = ["Duplicate", "Findings", "Suspect", "find_oddities"]

_NEAR = 0.1  # of the median distance to the nearest other document
_DOUBTFUL = 0.5
_BLOCK = 2000
_MOST_DESCRIBED = 1000


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two documents that say nearly the same.

    Parameters
    ----------
    first, second : Neighbor
        The documents; of different labels, one of them is wrong.
    distance : float
        Their distance.
    """

    first: Neighbor
    second: Neighbor
    distance: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """A document whose neighbours have another label.

    Parameters
    ----------
    document : Neighbor
        The document.
    suggested : str or int
        The label that its neighbours vote for.
    probability, own_probability : float
        Of the suggested label, and of its own.
    neighbors : tuple of Neighbor
        The nearest other documents.
    """

    document: Neighbor
    suggested: Any
    probability: float
    own_probability: float
    neighbors: tuple[Neighbor, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found.

    Parameters
    ----------
    n_looked_at : int
        Documents whose neighbours were looked at.
    predicted : tuple of int
        The label, as a class number, that the others vote for, of each document looked at.
    true : tuple of int
        Their own class numbers.
    ids : tuple of int
        Their ids.
    confidences : tuple of float
        Probability of the label voted for.
    duplicates : tuple of Duplicate
        Pairs of different labels first, then the nearest; the first thousand.
    n_duplicates : int
        How many there are.
    suspects : tuple of Suspect
        The most doubtful first.
    threshold : float
        The distance up to which documents count as near-duplicates.
    """

    n_looked_at: int
    predicted: tuple[int, ...]
    true: tuple[int, ...]
    ids: tuple[int, ...]
    confidences: tuple[float, ...]
    duplicates: tuple[Duplicate, ...]
    n_duplicates: int
    suspects: tuple[Suspect, ...]
    threshold: float


def find_oddities(model: DocumentModel, *, max_documents: int = 20_000) -> Findings:
    """Compare each document with its neighbours, itself left out.

    The metric was learned from the very labels it is asked about, so that a contradiction weighs the more.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    max_documents : int, default=20000
        Documents to look at, evenly spread over all; each is compared with all documents.

    Returns
    -------
    Findings

    Examples
    --------
    >>> from treewass import DocumentModel
    >>> texts = ["cats purr", "cats purr", "dogs bark", "dogs bark", "dogs growl", "dogs bark loudly"]
    >>> model = DocumentModel(n_neighbors=2).fit(texts, ["cat", "cat", "dog", "dog", "dog", "dog"])
    >>> [(pair.first.id, pair.second.id) for pair in find_oddities(model).duplicates]
    [(0, 1), (2, 3)]
    """
    held = model.contents_
    ids = held.index.ids
    chosen = ids[np.linspace(0, ids.size - 1, min(ids.size, max_documents)).astype(np.intp)]
    distances, neighbors, rows = _other_documents(model, chosen, held.vote.n_neighbors)
    true = held.documents.codes_of(rows)
    probabilities = held.vote.probabilities(held.documents.codes_of(neighbors), distances)
    predicted = probabilities.argmax(axis=1) if rows.size else np.zeros(0, dtype=np.intp)
    confidences = probabilities[np.arange(rows.size), predicted]
    nearest = distances[:, 0] if distances.shape[1] else np.zeros(0)
    threshold = _NEAR * float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else 0.0
    return Findings(
        int(rows.size),
        tuple(predicted.tolist()),
        tuple(true.tolist()),
        tuple(rows.tolist()),
        tuple(confidences.tolist()),
        *_duplicates(model, rows, distances, neighbors, threshold),
        _suspects(model, rows, true, predicted, probabilities, neighbors, distances),
        threshold,
    )


def _other_documents(
    model: DocumentModel, ids: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Find the nearest other documents of documents with a known word; return distances, ids, and the documents."""
    from treewass.search.embedding import unknown_rows

    index = model.index_
    all_distances, all_neighbors, rows = [], [], []
    for start in range(0, ids.size, _BLOCK):
        block = ids[start : start + _BLOCK]
        counts = documents_of(index, block)
        known = np.setdiff1d(np.arange(block.size), unknown_rows(index.metric, counts))
        if not known.size:
            continue
        distances, neighbors = index.search(counts[known], k + 1)
        others = neighbors != block[known][:, None]
        others[others.all(axis=1), -1:] = False
        shape = (known.size, neighbors.shape[1] - 1)
        all_distances.append(distances[others].reshape(shape))
        all_neighbors.append(neighbors[others].reshape(shape))
        rows.append(block[known])
    if not rows:
        return np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate(all_distances), np.concatenate(all_neighbors), np.concatenate(rows)


def _duplicates(
    model: DocumentModel,
    rows: NDArray[np.int64],
    distances: NDArray[np.float64],
    neighbors: NDArray[np.int64],
    threshold: float,
) -> tuple[tuple[Duplicate, ...], int]:
    """Describe pairs within the threshold, those of different labels first, and count them."""
    near_rows, near_columns = np.nonzero(distances <= threshold)
    ends = np.sort(np.stack([rows[near_rows], neighbors[near_rows, near_columns]], axis=1), axis=1)
    pairs, first = np.unique(ends, axis=0, return_index=True)
    apart = distances[near_rows, near_columns][first]
    codes = model.contents_.documents.codes_of(pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], apart, codes[:, 0] == codes[:, 1]))
    described = [
        Duplicate(model.neighbor(int(pairs[place, 0])), model.neighbor(int(pairs[place, 1])), float(apart[place]))
        for place in order[:_MOST_DESCRIBED].tolist()
    ]
    return tuple(described), len(pairs)


def _suspects(
    model: DocumentModel,
    rows: NDArray[np.int64],
    true: NDArray[np.intp],
    predicted: NDArray[np.intp],
    probabilities: NDArray[np.float64],
    neighbors: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> tuple[Suspect, ...]:
    places = np.arange(rows.size)
    own = probabilities[places, true] if rows.size else np.zeros(0)
    best = probabilities[places, predicted] if rows.size else np.zeros(0)
    doubtful = np.flatnonzero((predicted != true) & (best >= _DOUBTFUL))
    classes = model.contents_.classes
    return tuple(
        Suspect(
            model.neighbor(int(rows[row])),
            classes[predicted[row]],
            float(best[row]),
            float(own[row]),
            tuple(
                model.neighbor(int(number), float(distance))
                for number, distance in zip(neighbors[row, :3], distances[row, :3], strict=True)
            ),
        )
        for row in doubtful[np.argsort(own[doubtful] - best[doubtful], kind="stable")].tolist()
    )
