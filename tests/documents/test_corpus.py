import csv
import gzip
import json
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewass.documents.corpus import Corpus, read_corpus
from treewass.documents.text_file_rows import long_fields

TEXTS = ("the cat sat", "", 'a "quoted" word,\twith ünïcode 🐈', "two\nlines\r\nand a return\rhere")
LABELS = ("cat", "empty", "other", "cat")
FLAT_TEXTS = ("the cat sat", "", 'a "quoted" word,\twith ünïcode 🐈', "separators \u2028 \x85 \x0c stay")
FILE_FORMATS = ("jsonl", "csv", "tsv", "lines")
ENDINGS = {"jsonl": ".jsonl", "csv": ".csv", "tsv": ".tsv", "lines": ".txt"}

any_text = st.text(st.characters(exclude_categories=["Cs"]))
any_label = any_text.filter(str.strip)


def encode_json(texts, labels, parts=None):
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    for row, part in zip(rows, parts or (), strict=False):
        row["split"] = part
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def encode_table(texts, labels, parts=None, *, delimiter=",", line_end="\r\n"):
    columns = {"id": range(len(texts)), "label": labels, "text": texts}
    if parts is not None:
        columns["split"] = parts
    rows = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "".join(
        delimiter.join('"' + str(value).replace('"', '""') + '"' for value in row) + line_end for row in rows
    )


def encode_lines(texts, labels):
    return "".join(f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True))


def encode(format, texts, labels):
    if format == "jsonl":
        return encode_json(texts, labels)
    if format == "lines":
        return encode_lines(texts, labels)
    return encode_table(texts, labels, delimiter="," if format == "csv" else "\t")


def write(path, content, *, encoding="utf-8"):
    """Write bytes as they are, gzipped where the name says so."""
    data = content.encode(encoding) if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def field_limit():
    """Set the csv module's limit to a number of our own, so that a change of it shows."""
    before = csv.field_size_limit(54_321)
    yield 54_321
    csv.field_size_limit(before)


