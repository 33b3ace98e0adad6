"""Adam for tensors on any device, on some rows or on all, with a trust ratio and short running means as options."""

from __future__ import annotations

import math

import torch

from treewass.learners.soft.compiled_engine import LEAST_DIVISOR, TRUST
from treewass.learners.soft.settings import StepSettings

__all__ = ["Adam"]

_ROWS = 256


class Adam:
    """Adam on the rows of one tensor.

    Parameters
    ----------
    values : Tensor of shape (n_rows, n_columns)
        What is learned; changed in place.
    settings : StepSettings
        Rate, trust ratio, dense or sparse updates, kind of state.

    Examples
    --------
    >>> values = torch.zeros(2, 1)
    >>> Adam(values, StepSettings(learning_rate=0.5)).step(torch.tensor([1]), torch.tensor([[3.0]]))
    >>> values
    tensor([[ 0.0000],
            [-0.5000]])
    """

    def __init__(self, values: torch.Tensor, settings: StepSettings) -> None:
        self.values = values
        kind = torch.bfloat16 if settings.state == "bfloat16" else values.dtype
        self.first, self.second = (torch.zeros_like(values, dtype=kind) for _ in range(2))
        self.seen = torch.zeros(values.shape[0], dtype=torch.bool, device=values.device)
        self.steps = 0
        self._settings = settings

    def step(self, rows: torch.Tensor, gradient: torch.Tensor) -> None:
        """Take one step, given the gradient by some rows; by the others it is zero."""
        self.steps += 1
        self.seen[rows] = True
        if self._settings.optimizer == "lars":
            size, slope = float(self.values.norm()), float(gradient.norm())
            gradient = gradient * (TRUST * size / slope if size and slope else 1.0)
        self._update(rows, gradient)
        if self._settings.updates == "dense":
            idle = self.seen.clone()
            idle[rows] = False
            for some in torch.split(idle.nonzero()[:, 0], _ROWS):
                self._update(some, torch.zeros_like(self.values[some]))

    def _update(self, rows: torch.Tensor, gradient: torch.Tensor) -> None:
        first = 0.9 * self.first[rows].to(gradient.dtype) + 0.1 * gradient
        second = 0.999 * self.second[rows].to(gradient.dtype) + 0.001 * gradient.square()
        rate = self._settings.learning_rate / (1 - 0.9**self.steps)
        spread = 1 / math.sqrt(1 - 0.999**self.steps)
        self.values[rows] -= rate * first / (second.sqrt() * spread + LEAST_DIVISOR)
        self.first[rows], self.second[rows] = self._held(first, 0), self._held(second, 1)

    def _held(self, values: torch.Tensor, number: int) -> torch.Tensor:
        """Round running means to bfloat16 at random, where they are held so: small changes must add up."""
        if self._settings.state != "bfloat16":
            return values
        generator = torch.Generator().manual_seed(2 * self.steps + number)
        noise = torch.randint(0, 2**16, values.shape, generator=generator, dtype=torch.int32).to(values.device)
        bits = (values.float().view(torch.int32) + noise) & -(2**16)
        return bits.view(torch.float32).to(torch.bfloat16)
