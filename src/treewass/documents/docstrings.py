"""The docstrings of SciPy's public functions, labelled by subpackage."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from treewass.documents.corpus import Corpus

__all__ = ["load_docstrings"]

# The modules in which SciPy's API reference lists functions, "" for the subpackage itself. Deprecated
# subpackages and the wrappers of Fortran routines (scipy.linalg.blas, scipy.linalg.lapack) are left out.
_MODULES = {
    "cluster": ("hierarchy", "vq"),
    "constants": ("",),
    "datasets": ("",),
    "differentiate": ("",),
    "fft": ("",),
    "fftpack": ("",),
    "integrate": ("",),
    "interpolate": ("",),
    "io": ("", "arff", "matlab", "wavfile"),
    "linalg": ("", "interpolative"),
    "ndimage": ("",),
    "optimize": ("", "elementwise"),
    "signal": ("", "windows"),
    "sparse": ("", "csgraph", "linalg"),
    "spatial": ("", "distance", "transform"),
    "special": ("",),
    "stats": ("", "contingency", "mstats", "qmc", "sampling"),
}
_LABEL_WORDS = (*_MODULES, "misc", "odr", "scipy")
_SMALLEST_CLASS = 10
_FEWEST_WORDS = 5

# A passage is boilerplate if it occurs word for word in this share of a subpackage's docstrings (and in
# more than the number below). A hundred copies of one sentence give a label away as surely as its name does.
_BOILERPLATE_SHARE = 0.05
_BOILERPLATE_COPIES = 3

_SECTIONS_KEPT = {"parameters", "other parameters", "returns", "yields", "raises", "warns", "warnings", "notes"}
_SECTIONS_DROPPED = {"attributes", "example", "examples", "methods", "references", "see also"}
_DIRECTIVES_KEPT = {"math", "note", "warning"}
_ARRAY_SUPPORT = "**Array API Standard Support**"

# What a passage about the calling interface begins with: a universal function's `out`, the array backends.
_INTERFACE_NOTE = re.compile(r"out : (?:tuple of )?ndarrays?, optional|\**Array API support", re.IGNORECASE)
_SIGNATURE = re.compile(r"(?:[\w, ]+=\s*)?[\w.]+\(.*\)(?:\s*->.*)?", re.DOTALL)
_UNDERLINE = re.compile(r"[-=~]{3,}\s*")
_MARKUP = re.compile(r"\s*\.\.(?!\.)\s*(?:([\w-]+)\s*::)?")
_TITLED_ROLE = re.compile(r":[\w:-]+:`([^`<]+)<[^`>]*>`")
_TARGET_ROLE = re.compile(r":(?:ref|doc|doi|arxiv|numref|math:numref):`[^`]*`", re.IGNORECASE)
_ROLE = re.compile(r":[\w:-]+:(?=`)")
_URL = re.compile(r"(?:https?://|ftp://|www\.|doi:)[^\s>`]+", re.IGNORECASE)
_CITATION = re.compile(r"\[[\w.+-]+\]_")
# A label word with no letter or digit next to it; of a dotted path, all before the last name.
_LABEL_WORD = re.compile(rf"(?<![^\W_])(?:{'|'.join(_LABEL_WORDS)})(?:\.(?:\w+\.)*(?=\w)|(?![^\W_]))", re.IGNORECASE)
_ORNAMENT = re.compile(r"[`*~]+|<\s+>|_(?<!\w_)_*|_+(?!\w)|[-=^]{3,}|::(?=\s|$)")


class _Page(NamedTuple):
    """A function's public name and the cleaned passages of its docstring."""

    title: str
    label: str
    passages: tuple[str, ...]


def load_docstrings() -> Corpus:
    """Load the docstrings of SciPy's public functions, labelled by subpackage.

    A document is a function that one of SciPy's public modules names in its ``__all__``: a Python or
    compiled function or a universal function, defined by SciPy itself; classes and the distribution
    objects of :mod:`scipy.stats` are not functions. Its label is the subpackage (``"signal"`` for
    ``scipy.signal.windows.hann``), its title the dotted name.

    What would give the label away, or is not about the function, is taken out of the text: signatures,
    the sections Examples, References and See Also, version and deprecation notes, the notes on array
    backends, code, citation marks, addresses, section headings, and every passage (a paragraph or a
    parameter's entry) that one subpackage repeats word for word in more than three, and in at least
    5 %, of its docstrings. Last, the word "scipy" and the names of all subpackages are taken out
    wherever they are a whole word; an underscore counts as a space. Of a dotted path that begins
    with one of them, only the last name is kept.

    Left out are functions that are deprecated, texts of fewer than five words, and subpackages of fewer
    than ten documents. Of functions with one docstring, or one text, the name that the function itself
    bears is kept, then the shallower, then the alphabetically first. Documents are sorted by title.

    Returns
    -------
    corpus : Corpus
        With SciPy 1.17: 1248 documents in 14 classes. The same, byte for byte, on every run with one
        version of SciPy.

    Raises
    ------
    ValueError
        If SciPy has no docstrings, as under ``python -OO``.

    Examples
    --------
    >>> corpus = load_docstrings()
    >>> text = corpus.texts[corpus.titles.index("scipy.ndimage.gaussian_filter")]
    >>> text[:56]
    'Multidimensional Gaussian filter. sigma : scalar or sequ'
    """
    texts: dict[str, _Page] = {}
    for page in _without_boilerplate(_pages()):
        text = " ".join(page.passages)
        if len(re.findall(r"\w+", text)) >= _FEWEST_WORDS:
            texts.setdefault(text, page)
    sizes = Counter(page.label for page in texts.values())
    rows = sorted(
        (page.title, page.label, text) for text, page in texts.items() if sizes[page.label] >= _SMALLEST_CLASS
    )
    titles, labels, kept = zip(*rows, strict=True)
    return Corpus("scipy docstrings", kept, labels, titles)


