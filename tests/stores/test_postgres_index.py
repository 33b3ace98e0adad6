"""PostgresIndex on a real server, against a TreeIndex of the same metric."""

from datetime import UTC, datetime

import numpy as np
import psycopg
import pytest
import scipy.sparse as sp

from tests.stores.cases import COUNTS, METRIC, N_WORDS, QUERIES, random_counts, random_metric
from treewass import EmptyDocumentWarning, Tree, TreeIndex, TreeMetric
from treewass.stores import PostgresIndex
from treewass.trees import star_tree

pytestmark = pytest.mark.slow


@pytest.fixture
def index(dsn):
    with PostgresIndex(dsn, METRIC, columns={"year": int, "created": datetime, "score": float}) as opened:
        yield opened


def assert_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert np.array_equal(one, other)


def test_every_answer_is_that_of_a_tree_index(index):
    memory = TreeIndex(METRIC)
    assert index.search(QUERIES, 3)[0].shape == (25, 0)
    assert np.array_equal(index.add(COUNTS[:200]), memory.add(COUNTS[:200]))
    ids = np.arange(1000, 1100)[::-1]
    assert np.array_equal(index.add(COUNTS[200:], ids), memory.add(COUNTS[200:], ids))
    for gone in ([5, 1050, 0], [1, 2]):
        index.remove(gone)
        memory.remove(gone)
        assert len(index) == len(memory)
        assert np.array_equal(index.ids, memory.ids)
        for k in (1, 10, 1000):
            assert_same(index.search(QUERIES, k), memory.search(QUERIES, k))
        radius = float(np.median(memory.search(QUERIES, 5)[0]))
        assert_same(index.within(QUERIES, radius), memory.within(QUERIES, radius))
        assert_same(index.distances(QUERIES[[0]]), memory.distances(QUERIES[[0]]))
        chosen = [1099, 3, 7]
        assert_same(index.distances(QUERIES[[0]], chosen), memory.distances(QUERIES[[0]], chosen))
    assert index.add(COUNTS[:1]).tolist() == [1100]


def test_several_trees_and_a_tree_without_lengths(dsn):
    average = TreeMetric.average([random_metric(1), random_metric(2)]).for_float32()
    flat = TreeMetric(Tree([-1], [0], [0] * N_WORDS, [0] * N_WORDS)).for_float32()
    for number, metric in enumerate((average, flat)):
        memory = TreeIndex(metric)
        memory.add(COUNTS)
        with PostgresIndex(dsn, metric, table=f"t{number}") as index:
            index.add(COUNTS)
            assert_same(index.search(QUERIES, 7), memory.search(QUERIES, 7))


def test_documents_without_a_known_word(dsn):
    masses = np.r_[np.zeros(5), np.ones(N_WORDS - 5)]
    metric = random_metric(masses=masses)
    counts = sp.vstack([sp.csr_array((1, N_WORDS)), COUNTS[:4], sp.csr_array(([1.0], ([0], [2])), (1, N_WORDS))], "csr")
    memory, known = TreeIndex(metric), np.diff(COUNTS[:4][:, 5:].indptr) > 0
    with PostgresIndex(dsn, metric) as index:
        for holder in (memory, index):
            with pytest.warns(EmptyDocumentWarning, match=r"2 document\(s\) hold no known word \(rows 0, 5\)"):
                holder.add(counts)
        assert known.all()
        assert len(index) == 6
        assert_same(index.search(QUERIES[:3], 9), memory.search(QUERIES[:3], 9))
        with pytest.raises(ValueError, match=r"Expected documents with a known word, but those of ids 0, 5 have"):
            index.distances(QUERIES[[0]], [5, 1, 0])
        with pytest.raises(ValueError, match=r"1 row\(s\) of X have none: 1"):
            index.search(counts[[1, 0]])


