import gzip
import io
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.documents.test_word_vectors import VECTORS, WORDS, assert_same
from treewass.documents import vector_files
from treewass.documents.vector_files import read_word_vectors

file_words = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs"], exclude_characters="\ufeff"), min_size=1, max_size=6
)
finite_floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def vector_tables(draw):
    words = draw(st.lists(file_words, min_size=1, max_size=8, unique=True))
    shape = (len(words), draw(st.integers(2, 5)))
    return tuple(words), draw(hnp.arrays(np.float32, shape, elements=finite_floats))


def encode_rows(words, vectors):
    rows = zip(words, np.asarray(vectors).tolist(), strict=True)
    return "".join(f"{word} {' '.join(map(repr, vector))}\n" for word, vector in rows).encode()


def encode_header(vectors):
    return "{} {}\n".format(*np.shape(vectors)).encode()


def encode_binary(words, vectors, after=b""):
    rows = zip(words, np.asarray(vectors, dtype="<f4"), strict=True)
    return encode_header(vectors) + b"".join(word.encode() + b" " + row.tobytes() + after for word, row in rows)


def write(path, data):
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def write_format(folder, format, words, vectors, *, zipped=""):
    """Write the vectors under a name that tells the format."""
    if format == "npz":
        return write_npz(folder / "vectors.npz", words=np.array(words, dtype=str), vectors=vectors)
    if format == "binary":
        return write(folder / f"vectors.bin{zipped}", encode_binary(words, vectors))
    header = encode_header(vectors) if format == "word2vec" else b""
    return write(folder / f"vectors.txt{zipped}", header + encode_rows(words, vectors))


class TestReading:
    @pytest.mark.parametrize("zipped", ["", ".gz"])
    @pytest.mark.parametrize("format", ["word2vec", "glove", "binary"])
    def test_every_streamed_format(self, tmp_path, format, zipped):
        path = write_format(tmp_path, format, WORDS, VECTORS, zipped=zipped)
        for given_format in (None, format):
            read = read_word_vectors(str(path), format=given_format)
            assert_same(read, WORDS, VECTORS)
            assert not read.vectors.flags.writeable

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
    @pytest.mark.parametrize("encode", [np.array, lambda words: np.array([word.encode() for word in words])])
    def test_npz(self, tmp_path, dtype, encode):
        path = write_npz(tmp_path / "vectors.npz", words=encode(WORDS), vectors=VECTORS.astype(dtype))
        assert_same(read_word_vectors(path), WORDS, VECTORS.astype(dtype))

    def test_words_at_the_start_of_the_file_are_kept_too(self, tmp_path):
        path = tmp_path / "vectors.txt"
        path.write_text("the 1 2\nof 3 4\nand 5 6\ncat 7 8\n")
        assert read_word_vectors(path, vocabulary=["cat", "the"], n_first=2).words == ("the", "of", "cat")
        assert read_word_vectors(path, vocabulary=["yeti"], n_first=1).words == ("the",)

    @pytest.mark.parametrize("format", ["word2vec", "glove", "binary", "npz"])
    def test_only_the_vocabulary_is_kept(self, tmp_path, format):
        path = write_format(tmp_path, format, WORDS, VECTORS)
        read = read_word_vectors(path, vocabulary={"5", "absent", "the"})
        assert_same(read, ("the", "5"), VECTORS[[0, 7]])

    @pytest.mark.parametrize("format", ["word2vec", "glove", "binary", "npz"])
    @pytest.mark.parametrize("vocabulary", [None, ["a", "b"]])
    def test_the_first_of_repeated_words_wins(self, tmp_path, format, vocabulary):
        vectors = np.arange(8, dtype=np.float32).reshape(4, 2)
        path = write_format(tmp_path, format, ("a", "b", "a", "b"), vectors)
        assert_same(read_word_vectors(path, vocabulary=vocabulary), ("a", "b"), vectors[:2])

    @pytest.mark.parametrize("format", ["word2vec", "glove", "binary", "npz"])
    def test_no_word_of_the_vocabulary(self, tmp_path, format):
        path = write_format(tmp_path, format, WORDS, VECTORS)
        with pytest.raises(ValueError, match=r"vectors\..*: None of the 1 words .*\('THE'\).*start with 'the', 'Köln'"):
            read_word_vectors(path, vocabulary=["THE"])

    @pytest.mark.parametrize("format", ["word2vec", "glove", "binary", "npz"])
    def test_numbers_that_are_not_finite(self, tmp_path, format):
        vectors = VECTORS.copy()
        vectors[1, 2] = np.nan
        path = write_format(tmp_path, format, WORDS, vectors)
        with pytest.raises(ValueError, match=r"vectors\..*: Expected vectors that are finite.*: 'Köln'\."):
            read_word_vectors(path)
        assert_same(read_word_vectors(path, vocabulary=["the"]), ("the",), VECTORS[:1])

    @pytest.mark.parametrize("format", ["glove", "npz"])
    def test_numbers_too_large_for_float32(self, tmp_path, format):
        path = write_format(tmp_path, format, ("a", "b"), np.array([[1.0, 2.0], [1e60, 0.0]]))
        with pytest.raises(ValueError, match=r"finite in float32.*: 'b'"):
            read_word_vectors(path)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
    @given(table=vector_tables(), format=st.sampled_from(["word2vec", "glove", "binary", "npz"]))
    def test_any_vectors_survive(self, tmp_path, table, format):
        path = write_format(tmp_path, format, *table)
        assert_same(read_word_vectors(path, format=format), *table)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
    @given(table=vector_tables(), chunk=st.integers(1, 40), after=st.sampled_from([b"", b"\n"]))
    def test_binary_in_chunks_of_any_size(self, tmp_path, table, chunk, after):
        path = write(tmp_path / "vectors.bin", encode_binary(*table, after=after))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(vector_files, "_CHUNK_BYTES", chunk)
            assert_same(read_word_vectors(path), *table)


