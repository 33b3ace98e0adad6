import datetime
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewass import DocumentModel
from treewass.model.kept_columns import KeptColumn, check_columns

from .conftest import LABELS, TEXTS

COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
LARGE = st.integers(2**53 - 2, 2**53 + 2) | st.integers(2**63 - 3, 2**63 - 1)  # where floats have gaps
VALUES = st.one_of(
    st.lists(st.none() | st.text(max_size=3)),
    st.lists(st.none() | st.integers(-5, 5)),
    st.lists(st.none() | LARGE),
    st.lists(st.none() | st.integers(-5, 5) | st.floats(-5, 5)),
)


@given(values=VALUES, data=st.data())
def test_a_column_is_a_list_of_values(values, data):
    column = KeptColumn.of(values)
    assert list(column) == values
    cut = data.draw(st.integers(0, len(values)))
    assert list(KeptColumn.of(values[:cut]).joined(values[cut:])) == values
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), dtype=bool)
    kept = column.kept(mask)
    assert list(kept) == [value for value, keep in zip(values, mask, strict=True) if keep]
    assert len(kept.distinct) == len(set(kept) - {None})
    there = [value for value in values if value is not None]
    if there:
        wanted = data.draw(st.sampled_from(there))
        for name, compare in COMPARISONS.items():
            expected = [name == "!=" if value is None else compare(value, wanted) for value in values]
            assert column.matches(name, wanted).tolist() == expected
        several = [wanted, data.draw(st.sampled_from(values))]
        assert column.matches("in", several).tolist() == [value in several for value in values]
    assert column.matches("==", None).tolist() == [value is None for value in values]


@given(
    values=st.lists(LARGE | st.just(0)) | st.lists(LARGE.map(float) | st.just(0.5)),
    wanted=LARGE | LARGE.map(float) | st.just(10**30) | st.just(-1e300),
)
def test_large_numbers_are_compared_exactly(values, wanted):
    column = KeptColumn.of(values)
    for name, compare in COMPARISONS.items():
        assert column.matches(name, wanted).tolist() == [compare(value, wanted) for value in values]


def test_numbers_of_numpy_and_dates_filter_as_plain_values():
    days = [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 1)]
    column = KeptColumn.of(check_columns({"day": days}, 3)["day"])
    assert list(column) == ["2024-01-31", None, "2024-02-01"]
    assert column.matches(">", datetime.date(2024, 1, 31)).tolist() == [False, False, True]
    assert column.matches("<", datetime.datetime(2024, 1, 31, 12)).tolist() == [True, False, False]
    assert column.matches("in", [days[0], None]).tolist() == [True, True, False]
    assert KeptColumn.of([1, 2]).matches("==", np.int64(2)).tolist() == [False, True]
    with pytest.raises(ValueError, match="a value such as 2, got '2024-01-31'"):
        KeptColumn.of([1, 2]).matches("==", days[0])


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"label": ["a", "b"]}, ValueError, "other than id, key, label"),
        ({"year": [1]}, ValueError, r"a value per text \(2\) in column 'year', got 1"),
        ({"year": [1, "x"]}, TypeError, "int and str in row"),
        ({"year": [True, 1]}, TypeError, "bool and int"),
        ({"year": [1.0, float("nan")]}, ValueError, r"row\(s\) 1 hold others"),
        ({"year": [1, 2**64]}, ValueError, r"row\(s\) 1 hold others"),
        ({"name": ["a", "\ud800"]}, ValueError, r"row\(s\) 1 hold others"),
    ],
)
def test_what_cannot_be_kept_is_refused(columns, error, message):
    with pytest.raises(error, match=message):
        check_columns(columns, 2)


def test_a_number_that_would_be_rounded_is_refused():
    with pytest.raises(ValueError, match="up to 2\\^53 in a column that holds fractions too, got 9007199254740993"):
        KeptColumn.of([0.5, 2**53 + 1])
    with pytest.raises(ValueError, match="got 9007199254740993"):
        KeptColumn.of([2**53 + 1]).joined([0.5])


@pytest.fixture(scope="module")
def model():
    """Two of the documents have no label, one no key; years go from 2000 to 2014."""
    made = DocumentModel(n_neighbors=3).fit(
        TEXTS,
        LABELS,
        keys=[f"k{n}" for n in range(15)],
        columns={"year": range(2000, 2015), "odd": [1.5, None, 2] * 5, "place": [None] * 15},
    )
    made.add(["a cat sleeps", "a dog barks"], [None, "dog"], keys=["new", None], columns={"year": [None, 2020]})
    made.add(["the cat and the dog"], titles=["both"], columns={"place": ["Ghent"]})
    return made


