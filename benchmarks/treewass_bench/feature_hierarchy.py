"""A rival without labels: the tree over words of Lin, Coifman, Mishne and Talmon (ICLR 2025), from counts alone.

Each word is a point of several hyperbolic half-spaces, one for each scale of a diffusion among words. Two words have a
lowest common ancestor at each scale, the midpoint of their geodesic. The pairs with the lowest ones are joined first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from treewass import Tree, TreeMetric
from treewass.trees import from_linkage

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["Diffusion", "feature_hierarchy", "hierarchy_tree", "make_diffusion"]

Lengths = Literal["geodesics", "heights"]
_FLOOR = 1e-6  # below it are eigenvalues that say nothing, and densities that fractional powers make negative


class Diffusion(NamedTuple):
    """A diffusion operator over words, ``D**-1/2 @ vectors @ diag(values) @ vectors.T @ D**1/2``.

    Parameters
    ----------
    values : ndarray of float64, shape (n_words,)
        Eigenvalues, at most one.
    vectors : ndarray of float32, shape (n_words, n_words)
        Orthonormal eigenvectors of what stands between the diagonal matrices, in columns.
    roots : ndarray of float64, shape (n_words,)
        The diagonal of ``D**1/2``, which holds the degrees of the words.
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float32]
    roots: NDArray[np.float64]

    def densities(self, scale: int) -> NDArray[np.float32]:
        """Return the rows of the operator to the power ``2**-scale``: where a walk from each word is by that time.

        Parameters
        ----------
        scale : int
            Zero is the coarsest one.

        Returns
        -------
        ndarray of float32, shape (n_words, n_words)
        """
        half = self.vectors * (self.values**2.0 ** -(scale + 1)).astype(np.float32)
        power: NDArray[np.float32] = half @ half.T
        power *= self.roots.astype(np.float32)
        power /= self.roots.astype(np.float32)[:, None]
        np.maximum(power, np.float32(_FLOOR), out=power)
        return power


def make_diffusion(distances: NDArray[np.float64], width: float) -> Diffusion:
    """Let words diffuse to near ones, in steps that do not depend on how densely these lie.

    Parameters
    ----------
    distances : ndarray of float64, shape (n_words, n_words)
        Squared distances.
    width : float
        Of the kernel, in medians of them.

    Returns
    -------
    Diffusion

    Examples
    --------
    >>> points = np.arange(3.0)
    >>> diffusion = make_diffusion((points - points[:, None]) ** 2, 1.0)
    >>> diffusion.densities(0).round(2)
    array([[0.76, 0.22, 0.01],
           [0.24, 0.52, 0.24],
           [0.01, 0.22, 0.76]], dtype=float32)
    """
    from scipy.linalg import eigh

    median = np.median(distances[np.triu_indices(len(distances), 1)])
    affinity = np.exp(distances / (-width * median))
    density = affinity.sum(axis=1)
    affinity /= density
    affinity /= density[:, None]
    roots = np.sqrt(affinity.sum(axis=1))
    affinity /= roots
    affinity /= roots[:, None]
    values, vectors = eigh(affinity, overwrite_a=True, check_finite=False, driver="evd")
    return Diffusion(np.clip(values, _FLOOR, 1.0), vectors.astype(np.float32), roots)


def hierarchy_tree(diffusion: Diffusion, n_scales: int, *, lengths: Lengths) -> Tree:
    """Decode the tree: join words in the order of the heights of their common ancestors.

    Parameters
    ----------
    diffusion : Diffusion
        Over at least two words.
    n_scales : int
        How many scales, from the coarsest.
    lengths : {"geodesics", "heights"}
        With "geodesics", which is what the authors describe, a node lies at each scale halfway between the two that it
        joins, and an edge is as long as its ends are apart, summed over the scales. With "heights" a node lies on the
        vertical axis, at the Riemannian mean of the common ancestors' heights; all words lie at one height.

    Returns
    -------
    Tree
        Binary, the words its leaves.

    Examples
    --------
    >>> points = np.array([0.0, 1.0, 5.0])
    >>> diffusion = make_diffusion((points - points[:, None]) ** 2, 1.0)
    >>> hierarchy_tree(diffusion, 4, lengths="heights").word_distances([0, 0], [1, 2]).round(2)
    array([0.13, 0.64])
    """
    from scipy.cluster.hierarchy import linkage

    scales = [np.sqrt(diffusion.densities(scale)) for scale in range(n_scales)]
    heights = sum(np.log1p(_squares(points) / (2 * _level(scale)) ** 2) for scale, points in enumerate(scales))
    joined = linkage(heights / n_scales, "single")  # twice the distances to the words on the axis
    if lengths == "heights":
        return from_linkage(joined)
    pairs = joined[:, :2].astype(np.int64)
    edges = np.zeros(2 * len(pairs) + 1)
    for scale, points in enumerate(scales):
        edges += _half_distances(points, pairs, _level(scale))
    return _binary_tree(pairs, edges)


