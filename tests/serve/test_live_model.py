import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serve.conftest import LABELS, TEXTS
from treewass import DocumentModel
from treewass.serve import LiveModel, NewDocument, fold_journal, journal_files, live_model
from treewass.serve.journal import DamagedJournalError, FailedDiskError, Journal, UncertainWriteError
from treewass.serve.journal_files import journal_path
from treewass.serve.live_model import KeyUsedError

CAT, DOG = NewDocument("a cat sleeps", "cat", "new"), NewDocument("a dog sleeps", "dog")


def contents(held):
    documents = held.documents
    return documents.ids.tolist(), documents.codes.tolist(), list(documents.texts), list(documents.titles)


def records(folder, base):
    journal = Journal(journal_path(folder, base))
    found, _ = journal.read(journal.start)
    journal.close()
    return found


@pytest.fixture
def worker(folder, live):
    with LiveModel(folder, base=live.base) as worker:
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


def test_a_key_adds_once_even_after_opening_and_folding(folder, live):
    assert live.add([CAT], key="one") == ([15], False)
    assert live.add([CAT], key="one") == ([15], True)
    live.close()
    again = LiveModel(folder)
    assert again.add([CAT], key="one") == ([15], True)
    again.close()
    assert fold_journal(folder) == 1
    folded = LiveModel(folder)
    assert folded.add([CAT], key="one") == ([15], True)
    with pytest.raises(KeyUsedError, match="for other documents"):
        folded.add([DOG], key="one")
    assert len(folded.current().index) == 16
    folded.close()


def test_folding_puts_writes_into_the_model(folder, live):
    live.add([CAT])
    live.remove([3])
    expected = contents(live.current())
    live.close()
    assert fold_journal(folder) == 2
    assert contents(DocumentModel.load(folder).contents_) == expected
    assert fold_journal(folder) == 0
    assert len(list(folder.glob("journal-*.log"))) == 1


@pytest.mark.parametrize("writes", [0, 2])
def test_folding_loads_the_model_once(folder, live, monkeypatch, writes):
    for _ in range(writes):
        live.add([CAT])
    live.close()
    loaded = []
    real = journal_files.load_contents
    monkeypatch.setattr(journal_files, "load_contents", lambda *a, **k: (loaded.append(a), real(*a, **k))[1])
    assert fold_journal(folder) == writes
    assert len(loaded) == 1


def test_a_write_that_comes_during_folding_is_not_acknowledged_and_lost(folder, live, monkeypatch):
    live.add([CAT])
    real, close, outcome = live_model.save_contents, os.close, []

    def write():
        try:
            outcome.append(live.add([DOG]))
        except OSError as error:
            outcome.append(type(error))

    writer = threading.Thread(target=write)

    def save(*arguments, **options):
        writer.start()
        saved = real(*arguments, **options)
        monkeypatch.setattr("os.close", lambda descriptor: (time.sleep(0.1), close(descriptor)))
        return saved

    monkeypatch.setattr(live_model, "save_contents", save)
    assert live.fold() == 1
    writer.join()
    assert outcome == [OSError]
    assert len(DocumentModel.load(folder).index_) == 16


def test_a_crash_after_saving_and_before_the_journal_is_dropped_doubles_nothing(folder, live, monkeypatch):
    live.add([CAT], key="one")
    live.close()

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("treewass.serve.live_model.journal_path", crash)
        with pytest.raises(KeyboardInterrupt):
            fold_journal(folder)
    again = LiveModel(folder)
    assert len(again.current().index) == 16
    assert again.add([CAT], key="one") == ([15], True)
    again.close()


def test_a_journal_of_a_model_that_was_replaced_is_not_dropped_in_silence(folder, live):
    live.add([CAT])
    live.close()
    (journal,) = folder.glob("journal-*.log")
    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(folder)
    with pytest.raises(ValueError, match="holds 1 writes to a model that has been replaced"):
        LiveModel(folder)
    journal.unlink()
    LiveModel(folder).close()


def test_a_model_that_was_replaced_while_it_was_served_is_not_overwritten(folder, live):
    live.add([CAT])
    DocumentModel(n_neighbors=3).fit(TEXTS[5:], LABELS[5:]).save(folder)
    with pytest.raises(ValueError, match="has been replaced meanwhile"):
        live.fold()
    assert len(DocumentModel.load(folder).index_) == 10
    assert [record.get("texts") for record in records(folder, live.base)] == [None, ["a cat sleeps"]]


def test_refused_writes_change_nothing(live):
    before = live.journal_bytes
    with pytest.raises(ValueError, match="labels that the model has learned"):
        live.add([CAT, NewDocument("a bird", "bird")])
    with pytest.raises(ValueError, match="Expected ids in the index"):
        live.remove([3, 99])
    assert live.journal_bytes == before
    assert len(live.current().index) == 15