class TestRoundTrip:
    @pytest.mark.parametrize("zipped", ["", ".gz", ".GZ"])
    @pytest.mark.parametrize("format", FILE_FORMATS)
    def test_every_file_format(self, tmp_path, format, zipped):
        texts = FLAT_TEXTS if format == "lines" else TEXTS
        path = tmp_path / f"pets.v2{ENDINGS[format]}{zipped}"
        content = encode(format, texts, LABELS).encode()
        write(path, gzip.compress(content) if zipped == ".GZ" else content)
        corpus = read_corpus(path)
        assert corpus.name == "pets.v2"
        assert corpus.texts == texts
        assert corpus.labels == LABELS
        assert corpus.titles is None
        assert corpus.parts is None

    @pytest.mark.parametrize("name", ["pets", "pets.data", "pets.csv", "pets.gz"])
    def test_a_given_format_wins_over_the_name(self, tmp_path, name):
        path = write(tmp_path / name, encode_json(TEXTS, LABELS))
        corpus = read_corpus(path, format="jsonl")
        assert (corpus.name, corpus.texts) == ("pets", TEXTS)

    def test_gzip_is_known_by_its_content_too(self, tmp_path):
        path = write(tmp_path / "pets.csv", gzip.compress(encode_table(TEXTS, LABELS).encode()))
        assert read_corpus(path).texts == TEXTS

    def test_path_types_give_the_same(self, tmp_path):
        class Located:
            def __fspath__(self):
                return str(tmp_path / "pets.ndjson")

        path = write(tmp_path / "pets.ndjson", encode_json(TEXTS, LABELS))
        assert read_corpus(Located()) == read_corpus(str(path)) == read_corpus(path)

    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("format", FILE_FORMATS)
    def test_line_ends_blank_lines_and_byte_order_mark(self, tmp_path, format, line_end):
        texts, labels = ("one", "", "three"), ("a", "b", "a")
        content = encode(format, texts, labels).replace("\r\n", "\n").replace("\n", line_end * 2) + line_end
        path = write(tmp_path / f"pets{ENDINGS[format]}", "\ufeff" + content)
        corpus = read_corpus(path)
        assert corpus.texts == texts
        assert corpus.labels == labels

    @pytest.mark.parametrize("format", FILE_FORMATS)
    def test_the_last_line_needs_no_end(self, tmp_path, format):
        content = encode(format, ("one", "two"), ("a", "b")).rstrip("\r\n")
        assert read_corpus(write(tmp_path / f"pets{ENDINGS[format]}", content)).texts == ("one", "two")

    @pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "cp1252"])
    @pytest.mark.parametrize("format", FILE_FORMATS)
    def test_other_encodings(self, tmp_path, format, encoding):
        texts = ("früh", "spät")
        path = write(tmp_path / f"pets{ENDINGS[format]}", encode(format, texts, ("a", "b")), encoding=encoding)
        assert read_corpus(path, encoding=encoding).texts == texts

    def test_named_columns(self, tmp_path):
        rows = [{"body": "one", "group": 3, "fold": "test"}, {"body": "two", "group": -1, "fold": "train"}]
        path = write(tmp_path / "pets.jsonl", "\n".join(map(json.dumps, rows)))
        corpus = read_corpus(path, text="body", label="group", part="fold")
        assert corpus.labels == ("3", "-1")
        assert corpus.parts == ("test", "train")

    @pytest.mark.parametrize("format", ["jsonl", "csv"])
    def test_parts_fill_from_their_column_unless_told_not_to(self, tmp_path, format):
        encoder = encode_json if format == "jsonl" else encode_table
        path = write(tmp_path / f"pets.{format}", encoder(("one", "two"), ("a", "b"), ("train", "test")))
        assert read_corpus(path).parts == ("train", "test")
        assert read_corpus(path, part=None).parts is None

    def test_ten_megabytes_in_one_field_and_the_limit_is_put_back(self, tmp_path, field_limit):
        long_text = "word " * 2_000_000
        path = write(tmp_path / "pets.csv.gz", encode_table((long_text, "short"), ("a", "b")))
        assert read_corpus(path).texts[0] == long_text
        assert csv.field_size_limit() == field_limit

    def test_the_field_limit_is_put_back_after_an_error(self, tmp_path, field_limit):
        with pytest.raises(ValueError, match="no column 'text'"):
            read_corpus(write(tmp_path / "pets.csv", "a,b\n"))
        assert csv.field_size_limit() == field_limit

    def test_the_field_limit_is_raised_by_one_thread_at_a_time(self, field_limit):
        inside, leave = threading.Event(), threading.Event()

        def hold():
            with long_fields():
                inside.set()
                leave.wait(timeout=10)

        first, second = threading.Thread(target=hold), threading.Thread(target=hold)
        first.start()
        assert inside.wait(timeout=10)
        second.start()
        leave.set()
        first.join()
        second.join()
        assert csv.field_size_limit() == field_limit

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
    @given(
        rows=st.lists(st.tuples(any_text, any_label), min_size=1, max_size=8),
        format=st.sampled_from(["jsonl", "csv", "tsv"]),
    )
    def test_any_text_survives(self, tmp_path, rows, format):
        texts, labels = zip(*rows, strict=True)
        path = write(tmp_path / f"any{ENDINGS[format]}", encode(format, texts, labels))
        corpus = read_corpus(path, min_classes=1)
        assert corpus.texts == texts
        assert corpus.labels == tuple(label.strip() for label in labels)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
    @given(texts=st.lists(any_text, min_size=1, max_size=8), delimiter=st.sampled_from([",", "\t"]))
    def test_the_csv_module_s_own_output_is_read(self, tmp_path, texts, delimiter):
        path = tmp_path / ("own.csv" if delimiter == "," else "own.tsv")
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter)
            writer.writerows([("text", "label"), *((text, "a") for text in texts)])
        assert read_corpus(path, min_classes=1).texts == tuple(texts)


