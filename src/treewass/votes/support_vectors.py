"""Linear support vectors by dual coordinate descent, as LIBLINEAR finds them, without its copy of the documents.

LIBLINEAR, which scikit-learn calls, first writes every entry of the matrix into a record of 16 bytes. Of 1-2-grams of
many documents that copy is the largest piece of memory of a whole fit. Here the loop runs over the matrix as it is, and
asks for the next documents' entries in time: documents come in random order, and waiting for them takes most of the
time otherwise. Order of operations and random numbers are those of LIBLINEAR in scikit-learn, and so are the weights,
to the bit.

Imported on first use, since importing numba takes a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.compiling import compiled, inner, prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["support_vectors"]

_NEGLIGIBLE = 1e-12  # a projected gradient that is not followed
_STATE = 624  # numbers of the Mersenne twister
_AHEAD = 2  # documents that are asked for before they are needed
_LINE = 64  # bytes that come together


def support_vectors(
    features: csr_array,
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    penalty: float,
    *,
    tolerance: float,
    max_iter: int,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Learn one machine for each class against all others; of two classes, one for the second (squared hinge loss).

    Parameters
    ----------
    features : csr_array of shape (n_documents, n_features), float64
    codes : ndarray of int, shape (n_documents,)
        Class numbers, at least two different ones.
    weights : ndarray of shape (n_documents,)
        Above zero.
    penalty : float
        C.
    tolerance, max_iter
        When to stop.
    seed : int, default=0

    Returns
    -------
    coefficients : ndarray of shape (n_machines, n_features)
    intercepts : ndarray of shape (n_machines,)
        Penalised, as LIBLINEAR does.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> features, codes = csr_array(np.eye(4)), np.array([0, 0, 1, 1])
    >>> slopes, intercepts = support_vectors(features, codes, np.ones(4), 1.0, tolerance=1e-4, max_iter=1000)
    >>> np.sign(slopes)
    array([[-1., -1.,  1.,  1.]])
    """
    classes = np.unique(codes)
    found = np.zeros((classes.size if classes.size > 2 else 1, features.shape[1] + 1))
    state = _twister(seed)
    order = np.argsort(codes, kind="stable")  # class by class
    for weight, label in zip(found, classes[-found.shape[0] :], strict=True):
        signs = np.where(codes == label, 1.0, -1.0)
        arrays = features.indptr, features.indices, features.data
        _descend(*arrays, signs, penalty * weights, order.copy(), tolerance, max_iter, state, weight)
    return found[:, :-1], found[:, -1]


def _twister(seed: int) -> NDArray[np.uint32]:
    """Start the random numbers as scikit-learn does; the last number says how many of the others were drawn."""
    drawn = np.random.RandomState(seed).randint(np.iinfo(np.int32).max)
    started: Any = np.random.RandomState(drawn).get_state(legacy=True)
    return np.append(started[1], np.uint32(started[2])).astype(np.uint32)


@inner
def _draw(state: NDArray[np.uint32]) -> np.uint64:
    """Draw 32 random bits."""
    place = state[_STATE]
    if place == _STATE:
        for k in range(_STATE):
            bits = (state[k] & np.uint32(0x80000000)) | (state[(k + 1) % _STATE] & np.uint32(0x7FFFFFFF))
            mixed = state[(k + 397) % _STATE] ^ (bits >> np.uint32(1))
            state[k] = mixed ^ np.uint32(0x9908B0DF) if bits & np.uint32(1) else mixed
        place = np.uint32(0)
    state[_STATE] = place + np.uint32(1)
    bits = state[place]
    bits ^= bits >> np.uint32(11)
    bits ^= (bits << np.uint32(7)) & np.uint32(0x9D2C5680)
    bits ^= (bits << np.uint32(15)) & np.uint32(0xEFC60000)
    return np.uint64(bits ^ (bits >> np.uint32(18)))


