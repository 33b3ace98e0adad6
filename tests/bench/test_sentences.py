import numpy as np

from treewass.bench.sentences import SentenceNeighbors


class Letters:
    """Counts letters: an embedding that needs no network."""

    def encode(self, texts, **_):
        found = np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_the_nearest_by_cosine_vote():
    model = SentenceNeighbors(n_neighbors=1, encoder=Letters()).fit(["aaab", "bbc", "abcc"], np.array(["x", "y", "z"]))
    assert model.predict(["aab", "ccc"]).tolist() == ["x", "z"]
    distances, rows = model.kneighbors(["aaab"], 3)
    assert rows.tolist() == [[0, 2, 1]]
    assert np.isclose(distances[0, 0], 0, atol=1e-6)
    assert model.predict_proba(["bbbc"]).tolist() == [[0, 1, 0]]
