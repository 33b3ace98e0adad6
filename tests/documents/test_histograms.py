import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treewass.documents import to_histograms
from treewass.documents.histograms import (
    EmptyDocumentWarning,
    check_counts,
    empty_rows,
    short_bounds,
    warn_about_empty_rows,
)

CONTAINERS = [
    np.array,
    np.ndarray.tolist,
    sp.csr_matrix,
    sp.csc_matrix,
    sp.csr_array,
    sp.csc_array,
    sp.coo_array,
    sp.lil_array,
    sp.dok_array,
    pandas.DataFrame,
    lambda dense: polars.DataFrame(dense, schema=[f"w{word}" for word in range(dense.shape[1])]),
]


@given(
    hnp.arrays(
        st.sampled_from([np.int8, np.uint32, np.int64, np.float32, np.float64, np.bool_]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.integers(0, 1),
    )
)
def test_rows_have_mass_one_or_none(counts):
    histograms = to_histograms(counts)
    assert histograms.dtype == np.float64
    assert histograms.has_canonical_format
    assert (histograms.data > 0).all()
    sums = histograms.sum(axis=1)
    np.testing.assert_allclose(sums, counts.any(axis=1), atol=1e-12)
    assert np.array_equal(empty_rows(histograms), np.flatnonzero(~counts.any(axis=1)))


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_histograms(container):
    counts = np.array([[0, 2, 6], [0, 0, 0], [1, 1, 2]])
    expected = [[0, 0.25, 0.75], [0, 0, 0], [0.25, 0.25, 0.5]]
    assert to_histograms(container(counts)).toarray().tolist() == expected


def test_duplicates_are_summed_and_stored_zeros_dropped():
    counts = sp.csr_array(([1.0, 2.0, 0.0, 1.0], [2, 0, 1, 2], [0, 4]), shape=(1, 3))
    checked = check_counts(counts)
    assert checked.indices.tolist() == [0, 2]
    assert checked.data.tolist() == [2, 2]


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_duplicates_of_a_small_type_do_not_overflow(kind):
    entries = (np.array([100, 100, 100, 1], dtype=kind), ([0, 0, 0, 0], [0, 0, 0, 1]))
    for container in (sp.coo_array, sp.coo_matrix):
        assert to_histograms(container(entries, shape=(1, 2))).toarray().tolist() == [[300 / 301, 1 / 301]]


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="masked array"):
        to_histograms(np.ma.masked_equal([[1, 2]], 2))


def test_the_input_is_left_alone():
    counts = sp.csr_array(([3.0, 1.0], [1, 0], [0, 2]), shape=(1, 2))
    to_histograms(counts).data[:] = 9
    assert counts.data.tolist() == [3, 1]
    assert counts.indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            [[1, -1], [0, 0], [-2, 0]],
            ValueError,
            r"Negative values in data.*2 row\(s\), first 0, 2,.* value -1",
        ),
        ([[1, 0], [np.nan, 0]], ValueError, r"NaN or infinity.*1 row\(s\), first 1, such as the value nan"),
        ([[np.inf, 0]], ValueError, "infinity"),
        ([1, 2], ValueError, "Expected a 2D array .*Reshape your data"),
        ([[["a"]]], ValueError, "2D"),
        ([["a", "b"]], TypeError, "CountVectorizer"),
        ([[1j, 2]], TypeError, "real numbers"),
        ([[1e308, 1e308]], ValueError, "rows 0 overflow"),
        (np.full((9, 2), -1), ValueError, r"9 row\(s\), first 0, 1, 2, 3, 4 and 4 more"),
    ],
)
def test_bad_counts_are_refused(X, error, message):
    with pytest.raises(error, match=message):
        to_histograms(X)


def test_wrong_width_is_refused():
    with pytest.raises(ValueError, match="X has 2 features, but treewass is expecting 3 features"):
        to_histograms([[1, 2]], n_words=3)


def test_empty_rows_are_counted_in_the_warning():
    with pytest.warns(EmptyDocumentWarning, match=r"7 document\(s\) .*rows 0, 1, 2, 3, 4 and 2 more\): they rest"):
        warn_about_empty_rows(np.arange(7), "they rest")


def test_no_warning_without_empty_rows():
    warn_about_empty_rows(np.arange(0), "they rest")


@pytest.mark.parametrize(("last", "kind"), [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_bounds_are_short_where_they_fit(last, kind):
    bounds = np.array([0, 5, last])
    assert short_bounds(bounds).dtype == kind
    assert short_bounds(bounds).tolist() == bounds.tolist()
