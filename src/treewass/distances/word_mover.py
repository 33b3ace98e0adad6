"""The word mover's distance, exactly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.cost_kernels import transport_problem
from treewass.distances.matrices import pairwise_rows, query_costs
from treewass.distances.pairs import DocumentPairs, check_cost, pair_documents
from treewass.distances.transport import transport_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pairwise_wmd", "wmd", "wmd_to"]


def wmd(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    cost: str = "euclidean",
    n_jobs: int | None = None,
    verbose: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    r"""Compute the word mover's distance between each row of `X` and each row of `Y`.

    The distance of two documents is the least cost of moving the mass of one to the words of the other [1]_:

    .. math::
        \min_{T \ge 0} \sum_{ij} T_{ij}\, c(x_i, y_j), \qquad T \mathbf{1} = a, \quad T^\top \mathbf{1} = b

    Parameters
    ----------
    X, Y : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Counts or weights, each row with at least one word that has a vector; words without one are left out, and
        rows are normalised inside. `Y` defaults to `X`.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each word, such as ``read_word_vectors(path).align(vocabulary)``. They are taken as they
        are, not brought to length one.
    cost : {"euclidean", "squared"}, default="euclidean"
        The distance between two vectors, or its square.
    n_jobs : int, optional
        Processes; -1 for all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    store : path-like, optional
        A folder that keeps finished parts: the same call with the same folder resumes where an earlier one ended.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Symmetric where `Y` is `X`; exactly zero for equal documents.

    Raises
    ------
    ValueError
        For a document without any word that has a vector, or vectors that are not finite.
    ImportError
        Without POT, which the extra ``ot`` brings.

    See Also
    --------
    wmd_neighbors : The nearest documents without computing all distances.
    rwmd, act : Lower bounds, many times faster.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> wmd([[1, 1, 0]], [[0, 0, 2], [1, 1, 0]], word_vectors=[[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    array([[4.5, 0. ]])
    """
    squared = check_cost(cost, caller="wmd")
    pairs = pair_documents(X, Y, word_vectors, caller="wmd")
    return pairwise_wmd(pairs, squared, caller="wmd", n_jobs=n_jobs, verbose=verbose, store=store)


def pairwise_wmd(
    pairs: DocumentPairs,
    squared: bool,
    *,
    caller: str,
    n_jobs: int | None = None,
    verbose: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Compute all distances between documents that are ready for comparison; parameters as in `wmd`."""
    settings = {"squared": squared, "caller": caller}
    distances = pairwise_rows(
        pairs, _rows, settings, name=caller, processes=True, n_jobs=n_jobs, verbose=verbose, store=store
    )
    return distances + distances.T if pairs.same else distances


def wmd_to(
    pairs: DocumentPairs,
    table: NDArray[np.float64],
    row: int,
    columns: NDArray[np.intp],
    *,
    squared: bool,
    caller: str,
) -> NDArray[np.float64]:
    """Compute the distance of one document to some others, given its table of costs.

    Parameters
    ----------
    pairs : DocumentPairs
        Documents and points.
    table : ndarray of shape (n_points, n_query_points)
        From `query_costs`.
    row : int
        The document on the left.
    columns : ndarray of int
        The documents on the right.
    squared : bool
        Whether the table holds squared distances.
    caller : str
        Named in error messages.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    points, masses = pairs.of_left(row)
    bounds, right = pairs.right.indptr, pairs.right
    distances = np.empty(columns.size)
    for place, column in enumerate(columns):
        span = slice(bounds[column], bounds[column + 1])
        problem = transport_problem(table, points, masses, right.indices[span], right.data[span], not squared)
        distances[place] = transport_cost(*problem, caller=caller)
    return distances


def _rows(pairs: DocumentPairs, start: int, stop: int, *, squared: bool, caller: str) -> dict[str, NDArray[np.float64]]:
    """Compute some rows; of two equal sets only what lies right of the diagonal."""
    n_columns = pairs.shape[1]
    distances = np.zeros((stop - start, n_columns))
    for row in range(start, stop):
        columns = np.arange(row + 1 if pairs.same else 0, n_columns)
        table = query_costs(pairs, row, squared)
        distances[row - start, columns] = wmd_to(pairs, table, row, columns, squared=squared, caller=caller)
    return {"distances": distances}
