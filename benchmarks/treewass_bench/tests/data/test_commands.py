import gzip
import json
import shlex
import sys

import pytest
from scipy.io import savemat
from typer.testing import CliRunner

from treewass.documents import Corpus
from treewass_bench import commands
from treewass_bench.data.sources import SOURCES
from treewass_bench.datasets import PAPER_SETS, load_set, load_vectors

runner = CliRunner()


def run(*arguments):
    result = runner.invoke(commands.app, ["data", *map(str, arguments)])
    assert result.exit_code == 0, result.exception
    return result.output


@pytest.fixture
def fails(monkeypatch, capsys):
    """Run a command that fails; return its exit status and what it says."""

    def failing(*arguments):
        monkeypatch.setattr(sys, "argv", ["treewass", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            commands.main()
        return stopped.value.code, capsys.readouterr().err

    return failing


def test_the_list_names_every_set():
    assert run() == run("list")
    listed = [json.loads(line) for line in run("list", "--json").splitlines()]
    assert {*PAPER_SETS, "20news", "stop_words.txt", "word_vectors.npz"} <= {source["name"] for source in listed}
    assert all(all(source.values()) for source in listed)
    assert "yao8839836/text_gcn" in run()


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if source.command.startswith("python -m treewass_bench")]
)
def test_the_commands_of_the_list_exist(source):
    """With options that they know: what they lack is the file, or the folder."""
    arguments = shlex.split(source.command)[3:]
    result = runner.invoke(commands.app, arguments, env={"TREEWASS_DATA": None})
    assert isinstance(result.exception, ValueError), result.output
    assert "pass --data DIR" in str(result.exception)


def test_mat_files_to_a_folder_that_the_benchmarks_read(tmp_path, split_file, fixed_file):
    folder = tmp_path / "folder"
    output = run("mat", split_file, fixed_file, "--data", folder)
    assert "twitter.jsonl.gz: 4 documents, 2 classes, 2 splits" in output
    assert "reuters.jsonl.gz: 5 documents, 2 classes, a split of its own" in output
    split = load_set("reuters", folder).split(0)
    assert split.words.tolist() == ["cat", "ship", "trade"]
    assert split.X_train.toarray().tolist() == [[0, 1, 0], [1, 0, 2], [0, 1, 1]]
    assert split.X_test.toarray().tolist() == [[0, 0, 4], [0, 1, 0]]
    assert load_vectors(split.words, folder).covered.all()
    rows = [json.loads(line) for line in run("check", "--data", folder, "--json").splitlines()]
    assert [row["case"]["set"] for row in rows] == ["twitter", "reuters"]
    assert rows[1]["measures"]["dimension"] == rows[1]["measures"]["dimension_with_vector"] == 4


def test_texts_with_every_option(tmp_path):
    (tmp_path / "a.csv").write_text("body,kind\nthe cat,c\nthe dog,d\na cow,e\n", encoding="utf-16")
    (tmp_path / "texts").write_text("the cat\nthe dog\n")
    (tmp_path / "marks").write_text("1\ttrain\tc\n2\ttest\td\n")
    folder = tmp_path / "folder"
    arguments = ("--text", "body", "--label", "kind", "--encoding", "utf-16", "--classes", "c,d", "--data", folder)
    assert "pets.jsonl.gz: 2 documents, 2 classes, 5 splits" in run("texts", "pets", tmp_path / "a.csv", *arguments)
    run("texts", "marked", tmp_path / "texts", "--marks", tmp_path / "marks", "--data", folder)
    run("texts", "marked", tmp_path / "texts", "--marks", tmp_path / "marks", "--data", folder, "--force")
    (folder / "stop_words.txt").write_text("the\n")
    (tmp_path / "glove.txt").write_text("cat 1 2\ncow 2 3\n")
    assert "1 words, 2 dimensions" in run("vectors", tmp_path / "glove.txt", "--data", folder)
    for line, name, splits in zip(run("check", "--data", folder).splitlines(), ("marked", "pets"), (1, 5), strict=True):
        assert line == (
            f"{name}: nothing published. 2 documents, 2 classes, 1 train, 1 test, splits: {splits}; "
            "2 words, 1.0 a document; with a vector 1 words, 0.5 a document"
        )


def test_newsgroups(tmp_path, monkeypatch):
    corpus = Corpus("20news", ("cat", "dog"), ("a", "b"), parts=("train", "test"))
    monkeypatch.setattr("treewass_bench.data.texts.fetch_newsgroups", lambda: corpus)
    assert "20news.jsonl.gz: 2 documents" in run("20news", "--data", tmp_path)


def test_what_is_there_stays(tmp_path, split_file, fails):
    run("mat", split_file, "--data", tmp_path)
    for command in (["mat", split_file], ["texts", "twitter", "absent.txt"]):
        status, message = fails("data", *command, "--data", tmp_path)
        assert status == 1
        assert "Pass --force to replace it" in message
    run("mat", split_file, "--data", tmp_path, "--force")


def test_options_that_do_not_go_together(tmp_path, fails):
    assert "Expected --marks or --test" in fails("data", "texts", "x", "a", "--test", "b", "--marks", "c")[1]
    assert "Expected one file with --name" in fails("data", "mat", "a.mat", "b.mat", "--name", "x")[1]
    assert fails("data", "texts")[0] == 2


def zipped(text):
    return gzip.compress(text.encode(), mtime=0)  # the bytes are names of tests


ROWS = '{"text": "a cat", "label": "c", "split": "train"}\n{"text": "a dog", "label": "d", "split": "test"}\n'


@pytest.mark.parametrize("command", [["data", "check"], ["accuracy", "--sets", "pets", "--methods", "bow"]])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(ROWS * 50)[:-20], "the gzip file is broken"),
        (b"no gzip", "expected a gzip file"),
        (zipped(ROWS + '{"text": "a\n'), "line 3: not valid JSON"),
        (zipped(ROWS + '{"text": "a cow"}\n'), "line 3: no field 'label'"),
        (b"", "it is empty"),
    ],
    ids=["cut short", "no gzip", "broken line", "no label", "empty"],
)
def test_broken_sets_give_no_traceback(tmp_path, fails, command, content, message):
    (tmp_path / "stop_words.txt").write_text("a\n")
    (tmp_path / "pets.jsonl.gz").write_bytes(content)
    status, said = fails(*command, "--data", tmp_path)
    assert status == 1
    assert said.startswith(f"treewass: {tmp_path / 'pets.jsonl.gz'}")
    assert message in said
    assert "Traceback" not in said


def test_missing_folders_and_sets_give_one_sentence(tmp_path, fails):
    status, said = fails("data", "check", "--data", tmp_path / "absent")
    assert (status, said.count("\n")) == (1, 1)
    assert "is not a folder" in said
    assert "found none. Make them with python -m treewass_bench data" in fails("data", "check", "--data", tmp_path)[1]
    said = fails("accuracy", "--sets", "pets", "--methods", "bow", "--data", tmp_path)[1]
    assert "found none. Make them with python -m treewass_bench data" in said
    savemat(tmp_path / "x.mat", {"other": [1]})
    status, said = fails("data", "mat", tmp_path / "x.mat", "--data", tmp_path)
    assert (status, said.count("\n")) == (1, 1)
    assert "found none of them" in said
    (tmp_path / "pets.jsonl.gz").write_bytes(zipped(ROWS))
    (tmp_path / "stop_words.txt").write_text("")
    (tmp_path / "word_vectors.npz").write_bytes(b"PK broken")
    status, said = fails("data", "check", "--data", tmp_path)
    assert (status, said.count("\n")) == (1, 1)
    assert "expected an npz file" in said