class TestUnlabelled:
    @pytest.mark.parametrize("format", ["jsonl", "csv", "tsv"])
    def test_the_label_column_is_not_looked_at(self, tmp_path, format):
        path = write(tmp_path / f"pets{ENDINGS[format]}", encode(format, ("one", "two"), ("", "")))
        corpus = read_corpus(path, label=None, min_classes=5)
        assert corpus.labels is None
        assert corpus.texts == ("one", "two")

    def test_a_whole_line_is_a_text(self, tmp_path):
        path = write(tmp_path / "pets.txt", "one\ttab\n\n two \n")
        assert read_corpus(path, label=None).texts == ("one\ttab", " two ")

    def test_files_in_and_below_the_folder(self, tmp_path):
        for name in ("b.txt", "a/deep/c.txt", "z.txt"):
            write(tmp_path / name, name)
        corpus = read_corpus(tmp_path, label=None)
        assert corpus.titles == corpus.texts == ("a/deep/c.txt", "b.txt", "z.txt")
        assert corpus.labels is None


class TestFolder:
    def test_sub_folders_are_labels_and_paths_are_titles(self, tmp_path):
        root = tmp_path / "pets.v2"
        names = ("cat/10.txt", "cat/2", "cat/more/1.txt", "cat-like/1.txt", "dog/1.txt.gz")
        for name in reversed(names):
            write(root / name, f"text of {name}\nänd more")
        corpus = read_corpus(root)
        assert corpus.name == "pets.v2"
        assert corpus.titles == names
        assert corpus.labels == ("cat", "cat", "cat", "cat-like", "dog")
        assert corpus.texts == tuple(f"text of {name}\nänd more" for name in names)

    def test_hidden_files_and_folders_are_ignored(self, tmp_path):
        for name in ("a/1", "b/1", ".git/config", "a/.hidden", "b/.cache/x", ".DS_Store"):
            write(tmp_path / ".data" / name, "x")
        assert read_corpus(tmp_path / ".data", format="folder").titles == ("a/1", "b/1")

    def test_an_empty_file_is_an_empty_document(self, tmp_path):
        write(tmp_path / "a" / "1", "")
        write(tmp_path / "b" / "1", "x")
        assert read_corpus(tmp_path).texts == ("", "x")

    def test_the_current_folder_has_a_name(self, tmp_path, monkeypatch):
        write(tmp_path / "pets" / "a" / "1", "x")
        monkeypatch.chdir(tmp_path / "pets")
        assert read_corpus(".", min_classes=1).name == "pets"

    @pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
    def test_a_linked_label_is_read_and_a_loop_of_links_refused(self, tmp_path):
        write(tmp_path / "elsewhere" / "1", "x")
        write(tmp_path / "pets" / "a" / "1", "y")
        (tmp_path / "pets" / "b").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        assert read_corpus(tmp_path / "pets").labels == ("a", "b")
        (tmp_path / "pets" / "a" / "up").symlink_to(tmp_path / "pets", target_is_directory=True)
        with pytest.raises(ValueError, match=r"a.up: this link leads back to the folder .*pets"):
            read_corpus(tmp_path / "pets")

    def test_a_file_beside_the_labels(self, tmp_path):
        write(tmp_path / "README", "x")
        write(tmp_path / "a" / "1", "x")
        with pytest.raises(ValueError, match=r"1 of 2 rows cannot be read:\n  README: lies next to the label folders"):
            read_corpus(tmp_path)

    @pytest.mark.parametrize("names", [(), (".hidden",), ("a/.hidden",)])
    def test_an_empty_folder(self, tmp_path, names):
        for name in names:
            write(tmp_path / name, "x")
        with pytest.raises(ValueError, match="expected documents, found none"):
            read_corpus(tmp_path)

    def test_a_wrong_encoding_names_the_file_and_the_line(self, tmp_path):
        write(tmp_path / "a" / "1", "fine")
        write(tmp_path / "b" / "2", b"fine\nf\xfcr")
        with pytest.raises(ValueError, match=r"b.2: line 2 \(near byte 6\) is not valid utf-8 .*encoding="):
            read_corpus(tmp_path, encoding="utf-8")


