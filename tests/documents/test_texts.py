import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treewass.documents.texts import Texts, excerpt, visible


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.booleans()), max_size=8))
def test_texts_that_are_kept_are_those_of_a_list(pairs):
    texts = Texts.of(text for text, _ in pairs)
    kept = texts.kept(np.array([keep for _, keep in pairs], dtype=bool))
    assert list(kept) == [text for text, keep in pairs if keep]


@given(st.text(alphabet="ab \n\t\x07\u2003", max_size=60), st.integers(3, 20))
def test_an_excerpt_is_one_visible_line_of_whole_words(text, length):
    line = visible(" ".join(text.split()))
    shown = excerpt(text, length)
    assert len(shown) <= length
    if len(line) <= length:
        assert shown == line
    else:
        assert shown.endswith(" …")
        assert line.startswith(shown.removesuffix(" …"))