def test_a_full_disk_changes_nothing(live, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with pytest.raises(OSError, match="No space left"):
            live.add([CAT], key="one")
    assert len(live.current().index) == 15
    assert live.add([CAT], key="one") == ([15], False)


def test_an_uncertain_write_is_not_acknowledged_before_the_service_is_started_again(folder, live, monkeypatch):
    def broken(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        patch.setattr("os.ftruncate", broken)
        with pytest.raises(UncertainWriteError):
            live.add([CAT], key="one")
    for action in (lambda: live.add([CAT], key="one"), lambda: live.remove([1]), live.current, live.fold):
        with pytest.raises(FailedDiskError):
            action()
    with LiveModel(folder) as again:
        assert again.add([CAT], key="one") == ([15], True)


def test_a_failed_flush_of_what_another_worker_wrote_is_not_forgotten(live, worker, monkeypatch):
    def broken(*_):
        raise OSError(5, "Input/output error")

    worker.add([CAT], key="one")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        with pytest.raises(FailedDiskError):
            live.current()
    with pytest.raises(FailedDiskError):
        live.add([CAT], key="one")


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_journal_without_its_first_record_is_not_served(folder, live, is_cut, is_replaced):
    """Neither that of the model nor that of a model which it has replaced."""
    live.close()
    (journal,) = folder.glob("journal-*.log")
    content = bytearray(journal.read_bytes())
    content[Journal.start + 20] ^= 1
    journal.write_bytes(content[: Journal.start] if is_cut else content)
    if is_replaced:
        DocumentModel.load(folder).save(folder)
    with pytest.raises(DamagedJournalError, match=f"first record of {journal.name}"):
        LiveModel(folder)
    assert journal.exists()


def test_nothing_is_written_to_a_journal_that_nobody_will_find(folder, live):
    live.add([CAT])
    (journal,) = folder.glob("journal-*.log")
    copy = journal.read_bytes()
    journal.unlink()
    journal.write_bytes(copy)
    for action in (lambda: live.add([DOG]), lambda: live.remove([1])):
        with pytest.raises(OSError, match="the journal was removed or replaced"):
            action()
    assert len(live.current().index) == 16


def test_a_journal_that_was_removed_is_folded_all_the_same(folder, live):
    live.add([CAT])
    journal_path(folder, live.base).unlink()
    assert live.fold() == 1
    assert len(DocumentModel.load(folder).index_) == 16


def test_a_model_that_is_served_is_neither_folded_nor_opened_again(folder, live):
    live.add([CAT])
    for action in (fold_journal, LiveModel):
        with pytest.raises(ValueError, match="Another service runs on the model"):
            action(folder)
    live.add([DOG])
    live.close()
    assert fold_journal(folder) == 2


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


def test_a_worker_leaves_the_journal_alone_when_the_model_was_replaced(folder, live):
    DocumentModel.load(folder).save(folder)
    with pytest.raises(ValueError, match="has been replaced since"):
        LiveModel(folder, base=live.base)
    live.add([CAT])
    assert [path.name for path in folder.glob("journal-*.log")] == [journal_path(folder, live.base).name]
    assert records(folder, live.base)[1]["texts"] == ["a cat sleeps"]


def test_a_worker_makes_no_journal_and_folds_none(folder, live, worker):
    with pytest.raises(ValueError, match="one of its workers"):
        worker.fold()
    journal_path(folder, live.base).unlink()
    with pytest.raises(FileNotFoundError):
        LiveModel(folder, base=live.base)
    assert not list(folder.glob("journal-*.log"))


def test_processes_follow_each_other(live, worker):
    one, other = live, worker
    assert one.add([CAT], key="one") == ([15], False)
    assert other.current().index.ids[-1] == 15
    assert other.add([CAT], key="one") == ([15], True)
    assert other.add([DOG]) == ([16], False)
    one.remove([16])
    assert contents(one.current()) == contents(other.current())


def test_a_follower_cuts_off_what_a_killed_process_left(folder, live, worker):
    one, other = live, worker
    one.add([CAT])
    (journal,) = folder.glob("journal-*.log")
    with journal.open("ab") as file:
        file.write(b"\xffTWR part of a record")
    assert len(other.current().index) == 16
    assert other.add([DOG])[0] == [16]
    assert len(one.current().index) == 17


def test_what_a_killed_worker_wrote_is_on_the_disk_before_it_is_acknowledged(live, worker, monkeypatch):
    """A worker is killed after a record was written and before it was flushed; its client asks another worker."""

    def killed(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", killed)
        with pytest.raises(KeyboardInterrupt):
            worker.add([CAT], key="one")
        with pytest.raises(KeyboardInterrupt):
            live.add([CAT], key="one")
        with pytest.raises(KeyboardInterrupt):
            live.current()
    flushed = []
    real = os.fsync
    monkeypatch.setattr("os.fsync", lambda descriptor: (real(descriptor), flushed.append(descriptor)))
    assert live.add([CAT], key="one") == ([15], True)
    assert len(flushed) == 1


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
def test_any_sequence_ends_as_a_model_without_a_journal_would(fitted, tmp_path_factory, steps):
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
