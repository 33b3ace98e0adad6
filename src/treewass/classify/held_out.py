"""Neighbours of training documents that the metric has not seen: what honest probabilities are fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.histograms import to_histograms
from treewass.learners.fingerprints import fingerprints
from treewass.search.embedding import unknown_rows
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["HeldOut", "hold_out"]

_PARTS = 3
_ENOUGH = 2000
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out documents and their neighbours among the others.

    Parameters
    ----------
    truth : ndarray of int, shape (n_queries,)
        The documents' class numbers.
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of the neighbours, nearest first.
    distances : ndarray of shape (n_queries, k)
    """

    truth: NDArray[np.intp]
    labels: NDArray[np.intp]
    distances: NDArray[np.float64]


def hold_out(
    counts: csr_array,
    labels: NDArray[np.intp],
    learn: Callable[[csr_array, NDArray[np.intp]], TreeMetric],
    k: int,
    n_jobs: int | None,
) -> HeldOut:
    """Learn the metric without some documents, and find their neighbours among those it was learned from.

    Equal documents are held out together, so that none meets its copy. A third of the documents is held out at a
    time, at most 2000, and other thirds until there are 2000 in all.

    Parameters
    ----------
    counts : csr_array of shape (n_documents, n_words)
        Canonical counts.
    labels : ndarray of int, shape (n_documents,)
        Class numbers.
    learn : callable
        Makes a metric of documents and class numbers.
    k : int
        Neighbours a document; fewer where the parts are smaller.
    n_jobs : int or None
        Threads of the search.

    Returns
    -------
    HeldOut
        Without queries if there are fewer than 20 documents.
    """
    found = []
    for queries, others in _parts(counts):
        if not others.size:
            break
        metric = learn(counts[others], labels[others])
        index = TreeIndex(metric, n_jobs=n_jobs)
        documents = np.setdiff1d(np.arange(others.size), unknown_rows(metric, counts[others]))
        known = np.setdiff1d(np.arange(queries.size), unknown_rows(metric, counts[queries]))
        if not documents.size or not known.size:
            continue
        index.add(counts[others[documents]], documents)
        distances, ids = index.search(counts[queries[known]], k)
        found.append((labels[queries[known]], labels[others][ids], distances))
    width = min((part[1].shape[1] for part in found), default=k)
    if not found:
        return HeldOut(np.zeros(0, dtype=np.intp), np.zeros((0, width), dtype=np.intp), np.zeros((0, width)))
    return HeldOut(
        np.concatenate([truth for truth, _, _ in found]),
        np.concatenate([near[:, :width] for _, near, _ in found]),
        np.concatenate([distances[:, :width] for _, _, distances in found]),
    )


def _parts(counts: csr_array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield rows to hold out, and the others; which rows depends on their content alone."""
    n_documents = counts.shape[0]
    if n_documents < _FEWEST:
        return
    prints = fingerprints(to_histograms(counts))
    order = np.argsort(prints, kind="stable")
    prints = prints[order]
    size = min(-(-n_documents // _PARTS), _ENOUGH)
    held = 0
    while held < min(n_documents, _ENOUGH):
        stop = min(held + size, n_documents)
        while stop < n_documents and prints[stop] == prints[stop - 1]:
            stop += 1
        yield np.sort(order[held:stop]), np.sort(np.delete(order, slice(held, stop)))
        held = stop