class TestBadRows:
    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ('{"text": "x", "label": }', r"not valid JSON \(Expecting value at column 24\)"),
            ('["text", "label"]', "expected a JSON object, found a list"),
            ('"text"', "expected a JSON object, found a string"),
            ("[" * 200_000, "not valid JSON"),
            ('{"label": "a"}', "no field 'text'; the fields are 'label'"),
            (
                '{"text": "x", "Label": "a"}',
                r"no field 'label' \(did you mean 'Label'\?\); the fields are 'text', 'Label'",
            ),
            ('{"text": null, "label": "a"}', "the text is null; expected a string"),
            ('{"text": 5, "label": "a"}', "the text is an integer"),
            ('{"text": "x", "label": null}', "the label is null; expected a string or an integer"),
            ('{"text": true, "label": "x"}', "the text is a boolean"),
            ('{"text": "x", "label": 1.0}', "the label is a number"),
            ('{"text": "x", "label": ["a"]}', "the label is a list"),
            ('{"text": "x", "label": {}}', "the label is an object"),
            ('{"text": "x", "label": " "}', "the label is empty"),
            ('{"text": "x", "label": "a", "split": "dev"}', "'split' is 'dev'; expected 'train' or 'test'"),
            ('{"text": "x", "label": "a", "split": null}', "'split' is None; expected 'train' or 'test'"),
        ],
    )
    def test_json(self, tmp_path, row, reason):
        good = '{"text": "x", "label": "a"}\n'
        path = write(tmp_path / "pets.jsonl", f"{good}\n{row}\n{good}")
        with pytest.raises(ValueError, match=rf"pets\.jsonl: 1 of 3 rows cannot be read:\n  line 3: {reason}"):
            read_corpus(path)

    def test_a_field_list_is_cut_short(self, tmp_path):
        row = {f"field{number}": 0 for number in range(30)}
        with pytest.raises(ValueError, match="'field19' and 10 more"):
            read_corpus(write(tmp_path / "pets.jsonl", json.dumps(row)))

    def test_a_part_that_some_rows_lack(self, tmp_path):
        path = write(tmp_path / "pets.jsonl", encode_json("abcd", "abab", ("train",)))
        with pytest.raises(ValueError, match=r"3 of 4 rows .*\n  line 2: no field 'split', which other rows have"):
            read_corpus(path)
        assert read_corpus(path, part=None).parts is None

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ("x", "1 field where the header has 2"),
            ("x,a,b", "3 fields where the header has 2"),
            ("x,", "the label is empty"),
            ('"x"y,a', "broken quoting"),
        ],
    )
    def test_csv_counts_lines_inside_quotes(self, tmp_path, row, reason):
        path = write(tmp_path / "pets.csv", f'text,label\n"two\nlines\r\nand\rmore",a\n\n{row}\nx,b\n')
        with pytest.raises(ValueError, match=rf"1 of 3 rows cannot be read:\n  line 7: {reason}"):
            read_corpus(path)

    def test_a_bad_row_of_several_lines_is_named_by_its_first(self, tmp_path):
        path = write(tmp_path / "pets.csv", 'text,label\nx,a\n"two\nlines"\nshort\n')
        with pytest.raises(ValueError, match=r"2 of 3 rows .*\n  line 3: 1 field .*\n  line 5: 1 field"):
            read_corpus(path)

    def test_a_quote_that_never_closes(self, tmp_path):
        path = write(tmp_path / "pets.tsv", 'text\tlabel\nx\ta\n"open\tb\ny\tb\n')
        with pytest.raises(ValueError, match=r"1 of 2 rows .*\n  line 3: broken quoting \(unexpected end of data\)"):
            read_corpus(path)

    def test_a_bad_part_in_a_table(self, tmp_path):
        path = write(tmp_path / "pets.csv", encode_table("ab", "ab", ("train", "")))
        with pytest.raises(ValueError, match=r"line 3: 'split' is ''; expected .*part='' ignores"):
            read_corpus(path)

    def test_lines(self, tmp_path):
        path = write(tmp_path / "pets.txt", "a\tx\n\nno tab\n \tno label\n")
        with pytest.raises(
            ValueError, match=r"2 of 3 rows .*\n  line 3: no tab between .*\n  line 4: the label is empty"
        ):
            read_corpus(path)

    def test_only_the_first_five_are_shown(self, tmp_path):
        path = write(tmp_path / "pets.txt", "a\tx\n" + "bad\n" * 7)
        with pytest.raises(ValueError, match="7 of 8 rows") as caught:
            read_corpus(path)
        assert str(caught.value).count("no tab") == 5
        assert "line 6:" in str(caught.value)
        assert "and 2 more" in str(caught.value)