def _pages() -> list[_Page]:
    """Clean the distinct docstrings, the preferred name of each first."""
    functions = sorted(_functions(), key=lambda row: (row[0], row[1].count("."), row[1]))
    titles: dict[str, str] = {}
    for _, title, doc in functions:
        titles.setdefault(doc, title)
    pages = []
    for doc, title in titles.items():
        passages = tuple(_passages(inspect.cleandoc(doc)))
        if passages and "deprecated" not in passages[0].casefold():
            pages.append(_Page(title, title.split(".")[1], passages))
    if len(pages) < len(functions) / 2:
        raise ValueError(
            f"Expected SciPy's {len(functions)} public functions to have docstrings, found {len(pages)}. "
            "Run Python without -OO (PYTHONOPTIMIZE=2), with a SciPy that was not stripped of its docstrings."
        )
    return pages


def _functions() -> Iterator[tuple[bool, str, str]]:
    """Yield, per public name, whether the function goes by another name, the dotted name, the docstring."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for path in (f"scipy.{label}.{name}".rstrip(".") for label in _MODULES for name in _MODULES[label]):
            try:
                module = importlib.import_module(path)
            except ModuleNotFoundError:  # a subpackage newer than this SciPy
                continue
            for name in sorted(set(module.__all__)):
                function = getattr(module, name)
                if _is_function(function):
                    own_name = getattr(function, "__name__", name)
                    yield own_name != name, f"{path}.{name}", function.__doc__ or ""


def _is_function(value: object) -> bool:
    """Return whether a public name is a function of SciPy's own: no class, distribution or NumPy function."""
    if not callable(value) or isinstance(value, type) or hasattr(value, "rvs"):
        return False
    home = getattr(inspect.unwrap(value), "__module__", None) or "scipy"  # universal functions name no module
    return home.partition(".")[0] == "scipy"


def _without_boilerplate(pages: list[_Page]) -> Iterator[_Page]:
    """Take out of each page the passages that its subpackage repeats."""
    sizes = Counter(page.label for page in pages)
    copies = Counter((page.label, passage) for page in pages for passage in set(page.passages))
    for page in pages:
        most = max(_BOILERPLATE_COPIES, math.ceil(_BOILERPLATE_SHARE * sizes[page.label]) - 1)
        yield page._replace(passages=tuple(passage for passage in page.passages if copies[page.label, passage] <= most))


def _passages(doc: str) -> Iterator[str]:
    """Yield the cleaned paragraphs and parameter entries of a docstring."""
    blocks: list[list[str]] = [[]]
    previous = ""
    for line in _prose(_body(doc.splitlines())):
        if not line.strip() or (previous.startswith(" ") and not line.startswith(" ")):
            blocks.append([])
        blocks[-1].append(line)
        previous = line
    signatures_end = False
    for block in blocks:
        text = "\n".join(block).strip()
        if text and not signatures_end and _SIGNATURE.fullmatch(text):
            continue
        signatures_end = signatures_end or bool(text)
        if not _INTERFACE_NOTE.match(text) and (cleaned := _clean(text)):
            yield cleaned


def _body(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the sections that are kept, with blank lines for headings."""
    keep = True
    for line, following in pairwise([*lines, ""]):
        heading = line.strip().casefold()
        if _UNDERLINE.fullmatch(following) and heading in _SECTIONS_KEPT | _SECTIONS_DROPPED:
            keep = heading in _SECTIONS_KEPT
            yield ""
        elif heading == _ARRAY_SUPPORT.casefold():
            keep = False
        elif keep:
            yield "" if _UNDERLINE.fullmatch(line) else line


def _prose(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines without doctests, citations and directives, but with the text of notes and formulas."""
    dropped_indent: int | None = None
    in_doctest = False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        blank = not line.strip()
        in_doctest = not blank and (in_doctest or line.lstrip().startswith(">>>"))
        if dropped_indent is not None and not blank and indent <= dropped_indent:
            dropped_indent = None
        if in_doctest or dropped_indent is not None:
            yield ""
        elif markup := _MARKUP.match(line):
            if markup[1] in _DIRECTIVES_KEPT:
                yield " " * indent + line[markup.end() :]
            else:
                dropped_indent = indent
                yield ""
        else:
            yield line


def _clean(text: str) -> str:
    """Take marks, addresses and label words out of a passage and set it on one line."""
    text = _TITLED_ROLE.sub(r"\1", text)
    text = _TARGET_ROLE.sub(" ", text)
    text = _ROLE.sub("", text)
    text = _URL.sub(" ", text)
    text = _CITATION.sub(" ", text)
    text = _LABEL_WORD.sub(" ", text)
    text = _ORNAMENT.sub(" ", text)
    return " ".join(text.split())
