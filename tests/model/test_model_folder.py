import json
import shutil
import sys
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import treewass
from tests.faults import files_of_at_most
from treewass import DocumentModel
from treewass.model import model_folder
from treewass.storage import folders
from treewass.storage.manifests import describe_file, manifest_hash

from .conftest import LABELS, TEXTS

STORED = Path(__file__).parent / "stored"
QUERIES = ["my cat sleeps", "a dog and a puppy", "wheels of a car"]


def data_folder(folder):
    return folder / json.loads((folder / "manifest.json").read_text("utf-8"))["data"]


def every_file(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "README.md")


def seal(path, **changes):
    """Write a manifest whose hash fits again."""
    manifest = {**json.loads(path.read_text("utf-8")), **changes}
    manifest["sha256"] = manifest_hash(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def reseal(folder):
    """Make all hashes of a model fit its files again, as one who means harm would."""
    data = data_folder(folder)
    index = json.loads((data / "index-0" / "manifest.json").read_text("utf-8"))
    for old in list(index["files"]):
        described = describe_file(data / "index-0" / old)
        name = f"{described['sha256'][:32]}.safetensors"
        (data / "index-0" / old).rename(data / "index-0" / name)
        index["files"][name] = index["files"].pop(old) and described
        index["metric"] = name if index["metric"] == old else index["metric"]
        for segment in index["segments"]:
            segment["file"] = name if segment["file"] == old else segment["file"]
    (data / "index-0" / "manifest.json").write_text(json.dumps(index), encoding="utf-8")
    seal(data / "index-0" / "manifest.json")
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    seal(folder / "manifest.json", files={name: describe_file(data / name) for name in listed})


def test_models_come_back_whole(fitted, folder):
    loaded = DocumentModel.load(folder)
    assert loaded.metric_ == fitted.metric_
    assert loaded.words_ == fitted.words_
    assert loaded.contents_.classes == fitted.contents_.classes
    assert loaded.contents_.about == fitted.contents_.about
    assert loaded.contents_.history == fitted.contents_.history
    assert loaded.contents_.metric_settings == fitted.contents_.metric_settings
    assert list(loaded.contents_.documents.texts) == TEXTS
    np.testing.assert_array_equal(loaded.predict_proba(QUERIES), fitted.predict_proba(QUERIES))
    assert loaded.similar("a cat", 9) == fitted.similar("a cat", 9)
    loaded.save(folder)  # onto the files that it is mapped from
    assert DocumentModel.load(folder).similar("a cat", 9) == fitted.similar("a cat", 9)
    assert len(list(folder.glob("data-*"))) == 1


def test_other_users_can_read_the_files(folder, tmp_path):
    (tmp_path / "plain").write_text("as every new file")
    expected = (tmp_path / "plain").stat().st_mode
    assert {path.stat().st_mode for path in every_file(folder)} == {expected}


def test_texts_of_all_kinds_come_back(tmp_path):
    texts = ["", "naïve 🐈 \x00 \u2028 line", "日本語 テキスト", "a\r\nb\tc", "</script>" * 3, *TEXTS]
    model = DocumentModel(n_neighbors=1)
    with pytest.warns(treewass.EmptyDocumentWarning):
        model.fit(texts, ["x"] * 5 + LABELS, titles=[""] * 4 + ["ti\ntle"] * 16)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert list(loaded.contents_.documents.texts) == texts
    assert loaded.document(4).title == "ti\ntle"
    assert loaded.document(0).title is None


def test_any_flipped_byte_is_found(folder):
    random = np.random.default_rng(0)
    refused = 0
    for path in every_file(folder):
        whole = path.read_bytes()
        for place in random.integers(0, len(whole), 50):
            changed = bytearray(whole)
            changed[place] ^= 1 << random.integers(0, 8)
            path.write_bytes(changed)
            if path.parent == folder and same_json(changed, whole):
                continue
            with pytest.raises(ValueError, match=r"damaged|cannot be read|describes something else|version"):
                DocumentModel.load(folder)
            refused += 1
        path.write_bytes(whole)
    assert refused > 300
    DocumentModel.load(folder)


def same_json(one, other):
    """White space is free."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def test_truncated_and_missing_files_are_found(folder):
    random = np.random.default_rng(1)
    for path in every_file(folder):
        whole = path.read_bytes()
        for length in [0, len(whole) - 2, *random.integers(0, len(whole) - 1, 6)]:
            path.write_bytes(whole[:length])
            with pytest.raises(ValueError, match=r"damaged|cannot be read"):
                DocumentModel.load(folder)
        path.unlink()
        with pytest.raises(ValueError, match=r"missing|has no manifest|cannot be read"):
            DocumentModel.load(folder)
        path.write_bytes(whole)


def test_swapped_files_and_arrays_are_found(folder):
    paths = every_file(folder)
    for one in paths:
        for other in paths:
            if one < other and one.suffix == other.suffix:
                first, second = one.read_bytes(), other.read_bytes()
                one.write_bytes(second), other.write_bytes(first)
                with pytest.raises(ValueError, match=r"damaged|describes something else"):
                    DocumentModel.load(folder)
                one.write_bytes(first), other.write_bytes(second)
    for path in paths:
        if path.suffix == ".safetensors":
            whole, arrays = path.read_bytes(), load_file(path)
            names = sorted(arrays)
            for one, other in pairwise(names):
                save_file({**arrays, one: arrays[other], other: arrays[one]}, path)
                with pytest.raises(ValueError, match="damaged"):
                    DocumentModel.load(folder)
            path.write_bytes(whole)


def change_arrays(folder, pattern, change):
    for path in data_folder(folder).glob(pattern):
        arrays = load_file(path)
        if change(arrays):
            save_file(arrays, path)
            reseal(folder)
            return
    raise AssertionError("no file was changed")


def put(name, place, value):
    def change(arrays):
        if name not in arrays:
            return False
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value
        return True

    return change


def swap(one, other):
    def change(arrays):
        if one not in arrays:
            return False
        arrays[one], arrays[other] = arrays[other], arrays[one]
        return True

    return change


@pytest.mark.parametrize(
    ("pattern", "change", "message"),
    [
        ("index-0/*.safetensors", put("parents.0", 2, 5), "come after its parent"),
        ("index-0/*.safetensors", put("parents.0", 1, 1), "come after its parent"),
        ("index-0/*.safetensors", put("edge_lengths.0", 1, -1.0), "non-negative edge_lengths"),
        ("index-0/*.safetensors", put("word_nodes.0", 0, 9999), "nodes between"),
        ("index-0/*.safetensors", swap("parents.0", "word_nodes.0"), "Expected"),
        ("index-0/*.safetensors", swap("leaf_lengths.0", "edge_lengths.0"), "Expected"),
        ("index-0/*.safetensors", put("words", 0, 10**6), "words from 0"),
        ("index-0/*.safetensors", put("document_bounds", 0, 1), "document_bounds that ascend"),
        ("documents*", put("codes", 0, 3), "class numbers up to 2"),
        ("documents*", put("codes", 0, -2), "class numbers up to 2"),
        ("documents*", put("ids", 0, 7), "the ids that the index has"),
        ("documents*", swap("codes", "ids"), "ids and class numbers"),
        ("texts*", put("bounds", 1, -5), "bounds of texts"),
        ("texts*", put("bounds", 1, 10**9), "bounds of texts"),
        ("texts*", put("bytes", 3, 0xFF), "texts as UTF-8"),
        ("texts*", swap("bounds", "bytes"), "texts as bytes and bounds"),
        ("titles*", swap("bounds", "bytes"), "titles as bytes and bounds"),
        ("titles*", lambda arrays: arrays.pop("bounds", None) is not None, "titles as bytes and bounds"),
    ],
)
def test_invariants_hold_whatever_the_hashes_say(folder, pattern, change, message):
    change_arrays(folder, pattern, change)
    with pytest.raises(ValueError, match=message):
        DocumentModel.load(folder)


def leaves(value, path=()):
    """Every place in a JSON value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from leaves(entry, (*path, key))


def change_settings(folder, settings, place, value):
    """Write settings with one place changed, and hashes that fit."""
    changed = json.loads(json.dumps(settings))
    target = changed
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    (data_folder(folder) / "settings.json").write_text(json.dumps(changed), encoding="utf-8")
    reseal(folder)


VECTORIZERS = {
    "words": None,
    "n-grams": CountVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b"),
    "TF-IDF": TfidfVectorizer(token_pattern=r"(?u)\b\w+\b"),
}


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning", "ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", VECTORIZERS)
def test_settings_of_any_kind_are_refused_or_work(tmp_path, kind):
    folder = tmp_path / "model"
    DocumentModel(n_neighbors=3, vectorizer=VECTORIZERS[kind]).fit(TEXTS, LABELS).save(folder)
    settings = json.loads((data_folder(folder) / "settings.json").read_text("utf-8"))
    random = np.random.default_rng(0)
    strange = [None, True, -1, 0, 2, 1e308, -0.5, "", "x", "(", [], [1], ["a", "b", "c"], {}, {"kind": 1}, 10**400]
    places = [place for place in leaves(settings) if place and place[0] != "history"]
    weights = np.array([1.0 if "idf" not in place[:-1] else 0.1 for place in places])
    refused = 0
    for _ in range(100):
        place = places[random.choice(len(places), p=weights / weights.sum())]
        change_settings(folder, settings, place, strange[random.integers(len(strange))])
        try:
            loaded = DocumentModel.load(folder)
        except ValueError:
            refused += 1
        else:
            assert np.isfinite(loaded.predict_proba(QUERIES)).all()
            loaded.similar("cat", 3)
            loaded.save(tmp_path / "again")
    assert refused > 25


@pytest.mark.parametrize(
    ("kind", "place", "value", "message"),
    [
        ("TF-IDF", ("vectorizer", "parameters", "input"), "filename", "input='filename'"),
        ("n-grams", ("vectorizer", "parameters", "input"), "file", "input='file'"),
        ("n-grams", ("vectorizer", "parameters", "token_pattern"), "(", "parameters of CountVectorizer"),
        ("n-grams", ("vectorizer", "parameters", "token_pattern"), None, "parameters of CountVectorizer"),
        ("n-grams", ("vectorizer", "parameters", "ngram_range"), ["a", 2], "parameters of CountVectorizer"),
        ("n-grams", ("vectorizer", "parameters", "dtype"), "complex128", "dtype as one of"),
        ("n-grams", ("vectorizer", "parameters", "dtype"), ["int64"], "dtype as one of"),
        ("n-grams", ("vectorizer", "idf"), [1.0], "inverse document frequency"),
        ("TF-IDF", ("vectorizer", "idf"), None, "with use_idf, and for it alone"),
        ("TF-IDF", ("vectorizer", "parameters", "use_idf"), False, "with use_idf, and for it alone"),
        ("TF-IDF", ("vectorizer", "idf", 0), None, r"from 0 to 1e\+06, got \[None\]"),
        ("TF-IDF", ("vectorizer", "idf", 1), -1.0, r"from 0 to 1e\+06, got \[-1\.0\]"),
        ("TF-IDF", ("vectorizer", "idf", 2), float("inf"), "cannot be read"),
        ("TF-IDF", ("vectorizer", "idf", 2), 1e308, "from 0 to"),
        ("words", ("vote", "temperature"), 10**400, "finite numbers as temperature"),
        ("words", ("vote", "temperature"), 1e-310, "temperature above 0"),
        ("words", ("vote", "pool", "weights", 0), 1e308, r"weights from 0 to 1e\+06"),
        ("words", ("vote", "pool", "prior_weight"), 1e308, r"weights from 0 to 1e\+06"),
        ("words", ("vote", "prior"), [1 - 1e-16, 1e-100, 1e-100], "class shares"),
        ("words", ("classes",), [0, 1, 2**63], "fit 64 bits"),
        ("words", ("spellings",), ["naïve"], "written forms of words"),
        ("words", ("spellings",), {"naive": None}, "written forms of words"),
        ("words", ("classes",), [-(2**63) - 1, 1, 2], "fit 64 bits"),
    ],
)
def test_unsound_settings_are_refused_with_a_sentence(tmp_path, kind, place, value, message):
    folder = tmp_path / "model"
    DocumentModel(n_neighbors=3, vectorizer=VECTORIZERS[kind]).fit(TEXTS, LABELS).save(folder)
    settings = json.loads((data_folder(folder) / "settings.json").read_text("utf-8"))
    change_settings(folder, settings, place, value)
    if value == float("inf"):  # as a number too large, not as the word Infinity
        path = data_folder(folder) / "settings.json"
        path.write_text(path.read_text("utf-8").replace("Infinity", "1e999"), encoding="utf-8")
        reseal(folder)
    with pytest.raises(ValueError, match=message):
        DocumentModel.load(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": NaN}', "{", "[]", "3", '"x"', "\ud800"])
def test_json_of_any_kind_is_refused(folder, text):
    for name in ("settings.json", "vocabulary.json"):
        path = data_folder(folder) / name
        whole = path.read_bytes()
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        reseal(folder)
        with pytest.raises(ValueError, match=r"Expected|cannot be"):
            DocumentModel.load(folder)
        path.write_bytes(whole)
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=r"Expected"):
        DocumentModel.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, r"version 1 or 2, got version 3 .*written by treewass"),
        ({"version": 1}, "holds more: index"),
        ({"version": None}, "got version None"),
        ({"format": "treewass index"}, "describes something else"),
        ({"data": "../elsewhere"}, "list the files"),
        ({"data": "data-" + "0" * 32}, "missing"),
        ({"files": {}}, "holds more: documents.safetensors"),
        ({"files": {"../../secret": {"bytes": 1, "sha256": ""}}}, r"holds more: \.\./\.\./secret"),
        ({"files": 3}, "list the files"),
        ({"parts": []}, "list the files"),
        ({"parts": ["../elsewhere"]}, "list the files"),
        ({"parts": 3}, "list the files"),
        ({"documents": None}, "list the files"),
        ({"documents": {"rows": "../rows.safetensors"}}, "list the files"),
        ({"channels": None}, "list the files"),
        ({"parts": ["index-0", "index-1"]}, r"holds more: index-1/manifest.json"),
        ({"parts": ["index-0", "index-0"]}, r"list the files of a model: it is damaged"),
        ({"channels": {"linear": "linear.safetensors"}}, "holds more: the channel linear"),
        ({"channels": {"/../../x": "channel-/../../x.safetensors"}}, "holds more: the channel /../../x"),
        (
            {"documents": {"rows": "documents.safetensors", "vectors": "vectors.safetensors"}},
            "holds more: documents with vectors",
        ),
        (
            {"documents": {"rows": "documents.safetensors", "columns": {"created": "../x"}}},
            "list the files of a model",
        ),
    ],
)
def test_manifests_of_another_kind_are_refused(folder, changes, message):
    seal(folder / "manifest.json", **changes)
    with pytest.raises(ValueError, match=message):
        DocumentModel.load(folder)


