import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treewass.documents.texts import Texts


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.booleans()), max_size=8))
def test_texts_that_are_kept_are_those_of_a_list(pairs):
    texts = Texts.of(text for text, _ in pairs)
    kept = texts.kept(np.array([keep for _, keep in pairs], dtype=bool))
    assert list(kept) == [text for text, keep in pairs if keep]
