"""Documents as sparse vectors whose L1 distance is the tree-Wasserstein distance.

The loops are in `embedding_kernels.py`. A search embeds its queries with the same loops, called in
`search/kernels/query_embedding.py`, or with NumPy alone, in `numpy_embedding.py`.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treewass.documents.histograms import check_counts, empty_rows, first_few, row_totals, short_bounds
from treewass.trees.columns import EmbeddedRows
from treewass.trees.layout import MASS_BITS, METRIC, EmbeddingRoom
from treewass.trees.metric import TreeMetric
from treewass.trees.rows import Rows, arrays_of, canonical_rows, count_rows, part_of, plain_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "MASS_BITS",
    "RefusedQuery",
    "embed",
    "embed_units",
    "embedded_rows",
    "known_rows",
    "mass_units",
    "refuse_empty",
    "refuse_query",
    "refuse_unknown",
    "unknown_rows",
]

_OVERFLOW = -2  # as the compiled loops report it
_BLOCK = 1024  # rows embedded at a time
_CHECKED = 1 << 13  # rows looked at together for known words


class RefusedQuery(ValueError):
    """The compiled loops could not read a row that was not checked; if it was, the message is for the user."""


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

    rows = plain_rows(X, metric.n_words)
    made = None if rows is None else _embed_rows(metric, rows, rounded)
    if made is None or isinstance(made, int):
        made = _embed_rows(metric, canonical_rows(X, metric.n_words), rounded)
    if isinstance(made, int):
        refuse_overflow(made)
    shape = (made.bounds.size - 1, metric.n_features)
    embedded = csr_array((made.values, made.features, short_bounds(made.bounds)), shape=shape)
    embedded.has_canonical_format = True
    return embedded


def embedded_rows(metric: TreeMetric, rows: Rows) -> EmbeddedRows:
    """Embed documents in units, for the loops that compare them.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    rows : Rows
        Canonical documents.

    Raises
    ------
    ValueError
        If a total overflows.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> rows = canonical_rows([[1, 3], [0, 0]], 2)
    >>> embedded_rows(TreeMetric(star_tree(2), fraction_bits=3), rows).values
    array([2, 6])
    """
    made = _embed_rows(metric, rows, True, np.int64)
    if isinstance(made, int):
        refuse_overflow(made)
    return made


def _embed_rows(metric: TreeMetric, rows: Rows, rounded: bool, kind: type = np.float64) -> EmbeddedRows | int:
    """Embed blocks of rows with the compiled loop, in memory that they share, or return a row that it refuses."""
    from treewass.trees.embedding_kernels import embed_rows  # on first use, since importing numba takes a moment

    room = EmbeddingRoom(metric, in_order=True)
    plan = np.concatenate([metric.layout.description, room.description])
    n_rows, longest = count_rows(rows), int(metric.layout.description.view(METRIC)["longest"][0])
    parts = [part_of(rows, start, min(start + _BLOCK, n_rows)) for start in range(0, max(n_rows, 1), _BLOCK)]
    most = max(min(max(0, int(part[0][-1]) - int(part[0][0])), rows[1].size) for part in parts)
    features, values = np.empty(most * longest, dtype=np.int32), np.empty(most * longest)
    bounds, known = np.zeros(n_rows + 1, dtype=np.int64), np.empty(n_rows, dtype=bool)
    blocks: list[tuple[NDArray[np.int32], NDArray[Any]]] = []
    for number, part in enumerate(parts):
        start = number * _BLOCK
        own, filled = bounds[start : start + _BLOCK + 1], int(bounds[start])
        row: int = embed_rows(plan, *part, rounded, own, features, values, known[start : start + _BLOCK])
        if row >= 0:
            return start + row
        blocks.append((features[: own[-1]].copy(), values[: own[-1]].astype(kind)))
        own += filled
    if len(blocks) == 1:
        return EmbeddedRows(bounds, blocks[0][0], blocks[0][1], known)
    return EmbeddedRows(bounds, np.concatenate([f for f, _ in blocks]), np.concatenate([v for _, v in blocks]), known)


def known_rows(metric: TreeMetric, X: Any, name: str = "X") -> Rows:
    """Validate documents that must hold a known word, and bring them into canonical form.

    Raises
    ------
    ValueError
        If values are negative or not finite, the shape is wrong, or a row holds no known word.
    """
    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    refuse_unknown(metric, counts, name)
    return arrays_of(counts)


def refuse_overflow(row: int) -> NoReturn:
    """Raise the error for a row of weights whose total overflows."""
    raise RefusedQuery(f"Expected row totals that fit a float64, but row {row} overflows. Scale X down.")


def refuse_query(row: int, reason: int) -> NoReturn:
    """Raise the error for a canonical query that the compiled loops could not embed."""
    if reason == _OVERFLOW:
        refuse_overflow(row)
    raise RefusedQuery(
        f"Expected documents with at least one known word, but row {row} has none that weighs anything beside the "
        "mass factors: their product is too small for a float64. Scale X up."
    )


def unknown_rows(metric: TreeMetric, counts: csr_array) -> NDArray[np.intp]:
    """Find the documents without a known word: they have no mass to move, so no distance to anything.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    counts : csr_array of shape (n_documents, n_columns)
        Canonical, as `check_counts` makes it; words beyond the metric have no mass.

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
    found = [np.zeros(0, dtype=np.intp)]
    counts = counts if counts.shape[1] == metric.n_words else counts[:, : metric.n_words]
    for start in range(0, counts.shape[0], _CHECKED):
        bounds = counts.indptr[start : start + _CHECKED + 1]
        own = slice(bounds[0], bounds[-1])
        words = counts.indices[own]
        weights = counts.data[own] * reduce(np.minimum, (masses[words] for masses in metric.scaled_masses))
        entries_before = np.concatenate([[0], np.cumsum(weights > 0)])
        found.append(start + np.flatnonzero(np.diff(entries_before[bounds - bounds[0]]) == 0))
    return np.concatenate(found)


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
