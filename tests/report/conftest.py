import pytest

from tests.report.cases import labelled_texts
from treewass import DocumentModel


@pytest.fixture(scope="module")
def case():
    texts, labels, wrong = labelled_texts()
    return DocumentModel(n_neighbors=9).fit(texts, labels), wrong
