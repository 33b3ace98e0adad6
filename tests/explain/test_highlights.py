import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain.cases import WORDS, random_case
from treewass.explain import Explanation, Move, explain_pair
from treewass.explain.highlights import Piece, best_passage, near_words, pair_weights, weighted_pieces

TEXT = "a cat, a dog"
SPANS = [(0, 1, "a"), (2, 5, "cat"), (7, 8, "a"), (9, 12, "dog")]


@given(st.dictionaries(st.sampled_from(["a", "cat", "dog", "car"]), st.floats(-10, 10)), st.integers(0, len(TEXT)))
def test_pieces_are_the_text_and_the_strongest_weighs_one(weights, length):
    text = TEXT[:length]
    pieces = weighted_pieces(text, SPANS, weights)
    assert "".join(piece.text for piece in pieces) == text
    inside = [abs(weights.get(word, 0.0)) for _, stop, word in SPANS if stop <= length]
    if any(inside):
        assert max(abs(piece.weight) for piece in pieces) == 1
    else:
        assert not any(piece.weight for piece in pieces)


def test_faint_words_are_not_marked():
    assert weighted_pieces("cat dog", [(0, 3, "cat"), (4, 7, "dog")], {"cat": 1.0, "dog": -0.05}, faintest=0.1) == [
        Piece("cat", 1.0),
        Piece(" dog"),
    ]


def test_a_pair_is_marked_where_its_words_follow_each_other():
    spans = [(0, 3, "hot"), (4, 7, "dog"), (8, 9, "a"), (10, 13, "dog")]
    assert weighted_pieces("hot dog a dog", spans, {"hot dog": 2.0, "dog": 1.0}) == [
        Piece("hot", 0.5),
        Piece(" "),
        Piece("dog", 1.0),
        Piece(" a "),
        Piece("dog", 0.5),
    ]


def test_equal_documents_share_their_words():
    shared = (Move("cat", "cat", 0.75, 0.0), Move("dog", "dog", 0.25, 0.0))
    assert pair_weights(Explanation(0.0, shared, (), ())) == ({"cat": 0.75, "dog": 0.25},) * 2


@pytest.mark.parametrize("n_components", [1, 2])
def test_mass_that_stays_counts_in_full(n_components):
    metric, documents = random_case(3, n_components)
    same = near_words(metric, documents[:1], documents[:1], WORDS)
    assert sum(same.values()) == pytest.approx(n_components)
    other = near_words(metric, documents[:1], documents[1:2], WORDS)
    shared = explain_pair(metric, documents[:1], documents[1:2], WORDS).shared
    assert all(other[move.source] >= n_components * move.mass - 1e-12 for move in shared)
    assert sum(other.values()) < n_components


def test_a_passage_begins_with_a_whole_word():
    text = "conchemco inc ckc sets quarterly dividend " + "and more words " * 10
    for length in (60, 68, 70):
        assert best_passage(text, [(18, 22, "sets")], {"sets": 1.0}, length).startswith("conchemco inc")
    dense = "語" * 100
    assert "語" in best_passage(dense, [(80, 82, "語語")], {"語語": 1.0}, 20)
    assert best_passage(dense, [(80, 82, "語語")], {"語語": 1.0}, 20).startswith("… ")