class TestColumns:
    def test_a_missing_column_lists_those_found(self, tmp_path):
        path = write(tmp_path / "pets.csv", "id;txt;labels\n1;x;a\n")
        expected = (
            r"no column 'text' \(did you mean 'txt'\?\) and no column 'label' \(did you mean 'labels'\?\) and no "
            r"column 'size' in the header; the columns are 'id', 'txt', 'labels'\. Name the right ones with text='…'"
        )
        with pytest.raises(ValueError, match=expected):
            read_corpus(path, columns=["id", "size"])

    def test_a_missing_label_column(self, tmp_path):
        path = write(tmp_path / "pets.csv", "id,text,class\n1,x,a\n")
        with pytest.raises(ValueError, match=r"no column 'label' .*'id', 'text', 'class'\. .* with label='…'\.$"):
            read_corpus(path)

    def test_lines_named_tsv(self, tmp_path):
        path = write(tmp_path / "twitter.tsv", encode_lines(("one", "two"), ("a", "b")))
        with pytest.raises(ValueError, match=r"no column 'text'.*pass format='lines'"):
            read_corpus(path)
        assert read_corpus(path, format="lines").texts == ("one", "two")

    @pytest.mark.parametrize("column", ["text", "label", "split"])
    def test_a_column_that_comes_twice(self, tmp_path, column):
        path = write(tmp_path / "pets.csv", f"text,label,split,{column}\n")
        with pytest.raises(
            ValueError, match=rf"2 columns '{column}' in the header.*'\. Rename all but one of the same name\.$"
        ):
            read_corpus(path)

    def test_a_header_with_an_open_quote(self, tmp_path):
        path = write(tmp_path / "pets.csv", '\n"text,label\nx,a\n')
        with pytest.raises(ValueError, match="line 2, the header, has broken quoting"):
            read_corpus(path)


class TestClasses:
    def test_a_single_class(self, tmp_path):
        path = write(tmp_path / "pets.txt", "cat\tx\ncat\ty\ncat\tz\n")
        with pytest.raises(
            ValueError, match=r"at least 2 classes, found 1: 'cat' \(3 documents\).*min_classes=1 or label=None"
        ):
            read_corpus(path)
        assert read_corpus(path, min_classes=1).classes == ("cat",)

    def test_more_classes_can_be_asked_for(self, tmp_path):
        path = write(tmp_path / "pets.txt", "cat\tx\ndog\ty\n")
        assert len(read_corpus(path, min_classes=2)) == 2
        with pytest.raises(ValueError, match="at least 3 classes, found 2: 'cat'"):
            read_corpus(path, min_classes=3)


