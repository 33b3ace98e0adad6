"""Lengths by regression: the distances of a tree are fitted to true transport costs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_integer, check_positive
from treewass.distances.word_mover import transport_cost
from treewass.documents.estimator_inputs import check_documents
from treewass.documents.histograms import check_counts, to_histograms
from treewass.documents.word_vectors import check_vectors, svd_vectors
from treewass.learners.base import TreeTransformer
from treewass.learners.unsupervised import QuadtreeWasserstein
from treewass.trees.checks import random_stream
from treewass.trees.embedding import embed, unknown_rows
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["FittedLengths", "fit_edge_lengths", "paired_costs"]

_MOST_PASSES, _TOLERANCE = 300, 1e-3


def fit_edge_lengths(
    metric: TreeMetric,
    X: Any,
    *,
    word_vectors: AlignedVectors | ArrayLike,
    penalty: float = 0.01,
    n_word_pairs: int = 100_000,
    n_document_pairs: int = 500,
    random_state: int | np.random.RandomState | None = 0,
) -> TreeMetric:
    r"""Fit the lengths of a metric's trees to transport costs on word vectors, by non-negative lasso.

    Along given trees the distance of two documents is linear in the lengths: :math:`w^\top z`, where :math:`z` holds
    the absolute differences of their masses below each node. For documents of one word each the true cost is the
    distance between two vectors. So the lengths are those that minimise

    .. math:: \frac{1}{2n} \sum_{i=1}^n (\lVert x_i - y_i \rVert - w^\top z_i)^2 + \alpha \lVert w \rVert_1,
              \quad w \ge 0

    over pairs of words, drawn as often as they occur in documents. Then one factor for all lengths is fitted to true
    costs between documents. Several trees are fitted one by one and averaged: one lasso for all would leave most of
    them without lengths, and the average is the better estimate.

    Parameters
    ----------
    metric : TreeMetric
        One or several trees of any kind, with the same word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each word; the ground distance is Euclidean.
    penalty : float, default=0.01
        Strength of the penalty: :math:`\alpha` in units of the mean distance of the pairs, times the share of pairs
        that a word is in on average.
    n_word_pairs : int, default=100000
        Pairs of words.
    n_document_pairs : int, default=500
        Pairs of documents, whose true costs POT computes.
    random_state : int, RandomState instance or None, default=0
        Draws the pairs.

    Returns
    -------
    TreeMetric
        The same trees with other lengths, none negative. A length that no pair depends on is the given one times the
        factor by which the sum of the others has changed.

    References
    ----------
    Yamada, Takezawa, Sato, Bao, Kozareva and Ravi, Approximating 1-Wasserstein distance with trees, TMLR 2022.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> vectors = [[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]
    >>> fitted = fit_edge_lengths(TreeMetric(star_tree(3)), [[1, 1, 0], [0, 1, 1]], word_vectors=vectors)
    >>> fitted.trees[0].leaf_lengths.round()
    array([1., 3., 2.])
    """
    vectors, covered = check_vectors(word_vectors, caller="fit_edge_lengths")
    penalty = check_positive("penalty", penalty)
    n_word_pairs = check_integer("n_word_pairs", n_word_pairs)
    n_document_pairs = check_integer("n_document_pairs", n_document_pairs)
    if not (metric.masses == metric.masses[0]).all():
        raise ValueError("Expected trees with the same word masses, so that documents have one true cost.")
    counts = check_counts(X, n_words=metric.n_words, caller="fit_edge_lengths")
    if covered.size != metric.n_words:
        raise ValueError(f"Expected one vector for each of the metric's {metric.n_words} words, got {covered.size}.")
    random = random_stream(random_state)
    histograms = _histograms(metric, counts, covered)
    pairs = _word_pairs(histograms, n_word_pairs, random)
    distances = np.linalg.norm(vectors[pairs[0]] - vectors[pairs[1]], axis=1)
    strength = penalty * 2 / np.unique(pairs).size
    trees = [
        _regressed(tree, features, pairs, distances, strength)
        for tree, features in zip(metric.trees, metric.word_features, strict=True)
    ]
    fitted = TreeMetric.average([TreeMetric(tree, metric.masses[0]) for tree in trees])
    first, second, truth = paired_costs(histograms, vectors, n_document_pairs, random, caller="fit_edge_lengths")
    embedded = embed(TreeMetric(fitted.trees), histograms, fixed_point=False)  # these carry the word masses already
    estimates = abs(embedded[first] - embedded[second]) @ np.ones(fitted.n_features)
    size = float(estimates @ estimates)
    factor = float(estimates @ truth) / size if size > 0 else 1.0  # by least squares
    return TreeMetric([tree.scaled(factor) for tree in fitted.trees], metric.masses)


class FittedLengths(TreeTransformer):
    """Compare documents along a quadtree over word vectors, with lengths fitted by `fit_edge_lengths`.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each column of the counts. A word without a vector carries no mass. By default vectors are made
        from the documents, by `treewass.documents.svd_vectors`.
    random_state : int, RandomState instance or None, default=0
        Chooses the shift of the cells and the pairs that lengths are fitted to.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree with its fitted lengths.
    n_features_in_ : int
        Number of words.

    References
    ----------
    Yamada, Takezawa, Sato, Bao, Kozareva and Ravi, Approximating 1-Wasserstein distance with trees, TMLR 2022.

    Examples
    --------
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> FittedLengths(word_vectors=[[0.0], [1.0], [10.0]]).fit(X).pairwise(X).round()
    array([[ 0.,  1., 10.],
           [ 1.,  0.,  9.],
           [10.,  9.,  0.]])
    """

    def __init__(
        self,
        *,
        word_vectors: AlignedVectors | ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.word_vectors = word_vectors
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> FittedLengths:  # noqa: ARG002 - as every estimator
        """Build the tree and fit its lengths.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : None
            Not used.

        Returns
        -------
        FittedLengths
            Itself.
        """
        counts = check_documents(self, X, reset=True)
        given = self.word_vectors
        if given is None:
            given = svd_vectors(counts, random_state=self.random_state)
        options: dict[str, Any] = {"word_vectors": given, "random_state": self.random_state}
        self.metric_ = fit_edge_lengths(QuadtreeWasserstein(**options).fit(counts).metric_, counts, **options)
        return self


def _histograms(metric: TreeMetric, counts: csr_array, covered: NDArray[np.bool_]) -> csr_array:
    """Weight documents by the metric's masses, and leave out those without two words to compare by."""
    counts.data *= np.where(covered, metric.scaled_masses[0], 0.0)[counts.indices]
    counts.eliminate_zeros()
    known = np.setdiff1d(np.arange(counts.shape[0]), unknown_rows(metric, counts))
    if known.size < 2:
        raise ValueError(f"Expected two documents or more with a word that has a vector, got n_samples = {known.size}.")
    return to_histograms(counts[known])


def _word_pairs(histograms: csr_array, n_pairs: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Draw pairs of words, shape (2, n_pairs), each word as often as documents hold it."""
    frequencies = np.bincount(histograms.indices, minlength=histograms.shape[1])
    drawn = random.choice(frequencies.size, size=(2, n_pairs), p=frequencies / frequencies.sum())
    return np.asarray(drawn, dtype=np.intp)


def _regressed(
    tree: Tree, features: csr_array, pairs: NDArray[np.intp], distances: NDArray[np.float64], strength: float
) -> Tree:
    """Fit one tree's lengths to distances between words."""
    from scipy.sparse import csc_matrix
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    typical = float(distances.mean()) or 1.0
    masses = csc_matrix(abs(features[pairs[0]] - features[pairs[1]]), dtype=np.float64)  # z
    masses.indices, masses.indptr = masses.indices.astype(np.int32), masses.indptr.astype(np.int32)
    model = Lasso(alpha=strength, positive=True, fit_intercept=False, max_iter=_MOST_PASSES, tol=_TOLERANCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # lengths near the optimum are lengths too
        fitted = model.fit(masses, distances / typical).coef_ * typical
    given = np.append(tree.edge_lengths[1:], tree.leaf_lengths)
    seen = np.diff(masses.indptr) > 0
    before = float(given[seen].sum())
    lengths = np.where(seen, fitted, given * (float(fitted[seen].sum()) / before if before else 1.0))
    edges = np.append(tree.edge_lengths[0], lengths[: tree.n_nodes - 1])
    return Tree(tree.parents, edges, tree.word_nodes, lengths[tree.n_nodes - 1 :])


def paired_costs(
    histograms: csr_array,
    vectors: NDArray[np.float64],
    n_pairs: int,
    random: np.random.RandomState,
    *,
    caller: str,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Draw pairs of different rows, and compute their true transport costs.

    Parameters
    ----------
    histograms : csr_array of shape (n_documents, n_words)
        At least two rows of mass one.
    vectors : ndarray of shape (n_words, n_dimensions)
        The vector of each word.
    n_pairs : int
        Pairs to draw.
    random : RandomState
        Draws them.
    caller : str
        Who needs POT, for the message if it is missing.

    Returns
    -------
    first, second : ndarray of shape (n_pairs,)
        Rows.
    costs : ndarray of shape (n_pairs,)
        The cost of each pair, on its own words.
    """
    from scipy.spatial.distance import cdist

    n_rows = histograms.shape[0]
    first = random.randint(n_rows, size=n_pairs)
    second = (first + random.randint(1, n_rows, size=n_pairs)) % n_rows
    costs = np.empty(n_pairs)
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        own, its = (slice(histograms.indptr[row], histograms.indptr[row + 1]) for row in (one, other))
        apart = cdist(vectors[histograms.indices[own]], vectors[histograms.indices[its]])
        costs[place] = transport_cost(histograms.data[own], histograms.data[its], apart, caller=caller)
    return first, second, costs
