import hashlib
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from treewass.documents import docstrings
from treewass.documents.docstrings import load_docstrings

# Written out here, so that a name lost from the module's own list is noticed.
SUBPACKAGES = (
    "cluster constants datasets differentiate fft fftpack integrate interpolate io linalg misc ndimage odr "
    "optimize signal sparse spatial special stats"
)
LABEL_WORD = re.compile(rf"(?:^|[^a-z0-9])(scipy|{SUBPACKAGES.replace(' ', '|')})(?:$|[^a-z0-9])")


@pytest.fixture(scope="module")
def corpus():
    return load_docstrings()


@pytest.fixture(scope="module")
def texts(corpus):
    return dict(zip(corpus.titles, corpus.texts, strict=True))


def digest(corpus):
    rows = zip(corpus.titles, corpus.labels, corpus.texts, strict=True)
    return hashlib.sha256("\n".join("\t".join(row) for row in rows).encode()).hexdigest()


def run(code, *flags, **environment):
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_sizes(corpus):
    assert len(corpus) >= 1000
    assert len(corpus.classes) >= 12
    assert min(corpus.class_counts().values()) >= 10
    assert min(len(text.split()) for text in corpus.texts) >= 5
    assert corpus.parts is None


def test_titles_are_sorted_public_names_and_labels_their_subpackages(corpus):
    assert list(corpus.titles) == sorted(set(corpus.titles))
    for title, label in zip(corpus.titles, corpus.labels, strict=True):
        assert title.startswith(f"scipy.{label}.")
    for title in ("scipy.signal.windows.hann", "scipy.special.gamma", "scipy.sparse.csgraph.dijkstra"):
        assert title in corpus.titles


def test_no_text_and_no_function_comes_twice(corpus):
    assert len(set(corpus.texts)) == len(corpus)
    assert "scipy.special.roots_legendre" in corpus.titles  # the function's own name, not its alias
    assert "scipy.special.p_roots" not in corpus.titles
    assert "scipy.stats.gmean" in corpus.titles  # the shallower of two
    assert "scipy.stats.mstats.gmean" not in corpus.titles


def test_only_functions_of_scipy(corpus):
    assert not {"scipy.stats.norm", "scipy.spatial.KDTree", "scipy.special.sinc"} & set(corpus.titles)


def test_no_label_word_is_left(texts):
    found = {title: LABEL_WORD.search(text.casefold()) for title, text in texts.items()}
    assert {title: match[1] for title, match in found.items() if match} == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r">>>",
        r"https?:|www\.|doi:",
        r"\[\w+\]_",
        r":(?:func|class|ref|math|doi|mod):",
        r"\.\. \w+::|version(?:added|changed)::",
        r"[`*~]|\s\s|\n",
        r"(?i)array api",
        r"(?i)experimental support for python",
        r"optional optional output array for the function",
        r"casting='same_kind'",
        r"-{3}|={3}",
    ],
)
def test_markup_and_boilerplate_are_gone(texts, pattern):
    assert [title for title, text in texts.items() if re.search(pattern, text)] == []


def test_no_word_tells_a_class_alone(corpus):
    """No word stands in most documents of a large class and nowhere else."""
    documents = defaultdict(Counter)
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        for word in set(re.findall(r"\w+", text.casefold())):
            documents[word][label] += 1
    sizes = {label: size for label, size in corpus.class_counts().items() if size >= 40}
    telling = [
        (label, word)
        for word, counts in documents.items()
        for label in sizes
        if counts[label] > 0.5 * sizes[label] and counts[label] > 0.95 * counts.total()
    ]
    assert telling == []


def test_a_text_by_eye(texts):
    text = texts["scipy.linalg.khatri_rao"]
    assert text.startswith("Khatri-Rao product of two matrices. A column-wise Kronecker product")
    assert "a : (n, k) array_like" in text  # Parameters and Notes are kept
    assert "np.kron(a[:, k], b[:, k])" in text
    assert "array([[1, 2, 3], [4, 5, 6]])" not in text  # Examples are not
    assert texts["scipy.special.k1"].startswith("Modified Bessel function of the second kind of order 1, K_1(x)")


