"""The commands, end to end: in this process, and as the program that is installed."""

import csv
import json
import os
import re
import subprocess
import sys
import sysconfig
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.model.conftest import LABELS, TEXTS
from treewass import DocumentModel, EmptyDocumentWarning
from treewass.cli import app as cli
from treewass.cli import predict
from treewass.cli.fit import _advice
from treewass.documents import read_corpus
from treewass.model.evaluation import Evaluation
from treewass.serve import LiveModel, NewDocument

runner = CliRunner()
PROGRAM = Path(sysconfig.get_path("scripts"), "treewass.exe" if os.name == "nt" else "treewass")
CSV = "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in zip(TEXTS * 3, LABELS * 3, strict=True))


def invoke(*arguments, **settings):
    """Run a command in this process; an error that a user would see as one sentence is raised."""
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False, **settings)
    assert result.exit_code == 0, result.output
    return result.stdout


def write(path, text):
    """Write a file; return its path."""
    path.write_text(text, encoding="utf-8")
    return path


def program(*arguments, stdin="", code=0):
    """Run the installed program."""
    assert PROGRAM.exists(), f"treewass is not installed: there is no {PROGRAM}"
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pets.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(data):
    folder = data.parent / "model"
    invoke("fit", data, "-o", folder, "--neighbors", 3)
    return folder


def test_fit_says_how_good_it_is(data, tmp_path):
    text = invoke("fit", data, "-o", tmp_path / "model", "--neighbors", 3, "--seed", 1)
    for piece in (
        "Error on 14 held-out documents",
        "TF-IDF neighbours",
        "linear SVM",
        "45 documents in 3 classes",
        "Next:",
    ):
        assert piece in text
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "learned from 31 others" in card
    assert "from all 45 documents" in card
    assert "pets, 45 documents" in card


def test_fit_prints_json(data, tmp_path):
    summary = json.loads(invoke("fit", data, "-o", tmp_path / "m", "--neighbors", 3, "--no-texts", "--json"))
    assert summary["documents"] == 45
    assert summary["classes"] == ["car", "cat", "dog"]
    assert set(summary["evaluation"]["rivals"]) == {"TF-IDF neighbours", "linear SVM on TF-IDF"}
    assert 0 <= summary["evaluation"]["error"] <= 1
    assert DocumentModel.load(tmp_path / "m").contents_.documents.texts is None
    summary = json.loads(invoke("fit", data, "-o", tmp_path / "m", "--test-size", 0, "--neighbors", 3, "--json"))
    assert summary["evaluation"] is None


