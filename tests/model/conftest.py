import pytest

from treewass import DocumentModel

TEXTS = [
    "the cat purrs and sleeps", "a cat and a mouse", "cats sleep all day", "my cat meows at night", "a kitten purrs",
    "the dog barks", "dogs fetch a stick", "a dog growls at the post", "my dog sleeps by the door", "a puppy barks",
    "the car needs petrol", "a car on the road", "cars and lorries queue", "my car has four wheels", "a lorry brakes",
]  # fmt: skip
LABELS = ["cat"] * 5 + ["dog"] * 5 + ["car"] * 5


@pytest.fixture(scope="session")
def fitted():
    """A small model; tests that change it load or fit their own."""
    titles = [f"{label} {number}" for number, label in enumerate(LABELS)]
    return DocumentModel(n_neighbors=3).fit(TEXTS, LABELS, titles=titles)


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"
