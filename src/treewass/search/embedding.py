"""Documents as sparse vectors whose L1 distance is the tree-Wasserstein distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import check_counts, first_few, row_totals
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["MASS_BITS", "embed", "embed_units", "mass_units", "refuse_unknown", "unknown_rows"]

MASS_BITS = 50  # masses are whole numbers of 2**-50; a document's add up to exactly 2**50


def embed(metric: TreeMetric, X: Any, *, fixed_point: bool = True) -> csr_array:
    r"""Embed documents so that L1 distances between rows are tree-Wasserstein distances, equation (1).

    A document becomes the vector of :math:`w_v \, \mu(\Gamma(v))` over the nodes v of the tree but the root,
    internal nodes first and then words, tree after tree.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights; rows are normalised inside.
    fixed_point : bool, default=True
        Round every entry to a multiple of ``metric.resolution``. Sums of such entries are exact in float64,
        so that distances do not depend on the order of summation. With False the entries are not rounded.

    Returns
    -------
    csr_array of shape (n_documents, n_features), float64
        Non-negative. A document without a known word gives a row of zeros.

    Notes
    -----
    The fixed-point distance differs from the unrounded one by at most the number of features that are
    non-zero in either document, times ``metric.resolution``.

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], edge_lengths=[1, 2, 2], word_nodes=[1, 1, 2]))
    >>> embed(metric, [[1, 1, 0], [0, 0, 3]]).toarray()
    array([[2. , 0. , 0.5, 0.5, 0. ],
           [0. , 2. , 0. , 0. , 1. ]])
    """
    scaled = _scaled_units(metric, X)
    if fixed_point:
        np.rint(scaled.data, out=scaled.data)
        scaled.eliminate_zeros()
    scaled.data = np.ldexp(scaled.data, -metric.fraction_bits)
    return scaled


def embed_units(metric: TreeMetric, X: Any) -> csr_array:
    """Embed documents as whole numbers of ``metric.resolution``: the form that every search uses.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.

    Returns
    -------
    csr_array of shape (n_documents, n_features), int32
        Sorted rows without stored zeros.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> embed_units(TreeMetric(star_tree(2), fraction_bits=3), [[1, 3]]).toarray()
    array([[2, 6]], dtype=int32)
    """
    from scipy.sparse import csr_array

    scaled = _scaled_units(metric, X)
    units = csr_array((np.rint(scaled.data).astype(np.int32), scaled.indices, scaled.indptr), shape=scaled.shape)
    units.eliminate_zeros()
    return units


def mass_units(metric: TreeMetric, X: Any, component: int = 0) -> csr_array:
    """Compute the mass that each document puts on each word, as whole numbers of ``2**-50``.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.
    component : int, default=0
        The tree whose word masses are used.

    Returns
    -------
    csr_array of shape (n_documents, n_words), int64
        Rows that add up to exactly ``2**50``; empty for documents without a known word. What rounding leaves
        over goes to the heaviest word, the first of them on a tie.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> masses = mass_units(TreeMetric(star_tree(3), masses=[1, 3, 0]), [[1, 1, 5]])
    >>> (masses.toarray() / 2**50).tolist()
    [[0.25, 0.75, 0.0]]
    """
    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    return _mass_units(counts, metric.masses[component])


def unknown_rows(metric: TreeMetric, X: Any) -> NDArray[np.intp]:
    """Find the documents without a known word: they have no mass to move, so no distance to anything.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.

    Returns
    -------
    ndarray of int
        Row numbers.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> unknown_rows(TreeMetric(star_tree(2), masses=[1, 0]), [[1, 0], [0, 3], [0, 0]])
    array([1, 2])
    """
    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    return np.flatnonzero(counts @ metric.known_words.astype(np.float64) == 0)


def refuse_unknown(metric: TreeMetric, X: Any, name: str) -> None:
    """Raise a ValueError where a document holds no known word, naming the first rows."""
    rows = unknown_rows(metric, X)
    if rows.size:
        raise ValueError(
            f"Expected documents with at least one known word, but {rows.size} row(s) of {name} have none: "
            f"{first_few(rows)}. There is no distance to such a document; leave those rows out."
        )


def _mass_units(counts: csr_array, factors: NDArray[np.float64]) -> csr_array:
    """Weight canonical counts and round them to masses that add up exactly."""
    from scipy.sparse import csr_array

    weights = csr_array((counts.data * factors[counts.indices], counts.indices, counts.indptr), shape=counts.shape)
    totals = row_totals(weights)
    kept = np.repeat(totals > 0, np.diff(counts.indptr))
    units = np.zeros(counts.nnz, dtype=np.int64)
    shares = weights.data[kept] / np.repeat(totals, np.diff(counts.indptr))[kept]
    units[kept] = np.rint(np.ldexp(shares, MASS_BITS)).astype(np.int64)
    _give_remainders(units, counts.indptr[:-1][totals > 0])
    masses = csr_array((units, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
    masses.eliminate_zeros()
    return masses


def _give_remainders(units: NDArray[np.int64], starts: NDArray[np.int32]) -> None:
    """Give what each row lacks of ``2**MASS_BITS`` to its largest entry, in place."""
    if starts.size == 0:
        return
    sums = np.add.reduceat(units, starts)
    largest = np.maximum.reduceat(units, starts)
    row_of_entry = np.searchsorted(starts, np.arange(units.size), side="right") - 1
    candidates = np.flatnonzero((row_of_entry >= 0) & (units == largest[row_of_entry]) & (units > 0))
    _, first = np.unique(row_of_entry[candidates], return_index=True)
    units[candidates[first]] += 2**MASS_BITS - sums


def _scaled_units(metric: TreeMetric, X: Any) -> csr_array:
    """Embed in units of the metric's resolution, as float64 that is not rounded yet.

    Subtree masses are sums of integers, so that they do not depend on the order of summation; each is then
    multiplied once by the length of its edge.
    """
    from scipy.sparse import csr_array, hstack

    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    blocks = []
    for tree, factors, features in zip(metric.trees, metric.masses, metric.word_features, strict=True):
        block = _mass_units(counts, factors) @ features
        lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        data = block.data * np.ldexp(lengths, metric.fraction_bits - MASS_BITS)[block.indices]
        blocks.append(csr_array((data, block.indices, block.indptr), shape=block.shape))
    embedded = csr_array(hstack(blocks, format="csr")) if len(blocks) > 1 else blocks[0]
    embedded.sort_indices()
    embedded.eliminate_zeros()
    return embedded
