"""What trees are made of, checked once: parents, nodes, lengths, points and seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treewass.documents.histograms import first_few

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_lengths", "check_nodes", "check_parents", "check_points", "frozen", "random_stream"]

_Array = TypeVar("_Array", bound=np.ndarray[Any, Any])


def frozen(array: _Array) -> _Array:
    """Make an array read-only.

    Examples
    --------
    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array


def check_parents(parents: ArrayLike) -> NDArray[np.int32]:
    """Demand the parent array of a tree: the root first, every node after its parent.

    Parameters
    ----------
    parents : array-like of int, shape (n_nodes,)
        The parent of each internal node, -1 for the root.

    Returns
    -------
    ndarray of int32, shape (n_nodes,)

    Examples
    --------
    >>> check_parents([-1, 0, 0])
    array([-1,  0,  0], dtype=int32)
    >>> check_parents([-1, 2, 1])
    Traceback (most recent call last):
        ...
    ValueError: Expected every node to come after its parent, but node(s) 1 do not: node 1 has parent 2...
    """
    array = _integers(parents, "parents")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"Expected parents of shape (n_nodes,) with at least the root, got shape {array.shape}.")
    if array[0] != -1:
        raise ValueError(f"Expected the root at node 0, marked by parents[0] == -1, got parents[0] == {array[0]}.")
    wrong = np.flatnonzero((array < 0) | (array >= np.arange(array.size)))[1:]
    if wrong.size:
        raise ValueError(
            f"Expected every node to come after its parent, but node(s) {first_few(wrong)} do not: "
            f"node {wrong[0]} has parent {array[wrong[0]]}. Number the nodes from the root down, "
            "so that 0 <= parents[v] < v for every node v but the root."
        )
    return frozen(array.astype(np.int32))


def check_nodes(nodes: ArrayLike, count: int, kind: str = "nodes") -> NDArray[np.int32]:
    """Demand numbers of existing nodes (or words), of any shape.

    Examples
    --------
    >>> check_nodes([0, 2], 2)
    Traceback (most recent call last):
        ...
    ValueError: Expected nodes between 0 and 1, got 2.
    """
    array = _integers(nodes, kind)
    wrong = array[(array < 0) | (array >= count)]
    if wrong.size:
        allowed = f"between 0 and {count - 1}" if count else "of a tree that has none"
        raise ValueError(f"Expected {kind} {allowed}, got {first_few(wrong)}.")
    return frozen(array.astype(np.int32))


def check_lengths(lengths: ArrayLike | None, count: int, name: str) -> NDArray[np.float64]:
    """Demand finite non-negative numbers, one each; ones where None is given.

    Examples
    --------
    >>> check_lengths(None, 2, "edge_lengths")
    array([1., 1.])
    >>> check_lengths([1, -1], 2, "edge_lengths")
    Traceback (most recent call last):
        ...
    ValueError: Expected finite non-negative edge_lengths, got -1.0 at position(s) 1.
    """
    if lengths is None:
        return frozen(np.ones(count))
    array = np.array(lengths)
    if array.dtype.kind not in "biuf" and array.size:
        raise TypeError(f"Expected {name} as real numbers, got dtype {array.dtype}.")
    array = array.astype(np.float64) + 0.0  # no negative zeros: equal trees have equal bytes
    if array.shape != (count,):
        raise ValueError(f"Expected {name} of shape ({count},), got shape {array.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if wrong.size:
        raise ValueError(
            f"Expected finite non-negative {name}, got {array[wrong[0]]} at position(s) {first_few(wrong)}."
        )
    return frozen(array)


def check_points(vectors: ArrayLike) -> NDArray[np.float64]:
    """Demand finite points, at least one, of at least one dimension.

    Parameters
    ----------
    vectors : array-like of shape (n_words, n_dimensions)
        One point per word.

    Returns
    -------
    ndarray of shape (n_words, n_dimensions), float64

    Examples
    --------
    >>> check_points([[0, 1], [2, float("nan")]])
    Traceback (most recent call last):
        ...
    ValueError: Expected finite vectors, got NaN or infinity in rows 1.
    """
    found = np.asarray(vectors)
    if found.ndim != 2 or not all(found.shape):
        raise ValueError(f"Expected vectors of shape (n_words, n_dimensions), one row per word, got {found.shape}.")
    if found.dtype.kind not in "biuf":
        raise TypeError(f"Expected vectors of real numbers, got dtype {found.dtype}.")
    points = np.ascontiguousarray(found, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if wrong.size:
        raise ValueError(f"Expected finite vectors, got NaN or infinity in rows {first_few(wrong)}.")
    return points


def random_stream(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the stream of a seed, or the one given.

    Examples
    --------
    >>> random_stream(0).randint(10) == random_stream(np.random.RandomState(0)).randint(10)
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.RandomState(random_state)


def _integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Copy whole numbers into int64, refusing anything else."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"Expected {name} as integers, got dtype {array.dtype}.")
    return array.astype(np.int64)
