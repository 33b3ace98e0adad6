import re
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serve.conftest import LABELS, TEXTS
from treewass import DocumentModel
from treewass.serve import LiveModel, NewDocument, backup_model, fold_writes, live_model
from treewass.serve.applied_writes import KeyUsedError, UnknownDocumentError

CAT, DOG = NewDocument("a cat sleeps", "cat", "new"), NewDocument("a dog sleeps", "dog")


def contents(held):
    documents = held.documents
    return documents.ids.tolist(), documents.codes.tolist(), list(documents.texts), list(documents.titles)


@pytest.fixture
def worker(folder, live):
    with LiveModel(folder) as worker:
        yield worker


def test_writes_are_there_after_opening_again(folder, live):
    assert live.add([CAT, DOG]) == ([15, 16], False)
    live.remove([0, 15])
    assert live.add([DOG]) == ([17], False)
    expected = contents(live.current())
    live.close()
    again = LiveModel(folder)
    assert contents(again.current()) == expected
    assert again.current().index.ids.tolist() == [*range(1, 15), 16, 17]
    again.close()


def test_words_are_shown_alike_by_whoever_wrote_them_and_after_opening_again(folder, live):
    for text in (
        "a resume of a cat",
        "résumé résumé of a cat",
    ):  # one by one here, both at once when they are read again
        live.add([NewDocument(text, LABELS[0])])
    with LiveModel(folder) as again:
        assert again.current().counter.names == live.current().counter.names


def test_a_key_adds_once_even_after_opening_and_folding(folder, live):
    assert live.add([CAT], key="one") == ([15], False)
    assert live.add([CAT], key="one") == ([15], True)
    live.close()
    again = LiveModel(folder)
    assert again.add([CAT], key="one") == ([15], True)
    again.close()
    assert fold_writes(folder) == 1
    folded = LiveModel(folder)
    assert folded.add([CAT], key="one") == ([15], True)
    with pytest.raises(KeyUsedError, match="for another request"):
        folded.add([DOG], key="one")
    assert len(folded.current().index) == 16
    folded.close()


def test_a_removal_with_a_key_can_be_repeated_and_another_request_cannot_have_it(live, worker):
    assert live.remove([3], key="one") is False
    assert worker.remove([3], key="one") is True
    with pytest.raises(UnknownDocumentError):
        worker.remove([3])
    with pytest.raises(KeyUsedError):
        worker.add([CAT], key="one")


def test_folding_puts_writes_into_the_model_while_others_go_on(folder, live, worker):
    live.add([CAT])
    worker.remove([3])
    expected = contents(live.current())
    held = worker.current()
    assert fold_writes(folder) == 2
    assert contents(DocumentModel.load(folder).contents_) == expected
    assert worker.current() is held  # nothing was loaded again
    assert (worker.n_pending, live.fold()) == (0, 0)
    assert worker.add([DOG]) == ([16], False)
    assert len(live.current().index) == 16
    assert live.fold() == 1


def test_a_write_that_comes_during_folding_waits_for_nothing_and_is_there_after_it(folder, live, monkeypatch):
    live.add([CAT])
    real = live_model.save_contents

    def save(*arguments, **options):
        live.add([DOG])
        return real(*arguments, **options)

    monkeypatch.setattr(live_model, "save_contents", save)
    assert live.fold() == 1
    assert len(DocumentModel.load(folder).index_) == 16
    live.close()
    with LiveModel(folder) as again:
        assert (len(again.current().index), again.n_pending) == (17, 1)


def test_nobody_writes_while_the_log_is_emptied_on_the_same_connection(live, monkeypatch):
    live.add([NewDocument("a cat", "cat")])
    could_write, truncate = [], live._writes.truncate

    def look():
        with ThreadPoolExecutor(1) as other:
            could_write.append(other.submit(live._changing.acquire, blocking=False).result())
        truncate()

    monkeypatch.setattr(live._writes, "truncate", look)
    assert live.fold() == 1
    assert could_write == [False]


def test_a_crash_after_saving_and_before_the_writes_are_dropped_doubles_nothing(folder, live, worker, monkeypatch):
    live.add([CAT], key="one")

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(live._writes, "begin", crash)
        with pytest.raises(KeyboardInterrupt):
            live.fold()
    for model in (live, worker, LiveModel(folder)):
        assert model.add([CAT], key="one") == ([15], True)
        assert (len(model.current().index), model.n_pending) == (16, 0)
        model.close()


