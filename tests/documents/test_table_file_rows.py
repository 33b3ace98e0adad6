import builtins
import datetime

import openpyxl
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from treewass.documents import read_corpus

COLUMNS = {
    "id": [7, 8, 9],
    "body": ["a cat", "", "zwei Hündchen"],
    "kind": ["x", "y", "x"],
    "seen": [datetime.date(2020, 2, 1), None, datetime.date(2021, 3, 4)],
    "price": [1.5, 2.5, None],
    "open": [True, False, True],
    "tags": [["a"], [], ["b"]],
}
NAMES = {"text": "body", "label": "kind", "key": "id", "columns": ["seen", "price", "open"]}


def write_excel(columns, path):
    book = openpyxl.Workbook()
    book.active.append([])
    book.active.append([*columns])
    for row in zip(*columns.values(), strict=True):
        book.active.append([str(value) if isinstance(value, list) else value for value in row])
    book.save(path)


def table(columns=None):
    return pyarrow.table(COLUMNS if columns is None else columns)


def stream(found, path):
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)


WRITERS = {
    "pets.parquet": lambda path: pyarrow.parquet.write_table(table(), path, row_group_size=2),
    "pets.feather": lambda path: pyarrow.feather.write_feather(table(), str(path)),
    "pets.arrow": lambda path: stream(table(), path),
    "pets.xlsx": lambda path: write_excel(COLUMNS, path),
}


def assert_pets(corpus):
    assert corpus.texts == ("a cat", "", "zwei Hündchen")
    assert corpus.labels == ("x", "y", "x")
    assert corpus.keys == ("7", "8", "9")
    assert corpus.columns["price"] == (1.5, 2.5, None)
    assert corpus.columns["open"] == ("true", "false", "true")
    assert [str(date)[:10] for date in corpus.columns["seen"]] == ["2020-02-01", "None", "2021-03-04"]


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_columns(name, tmp_path):
    WRITERS[name](tmp_path / name)
    corpus = read_corpus(tmp_path / name, **NAMES)
    assert_pets(corpus)
    assert corpus.name == "pets"
    assert corpus.places[0] == ("row 3" if name.endswith("xlsx") else "row 1")
    with pytest.raises(ValueError, match=r"no column 'bodi' \(did you mean 'body'\?\) in the header"):
        read_corpus(tmp_path / name, **NAMES | {"text": "bodi"})


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_frames_and_tables(make):
    frame = make(COLUMNS)
    assert_pets(read_corpus(frame, **NAMES))
    with pytest.raises(
        ValueError, match=rf"The {type(frame).__name__}: no column 'text' and no column 'label' in the header"
    ):
        read_corpus(frame)
    with pytest.raises(ValueError, match="row 0: 'tags' is"):
        read_corpus(frame, **NAMES | {"columns": ["tags"]})


def test_what_is_missing_in_a_frame_is_a_bad_row():
    frame = pandas.DataFrame(
        {"text": ["a", None, "c"], "label": [1, 2, 3], "when": pandas.to_datetime(["2020", None, None])}
    )
    with pytest.raises(ValueError, match="row 1: the text is null"):
        read_corpus(frame)
    corpus = read_corpus(frame, skip_bad=True, columns=["when"])
    assert corpus.labels == ("1", "3")
    assert corpus.columns["when"] == ("2020-01-01T00:00:00", None)


@pytest.fixture(scope="module")
def datasets():
    """The package of Hugging Face, without its progress bars."""
    import datasets

    datasets.disable_progress_bars()
    return datasets


def make_dataset(datasets, texts, labels):
    kinds = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["cat", "dog"])}
    return datasets.Dataset.from_dict({"text": texts, "label": labels}, features=datasets.Features(kinds))


