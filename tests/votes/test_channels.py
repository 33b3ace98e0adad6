import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from treewass.votes.channels import WEIGHINGS, ScoreChannel, TermRows, select_rows

documents = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5), max_size=6), min_size=1, max_size=6)
COLUMNS = np.array([1, 3, 4, 8])


def make_channel(weighing, n_classes=3):
    random = np.random.RandomState(0)
    factors = random.rand(4).astype(np.float32) + 0.5
    weights = random.normal(size=(4, n_classes)).astype(np.float32)
    return ScoreChannel(weighing, COLUMNS, factors, weights, random.normal(size=n_classes).astype(np.float32))


def rows_of(found):
    return TermRows.of([(sorted(row), [row[term] for term in sorted(row)]) for row in found])


def slow_scores(channel, row):
    """The equation, one term at a time."""
    known = {term: count for term, count in row.items() if term in COLUMNS}
    factors = dict(zip(COLUMNS.tolist(), channel.factors.astype(float), strict=True))
    if channel.weighing == "tfidf":
        x = {term: (1 + np.log(count / min(known.values()))) * factors[term] for term, count in known.items()}
        length = np.sqrt(sum(value**2 for value in x.values()))
    else:
        x = {term: count * factors[term] for term, count in known.items()}
        length = sum(x.values())
    weights = dict(zip(COLUMNS.tolist(), channel.weights.astype(float), strict=True))
    return sum((x[term] / length * weights[term] for term in known), channel.intercepts.astype(float))


@pytest.mark.parametrize("weighing", WEIGHINGS)
@given(found=documents)
def test_scores_are_those_of_the_equation(weighing, found):
    channel = make_channel(weighing)
    scores = channel.scores(rows_of(found))
    np.testing.assert_allclose(scores, [slow_scores(channel, row) for row in found], rtol=1e-6)


@pytest.mark.parametrize("weighing", WEIGHINGS)
@given(found=documents)
def test_scores_add_up_over_terms_and_do_not_depend_on_the_batch_or_the_scale(weighing, found):
    channel, rows = make_channel(weighing), rows_of(found)
    scores = channel.scores(rows)
    number, terms, addends = channel.contributions(rows)
    assert set(terms.tolist()) <= set(COLUMNS.tolist())
    sums = np.tile(channel.intercepts.astype(float), (len(found), 1))
    np.add.at(sums, number, addends)
    np.testing.assert_allclose(sums, scores, atol=1e-12)
    alone = [channel.scores(select_rows(rows, np.array([row])))[0] for row in range(len(found))]
    np.testing.assert_array_equal(alone, scores)
    np.testing.assert_allclose(channel.scores(rows._replace(data=rows.data * 0.125)), scores, rtol=1e-12)


def test_long_documents_are_scored_in_blocks(monkeypatch):
    random = np.random.RandomState(0)
    counts = csr_array(random.poisson(0.7, (50, 10)).astype(float))
    channel = make_channel("tfidf")
    whole = channel.scores(counts)
    monkeypatch.setattr("treewass.votes.channels._BLOCK", 20)
    np.testing.assert_array_equal(channel.scores(counts), whole)


def test_counts_with_a_single_word_are_weighed_as_by_scikit_learn():
    counts = csr_array([[1, 3, 0, 2], [0, 1, 1, 0], [4, 1, 0, 0]])
    transformer = TfidfTransformer(sublinear_tf=True).fit(counts)
    expected = transformer.transform(counts).toarray()
    ones = np.eye(4, dtype=np.float32)
    channel = ScoreChannel("tfidf", np.arange(4), transformer.idf_.astype(np.float32), ones, np.zeros(4, np.float32))
    np.testing.assert_allclose(channel.scores(counts), expected, rtol=1e-6)
