"""Barycentres on a tree: the document whose mean distance from given ones is least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import check_counts, to_histograms
from treewass.trees.embedding import refuse_unknown
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["barycenter"]


def barycenter(metric: TreeMetric, X: Any, *, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Find a document of least mean tree-Wasserstein distance from given ones, over the words of the metric.

    Parameters
    ----------
    metric : TreeMetric
        One tree, or several with the same masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights, each row with at least one known word.
    weights : array-like of shape (n_documents,), optional
        Weight of each document, not all zero; equal by default.

    Returns
    -------
    ndarray of shape (n_words,)
        Weights of words that add up to one. There may be other documents with the same mean distance.

    Notes
    -----
    The distance from a document is :math:`\sum_v \ell_v |s_v - a_v|`, where :math:`s_v` is the mass below edge v, a sum
    over words. That is a linear program with as many unknowns as there are words, nodes, and entries in the documents'
    embeddings; SciPy's HiGHS solves it, exactly up to its tolerance of about 1e-7. Medoids are cheaper:
    `treewass.classify.TreeKMedoids`.

    Examples
    --------
    >>> from treewass import Tree
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> barycenter(metric, [[1, 0, 0], [1, 0, 0], [0, 1, 1]]) + 0.0
    array([1., 0., 0.])
    """
    from scipy.optimize import linprog

    counts = check_counts(X, n_words=metric.n_words, caller="barycenter")
    refuse_unknown(metric, counts, "X")
    shares = _shares(weights, counts.shape[0])
    if not (metric.masses == metric.masses[0]).all():
        raise ValueError("Expected the same masses in all components of the metric, got others: no linear program.")
    known, masses = np.flatnonzero(metric.known_words), metric.masses[0]
    program = _program(metric, known, to_histograms(counts.multiply(masses).tocsr()), shares)
    solved = linprog(**program, method="highs")
    if not solved.success:
        raise ValueError(f"Expected the linear program to be solved, but HiGHS says: {solved.message}")
    found = np.zeros(metric.n_words)
    found[known] = np.maximum(solved.x[: known.size], 0.0) / masses[known]
    return np.asarray(found / found.sum())


def _shares(weights: ArrayLike | None, n_documents: int) -> NDArray[np.float64]:
    given = np.ones(n_documents) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != (n_documents,) or not (np.isfinite(given) & (given >= 0)).all() or not given.any():
        raise ValueError(f"Expected {n_documents} weights of zero or more, one per document, not all zero.")
    return np.asarray(given / given.sum())


def _program(
    metric: TreeMetric, known: NDArray[np.intp], histograms: csr_array, shares: NDArray[np.float64]
) -> dict[str, Any]:
    """Write the linear program, as `scipy.optimize.linprog` takes it.

    Unknowns are the words' masses x, the mass s below each edge, and for each entry a of the documents below an edge
    the excess p over it, at least 0 and s − a: |s − a| = 2p − s + a. Where a document has no mass, |s − 0| = s.
    """
    from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

    lengths = np.concatenate([np.r_[tree.edge_lengths[1:], tree.leaf_lengths] for tree in metric.trees])
    edges = np.flatnonzero(lengths > 0)
    below = csr_array(hstack(metric.word_features))[:, edges]
    held = coo_array(histograms @ below)
    documents, places = held.coords
    entries, lengths = documents.size, lengths[edges]
    holding = np.bincount(places, shares[documents], minlength=edges.size)
    excess = 2 * lengths[places] * shares[documents]
    masses = csr_array((np.ones(entries), (np.arange(entries), places)), shape=(entries, edges.size))
    no_words = csr_array((entries, known.size))
    everything = np.concatenate([np.ones(known.size), np.zeros(edges.size + entries)])
    sums = hstack([below[known].T, -eye_array(edges.size), csr_array((edges.size, entries))])
    return {
        "c": np.concatenate([np.zeros(known.size), lengths * (1 - 2 * holding), excess]),
        "A_ub": hstack([no_words, masses, -eye_array(entries)], format="csc"),
        "b_ub": held.data,
        "A_eq": vstack([csr_array(everything[None]), sums], format="csc"),
        "b_eq": np.concatenate([[1.0], np.zeros(edges.size)]),
    }
