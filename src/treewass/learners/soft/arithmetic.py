"""Arithmetic in float32 that the compiler can do eight numbers at a time: exponentials, tangents, short floats.

Imported on first use, since importing numba takes a moment.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from treewass.search.kernels.compiling import compiled, inner

__all__ = [
    "FLAT",
    "HALF",
    "ONE",
    "ZERO",
    "Floats",
    "Integers",
    "Number",
    "Postings",
    "careful",
    "exponential",
    "exponentials",
    "fast",
    "fast_loop",
    "largest",
    "lengthened",
    "loop",
    "shortened",
    "tangent",
]

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]
Number = Any  # a float32
Postings = tuple[Integers, Integers, Integers, Floats]  # words, bounds of their entries, documents, masses

_FAST = {"reassoc", "contract", "nsz", "arcp"}  # not-a-number and infinity stay what they are
loop = partial(compiled, error_model="numpy")
fast_loop = partial(compiled, error_model="numpy", fastmath=_FAST)
fast = partial(inner, fastmath=_FAST)
careful = partial(inner, fastmath={"contract"})  # sums in the order written

ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
_LOWEST, _PER_LOGARITHM, _ROUNDER = np.float32(-87), np.float32(1.4426950408889634), np.float32(12582912)
_LOGARITHM, _LOGARITHM_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
_E2, _E3, _E4, _E5, _E6, _E7 = (np.float32(1 / value) for value in (2, 6, 24, 120, 720, 5040))
FLAT = np.float32(9)  # beyond it, the hyperbolic tangent is one in float32
_P1, _P2, _P3, _P4 = (np.float32(value) for value in (1.338102633e-1, 3.495588467e-3, 2.060906867e-5, 1.335460609e-8))
_Q1, _Q2, _Q3, _Q4 = (np.float32(value) for value in (4.671434195e-1, 2.587698473e-2, 3.285634546e-4, 7.776543366e-7))


@intrinsic
def _power_of_two(_context: Any, _shifted: Any) -> Any:
    """Turn a whole number, added to `_ROUNDER`, into the power of two by writing it into the exponent."""

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        whole = ir.IntType(32)
        bits = builder.bitcast(arguments[0], whole)
        bits = builder.shl(builder.add(bits, ir.Constant(whole, 127)), ir.Constant(whole, 23))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.float32), build


@intrinsic
def lengthened(_context: Any, _short: Any) -> Any:
    """Read a bfloat16, given as its 16 bits, as a float32."""

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        whole = ir.IntType(32)
        bits = builder.shl(builder.zext(arguments[0], whole), ir.Constant(whole, 16))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.uint16), build


@intrinsic
def shortened(_context: Any, _value: Any, _place: Any, _seed: Any) -> Any:
    """Round a float32 to the 16 bits of a bfloat16, up or down at random, so that small changes add up.

    The random bits are a hash of place and seed.
    """

    def build(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        whole = ir.IntType(32)

        def number(constant: int) -> Any:
            return ir.Constant(whole, constant)

        mixed = builder.mul(builder.trunc(arguments[1], whole), number(0x9E3779B1))
        mixed = builder.add(mixed, builder.trunc(arguments[2], whole))
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            mixed = builder.mul(builder.xor(mixed, builder.lshr(mixed, number(shift))), number(factor))
        mixed = builder.lshr(mixed, number(16))
        bits = builder.add(builder.bitcast(arguments[0], whole), mixed)
        return builder.trunc(builder.lshr(bits, number(16)), ir.IntType(16))

    return types.uint16(types.float32, types.int64, types.int64), build


@careful
def exponential(value: Number) -> Number:
    """Compute the exponential of a number of zero or less, to about one unit of float32."""
    value = max(value, _LOWEST)
    shifted = value * _PER_LOGARITHM + _ROUNDER
    whole = shifted - _ROUNDER
    rest = (value - whole * _LOGARITHM) - whole * _LOGARITHM_REST
    series = _E5 + rest * (_E6 + rest * _E7)
    series = ONE + rest * (ONE + rest * (_E2 + rest * (_E3 + rest * (_E4 + rest * series))))
    return series * _power_of_two(shifted)  # type: ignore[call-arg]


@careful
def tangent(value: Number) -> Number:
    """Compute the hyperbolic tangent to a relative error of 4e-7."""
    value = min(max(value, -FLAT), FLAT)
    square = value * value
    above = ONE + square * (_P1 + square * (_P2 + square * (_P3 + square * _P4)))
    below = ONE + square * (_Q1 + square * (_Q2 + square * (_Q3 + square * _Q4)))
    return value * above / below


@fast
def exponentials(scores: Floats, top: Number, out: Floats) -> Number:
    """Write exp(scores − top) and return the sum."""
    total = ZERO
    for node in range(scores.size):
        value = exponential(scores[node] - top)
        out[node] = value
        total += value
    return total


@fast
def largest(scores: Floats) -> Number:
    """Find the largest score."""
    top = scores[0]
    for node in range(scores.size):
        top = max(top, scores[node])
    return top