def test_fit_takes_word_vectors(data, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0 0\nkitten 1 0.1 0\ndog 0 1 0\ncar 0 0 1\n")
    invoke("fit", data, "-o", tmp_path / "m", "--neighbors", 3, "--vectors", vectors, "--test-size", 0)
    model = DocumentModel.load(tmp_path / "m")
    assert model.word_vectors == str(vectors)
    assert model.predict(["kitten"]).tolist() == ["cat"]
    with pytest.raises(FileNotFoundError, match="There is no file"):
        invoke("fit", data, "-o", tmp_path / "m", "--vectors", tmp_path / "none.txt")


def test_documents_marked_as_test_are_never_learned_from(tmp_path):
    rows = [
        json.dumps({"text": text, "label": label, "split": "test" if number % 5 == 0 else "train"})
        for number, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
    ]
    (tmp_path / "pets.jsonl").write_text("\n".join(rows), encoding="utf-8")
    summary = json.loads(invoke("fit", tmp_path / "pets.jsonl", "-o", tmp_path / "m", "--neighbors", 3, "--json"))
    assert summary["documents"] == 12
    assert summary["evaluation"]["n_test"] == 3
    assert summary["fit_seconds"] > 0


@pytest.mark.parametrize("metric", ["bow", "tfidf"])
def test_metrics_have_names(metric, data, tmp_path):
    invoke("fit", data, "-o", tmp_path / "m", "--metric", metric, "--test-size", 0, "--neighbors", 3)
    model = DocumentModel.load(tmp_path / "m")
    assert model.metric == metric
    assert f"| metric | `{metric}` |" in (tmp_path / "m" / "README.md").read_text("utf-8")
    assert model.predict(["my cat"]).tolist() == ["cat"]


def test_names_that_look_like_markup_are_names(data, tmp_path):
    folder = tmp_path / "m[" / "x]"
    text = invoke("fit", data, "-o", folder, "--test-size", 0, "--neighbors", 3)
    assert f"Written to {folder}." in " ".join(text.split())
    assert DocumentModel.load(folder).classes_.size == 3


def test_few_documents_are_learned_from_or_refused_with_advice(tmp_path):
    (tmp_path / "few.csv").write_text("text,label\na cat,cat\nthe cat,cat\na dog,dog\n", encoding="utf-8")
    summary = json.loads(invoke("fit", tmp_path / "few.csv", "-o", tmp_path / "m", "--neighbors", 1, "--json"))
    assert (summary["documents"], summary["evaluation"]["n_test"]) == (3, 1)
    (tmp_path / "two.csv").write_text("text,label\na cat,cat\na dog,dog\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"hold 1 of 2 documents out\. Hold out less \(--test-size 0 holds out none\), or merge"
    ):
        invoke("fit", tmp_path / "two.csv", "-o", tmp_path / "two")
    invoke("fit", tmp_path / "two.csv", "-o", tmp_path / "two", "--test-size", 0)


def test_search_prints_rows_and_json(model):
    rows = [line.split("\t") for line in invoke("search", model, "my cat purrs", "-k", 4).splitlines()]
    assert len(rows) == 4
    assert all(len(row) == 5 for row in rows)
    found = [json.loads(line) for line in invoke("search", model, "my cat purrs", "-k", 4, "--json").splitlines()]
    assert [entry["id"] for entry in found] == [int(row[1].removeprefix("id:")) for row in rows]
    assert found == json.loads(json.dumps([asdict(hit) for hit in DocumentModel.load(model).search("my cat purrs", 4)]))


def test_similar_takes_a_text_or_a_document(model):
    loaded = DocumentModel.load(model)
    for text, expected in (("my cat purrs", loaded.similar("my cat purrs", 3)), ("id:2", loaded.similar(id=2, k=3))):
        found = [json.loads(line) for line in invoke("similar", model, text, "-k", 3, "--json").splitlines()]
        assert found == json.loads(json.dumps([asdict(hit) for hit in expected]))
    with pytest.raises(ValueError, match="has the key 'x'"):
        invoke("similar", model, "key:x")
    with pytest.raises(ValueError, match="such as id:17, got 'id:abc'"):
        invoke("similar", model, "id:abc")


def test_filters_are_written_as_conditions(tmp_path):
    texts, labels = ["a cat purrs", "a cat sleeps", "a dog barks", "a dog and a cat"], [1, 1, 2, 2]
    columns = {"year": [2000, 2001, 2002, None], "town": ["Ghent", "Rome", "Ghent", "Oslo"]}
    DocumentModel(n_neighbors=1).fit(texts, labels, columns=columns).save(tmp_path / "model")
    for options, expected in (
        (("--label", 1), {0, 1}),
        (("--where", "year>=2001"), {1}),
        (("--where", "year < 2001.5", "--where", "town=Rome"), {1}),
        (("--where", "label!=1", "--where", "town==Oslo"), {3}),
        (("--where", "year>2000", "--where", "year<2002"), {1}),
        (("--label", 1, "--where", "label==2"), set()),
    ):
        found = invoke("search", tmp_path / "model", "cat", "--json", *options).splitlines()
        assert {json.loads(line)["id"] for line in found} == expected
    with pytest.raises(ValueError, match="filter on 'year' cannot be used"):
        invoke("search", tmp_path / "model", "cat", "--where", "year>soon")
    with pytest.raises(ValueError, match="a column among id, label, year, town, got 'size'"):
        invoke("search", tmp_path / "model", "cat", "--where", "size>3")
    with pytest.raises(ValueError, match=r"filter on 'year' cannot be used.*got nan"):
        invoke("search", tmp_path / "model", "cat", "--where", "year=nan")


def test_a_filter_that_no_document_passes_is_said(model):
    result = runner.invoke(cli.app, ["search", str(model), "cat", "--label", "bird"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No document passes the filter. Labels: car, cat, dog." in result.stderr
    result = runner.invoke(cli.app, ["search", str(model), "cat", "--label", "Catt"])
    assert "No document passes the filter (did you mean 'cat'?). Labels" in result.stderr
    assert "passes the filter" not in runner.invoke(cli.app, ["search", str(model), "cat", "--label", "cat"]).stderr


def test_fit_keeps_names_and_columns(tmp_path):
    rows = [
        f"a {word},{label},{word}-1,{year},0{year}"
        for word, label, year in zip(["cat", "kitten", "dog", "puppy"] * 3, "ccdd" * 3, range(12), strict=True)
    ]
    rows = [row.replace("-1", f"-{number}") for number, row in enumerate(rows)]
    (tmp_path / "pets.csv").write_text(
        "\n".join(["text,label,name,year,code", *rows, "a bird,c,bird,,"]), encoding="utf-8"
    )
    invoke("fit", tmp_path / "pets.csv", "-o", tmp_path / "m", "--id", "name", "--keep", "year", "--keep", "code")
    model = DocumentModel.load(tmp_path / "m")
    assert model.document(key="dog-2").columns == {"year": 2, "code": "02"}
    assert invoke("explain", tmp_path / "m", "key:dog-2", "--json") == invoke(
        "explain", tmp_path / "m", "id:2", "--json"
    )
    assert (model.document(12).key, model.document(12).columns) == ("bird", {"year": None, "code": None})
    found = invoke("search", tmp_path / "m", "cat", "--where", "year>3", "--json").splitlines()
    assert {json.loads(line)["key"] for line in found} == {"cat-4", "cat-8"}
    with pytest.raises(ValueError, match="no column 'size'"):
        invoke("fit", tmp_path / "pets.csv", "-o", tmp_path / "m", "--keep", "size")
    with pytest.raises(ValueError, match="expected a table or JSON lines to read further columns from"):
        invoke("fit", tmp_path, "-o", tmp_path / "n", "--keep", "size")


def test_ids_that_are_empty_or_come_again_are_bad_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pets = write(tmp_path / "pets.csv", "nr,text,label\nA1,a cat,x\nA2,a dog,y\nA1,a gnu,x\n ,a bird,y\nA1,a bee,x\n")
    with pytest.raises(ValueError, match="3 of 5 rows cannot be read") as refused:
        invoke("fit", pets, "-o", "m", "--id", "nr", "--test-size", 0)
    for line in (
        "line 4: 'nr' is 'A1', as in line 2; expected a name of its own for each document",
        "line 5: 'nr' is empty;",
        "line 6: 'nr' is 'A1', as in line 2;",
        "leave them out with --skip-bad.",
    ):
        assert line in str(refused.value)
    result = runner.invoke(cli.app, ["fit", "pets.csv", "-o", "m", "--id", "nr", "--test-size", "0", "--skip-bad"])
    assert "3 bad rows left out; bad-rows.csv lists them" in result.stderr
    assert [line.split(",")[0] for line in Path("bad-rows.csv").read_text("utf-8").splitlines()[1:]] == [
        "line 4",
        "line 5",
        "line 6",
    ]
    held = DocumentModel.load("m").contents_.documents
    assert (list(held.keys), list(held.texts)) == (["A1", "A2"], ["a cat", "a dog"])
    rows = invoke("predict", "m", pets, "--id", "nr", "--json").splitlines()  # where they do no harm
    assert [json.loads(row)["id"] for row in rows] == ["A1", "A2", "A1", " ", "A1"]


def test_predict_reads_files_and_standard_input(model, data, tmp_path):
    rows = [line.split("\t") for line in invoke("predict", model, data).splitlines()]
    assert len(rows) == 45
    assert [row[0] for row in rows] == DocumentModel.load(model).predict(TEXTS * 3).tolist()
    line = invoke("predict", model, "-", "--json", input='{"text": "my cat"}\n')
    assert json.loads(line)["label"] == "cat"
    assert sum(json.loads(line)["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    result = runner.invoke(cli.app, ["predict", str(model), str(data), "--label", "label"])
    assert re.search(r"of 45 wrong: error [\d.]+ %", result.stderr)
    (tmp_path / "plain.txt").write_text("a dog barks\nmy car\n", encoding="utf-8")
    assert [row.split("\t")[0] for row in invoke("predict", model, tmp_path / "plain.txt").splitlines()] == [
        "dog",
        "car",
    ]


def test_predict_says_where_the_labels_are_and_how_to_label_one_text(model, data, tmp_path):
    result = runner.invoke(cli.app, ["predict", str(model), str(data), "-o", str(tmp_path / "out.csv")])
    assert (result.stdout, result.stderr) == ("", f"45 labels written to {tmp_path / 'out.csv'}.\n")
    with pytest.raises(FileNotFoundError, match=r"no file 'my cat'\. To label one text, run: treewass explain \S+ 'my"):
        invoke("predict", model, "my cat")
    with pytest.raises(FileNotFoundError, match=r"There is no file or folder none\.csv"):
        invoke("predict", model, "none.csv")


def test_predict_says_on_how_many_documents_of_the_model_the_error_is(model, data, tmp_path):
    def said(path, folder=model):
        result = runner.invoke(cli.app, ["predict", str(folder), str(path), "--label", "label"])
        assert len(result.stdout.splitlines()) == len(path.read_text("utf-8").splitlines()) - 1
        return result.stderr.splitlines()

    (note,) = said(data)[1:]
    assert note.startswith("treewass: note: 45 of these 45 texts are documents of the model")
    assert note.endswith("the error on new texts may be higher.")
    some = write(tmp_path / "some.csv", f"text,label\n{TEXTS[0]},cat\n{TEXTS[0]} again,cat\n{TEXTS[1]},cat\n")
    assert "note: 2 of these 3 texts" in said(some)[1]
    new = write(tmp_path / "new.csv", "text,label\nmy new cat,cat\n")
    assert len(said(new)) == 1
    invoke("fit", data, "-o", tmp_path / "m", "--test-size", 0, "--neighbors", 3, "--no-texts")
    assert len(said(data, tmp_path / "m")) == 1  # nothing to compare with


def test_predict_numbers_unknown_texts_over_all_blocks(model, tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "_BLOCK", 3)
    (tmp_path / "plain.txt").write_text("cat\nxyzzy\ncat\ncat\nxyzzy\ncat\ncat\ncat\ncat\n", encoding="utf-8")
    with pytest.warns(EmptyDocumentWarning) as warned:
        invoke("predict", model, tmp_path / "plain.txt")
    assert [str(warning.message) for warning in warned] == [
        "2 document(s) hold no known word (line 2, line 5): they get the class shares of the training."
    ]


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning")
def test_files_of_labels_say_which_texts_hold_a_known_word(model, tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "_BLOCK", 2)
    (tmp_path / "plain.txt").write_text("cat\nxyzzy\ncat\nxyzzy\n", encoding="utf-8")
    for name in ("out.csv", "out.jsonl"):
        invoke("predict", model, tmp_path / "plain.txt", "-o", tmp_path / name)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["known"] for row in csv.DictReader(stream)] == ["true", "false"] * 2
    written = (tmp_path / "out.jsonl").read_text("utf-8")
    for lines in (written, invoke("predict", model, tmp_path / "plain.txt", "--json")):
        assert [json.loads(line)["known"] for line in lines.splitlines()] == [True, False] * 2


def test_texts_that_are_all_empty_are_one_error(tmp_path):
    data = write(tmp_path / "pets.csv", "text,label\n" + ",cat\n,dog\n" * 10)
    with pytest.raises(ValueError, match="word"):  # and no warning, which would be an error
        invoke("fit", data, "-o", tmp_path / "m")


def test_control_characters_are_not_printed(model, tmp_path):
    (tmp_path / "plain.txt").write_text("my \x1b[31mcat\x9b\n", encoding="utf-8")
    assert invoke("predict", model, tmp_path / "plain.txt").endswith("\tmy \ufffd[31mcat\ufffd\n")


def test_explain_tells_of_pairs_and_labels(model, tmp_path):
    text = invoke("explain", model, "my cat purrs", "the dog barks", "--picture", tmp_path / "plan.png")
    assert "Distance" in text
    assert "cat" in text
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    pair = json.loads(invoke("explain", model, "id:0", "-", "--json", input="the dog barks"))
    assert pair["distance"] == pytest.approx(sum(move["cost"] for move in pair["moves"]))
    assert "Label cat" in invoke("explain", model, "my cat purrs")
    result = runner.invoke(cli.app, ["explain", str(model), "my cat purrs", "--picture", str(tmp_path / "one.png")])
    assert result.exit_code == 2
    assert "--picture" in result.stderr
    assert not (tmp_path / "one.png").exists()
    assert json.loads(invoke("explain", model, "id:0", "--json"))["label"] == "cat"


def test_explain_leaves_a_document_of_the_model_out(tmp_path):
    lines = [f"d{n},{text} {n},{label}" for n, (text, label) in enumerate(zip(TEXTS * 3, LABELS * 3, strict=True))]
    lines[0] = lines[0].replace(",cat", ",car")
    data = write(tmp_path / "pets.csv", "name,text,label\n" + "\n".join(lines) + "\n")
    for folder, options in (("m", ()), ("bare", ("--no-texts",))):
        invoke("fit", data, "-o", tmp_path / folder, "--id", "name", "--test-size", 0, "--neighbors", 3, *options)
        found = json.loads(invoke("explain", tmp_path / folder, "key:d0", "--json"))
        assert found == json.loads(invoke("explain", tmp_path / folder, "id:0", "--json"))
        assert (found["label"], found["document"]["label"], found["document"]["key"]) == ("cat", "car", "d0")
        assert "d0" not in [neighbor["key"] for neighbor in found["neighbors"]]
        shown = invoke("explain", tmp_path / folder, "key:d0")
        assert "Label cat" in shown
        assert "It is labelled car in the model. It does not vote on itself" in shown
    assert "in the model" not in invoke("explain", tmp_path / "m", "my cat purrs")


def test_documents_without_known_words_are_said_plainly(tmp_path):
    rows = [*zip(TEXTS, LABELS, strict=True), ("", "cat"), ("---", "dog")]
    lines = [f'Title {number},"{text}",{label}' for number, (text, label) in enumerate(rows)]
    data = write(tmp_path / "pets.csv", "title,text,label\n" + "\n".join(lines) + "\n")
    with pytest.warns(EmptyDocumentWarning):
        invoke("fit", data, "-o", tmp_path / "m", "--title", "title", "--test-size", 0, "--neighbors", 3)
    empty, unknown = len(TEXTS), len(TEXTS) + 1
    for number, sentence in (
        (empty, f"The text of the document with id {empty} is empty, so it gets"),
        (unknown, f"The model knows no word of the document with id {unknown}, so it gets"),
    ):
        with pytest.warns(EmptyDocumentWarning, match=f"^{sentence} the class shares of the training.$"):
            shown = invoke("explain", tmp_path / "m", f"id:{number}")
        assert "Title" not in shown
        assert ("(Its text is empty.)" in shown) == (number == empty)
    shown = invoke("explain", tmp_path / "m", "id:0")
    assert "Title 1" in shown
    assert TEXTS[1] in shown


def test_pictures_and_reports_find_the_home_folder(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    invoke("explain", model, "my cat purrs", "the dog barks", "--picture", "~/plan.png")
    assert (tmp_path / "plan.png").exists()


def test_report_is_written(model, tmp_path):
    found = json.loads(invoke("report", model, "-o", tmp_path / "report.html", "--json"))
    assert found["report"] == str(tmp_path / "report.html")
    assert found["held_out"] is True
    assert found["near_duplicates"]
    assert "The learned tree" in (tmp_path / "report.html").read_text("utf-8")
    assert "Written to" in invoke("report", model, "-o", tmp_path / "report.html")


def test_the_program_answers_by_exit_code_and_one_sentence(model, data, tmp_path):
    done = program("search", model, "-", "-k", 2, stdin="Käse, 🐈 and cat")
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == "No document holds the word 'käse'.\n"
    done = program("search", model, "xyzzy catt")
    assert done.stdout == ""
    assert done.stderr == (
        "No document holds the word 'xyzzy'.\nNo document holds the word 'catt'. Did you mean 'cat'?\n"
    )
    done = program("search", tmp_path / "no", "cat", code=1)
    assert re.fullmatch(r"treewass: Expected the folder of a model, but there is none at .*\n", done.stderr)
    assert done.stdout == ""
    assert "Traceback" in program("--debug", "search", tmp_path / "no", "cat", code=1).stderr
    assert "Traceback" not in program("search", code=2).stderr
    program("search", model, "cat", "-k", 0, code=2)


@pytest.mark.parametrize("arguments", [("fit", "-o", "m"), ("predict", "m")])
@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.csv", b"text,label\nx,y\n", ("--text", "body"), "Name the right one with --text '…'."),
        ("a.csv", b"text,label\nx,y\n", ("--label", "kind"), "Name the right one with --label '…'."),
        ("a.csv", b"text\tlabel\nx\ty\n", ("--delimiter", ";;"), "Expected --delimiter to be one character"),
        ("a.tsv", b"x\ty\nx\tz\n", (), "pass --format lines."),
        (
            "a.tsv",
            b"text\tlabel\tsplit\tsplit\na\tb\tc\td\n",
            ("--label", "label"),
            "Rename all but one of the same name.",
        ),
        (
            "a.tsv",
            b"text\tlabel\tsplit\na\tb\tc\n",
            ("--label", "label"),
            "'split' is 'c'; expected 'train' or 'test' (--split '' ignores the column)\n",
        ),
        ("a.json", b"{}", (), "no field 'text'"),
        ("a.odd", b"", (), "Pass --format as one of 'jsonl'"),
        ("a.csv", b"", ("--format", "xml"), "Expected --format to be one of 'jsonl'"),
        ("a.csv", b"", ("--format", "folder"), "but --format folder reads a folder. Leave --format out"),
        (".", None, ("--format", "csv"), "but --format csv reads a file. Pass the path of a file, or --format folder"),
        ("a.csv", b"text,label\n\xe4,y\n", ("--encoding", "utf-8"), "Pass --encoding cp1252, --encoding latin-1 or"),
        ("a.csv", b"", ("--encoding", "klingon"), "Expected --encoding to name"),
    ],
)
def test_errors_of_data_speak_of_options(arguments, name, content, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    result = runner.invoke(cli.app, [*arguments, name, *options])
    assert message in str(result.exception)
    assert not re.search(r"\b[a-z_]+=", str(result.exception))
    with pytest.raises(ValueError, match=r"Name the right one with text='…'\."):  # from Python, also afterwards
        read_corpus(write(tmp_path / "b.csv", "text,label\nx,y\n"), text="body")


def test_one_class_is_an_error_that_speaks_of_options(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\nx,y\n")
    result = runner.invoke(cli.app, ["fit", str(path), "-o", str(tmp_path / "m")])
    assert str(result.exception).endswith("Check the label column; name another with --label.")


def test_wrong_settings_are_wrong_usage(data, tmp_path):
    for option, value in (("--metric", "forest"), ("--seed", "-1")):
        result = runner.invoke(cli.app, ["fit", str(data), "-o", str(tmp_path / "m"), option, value])
        assert result.exit_code == 2
        assert f"Invalid value for '{option}'" in result.stderr


def test_errors_are_one_sentence(model, data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("warnings.showwarning", None)  # set by main, and restored afterwards
    for arguments, message in [
        (("fit", tmp_path / "no.csv", "-o", tmp_path / "m"), "There is no file or folder"),
        (("fit", data, "-o", tmp_path / "m", "--text", "body"), "no column 'body' in the header"),
        (("fit", data, "-o", data.parent), "holds other files"),
        (("fit", data, "-o", data), "is a file"),
        (("fit", data, "-o", data / "model"), "is a file"),
        (("search", model, ""), 'but the text is empty. Give some words, such as "a text", or - for standard input.'),
        (("search", model, " \t"), "but the text is empty"),
        (("explain", model, "a cat", ""), "but the text is empty"),
        (("explain", model, "id:abc"), "such as id:17, got 'id:abc'"),
        (("explain", model, "id:999"), "No document in the model has id 999."),
        (("predict", model, tmp_path), "expected documents, found none"),
    ]:
        monkeypatch.setattr(sys, "argv", ["treewass", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        printed = capsys.readouterr()
        assert stopped.value.code == 1
        assert message in printed.err
        assert printed.err.startswith("treewass: ")
        assert printed.err.count("\n") == 1
        assert printed.out == ""


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("fit", "{data}", "-o", "{folder}/m", "--skip-bad", "--bad-rows", "{data}"), "--bad-rows"),
        (("predict", "{model}", "{data}", "-o", "{data}"), "-o"),
        (("predict", "{model}", "{folder}/*.csv", "-o", "{data}"), "-o"),
        (("predict", "{model}", "{folder}", "-o", "{data}"), "-o"),
        (("predict", "{model}", "{folder}/../*/pets.csv", "-o", "{data}"), "-o"),
        (("predict", "{model}", "{folder}/../**/pets.csv", "-o", "{data}"), "-o"),
        (("predict", "{model}", "{folder}/link/*.csv", "-o", "{data}"), "-o"),
        (("predict", "{model}", "~/*.csv", "-o", "{data}"), "-o"),
        (("compare", "{data}", "-o", "{data}"), "-o"),
        (("add", "{model}", "{data}", "--skip-bad", "--bad-rows", "{data}"), "--bad-rows"),
    ],
)
def test_no_output_replaces_the_data(model, tmp_path, monkeypatch, command, option):
    data = write(tmp_path / "pets.csv", CSV)
    if "{folder}/link/*.csv" in command:
        (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    places = {"data": data, "folder": tmp_path, "model": model}
    refused = runner.invoke(cli.app, [word.format(**places) for word in command])
    assert refused.exit_code == 2
    assert "expected another file than the data" in " ".join(refused.output.split())
    assert option in refused.output
    assert data.read_text("utf-8") == CSV


def test_a_file_beside_the_data_may_be_replaced(model, tmp_path):
    data, labels = write(tmp_path / "pets.csv", CSV), write(tmp_path / "labels.csv", "old")
    invoke("predict", model, data, "-o", labels)
    assert labels.read_text("utf-8") != "old"


def test_a_pattern_that_does_not_match_the_output_may_be_read_again(model, tmp_path, monkeypatch):
    write(tmp_path / "pets.csv", CSV)
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        invoke("predict", model, "*.csv", "-o", "results/labels.csv")


def test_files_of_labels_do_not_replace_files_of_data(model, tmp_path):
    table = pytest.importorskip("pyarrow").table({"text": ["a cat purrs", "a dog barks"]})
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table, tmp_path / "part-00000.parquet")
    (tmp_path / "again").symlink_to(tmp_path)
    for output in (f"{tmp_path}/", tmp_path, tmp_path / "again"):
        refused = runner.invoke(cli.app, ["predict", str(model), str(tmp_path / "*.parquet"), "-o", str(output)])
        assert refused.exit_code == 2
        assert "another folder than that of the data" in " ".join(refused.output.split())
    assert parquet.read_table(tmp_path / "part-00000.parquet").equals(table)


@pytest.mark.parametrize(("own", "asked"), [(25, True), (5, False)])
def test_labels_that_most_documents_have_alone_are_asked_about(tmp_path, own, asked):
    labels = [f"n{row}" if row < own else ("cat", "dog")[row % 2] for row in range(40)]
    data = write(
        tmp_path / "d.csv", "text,number\n" + "".join(f"word{row % 7} pet,{labels[row]}\n" for row in range(40))
    )
    result = runner.invoke(
        cli.app, ["fit", str(data), "-o", str(tmp_path / "m"), "--label", "number", "--test-size", "0"]
    )
    assert result.exit_code == 0
    assert ("different labels for 40 documents" in result.stderr) == asked
    assert ("27 different labels for 40 documents. Is 'number' the column of labels?" in result.stderr) == asked


def test_hits_are_named_as_other_commands_take_them(model):
    name = invoke("search", model, "kitten", "-k", "1").split("\t")[1]
    assert name.startswith("id:")
    assert invoke("similar", model, name)


def test_a_model_is_replaced_only_with_a_word(data, tmp_path):
    target = tmp_path / "model"
    quick = ("fit", data, "-o", target, "--test-size", 0)
    assert "replaced" not in program(*quick).stderr
    assert "will be replaced" in program(*quick).stderr


def test_a_reader_that_leaves_is_no_error_to_shout_about(model, tmp_path):
    (tmp_path / "many.txt").write_text("a dog barks\n" * 5000, encoding="utf-8")
    command = f"'{sys.executable}' '{PROGRAM}' predict '{model}' '{tmp_path / 'many.txt'}' | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.startswith("dog\t")
    assert done.stderr == ""


def at_terminal(*arguments):
    """Run the program at a terminal; return what it shows there."""
    import pty

    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "110"}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), *map(str, arguments)], stdout=end, stderr=end, stdin=end, env=environment
    ) as process:
        os.close(end)
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # Linux says so when the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(terminal)
    assert process.returncode == 0, shown.decode()
    return shown.decode()


def test_search_shows_the_passage_with_the_words(tmp_path):
    filler = "one two three four five six seven eight nine ten " * 5
    DocumentModel(n_neighbors=1).fit([f"{filler} the cat purrs", "a dog barks"], ["cat", "dog"]).save(tmp_path / "long")
    *_, text = invoke("search", tmp_path / "long", "purrs").splitlines()[0].split("\t")
    assert "the cat purrs" in text
    assert text.startswith("… ")
    assert len(text) <= 72


def test_people_see_tables_colours_and_bars(model, data, tmp_path):
    table = at_terminal("search", model, "my cat purrs", "-k", 2)
    assert "score" in table
    assert "words missing" in table
    similar = at_terminal("similar", model, "id:3", "-k", 2)
    assert "distance" in similar
    assert "words missing" not in similar
    assert "┃" in table
    assert "\x1b[" in at_terminal("explain", model, "my cat purrs", "the dog barks")
    bars = at_terminal("fit", data, "-o", tmp_path / "m", "--neighbors", 3)
    assert "refining" in bars
    assert re.search(r"\d:\d\d:\d\d", bars), "no time left is shown"
    assert "verbose" not in (tmp_path / "m" / "README.md").read_text("utf-8")


def test_shell_completion_is_offered(monkeypatch):
    monkeypatch.setenv("_TREEWASS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "treewass se")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert program().stdout.split() == ["search", "serve"]


def test_searching_needs_neither_scikit_learn_nor_numba(model):
    code = (
        "import sys; from typer.testing import CliRunner; from treewass.cli.app import app; "
        f"result = CliRunner().invoke(app, ['search', {str(model)!r}, 'cat']); assert result.exit_code == 0; "
        "sys.stderr.write(' '.join(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert not {"scipy", "sklearn", "numba", "matplotlib", "plotly", "rich.table"} & set(loaded)


def test_standard_input_is_named_as_such(model):
    assert "but standard input is empty" in program("search", model, "-", stdin="\n", code=1).stderr
    done = program("predict", model, "-", stdin="plain words", code=1)
    assert done.stderr.startswith("treewass: standard input: 1 of 1 rows")
    assert "--format" in done.stderr


def test_compare_writes_a_table_and_the_papers(tmp_path):
    data = tmp_path / "pets.csv"
    lines = [f"{'cat purr' if n % 2 else 'dog bark'} w{n % 3},{'cat' if n % 2 else 'dog'}" for n in range(30)]
    data.write_bytes("\n".join(["text,label", *lines, "ein Käfer,", ""]).replace(",", "#").encode("utf-16-le"))
    read = ["--encoding", "utf-16-le", "--delimiter", "#", "--skip-bad", "--bad-rows", str(tmp_path / "bad.csv")]
    result = runner.invoke(
        cli.app,
        ["compare", str(data), "--methods", "bow,linear-svm", "--splits", "2", "-o", str(tmp_path / "t.md"), *read],
    )
    assert result.exit_code == 0, result.output
    assert "1 bad row left out" in result.stderr
    assert (tmp_path / "bad.csv").read_text().splitlines()[1:] == ["line 32,the label is empty"]
    assert (tmp_path / "t.md").read_text().splitlines()[2].startswith("| bag of words, L1")
    for said in (result.stdout, (tmp_path / "t.md").read_text()):
        assert "Means over 2 splits, with their 95 % intervals" in said
    assert "@article{pedregosa2011scikit" in (tmp_path / "t.bib").read_text()
    wrong = runner.invoke(cli.app, ["compare", str(data), "--methods", "magic"])
    assert "got magic" in str(wrong.exception)
    assert runner.invoke(cli.app, ["compare", str(data), "-o", "table.xls"]).exit_code == 2


def test_texts_without_labels_are_learned_from_only_if_asked(tmp_path):
    data = tmp_path / "pets.csv"
    data.write_text("text,topic\n" + "\n".join(f"cats purr w{n},x" for n in range(9)))
    asked = ["fit", str(data), "-o", str(tmp_path / "model")]
    wrong = runner.invoke(cli.app, asked)
    assert re.search(r"no column 'label'.*--no-labels", str(wrong.exception))
    assert runner.invoke(cli.app, [*asked, "--no-labels", "--label", "topic"]).exit_code == 2
    result = runner.invoke(cli.app, [*asked, "--no-labels"])
    took = r"(, in [\d.]+ s with loading and compiling)?"  # a moment is not told
    assert re.search(rf"9 documents without labels, \d+ words{took}\. Written", result.output)
    explained = runner.invoke(cli.app, ["explain", str(tmp_path / "model"), "cats purr"])
    assert "Expected a second text to compare with, since the model was learned without labels" in str(
        explained.exception
    )
    refused = runner.invoke(cli.app, ["predict", str(tmp_path / "model"), str(data)])
    assert "learned without" in str(refused.exception)


def test_documents_are_added_removed_and_learned_on_the_command_line(model, tmp_path):
    folder = tmp_path / "m"
    DocumentModel.load(model).save(folder)
    more = write(tmp_path / "more.csv", "nr;text;label\nA1;a new kitten purrs;cat\nA2;a tractor;car\n")
    said = invoke("add", folder, more, "--id", "nr")
    assert "2 documents added" in said
    assert DocumentModel.load(folder).document(key="A1").label == "cat"
    assert "2 documents removed" in invoke("remove", folder, "key:A1", "id:0", "id:0")
    loaded = DocumentModel.load(folder)
    assert len(loaded.index_) == 45
    with pytest.raises(ValueError, match="has the key 'A1'"):
        invoke("remove", folder, "key:A1", "id:1")
    with pytest.raises(ValueError, match=r"got .*more.csv'. Name the column of your ids with --id"):
        invoke("remove", folder, more)
    with pytest.raises(ValueError, match="Expected documents as id:17 or key:NAME, got 'cat'"):
        invoke("remove", folder, "cat")
    new = write(tmp_path / "new.csv", "text,label\na red bird sings,bird\na bird flies,bird\n")
    with pytest.raises(ValueError, match="Use update, which learns new ones"):
        invoke("add", folder, new)
    assert "learned again from all 47" in invoke("update", folder, new)
    assert "bird" in DocumentModel.load(folder).classes_.tolist()


def test_an_update_never_undoes_what_a_service_folds_meanwhile(model, tmp_path, monkeypatch):
    folder, learn = tmp_path / "m", DocumentModel.update
    DocumentModel.load(model).save(folder)
    new = write(tmp_path / "new.csv", "text,label\na red bird sings,bird\na bird flies,bird\n")

    def learn_beside_a_service(self, *given, **named):
        with LiveModel(folder) as live:
            live.add([NewDocument("a cat called Zebedee", "cat")])
            live.fold()
        return learn(self, *given, **named)

    monkeypatch.setattr(DocumentModel, "update", learn_beside_a_service)
    with pytest.raises(ValueError, match=r"has been replaced meanwhile, perhaps by a service .* Nothing was changed"):
        invoke("update", folder, new)
    assert DocumentModel.load(folder).search("zebedee")[0].text == "a cat called Zebedee"


def test_documents_are_removed_as_files_list_them(model, tmp_path):
    folder = tmp_path / "m"
    DocumentModel.load(model).save(folder)
    more = write(tmp_path / "more.csv", "nr,text\nA1,a new kitten\n7,a tractor\nA3,a dog\n")
    with pytest.raises(ValueError, match=r"no column 'label'.* read them without: --no-labels\."):
        invoke("add", folder, more, "--id", "nr")
    for name, content in (("plain.txt", "a kitten\n"), ("empty.csv", "text,label\na kitten,\n")):
        with pytest.raises(ValueError, match=r"(?s)rows cannot be read.* read them without: --no-labels\."):
            invoke("add", folder, write(tmp_path / name, content))
    (tmp_path / "texts").mkdir()
    write(tmp_path / "texts" / "one.txt", "a kitten")
    with pytest.raises(ValueError, match=r"(?s)next to the label folders.* read them without: --no-labels\."):
        invoke("add", folder, tmp_path / "texts")
    said = runner.invoke(cli.app, ["add", str(folder), str(more), "--id", "nr", "--no-labels"])
    assert said.output == f"3 documents added to {folder}, with the ids 45 to 47.\n"
    gone = write(tmp_path / "gone.jsonl", '{"nr": "A1"}\n{"nr": 7}\n{"nr": "A1"}\n{"nr": null}\n')
    unknown = write(tmp_path / "unknown.csv", "nr\nA3\n" + "".join(f"B{number}\n" for number in range(42)))
    with pytest.raises(ValueError, match=r"has the key 'B0', 'B1', 'B2', 'B3', 'B4' and 37 more\. Nothing is removed"):
        invoke("remove", folder, unknown, "--id", "nr")
    assert "2 documents removed" in invoke("remove", folder, gone, "--id", "nr")
    assert DocumentModel.load(folder).contents_.documents.key_ids.keys() == {"A3"}


def test_empty_texts_that_come_are_said_once_with_their_lines(model, tmp_path):
    folder = tmp_path / "m"
    DocumentModel.load(model).save(folder)
    more = write(tmp_path / "more.csv", "text,label\na new cat,cat\n---,dog\n,dog\n")
    for command in ("add", "update"):
        with pytest.warns(EmptyDocumentWarning) as warned:
            invoke(command, folder, more, "--label", "label")
        (warning,) = warned
        assert str(warning.message).startswith("2 document(s) hold no known word (line 3, line 4): ")


def test_add_says_nothing_about_documents_that_others_have_added(model, tmp_path, recwarn):
    folder = tmp_path / "m"
    DocumentModel.load(model).save(folder)
    with LiveModel(folder) as live, pytest.warns(EmptyDocumentWarning, match=r"\(rows 1\)"):
        live.add([NewDocument("a cat"), NewDocument("---")])
    more = write(tmp_path / "more.csv", "text,label\na new cat,cat\n")
    recwarn.clear()
    for command in ("add", "update"):
        assert "1 document added" in invoke(command, folder, more, "--label", "label")
    assert not recwarn.list
    assert len(DocumentModel.load(folder).index_) == len(DocumentModel.load(model).index_) + 4


@pytest.mark.parametrize(
    ("wrong", "rival", "verdict"),
    [
        (20, 0.2, "As good as SVM; neighbours and explanations come on top."),
        (18, 0.2, "2 documents fewer wrong than SVM (-2.0 ± 10.9 points), within noise."),
        (10, 0.4, "30 documents fewer wrong than SVM (-30.0 ± 11.3 points)."),
        (40, 0.1, "30 documents more wrong than SVM (+30.0 ± 11.3 points): prefer that one if you need labels only."),
    ],
)
def test_verdicts_come_with_an_interval(wrong, rival, verdict):
    evaluation = Evaluation(("a", "b"), ((100 - wrong, wrong), (0, 0)), 60, {"SVM": rival})
    assert _advice(evaluation) == verdict


@pytest.mark.parametrize(
    ("confusion", "rival", "is_useless"),
    [
        (((60, 0), (40, 0)), 0.4, True),  # always the most frequent label
        (((50, 10), (25, 15)), 0.45, True),  # five more right than that, of 25 that differ
        (((58, 2), (20, 20)), 0.4, False),
        (((60, 0), (40, 0)), 0.1, False),  # the rival tells them apart
        (((2, 0), (0, 1)), 0.0, False),  # few, but all are right
        (((60, 40), (0, 0)), 0.4, False),  # one label among those held out
    ],
)
def test_a_useless_model_is_called_so(confusion, rival, is_useless):
    said = _advice(Evaluation(("[a]", "b"), confusion, 60, {"SVM": rival}))
    expected = "No better than always answering the most frequent label, [a]: the texts may not tell the labels apart."
    assert (said == expected) == is_useless


TICKETS = "subject,body,team\n" + "".join(
    f"{label} {number % 4},{text},{label}\n" for number, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
)


def test_texts_of_several_columns_are_joined(tmp_path):
    tickets = write(tmp_path / "tickets.csv", TICKETS.replace('"', ""))
    columns = ("--text", "subject,body", "--label", "team")
    invoke("fit", tickets, "-o", tmp_path / "m", *columns, "--test-size", 0, "--neighbors", 3)
    held = DocumentModel.load(tmp_path / "m").contents_
    assert held.documents.texts[0] == f"{LABELS[0]} 0\n{TEXTS[0]}"
    invoke("add", tmp_path / "m", tickets, *columns)
    invoke("update", tmp_path / "m", tickets, *columns)
    out = tmp_path / "labels.jsonl"
    invoke("predict", tmp_path / "m", tickets, *columns, "-o", out)
    assert json.loads(out.read_text("utf-8").splitlines()[0])["text"] == f"{LABELS[0]} 0\n{TEXTS[0]}"
    invoke("predict", tmp_path / "m", tickets, "--text", "subject,body", "-o", f"{tmp_path}/out/")
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize("option", ["--text", "--label", "--id", "--title"])
def test_a_column_that_is_named_twice_is_refused(option, data, tmp_path):
    result = runner.invoke(cli.app, ["fit", str(data), "-o", str(tmp_path / "m"), option, "text", f"{option}=label"])
    assert result.exit_code == 2
    assert f"Expected {option} once, got it 2 times." in result.output
    assert ("several columns" in result.output) == (option == "--text")


def test_the_words_of_a_search_need_no_quotes(model):
    assert invoke("search", model, "cat", "purred") == invoke("search", model, "cat purred")
    assert invoke("search", model, "cat", "purred", "-k", 2).count("\n") == 2
    assert invoke("search", model, "-", input="cat purred") == invoke("search", model, "cat purred")


def said_by(*arguments):
    """Return what a command says on standard output and on standard error."""
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_a_filter_that_nothing_passes_is_said_once(model):
    for command in ("search", "similar"):
        said = said_by(command, model, "cat", "--label", "cow")
        assert said == ("", "No document passes the filter. Labels: car, cat, dog.\n")


def test_a_document_without_others_to_compare_with_is_said(model, tmp_path):
    said = said_by("similar", model, "id:0", "--where", "id=0")
    assert said == ("", "No other document that passes the filter can be compared with it.\n")
    assert said_by("similar", model, "id:0", "--where", "id<2")[1] == ""
    alone = DocumentModel.load(model)
    alone.remove(alone.index_.ids[1:])
    alone.save(tmp_path / "alone")
    said = said_by("similar", tmp_path / "alone", "id:0")
    assert said == ("", "No other document of the model can be compared with it.\n")


def test_texts_of_unknown_words_get_a_plain_sentence(model):
    unknown = "^The model knows no word of the text 'xyzzy', so it"
    with pytest.warns(EmptyDocumentWarning, match=f"{unknown} is near to nothing.$"):
        assert said_by("similar", model, "xyzzy")[0] == ""
    with pytest.warns(EmptyDocumentWarning, match=f"{unknown} gets the class shares of the training.$"):
        assert "car 33.3 %" in said_by("explain", model, "xyzzy")[0]
    for arguments in (("xyzzy", "cat"), ("cat", "xyzzy")):
        with pytest.raises(ValueError, match=f"{unknown} is near to nothing.$"):
            invoke("explain", model, *arguments)