@pytest.mark.parametrize(
    ("doc", "passages"),
    [
        (
            "f(x, y, out=None)\n\nf(x,\n  y)\n\nAdd two numbers (of any kind).",
            ["Add two numbers (of any kind)."],
        ),
        ("out = f(x) -> y\n\nAdd.\n\ng(x)", ["Add.", "g(x)"]),
        (
            "Add.\n\nParameters\n----------\nx : int\n    One.\ny : int\n    Two.",
            ["Add.", "x : int One.", "y : int Two."],
        ),
        ("Add.\n\nExamples\n--------\nOne.\n\nNotes\n-----\nTwo.", ["Add.", "Two."]),
        ("Add.\n\nsee also\n--------\nsub\n\nReferences\n----------\nBook.", ["Add."]),
        (
            "Add.\n\n    .. versionadded:: 1.2\n        Since then.\n\n    More.\nEnd.",
            ["Add.", "More.", "End."],
        ),
        ("Add [1]_ more.\n\n.. [1] Someone,\n   a book.\n\n.. math:: a_1 + b", ["Add more.", "a_1 + b"]),
        ("Add.\n\n.. note::\n\n   Mind this.\n\n>>> f(1)\n2\n\nEnd.", ["Add.", "Mind this.", "End."]),
        ("Use :func:`~scipy.signal.windows.hann` or `scipy.fft`.", ["Use hann or ."]),
        ("See :ref:`the guide <tutorial-stats>`, :ref:`fft_x` and :doi:`10.1/x`.", ["See the guide , and ."]),
        (
            "A sparse_array, is_sparse, SciPy's SCIPY_X, fft2 and signals.",
            ["A array, is , 's X, fft2 and signals."],
        ),
        ("At `page <https://a.org/b_c>`__ or http://x.org/y.", ["At page or"]),
        ("Add.\n\nNotes\n-----\nOne.\n\n**Array API Standard Support**\n\n`f` has it.", ["Add.", "One."]),
    ],
)
def test_passages(doc, passages):
    assert list(docstrings._passages(doc)) == passages


def test_repeated_passages_are_dropped_within_their_subpackage():
    pages = [docstrings._Page(f"scipy.io.f{i}", "io", (f"Text {i}.", "The same.")) for i in range(4)]
    pages += [docstrings._Page(f"scipy.fft.f{i}", "fft", (f"Text {i}.", "The same.")) for i in range(3)]
    kept = [page.passages for page in docstrings._without_boilerplate(pages)]
    assert kept[:4] == [(f"Text {i}.",) for i in range(4)]
    assert kept[4:] == [(f"Text {i}.", "The same.") for i in range(3)]


def test_deprecated_functions_are_left_out(monkeypatch):
    rows = [
        (False, "scipy.io.old", "Read.\n\nDeprecated: use new."),
        (False, "scipy.io.gone", "Deprecated alias."),
    ]
    monkeypatch.setattr(docstrings, "_functions", lambda: iter(rows))
    assert [page.title for page in docstrings._pages()] == ["scipy.io.old"]


def test_same_bytes_in_another_process_and_no_warning(corpus):
    code = (
        "import scipy.stats, sklearn.pipeline, hashlib\n"
        "from treewass.documents.docstrings import load_docstrings\n"
        "corpus = load_docstrings()\n"
        "rows = zip(corpus.titles, corpus.labels, corpus.texts, strict=True)\n"
        "text = '\\n'.join('\\t'.join(row) for row in rows)\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    result = run(code, "-W", "error", PYTHONHASHSEED="1", COLUMNS="40", SCIPY_ARRAY_API="1")
    assert (result.stdout.strip(), result.stderr) == (digest(corpus), "")


def test_missing_docstrings_are_refused(monkeypatch):
    rows = [(False, "scipy.io.one", "Read one."), (False, "scipy.io.two", ""), (False, "scipy.io.three", "")]
    monkeypatch.setattr(docstrings, "_functions", lambda: iter(rows))
    with pytest.raises(ValueError, match="SciPy's 3 public functions to have docstrings, found 1"):
        load_docstrings()


@pytest.mark.slow
def test_optimised_python_is_refused():
    result = run("from treewass.documents.docstrings import load_docstrings; load_docstrings()", "-OO")
    assert result.returncode != 0
    assert "Run Python without -OO" in result.stderr