def test_columns_and_filters(index):
    labels = np.array(["sports", "news", "o'brien; DROP TABLE x"])[np.arange(300) % 3]
    years = np.arange(1900, 2200)
    times = [datetime(2000 + row, 1, 1, tzinfo=UTC) if row % 2 else None for row in range(300)]
    keys = [f"k{row}" for row in range(300)]
    index.add(COUNTS, columns={"label": labels, "year": years, "created": times, "key": keys, "score": years / 2})
    memory = TreeIndex(METRIC)
    memory.add(COUNTS)
    distances, ids = memory.search(QUERIES, 300)
    has_time = np.array([time is not None for time in times])
    filters = [
        ({"label": "sports"}, labels == "sports"),
        ({"label": ["sports", "news"], "year": (">", 2000)}, (labels != "o'brien; DROP TABLE x") & (years > 2000)),
        ({"label": ("!=", "sports"), "year": ("<=", 2000)}, (labels != "sports") & (years <= 2000)),
        ({"label": "o'brien; DROP TABLE x"}, labels == "o'brien; DROP TABLE x"),
        ({"created": None}, ~has_time),
        ({"created": ("!=", None), "id": ("<", 50)}, has_time & (np.arange(300) < 50)),
        ({"created": (">=", times[101])}, has_time & (np.arange(300) >= 101)),
        ({"key": ["k7", "k9", "absent"]}, np.isin(np.arange(300), [7, 9])),
        ({"score": ("==", 1000.5)}, years == 2001),
        ({"label": "absent"}, np.zeros(300, dtype=bool)),
        ({}, np.ones(300, dtype=bool)),
    ]
    for where, passes in filters:
        kept = passes[ids]
        expected = [distances[kept].reshape(25, -1)[:, :6], ids[kept].reshape(25, -1)[:, :6]]
        assert_same(index.search(QUERIES, 6, where=where), expected)
    near = index.within(QUERIES, 1.0, where={"label": "sports"})[1]
    every = memory.within(QUERIES, 1.0)[1]
    assert [own.tolist() for own in near] == [own[labels[own] == "sports"].tolist() for own in every]
    first, second = index.documents([7, 2])
    assert first == {
        "id": 7, "key": "k7", "label": "news", "title": None, "text": None, "year": 1907, "created": times[7],
        "score": 953.5,
    }  # fmt: skip
    assert second["label"] == "o'brien; DROP TABLE x"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"label; DROP TABLE documents_1; --": "x"}, "Expected where to name columns of the table"),
        ({"label\" = '' OR \"id": 1}, "Expected where to name columns"),
        ({"vector": "x"}, "Expected where to name columns"),
        ({"label": ("= '' OR 1=1 --", "x")}, r"list of values, \(== or != or <"),
        ({"label": ("LIKE", "%")}, r"list of values, \(== or"),
        ({"label": ("==", "x", "y")}, r"list of values, \(== or"),
        ({"label": 3}, "Expected str values in column label, got 3"),
        ({"year": "0 OR 1=1"}, "Expected int values in column year"),
        ({"year": True}, "Expected int values in column year"),
        ({"year": ("<", [1])}, "Expected one value for year <, got 1 in a list"),
        ({"year": ("<", None)}, "Expected a value for year <, got None"),
        ({"label": "a\0b"}, "Expected values that PostgreSQL can hold"),
    ],
)
def test_what_is_no_filter_is_refused(index, where, message):
    index.add(COUNTS[:5])
    with pytest.raises(ValueError, match=message):
        index.search(QUERIES[:1], where=where)
    assert len(index) == 5


def test_values_are_bound_whatever_they_say(index):
    texts = ["'); DROP TABLE documents_1; --", "%s %(query)s %%", "{table}", "\\.", "\t\n\\N", "", "é 漢字 😀"]
    index.add(COUNTS[:7], columns={"text": texts, "key": texts, "label": texts})
    assert [row["text"] for row in index.documents(range(7))] == texts
    for number, text in enumerate(texts):
        assert index.search(QUERIES[:1], where={"key": text, "label": text})[1].tolist() == [[number]]
    for bad in ("1 OR 1=1", [1.5], ["1"], None):
        with pytest.raises((ValueError, TypeError)):
            index.remove(bad)
    assert len(index) == 7


def test_bad_documents_change_nothing(index):
    index.add(COUNTS[:5], columns={"key": list("abcde")})
    refused = [
        ({"X": COUNTS[:2], "ids": [9, 9]}, "Expected ids and keys that are not in the table yet"),
        ({"X": COUNTS[:2], "ids": [9, 3]}, r"Key \(id\)=\(3\) already exists"),
        ({"X": COUNTS[:2], "columns": {"key": ["z", "c"]}}, r"Key \(key\)=\(c\) already exists"),
        ({"X": COUNTS[:2], "ids": [9]}, r"Expected one id per document \(2\), got 1"),
        (
            {"X": COUNTS[:2], "columns": {"label": ["x"]}},
            r"Expected one value per document \(2\) in column label, got 1",
        ),
        ({"X": COUNTS[:2], "columns": {"label": ["x", 3]}}, "Expected str values in column label, got 3"),
        ({"X": COUNTS[:2], "columns": {"labels": ["x", "y"]}}, "Expected columns of the table .* got 'labels'"),
        ({"X": COUNTS[:2], "columns": {"text": ["x", "a\0b"]}}, "Expected values that PostgreSQL can hold"),
        ({"X": -COUNTS[:2]}, "Negative values"),
        ({"X": COUNTS[:2, :3]}, "expecting 40 features"),
    ]
    for arguments, message in refused:
        with pytest.raises(ValueError, match=message):
            index.add(**arguments)
    with pytest.raises(ValueError, match="No documents in the table have the ids 77"):
        index.remove([2, 77])
    with pytest.raises(ValueError, match="No documents in the table have the ids 77"):
        index.documents([77])
    assert index.ids.tolist() == [0, 1, 2, 3, 4]


