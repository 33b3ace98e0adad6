"""Twenty-odd files as people have them: each is read, or refused with one clear sentence."""

import gzip
import json

import pytest

from treewass.documents import read_corpus

READ = {
    "semicolons.csv": (b"text;label\na cat, a dog;x\nb;y\n", "semicolons separate the columns"),
    "tabs.csv": (b"text\tlabel\na cat\tx\nb\ty\n", "tabs separate the columns"),
    "bars.csv": (b"id|text|label\n1|a cat|x\n2|b|y\n", "bars separate the columns"),
    "commas.tsv": (b"text,label\na cat,x\nb,y\n", "commas separate the columns"),
    "declared.csv": (b"sep=;\r\ntext;label\r\na cat;x\r\nb;y\r\n", None),
    "spaces in the header.csv": (b" text , label \na cat,x\nb,y\n", None),
    "utf16.csv": ("text\tlabel\nä cat\tx\nb\ty\n".encode("utf-16"), "read as utf-16, by its first bytes"),
    "utf16 without a mark.csv": ("text,label\na cat,x\nb,y\n".encode("utf-16-le"), "read as utf-16-le"),
    "utf32.csv": ("text,label\na cat,x\nb,y\n".encode("utf-32"), "read as utf-32"),
    "mark.csv": ("\ufefftext,label\na cat,x\nb,y\n".encode(), None),
    "windows.csv": (
        "text,label\nä cat – “so”,x\nb,y\n".encode("cp1252"),
        "read as cp1252, since it is not valid UTF-8",
    ),
    "old macintosh.csv": (b"text,label\ra cat,x\rb,y\r", None),
    "lines in cells.csv": (b'text,label\r\n"a cat\r\nand ""more""",x\r\n\r\nb,y\r\n', None),
    "list.json": (json.dumps([{"text": "a cat", "label": "x"}, {"text": "b", "label": "y"}]).encode(), None),
    "lines.json": (b'{"text": "a cat", "label": "x"}\n{"text": "b", "label": "y"}\n', None),
    "no ending of a line.jsonl": (b'{"text": "a cat", "label": "x"}\n{"text": "b", "label": "y"}', None),
    "zipped.csv.gz": (gzip.compress(b"text,label\na cat,x\nb,y\n"), None),
    "zipped under another name.csv": (gzip.compress(b"text,label\na cat,x\nb,y\n"), None),
    "null characters.csv": (b"text,label\na \0cat,x\nb,y\n", None),
}
REFUSED = {
    "empty.csv": (b"", "expected documents, found none: it is empty."),
    "header only.csv": (b"text,label\n", "expected documents, found none: it has a header and no rows."),
    "no header.csv": (b"a cat,x\nb,y\n", "no column 'text' and no column 'label' in the header; the columns are"),
    "other names.csv": (
        b"Text,Labels\na,x\n",
        "no column 'text' (did you mean 'Text'?) and no column 'label' (did you",
    ),
    "twice.csv": (
        b"text,label,text\na,x,b\n",
        "2 columns 'text' in the header; the columns are 'text', 'label', 'text'. Rename all but one of the same name.",
    ),
    "twice and missing.csv": (b"text,labell,text\na,x,b\n", "Name the right one with label='…'. Rename all but one"),
    "short rows.csv": (b"text,label\na cat,x\nb\nc,y\n", "line 3: 1 field where the header has 2"),
    "long rows.csv": (
        b"text,label\na, b, c,x\nb, c,y\n",
        "header has 2\nCorrect or remove them and read again, or leave them out with skip_bad. If the texts hold the",
    ),
    "list.jsonl": (
        b'\n [ {"text": "a", "label": "x"}]',
        "but line 2 begins a list. If it is a list of objects, pass format='json'.",
    ),
    "long list.jsonl": (b'[\n{"text": "a", "label": "x"}\n]', "line 1 begins a list."),
    "open quote.csv": (b'text,label\na cat,x\n"b,y\nc,y\n', "line 3: broken quoting"),
    "no label.csv": (b"text,label\na cat,x\nb,\n", "line 3: the label is empty"),
    "one class.csv": (b"text,label\na cat,x\nb,x\n", "expected at least 2 classes, found 1: 'x' (2 documents)."),
    "damaged utf8.csv": (
        "text,label\nä cät,x\nö".encode() + b"\xff,y\n",
        "1 of 2 rows cannot be read:\n  line 3: the text holds bytes that are not UTF-8, as the rest of the file is\n",
    ),
    "damaged labels.txt": ("ä\tcät\n\xfc\tdög\n".encode().replace(b"\xc3\xbc", b"\xff"), "line 2: the label holds"),
    "picture.csv": (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xfe",
        "but this is no text file: it holds zero bytes and is not valid UTF-8.",
    ),
    "workbook.csv": (b"PK\x03\x04\x14\0\x06\0", "but this is a zip archive or an Excel workbook. Pass format='excel'"),
    "columns.csv": (b"PAR1\x15\x04", "this is a file of the format parquet. Pass format='parquet' if it is one."),
    "broken.parquet": (b"PAR1 and nothing else", "this is no Parquet file that can be read"),
    "broken.arrow": (b"nothing\0of the kind", "this is no Arrow file that can be read"),
    "broken.xlsx": (b"PK\x03\x04 and nothing else", "this is no Excel file that can be read"),
    "table.xlsx": (
        "text,label\nä,x\n".encode(),
        "expected a file of the format excel, but this looks like text. Rename it, or pass format='csv' if it is a",
    ),
    "table.parquet": (b"text,label\na,x\n", "expected a file of the format parquet, but this looks like text."),
    "columns.xlsx": (b"PAR1\x15\x04", "expected a file of the format excel, but this is a file of the format parquet."),
    "table.csv.gz": (b"text,label\na,x\n", "If it is text that you can read in an editor, rename it without .gz;"),
    "broken.csv.gz": (gzip.compress(b"text,label\na,x\n")[:-9], "the gzip file is broken"),
    "broken.csv.zst": (b"\x28\xb5\x2f\xfd nothing", "the Zstandard file is broken"),
    "object.json": (b'{\n"data": [],\n"more": 1\n}\n', "found one object with the fields 'data', 'more'."),
    "object on one line.json": (
        b'{"data": [{"text": "a"}]}',
        "found one object with the fields 'data'. Write the list",
    ),
    "cut.json": (b'[{"text": "a", "label"', "it is not valid JSON"),
    "numbers.json": (b'[{"text": 3, "label": "x"}]', "object 1: the text is an integer; expected a string"),
    "letter.docx": (b"PK\x03\x04", "but .docx is the ending of files that are neither. Save it as text, in a folder"),
    "letter.PDF": (b"%PDF-1.4", "but .pdf is the ending of files that are neither."),
    "letter.odd": (b"PK\x03\x04", "the ending '.odd' names no known format."),
    "validation.csv": (
        b"text,label,split\na,x,train\nb,y,dev\n",
        "line 3: 'split' is 'dev'; expected 'train' or 'test'",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_messy_files_are_read_and_what_was_guessed_is_said(name, tmp_path):
    content, note = READ[name]
    path = tmp_path / name
    path.write_bytes(content)
    corpus = read_corpus(path)
    assert corpus.labels == ("x", "y")
    assert "cat" in corpus.texts[0]
    assert corpus.texts[1] == "b"
    assert bool(corpus.notes) == (note is not None)
    if note is not None:
        (said,) = corpus.notes if "utf16.csv" not in name else corpus.notes[:1]
        assert said.startswith(str(path))
        assert note in said


@pytest.mark.parametrize("name", REFUSED)
def test_messy_files_are_refused_with_the_reason(name, tmp_path):
    content, reason = REFUSED[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\S") as refused:
        read_corpus(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert reason in str(refused.value)


def test_bad_rows_can_be_left_out_and_are_listed(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_bytes(b'text,label\na cat,x\nb\n,y\nc,\n"d\n')
    corpus = read_corpus(path, skip_bad=True)
    assert corpus.texts == ("a cat", "")
    assert corpus.places == ("line 2", "line 4")
    assert [row.place for row in corpus.bad_rows] == ["line 3", "line 5", "line 6"]
    assert corpus.bad_rows[1].reason == "the label is empty"
    path.write_bytes(b"text,label\na\n")
    with pytest.raises(ValueError, match="expected documents, found none: all 1 rows are bad"):
        read_corpus(path, skip_bad=True)


@pytest.mark.parametrize("name", ["pets.csv", "pets.tsv", "pets.jsonl", "pets.json", "pets.txt"])
def test_rows_of_another_encoding_can_be_left_out(tmp_path, name):
    texts = [f"Zürich {number}" for number in range(9)]
    labels = ["x", "y", "z"] * 3
    rows = list(zip(texts, labels, strict=True))
    whole = {
        "pets.csv": "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows),
        "pets.tsv": "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows),
        "pets.jsonl": "".join(f'{{"text": "{text}", "label": "{label}"}}\n' for text, label in rows),
        "pets.json": json.dumps([{"text": text, "label": label} for text, label in rows], ensure_ascii=False),
        "pets.txt": "".join(f"{label}\t{text}\n" for text, label in rows),
    }[name]
    (tmp_path / name).write_bytes(whole.encode().replace("Zürich 4".encode(), "Zürich 4".encode("cp1252")))
    with pytest.raises(ValueError, match=r"(?s)1 of 9 rows .* bytes that are not UTF-8, as the rest of the file is"):
        read_corpus(tmp_path / name)
    corpus = read_corpus(tmp_path / name, skip_bad=True)
    assert corpus.texts == (*texts[:4], *texts[5:])
    assert len(corpus.bad_rows) == 1


def test_labels_that_may_be_one_or_none_are_said(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text("text,label\na,cat\nb,Cat\nc,dog\nd,NaN\ne,n/a\nf,NaN\n", encoding="utf-8")
    assert read_corpus(path).notes == (
        f"{path}: labels differ only by case: 'Cat', 'cat'.",
        f"{path}: the label 'NaN' of 2 documents looks like a missing one.",
        f"{path}: the label 'n/a' of 1 document looks like a missing one.",
    )


def test_encodings_and_delimiters_that_are_given_win(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_bytes("text,a;label\nä,b;x\nc,d;y\n".encode("latin-1"))
    corpus = read_corpus(path, text="text,a", delimiter=";", encoding="latin-1")
    assert (corpus.texts, corpus.notes) == (("ä,b", "c,d"), ())
    with pytest.raises(ValueError, match="Expected delimiter to be one character"):
        read_corpus(path, delimiter="")


def test_several_files_and_patterns_are_one_corpus(tmp_path):
    for number, line_end in enumerate(("\n", "\r\n")):
        content = f"text;label{line_end}text {number};{'xy'[number]}{line_end}"
        (tmp_path / f"part-{number}.csv").write_text(content, newline="")
    files = sorted(tmp_path.iterdir())
    for source in (files, str(tmp_path / "*.csv"), [str(tmp_path / "part-?.csv")], tmp_path):
        corpus = read_corpus(source)
        assert corpus.texts == ("text 0", "text 1")
        assert corpus.places == ("part-0.csv, line 2", "part-1.csv, line 2")
        (note,) = corpus.notes
        assert note.startswith("2 files, such as ")
    again = read_corpus(
        [str(tmp_path / "*1.csv"), str(tmp_path / "*.csv"), tmp_path / ".." / tmp_path.name / "part-0.csv"]
    )
    assert again.texts == ("text 1", "text 0")  # each once, as they came first
    with pytest.raises(FileNotFoundError, match=r"There is no file that .* matches"):
        read_corpus(str(tmp_path / "*.jsonl"))
    with pytest.raises(ValueError, match="a folder is among several"):
        read_corpus([files[0], tmp_path])
    with pytest.raises(TypeError, match="got int among them"):
        read_corpus([files[0], 3])


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", 'text,label\na cat," cat "\na cat,cat\n'), ("t.tsv", "text\tlabel\na cat\t cat \na cat\tcat\n")],
)
def test_spaces_around_a_label_are_no_class_of_their_own(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert set(read_corpus(tmp_path / name, min_classes=1).labels) == {"cat"}


def test_only_rows_that_are_all_too_long_are_said_to_need_quotes(tmp_path):
    path = tmp_path / "pets.csv"
    for rows in ("a, b,x\nc,y\n", "a\nb, c,x\n"):
        path.write_text(f"text,label\n{rows}", encoding="utf-8")
        with pytest.raises(ValueError, match="where the header has 2") as refused:
            read_corpus(path)
        assert "quotes" not in str(refused.value)


def test_a_file_with_a_header_only_among_others_is_said(tmp_path):
    for name, rows in (("a.csv", "a cat,x\na dog,y\n"), ("b.csv", "")):
        (tmp_path / name).write_text(f"text,label\n{rows}", encoding="utf-8")
    corpus = read_corpus(tmp_path)
    assert len(corpus) == 2
    assert corpus.notes == (f"{tmp_path / 'b.csv'}: a header and no rows.",)


def test_a_folder_of_tables_and_others_names_the_others(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na,x\nb,y\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("seen", encoding="utf-8")
    with pytest.raises(ValueError, match=r"but notes\.md is no table\. Name the tables, such as \S*\*\.csv, or move"):
        read_corpus(tmp_path)
    for number in range(4):
        (tmp_path / f"b{number}.txt").write_text("seen", encoding="utf-8")
    with pytest.raises(ValueError, match=r"but b0\.txt, b1\.txt, b2\.txt, … are no tables"):
        read_corpus(tmp_path)
    assert len(read_corpus(tmp_path, label=None)) == 6
    assert read_corpus(f"{tmp_path}/*.csv").labels == ("x", "y")
    (tmp_path / "cat").mkdir()
    with pytest.raises(ValueError, match="lies next to the label folders"):
        read_corpus(tmp_path)