class TestEncodings:
    @pytest.mark.parametrize("zipped", ["", ".gz"])
    @pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
    @pytest.mark.parametrize("n_lines", [0, 3, 40_000])
    def test_the_line_and_the_byte_are_named(self, tmp_path, n_lines, line_end, zipped):
        before = (b"a\tgr\xc3\xbcn" + line_end) * n_lines + b"b\t"
        path = write(tmp_path / f"pets.txt{zipped}", before + b"f\xfcr" + line_end + b"a\tx")
        place = rf"line {n_lines + 1} \(near byte {len(before) + 1}\)"
        with pytest.raises(ValueError, match=rf"pets\.txt.*: {place} is not valid utf-8 .* Pass encoding="):
            read_corpus(path, encoding="utf-8")
        assert len(read_corpus(path, encoding="latin-1")) == n_lines + 2

    @pytest.mark.parametrize("format", FILE_FORMATS)
    def test_every_format(self, tmp_path, format):
        path = write(tmp_path / f"pets{ENDINGS[format]}", encode(format, ("x", "für"), "ab"), encoding="latin-1")
        line = 3 if format in ("csv", "tsv") else 2
        with pytest.raises(ValueError, match=rf"line {line} \(near byte \d+\) is not valid utf-8"):
            read_corpus(path, encoding="utf-8")

    @pytest.mark.parametrize(
        ("encoding", "bad", "offset"),
        [("utf-16", b"\x00\xdc", 1), ("gb18030", b"\xff\r\n", 1), ("euc_jp", b"\xff\r\n", 1)],
    )
    def test_other_encodings_are_followed_too(self, tmp_path, encoding, bad, offset):
        before = ("a\t猫\r\n" * 30_000 + "b\t猫").encode(encoding)
        path = write(tmp_path / "pets.txt", before + bad)
        with pytest.raises(
            ValueError, match=rf"line 30001 \(near byte {len(before) + offset}\) is not valid {encoding}"
        ):
            read_corpus(path, encoding=encoding)

    def test_a_character_cut_off_at_the_end(self, tmp_path):
        path = write(tmp_path / "pets.txt", b"a\tx\nb\tf\xc3")
        with pytest.raises(ValueError, match=r"line 2 \(the end of the file\) is not valid utf-8"):
            read_corpus(path, encoding="utf-8")
        with pytest.raises(ValueError, match="line 2: the text holds bytes that are not UTF-8"):
            read_corpus(path)

    @pytest.mark.parametrize("encoding", ["utf-9", "base64"])
    def test_an_unknown_encoding(self, tmp_path, encoding):
        path = write(tmp_path / "pets.txt", "a\tx\nb\ty\n")
        with pytest.raises(ValueError, match=f"Expected encoding to name a text encoding.*got '{encoding}'"):
            read_corpus(path, encoding=encoding)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    @pytest.mark.parametrize("valid", [True, False])
    def test_a_pipe_is_read_once(self, tmp_path, valid):
        path = tmp_path / "pets.txt"
        os.mkfifo(path)
        content = b"a\tx\nb\ty\n" if valid else b"a\tx\nb\t\xff\n"
        writer = threading.Thread(target=path.write_bytes, args=(content,))
        writer.start()
        try:
            if valid:
                assert read_corpus(path).texts == ("x", "y")
            else:
                with pytest.raises(ValueError, match="the text is not valid utf-8"):
                    read_corpus(path)
        finally:
            writer.join()


