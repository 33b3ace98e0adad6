import numpy as np
import pytest

from treewass import TreeIndex, TreeMetric
from treewass.search.held_documents import documents_of
from treewass.trees import star_tree

COUNTS = np.array([[3, 0, 1], [1, 1, 0], [0, 2, 5], [4, 0, 0]])


@pytest.mark.parametrize(("sizes", "is_shared"), [((4,), True), ((3, 1), False)])
def test_documents_taken_out_cannot_change_those_of_the_index(sizes, is_shared):
    index = TreeIndex(TreeMetric(star_tree(3)))
    for part in np.split(COUNTS, np.cumsum(sizes)[:-1]):
        index.add(part)
    assert len(index._snapshot.segments) == len(sizes)
    taken = documents_of(index)
    assert taken.indices.flags.writeable == taken.indptr.flags.writeable == (not is_shared)
    if is_shared:
        with pytest.raises(ValueError, match="read-only"):
            taken.indices[0] = 2
    changed = taken.copy() if is_shared else taken
    changed.data[:], changed.indices[:] = 9.0, 0
    taken.data[:] = 9.0  # never shared
    np.testing.assert_array_equal(documents_of(index).toarray(), COUNTS)