def test_a_worker_that_missed_writes_before_they_were_folded_sees_them(folder, live, worker):
    live.add([CAT])
    live.fold()
    live.add([DOG])
    assert contents(worker.current()) == contents(live.current())
    assert worker.n_pending == 1


def test_another_model_takes_the_place_of_the_one_served_and_of_its_writes(folder, live, worker, caplog):
    live.add([CAT])
    DocumentModel(n_neighbors=3).fit(TEXTS[5:], LABELS[5:], titles=["t"] * 10).save(folder)
    assert len(live.current().index) == 16
    assert worker.add([DOG]) == ([10], False)
    assert len(live.current().index) == 16  # until it follows
    live.follow()
    assert len(live.current().index) == 11
    assert "1 writes to the model" in caplog.text
    (kept,) = folder.glob("replaced-writes-*.jsonl")
    assert '"texts": ["a cat sleeps"]' in kept.read_text()
    assert live.fold() == 1
    assert len(DocumentModel.load(folder).index_) == 11


def test_a_model_made_from_a_fold_is_followed_by_the_writes_since(folder, live):
    live.add([CAT])
    live.fold()
    derived = DocumentModel.load(folder)
    live.add([DOG], key="one")
    derived.save(folder)
    live.follow()
    assert len(live.current().index) == 17
    with LiveModel(folder) as again:
        assert again.add([DOG], key="one") == ([16], True)
        assert not list(folder.glob("replaced-writes-*"))


def test_a_model_that_was_replaced_while_it_was_folded_is_not_overwritten(folder, live, monkeypatch):
    live.add([CAT])
    real = live_model.save_contents

    def save(*arguments, **options):
        DocumentModel(n_neighbors=3).fit(TEXTS[5:], LABELS[5:]).save(folder)
        return real(*arguments, **options)

    monkeypatch.setattr(live_model, "save_contents", save)
    with pytest.raises(ValueError, match="has been replaced meanwhile"):
        live.fold()
    assert len(DocumentModel.load(folder).index_) == 10
    assert live.n_pending == 1


def test_a_backup_of_a_model_that_is_served_is_a_model_with_its_writes(folder, live, tmp_path):
    live.add([CAT])
    live.fold()
    live.remove([3])
    assert backup_model(folder, tmp_path / "copy") == 15
    loaded = DocumentModel.load(tmp_path / "copy").contents_
    assert contents(loaded) == contents(live.current())
    assert all(segment.held.all() for segment in loaded.index._snapshot.segments)  # nothing is left of document 3
    with pytest.raises(ValueError, match="another folder"):
        backup_model(folder, folder)
    with LiveModel(tmp_path / "copy") as copy:
        assert copy.add([CAT]) == ([16], False)


def test_nothing_is_written_to_a_file_that_nobody_will_find(folder, live):
    live.add([CAT])
    (folder / "writes.sqlite").rename(folder / "moved")
    for action in (lambda: live.add([DOG]), lambda: live.remove([1])):
        with pytest.raises(OSError, match=r"No such file|removed or replaced"):
            action()
    assert len(live.current().index) == 16
    (folder / "moved").rename(folder / "writes.sqlite")
    live.add([DOG])


def test_removed_texts_are_in_no_file_after_a_fold(folder, live):
    live.add([NewDocument("a secret xyzzy", "cat", "plugh")])
    live.remove([15, 3])
    live.fold()
    live.close()
    segments = DocumentModel.load(folder).index_._snapshot.segments
    assert [segment.n_held for segment in segments] == [segment.ids.size for segment in segments]
    for path in folder.rglob("*"):
        assert path.is_dir() or not re.search(b"secret xyzzy|plugh", path.read_bytes()), path


def test_refused_writes_change_nothing(live):
    before = live.n_pending
    with pytest.raises(ValueError, match="labels that the model has learned"):
        live.add([CAT, NewDocument("a bird", "bird")])
    with pytest.raises(ValueError, match="No document in the model has id 99"):
        live.remove([3, 99])
    assert live.n_pending == before
    assert len(live.current().index) == 15


def test_the_lock_is_given_back_when_opening_fails(folder):
    (folder / "manifest.json").rename(folder / "moved.json")
    with pytest.raises(ValueError, match="it has no manifest"):
        LiveModel(folder)
    (folder / "moved.json").rename(folder / "manifest.json")
    LiveModel(folder).close()


