"""What a learner learns: one tree or several, and how much mass each word carries."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import ForkSafeLock, cached_property
from treewass.documents.histograms import first_few
from treewass.trees.checks import check_lengths, frozen
from treewass.trees.layout import MetricLayout, make_layout
from treewass.trees.matrices import subtree_matrix
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["PrecisionWarning", "TreeMetric"]

_NORM_BITS = 29  # norms below 2**30 units, so that the sum of two fits an int32
_FLOAT32_BITS = 22  # norms below 2**23 units, so that float32 holds the sum of two exactly
_MAKING_LAYOUTS = ForkSafeLock()
_FEW_UNITS, _TOO_FEW_UNITS = 2**14, 2**10  # between words: four digits, and three, of which rounding takes two
_WORD_SAMPLE = 45
_SMALLEST_HEIGHT, _LARGEST_HEIGHT = 1e-290, 1e290


class PrecisionWarning(UserWarning):
    """Some words are so far from the others that distances between those are held in few digits."""


@dataclass(frozen=True, eq=False, init=False)
class TreeMetric:
    """A distance between documents: the tree-Wasserstein distance of equation (1), with weighted words.

    Document i puts the mass ``masses[w] * counts[i, w] / sum_u(masses[u] * counts[i, u])`` on word w. With
    several trees (components) the distance is the sum over them: scale trees by ``1 / n`` for an average.

    Parameters
    ----------
    trees : Tree or sequence of Tree
        One component each, all over the same words.
    masses : array-like of float, shape (n_words,) or (n_components, n_words), optional
        Mass factor of each word, one by default. A word of factor zero is unknown to the metric.
    fraction_bits : int, optional
        The embedding is held as integers, in units of ``2**-fraction_bits``. By default as many bits as let
        every norm and distance fit a 32-bit integer. If that leaves little of the distances between words, because a
        few paths are far longer than the others, you get a `PrecisionWarning`; if it leaves next to nothing, a
        ValueError.

    Attributes
    ----------
    trees : tuple of Tree
    masses : ndarray of float64, shape (n_components, n_words)
    fraction_bits : int

    See Also
    --------
    treewass.trees.embed : Documents as vectors whose L1 distance is this distance.

    Examples
    --------
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> metric
    TreeMetric(n_components=1, n_words=3, n_features=5, fraction_bits=28)
    >>> metric.pairwise([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    array([[0., 2., 4.],
           [2., 0., 4.],
           [4., 4., 0.]])
    """

    trees: tuple[Tree, ...]
    masses: NDArray[np.float64]
    fraction_bits: int  # s

    def __init__(
        self,
        trees: Tree | Sequence[Tree],
        masses: ArrayLike | None = None,
        fraction_bits: int | None = None,
    ) -> None:
        components = _check_trees(trees)
        object.__setattr__(self, "trees", components)
        object.__setattr__(self, "masses", _check_masses(masses, len(components), components[0].n_words))
        object.__setattr__(self, "fraction_bits", _check_bits(fraction_bits, self.height))
        if fraction_bits is None:
            _check_precision(self)

    @classmethod
    def average(cls, metrics: Sequence[TreeMetric]) -> TreeMetric:
        """Combine metrics over the same words into the one whose distance is their mean.

        Parameters
        ----------
        metrics : sequence of TreeMetric
            At least one; their components stand side by side in the result.

        Examples
        --------
        >>> near = TreeMetric(Tree([-1], word_nodes=[0, 0]))
        >>> far = TreeMetric(Tree([-1], word_nodes=[0, 0], leaf_lengths=[2, 2]))
        >>> TreeMetric.average([near, far]).pairwise([[1, 0]], [[0, 1]])
        array([[3.]])
        """
        if not metrics:
            raise ValueError("Expected at least one metric to average, got none.")
        trees = [tree.scaled(1 / len(metrics)) for metric in metrics for tree in metric.trees]
        _check_trees(trees)
        return cls(trees, np.concatenate([metric.masses for metric in metrics]))

    @classmethod
    def from_word_vectors(
        cls, word_vectors: Any, build: Callable[[NDArray[np.float64]], Tree | Sequence[Tree]] | None = None
    ) -> TreeMetric:
        """Build trees over word vectors, and average them; no documents are needed.

        Parameters
        ----------
        word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
            The vector of each word, such as ``WordVectors.align(words)``. A word without one carries no mass.
        build : callable, optional
            Makes a tree, or several, of points: `treewass.trees.cluster_tree` by default, or
            `treewass.trees.quadtree`, or ``lambda points: from_linkage(linkage(points, "average"))``.

        Returns
        -------
        TreeMetric

        See Also
        --------
        treewass.TreeSlicedWasserstein, treewass.QuadtreeWasserstein : The same as parts of a pipeline.

        Examples
        --------
        >>> metric = TreeMetric.from_word_vectors([[0.0], [1.0], [9.0]])
        >>> distances = metric.pairwise([[1, 0, 0]], [[0, 1, 0], [0, 0, 1]])
        >>> bool(distances[0, 0] < distances[0, 1])
        True
        """
        from treewass.documents.word_vectors import check_vectors
        from treewass.trees.clusters import cluster_tree

        vectors, covered = check_vectors(word_vectors, caller="TreeMetric.from_word_vectors")
        grown = (build or cluster_tree)(vectors[covered])
        trees = [_with_uncovered(tree, covered) for tree in ((grown,) if isinstance(grown, Tree) else grown)]
        return cls.average([cls(tree, covered.astype(np.float64)) for tree in trees])

    def for_float32(self) -> TreeMetric:
        """Return the metric with a unit so coarse that sums in float32 are exact, as databases add vectors up.

        Returns
        -------
        TreeMetric
            Norms are below ``2**23`` units, so every distance is a whole number that float32 holds. It is this metric
            itself where that is so already.

        Notes
        -----
        A distance changes by at most the number of features in either document, times the new `resolution`.

        Examples
        --------
        >>> metric = TreeMetric(Tree([-1], word_nodes=[0, 0]))
        >>> metric.fraction_bits, metric.for_float32().fraction_bits
        (29, 22)
        """
        bits = min(self.fraction_bits, _FLOAT32_BITS - _bits_of(self.height))
        return self if bits == self.fraction_bits else TreeMetric(self.trees, self.masses, bits)

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeMetric, (self.trees, self.masses, self.fraction_bits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeMetric):
            return NotImplemented
        return (
            self.trees == other.trees
            and np.array_equal(self.masses, other.masses)
            and self.fraction_bits == other.fraction_bits
        )

    def __hash__(self) -> int:
        return hash((self.trees, self.masses.tobytes(), self.fraction_bits))

    def __repr__(self) -> str:
        return (
            f"TreeMetric(n_components={self.n_components}, n_words={self.n_words}, "
            f"n_features={self.n_features}, fraction_bits={self.fraction_bits})"
        )

    def _repr_html_(self) -> str:
        """Return a card for a notebook."""
        from treewass.cards.rendering import card

        silent = int((self.masses == 0).all(axis=0).sum())
        rows = [
            ("trees", self.n_components),
            ("nodes of each", ", ".join(f"{tree.n_nodes}" for tree in self.trees[:8]) + " …" * (len(self.trees) > 8)),
            ("words", f"{self.n_words}, {silent} of them without mass" if silent else f"{self.n_words}"),
            ("features of a document's vector", f"at most {self.n_features}"),
            ("resolution", f"{self.resolution:.3g}"),
        ]
        return card("figures", title="Tree-Wasserstein distance", rows=rows)

    @property
    def n_components(self) -> int:
        """Number of trees."""
        return len(self.trees)

    def component(self, number: int) -> Tree:
        """Return one of the trees, refusing a number that none has."""
        if not 0 <= number < self.n_components:
            raise ValueError(f"Expected a component between 0 and {self.n_components - 1}, got {number}.")
        return self.trees[number]

    @property
    def n_words(self) -> int:
        """Number of words, that is, of columns that a matrix of counts must have."""
        return self.trees[0].n_words

    @property
    def n_features(self) -> int:
        """Length of an embedding: for each tree its internal nodes but the root, then the words."""
        return sum(tree.n_nodes - 1 + tree.n_words for tree in self.trees)

    @property
    def resolution(self) -> float:
        """The unit of the fixed-point embedding, ``2**-fraction_bits``."""
        return math.ldexp(1.0, -self.fraction_bits)

    @cached_property
    def known_words(self) -> NDArray[np.bool_]:
        """Which words carry mass, shape (n_words,)."""
        return frozen(self.masses[0] > 0)

    @cached_property
    def scaled_masses(self) -> NDArray[np.float64]:
        """The masses times a power of two for each tree, the largest from one half to one: no result changes.

        Tiny masses times tiny counts would otherwise be zero.
        """
        _, exponents = np.frexp(self.masses.max(axis=1, initial=0.0))
        return frozen(np.ldexp(self.masses, -exponents[:, None]))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of trees, masses and unit, in hexadecimal: the same for equal metrics, on every machine."""
        found = hashlib.sha256(f"treewass metric 1 {self.fraction_bits} {self.n_components}".encode())
        for tree in self.trees:
            for array in (tree.parents, tree.edge_lengths, tree.word_nodes, tree.leaf_lengths):
                found.update(_plain_bytes(array))
        found.update(_plain_bytes(self.masses))
        return found.hexdigest()

    @cached_property
    def height(self) -> float:
        """An upper bound of an embedding's L1 norm: each tree's longest path to a known word, added up."""
        return sum(float(tree.word_root_distances[self.known_words].max(initial=0.0)) for tree in self.trees)

    @cached_property
    def word_features(self) -> tuple[csr_array, ...]:
        """For each tree, a matrix of ones where a word's mass counts in a feature: (n_words, features)."""
        from scipy.sparse import csr_array, eye_array, hstack

        words = eye_array(self.n_words, dtype=np.int64)
        above = (subtree_matrix(tree)[:, 1:] for tree in self.trees)
        matrices = tuple(csr_array(hstack([nodes, words], format="csr")) for nodes in above)
        for matrix in matrices:
            for array in (matrix.data, matrix.indices, matrix.indptr):
                frozen(array)
        return matrices

    @property
    def layout(self) -> MetricLayout:
        """What the compiled loops need of the metric, made on first use; they hold its addresses, so there is one."""
        with _MAKING_LAYOUTS:
            return self._layout

    @cached_property
    def _layout(self) -> MetricLayout:
        return make_layout(self)

    def feature_names(self, words: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Name the features of an embedding: ``node12`` for internal nodes, the words themselves for leaves.

        Parameters
        ----------
        words : sequence of str, length n_words, optional
            Names of the words; ``word0``, ``word1``, … by default.

        Returns
        -------
        ndarray of object, shape (n_features,)
            With several trees the names begin with ``tree0_``, ``tree1_``, ….

        Examples
        --------
        >>> TreeMetric(Tree([-1, 0], word_nodes=[1, 0])).feature_names(["cat", "dog"]).tolist()
        ['node1', 'word_cat', 'word_dog']
        """
        leaves = [f"word{word}" for word in range(self.n_words)] if words is None else [f"word_{w}" for w in words]
        if len(leaves) != self.n_words:
            raise ValueError(f"Expected one name per word ({self.n_words}), got {len(leaves)}.")
        names = []
        for number, tree in enumerate(self.trees):
            prefix = f"tree{number}_" if self.n_components > 1 else ""
            names += [f"{prefix}node{node}" for node in range(1, tree.n_nodes)]
            names += [f"{prefix}{leaf}" for leaf in leaves]
        return np.array(names, dtype=object)

    def pairwise(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Compute the distance between each row of `X` and each row of `Y`.

        Parameters
        ----------
        X, Y : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights; `Y` defaults to `X`.
        n_jobs : int, optional
            Threads; -1 for all cores. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        from treewass.trees.pairwise_distances import pairwise

        return pairwise(self, X, Y, n_jobs=n_jobs)


def _with_uncovered(tree: Tree, covered: NDArray[np.bool_]) -> Tree:
    """Hang words without a vector from the root; without mass, they are in no distance."""
    if covered.all():
        return tree
    word_nodes, leaf_lengths = np.zeros(covered.size, dtype=np.int32), np.zeros(covered.size)
    word_nodes[covered], leaf_lengths[covered] = tree.word_nodes, tree.leaf_lengths
    return tree.with_words(word_nodes, leaf_lengths)


def _plain_bytes(array: NDArray[Any]) -> bytes:
    """Write an array as its length and little-endian values, minus zero as zero."""
    values = array.astype("<i8" if array.dtype.kind == "i" else "<f8") + 0
    return values.size.to_bytes(8, "little") + values.tobytes()


def _check_trees(trees: Tree | Sequence[Tree]) -> tuple[Tree, ...]:
    """Demand at least one tree, all over the same number of words."""
    components = (trees,) if isinstance(trees, Tree) else tuple(trees)
    if not components:
        raise ValueError("Expected at least one tree, got none.")
    for tree in components:
        if not isinstance(tree, Tree):
            raise TypeError(f"Expected a Tree or a sequence of them, got {type(tree).__name__}.")
    sizes = [tree.n_words for tree in components]
    if len(set(sizes)) > 1:
        raise ValueError(f"Expected trees over the same words, got {sizes} words.")
    return components


def _check_masses(masses: ArrayLike | None, n_components: int, n_words: int) -> NDArray[np.float64]:
    """Demand one non-negative factor a word, zero in all components or in none."""
    if masses is None:
        return frozen(np.ones((n_components, n_words)))
    array = np.asarray(masses)
    if array.ndim not in (1, 2):
        raise ValueError(f"Expected masses of shape (n_words,) or (n_components, n_words), got shape {array.shape}.")
    rows = [array] * n_components if array.ndim == 1 else list(array)
    if len(rows) != n_components:
        raise ValueError(f"Expected masses for {n_components} component(s), got {len(rows)}.")
    checked = np.array([check_lengths(row, n_words, "masses") for row in rows])
    differing = np.flatnonzero((checked > 0).any(axis=0) != (checked > 0).all(axis=0))
    if differing.size:
        raise ValueError(
            f"Expected each word to carry mass in all components or in none, but word(s) "
            f"{first_few(differing)} differ. Use a small positive mass instead of zero."
        )
    return frozen(checked)


def _check_bits(fraction_bits: int | None, height: float) -> int:
    """Demand a unit that lets every distance fit 32 bits; the finest such by default."""
    if not _SMALLEST_HEIGHT <= (height or 1.0) <= _LARGEST_HEIGHT:
        raise ValueError(
            f"Expected longest paths between {_SMALLEST_HEIGHT:g} and {_LARGEST_HEIGHT:g}, so that distances fit a "
            f"float64, got {height:g}: overflow or underflow. Scale the lengths."
        )
    most = _NORM_BITS - _bits_of(height)
    if fraction_bits is None:
        return most
    if isinstance(fraction_bits, bool) or not isinstance(fraction_bits, int | np.integer):
        raise TypeError(f"Expected fraction_bits as an integer, got {type(fraction_bits).__name__}.")
    if not most - _NORM_BITS <= fraction_bits <= most:
        raise ValueError(
            f"Expected fraction_bits between {most - _NORM_BITS} and {most}, so that distances up to {2 * height:g} "
            f"fit a 32-bit integer and are not all rounded to zero, got {fraction_bits}."
        )
    return int(fraction_bits)


def _check_precision(metric: TreeMetric) -> None:
    """Warn if a quarter of all pairs of words are few units apart, and refuse if half of them are very few units apart.

    The pairs are those of some words, evenly spaced.
    """
    lengths = np.concatenate([np.r_[tree.edge_lengths[1:], tree.leaf_lengths] for tree in metric.trees])
    few = _FEW_UNITS * metric.resolution
    if lengths.min(where=lengths > 0, initial=np.inf) >= few:
        return
    known = np.flatnonzero(metric.known_words)
    words = known[np.linspace(0, known.size - 1, min(known.size, _WORD_SAMPLE)).astype(np.intp)]
    one, other = (words[places] for places in np.triu_indices(words.size, 1))
    apart = sum((tree.word_distances(one, other) for tree in metric.trees), np.zeros(one.size))
    apart = apart[apart > 0]
    differ = apart > metric.height * 2.0**-30
    if 2 * differ.sum() > differ.size:  # the others are words of one place, such as a deepest cell
        apart = apart[differ]
    if not apart.size:
        return
    near, typical = np.quantile(apart, [0.25, 0.5], method="lower") / metric.resolution
    if near >= _FEW_UNITS:
        return
    problem = (
        f"Expected lengths of like size. Paths are up to {metric.height:.3g} long, so distances are held in units of "
        f"{metric.resolution:.2g}; but a quarter of all pairs of words are at most {near:.0f} units apart, and half of "
        f"them at most {typical:.0f}. Look for words far from all others, such as outliers among word vectors: move "
        "them closer or leave them out."
    )
    if typical < _TOO_FEW_UNITS:
        raise ValueError(problem)
    warnings.warn(problem, PrecisionWarning, stacklevel=3)


def _bits_of(height: float) -> int:
    """Return the smallest whole number b with ``height <= 2**b``; zero for a height of zero."""
    if height == 0:
        return 0
    fraction, exponent = math.frexp(height)
    return exponent - 1 if fraction == 0.5 else exponent
