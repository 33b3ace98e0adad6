"""``treewass shard``: the same answers from any number of parts, whatever happens meanwhile."""

import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.model.conftest import LABELS, TEXTS
from treewass import DocumentModel, ShardedIndex, TreeIndex
from treewass.cli import app as cli
from treewass.serve.applied_writes import NewDocument
from treewass.serve.live_model import LiveModel

runner = CliRunner()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("shard") / "model"
    model = DocumentModel(n_neighbors=3).fit(TEXTS * 3, LABELS * 3, keys=[f"k{n}" for n in range(3 * len(TEXTS))])
    model.remove([1])
    model.save(path)
    return path


@pytest.fixture
def folder(fitted, tmp_path):
    return shutil.copytree(fitted, tmp_path / "model")


def shard(folder, n_parts):
    result = runner.invoke(cli.app, ["shard", str(folder), "-n", str(n_parts)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def answers(model):
    queries = ["a cat", "the dog barks"]
    return (
        model.predict_proba(TEXTS).tolist(),
        [[(hit.id, hit.score, hit.distance, hit.key) for hit in hits] for hits in model.search(queries, k=7)],
        [(hit.id, hit.distance) for hit in model.similar(id=2, k=50)],
        model.index_.ids.tolist(),
    )


def test_a_model_answers_the_same_in_any_number_of_parts(folder, fitted):
    expected = answers(DocumentModel.load(fitted))
    for n_parts in (3, 100, 2, 1):
        said = shard(folder, n_parts)
        assert f"is in {n_parts} part" in said
        loaded = DocumentModel.load(folder)
        assert isinstance(loaded.index_, ShardedIndex if n_parts > 1 else TreeIndex)
        assert n_parts == 1 or len(loaded.index_.shards) == n_parts
        assert answers(loaded) == expected


def test_a_model_in_parts_goes_on(folder, fitted):
    shard(folder, 4)
    both = [DocumentModel.load(folder), DocumentModel.load(fitted)]
    for model in both:
        model.add(["a cat called Zebedee"], [LABELS[0]])
        model.remove([0, 5])
    assert answers(both[0]) == answers(both[1])
    for model in both:
        model.update(["a dog called Zebedee"], [LABELS[-1]])
    assert answers(both[0]) == answers(both[1])
    assert len(both[0].index_.shards) == 4
    both[0].save(folder)
    assert answers(DocumentModel.load(folder)) == answers(both[1])


def test_writes_of_a_service_are_in_the_parts(folder):
    with LiveModel(folder) as live:
        (number,), _ = live.add([NewDocument("a cat called Zebedee", LABELS[0])])
        shard(folder, 3)
        (later,), _ = live.add([NewDocument("a dog called Zebedee", LABELS[-1])])
        assert [number in live.current().index, later in live.current().index] == [True, True]
    loaded = DocumentModel.load(folder)
    assert len(loaded.index_.shards) == 3
    assert [hit.id for hit in loaded.search("zebedee")] == [number]
    with LiveModel(folder) as again:
        assert again.n_pending == 1
        assert later in again.current().index


def test_a_model_with_writes_in_a_database_is_refused(folder):
    (folder / "writes.elsewhere").touch()
    before = sorted(path.name for path in folder.iterdir())
    result = runner.invoke(cli.app, ["shard", str(folder), "-n", "2"])
    assert result.exit_code != 0
    assert "are in a database" in str(result.exception) + result.output
    assert sorted(path.name for path in folder.iterdir() if path.name != ".fold.lock") == before


def test_a_part_that_vanished_is_an_error(folder):
    shard(folder, 3)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    shutil.rmtree(folder / manifest["data"] / "index-2")
    with pytest.raises(ValueError, match=r"all 3 parts of the index in .*missing: index-2"):
        DocumentModel.load(folder)


_KILLED = """
import os, signal, sys
from pathlib import Path
from typer.testing import CliRunner
from treewass import DocumentModel
from treewass.cli.app import app
from treewass.model.model_folder import in_parts

folder, step = Path(sys.argv[1]), int(sys.argv[2])
loaded = DocumentModel.load(folder)
expected = loaded.similar(id=2, k=50)
in_parts(loaded.contents_, 2)  # compiled once, not by every child
outcomes, number, is_done = set(), 0, False
while not is_done:
    child = os.fork()
    if not child:
        left = number
        def count(event, details):
            global left
            writes = event == "open" and isinstance(details[2], int) and details[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(count)
        os._exit(CliRunner().invoke(app, ["shard", str(folder), "-n", "3"]).exit_code)
    status = os.waitpid(child, 0)[1]
    is_done = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    loaded = DocumentModel.load(folder)
    assert loaded.similar(id=2, k=50) == expected
    outcomes.add(len(getattr(loaded.index_, "shards", [0])))
    number += step
print(number // step, sorted(outcomes))
"""


def kill(folder, step):
    """Kill the command at every so many-th change of the disk, until it ends by itself."""
    command = [sys.executable, "-c", _KILLED, str(folder), str(step)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    count, outcomes = done.stdout.split(maxsplit=1)
    assert json.loads(outcomes) == [1, 3]
    return int(count)


def test_killed_at_some_moments_it_leaves_the_old_model_or_the_new_one(folder):
    assert kill(folder, 16) > 2


@pytest.mark.slow
def test_killed_at_every_moment_it_leaves_the_old_model_or_the_new_one(folder):
    assert kill(folder, 1) > 20
