"""An ultrametric tree over word vectors, its heights fitted to true transport costs between documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from treewass.compute.arguments import check_choice, check_integer
from treewass.compute.memory import refuse_beyond_memory
from treewass.distances.fitted_lengths import paired_costs
from treewass.documents.estimator_inputs import check_documents
from treewass.documents.histograms import to_histograms
from treewass.documents.word_vectors import check_vectors, svd_vectors
from treewass.learners.base import TreeTransformer
from treewass.trees.embedding import embed
from treewass.trees.imports import from_linkage
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import star_tree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["UltrametricWasserstein", "lowered_heights", "ultrametric_tree"]

_HELD_OUT = 5  # one pair of so many chooses the step
_STEP = 0.1  # power of the factors


class UltrametricWasserstein(TreeTransformer):
    r"""Compare documents along an ultrametric tree, fitted to transport costs on word vectors.

    All words have the same distance from the root, so a node v of the tree has a height :math:`h_v`, and two words are
    :math:`2 h_v` apart if v is the lowest node above both. A hierarchical clustering of the vectors gives the first
    tree. Then projected gradient descent on the heights minimises the mean of

    .. math:: (W(\mu, \nu) - W_T(\mu, \nu))^2

    over pairs of documents, with W the exact cost on the vectors. After each step, heights are projected: a node that
    has risen above one that holds it is lowered, which is what single linkage does with the matrix of distances
    between words. Nodes of equal height become one.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each column of the counts. A word without one carries no mass. By default vectors are made
        from the documents, by `treewass.documents.svd_vectors`.
    linkage : {"average", "single"}, default="average"
        The clustering to start from. Chen et al. start from single linkage.
    n_document_pairs : int, default=2000
        Pairs of documents whose true costs POT computes. A fifth of them is held out and chooses the step.
    max_iter : int, default=100
        Steps.
    random_state : int, RandomState instance or None, default=0
        Draws the pairs, and starts the decomposition where there are no vectors.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree with its fitted heights.
    losses_ : ndarray of shape (max_iter + 1, 2)
        Mean squared differences of the pairs that heights were fitted to and of those held out, after each step; the
        first ones after scaling the clustering by one factor.
    n_iter_ : int
        The step that was chosen.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    FittedLengths : A quadtree whose lengths are fitted to distances between words.

    Notes
    -----
    The clustering takes time and memory quadratic in the number of words with a vector: 16 bytes for each pair of
    them, so 3.2 GB for 20 000 words. A step takes time linear in the words of the pairs.

    Clusters that have become one node stay together, where the authors' code divides them again at random; a step
    multiplies each height by a factor (Lee and Seung, 2001), where it uses Adam.

    References
    ----------
    Chen, Tabaghi and Wang, Learning ultrametric trees for optimal transport regression, AAAI 2024.

    Examples
    --------
    >>> vectors = [[0.0], [1.0], [10.0], [12.0]]
    >>> X = [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 1, 0]]
    >>> learner = UltrametricWasserstein(word_vectors=vectors).fit(X)
    >>> learner.metric_.trees[0].word_distances([0, 2, 0, 1], [1, 3, 2, 3]).round()
    array([ 1.,  2., 11., 11.])
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        word_vectors: AlignedVectors | ArrayLike | None = None,
        linkage: str = "average",
        n_document_pairs: int = 2000,
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.word_vectors = word_vectors
        self.linkage = linkage
        self.n_document_pairs = n_document_pairs
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> UltrametricWasserstein:  # noqa: ARG002 - as every estimator
        """Cluster the words, and fit the heights.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : None
            Not used.

        Returns
        -------
        UltrametricWasserstein
            Itself.
        """
        check_choice("linkage", self.linkage, ("average", "single"))
        check_integer("n_document_pairs", self.n_document_pairs, _HELD_OUT)
        check_integer("max_iter", self.max_iter)
        counts = check_documents(self, X, reset=True)
        random, given = check_random_state(self.random_state), self.word_vectors
        if given is None:
            given = svd_vectors(counts, random_state=random)
        vectors, covered = check_vectors(given, caller=type(self).__name__, n_words=counts.shape[1])
        known = counts[:, np.flatnonzero(covered)]
        known = known[np.flatnonzero(known.sum(axis=1) > 0)]
        if known.shape[0] < 2:
            raise ValueError(
                f"Expected two documents or more with a word that has a vector, got n_samples = {known.shape[0]}."
            )
        tree = self._fitted(to_histograms(known), vectors[covered], random)
        self.metric_ = TreeMetric.from_word_vectors(given, lambda _: tree)
        return self

    def _fitted(self, histograms: csr_array, points: NDArray[np.float64], random: np.random.RandomState) -> Tree:
        """Fit the heights of a tree over points, the words of the histograms."""
        from scipy.cluster.hierarchy import linkage

        refuse_beyond_memory(
            8 * len(points) ** 2,
            f"the clustering of {len(points)} words",
            "Leave out rare words, such as by CountVectorizer(min_df=5).",
        )
        tree = from_linkage(linkage(points, self.linkage)) if len(points) > 1 else star_tree(1)
        first, second, costs = paired_costs(
            histograms, points, self.n_document_pairs, random, caller=type(self).__name__
        )
        met = _matched_masses(tree, histograms, first, second)
        heights = tree.word_root_distances.max() - tree.root_distances
        held = slice(0, None, _HELD_OUT)
        rest = np.flatnonzero(np.arange(costs.size) % _HELD_OUT)
        seen = met[rest] @ heights
        heights *= float(seen @ costs[rest]) / (float(seen @ seen) or 1.0) or 1.0  # by least squares
        losses, best = [], heights
        wanted = met[rest].T @ costs[rest]
        for _ in range(self.max_iter + 1):
            found = met @ heights
            losses.append([float(np.mean((found - costs)[part] ** 2)) for part in (rest, held)])
            if losses[-1][1] <= min(loss for _, loss in losses):
                best = heights
            got = met[rest].T @ found[rest]
            heights = heights * np.divide(wanted, got, out=np.ones_like(got), where=got > 0) ** _STEP
            heights = lowered_heights(tree.parents, heights)
        self.losses_ = np.array(losses)
        self.n_iter_ = int(self.losses_[:, 1].argmin())
        return ultrametric_tree(tree, best)


