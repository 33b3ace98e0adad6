import pytest
from pydantic import ValidationError

from treewass.serve.requests import ExplainRequest, NewDocuments, SearchRequest, SimilarRequest

UNKNOWN = {f"name {number}": 1 for number in range(1000)}


def test_unknown_names_are_one_error_however_many_they_are():
    with pytest.raises(ValidationError, match="Expected k, offset, where, highlight, texts, got name 0") as caught:
        SearchRequest.model_validate({"texts": ["a cat"], **UNKNOWN})
    assert caught.value.error_count() == 1


def test_one_text_where_a_list_is_expected_is_said():
    with pytest.raises(ValidationError, match=r"highlight, texts, got text \(did you mean 'texts'\?\)"):
        SearchRequest.model_validate({"text": "vpn"})
    for request in (SearchRequest, SimilarRequest):
        with pytest.raises(ValidationError, match=r'Expected a list of texts, such as \["a text"\], got one text'):
            request.model_validate({"texts": "vpn"})


def test_unknown_names_within_documents_are_one_error():
    with pytest.raises(ValidationError, match="Expected text, label, title, key, columns, got name 0") as caught:
        NewDocuments.model_validate({"documents": [UNKNOWN] * 100})
    assert caught.value.error_count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"texts": [1] * 100_000},
        {"texts": ["a"], "where": dict.fromkeys(map(str, range(100_000)), True)},
        {"texts": ["a"], "where": {"label": [True] * 100_000}},
        {"texts": ["a"], "where": {str(number): [[True] * 1000] * 20 for number in range(50)}},
        {"documents": [1] * 100_000},
        {"documents": [{"text": "a", "columns": dict.fromkeys(map(str, range(100_000)), True)}]},
    ],
)
def test_wrong_values_are_few_errors_however_many_they_are(fields):
    """Nothing else is answered while errors are collected."""
    with pytest.raises(ValidationError) as caught:
        (NewDocuments if "documents" in fields else SearchRequest).model_validate(fields)
    assert caught.value.error_count() < 500


def test_a_description_still_says_that_no_other_names_are_taken():
    assert SearchRequest.model_json_schema()["additionalProperties"] is False


def test_an_id_in_words_is_refused():
    assert ExplainRequest.model_validate({"first": "a cat", "second": 17}).second == 17
    with pytest.raises(ValidationError, match="Expected an id as a number"):
        ExplainRequest.model_validate({"first": "a cat", "second": "id:17"})
    with pytest.raises(ValidationError, match="an object with a key"):
        ExplainRequest.model_validate({"first": "key:cat-1", "second": 17})
    assert ExplainRequest.model_validate({"first": {"key": "cat-1"}, "second": "key: a cat"}).first.key == "cat-1"
