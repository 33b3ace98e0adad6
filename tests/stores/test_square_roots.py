"""Square-root vectors in stores of inner products: certified answers are those of a TreeIndex."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.cases import COUNTS, METRIC, N_WORDS, QUERIES, random_counts
from tests.strategies import documents, metrics
from treewass import EmptyDocumentWarning, TreeIndex, TreeMetric
from treewass.stores import certified, sqrt_vectors
from treewass.trees import star_tree
from treewass.trees.embedding import embed_units


def matrix_store(stored, ids, asked=None):
    """A store that compares in float32, as others do."""

    def fetch(query, n):
        products = (stored @ query.T).toarray().ravel()
        order = np.argsort(-products, kind="stable")[:n]
        if asked is not None:
            asked.append(n)
        return products[order], ids[order], stored[order]

    return fetch


def faiss_store(stored, ids):
    import faiss

    index = faiss.IndexIDMap2(faiss.IndexFlatIP(stored.shape[1]))
    index.add_with_ids(stored.toarray(), ids)

    def fetch(query, n):
        products, found = index.search(query.toarray(), min(n, index.ntotal))
        return products[0], found[0], sp.csr_array(index.reconstruct_batch(found[0]))

    return fetch


def qdrant_store(stored, ids):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection("news", vectors_config={}, sparse_vectors_config={"roots": models.SparseVectorParams()})
    rows = [stored[[place]] for place in range(stored.shape[0])]
    vectors = [models.SparseVector(indices=row.indices.tolist(), values=row.data.tolist()) for row in rows]
    points = [models.PointStruct(id=int(own), vector={"roots": row}) for own, row in zip(ids, vectors, strict=True)]
    client.upsert("news", points)

    def fetch(query, n):
        wanted = models.SparseVector(indices=query.indices.tolist(), values=query.data.tolist())
        found = client.query_points("news", query=wanted, using="roots", limit=n, with_vectors=True).points
        rows = [point.vector["roots"] for point in found]
        bounds = np.cumsum([0, *(len(row.indices) for row in rows)])
        entries = [np.concatenate([getattr(row, name) for row in rows]) for name in ("values", "indices")]
        vectors = sp.csr_array((*entries, bounds), shape=(len(rows), stored.shape[1]))
        return [point.score for point in found], [point.id for point in found], vectors

    return fetch


@pytest.mark.filterwarnings("ignore")  # of qdrant's client and faiss, as they are imported
@pytest.mark.parametrize("store", [matrix_store, faiss_store, qdrant_store])
def test_stores_give_certified_answers(store):
    counts = sp.vstack([random_counts(600), sp.csr_array((1, N_WORDS))], "csr")
    memory, ids = TreeIndex(METRIC), np.arange(601) * 3
    with pytest.warns(EmptyDocumentWarning):
        memory.add(counts, ids)
    fetch = store(sqrt_vectors(METRIC, counts), ids)
    for k in (1, 10):
        for ours, theirs in zip(certified(METRIC, QUERIES[:8], fetch, k), memory.search(QUERIES[:8], k), strict=True):
            assert np.array_equal(ours, theirs)


@given(st.data())
def test_the_bound_and_the_answer_for_any_metric(data):
    metric = data.draw(metrics(max_components=2)).for_float32()
    counts = data.draw(documents(metric.n_words, min_rows=2, max_rows=6))
    query = data.draw(documents(metric.n_words, max_rows=1))
    vectors, wanted = sqrt_vectors(metric, counts), sqrt_vectors(metric, query, queries=True)
    units = embed_units(metric, query).toarray()
    exact = abs(embed_units(metric, counts).toarray().astype(np.int64) - units).sum(axis=1)
    products = (vectors.astype(np.float64) @ wanted.astype(np.float64).T).toarray().ravel()
    assert (units.sum() + 2**23 - products <= exact + 4).all()  # float32 rounds the roots
    memory = TreeIndex(metric)
    memory.add(counts)
    found = certified(metric, query, matrix_store(vectors, np.arange(len(counts))), 3)
    for ours, theirs in zip(found, memory.search(query, 3), strict=True):
        assert np.array_equal(ours, theirs)


def test_more_is_fetched_only_where_it_must_be():
    asked = []
    fetch = matrix_store(sqrt_vectors(METRIC, COUNTS), np.arange(300), asked)
    certified(METRIC, COUNTS[:5], fetch, 1)
    assert asked == [100] * 5  # each finds itself
    same = matrix_store(sqrt_vectors(METRIC, sp.vstack([COUNTS[:1]] * 500, "csr")), np.arange(500)[::-1], asked)
    asked.clear()
    assert certified(METRIC, QUERIES[:1], same, 3)[1].tolist() == [[0, 1, 2]]
    assert asked == [100, 200, 400, 800]  # ties that only all documents can settle


def test_squares_of_roots_in_float32_are_exact():
    units = np.arange(2**22 + 1, dtype=np.int64)
    roots = np.sqrt(units.astype(np.float64)).astype(np.float32)
    assert np.array_equal(np.rint(roots.astype(np.float64) ** 2), units)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"29 fraction bits\. Use metric\.for_float32\(\)"):
        sqrt_vectors(TreeMetric(star_tree(2)), [[1, 0]])
    with pytest.raises(ValueError, match=r"1 row\(s\) of X have none: 0"):
        sqrt_vectors(METRIC, sp.csr_array((1, N_WORDS)), queries=True)
    with pytest.raises(ValueError, match="Expected k as an integer"):
        certified(METRIC, QUERIES, None, 0)
    assert certified(METRIC, QUERIES[:0], None)[0].shape == (0, 0)
