"""The exact cost of a transport problem, by POT's network simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["transport_cost"]

_MOST_PIVOTS = 100_000_000


def transport_cost(
    sources: NDArray[np.float64], targets: NDArray[np.float64], costs: NDArray[np.float64], *, caller: str
) -> float:
    """Compute the least cost of moving masses from sources to targets.

    Parameters
    ----------
    sources, targets : ndarray of shape (n_sources,) and (n_targets,)
        Positive masses with the same total, or none at all.
    costs : ndarray of shape (n_sources, n_targets)
        Cost of a unit of mass.
    caller : str
        Named in error messages.

    Returns
    -------
    float
        Zero if there is nothing to move.

    Raises
    ------
    ImportError
        Without POT, which the extra ``ot`` brings.

    Examples
    --------
    >>> transport_cost(np.array([0.5, 0.5]), np.array([0.75, 0.25]), np.array([[0.0, 1.0], [1.0, 0.0]]), caller="wmd")
    0.25
    """
    if not sources.size or not costs.any():
        return 0.0
    if sources.size == 1:
        return float(costs[0] @ targets)
    if targets.size == 1:
        return float(sources @ costs[:, 0])
    solver = require("ot", purpose=caller, extra="ot")
    exponent = int(np.frexp(costs.max())[1])
    scaled = np.ldexp(costs, -exponent)  # the solver's stopping test is absolute
    cost, log = solver.emd2(
        sources, targets, scaled, numItermax=_MOST_PIVOTS, log=True, center_dual=False, check_marginals=False
    )
    if log["warning"] is not None:
        raise ValueError(
            f"{caller} expects a transport problem that POT can solve, but for {sources.size} × {targets.size} words "
            f"it says: {log['warning']}"
        )
    return max(float(np.ldexp(cost, exponent)), 0.0)
