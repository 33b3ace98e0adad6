import json
import threading

import pytest

from treewass.documents.partitions import find_partitions


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read(partitions):
    return [(document.text, document.label) for partition in partitions for document in partition.documents()]


def test_each_file_of_a_pattern_is_a_partition_in_the_order_of_names(tmp_path):
    for number in (2, 0, 1):
        write_lines(tmp_path / f"part-{number}.jsonl", [{"text": f"text {number}", "label": "a"}])
    partitions = find_partitions(str(tmp_path / "*.jsonl"))
    assert read(partitions) == [("text 0", "a"), ("text 1", "a"), ("text 2", "a")]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_formats_are_read_alike_and_an_address_as_a_path(tmp_path, kind):
    import pandas as pd

    frame = pd.DataFrame({"body": ["cats, purr", "dogs\nbark"], "class": ["cat", "dog"], "other": [1, 2]})
    path = tmp_path / f"pets.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    expected = [("cats, purr", "cat"), ("dogs\nbark", "dog")]
    for source in (path, f"file://{path}", f"file://{tmp_path}/*.{kind}", [path]):
        assert read(find_partitions(source, text="body", label="class")) == expected


def test_objects_of_a_store_are_read_through_fsspec():
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe_file("/bucket/b.csv", b"text,label\ndogs,dog\n")
    store.pipe_file("/bucket/a.csv", b"text,label\ncats,cat\n")
    try:
        assert read(find_partitions("memory://bucket/*.csv")) == [("cats", "cat"), ("dogs", "dog")]
        with pytest.raises(FileNotFoundError, match=r"no object that memory://bucket/\*.parquet matches"):
            find_partitions("memory://bucket/*.parquet")
    finally:
        store.rm("/bucket", recursive=True)


def test_documents_marked_as_test_are_left_out_unless_the_column_is_ignored(tmp_path):
    rows = [{"text": "one", "label": "a", "split": "train"}, {"text": "two", "label": "a", "split": "test"}]
    write_lines(tmp_path / "data.jsonl", rows)
    assert read(find_partitions(tmp_path / "data.jsonl")) == [("one", "a")]
    assert read(find_partitions(tmp_path / "data.jsonl", part=None)) == [("one", "a"), ("two", "a")]


def test_bad_rows_are_an_error_that_names_file_and_rows(tmp_path):
    write_lines(tmp_path / "data.jsonl", [{"text": "one", "label": "a"}, {"text": 2, "label": "a"}, {"label": "a"}])
    with pytest.raises(ValueError, match=r"(?s)data.jsonl: .*line 2: the text is .*line 3: no field 'text'"):
        read(find_partitions(tmp_path / "data.jsonl"))


def test_a_file_given_by_name_and_by_pattern_is_one_partition(tmp_path):
    for name in "ab":
        write_lines(tmp_path / f"{name}.jsonl", [{"text": name, "label": "x"}])
    given = [tmp_path / "b.jsonl", str(tmp_path / "*.jsonl"), f"{tmp_path}/../{tmp_path.name}/a.jsonl"]
    assert read(find_partitions(given)) == [("b", "x"), ("a", "x")]
    assert read(find_partitions([f"file://{tmp_path}/b.jsonl", f"file://{tmp_path}/*.jsonl"])) == [
        ("b", "x"),
        ("a", "x"),
    ]


def test_a_folder_that_datasets_has_saved_is_one_partition(tmp_path):
    import pyarrow as pa

    table = pa.table({"text": ["a cat", "a dog"], "label": ["x", "y"]})
    name = "data-00000-of-00001.arrow"
    with pa.OSFile(str(tmp_path / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": {}}))
    assert read(find_partitions(tmp_path)) == [("a cat", "x"), ("a dog", "y")]


def test_readers_of_tables_take_turns(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{name} one,x\n{name} two,y\n")
    first, second = find_partitions(str(tmp_path / "*.csv"))
    found = []

    def take_turns():
        for pair in zip(first.documents(), second.documents(), strict=True):
            found.extend(document.text for document in pair)

    thread = threading.Thread(target=take_turns, daemon=True)  # one that waits for itself would hang the tests
    thread.start()
    thread.join(timeout=30)
    assert found == ["a one", "b one", "a two", "b two"]


def test_remarks_name_the_address(tmp_path):
    (tmp_path / "a.csv").write_bytes("text;label\ncafé;x\n".encode("cp1252"))
    remarks = {}
    (partition,) = find_partitions(f"file://{tmp_path}/a.csv")
    assert [document.text for document in partition.documents(remarks)] == ["café"]
    assert len(remarks) == 2
    assert set(map(tuple, remarks.values())) == {(partition.address,)}


def test_the_texts_of_a_partition_are_joined_from_several_columns(tmp_path):
    write_lines(tmp_path / "x.jsonl", [{"subject": "one", "body": "two", "label": "a"}])
    for text in ("subject,body", ["subject", "body"]):
        assert read(find_partitions(tmp_path / "x.jsonl", text=text)) == [("one\ntwo", "a")]
