import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load_file, save

from treewass.storage.tensors import read_tensors, write_tensors

KINDS = ("?", "u1", "u2", "i4", "u4", "f4", "i8", "u8", "f8")
ARRAYS = st.sampled_from(KINDS).flatmap(lambda kind: arrays.arrays(kind, arrays.array_shapes(min_side=0, max_dims=4)))
NAMED = st.dictionaries(st.text(max_size=9), ARRAYS, max_size=5)


@given(NAMED)
def test_safetensors_reads_what_is_written_here(tmp_path_factory, named):
    path = tmp_path_factory.mktemp("tensors") / "arrays.safetensors"
    write_tensors(path, named)
    found = load_file(path)
    assert found.keys() == named.keys()
    for mmap in (True, False):
        ours = read_tensors(path, mmap=mmap)
        for name, array in named.items():
            for read in (found[name], ours[name]):
                assert read.dtype == array.dtype
                np.testing.assert_array_equal(read, array)
            assert ours[name].flags.aligned


def test_what_safetensors_writes_is_read_here(tmp_path):
    named = {"one": np.arange(6.0).reshape(2, 3), "two": np.array([True, False])}
    (tmp_path / "file").write_bytes(save(named, metadata={"made": "elsewhere"}))
    for name, array in read_tensors(tmp_path / "file", mmap=True).items():
        np.testing.assert_array_equal(array, named[name])


def test_arrays_that_are_not_contiguous_are_written_as_they_are(tmp_path):
    array = np.arange(12).reshape(3, 4).T[::2]
    write_tensors(tmp_path / "file", {"array": array})
    np.testing.assert_array_equal(read_tensors(tmp_path / "file", mmap=False)["array"], array)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("[" * 100_000, "Expected a header of JSON in file"),
        ("[]", "a header that names arrays"),
        ('{"a": 1}', "kind, shape and offsets of 'a'"),
        ('{"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}', "to lie within the 8 bytes"),
        ('{"a": {"dtype": "U8", "shape": [7], "data_offsets": [1, 8]}}', "overlap or leave a gap"),
        ('{"a": {"dtype": "U8", "shape": [7], "data_offsets": [0, 7]}}', "Expected 7 bytes of arrays"),
        ('{"a": {"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}}', "zeros and ones"),
    ],
)
def test_damaged_headers_are_refused(header, message, tmp_path):
    (tmp_path / "file").write_bytes(len(header).to_bytes(8, "little") + header.encode() + b"\x07" * 8)
    with pytest.raises(ValueError, match=message):
        read_tensors(tmp_path / "file", mmap=True)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="longer than the file"):
        read_tensors(tmp_path / "file", mmap=True)


def test_the_header_is_plain_json(tmp_path):
    write_tensors(tmp_path / "file", {"ids": np.arange(3)})
    content = (tmp_path / "file").read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert (8 + length) % 64 == 0
    assert json.loads(content[8 : 8 + length]) == {"ids": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]}}
