import json
from itertools import permutations

import numpy as np
import pytest

from treewass import DocumentModel
from treewass.documents.partitions import Partition, find_partitions
from treewass.documents.row_checks import Document
from treewass.documents.samples import Sampling, document_hash
from treewass.learners.profile.class_counts import ClassCounting
from treewass.model import WordCounter
from treewass.model.partition_notes import PartitionNotes, note_documents, remove_notes
from treewass.model.partitioned import PartitionSettings, fit_partitions, index_partitions
from treewass.model.partitioned_labels import predict_partitions

QUERIES = ["a b c", "e f i j", "nothing known", ""]


def corpus(n_documents=60):
    random = np.random.RandomState(5)
    texts, labels = [], []
    for number in range(n_documents):
        own = "abcd" if number % 3 else "efgh"
        texts.append(" ".join([*random.choice(list(own), 4), *random.choice(list("ijklmnop"), 3)]))
        labels.append("x" if number % 3 else "y")
    return texts, labels


def write_parts(folder, texts, labels, n_parts, order=None):
    """Write documents to files, as many in each, and return their paths in an order."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(texts)), n_parts)):
        paths.append(folder / f"part-{number}.jsonl")
        lines = [json.dumps({"text": texts[row], "label": labels[row], "id": f"doc {row}"}) for row in rows]
        paths[-1].write_text("\n".join(lines), encoding="utf-8")
    return paths if order is None else [paths[number] for number in order]


def fitted(folder, paths, *, model=None, key=None, keep=True, **settings):
    model = model or DocumentModel(n_neighbors=5, keep_texts=keep)
    place = folder / f"work-{len(list(folder.iterdir()))}"
    place.mkdir()
    partitions = find_partitions(paths, key=key)
    model.contents_ = fit_partitions(model, partitions, place, settings=PartitionSettings(**settings))
    return model


def assert_same_learning(first, second):
    assert first.words_ == second.words_
    assert first.metric_.digest == second.metric_.digest
    assert np.array_equal(first.metric_.masses, second.metric_.masses)
    assert np.array_equal(first.classes_, second.classes_)


@pytest.fixture(scope="module")
def in_memory():
    return DocumentModel(n_neighbors=5).fit(*corpus())


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning")
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_the_model_of_files_is_that_of_all_texts_in_memory(tmp_path, in_memory, n_parts):
    texts, labels = corpus()
    paths = write_parts(tmp_path, texts, labels, n_parts)
    model = fitted(tmp_path, paths, key="id", shard_size=20)
    assert_same_learning(model, in_memory)
    assert len(model.index_.shards) == {1: 3, 2: 4, 7: 4}[n_parts]
    assert np.array_equal(model.predict_proba(QUERIES), in_memory.predict_proba(QUERIES))
    expected = [(hit.id, hit.text, hit.label, hit.distance) for hit in in_memory.similar("a b e", k=9)]
    assert [(hit.id, hit.text, hit.label, hit.distance) for hit in model.similar("a b e", k=9)] == expected
    assert model.document(key="doc 31").text == texts[31]
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(QUERIES), in_memory.predict_proba(QUERIES))
    assert list(loaded.contents_.documents.texts) == texts


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_words_and_metric_do_not_depend_on_the_order_of_files(tmp_path, in_memory, order):
    paths = write_parts(tmp_path, *corpus(), 3, order)
    assert_same_learning(fitted(tmp_path, paths), in_memory)


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning")
def test_a_sample_gives_the_same_model_for_any_division_and_order(tmp_path, monkeypatch):
    monkeypatch.setattr("treewass.model.partitioned._FEWEST", 10)
    texts, labels = corpus()
    texts, labels = [*texts, *texts[:9]], [*labels, *labels[:9]]  # some come twice
    models = []
    for n_parts, order in ((1, None), (2, [1, 0]), (7, [3, 6, 0, 2, 5, 1, 4])):
        folder = tmp_path / str(n_parts)
        models.append(fitted(folder, write_parts(folder, texts, labels, n_parts, order), sample_size=40))
    for model in models[1:]:
        assert_same_learning(model, models[0])
        assert model.contents_.history == models[0].contents_.history
        assert np.array_equal(model.predict_proba(QUERIES), models[0].predict_proba(QUERIES))
    assert len(models[0].index_) == len(texts)
    assert models[0].metric_.digest != DocumentModel(n_neighbors=5).fit(texts, labels).metric_.digest


def test_each_file_is_read_once_and_no_notes_are_left(tmp_path, in_memory, monkeypatch):
    read, documents = [], Partition.documents

    def noting(partition, remarks=None):
        read.append(partition.address)
        return documents(partition, remarks)

    monkeypatch.setattr(Partition, "documents", noting)
    paths = write_parts(tmp_path, *corpus(), 3)
    model = fitted(tmp_path, paths, shard_size=20)
    assert_same_learning(model, in_memory)
    assert read == [str(path) for path in paths]
    (work,) = tmp_path.glob("work-*")
    assert sorted(path.name for path in work.iterdir()) == ["learned", "shard-0-0", "shard-1-0", "shard-2-0", "texts"]


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_noted_documents_are_counted_as_their_texts_are(tmp_path, monkeypatch, block):
    monkeypatch.setattr("treewass.model.partition_notes._BLOCK", block)
    texts, labels = [*corpus(20)[0], "", "Naïve e e", "東京都 x"], [*corpus(20)[1], "x", "z", "y"]
    documents = [
        Document("row", text, label, title="A title" if row == 5 else None, key=f"doc {row}")
        for row, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    counting = ClassCounting(WordCounter().tokens)
    assert note_documents(documents, tmp_path, 3, counting, Sampling(2000)) == len(texts) == 23
    notes = PartitionNotes.load(tmp_path, 3)
    counter = WordCounter(words=["e", "naive", "never", "a", "京都"])
    counted = notes.counts(2, 23, notes.columns(counter.columns), 5)
    assert np.array_equal(counted.toarray(), counter.count(texts[2:]).toarray())
    assert list(notes.texts) == texts
    assert list(notes.keys) == [f"doc {row}" for row in range(23)]
    assert list(notes.titles) == [""] * 5 + ["A title"] + [""] * 17
    assert [notes.classes[code] for code in notes.codes] == labels
    assert notes.hashes.tolist() == [document_hash(*one) for one in zip(texts, labels, strict=True)]
    remove_notes(tmp_path, [3])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shard_size", [1, 7, 20, 59, 60, 1000])
def test_shards_have_the_size_asked_for(tmp_path, in_memory, shard_size):
    model = fitted(tmp_path, write_parts(tmp_path, *corpus(), 3), shard_size=shard_size, keep=False)
    sizes = [len(shard) for shard in model.index_.shards]
    expected = {1: [1] * 60, 7: [7, 7, 6] * 3, 20: [20] * 3, 59: [40, 20], 60: [60], 1000: [60]}
    assert sizes == expected[shard_size]
    assert model.index_.ids.tolist() == list(range(60))
    assert model.contents_.documents.texts is None
    queries = in_memory.contents_.count(corpus()[0])
    for found, wanted in zip(model.index_.search(queries, 9), in_memory.index_.search(queries, 9), strict=True):
        assert np.array_equal(found, wanted)


def test_rare_words_are_left_out_by_their_total(tmp_path):
    texts, labels = corpus()
    model = fitted(
        tmp_path,
        write_parts(tmp_path, [f"{text} rare{n // 2}" for n, text in enumerate(texts)], labels, 7),
        max_words=20,
    )
    assert model.words_ == tuple("abcdefghijklmnop")


def test_files_are_indexed_under_the_metric_of_a_model(tmp_path, in_memory):
    in_memory.save(tmp_path / "model")
    texts, labels = corpus(90)
    paths = write_parts(tmp_path, texts, labels, 2)
    work = tmp_path / "work"
    work.mkdir()
    index = index_partitions(tmp_path / "model", find_partitions(paths, label=None), work, shard_size=40)
    whole = DocumentModel.load(tmp_path / "model").index_.__class__(in_memory.metric_)
    whole.add(in_memory.contents_.count(texts))
    queries = in_memory.contents_.count(texts[:20])
    for found, expected in zip(index.search(queries, 7), whole.search(queries, 7), strict=True):
        assert np.array_equal(found, expected)


def test_labels_of_files_are_those_of_the_model(tmp_path, in_memory):
    import pyarrow.parquet as parquet

    in_memory.save(tmp_path / "model")
    texts, labels = corpus(90)
    texts[7] = "unheard of"
    paths = write_parts(tmp_path, texts, labels, 2)
    partitions = find_partitions(paths, key="id", part=None)
    scored = predict_partitions(tmp_path / "model", partitions, str(tmp_path / "out"))
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == ["part-00000.parquet", "part-00001.parquet"]
    table = [row for file in files for row in parquet.read_table(file).to_pylist()]
    with pytest.warns(match="1 document"):
        probabilities = in_memory.predict_proba(texts)
    predicted = in_memory.classes_[probabilities.argmax(axis=1)]
    assert [row["id"] for row in table] == [f"doc {row}" for row in range(90)]
    assert [row["label"] for row in table] == predicted.tolist()
    assert [row["probability"] for row in table] == probabilities.max(axis=1).tolist()
    assert scored == (90, 1, int((predicted != np.array(labels)).sum()))


def test_what_is_found_out_about_files_is_said_once(tmp_path, in_memory):
    in_memory.save(tmp_path / "model")
    paths = [tmp_path / f"{name}.csv" for name in "ab"]
    for path in paths:
        path.write_text("id;text\n1;some words\n", encoding="utf-8")
    said = []
    partitions = find_partitions(paths, label=None)
    predict_partitions(tmp_path / "model", partitions, str(tmp_path / "out"), report=said.append)
    (sentence,) = said
    assert sentence.startswith(f"2 files, such as {paths[0]}: semicolons separate the columns")


def test_labels_go_to_an_object_store(tmp_path, in_memory):
    import fsspec

    in_memory.save(tmp_path / "model")
    paths = write_parts(tmp_path, *corpus(), 2)
    store = fsspec.filesystem("memory")
    try:
        scored = predict_partitions(tmp_path / "model", find_partitions(paths, label=None), "memory://bucket/out")
        assert sorted(store.ls("/bucket/out", detail=False)) == [f"/bucket/out/part-0000{n}.parquet" for n in (0, 1)]
        assert scored.n_wrong is None
    finally:
        store.rm("/bucket", recursive=True)


def test_what_needs_all_texts_at_once_is_refused(tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer

    paths = write_parts(tmp_path, *corpus(), 1)
    for model, message in (
        (DocumentModel(metric="stw"), 'Expected the metric "profile"'),
        (DocumentModel(vectorizer=TfidfVectorizer()), "counts single words"),
        (DocumentModel(word_vectors="minilm"), "no word_vectors"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(tmp_path, paths, model=model)
    with pytest.raises(ValueError, match="sample_size of at least 2000, got 100"):
        PartitionSettings(sample_size=100)


def test_one_label_and_no_documents_are_refused(tmp_path):
    texts, _ = corpus()
    with pytest.raises(ValueError, match="at least two different labels"):
        fitted(tmp_path, write_parts(tmp_path, texts, ["x"] * len(texts), 2))
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(ValueError, match=r"Expected documents, but .*empty.jsonl"):
        fitted(tmp_path, [empty])


def test_keys_that_come_again_in_another_file_are_refused(tmp_path):
    paths = write_parts(tmp_path, *corpus(), 2)
    paths[1].write_bytes(paths[0].read_bytes())
    with pytest.raises(ValueError, match=r"some files have the same: '[^']+'(, '[^']+'){4} and 25 more\. Name"):
        fitted(tmp_path, paths, key="id")


@pytest.mark.parametrize("places", [(0,), (0, 1), (2,), (1, 3)])
def test_files_without_documents_change_nothing(tmp_path, in_memory, places):
    texts, labels = corpus()
    paths = write_parts(tmp_path, texts, labels, 2)
    for place in places:
        paths.insert(place, tmp_path / f"empty-{place}.jsonl")
        paths[place].write_text("")
    model = fitted(tmp_path, paths, shard_size=20)
    assert_same_learning(model, in_memory)
    assert list(model.contents_.documents.texts) == texts
    work = tmp_path / "index"
    work.mkdir()
    in_memory.save(tmp_path / "model")
    assert len(index_partitions(tmp_path / "model", find_partitions(paths, label=None), work)) == len(texts)


def test_what_was_found_out_about_files_is_reported_once_for_all(tmp_path):
    texts, labels = corpus()
    paths = []
    for number in range(3):
        rows = [f"{text} café;{label}\n" for text, label in zip(texts[number::3], labels[number::3], strict=True)]
        paths.append(tmp_path / f"{number}.csv")
        paths[-1].write_text("text;label\n" + "".join(rows), encoding="cp1252" if number else "utf-8")
    found = []
    model, place = DocumentModel(n_neighbors=5), tmp_path / "work"
    place.mkdir()
    fit_partitions(model, find_partitions(paths), place, report=found.append)
    encoding, separator = sorted(found)
    assert encoding.startswith(f"2 files, such as {paths[1]}: read as cp1252")
    assert separator.startswith(f"3 files, such as {paths[0]}: semicolons separate the columns")


def test_a_model_without_labels_is_refused_before_files_are_read(tmp_path):
    DocumentModel().fit(corpus()[0]).save(tmp_path / "model")
    paths = write_parts(tmp_path, *corpus(), 1)
    with pytest.raises(ValueError, match="learned from labels"):
        predict_partitions(
            tmp_path / "model", find_partitions(paths, label=None), str(tmp_path / "out"), engine=lambda *_, **__: 1 / 0
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("key", ["label", "probability"])
def test_keys_of_the_name_of_a_column_written_are_refused(tmp_path, in_memory, key):
    in_memory.save(tmp_path / "model")
    paths = write_parts(tmp_path, *corpus(), 1)
    with pytest.raises(ValueError, match=f"another column than label and probability.*got '{key}'"):
        predict_partitions(tmp_path / "model", find_partitions(paths, label=None, key=key), str(tmp_path / "out"))


@pytest.mark.parametrize("out", ["{}/out", "memory://bucket/longer"])
def test_parts_of_a_longer_run_are_neither_kept_nor_removed_but_refused(tmp_path, in_memory, out):
    import fsspec

    in_memory.save(tmp_path / "model")
    out, partitions = out.format(tmp_path), find_partitions(write_parts(tmp_path, *corpus(), 3), label=None)
    try:
        for _ in range(2):  # the same parts are replaced
            predict_partitions(tmp_path / "model", partitions, out)
        with pytest.raises(ValueError, match=r"holds 1 more of another run, such as part-00002.parquet. Remove them"):
            predict_partitions(tmp_path / "model", partitions[:2], out)
        system, folder = fsspec.url_to_fs(out)
        assert len(system.ls(folder)) == 3
    finally:
        if out.startswith("memory:"):
            fsspec.filesystem("memory").rm("/bucket", recursive=True)
