"""Vector code that adds up what a query shares with the documents of a tile.

|x − y|₁ = |x|₁ + |y|₁ − 2 Σ min(x, y), so that only the query's own features are visited. A feature that many
documents have is a dense row, a number a document; of any other there is a list of postings, each the document's
place in the tile and its value, packed into one integer.

Written in LLVM's own language, since of numba's the compiler cannot tell that rows and sums do not overlap: it would
check that for every group of rows, which takes longer than to add them up. Addresses come in as integers; the caller
has made sure that they and what lies behind them are sound. Numbers are little-endian.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from treewass.search.kernels.compiling import inner, written_out
from treewass.search.kernels.views import array_at
from treewass.search.segments import COUNT_BITS

__all__ = ["BUFFER", "GROUP", "PLACES", "add_narrow_lists", "add_narrow_rows", "add_wide_lists", "add_wide_rows"]

GROUP = 8  # dense rows added up at a time
PLACES = 65536  # sums that postings can reach: of their place 16 bits are taken, so that none leads elsewhere
CHUNK = 32  # postings copied at a time
_LONG = 64  # postings of a list that is not copied
_FULL = 2048  # postings copied before they are added up
BUFFER = _FULL + _LONG + CHUNK  # room for copied postings
_STEP = 64  # bytes of each row taken at a time
_ADDRESS = ir.IntType(64)


def _row_adder(bits: int) -> Any:
    """Make the loop over dense rows of numbers with so many bits; wide ones are signed, but never negative."""
    number = ir.IntType(bits)
    lanes = _STEP * 8 // bits
    vector = ir.VectorType(number, lanes)
    first = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    nothing = ir.Constant(vector, ir.Undefined)

    def numbers_at(builder: Any, address: Any, place: Any, offset: int = 0) -> Any:
        place = builder.add(place, ir.Constant(_ADDRESS, offset))
        return builder.gep(builder.inttoptr(address, number.as_pointer()), [place])

    def load_vector(builder: Any, pointer: Any) -> Any:
        return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=bits // 8)

    def add_group(builder: Any, arguments: Any, group: Any) -> None:
        dense, offsets, values, _, sums, size = arguments
        rows, limits = [], []
        for member in range(GROUP):
            place = builder.add(group, ir.Constant(_ADDRESS, member))
            offset = builder.load(builder.gep(builder.inttoptr(offsets, _ADDRESS.as_pointer()), [place]))
            rows.append(numbers_at(builder, dense, offset))
            value = builder.load(numbers_at(builder, values, group, member))
            one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
            limits.append(builder.shuffle_vector(one, nothing, first))
        with _count(builder, size, lanes) as place:
            terms = []
            for row, limit in zip(rows, limits, strict=True):
                held = load_vector(builder, builder.gep(row, [place]))
                terms.append(builder.select(builder.icmp_unsigned("<", held, limit), held, limit))
            while len(terms) > 1:
                terms = [builder.add(left, right) for left, right in zip(terms[::2], terms[1::2], strict=True)]
            target = numbers_at(builder, sums, place)
            total = builder.add(load_vector(builder, target), terms[0])
            builder.store(total, builder.bitcast(target, vector.as_pointer()), align=bits // 8)

    @written_out
    def add_rows(typing_context: Any, dense: Any, offsets: Any, values: Any, n_rows: Any, sums: Any, size: Any) -> Any:  # noqa: ARG001
        """Add min(value, number) of `n_rows` rows, a multiple of GROUP, to the first `size` sums, a multiple of 64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            with _count(builder, arguments[3], GROUP) as group:
                add_group(builder, arguments, group)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return add_rows


