import numpy as np
import pytest

from treewass.compute.records import aligned_zeros


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 0, 4), (7, 64), (1, 2, 3, 64)])
@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.int64, np.float64, "bool"])
def test_zeros_begin_at_a_cache_line(shape, kind):
    made = [aligned_zeros(shape, kind) for _ in range(5)]
    for array in made:
        assert not array.size or array.ctypes.data % 64 == 0
        assert array.shape == shape
        assert array.dtype == np.dtype(kind)
        assert array.flags.carray
        assert not array.any()


def test_arrays_share_nothing_and_keep_their_memory():
    first, second = aligned_zeros((100,), np.int32), aligned_zeros((100,), np.int32)
    first[:] = 7
    assert not second.any()
    del second
    aligned_zeros((100,), np.int32)[:] = 9
    assert (first == 7).all()