class TestText:
    def test_words_with_spaces(self, tmp_path):
        words = ("the", ". . .", "at name@domain.com", "x")
        path = write(tmp_path / "glove.txt", encode_rows(words, VECTORS[:4]))
        assert_same(read_word_vectors(path), words, VECTORS[:4])

    def test_tabs_blank_lines_trailing_spaces_and_byte_order_mark(self, tmp_path):
        path = write(tmp_path / "v.vec", b"\xef\xbb\xbf2 2 \r\n\na\t1\t2 \r\nb 3  4\n\n")
        assert_same(read_word_vectors(path), "ab", [[1, 2], [3, 4]])

    def test_bytes_that_are_not_utf_8_are_replaced(self, tmp_path):
        path = write(tmp_path / "v.txt", b"f\xfcr 1 2\nx 3 4\n")
        assert read_word_vectors(path).words == ("f\ufffdr", "x")

    def test_a_first_line_of_two_integers_is_a_header_unless_told_otherwise(self, tmp_path):
        path = write(tmp_path / "v.txt", b"1 2\na 3 4\n")
        assert read_word_vectors(path).words == ("a",)
        with pytest.raises(ValueError, match="line 2: expected a word and 1 numbers, found 3 fields"):
            read_word_vectors(path, format="glove")

    @pytest.mark.parametrize("row", [b"b 1", b"b 1 2 3", b"b", b"1 2"])
    @pytest.mark.parametrize(("header", "line"), [(b"", 3), (b"3 2\n", 4)])
    @pytest.mark.parametrize("vocabulary", [None, ["c"]])
    def test_a_wrong_number_of_columns(self, tmp_path, header, line, row, vocabulary):
        path = write(tmp_path / "v.txt", header + b"a 1 2\n\n" + row + b"\nc 1 2\n")
        with pytest.raises(
            ValueError, match=rf"v\.txt: line {line}: expected a word and 2 numbers, found {len(row.split())} f"
        ):
            read_word_vectors(path, vocabulary=vocabulary)

    def test_what_is_not_a_number(self, tmp_path):
        path = write(tmp_path / "v.txt", b"a 1 2\nb 1 two\nc 3 4\n")
        with pytest.raises(ValueError, match=r"v\.txt: line 2: expected a number, found 'two'"):
            read_word_vectors(path)
        assert read_word_vectors(path, vocabulary=["c"]).words == ("c",)

    def test_prose_is_refused_whatever_the_vocabulary(self, tmp_path):
        path = write(tmp_path / "v.txt", b"some other text\nof the same width\n")
        with pytest.raises(ValueError, match="line 1: expected a number, found 'other'"):
            read_word_vectors(path, vocabulary=["of"])

    @pytest.mark.parametrize("n_words", [1, 3])
    def test_a_header_that_counts_otherwise(self, tmp_path, n_words):
        path = write(tmp_path / "v.txt", b"%d 2\na 1 2\nb 3 4\n" % n_words)
        with pytest.raises(ValueError, match=rf"the header promises {n_words} words, but 2 follow"):
            read_word_vectors(path)

    @pytest.mark.parametrize("header", [b"a 1 2", b"2", b"2 0", b"2 2 2", b"-2 2"])
    @pytest.mark.parametrize("format", ["word2vec", "binary"])
    def test_no_header_where_there_must_be_one(self, tmp_path, header, format):
        path = write(tmp_path / "v", header + b"\na 1 2\n")
        with pytest.raises(ValueError, match=rf"line 1: expected a header of two numbers, .*found '{header.decode()}"):
            read_word_vectors(path, format=format)

    def test_a_binary_file_under_another_name(self, tmp_path):
        path = write(tmp_path / "v.dat", encode_binary(WORDS, VECTORS))
        with pytest.raises(ValueError, match=r"line \d+: .*format='binary'"):
            read_word_vectors(path)
        assert_same(read_word_vectors(path, format="binary"), WORDS, VECTORS)


