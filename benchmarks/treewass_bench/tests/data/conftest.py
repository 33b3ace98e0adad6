import numpy as np
import pytest
from scipy.io import savemat

SPLIT_WORDS = [["cat", "Dog"], ["don't", "naïve", "cat"], [], ["the", "u_s"]]
SPLIT_COUNTS = [[2, 1], [1, 3, 1], [], [1, 5]]


def to_cells(items):
    """Make a MATLAB cell array of one row."""
    cells = np.empty((1, len(items)), dtype=object)
    for column, item in enumerate(items):
        cells[0, column] = item
    return cells


def vector(word):
    """A vector of four numbers that tells the word."""
    return np.array([len(word), ord(word[0]), ord(word[-1]), 1 / 3])


def to_fields(words, counts, labels, *, padding=1):
    """The cells of vectors, counts and words, and the labels; words are padded with zeros, as in the real files."""
    matrices = [np.array([vector(word) for word in row]).reshape(-1, 4).T for row in words]
    padded = [to_cells([*row, *[0] * padding]) for row in words]
    return (
        to_cells(matrices),
        to_cells([np.array(row, dtype=float) for row in counts]),
        to_cells(padded),
        np.array(labels),
    )


@pytest.fixture
def split_fields():
    """A set with two random splits, in the fields of the real files."""
    X, counts, words, labels = to_fields(SPLIT_WORDS, SPLIT_COUNTS, [1, 2, 1, 2])
    splits = {"TR": np.array([[1, 4], [3, 2]]), "TE": np.array([[2, 3], [4, 1]])}
    return {"X": X, "BOW_X": counts, "words": words, "Y": labels, **splits}


@pytest.fixture
def split_file(tmp_path, split_fields):
    path = tmp_path / "twitter-emd_tr_te_split.mat"
    savemat(path, split_fields, do_compression=True)
    return path


@pytest.fixture
def fixed_fields():
    """A set with a fixed split."""
    fields = {}
    for part, words, counts, labels in (
        ("tr", [["ship"], ["trade", "cat"], ["ship", "trade"]], [[1], [2, 1], [1, 1]], [1, 2, 2]),
        ("te", [["trade"], ["oil", "ship"]], [[4], [1, 1]], [2, 1]),
    ):
        names = (f"x{part}", f"BOW_x{part}", f"words_{part}", f"y{part}")
        fields |= dict(zip(names, to_fields(words, counts, labels), strict=True))
    return fields


@pytest.fixture
def fixed_file(tmp_path, fixed_fields):
    path = tmp_path / "r8-emd_tr_te3.mat"
    savemat(path, fixed_fields)
    return path
