"""Neighbours of training documents that the metric has not seen: what honest probabilities are fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treewass.compute.progress import show_progress
from treewass.documents.histograms import histogram_prints
from treewass.search.index import TreeIndex
from treewass.trees.embedding import unknown_rows
from treewass.trees.metric import TreeMetric
from treewass.votes.rules import first_of_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["HeldOut", "hold_out"]

_MORE_PARTS, _PARTS, _LESS_PARTS = 10, 3, 2
_FEW = 200  # documents, of which less is held out at a time: a metric of two thirds is no guide to one of all
_MANY = 6000  # documents, of which more is held out at a time: half of them are a guide to all
_ENOUGH, _MOST_AT_ONCE = 1200, 2000
_FEWEST = 20


class HeldOut(NamedTuple):
    """Class numbers and weights of held-out documents, and class numbers, distances and weights of their neighbours.

    The documents come part after part; `parts` holds the rows of each part, and those it was held out of.
    """

    truth: NDArray[np.intp]  # (n_queries,)
    labels: NDArray[np.intp]  # (n_queries, k)
    distances: NDArray[np.float64]  # (n_queries, k)
    weights: NDArray[np.float64]  # (n_queries,)
    neighbor_weights: NDArray[np.float64]  # (n_queries, k), as `first_of_weight` cuts them
    parts: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...] = ()


def hold_out(
    counts: csr_array,
    labels: NDArray[np.intp],
    learn: Callable[[csr_array, NDArray[np.intp], NDArray[np.float64]], TreeMetric],
    k: int,
    *,
    weights: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> HeldOut:
    """Learn the metric without some documents, and find their neighbours among those it was learned from.

    Equal documents are held out together, so that none meets its copy. A third of the documents is held out at a time,
    and other thirds until there are 1200 in all; it is a tenth of 200 documents or less, and half of more than 6000.
    Of each part, at most 2000 documents look for neighbours.

    Counts are canonical, of any kind of number, labels are class numbers, weights say how many documents each counts
    as, one by default, and `learn` makes a metric of these. There are fewer than k neighbours where a part is smaller.
    There are no queries at all if there are fewer than 20 documents, or if most of them have a class that no other
    document has: what nobody can guess says nothing about who is to be believed.
    """
    weights = np.ones(labels.size) if weights is None else weights
    nothing = np.zeros((0, k))
    found = [HeldOut(np.zeros(0, dtype=np.intp), nothing.astype(np.intp), nothing, np.zeros(0), nothing)]
    is_alone = np.bincount(labels)[labels] == 1
    parts = list(_parts(counts, labels, weights)) if 2 * np.count_nonzero(is_alone) <= labels.size else []
    with show_progress("learning without held-out documents", len(parts), verbose) as advance:
        for queries, others in parts:
            if np.unique(labels[others]).size < 2:  # the part holds all documents of the other classes
                continue
            chosen = counts[others]
            metric = learn(chosen, labels[others], weights[others])
            has_known = np.delete(np.arange(others.size), unknown_rows(metric, chosen))
            documents = others[has_known]
            known = np.delete(queries, unknown_rows(metric, counts[queries]))
            if documents.size and known.size:
                index = TreeIndex(metric, n_jobs=n_jobs)
                index.add(chosen if documents.size == others.size else chosen[has_known], documents)
                distances, rows = index.search(counts[known], k)
                heard = first_of_weight(weights[rows], k)
                found.append(HeldOut(labels[known], labels[rows], distances, weights[known], heard, ((known, others),)))
                del index
            del chosen  # before the next part
            advance()
    width = min(part.labels.shape[1] for part in found)
    return HeldOut(
        np.concatenate([part.truth for part in found]),
        np.concatenate([part.labels[:, :width] for part in found]),
        np.concatenate([part.distances[:, :width] for part in found]),
        np.concatenate([part.weights for part in found]),
        np.concatenate([part.neighbor_weights[:, :width] for part in found]),
        tuple(rows for part in found for rows in part.parts),
    )


def _parts(
    counts: csr_array, labels: NDArray[np.intp], weights: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield rows to hold out, and the others; which rows depends on their content and label alone.

    The documents of a class are dealt out to the parts one after the other: a part that took many of a class would meet
    few neighbours of it.
    """
    n_documents = weights.sum()
    if n_documents < _FEWEST:
        return
    n_parts = _MORE_PARTS if n_documents <= _FEW else _PARTS if n_documents <= _MANY else _LESS_PARTS
    prints = histogram_prints(counts)
    _, first, document = np.unique(prints, return_index=True, return_inverse=True)
    part = np.empty(first.size, dtype=np.intp)
    part[np.lexsort((prints[first], labels[first]))] = np.arange(first.size) % n_parts
    part_of, held = part[document.ravel()], 0.0
    for number in range(n_parts):
        queries, others = np.flatnonzero(part_of == number), np.flatnonzero(part_of != number)
        if held >= _ENOUGH or not others.size:
            return
        if queries.size:
            yield queries[:: -(-queries.size // _MOST_AT_ONCE)], others
            held += weights[queries].sum()
