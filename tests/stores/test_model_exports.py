"""A model's documents in every store, by the function and by the command."""

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from treewass import DocumentModel, TreeIndex
from treewass.cli.app import app
from treewass.search.held_documents import documents_of
from treewass.stores import PostgresIndex, certified, export_model, read_postings, search_sql

TEXTS = ["cats purr softly", "a cat meows", "dogs bark", "the dog growls", "a dog and a cat"]


@pytest.fixture(scope="module")
def model():
    return DocumentModel(n_neighbors=1, metric="bow").fit(
        TEXTS, [1, 1, 2, 2, 2], keys=[*"abcd", ""], columns={"year": [1990, None, 1992, 1993, 1994]}
    )


def nearest(model, query):
    index = TreeIndex(model.metric_.for_float32())
    index.add(documents_of(model.index_), model.index_.ids)
    return index.search(query, 3)


def test_parquet(model, tmp_path):
    import duckdb

    model.save(tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), "--to", "parquet", "-o", str(tmp_path / "p")]
    done = CliRunner().invoke(app, arguments)
    assert f"5 documents of {tmp_path / 'model'} written to {tmp_path / 'p'}." in done.output
    assert read_postings(tmp_path / "p").ids.tolist() == model.index_.ids.tolist()
    rows = duckdb.sql(f"SELECT label, text, year, key FROM '{tmp_path}/p/documents.parquet' ORDER BY doc").fetchall()
    assert rows[0] == (1, "cats purr softly", 1990, "a")
    assert rows[4] == (2, "a dog and a cat", 1994, None)
    found = duckdb.sql(search_sql("duckdb", tmp_path / "p", model.metric_, model.counts("a cat"), 3)).fetchall()
    assert [row[0] for row in found] == model.index_.search(model.counts("a cat"), 3)[1][0].tolist()


def test_square_roots(model, tmp_path):
    assert export_model(model, "sqrt", tmp_path / "v.npz") == 5
    stored = sp.csr_array(sp.load_npz(tmp_path / "v.npz"))
    ids = np.load(tmp_path / "v.npz")["ids"]

    def fetch(query, n):
        products = (stored @ query.T).toarray().ravel()
        order = np.argsort(-products)[:n]
        return products[order], ids[order], stored[order]

    query = model.counts("a cat")
    assert_same(certified(model.metric_.for_float32(), query, fetch, 3), nearest(model, query))


@pytest.mark.filterwarnings("ignore")  # of faiss, as it is imported
def test_faiss(model, tmp_path):
    import faiss

    export_model(model, "faiss", tmp_path / "v.faiss")
    index = faiss.read_index(str(tmp_path / "v.faiss"))

    def fetch(query, n):
        products, found = index.search(query.toarray(), min(n, index.ntotal))
        return products[0], found[0], sp.csr_array(index.reconstruct_batch(found[0]))

    query = model.counts("a cat")
    assert_same(certified(model.metric_.for_float32(), query, fetch, 3), nearest(model, query))


@pytest.mark.slow
def test_postgres(model, dsn, tmp_path):
    model.save(tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), "--to", "postgres", "-o", dsn, "--table", "news"]
    assert "5 documents" in CliRunner().invoke(app, arguments).output
    assert isinstance(CliRunner().invoke(app, arguments).exception, ValueError)  # its ids are there already
    with PostgresIndex(dsn, model.metric_.for_float32(), table="news") as index:
        query = model.counts("a cat")
        assert_same(index.search(query, 3), nearest(model, query))
        assert index.search(query, where={"label": 2, "year": (">", 1992)})[1][0].tolist() == [4, 3]
        first = index.documents([4])[0]
        assert first["text"] == "a dog and a cat"
        assert first["key"] is None


def test_what_is_refused(model, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="Expected to to be one of postgres, parquet, sqrt, faiss"):
        export_model(model, "oracle", tmp_path)
    monkeypatch.setattr("treewass.stores.model_exports._MOST_DENSE_BYTES", 10)
    with pytest.raises(ValueError, match="Expected at most 0 GiB of dense vectors"):
        export_model(model, "faiss", tmp_path / "v.faiss")
    assert not list(tmp_path.iterdir())


def assert_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)
