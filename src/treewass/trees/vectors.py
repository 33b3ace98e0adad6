"""Points that trees are built over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.histograms import first_few

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_points", "random_stream"]


def check_points(vectors: ArrayLike) -> NDArray[np.float64]:
    """Demand finite points, at least one, of at least one dimension.

    Parameters
    ----------
    vectors : array-like of shape (n_words, n_dimensions)
        One point a word.

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
        raise ValueError(f"Expected vectors of shape (n_words, n_dimensions), one row a word, got {found.shape}.")
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
