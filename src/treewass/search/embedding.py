"""Documents as sparse vectors whose L1 distance is the tree-Wasserstein distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treewass.documents.histograms import check_counts, empty_rows, first_few, row_totals
from treewass.search.layout import MASS_BITS, layout_of
from treewass.search.rows import canonical_rows, plain_rows
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "MASS_BITS",
    "embed",
    "embed_units",
    "mass_units",
    "refuse_empty",
    "refuse_overflow",
    "refuse_unknown",
    "unknown_rows",
]


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
    embedded = _embed(metric, X, rounded=fixed_point)
    np.ldexp(embedded.data, -metric.fraction_bits, out=embedded.data)
    return embedded


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
    embedded = _embed(metric, X, rounded=True)
    embedded.data = embedded.data.astype(np.int32)
    return embedded


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
    return _mass_units(counts, metric.scaled_masses[component])


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


def _embed(metric: TreeMetric, X: Any, *, rounded: bool) -> csr_array:
    """Embed in units of the metric's resolution, as float64, in sorted rows without stored zeros."""
    from scipy.sparse import csr_array

    from treewass.search.kernels.embedding import embed_rows

    layout = layout_of(metric)
    rows = plain_rows(X, metric.n_words)
    embedded_arrays = None if rows is None else embed_rows(layout.description, *rows, rounded)
    if embedded_arrays is None or embedded_arrays[0] >= 0:
        rows = canonical_rows(X, metric.n_words)
        embedded_arrays = embed_rows(layout.description, *rows, rounded)
    row, indptr, features, values = embedded_arrays
    if row >= 0:
        refuse_overflow(row)
    bounds = indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)
    embedded = csr_array((values, features, bounds), shape=(indptr.size - 1, metric.n_features))
    embedded.has_canonical_format = True
    return embedded


def refuse_overflow(row: int) -> NoReturn:
    """Raise a ValueError for a row of weights whose total overflows."""
    raise ValueError(f"Expected row totals that fit a float64, but row {row} overflows. Scale X down.")


def unknown_rows(metric: TreeMetric, counts: csr_array) -> NDArray[np.intp]:
    """Find the documents without a known word: they have no mass to move, so no distance to anything.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    counts : csr_array of shape (n_documents, n_words)
        Canonical, as `check_counts` makes it.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> unknown_rows(TreeMetric(star_tree(2), masses=[1, 0]), check_counts([[1, 0], [0, 1], [0, 0]]))
    array([1, 2])
    """
    weighs = counts.data * metric.scaled_masses.min(axis=0)[counts.indices] > 0
    entries_before = np.concatenate([[0], np.cumsum(weighs)])
    return np.flatnonzero(np.diff(entries_before[counts.indptr]) == 0)


def refuse_unknown(metric: TreeMetric, counts: csr_array, name: str) -> None:
    """Raise a ValueError where a document holds no known word: it has no distance to anything."""
    _refuse_rows(unknown_rows(metric, counts), name)


def refuse_empty(masses: csr_array, name: str) -> None:
    """Raise a ValueError where a row of masses, as `mass_units` makes them, is empty."""
    _refuse_rows(empty_rows(masses), name)


def _refuse_rows(rows: NDArray[np.intp], name: str) -> None:
    if rows.size:
        raise ValueError(
            f"Expected documents with at least one known word, but {rows.size} row(s) of {name} have none: "
            f"{first_few(rows)}. There is no distance to such a document; leave those rows out."
        )
