import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.test_numpy_nearest import arrays, random_metric
from treewass.trees.embedding import embed_units
from treewass.trees.numpy_embedding import embed_document


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_components=st.integers(1, 2))
def test_embedding_is_the_compiled_one(seed, n_components):
    random = np.random.default_rng(seed)
    metric = random_metric(12, n_components, seed)
    row = random.integers(0, 4, 12) * random.random(12)
    embedded = embed_units(metric, row[None])
    expected = dict(zip(embedded.indices.tolist(), embedded.data.tolist(), strict=True))
    assert embed_document(metric, *arrays(row)) == expected
