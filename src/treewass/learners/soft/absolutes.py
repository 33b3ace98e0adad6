"""Smooth absolute values, and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewass.extras import require

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", purpose="treewass.learners.soft.smooth_absolute", extra="train")

__all__ = ["ABSOLUTES", "smooth_absolute", "smooth_sign"]

ABSOLUTES = ("tanh", "huber")


def smooth_absolute(values: torch.Tensor, smoothness: float, kind: str = "tanh") -> torch.Tensor:
    r"""Approximate the absolute value by a smooth function, as :math:`|x|_\alpha` in equation (3).

    The paper's :math:`x (e^{\alpha x} - e^{-\alpha x}) / (2 + e^{\alpha x} + e^{-\alpha x})` overflows for
    :math:`|\alpha x| > 88` in float32. It equals :math:`x \tanh(\alpha x / 2)`, which does not.

    Parameters
    ----------
    values : Tensor
        Any numbers.
    smoothness : float
        The larger, the closer to the absolute value (:math:`\alpha`).
    kind : {"tanh", "huber"}, default="tanh"
        The paper's function, or :math:`\sqrt{x^2 + 1/\alpha^2} - 1/\alpha`.

    Returns
    -------
    Tensor
        Zero at zero, and positive elsewhere.

    Examples
    --------
    >>> smooth_absolute(torch.tensor([-1e6, 0.0, 0.001]), 2.0)
    tensor([1.0000e+06, 0.0000e+00, 1.0000e-06])
    """
    if kind == "tanh":
        return values * torch.tanh(0.5 * smoothness * values)
    if kind == "huber":
        squares, least = values.square(), 1 / smoothness
        return squares / (torch.sqrt(squares + least**2) + least)
    raise ValueError(f"Expected absolute to be one of {', '.join(ABSOLUTES)}, got {kind!r}.")


def smooth_sign(values: torch.Tensor, smoothness: float, kind: str = "tanh") -> torch.Tensor:
    """Compute the derivative of `smooth_absolute`.

    Parameters
    ----------
    values : Tensor
        Any numbers.
    smoothness : float
        As in `smooth_absolute`.
    kind : {"tanh", "huber"}, default="tanh"
        As in `smooth_absolute`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> smooth_sign(torch.tensor([-50.0, 0.0, 50.0]), 2.0)
    tensor([-1.,  0.,  1.])
    """
    if kind == "huber":
        return values / torch.sqrt(values.square() + 1 / smoothness**2)
    scaled = 0.5 * smoothness * values
    rise = torch.tanh(scaled)
    return rise + scaled * (1 - rise.square())
