"""Lanes of work: what takes long waits behind its like, not in front of everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import HTTPException

from treewass.compute.threads import count_cores

__all__ = ["Lane", "Lanes"]

_Result = TypeVar("_Result")
_QUICK = 10_000  # characters of a text that is answered within milliseconds


class Lane:
    """Threads for one kind of work, `at_once` of them; beyond `waiting` requests, others are turned away."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._most = at_once, at_once + waiting
        self._n_here = 0
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Do some work in a thread, when its turn comes."""
        if self._limiter is None:  # made in the loop that uses it
            self._limiter = anyio.CapacityLimiter(self._at_once)
        if self._n_here >= self._most:
            raise HTTPException(503, "Too many requests of this kind wait; try again soon.", {"Retry-After": "5"})
        self._n_here += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._n_here -= 1


class Lanes:
    """The lanes of a service: answers of milliseconds, many texts at once, explanations, reviews, and writes."""

    def __init__(self) -> None:
        self.reads = Lane(min(8, 2 * count_cores()), 256)
        self.batches = Lane(1, 16)  # of seconds: a hundred texts
        self.explanations = Lane(1, 16)  # of up to a second
        self.reviews = Lane(1, 2)  # of some seconds, each for all documents
        self.writes = Lane(1, 64)

    def of(self, texts: Sequence[str], *, explained: bool) -> Lane:
        """Return the lane of a request that asks for these texts."""
        if explained:
            return self.explanations
        return self.reads if len(texts) <= 1 and sum(map(len, texts)) <= _QUICK else self.batches