class TestPaths:
    def test_a_path_without_anything(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file or folder .*nothing\.csv"):
            read_corpus(tmp_path / "nothing.csv")

    @pytest.mark.parametrize("name", ["pets.odd", "pets", "pets.xml.gz"])
    def test_an_unknown_ending_lists_the_formats(self, tmp_path, name):
        path = write(tmp_path / name, "x")
        with pytest.raises(ValueError, match=r"names no known format.*'jsonl'.*'csv'.*'tsv'.*'lines'.*'folder'"):
            read_corpus(path)

    def test_an_unknown_format_lists_the_formats(self, tmp_path):
        with pytest.raises(ValueError, match=r"Expected format .*'jsonl'.*'folder'.*got 'xml'"):
            read_corpus(tmp_path, format="xml")

    @pytest.mark.parametrize("format", FILE_FORMATS)
    def test_a_folder_for_a_file(self, tmp_path, format):
        with pytest.raises(ValueError, match=f"is a folder, but format='{format}' reads a file"):
            read_corpus(tmp_path, format=format)

    def test_a_file_for_a_folder(self, tmp_path):
        path = write(tmp_path / "pets.csv", "text,label\n")
        with pytest.raises(ValueError, match="is a file, but format='folder' reads a folder"):
            read_corpus(path, format="folder")

    @pytest.mark.parametrize("content", ["", "\n\n \n", "\ufeff"])
    @pytest.mark.parametrize("name", ["pets.jsonl", "pets.txt", "pets.txt.gz"])
    def test_an_empty_file(self, tmp_path, name, content):
        with pytest.raises(ValueError, match=r"pets\..*: expected documents, found none"):
            read_corpus(write(tmp_path / name, content))

    @pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "text,label\n", "text,label\n\n"])
    @pytest.mark.parametrize("name", ["pets.csv", "pets.csv.gz"])
    def test_an_empty_table(self, tmp_path, name, content):
        with pytest.raises(ValueError, match=r"pets\..*: expected documents, found none"):
            read_corpus(write(tmp_path / name, content))

    def test_a_zero_byte_gzip_file(self, tmp_path):
        path = tmp_path / "pets.csv.gz"
        path.write_bytes(b"")
        with pytest.raises(ValueError, match="expected documents, found none"):
            read_corpus(path)

    def test_a_truncated_gzip_file(self, tmp_path):
        path = write(tmp_path / "pets.txt.gz", "".join(f"{number % 2}\t{number}\n" for number in range(9999)))
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(ValueError, match=r"pets\.txt\.gz: the gzip file is broken \(Compressed file ended"):
            read_corpus(path)

    def test_damaged_gzip_bytes(self, tmp_path):
        path = write(tmp_path / "pets.txt.gz", "a\tx\nb\ty\n" * 99)
        data = bytearray(path.read_bytes())
        data[15:20] = b"\xff" * 5
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"pets\.txt\.gz: the gzip file is broken"):
            read_corpus(path)

    def test_a_plain_file_named_gz(self, tmp_path):
        path = tmp_path / "pets.txt.gz"
        path.write_text("a\tx\nb\ty\n")
        with pytest.raises(ValueError, match=r"expected a gzip file, by its name, .* rename it without \.gz"):
            read_corpus(path)