def _chunk_copier(bits: int) -> Any:
    """Make a copy of a chunk of postings with so many bits: the value in the lower half, the place above it."""
    number, most = ir.IntType(bits // 2), 2 ** (bits // 2) - 1
    vector = ir.VectorType(number, 2 * CHUNK)
    in_turn = ir.Constant(ir.VectorType(ir.IntType(32), 2 * CHUNK), [0, 1] * CHUNK)

    @written_out
    def copy_chunk(typing_context: Any, source: Any, value: Any, target: Any) -> Any:  # noqa: ARG001
        """Copy CHUNK postings, with values of at most `value`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            source, value, target = arguments
            limits = ir.Constant(vector, [most] * (2 * CHUNK))
            limits = builder.insert_element(limits, builder.trunc(value, number), ir.Constant(ir.IntType(32), 0))
            limits = builder.shuffle_vector(limits, limits, in_turn)
            held = builder.load(builder.inttoptr(source, vector.as_pointer()), align=bits // 8)
            cut = builder.select(builder.icmp_unsigned("<", held, limits), held, limits)
            builder.store(cut, builder.inttoptr(target, vector.as_pointer()), align=bits // 8)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return copy_chunk


def _scatterer(bits: int) -> Any:
    """Make the loop over postings of so many bits."""
    posting, number = ir.IntType(bits), ir.IntType(bits // 2)

    @written_out
    def scatter(typing_context: Any, postings: Any, count: Any, value: Any, sums: Any) -> Any:  # noqa: ARG001
        """Add the values of postings, at most `value`, to the sums of their places."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            postings, count, value, sums = arguments
            limit = builder.trunc(value, number)
            with _count(builder, count, 1) as position:
                packed = builder.load(builder.gep(builder.inttoptr(postings, posting.as_pointer()), [position]))
                place = builder.lshr(packed, ir.Constant(posting, bits // 2))
                place = builder.zext(builder.and_(place, ir.Constant(posting, PLACES - 1)), _ADDRESS)
                target = builder.gep(builder.inttoptr(sums, number.as_pointer()), [place])
                held = builder.trunc(packed, number)
                term = builder.select(builder.icmp_unsigned("<", held, limit), held, limit)
                builder.store(builder.add(builder.load(target), term), target)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return scatter


def _list_adder(bits: int) -> Any:
    """Make the loop over lists of postings of so many bits.

    The processor stumbles at the end of each list. So short ones are first copied one behind the other, a whole chunk
    at a time, with values cut to the query's; then one loop adds all of them up.
    """
    copy_chunk, scatter = _chunk_copier(bits), _scatterer(bits)
    kind, size, largest = (np.uint32 if bits == 32 else np.uint64), bits // 8, 2 ** (bits // 2) - 1
    half, low = kind(bits // 2), kind(largest)

    @inner
    def copy_last(postings: Any, start: Any, count: Any, value: Any, target: Any) -> None:
        """Copy postings one by one: so close to the end of the array a chunk would reach beyond it."""
        for offset in range(count):
            packed = postings[start + offset]
            target[offset] = ((packed >> half) << half) | min(packed & low, kind(value))

    @inner
    def add_lists(
        address: Any, n_postings: Any, lists: Any, values: Any, shift: Any, most: Any, buffer: Any, sums: Any
    ) -> None:
        """Add min(value, number) of lists (``start << COUNT_BITS | count``) to the sums of their places.

        The query's values lose `shift` bits and are cut to `most`; `buffer` is the address of room for BUFFER postings.
        """
        postings, copied = array_at(address, n_postings, kind), array_at(buffer, BUFFER, kind)
        filled = 0
        for one in range(lists.size):
            start, count = lists[one] >> COUNT_BITS, lists[one] & ((1 << COUNT_BITS) - 1)
            value = min(np.int64(values[one]) >> shift, most)
            if count > _LONG:
                scatter(address + start * size, count, value, sums)
                continue
            if start + count + CHUNK <= n_postings:
                for offset in range(0, count, CHUNK):
                    copy_chunk(address + (start + offset) * size, value, buffer + (filled + offset) * size)
            else:
                copy_last(postings, start, count, value, copied[filled:])
            filled += count
            if filled > _FULL:
                scatter(buffer, filled, largest, sums)
                filled = 0
        scatter(buffer, filled, largest, sums)

    return add_lists


@contextmanager
def _count(builder: Any, stop: Any, step: int) -> Iterator[Any]:
    """Open a loop from 0 and give its counter."""
    start, steps = ir.Constant(_ADDRESS, 0), ir.Constant(_ADDRESS, step)
    with cgutils.for_range_slice(builder, start, stop, steps, _ADDRESS) as (counter, _):
        yield counter


add_wide_rows, add_narrow_rows = _row_adder(32), _row_adder(16)
add_wide_lists, add_narrow_lists = _list_adder(64), _list_adder(32)