def test_folders_without_a_model_are_refused(fitted, tmp_path):
    with pytest.raises(ValueError, match="there is none at"):
        DocumentModel.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"no manifest\.json"):
        DocumentModel.load(tmp_path)
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds other files: \['letter\.txt'\]"):
        fitted.save(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": "another"}')
    with pytest.raises(ValueError, match="nothing is written"):
        fitted.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letter.txt", "manifest.json"]


def test_a_failed_save_leaves_the_old_model(fitted, folder):
    before = {path: path.read_bytes() for path in every_file(folder)}
    for size in sorted({len(content) for content in before.values()}):
        with files_of_at_most(size - 1), pytest.raises(OSError, match=r"File too large: '.*'"):
            fitted.save(folder)
        assert {path: path.read_bytes() for path in every_file(folder)} == before


@pytest.mark.parametrize("error", [OSError("no fsync here"), KeyboardInterrupt()])
@pytest.mark.parametrize("failing", [1, 2])
def test_a_save_that_fails_around_the_rename_leaves_a_whole_model(fitted, folder, monkeypatch, error, failing):
    other = DocumentModel.load(folder)
    other.add(["a cat"], ["cat"])
    flush, seen = folders.flush, []

    def fail(path):
        seen.extend([path] * (path == folder))  # first before the manifest is renamed, then after it
        if path == folder and len(seen) == failing:
            raise error
        flush(path)

    monkeypatch.setattr(folders, "flush", fail)
    monkeypatch.setattr(model_folder, "flush", fail)
    with pytest.raises(type(error)):
        other.save(folder)
    assert len(DocumentModel.load(folder).index_) == 14 + failing
    assert len(list(folder.glob("data-*"))) == failing
    monkeypatch.undo()
    fitted.save(folder)
    assert len(list(folder.glob("data-*"))) == 1


def test_what_a_killed_save_leaves_is_removed_by_the_next(fitted, folder):
    (folder / f".treewass-{'0' * 32}.json").write_text("half")
    (folder / f"data-{'0' * 32}").mkdir()
    fitted.save(folder)
    names = sorted(path.name.split("-")[0] for path in folder.iterdir())
    assert names == ["README.md", "data", "manifest.json"]


def test_threads_that_save_and_load_at_once_see_whole_models(fitted, folder):
    other = DocumentModel.load(folder)
    other.add(["a cat"], ["cat"])
    sizes, failures, done = set(), [], threading.Event()

    def save(model):
        for _ in range(6):
            model.save(folder)

    def load():
        while not done.is_set():
            try:
                sizes.add(len(DocumentModel.load(folder).index_))
            except ValueError as error:
                failures.append(error)

    savers = [threading.Thread(target=save, args=(model,)) for model in (fitted, other)]
    reader = threading.Thread(target=load)
    for thread in [reader, *savers]:
        thread.start()
    for thread in savers:
        thread.join()
    done.set()
    reader.join()
    assert not failures
    assert sizes <= {15, 16}


def test_the_card_tells_what_the_model_is(folder):
    card = (folder / "README.md").read_text("utf-8")
    for piece in (
        "and 15 documents to find",
        "| cat | 5 |",
        "ProfileTreeWasserstein",
        treewass.__version__,
        "Not measured",
    ):
        assert piece in card


@pytest.mark.parametrize("version", sorted(path.name for path in STORED.glob("v*")))
def test_stored_models_of_every_version_are_read(version, tmp_path, monkeypatch):
    """What an earlier version wrote must be read for ever, and answer as it did."""
    shutil.copytree(STORED / version / "model", tmp_path / "model")
    expected = json.loads((STORED / version / "answers.json").read_text("utf-8"))
    for compiled in (True, False):
        model = DocumentModel.load(tmp_path / "model")
        if not compiled:
            monkeypatch.delitem(sys.modules, "numba")  # as in a process that has not started it
        np.testing.assert_allclose(model.predict_proba(expected["queries"]), expected["probabilities"], rtol=1e-12)
        for query, neighbors in zip(expected["queries"], expected["neighbors"], strict=True):
            found = model.similar(query, len(neighbors))
            assert [[n.id, n.distance, n.label, n.title, n.text] for n in found] == neighbors
    monkeypatch.undo()
    model.update(["a dog and a cat"], ["dog"])
