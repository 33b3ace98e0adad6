import numpy as np
import pytest

from treewass.trees.checks import check_points, random_stream


def test_points_become_float64_and_keep_their_values():
    points = check_points(np.array([[1, 2], [3, 4]], dtype=np.int8))
    assert points.dtype == np.float64
    assert points.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("vectors", [[], [[]], [1.0], np.zeros((2, 0)), np.zeros((1, 1, 1))])
def test_wrong_shapes_are_refused(vectors):
    with pytest.raises(ValueError, match="one row per word"):
        check_points(vectors)


def test_a_stream_goes_on_and_a_seed_starts_anew():
    stream = np.random.RandomState(0)
    assert random_stream(stream) is stream
    assert random_stream(5).randint(1000) == random_stream(5).randint(1000)