class TestBinary:
    def test_bytes_that_are_not_utf_8_are_replaced(self, tmp_path):
        path = write(tmp_path / "v.bin", b"1 1\nf\xfcr " + np.float32(1).tobytes())
        assert read_word_vectors(path).words == ("f\ufffdr",)

    def test_every_truncation_is_noticed(self, tmp_path):
        data = encode_binary(("a", "bc"), VECTORS[:2, :3])
        for n_bytes in range(4, len(data)):
            number = 1 if n_bytes < 4 + 14 else 2
            path = write(tmp_path / "v.bin", data[:n_bytes])
            with pytest.raises(ValueError, match=f"promises 2 words of 3 dimensions, but word {number} has no end"):
                read_word_vectors(path)

    def test_more_words_than_the_header_promises(self, tmp_path):
        data = encode_binary(("a", "b"), VECTORS[:2]).replace(b"2 7\n", b"1 7\n")
        with pytest.raises(ValueError, match="promises 1 words, but more bytes follow word 1"):
            read_word_vectors(write(tmp_path / "v.bin", data))

    def test_a_file_without_spaces_is_given_up_early(self):
        stream = io.BytesIO(b"2 7\n" + b"x" * 5_000_000)
        with pytest.raises(ValueError, match="word 1 has no end"):
            vector_files._read_binary(stream, vector_files._Selection(None))
        assert stream.tell() < 3_000_000

    @pytest.mark.parametrize("header", [b"999999999999 7\n", b"2 999999999999\n"])
    def test_an_absurd_header_allocates_nothing(self, tmp_path, header):
        path = write(tmp_path / "v.bin", header + encode_binary(("a",), VECTORS[:1]).partition(b"\n")[2])
        with pytest.raises(ValueError, match="has no end: the file is truncated, or the header is wrong"):
            read_word_vectors(path)