def lowered_heights(parents: NDArray[np.integer[Any]], heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower each node to the lowest of those that hold it: single linkage of the distances that heights stand for.

    Parameters
    ----------
    parents : ndarray of shape (n_nodes,)
        The parent of each node; the root is its own or has -1.
    heights : ndarray of shape (n_nodes,)
        Two words are twice the height of the lowest node above both apart.

    Returns
    -------
    ndarray of shape (n_nodes,)
        The largest heights, none above the given ones, that do not rise from a node to one below it.

    Notes
    -----
    Single linkage gives two words the least, over chains of words from one to the other, of the longest step of the
    chain. A chain must cross a node above both words, and it can cross the lowest of these alone.

    Examples
    --------
    >>> lowered_heights(np.array([-1, 0, 1, 1]), np.array([3.0, 4.0, 2.0, 5.0]))
    array([3., 3., 2., 3.])
    """
    above = np.maximum(parents, 0)
    while above.any():  # each round doubles how far a node looks up
        heights = np.minimum(heights, heights[above])
        above = above[above]
    return np.asarray(np.minimum(heights, heights[0]))


def _matched_masses(tree: Tree, histograms: csr_array, first: NDArray[np.intp], second: NDArray[np.intp]) -> csr_array:
    """Find the coefficients of heights in the distances of pairs, shape (n_pairs, n_nodes).

    An edge is as long as the difference of two heights, so that a height counts with what differs below the children
    of its node, less what differs below the node: twice the mass that is matched there.
    """
    from scipy.sparse import csr_array as sparse_rows

    n_nodes, n_words = tree.n_nodes, tree.n_words
    plain = TreeMetric(Tree(tree.parents, np.ones(n_nodes), tree.word_nodes, np.ones(n_words)))
    masses = embed(plain, histograms, fixed_point=False)
    differences = abs(masses[first] - masses[second])  # below inner nodes but the root, then of words
    edges = np.arange(n_nodes - 1 + n_words)
    upper = np.concatenate([tree.parents[1:], tree.word_nodes])
    ends = sparse_rows((np.ones(edges.size), (edges, upper)), shape=(edges.size, n_nodes))
    lower = sparse_rows((np.ones(n_nodes - 1), (edges[: n_nodes - 1], edges[1:n_nodes])), shape=ends.shape)
    met = sparse_rows(differences @ (ends - lower))
    met.data[met.data < 1e-12] = 0.0  # rounding, where a node passes all on
    met.eliminate_zeros()
    return met


def ultrametric_tree(tree: Tree, heights: NDArray[np.float64]) -> Tree:
    """Make a tree of heights, with one node for those that are as high as the node that holds them."""
    above = np.maximum(tree.parents, 0)
    kept = heights < heights[above]
    kept[0] = True
    stands = np.where(kept, np.arange(heights.size), above)  # the node that takes a node's place
    while not kept[stands].all():
        stands = stands[stands]
    place = np.cumsum(kept) - 1
    nodes = np.flatnonzero(kept)
    parents = place[stands[above[nodes]]]
    parents[0] = -1
    lengths = heights[stands[above[nodes]]] - heights[nodes]
    lengths[0] = 1.0  # the root's never counts
    words = stands[tree.word_nodes]
    return Tree(parents, lengths, place[words], heights[words])
