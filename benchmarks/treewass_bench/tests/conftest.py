import gzip
import json

import numpy as np
import pytest

ANIMALS = {"cat": "cat purr meow sofa", "dog": "dog bark stick park", "cow": "cow moo grass field"}


@pytest.fixture
def folder(tmp_path):
    """A data folder with one set, "pets": three classes, two splits, word vectors."""
    random = np.random.RandomState(0)
    lines = []
    for number in range(90):
        label = sorted(ANIMALS)[number % 3]
        words = random.choice([*ANIMALS[label].split(), "the", "and", "a"], size=5)
        lines.append(json.dumps({"text": " ".join(words), "label": label}))
    with gzip.open(tmp_path / "pets.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    with gzip.open(tmp_path / "splits.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"pets": {"train": [list(range(60)), list(range(30, 90))]}}, file)
    (tmp_path / "stop_words.txt").write_text("the and")
    words = [word for label in sorted(ANIMALS) for word in ANIMALS[label].split()]
    places = np.repeat(np.eye(3) * 10, 4, axis=0) + random.normal(size=(12, 3))
    np.savez(tmp_path / "word_vectors.npz", words=np.array(words), vectors=places)
    return tmp_path
