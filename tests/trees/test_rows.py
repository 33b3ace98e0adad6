import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from treewass.trees.rows import canonical_rows, count_rows, part_of, plain_rows

COUNTS = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 5]])


class Weighted(csr_array):
    """Somebody's own kind of matrix."""


class WeightedMatrix(csr_matrix):
    """The same of the older kind."""


def with_arrays(change, kind=np.float64):
    """A CSR array whose three arrays were changed after it was made."""
    made = csr_array(COUNTS.astype(kind))
    for name in ("data", "indices", "indptr"):
        setattr(made, name, change(getattr(made, name)))
    return made


def read_only(array):
    array.setflags(write=False)
    return array


def every_second(array):
    return np.repeat(array, 2)[::2]


def long(array):
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


MATRICES = {
    "csr_array": csr_array(COUNTS.astype(float)),
    "csr_matrix": csr_matrix(COUNTS.astype(float)),
    "subclass": Weighted(COUNTS.astype(float)),
    "subclass of the older kind": WeightedMatrix(COUNTS.astype(float)),
    "whole numbers": csr_array(COUNTS),
    "long indices": with_arrays(long),
    "long indices, whole numbers": with_arrays(long, np.int64),
    "float32": csr_array(COUNTS.astype(np.float32)),
    "int8": csr_array(COUNTS.astype(np.int8)),
    "uint64": csr_array(COUNTS.astype(np.uint64)),
    "read-only": with_arrays(read_only),
    "read-only, whole numbers": with_arrays(read_only, np.int64),
    "not contiguous": with_arrays(every_second),
    "other byte order": with_arrays(swapped),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_become_three_arrays_that_the_loops_take(name):
    rows = plain_rows(MATRICES[name], 4)
    indptr, words, weights = rows
    assert indptr.dtype == words.dtype == np.int32
    assert weights.dtype == np.float64
    assert all(array.flags.carray for array in rows)
    assert all(array.dtype.isnative for array in rows)
    assert np.array_equal(csr_array((weights, words, indptr), shape=(3, 4)).toarray(), COUNTS)


@pytest.mark.parametrize("kind", [np.float64, np.int64])
@pytest.mark.parametrize("matrix", [csr_array, csr_matrix, Weighted])
def test_nothing_is_copied_of_what_is_plain_already(matrix, kind):
    made = matrix(COUNTS.astype(kind))
    indptr, words, weights = plain_rows(made, 4)
    assert indptr is made.indptr
    assert words is made.indices
    assert (weights is made.data) == (kind is np.float64)


@pytest.mark.parametrize("name", ["read-only", "not contiguous", "long indices"])
def test_what_is_copied_leaves_the_matrix_alone(name):
    matrix = MATRICES[name]
    for array, own in zip(plain_rows(matrix, 4), (matrix.indptr, matrix.indices, matrix.data), strict=True):
        assert not np.shares_memory(array, own)


@pytest.mark.parametrize(
    "X",
    [
        COUNTS,
        COUNTS.tolist(),
        csc_array(COUNTS),
        coo_array(COUNTS),
        csr_array(COUNTS).astype(complex),
        csr_array(COUNTS[:, :3]),
        csr_array(COUNTS[0]),
        "text",
        None,
    ],
)
def test_anything_else_is_left_to_be_checked(X):
    assert plain_rows(X, 4) is None


def test_rows_are_not_checked_unless_they_are_asked_to_be_canonical():
    messy = csr_array(([1.0, 1.0, 0.0, 2.0], [3, 1, 0, 1], [0, 4]), shape=(1, 4))
    assert plain_rows(messy, 4)[1].tolist() == [3, 1, 0, 1]
    indptr, words, weights = canonical_rows(messy, 4)
    assert (indptr.tolist(), words.tolist(), weights.tolist()) == ([0, 2], [1, 3], [3.0, 1.0])
    with pytest.raises(ValueError, match="Negative values"):
        canonical_rows([[1, -1, 0, 0]], 4)
    with pytest.raises(ValueError, match="expecting 5"):
        canonical_rows(COUNTS, 5)


def test_parts_are_views():
    rows = plain_rows(csr_array(COUNTS), 4)
    assert count_rows(rows) == 3
    part = part_of(rows, 1, 3)
    assert count_rows(part) == 2
    assert part[0].tolist() == [2, 2, 5]
    assert part[1] is rows[1]
    assert count_rows(part_of(rows, 2, 2)) == 0
