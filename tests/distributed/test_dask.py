"""Files, shards and queries on two worker processes, with workers that are killed on the way."""

import json
import os
import signal

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from treewass import DocumentModel, ShardedIndex
from treewass.distributed import build_shards, fit, open_shards, predict, search
from treewass.distributed.files import LOCAL_SETTINGS, dask_engine

pytestmark = pytest.mark.slow
N_DOCUMENTS = 60


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set(LOCAL_SETTINGS),  # as `treewass fit --workers` does
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def corpus():
    random = np.random.RandomState(5)
    texts, labels = [], []
    for number in range(N_DOCUMENTS):
        own = "abcd" if number % 3 else "efgh"
        texts.append(" ".join([*random.choice(list(own), 4), *random.choice(list("ijklmnop"), 3)]))
        labels.append("x" if number % 3 else "y")
    return texts, labels


@pytest.fixture(scope="module")
def files(corpus, tmp_path_factory):
    """Seven files, and a pattern that matches them."""
    folder = tmp_path_factory.mktemp("files")
    for number, rows in enumerate(np.array_split(np.arange(N_DOCUMENTS), 7)):
        lines = [json.dumps({"text": corpus[0][row], "label": corpus[1][row]}) for row in rows]
        (folder / f"part-{number}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return str(folder / "*.jsonl")


@pytest.fixture(scope="module")
def in_memory(corpus):
    return DocumentModel(n_neighbors=5).fit(*corpus)


@pytest.fixture(scope="module")
def saved(in_memory, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    model = DocumentModel(n_neighbors=5)
    model.contents_ = in_memory.contents_.changed(index=ShardedIndex.from_index(in_memory.index_, 3))
    model.save(folder)
    return folder


def _total(task, *, numbers):
    return task, int(numbers.sum())


def test_large_arguments_of_two_calls_are_not_mixed_up(client):
    engine = dask_engine(client, verbose=False)
    first, second = np.ones(100_000, dtype=np.int64), np.full(100_000, 2)  # Dask keeps those apart from their tasks
    both = zip(
        engine(_total, ["a", "b"], "adding", numbers=first),
        engine(_total, ["a", "b"], "adding", numbers=second),
        strict=True,
    )
    assert list(both) == [(("a", 100_000), ("a", 200_000)), (("b", 100_000), ("b", 200_000))]


def kill_once(client, module, name, flag):
    """Let the first worker that calls a function of a module kill itself with signal 9, once in all."""

    def install():
        import importlib
        import os
        import signal

        owner = importlib.import_module(module)
        original = getattr(owner, name)

        def killing(*arguments, **options):
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return original(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        setattr(owner, name, killing)

    client.run(install, on_error="ignore")  # a worker may just be starting


@pytest.mark.parametrize(
    ("stage", "function"),
    [
        ("nothing", None),
        ("counting", "partitioned.ClassCounting"),
        ("noting", "partition_notes.write_tensors"),  # the last of the files of a partition
        ("sampling", "partitioned._Collected"),
        ("indexing", "partitioned._write_shard"),
    ],
)
def test_fit_gives_the_same_model_when_a_worker_is_killed(client, files, in_memory, corpus, tmp_path, stage, function):
    flag = tmp_path / "killed"
    if function is not None:
        module, _, name = f"treewass.model.{function}".rpartition(".")
        kill_once(client, module, name, str(flag))
    model = fit(files, client=client, model=DocumentModel(n_neighbors=5), shard_size=20)
    assert flag.exists() == (function is not None), stage
    assert model.words_ == in_memory.words_
    assert model.metric_.digest == in_memory.metric_.digest
    assert len(model.index_.shards) > 1
    assert np.array_equal(model.predict_proba(corpus[0]), in_memory.predict_proba(corpus[0]))
    assert list(model.contents_.documents.texts) == corpus[0]


@pytest.mark.parametrize("killed", [False, True])
def test_labels_are_those_of_the_model_when_a_worker_is_killed(
    client, files, saved, in_memory, corpus, tmp_path, killed
):
    import pyarrow.parquet as parquet

    if killed:
        kill_once(client, "treewass.model.partitioned_labels", "class_probabilities", str(tmp_path / "killed"))
    scored = predict(files, tmp_path / "out", model=saved, client=client, label="label")
    assert (tmp_path / "killed").exists() == killed
    files = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in files] == [f"part-0000{number}.parquet" for number in range(7)]
    tables = [parquet.read_table(path).to_pydict() for path in files]
    found = [label for table in tables for label in table["label"]]
    assert found == in_memory.predict(corpus[0]).tolist()
    assert scored == (N_DOCUMENTS, 0, sum(one != other for one, other in zip(found, corpus[1], strict=True)))


def test_shards_on_workers_answer_as_one_index_and_come_back_when_workers_are_killed(client, saved, in_memory, corpus):
    queries = in_memory.contents_.count(corpus[0])
    client.wait_for_workers(2)  # another test may have killed one
    index = open_shards(saved, client=client)
    assert len(index.shards) == 2  # of three, on two workers
    pids = list(client.run(os.getpid, on_error="ignore").values())
    for killed in ([], pids):
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        for ask in ("search", "rank"):
            answers = getattr(index, ask)(queries, 7), getattr(in_memory.index_, ask)(queries, 7)
            assert all(np.array_equal(*pair) for pair in zip(*answers, strict=True))
        assert np.array_equal(index.distances(queries[:1])[0], in_memory.index_.distances(queries[:1])[0])
    within, expected = index.within(queries[:3], 2.0), in_memory.index_.within(queries[:3], 2.0)
    for found, wanted in zip(within, expected, strict=True):
        assert all(np.array_equal(*pair) for pair in zip(found, wanted, strict=True))
    with pytest.raises(ValueError, match="known word"):
        index.search(queries[:1] * 0, 3)
    with pytest.raises(ValueError, match="read-only"):
        index.add(queries[:1])
    with pytest.raises(ValueError, match="read-only"):
        index.remove([0])
    found = search(saved, corpus[0][:5], 3, client=client)
    assert np.array_equal(found[1], in_memory.index_.search(queries[:5], 3)[1])


def test_files_are_indexed_on_workers_when_one_is_killed(client, files, saved, in_memory, corpus, tmp_path):
    kill_once(client, "treewass.model.partitioned", "_write_shard", str(tmp_path / "killed"))
    index = build_shards(saved, files, tmp_path / "shards", client=client, shard_size=20)
    assert (tmp_path / "killed").exists()
    queries = in_memory.contents_.count(corpus[0])
    for one in (index, open_shards(tmp_path / "shards", client=client)):
        answers = one.search(queries, 7), in_memory.index_.search(queries, 7)
        assert all(np.array_equal(*pair) for pair in zip(*answers, strict=True))