def test_datasets_name_their_classes_and_splits(datasets, tmp_path):
    dataset, other = make_dataset(datasets, ["a", "b", "c"], [1, 0, 1]), make_dataset(datasets, ["d"], [0])
    for one in (dataset, dataset.to_iterable_dataset()):
        corpus = read_corpus(one)
        assert (corpus.texts, corpus.labels) == (("a", "b", "c"), ("dog", "cat", "dog"))
    assert read_corpus(dataset.select([2, 1])).texts == ("c", "b")
    splits = datasets.DatasetDict({"train": dataset, "test": other})
    splits.save_to_disk(tmp_path / "both")
    for both in (splits, tmp_path / "both"):
        corpus = read_corpus(both)
        assert corpus.labels == ("dog", "cat", "dog", "cat")
        assert corpus.parts == ("train", "train", "train", "test")
        assert corpus.places[-1] == ("test, row 0" if both is splits else "test, row 1")
    assert read_corpus(tmp_path / "both" / "train").labels == ("dog", "cat", "dog")
    assert read_corpus({"a": dataset, "b": dataset}).parts is None
    with pytest.raises(
        ValueError, match="The Dataset: no column 'body' in the header; the columns are 'text', 'label'"
    ):
        read_corpus(dataset, text="body")


def test_folders_of_damaged_datasets_are_refused(datasets, tmp_path):
    make_dataset(datasets, ["a", "b"], [1, 0]).save_to_disk(tmp_path / "one")
    assert read_corpus(tmp_path / "one").labels == ("dog", "cat")
    (tmp_path / "one" / "state.json").write_text("{}")
    with pytest.raises(ValueError, match="this is no dataset that can be read"):
        read_corpus(tmp_path / "one")


def test_zstandard_is_unpacked_by_name_and_by_content(tmp_path):
    content = pyarrow.compress(b"text,label\na cat,x\nb,y\n", codec="zstd", asbytes=True)
    for name in ("pets.csv.zst", "pets.csv"):
        (tmp_path / name).write_bytes(content)
        corpus = read_corpus(tmp_path / name)
        assert (corpus.texts, corpus.name) == (("a cat", "b"), "pets")


@pytest.mark.parametrize(
    ("name", "module"), [("a.parquet", "pyarrow"), ("a.xlsx", "openpyxl"), ("a.csv.zst", "pyarrow")]
)
def test_what_is_not_installed_is_named(name, module, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"\x28\xb5\x2f\xfd")
    original = builtins.__import__

    def without(wanted):
        if wanted.split(".")[0] == module:
            raise ModuleNotFoundError(name=module)
        return original(wanted)

    monkeypatch.setattr("treewass.compute.extras.import_module", without)
    with pytest.raises(ImportError, match=rf"{name} needs the module '{module}.*pip install"):
        read_corpus(tmp_path / name)


SUBJECTS = {"subject": ["one", None, "only"], "body": ["two", "alone", None], "kind": ["x", "y", "x"]}


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx"])
def test_several_columns_of_text_are_joined(ending, tmp_path):
    path = tmp_path / f"tickets.{ending}"
    if ending == "xlsx":
        write_excel(SUBJECTS, path)
    elif ending == "parquet":
        pyarrow.parquet.write_table(table(SUBJECTS), path)
    else:
        pyarrow.feather.write_feather(table(SUBJECTS), str(path))
    assert read_corpus(path, text="subject,body", label="kind").texts == ("one\ntwo", "alone", "only")


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, table])
def test_several_columns_of_a_frame_are_joined(make):
    corpus = read_corpus(make(SUBJECTS), text=["subject", "body"], label="kind")
    assert corpus.texts == ("one\ntwo", "alone", "only")


def test_a_number_in_a_workbook_is_read_as_a_text(tmp_path):
    write_excel({"text": [42, "a cat", None, 1.5], "label": ["x", "y", "x", "y"]}, tmp_path / "x.xlsx")
    assert read_corpus(tmp_path / "x.xlsx").texts == ("42", "a cat", "", "1.5")


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, table])
def test_truths_are_labels(make):
    assert read_corpus(make({"text": ["a", "b"], "label": [True, False]})).labels == ("true", "false")


def test_columns_that_the_first_of_several_sheets_lacks(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["about"])
    book.active.title = "notes"
    book.create_sheet("data").append(["text", "label"])
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(ValueError, match=r"no column 'text' .* Only the first sheet, 'notes', of 2 is read\."):
        read_corpus(tmp_path / "x.xlsx")