class TestNpz:
    def test_object_arrays_are_never_unpickled(self, tmp_path):
        path = write_npz(tmp_path / "v.npz", words=np.array(["a", "b"], dtype=object), vectors=np.zeros((2, 3)))
        with pytest.raises(ValueError, match=r"v\.npz: the array 'words' cannot be read .*allow_pickle.*dtype=str"):
            read_word_vectors(path)

    def test_missing_arrays_say_what_was_found(self, tmp_path):
        path = write_npz(tmp_path / "v.npz", words=np.array(["a"]), embeddings=np.zeros((1, 3)))
        with pytest.raises(ValueError, match="expected the arrays 'words' and 'vectors', found 'words', 'embeddings'"):
            read_word_vectors(path)

    @pytest.mark.parametrize(
        ("words", "vectors", "message"),
        [
            (["a", "b"], np.zeros((3, 2)), r"for 2 words; got the shape \(3, 2\)"),
            (["a", "b"], np.zeros(2), r"for 2 words; got the shape \(2,\)"),
            ([], np.zeros((0, 2)), "for 0 words"),
            ([1, 2], np.zeros((2, 2)), "expected 'words' to hold strings, found the dtype int64"),
            (["a", "b"], np.zeros((2, 2), dtype=np.int32), "expected 'vectors' to hold floats, found the dtype int32"),
        ],
    )
    def test_wrong_arrays(self, tmp_path, words, vectors, message):
        words = np.array(words, dtype=None if words else str)
        with pytest.raises(ValueError, match=rf"v\.npz: .*{message}"):
            read_word_vectors(write_npz(tmp_path / "v.npz", words=words, vectors=vectors))

    def test_what_is_not_an_npz_file(self, tmp_path):
        path = write_format(tmp_path, "npz", WORDS, VECTORS)
        whole = path.read_bytes()
        for data in (b"", b"words", whole[:-30]):
            path.write_bytes(data)
            with pytest.raises(ValueError, match="expected an npz file"):
                read_word_vectors(path)

    def test_damaged_bytes(self, tmp_path):
        path = write_format(tmp_path, "npz", WORDS, VECTORS)
        data = path.read_bytes()
        where = data.index(VECTORS.tobytes())
        path.write_bytes(data[:where] + b"\xff\xff" + data[where + 2 :])
        with pytest.raises(ValueError, match=r"the array 'vectors' cannot be read \(Bad CRC"):
            read_word_vectors(path)


class TestPaths:
    def test_a_path_without_anything(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"There is no file .*nothing\.txt"):
            read_word_vectors(tmp_path / "nothing.txt")

    def test_a_folder(self, tmp_path):
        with pytest.raises(ValueError, match="is a folder; pass the path of a file"):
            read_word_vectors(tmp_path)

    def test_an_unknown_format(self, tmp_path):
        with pytest.raises(ValueError, match="one of word2vec, binary, glove, npz, got 'fasttext'"):
            read_word_vectors(tmp_path, format="fasttext")

    @pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.txt.gz", "v.bin.gz"])
    def test_an_empty_file(self, tmp_path, name):
        with pytest.raises(ValueError, match=r"v\..*: .*found (none: the file is empty|an empty file)"):
            read_word_vectors(write(tmp_path / name, b""))

    @pytest.mark.parametrize("name", ["v.txt", "v.bin"])
    def test_a_header_alone(self, tmp_path, name):
        with pytest.raises(ValueError, match="expected word vectors, found none"):
            read_word_vectors(write(tmp_path / name, b"0 5\n"))

    def test_a_string_as_vocabulary(self, tmp_path):
        path = write_format(tmp_path, "glove", WORDS, VECTORS)
        with pytest.raises(TypeError, match="sequence of strings"):
            read_word_vectors(path, vocabulary="the")

    @pytest.mark.parametrize("format", ["glove", "binary"])
    def test_a_truncated_gzip_file(self, tmp_path, format):
        path = write_format(tmp_path, format, WORDS, VECTORS, zipped=".gz")
        path.write_bytes(path.read_bytes()[:-12])
        with pytest.raises(ValueError, match=r"vectors\..*\.gz: the gzip file is broken \(Compressed file ended"):
            read_word_vectors(path)


@pytest.mark.data
def test_glove_vectors_of_the_text_sets(data_folder):
    path = data_folder / "word_vectors.npz"
    vectors = read_word_vectors(path)
    assert (len(vectors), vectors.n_dimensions) == (85512, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aligned = read_word_vectors(path, vocabulary=["stock", "bank"]).align(["bank", "stock"])
    np.testing.assert_array_equal(aligned.vectors[0], vectors.vectors[vectors.words.index("bank")])