def test_a_transaction_is_all_or_nothing(index, dsn):
    index.add(COUNTS[:3])
    with psycopg.connect(dsn) as other:
        other.execute("CREATE TABLE audit (what text)")

    def change_and_fail():
        with index.transaction() as connection:
            index.remove([0])
            index.add(COUNTS[3:5])
            connection.execute("INSERT INTO audit VALUES ('lost')")
            assert index.ids.tolist() == [1, 2, 3, 4]
            raise KeyError

    with pytest.raises(KeyError):
        change_and_fail()
    assert index.ids.tolist() == [0, 1, 2]
    with index.transaction() as connection:
        index.remove([0])
        with pytest.raises(ValueError, match="already exists"):
            index.add(COUNTS[:1], [2])  # an error that is caught leaves the rest of the transaction as it is
        connection.execute("INSERT INTO audit VALUES ('kept')")
        index.add(COUNTS[:1], [50])
        with PostgresIndex(dsn, METRIC) as other:
            assert other.ids.tolist() == [0, 1, 2]
    assert index.ids.tolist() == [1, 2, 50]
    with psycopg.connect(dsn) as other:
        assert other.execute("SELECT what FROM audit").fetchall() == [("kept",)]


def test_many_writers(dsn):
    from concurrent.futures import ThreadPoolExecutor

    def write(number):
        with PostgresIndex(dsn, METRIC) as own:
            added = [own.add(COUNTS[[row]]).item() for row in range(number * 10, number * 10 + 10)]
            own.remove(added[:2])
            return added[2:]

    with ThreadPoolExecutor(6) as threads:
        kept = np.sort(np.concatenate(list(threads.map(write, range(6)))))
    with PostgresIndex(dsn, METRIC) as index:
        assert index.ids.tolist() == kept.tolist()
        assert len(set(kept)) == 48


def test_the_graph_finds_nearly_all_and_long_documents_always(dsn):
    n_words = 1500
    metric = TreeMetric(star_tree(n_words)).for_float32()
    counts = random_counts(400, n_words=n_words)
    long = sp.csr_array(np.ones((2, n_words)) + np.eye(2, n_words))
    with PostgresIndex(dsn, metric, columns={"year": int}) as index:
        years = np.arange(402)
        index.add(sp.vstack([counts, long], "csr"), columns={"year": years})
        exact = index.search(counts[:20], 10)
        with pytest.raises(ValueError, match=r"Call build_graph\(\) first"):
            index.search(counts[:20], 10, approximate=True)
        index.build_graph()
        index.build_graph()
        with index.transaction() as connection:
            connection.execute("SET LOCAL enable_seqscan = off")
            assert_same(index.search(counts[:20], 10), exact)
            for where in (None, {"year": (">=", 200)}):
                distances, ids = index.search(counts[:20], 10, approximate=True, ef=200, where=where)
                expected = index.search(counts[:20], 10, where=where)
                recall = np.mean([np.isin(own, other).mean() for own, other in zip(ids, expected[1], strict=True)])
                assert recall > 0.9
                assert (np.diff(distances) >= 0).all()
            assert index.search(long, 2, approximate=True)[1].tolist() == [[400, 401], [401, 400]]
            few = index.search(counts[:2], 10, approximate=True, where={"year": ("<", 3)})
            assert few[1].shape == (2, 3)
        with pytest.raises(ValueError, match="at most 1000 with approximate=True, got 1001"):
            index.search(counts[:1], 1001, approximate=True)


def test_documents_too_long_for_pgvector_are_refused(dsn):
    metric = TreeMetric(star_tree(16_001)).for_float32()
    with PostgresIndex(dsn, metric) as index:
        with pytest.raises(ValueError, match=r"at most 16000 non-zeros.*1 row\(s\) have more: 1"):
            index.add(np.vstack([np.eye(1, 16_001), np.ones((1, 16_001))]))
        index.add(np.r_[np.ones(16_000), 0][None])
        assert index.search(np.r_[0, np.ones(16_000)][None], 1)[1].tolist() == [[0]]


def test_a_metric_with_too_fine_a_unit_is_refused():
    with pytest.raises(ValueError, match=r"29 fraction bits.*Use metric\.for_float32\(\)"):
        PostgresIndex("postgresql:///nowhere", TreeMetric(star_tree(2)))
    with pytest.raises(TypeError, match="Expected a TreeMetric, got str"):
        PostgresIndex("postgresql:///nowhere", "bow")


def test_a_server_that_does_not_answer(tmp_path):
    with pytest.raises(ConnectionError, match="PostgreSQL does not answer"):
        PostgresIndex(f"postgresql:///x?host={tmp_path}", METRIC)
