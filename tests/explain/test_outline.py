import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewass.explain import tree_outline

from .test_pairs import WORDS, random_case


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_the_outline_adds_up(seed):
    metric, documents = random_case(seed, 1)
    labels = ["a", "a", "b", "b", "b", "c"]
    outline = tree_outline(metric, documents, labels, WORDS, n_words=20, n_documents=2)
    tree = metric.trees[0]
    masses = documents * metric.masses[0]
    masses = masses / masses.sum(axis=1, keepdims=True)
    by_class = np.array([masses[np.array(labels) == label].mean(axis=0) for label in "abc"])
    assert outline.classes == ("a", "b", "c")
    assert outline.nodes[0].mass == pytest.approx(1)
    for node in outline.nodes:
        below = tree.subtree_words(node.node)
        expected = by_class[:, below].sum(axis=1)
        assert node.mass == pytest.approx(expected.mean())
        assert node.classes == pytest.approx(tuple(expected / expected.sum()))
        assert {word.word: word.mass for word in node.words} == pytest.approx(
            {WORDS[word]: by_class[:, word].mean() for word in below if by_class[:, word].any()}
        )
        assert node.n_words == len(node.words)
        assert len(node.documents) <= 2
        on_node = masses[:, below].sum(axis=1)
        assert on_node[list(node.documents)].max() == pytest.approx(on_node.max())
        own = {WORDS[word] for word in np.flatnonzero(tree.word_nodes == node.node)}
        assert {word.word for word in node.own_words} <= own
        for word in node.words:
            shares = by_class[:, WORDS.index(word.word)]
            assert word.share == pytest.approx(shares.max() / shares.sum())
    heaviest = [child.mass for child in outline.children(0)]
    assert heaviest == sorted(heaviest, reverse=True)


def test_what_does_not_fit_is_refused():
    metric, documents = random_case(0, 1)
    with pytest.raises(ValueError, match="one label per document"):
        tree_outline(metric, documents, ["a"], WORDS)
    with pytest.raises(ValueError, match="one name per word"):
        tree_outline(metric, documents, list("aabbbc"), ["x"])
    with pytest.raises(ValueError, match="with a known word"):
        tree_outline(metric, 0 * documents, list("aabbbc"), WORDS)