def _level(scale: int) -> float:
    """Return how high the words lie above the border of their half-space."""
    return float(2.0 ** (scale / 2 - 2))


def _squares(points: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute squared distances between all pairs of rows, in the condensed form of SciPy."""
    centred = points - points.mean(axis=0)  # so that little is lost where all rows are alike
    products = centred @ centred.T
    norms = products.diagonal()
    rows, columns = np.triu_indices(len(points), 1)
    squares: NDArray[np.float32] = norms[rows] + norms[columns] - 2 * products[rows, columns]
    return np.maximum(squares, 0.0).astype(np.float64)


def _half_distances(points: NDArray[np.float32], joined: NDArray[np.int64], level: float) -> NDArray[np.float64]:
    """Place the node of each join halfway between what it joins, and return how far these are from it."""
    n_words = len(points)
    places = np.concatenate([points, np.empty((len(joined), points.shape[1]), dtype=np.float32)])
    heights = np.full(len(places), level)
    lengths = np.zeros(len(places))
    for node, (left, right) in enumerate(joined, start=n_words):
        low, high = heights[left], heights[right]
        apart = places[left] - places[right]
        square = float(apart @ apart)
        heights[node] = np.sqrt(low * high * (1 + square / (low + high) ** 2))
        places[node] = places[right] + np.float32(high / (low + high)) * apart
        lengths[left] = lengths[right] = np.arcsinh(np.sqrt((square + (low - high) ** 2) / (4 * low * high)))
    return lengths


def _binary_tree(joined: NDArray[np.int64], lengths: NDArray[np.float64]) -> Tree:
    n_words = len(joined) + 1
    last = 2 * n_words - 2
    above = np.full(last + 1, last + 1)
    above[joined] = np.arange(n_words, last + 1)[:, None]
    inner = np.arange(last, n_words - 1, -1)  # the root first
    return Tree(last - above[inner], lengths[inner], last - above[:n_words], lengths[:n_words])


def feature_hierarchy(
    counts: csr_array, *, lengths: Lengths, n_scales: int, max_words: int = 2000, width: float = 2.0
) -> TreeMetric:
    """Make the tree of the words that most documents hold, from their columns; the other words carry no mass.

    Parameters
    ----------
    counts : csr_array of shape (n_documents, n_words)
        At least two words.
    lengths : {"geodesics", "heights"}
        See `hierarchy_tree`.
    n_scales : int
        See `hierarchy_tree`.
    max_words : int
        Time is cubic in it, and memory quadratic.
    width : float
        See `make_diffusion`.

    Returns
    -------
    TreeMetric

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> texts = csr_array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 2]])  # the first two share documents
    >>> metric = feature_hierarchy(texts, lengths="geodesics", n_scales=5)
    >>> metric.pairwise([[1, 0, 0, 0]], [[0, 1, 0, 0], [0, 0, 1, 0]]).round(1)
    array([[2.5, 8. ]])
    """
    from sklearn.metrics.pairwise import cosine_distances

    n_words = counts.shape[1]
    holders = np.bincount(counts.indices, minlength=n_words)
    kept = np.sort(np.argsort(-holders, kind="stable")[:max_words])
    distances: Any = cosine_distances(counts[:, kept].T)
    tree = hierarchy_tree(make_diffusion(distances**2, width), n_scales, lengths=lengths)
    nodes, leaf_lengths, masses = np.zeros(n_words, dtype=np.int64), np.zeros(n_words), np.zeros(n_words)
    nodes[kept], leaf_lengths[kept], masses[kept] = tree.word_nodes, tree.leaf_lengths, 1.0
    return TreeMetric(tree.with_words(nodes, leaf_lengths), masses)