@inner
def _below(limit: int, state: NDArray[np.uint32]) -> np.intp:
    """Draw a whole number below a limit, each as likely (Lemire's method)."""
    rest = np.uint64(0xFFFFFFFF)
    product = _draw(state) * np.uint64(limit)
    if product & rest < np.uint64(limit):
        least = np.uint64((2**32 - limit) % limit)
        while product & rest < least:
            product = _draw(state) * np.uint64(limit)
    return np.intp(product >> np.uint64(32))


@inner
def _ask_for(start: int, stop: int, columns: NDArray[np.integer], values: NDArray[np.float64]) -> None:
    """Ask for the entries of a document."""
    for entry in range(start, stop, _LINE // 8):
        prefetch(values, entry)  # type: ignore[call-arg]
    for entry in range(start, stop, _LINE // 4):
        prefetch(columns, entry)  # type: ignore[call-arg]


@inner
def _shuffle(order: NDArray[np.intp], n_active: int, state: NDArray[np.uint32]) -> None:
    """Bring the first documents into random order."""
    for place in range(n_active):
        other = place + _below(n_active - place, state)
        order[place], order[other] = order[other], order[place]


@inner
def _score(
    start: int, stop: int, columns: NDArray[np.integer], values: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Score the document of these entries; the last weight is the intercept."""
    score = 0.0
    for entry in range(start, stop):
        score += weights[columns[entry]] * values[entry]
    return score + float(weights[weights.size - 1])


@inner
def _add(
    start: int,
    stop: int,
    columns: NDArray[np.integer],
    values: NDArray[np.float64],
    step: float,
    weights: NDArray[np.float64],
) -> None:
    """Add a document, multiplied by a step, to the weights."""
    for entry in range(start, stop):
        weights[columns[entry]] += step * values[entry]
    weights[weights.size - 1] += step


@inner
def _curvatures(
    bounds: NDArray[np.integer], values: NDArray[np.float64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the second derivative by the multiplier of each document."""
    found = 0.5 / costs
    for document in range(costs.size):
        for entry in range(bounds[document], bounds[document + 1]):
            found[document] += values[entry] * values[entry]
        found[document] += 1.0
    return found


@compiled
def _descend(
    bounds: NDArray[np.integer],
    columns: NDArray[np.integer],
    values: NDArray[np.float64],
    signs: NDArray[np.float64],
    costs: NDArray[np.float64],
    order: NDArray[np.intp],
    tolerance: float,
    max_iter: int,
    state: NDArray[np.uint32],
    weights: NDArray[np.float64],
) -> None:
    """Learn one machine; `weights` starts with zeros, and its last number is the intercept.

    Documents whose multiplier stays at zero are left out of the next passes, until the others are done.
    """
    multipliers, curvatures = np.zeros(signs.size), _curvatures(bounds, values, costs)
    n_active, most_before = signs.size, np.inf
    for _ in range(max_iter):
        most, least, place = -np.inf, np.inf, 0
        _shuffle(order, n_active, state)
        while place < n_active:
            document, coming = order[place], order[min(place + _AHEAD, n_active - 1)]
            start, stop, sign, before = bounds[document], bounds[document + 1], signs[document], multipliers[document]
            _ask_for(bounds[coming], bounds[coming + 1], columns, values)
            gradient = _score(start, stop, columns, values, weights) * sign - 1.0 + before * (0.5 / costs[document])
            if before == 0 and gradient > most_before:
                n_active -= 1
                order[place], order[n_active] = order[n_active], order[place]
                continue
            projected = gradient if before > 0 else min(gradient, 0.0)
            most, least = max(most, projected), min(least, projected)
            if abs(projected) > _NEGLIGIBLE:
                multipliers[document] = max(before - gradient / curvatures[document], 0.0)
                _add(start, stop, columns, values, (multipliers[document] - before) * sign, weights)
            place += 1
        if most - least <= tolerance:
            if n_active == signs.size:
                return
            n_active, most_before = signs.size, np.inf
        else:
            most_before = most if most > 0 else np.inf
