import pytest

from treewass.documents import Corpus


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
