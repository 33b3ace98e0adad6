"""Data read file by file on the command line."""

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.cli.test_commands import CSV, invoke
from treewass import DocumentModel
from treewass.cli import app as cli
from treewass.cli import partitions
from treewass.documents import read_corpus


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files, which hold the rows of one; and a pattern that matches them."""
    folder = tmp_path_factory.mktemp("files")
    header, *rows = CSV.splitlines(keepends=True)
    for number, own in enumerate(np.array_split(np.array(rows), 3)):
        (folder / f"part-{number}.csv").write_text(header + "".join(own.tolist()), encoding="utf-8")
    return str(folder / "*.csv")


def refused(*arguments):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exit_code == 2
    return " ".join(result.output.split())


def test_a_model_of_files_is_that_of_memory_and_labels_go_to_a_folder(files, tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    monkeypatch.setattr(partitions, "_LARGE", 10)  # so that the size decides
    output = invoke("fit", files, "-o", tmp_path / "parts", "--neighbors", 3)
    assert "Learned from" in output
    invoke("fit", files, "-o", tmp_path / "memory", "--neighbors", 3, "--test-size", 0, "--in-memory")
    first, second = DocumentModel.load(tmp_path / "parts"), DocumentModel.load(tmp_path / "memory")
    texts = read_corpus(files).texts
    assert first.metric_.digest == second.metric_.digest
    assert np.array_equal(first.predict_proba(texts), second.predict_proba(texts))
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    invoke("predict", tmp_path / "parts", files, "-o", f"{tmp_path}/out/", "--label", "label")
    tables = [parquet.read_table(path).to_pydict() for path in sorted((tmp_path / "out").iterdir())]
    assert [label for table in tables for label in table["label"]] == second.predict(texts).tolist()


def test_options_that_do_not_go_together_are_refused(files, tmp_path):
    target = tmp_path / "model"
    assert "--skip-bad" in refused("fit", files, "-o", target, "--in-parts", "--skip-bad")
    assert "--in-memory" in refused("fit", files, "-o", target, "--in-memory", "--workers", 2)
    assert "got both" in refused("fit", files, "-o", target, "--workers", 2, "--scheduler", "tcp://127.0.0.1:1")
    DocumentModel(n_neighbors=1).fit(["cats purr", "dogs bark"], ["cat", "dog"]).save(target)
    assert "expected a folder" in refused("predict", target, files, "--workers", 2, "-o", tmp_path / "labels.csv")


@pytest.mark.parametrize("how", ["--in-parts", "--in-memory"])
def test_titles_and_keys_are_kept_in_parts_as_in_memory(tmp_path, how):
    for number in range(2):
        rows = [f"cats purr,cat,Cat {row},a{number}{row}\ndogs bark,dog,,b{number}{row}\n" for row in range(6)]
        (tmp_path / f"{number}.csv").write_text("text,label,heading,name\n" + "".join(rows), encoding="utf-8")
    given = ["--title", "heading", "--id", "name", "--neighbors", 3, how]
    invoke("fit", tmp_path / "*.csv", "-o", tmp_path / "model", *given)
    model = DocumentModel.load(tmp_path / "model")
    hits = {hit.key: hit.title for hit in model.similar("cats purr dogs bark", k=24)}
    assert hits == {
        f"{letter}{n}{row}": f"Cat {row}" if letter == "a" else None
        for letter in "ab"
        for n in range(2)
        for row in range(6)
    }


@pytest.mark.parametrize("how", ["--in-parts", "--in-memory"])
def test_titles_of_files_without_columns_are_refused(tmp_path, how):
    (tmp_path / "data.txt").write_text("cat\tcats purr\ndog\tdogs bark\n", encoding="utf-8")
    given = ["fit", str(tmp_path / "data.txt"), "--format", "lines", "-o", str(tmp_path / "model"), "--title", "t", how]
    result = CliRunner().invoke(cli.app, given)
    assert isinstance(result.exception, ValueError)
    assert "expected a table or JSON lines to read further columns from, but this is 'lines'" in str(result.exception)


@pytest.mark.parametrize("how", ["--in-parts", "--in-memory"])
def test_a_tab_and_what_was_found_out_are_the_same_in_parts_and_in_memory(tmp_path, how):
    rows = "cats purr\tcat\nle café est noir\tcoffee\n" * 6
    (tmp_path / "data.csv").write_bytes(f"text\tlabel\n{rows}".encode("cp1252"))
    given = ["fit", str(tmp_path / "data.csv"), "-o", str(tmp_path / "model"), "--delimiter", "\\t", how]
    result = CliRunner().invoke(cli.app, given, catch_exceptions=False)
    assert result.exit_code == 0
    assert f"note: {tmp_path / 'data.csv'}: read as cp1252" in result.stderr
    invoke("predict", tmp_path / "model", tmp_path / "data.csv", "-o", f"{tmp_path}/out/", "--delimiter", "\\t")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part-00000.parquet"]