def test_a_folder_without_a_model_is_left_as_it_is(fitted, tmp_path):
    with pytest.raises(ValueError, match="it has no manifest"):
        LiveModel(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="there is none at"):
        LiveModel(tmp_path / "nothing")
    fitted.save(tmp_path)
    LiveModel(tmp_path).close()


def test_a_folder_that_was_removed_is_not_made_again(folder, live, fitted):
    shutil.rmtree(folder)
    with pytest.raises((ValueError, OSError)):
        live.follow()
    with pytest.raises((ValueError, OSError)):
        live.fold()
    assert not folder.exists()
    fitted.save(folder)


def test_processes_follow_each_other(live, worker):
    one, other = live, worker
    assert one.add([CAT], key="one") == ([15], False)
    assert other.current().index.ids[-1] == 15
    assert other.add([CAT], key="one") == ([15], True)
    assert other.add([DOG]) == ([16], False)
    one.remove([16])
    assert contents(one.current()) == contents(other.current())


def test_every_reader_waits_for_the_writes_of_others_that_one_has_noticed(live, worker):
    live.add([CAT])
    found = []
    readers = [threading.Thread(target=lambda: found.append(worker.current().index.ids[-1])) for _ in range(2)]
    with worker._changing:  # as a write of its own would hold it
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(0.2)
    for reader in readers:
        reader.join()
    assert found == [15, 15]


def test_readers_see_whole_writes_and_their_own(live, worker):
    """Pairs are added and removed together: whoever reads meanwhile sees both or neither."""
    one, other = live, worker
    acknowledged, problems = [0], []
    done = threading.Event()

    def read(model):
        while not done.is_set():
            least = acknowledged[0]
            found = model.current().index.ids
            if (
                found.size % 2 == 0
                or found[-1] < least
                or not np.array_equal(found, model.current().documents.ids[: found.size])
            ):
                problems.append(found)

    threads = [threading.Thread(target=read, args=(model,)) for model in (one, other)]
    for thread in threads:
        thread.start()
    for number in range(30):
        acknowledged[0] = (one, other)[number % 2].add([CAT, DOG])[0][-1]
    done.set()
    for thread in threads:
        thread.join()
    assert not problems


@settings(max_examples=6)
@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "open", "fold"]), st.integers(0, 30)), max_size=8))
def test_any_sequence_ends_as_a_model_without_writes_in_a_file_would(fitted, tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("any") / "model"
    fitted.save(folder)
    expected = DocumentModel.load(folder)
    live = LiveModel(folder)
    for step, number in steps:
        held = expected.index_.ids
        if step == "add":
            texts = [TEXTS[number % 15], TEXTS[(number * 7) % 15]]
            labels = [LABELS[number % 15]] * 2
            ids = live.add([NewDocument(text, label, "t") for text, label in zip(texts, labels, strict=True)])[0]
            assert ids == expected.add(texts, labels, titles=["t", "t"]).tolist()
        elif step == "remove" and held.size > 4:
            live.remove([int(held[number % held.size])])
            expected.remove([held[number % held.size]])
        elif step in ("open", "fold"):
            if step == "fold":
                live.fold()
            live.close()
            live = LiveModel(folder)
    assert contents(live.current()) == contents(expected.contents_)
    query = live.current().counter.count(["a cat and a dog on the road"])
    for mine, theirs in zip(live.current().index.search(query, 30), expected.index_.search(query, 30), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    live.close()


def test_a_model_that_can_only_be_read_is_loaded_once_and_takes_writes_when_it_can(folder, monkeypatch, caplog):
    def refuse(_):
        error = sqlite3.OperationalError("attempt to write a readonly database")
        error.sqlite_errorcode = sqlite3.SQLITE_READONLY
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("treewass.serve.writes._connected", refuse)
        live = LiveModel(folder)
        held = live.current()
        live.follow()
        with pytest.raises(OSError, match="cannot be opened or written"):
            live.add([NewDocument("a cat sleeps", "cat")])
        live.follow()
        assert live.current() is held
        assert caplog.text.count("nothing can be written") == 1
        DocumentModel.load(folder).save(folder)
        live.follow()
        assert live.current() is not held
    with live:
        assert live.add([NewDocument("a cat sleeps", "cat")]) == ([15], False)
        assert len(live.current().index) == 16