@pytest.mark.data
def test_reuters(data_folder):
    corpus = read_corpus(data_folder / "reuters.jsonl.gz")
    assert corpus.name == "reuters"
    assert len(corpus.classes) == 8
    assert (corpus.parts.count("train"), corpus.parts.count("test")) == (5485, 2189)
    assert all(corpus.texts)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("a long text about cats and mice and all the rest,cat\nanother,dog\n", "already a document"),
        ("body,kind\ncat,a\n", r"Name the right ones with text='…' and label='…'\.$"),
    ],
)
def test_tables_with_another_header_get_a_hint(tmp_path, content, hint):
    (tmp_path / "table.csv").write_text(content)
    with pytest.raises(ValueError, match=hint):
        read_corpus(tmp_path / "table.csv")


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    (tmp_path / "texts.csv").write_text("text,label\na,b\nc,d\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(read_corpus("~/texts.csv")) == 2


def test_classes_are_sorted_and_counted():
    corpus = Corpus("c", ("x", "y", "z"), ("b", "a", "b"))
    assert corpus.classes == ("a", "b")
    assert corpus.class_counts() == {"a": 1, "b": 2}
    assert len(corpus) == 3
    assert repr(corpus) == "Corpus('c', 3 documents, 2 classes)"


def test_without_labels():
    corpus = Corpus("c", ("x",), None)
    assert corpus.classes == ()
    assert corpus.class_counts() == {}


@pytest.mark.parametrize("field", ["labels", "titles", "parts"])
def test_every_field_has_one_value_a_text(field):
    fields = {"labels": ("a", "b"), field: ("a",)}
    with pytest.raises(ValueError, match=rf"as many {field} as texts \(2\), got 1"):
        Corpus("c", ("x", "y"), **fields)


SUBJECTS = "subject,body,team\nBroken printer,It smokes,x\n,Alone,y\nOnly this,,x\n,,y\n"
JOINED = ("Broken printer\nIt smokes", "Alone", "Only this", "")


@pytest.mark.parametrize("text", ["subject,body", " subject , body", ("subject", "body"), ["subject", "body"]])
def test_several_columns_of_text_are_joined(text, tmp_path):
    path = write(tmp_path / "tickets.csv", SUBJECTS)
    assert read_corpus(path, text=text, label="team").texts == JOINED


def test_the_columns_of_text_are_joined_in_the_order_given(tmp_path):
    path = write(tmp_path / "tickets.csv", SUBJECTS)
    assert read_corpus(path, text="body,subject", label="team").texts[0] == "It smokes\nBroken printer"


def test_fields_of_json_are_joined_and_null_is_empty(tmp_path):
    rows = [{"a": "one", "b": "two"}, {"a": None, "b": "two"}, {"a": "one", "b": ""}]
    for name, content in (("x.json", json.dumps(rows)), ("x.jsonl", "\n".join(map(json.dumps, rows)))):
        path = write(tmp_path / name, content)
        assert read_corpus(path, text="a,b", label=None).texts == ("one\ntwo", "two", "one")
    path = write(tmp_path / "bad.jsonl", '{"a": null, "b": null}\n{"a": "x", "b": 3}\n')
    with pytest.raises(ValueError, match=r"the text in 'a' is null[^$]*the text in 'b' is an integer"):
        read_corpus(path, text="a,b", label=None)


def test_a_column_with_a_comma_in_its_name_is_one_column(tmp_path):
    path = write(tmp_path / "x.csv", 'a,b,"a,b",label\none,two,three,x\none,two,four,y\n')
    assert read_corpus(path, text="a,b").texts == ("three", "four")
    assert read_corpus(path, text=("a", "b")).texts == ("one\ntwo", "one\ntwo")


def test_each_missing_column_of_text_is_named(tmp_path):
    path = write(tmp_path / "tickets.csv", SUBJECTS)
    with pytest.raises(ValueError, match=r"no column 'sujet' .*'subject'.* and no column 'bodies'"):
        read_corpus(path, text="sujet,bodies,subject", label="team")
    with pytest.raises(TypeError, match="several in a list, got 3"):
        read_corpus(path, text=3)
    with pytest.raises(TypeError, match=r"several in a list, got \[\]"):
        read_corpus(path, text=[])


@pytest.mark.parametrize("text", ["team", "body,team", ("team",)])
def test_one_column_is_not_text_and_label(text, tmp_path):
    for path in (
        write(tmp_path / "tickets.csv", SUBJECTS),
        write(tmp_path / "tickets.jsonl", '{"body": "x", "team": "y"}'),
    ):
        with pytest.raises(ValueError, match="columns of their own, got 'team' for both"):
            read_corpus(path, text=text, label="team")


def test_truths_are_labels(tmp_path):
    path = write(tmp_path / "x.jsonl", '{"text": "a", "label": true}\n{"text": "b", "label": false}\n')
    assert read_corpus(path).labels == ("true", "false")
