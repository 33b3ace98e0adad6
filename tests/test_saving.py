import pytest

from treewass.saving import replacing, temporary


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with replacing(path) as written:
        written.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")

    def write():
        with replacing(path) as written:
            written.write_text("ne")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_temporary_names_differ_and_go(tmp_path):
    with temporary(tmp_path, "txt") as one, temporary(tmp_path, "txt") as other:
        assert one != other
        one.touch()
    assert not list(tmp_path.iterdir())
