"""A shard elsewhere, with a stand-in for the cluster: what it says of failures, and by which statistics it ranks."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from treewass import ShardedIndex, TreeIndex, TreeMetric
from treewass.distributed import remote_shards
from treewass.distributed.remote_shards import RemoteShard
from treewass.search import Statistics
from treewass.trees import star_tree


class Here:
    """A client whose only worker is this process."""

    def submit(self, kind, *arguments, **_):
        held = kind(*arguments)
        return SimpleNamespace(result=lambda: Actor(held))


class Actor:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, method):
        def ask(*arguments, **options):
            return SimpleNamespace(result=lambda timeout: getattr(self.held, method)(*arguments, **options))

        return ask


@pytest.fixture
def shard(tmp_path):
    index = TreeIndex(TreeMetric(star_tree(3)))
    index.add([[1, 0, 0], [1, 1, 0], [0, 2, 1]])
    parts = ShardedIndex.from_index(index, 2).shards
    for number, part in enumerate(parts):
        part.save(tmp_path / f"part-{number}")
    return RemoteShard(Here(), [tmp_path / "part-0", tmp_path / "part-1"]), index


def test_statistics_of_any_thread_and_moment_are_those_that_rank(shard, monkeypatch):
    monkeypatch.setattr(remote_shards, "id", lambda _: 1, raising=False)  # an id may be that of one that is gone
    remote, index = shard
    query, wrong = [[1, 1, 1]], []

    def rank(first):
        for number in range(first, first + 100):
            statistics = Statistics(1000, 3000 + number, np.array([number + 1, 5, 7]))
            expected = index.rank(query, 3, statistics=statistics)
            if not np.array_equal(remote.rank(query, 3, statistics=statistics), expected):
                wrong.append(number)

    threads = [threading.Thread(target=rank, args=(first,)) for first in (0, 300, 600)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_fails_in_the_shard_is_named(shard, monkeypatch):
    remote, _ = shard

    def fail(*_, **__):
        raise OSError("stale file handle")

    monkeypatch.setattr(TreeIndex, "search", fail)
    with pytest.raises(OSError, match=r"hold the shards in .*stale file handle") as raised:
        remote.search([[1, 0, 0]], 1)
    assert isinstance(raised.value.__cause__, OSError)


def test_the_process_that_asks_reads_ids_only_and_the_worker_checks_the_rest(tmp_path):
    index = TreeIndex(TreeMetric(star_tree(3)))
    index.add([[1, 0, 0], [1, 1, 0]], [7, 4])
    index.save(tmp_path / "part")
    (file,) = [path for path in (tmp_path / "part").rglob("*.safetensors") if b"postings" in path.read_bytes()]
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    remote = RemoteShard(Here(), [tmp_path / "part"])
    assert remote.ids.tolist() == [4, 7]
    assert remote.next_id == 8
    with pytest.raises(ValueError, match=r"damaged|changed"):
        remote.search([[1, 0, 0]], 1)