def test_documents_have_keys_and_columns(model, tmp_path):
    model.save(tmp_path / "model")
    for one in (model, DocumentModel.load(tmp_path / "model")):
        found = one.document(key="k3")
        assert (found.id, found.key, found.columns) == (3, "k3", {"year": 2003, "odd": 1.5, "place": None})
        assert (one.document(15).label, one.document(15).key, one.document(16).key) == (None, "new", None)
        assert one.document(17).columns == {"year": None, "odd": None, "place": "Ghent"}
        assert [hit.id for hit in one.similar(key="k3", k=17)] == [hit.id for hit in one.similar(TEXTS[3], 18)][1:]
    with pytest.raises(ValueError, match=r"the key 'k99'\."):
        model.document(key="k99")
    with pytest.raises(ValueError, match=r"the key 'K3' \(did you mean 'k3'\?\)\."):
        model.document(key="K3")
    with pytest.raises(ValueError, match=r"holds documents of 'k3'\."):
        model.add(["a cat"], ["cat"], keys=["k3"])
    with pytest.raises(ValueError, match=r"'x' come more than once"):
        model.add(["a cat", "a dog"], keys=["x", "x"])
    with pytest.raises(ValueError, match="either the id or the key"):
        model.document()
    again = DocumentModel.load(tmp_path / "model")
    again.remove([0], keys=["k1"])
    assert again.index_.ids[:2].tolist() == [2, 3]
    with pytest.raises(ValueError, match="k1"):
        again.remove(keys=["k1"])


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"label": "cat"}, [0, 1, 2, 3, 4]),
        ({"label": None}, [15, 17]),
        ({"label": "cat", "year": (">", 2002)}, [3, 4]),
        ({"year": (">=", 2013), "odd": ("!=", 2)}, [13, 16]),
        ({"year": [(">", 2002), ("<=", 2005), ("!=", 2004)]}, [3, 5]),
        ({"year": [2003, 2005, 1]}, [3, 5]),
        ({"year": ["<", 2002]}, [0, 1]),
        ({"year": []}, []),
        ({"place": ["Ghent", "Rome"]}, [17]),
        ({"id": [3, 4], "year": ("<", 10**400)}, [3, 4]),
        ({"place": "Ghent"}, [17]),
        ({"place": "Rome"}, []),
        ({}, list(range(18))),
    ],
)
def test_filters(model, where, expected):
    assert sorted(hit.id for hit in model.similar("a cat and a dog", 99, where=where)) == expected
    allowed = [hit.id for hit in model.similar("a cat and a dog", 99) if hit.id in expected]
    assert [hit.id for hit in model.similar("a cat and a dog", 3, where=where)] == allowed[:3]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"town": "Ghent"}, "a column among id, label, year, odd, place, got 'town'"),
        ({"yearr": 2001}, r"got 'yearr' \(did you mean 'year'\?\)\."),
        ({"year": "2001"}, r"filter on 'year' cannot be used\. Expected a value such as 2020, got '2001'"),
        ({"year": ("~", 1)}, r"Expected a value, a list of values, \(== or != or"),
        ({"year": [(">", 1), ("~", 1)]}, r"Expected a value, a list of values, \(== or"),
        ({"year": [2001, (">", 1)]}, r"Expected a value, a list of values, \(== or"),
        ({"year": ("<", None)}, "Expected a value for year <, got None"),
        ({"year": ("==", [2001])}, "Expected one value for year ==, got 1 in a list"),
        ({"year": ["2001", 2002]}, "Expected a value such as 2020, got '2001'"),
    ],
)
def test_filters_that_cannot_be_used(model, where, message):
    with pytest.raises(ValueError, match=message):
        model.similar("a cat", where=where)


def test_documents_without_a_label_are_found_and_never_vote(model, tmp_path):
    labelled = DocumentModel.load(_saved(model, tmp_path))
    labelled.remove([15, 17])
    queries = ["a cat sleeps", "the cat and the dog"]
    np.testing.assert_array_equal(model.predict_proba(queries), labelled.predict_proba(queries))
    assert model.explain_prediction(queries[0]) == labelled.explain_prediction(queries[0])
    assert [hit.id for hit in model.similar("a cat sleeps", 1)] == [15]
    updated = DocumentModel.load(tmp_path / "model")
    updated.update(["a bird sings", "a bird"], ["bird", None])
    assert updated.classes_.tolist() == ["bird", "car", "cat", "dog"]
    assert [updated.document(number).label for number in (15, 17, 18, 19)] == [None, None, "bird", None]
    assert updated.outline().classes
    with pytest.raises(ValueError, match=r"a label for each text to learn from, but row\(s\) 1"):
        DocumentModel().fit(["a cat", "a dog", "a car"], ["cat", None, "car"])


def _saved(model, folder):
    model.save(folder / "model")
    return folder / "model"


def test_columns_that_the_model_does_not_have_come_with_update_only(model, tmp_path):
    again = DocumentModel.load(_saved(model, tmp_path))
    with pytest.raises(
        ValueError, match=r"has \('year', 'odd', 'place'\), got 'yearr' \(did you mean 'year'\?\)\. Use upd"
    ):
        again.add(["a cat"], columns={"yearr": [2001]})
    assert len(again.index_) == 18
    (number,) = again.update(["a cat"], columns={"town": ["Ghent"]})
    assert again.document(number).columns["town"] == "Ghent"
    plain = DocumentModel(n_neighbors=1).fit(TEXTS, LABELS)
    (number,) = plain.add(["a cat"], columns={"town": ["Ghent"]})  # the first columns of all
    assert plain.document(number).columns == {"town": "Ghent"}


def test_several_texts_are_one_search(model):
    assert model.similar(["a cat", "a dog"], 3) == [model.similar("a cat", 3), model.similar("a dog", 3)]
    with pytest.raises(ValueError, match="more than one of them"):
        model.similar("a cat", id=3)
