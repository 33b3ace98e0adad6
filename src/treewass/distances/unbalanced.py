"""The unbalanced tree-Wasserstein distance: mass may be created and destroyed, at a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import run_in_blocks
from treewass.distances.document_pairs import Documents, Floats
from treewass.distances.slope_treaps import unbalanced_costs
from treewass.documents.histograms import check_counts, first_few
from treewass.trees.checks import check_lengths
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["unbalanced_distance"]


def unbalanced_distance(
    metric: TreeMetric,
    X: Any,
    Y: Any = None,
    *,
    creation: float | ArrayLike,
    destruction: float | ArrayLike,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    r"""Compute the unbalanced tree-Wasserstein distance between each row of `X` and each row of `Y`.

    Rows are not normalised: a document puts the mass ``metric.masses[w] * counts[w]`` on word w. Turning document a
    into b costs

    .. math:: \min_{\Pi \ge 0} \sum_{v, w} d_\mathcal{T}(v, w) \, \Pi_{vw}
              + \sum_v \lambda^-_v \Big(a_v - \sum_w \Pi_{vw}\Big) + \sum_w \lambda^+_w \Big(b_w - \sum_v \Pi_{vw}\Big)

    where no word gives more than it has or receives more than it needs. Mass is moved, destroyed or created, whichever
    is cheapest. For documents of equal mass this is the balanced distance of unnormalised rows, if creation and
    destruction together cost at least as much as the longest path between two words.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X, Y : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights; `Y` defaults to `X`. A row without a known word is allowed here. It has no mass, so that all
        of the other document is created or destroyed.
    creation, destruction : float or array-like of shape (n_words,)
        Cost of a unit of mass to create or destroy (:math:`\lambda^+`, :math:`\lambda^-`): one for all words, or one
        for each.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        In floating point, not in the metric's fixed point. Exchanging `X` with `Y` and creation with destruction
        transposes it.

    Notes
    -----
    Unlike in the balanced distance, the net mass that reaches the root need not be zero before mass is created and
    destroyed. The root's own edge leads to no word, so that its length is part of no path.
    With several trees, each component's problem has prices of ``1 / n_components``, and the costs add up. For trees
    averaged by `TreeMetric.average` this is the mean of the trees' unbalanced distances.
    A pair takes :math:`O(n \log^2 n)`, n being the documents' words and the nodes above them.

    References
    ----------
    Sato, Yamada and Kashima, Fast unbalanced optimal transport on a tree, NeurIPS 2020.

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> x, y = [[2, 0, 0]], [[0, 1, 1]]
    >>> unbalanced_distance(metric, x, y, creation=5, destruction=5), 2 * metric.pairwise(x, y)
    (array([[6.]]), array([[6.]]))
    >>> unbalanced_distance(metric, x, y, creation=1, destruction=2)
    array([[5.]])
    """
    rows = _weighted_rows(metric, X)
    others = rows if Y is None else _weighted_rows(metric, Y)
    prices = (
        _check_prices(creation, metric.n_words, "creation") / metric.n_components,
        _check_prices(destruction, metric.n_words, "destruction") / metric.n_components,
    )
    costs = np.zeros((rows[0].shape[0], others[0].shape[0]))
    if not costs.size:
        return costs
    _refuse_overflow(metric, rows, prices, "X")
    _refuse_overflow(metric, others, prices, "Y")

    def work(start: int, stop: int) -> None:
        for tree, own, its in zip(metric.trees, rows, others, strict=True):
            arrays = (tree.parents, tree.edge_lengths, tree.word_nodes, tree.leaf_lengths)
            unbalanced_costs(arrays, prices, _arrays(own), _arrays(its), start, stop, costs)

    run_in_blocks(work, len(costs), n_jobs, block=16)
    return costs


def _weighted_rows(metric: TreeMetric, X: Any) -> list[csr_array]:
    """Weight counts by the words' masses, for each tree."""
    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    weighted = []
    for masses in metric.masses:
        rows = counts.copy()
        rows.data *= masses[rows.indices]
        rows.eliminate_zeros()
        wrong = np.flatnonzero(~np.isfinite(rows @ np.ones(rows.shape[1])))
        if wrong.size:
            raise ValueError(f"Expected masses that fit a float64, but rows {first_few(wrong)} overflow. Scale X down.")
        weighted.append(rows)
    return weighted


def _refuse_overflow(metric: TreeMetric, weighted: list[csr_array], prices: tuple[Floats, Floats], name: str) -> None:
    """Demand masses whose way to the root and whose price fit a float64, added up over the trees."""
    dearest = max(float(price.max(initial=0.0)) for price in prices) * metric.n_components + metric.height
    most = float(np.finfo(np.float64).max) / (2 * metric.n_components * max(dearest, 1e-300))
    totals = [rows @ np.ones(rows.shape[1]) for rows in weighted]
    wrong = np.flatnonzero(np.max(totals, axis=0) > most)
    if wrong.size:
        raise ValueError(
            f"Expected masses times prices and lengths that fit a float64, but rows {first_few(wrong)} of {name} "
            "overflow. Scale the counts, the prices or the tree down."
        )


def _check_prices(price: float | ArrayLike, n_words: int, name: str) -> NDArray[np.float64]:
    """Demand finite non-negative prices, one for all words or one for each."""
    prices = np.asarray(price)
    return check_lengths(np.full(n_words, prices) if prices.ndim == 0 else prices, n_words, name)


def _arrays(rows: csr_array) -> Documents:
    return rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data
