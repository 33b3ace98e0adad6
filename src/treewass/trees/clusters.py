"""Trees of clusters: points divided again and again around centres that lie far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.compute.arguments import check_choice, check_integer
from treewass.trees.checks import check_points, random_stream
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["cluster_tree"]

_BLOCK = 1 << 20


def cluster_tree(
    vectors: ArrayLike,
    *,
    arity: int = 5,
    depth: int = 6,
    words: str = "leaves",
    random_state: int | np.random.RandomState | None = 0,
) -> Tree:
    """Build a tree by farthest-point clustering: the words of the tree are its points.

    A cluster is divided around a random one of its points, the point farthest from that, the point farthest from
    both, and so on; each point goes with the nearest of these. A cluster's centre is the mean of its points, and its
    edge is as long as its centre is far from its parent's. A word that is alone is a cluster of one.

    Parameters
    ----------
    vectors : array-like of shape (n_words, n_dimensions)
        One point a word.
    arity : int, default=5
        Clusters that a cluster is divided into; fewer where it has fewer distinct points.
    depth : int, default=6
        The deepest level of the tree, the root being level 0.
    words : {"leaves", "clusters"}, default="leaves"
        What is at the deepest level. With ``"leaves"`` it is words, below clusters that were divided ``depth - 1``
        times: the tree distance between two words is never less than the Euclidean distance between their points.
        With ``"clusters"`` it is clusters, divided `depth` times, and the words of one of them have distance zero.
    random_state : int, RandomState instance or None, default=0
        Chooses the point that each division starts from.

    Returns
    -------
    Tree
        Equal points have distance zero.

    Notes
    -----
    Each level takes `arity` passes over the points. ``"clusters"`` is the tree of Le et al., who hold documents by the
    clusters of the last level. The words of Takezawa et al. are leaves.

    References
    ----------
    Gonzalez, Clustering to minimize the maximum intercluster distance, 1985. Le, Yamada, Fukumizu and Cuturi,
    Tree-sliced variants of Wasserstein distances, NeurIPS 2019.

    Examples
    --------
    >>> tree = cluster_tree([[0.0], [1.0], [10.0], [11.0], [11.0]], arity=2)
    >>> tree.word_distances([0, 0, 3], [1, 2, 4])
    array([ 1., 11.,  0.])
    >>> tree = cluster_tree([[0.0], [1.0], [10.0], [11.0], [11.0]], arity=2, depth=1, words="clusters")
    >>> tree.word_distances([0, 2, 3], [1, 3, 4])
    array([0., 0., 0.])
    """
    points = check_points(vectors)
    arity, depth = check_integer("arity", arity, 2), check_integer("depth", depth)
    divisions = depth - (check_choice("words", words, ("leaves", "clusters")) == "leaves")
    distinct, word_points = _distinct(points)
    _, exponent = np.frexp(abs(distinct).max())  # scaled by a power of two, so that no square overflows
    parents, nodes, lengths = _grow(np.ldexp(distinct, -exponent), arity, divisions, random_stream(random_state))
    if words == "clusters" and len(parents) > depth:
        n_nodes, n_deepest = sum(map(len, parents)), len(parents[depth])
        lengths[n_nodes:][nodes >= n_nodes - n_deepest] = 0.0
    return _hang_words(parents, nodes, np.ldexp(lengths, exponent), word_points)


def _distinct(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Find the distinct points, and the one of each word."""
    rows = np.ascontiguousarray(points + 0.0)  # no negative zeros: equal points have equal bytes
    whole = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()
    _, first, word_points = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)  # in the order of the words
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return rows[first[order]], place[word_points]


def _grow(
    points: NDArray[np.float64], arity: int, divisions: int, random: np.random.RandomState
) -> tuple[list[NDArray[np.intp]], NDArray[np.intp], NDArray[np.float64]]:
    """Divide distinct points level by level.

    Returns the parents of the nodes of each level, the node of each point, and lengths: of the nodes' edges, then of
    the points'.
    """
    parents, nodes = [np.array([-1])], np.zeros(len(points), dtype=np.intp)
    centres = [_means(points, np.zeros(1, dtype=np.intp))]
    active, count = np.arange(len(points)), 1
    for _ in range(divisions):
        part = _nearest_of_far(points[active], nodes[active], arity, random)
        order = np.lexsort((part, nodes[active]))
        active, part = active[order], part[order]
        begins = np.append(True, (np.diff(nodes[active]) != 0) | (np.diff(part) != 0))[: active.size]
        group = np.cumsum(begins) - 1
        large = np.bincount(group, minlength=1) > 1
        parents.append(nodes[active[begins]][large])
        stays = large[group]
        active, group = active[stays], (np.cumsum(large) - 1)[group[stays]]
        if not active.size:
            break
        nodes[active] = count + group
        centres.append(_means(points[active], np.flatnonzero(np.diff(group, prepend=-1))))
        count += int(large.sum())
    middle = np.concatenate(centres)
    above = middle[np.concatenate(parents)]
    return parents, nodes, np.concatenate([_distances(middle, above), _distances(points, middle[nodes])])


def _nearest_of_far(
    points: NDArray[np.float64], clusters: NDArray[np.intp], arity: int, random: np.random.RandomState
) -> NDArray[np.intp]:
    """Choose points of each cluster that lie far apart; return which of them each point is nearest to."""
    _, cluster, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    order = np.argsort(cluster, kind="stable")
    begins = np.cumsum(sizes) - sizes
    chosen = order[begins + (random.uniform(size=sizes.size) * sizes).astype(np.intp)]
    nearest, part = np.full(len(points), np.inf), np.zeros(len(points), dtype=np.intp)
    for number in range(arity):
        distances = _distances(points, points[chosen], cluster)
        part[distances < nearest] = number
        np.minimum(nearest, distances, out=nearest)
        farthest = np.maximum.reduceat(nearest[order], begins)
        candidates = order[nearest[order] == farthest[cluster[order]]]
        chosen = candidates[np.unique(cluster[candidates], return_index=True)[1]]
    return part


def _distances(
    points: NDArray[np.float64], others: NDArray[np.float64], rows: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Measure how far each point is from its own other point, the one of its row."""
    distances = np.empty(len(points))
    step = max(1, _BLOCK // points.shape[1])
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        apart = points[block] - (others[block] if rows is None else others[rows[block]])
        distances[block] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return distances


def _means(points: NDArray[np.float64], begins: NDArray[np.intp]) -> NDArray[np.float64]:
    """Average consecutive points from each beginning to the next."""
    sizes = np.diff(np.append(begins, len(points)))
    return np.asarray(np.add.reduceat(points, begins, axis=0) / sizes[:, None])


def _hang_words(
    parents: list[NDArray[np.intp]],
    nodes: NDArray[np.intp],
    lengths: NDArray[np.float64],
    word_points: NDArray[np.intp],
) -> Tree:
    """Hang words where their points are; a point of several words becomes a node, with edges of length zero below."""
    inner = np.concatenate(parents)
    edges, leaves = lengths[: inner.size], lengths[inner.size :]
    shared = np.bincount(word_points) > 1
    points_nodes = np.where(shared, inner.size - 1 + np.cumsum(shared), nodes)
    edges = np.concatenate([[1.0], edges[1:], leaves[shared]])  # the root's never counts
    words_leaves = np.where(shared, 0.0, leaves)[word_points]
    return Tree(np.concatenate([inner, nodes[shared]]), edges, points_nodes[word_points], words_leaves)
