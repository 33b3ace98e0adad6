"""Sets of up to 64 things in one number."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from treewass.search.kernels.compiling import written_out

__all__ = ["first_bit", "marked_at_most"]


@written_out
def first_bit(typing_context: Any, bits: Any) -> Any:  # noqa: ARG001 (numba passes it)
    """Return the place of the lowest bit that is set, from 0; there must be one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@written_out
def marked_at_most(typing_context: Any, address: Any, limit: Any) -> Any:  # noqa: ARG001
    """Set a bit for each of the 64 numbers of 32 bits at an address that is at most `limit`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        number = ir.IntType(32)
        vector = ir.VectorType(number, 64)
        nothing = ir.Constant(vector, ir.Undefined)
        first = ir.Constant(vector, [0] * 64)
        numbers = builder.load(builder.inttoptr(arguments[0], vector.as_pointer()), align=4)
        limits = builder.insert_element(nothing, arguments[1], ir.Constant(number, 0))
        limits = builder.shuffle_vector(limits, nothing, first)
        return builder.bitcast(builder.icmp_signed("<=", numbers, limits), ir.IntType(64))

    return types.uint64(types.int64, types.int32), generate
