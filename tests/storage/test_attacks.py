"""Attacks on the files of indexes and models: changed bytes, killed saves, a full disk.

CI runs few of each (mark ``slow``), ``pytest -m soak tests/storage/test_attacks.py -s`` all of them, with the figures.
"""

import json
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from tests.faults import full_disk
from tests.model.conftest import LABELS, TEXTS
from tests.search.test_index import random_metric
from treewass import DocumentModel, TreeIndex
from treewass.documents.synthetic import make_documents

FEW, MANY = pytest.mark.slow, pytest.mark.soak


def make_index(size):
    counts, _ = make_documents(size, n_words=60, words_per_document=6, random_state=0)
    index = TreeIndex(random_metric(60, seed=0, lengths=True, masses=True, n_trees=2))
    index.add(counts[: 3 * size // 4])
    index.add(counts[3 * size // 4 :])
    return index


def make_model(size):
    texts, labels = [f"{text} {number}" for number in range(2) for text in TEXTS], LABELS * 2
    return DocumentModel(n_neighbors=3).fit(texts[:size], labels[:size], titles=texts[:size])


def index_answers(folder):
    index, queries = TreeIndex.load(folder), make_documents(9, n_words=60, words_per_document=6, random_state=1)[0]
    found = [*index.search(queries, 5), *index.rank(queries, 5), *index.distances(queries[:1])]
    return [index.ids.tolist(), *(array.tolist() for array in found)]


def model_answers(folder):
    model, texts = DocumentModel.load(folder), ["my cat sleeps", "a dog and a puppy 1", "wheels of a car"]
    found = [(model.similar(text, 5), model.search(text, 5)) for text in texts]
    return [model.predict_proba(texts).tolist(), found, [model.document(number).text for number in range(10)]]


KINDS = {
    "index": (make_index, index_answers, (120, 160), "TreeIndex"),
    "model": (make_model, model_answers, (25, 30), "DocumentModel"),
}


def damaged(content, others, random):
    """Return other bytes than those of a file: what a disk, a copy or a program may do to it."""
    content, (one, other) = bytearray(content), sorted(random.integers(0, len(content) + 1, 2))
    match random.integers(0, 7):
        case 0:
            content[min(one, len(content) - 1)] ^= 1 << random.integers(0, 8)
        case 1:
            content[one:other] = random.bytes(other - one)
        case 2:
            content[one:other] = bytes(other - one)
        case 3:
            del content[one:]
        case 4:
            del content[one : min(other, one + 9)]
        case 5:
            content[one:one] = random.bytes(8)
        case 6:
            content = bytearray(others[random.integers(0, len(others))])
    return bytes(content)


@pytest.mark.parametrize("count", [pytest.param(60, marks=FEW), pytest.param(2000, marks=MANY)])
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_gives_other_answers(kind, count, tmp_path):
    make, answers, (size, _), _ = KINDS[kind]
    folder = tmp_path / kind
    make(size).save(folder)
    files = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    expected, random, outcomes = answers(folder), np.random.default_rng(0), Counter()
    paths = list(files)
    while outcomes.total() < count:
        path = paths[random.integers(0, len(paths))]
        content = damaged(files[path], list(files.values()), random)
        if content == files[path]:
            continue
        path.unlink()
        path.write_bytes(content)
        try:
            outcomes["the same answers" if answers(folder) == expected else f"other answers: {path.name}"] += 1
        except ValueError:
            outcomes["refused"] += 1
        except Exception as error:  # noqa: BLE001 (whatever else it is, is counted)
            outcomes[f"{path.name}: {error!r}"] += 1
        path.write_bytes(files[path])
    sys.stdout.write(f"\n{count} damaged files of the {kind}: {dict(outcomes)}\n")
    assert set(outcomes) <= {"refused", "the same answers"}
    assert outcomes["refused"] > count / 2


KILLING = """
import json, os, random, shutil, signal, sys, time
from treewass import DocumentModel, TreeIndex
kind, first, second, target, rounds, again = *sys.argv[1:5], int(sys.argv[5]), sys.argv[6] == "save"
load = {"TreeIndex": TreeIndex, "DocumentModel": DocumentModel}[kind].load
size_of = lambda held: len(held if kind == "TreeIndex" else held.index_)
held = [load(first), load(second)]
sizes = [size_of(one) for one in held]
held[0].save(target)
start = time.perf_counter()
held[1].save(target)
duration = time.perf_counter() - start
chance, counts = random.Random(0), dict.fromkeys(("first", "second", "none", "lost", "blocked", "left"), 0)
clean = len(list(os.scandir(target)))
for number in range(rounds):
    if not again:
        shutil.rmtree(target)
    child = os.fork()
    if not child:
        while True:
            for one in held if number % 2 else held[::-1]:
                one.save(target)
                if not again:
                    time.sleep(60)
    time.sleep(chance.uniform(0, 2.5 * duration if again else 1.1 * duration))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        found = size_of(load(target))
        counts["first" if found == sizes[0] else "second" if found == sizes[1] else "lost"] += 1
    except ValueError:
        counts["lost" if again else "none"] += 1
    if again and number % 2:
        continue  # the next save finds what two kills left
    try:
        held[number // 2 % 2].save(target)
        counts["blocked"] += size_of(load(target)) != sizes[number // 2 % 2]
        counts["left"] += len(list(os.scandir(target))) != clean
    except (OSError, ValueError):
        counts["blocked"] += 1
sys.stdout.write(json.dumps(counts))
"""


@pytest.mark.parametrize("count", [pytest.param(12, marks=FEW), pytest.param(100, marks=MANY)])
@pytest.mark.parametrize("save", ["save", "first save"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_save_loses_and_blocks_nothing(kind, save, count, tmp_path):
    make, _, sizes, name = KINDS[kind]
    for folder, size in zip("ab", sizes, strict=True):
        make(size).save(tmp_path / folder)
    folders = [str(tmp_path / folder) for folder in ("a", "b", "target")]
    command = [sys.executable, "-W", "ignore", "-c", KILLING, name, *folders, str(count), save]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    sys.stdout.write(f"\n{count} kills of the {save}, {kind}: {counts}\n")
    assert counts["lost"] == counts["blocked"] == counts["left"] == 0
    assert counts["first"] + counts["second"] + counts["none"] == count
    assert save == "save" or counts["none"]


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_at_every_step_of_a_save_leaves_what_was_there(kind, tmp_path):
    make, answers, sizes, _ = KINDS[kind]
    held = [make(size) for size in sizes]
    held[1].save(tmp_path / "second")
    second, outcomes = answers(tmp_path / "second"), Counter()
    with full_disk(tmp_path / "disk", 2**20) as disk:
        held[0].save(disk.path / "held")
        first = answers(disk.path / "held")
        for free in range(0, 2**19, disk.page):
            disk.leave(free)
            try:
                held[1].save(disk.path / "held")
                outcomes["saved"] += 1
            except OSError as error:
                outcomes["refused" if f"No space left on device: '{disk.path}" in str(error) else repr(error)] += 1
            assert answers(disk.path / "held") == (second if outcomes["saved"] else first)
            if outcomes["saved"]:
                break
        disk.leave(2**19)
        held[0].save(disk.path / "held")
        assert answers(disk.path / "held") == first
        shutil.rmtree(disk.path / "held")
        for free in range(0, 2**19, disk.page):  # a first save
            disk.leave(free)
            try:
                held[1].save(disk.path / "new")
                break
            except OSError:
                outcomes["first save refused"] += 1
        assert answers(disk.path / "new") == second
    sys.stdout.write(f"\nA full disk, {kind}, a page more free each time: {dict(outcomes)}\n")
    assert set(outcomes) == {"refused", "first save refused", "saved"}


@pytest.mark.soak
def test_a_full_disk_is_one_sentence_on_the_command_line(tmp_path):
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "data.jsonl").write_text("\n".join(rows))
    tool = [sys.executable, "-m", "treewass"]
    fit = [*tool, "fit", str(tmp_path / "data.jsonl"), "--test-size", "0", "-o"]
    subprocess.run([*fit, str(tmp_path / "model")], check=True, capture_output=True)
    with full_disk(tmp_path / "disk", 2**16) as disk:
        disk.leave(0)
        for command in ([*fit, disk.path / "model"], [*tool, "report", tmp_path / "model", "-o", disk.path / "r.html"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 1
            (line,) = done.stderr.splitlines()
            assert line.startswith("treewass: [Errno 28] No space left on device: '")
        keeping = {"NUMBA_CACHE_DIR": str(disk.path), "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run([*fit, tmp_path / "other"], env=keeping, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
