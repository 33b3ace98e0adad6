import pytest
from matplotlib import pyplot

from treewass import DocumentModel
from treewass.documents import make_documents
from treewass.explain import tree_outline


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def small():
    return DocumentModel(n_neighbors=1).fit(
        ["cats purr $x$", "dogs bark", "cats sleep", "dogs sleep"], ["cat", "dog"] * 2
    )


@pytest.fixture(scope="module")
def large():
    from treewass import ProfileTreeWasserstein

    X, y = make_documents(400, n_words=5000, words_per_document=60, n_classes=6, random_state=0)
    metric = ProfileTreeWasserstein(refine=False, arity=8, depth=3, min_split=1).fit(X, y).metric_
    return tree_outline(metric, X, y, [f"word{number}" for number in range(5000)])
