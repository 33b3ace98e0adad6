"""Reading the public texts of the sets: what `read_corpus` reads, three forms of their own, and 20 newsgroups."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from treewass.documents import Corpus, read_corpus
from treewass.documents.file_opening import open_text

__all__ = [
    "fetch_newsgroups",
    "read_marked_lines",
    "read_reviews",
    "read_smart",
    "read_texts",
    "with_classes",
]

_REVIEW = re.compile(r"<review_text>(.*?)</review_text>", re.DOTALL)
_REVIEW_FILES = ("negative.review", "positive.review")
_SMART_DOCUMENT = re.compile(r"^\.I\s+\d+\s*$", re.MULTILINE)
_SMART_FIELD = re.compile(r"^\.([A-Z])[ \t]*$", re.MULTILINE)
_SECONDS = 0.1  # before scikit-learn tries once more


def read_texts(
    source: str | os.PathLike[str],
    test: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    text: str = "text",
    label: str = "label",
) -> Corpus:
    """Read the texts of a set from one public file or folder, or from one for training and one for testing.

    Parameters
    ----------
    source : path-like
        All documents, or those that train.
    test : path-like, optional
        Those that test.
    format : {"reviews", "smart"} or a format of `read_corpus`, optional
        ``"reviews"``: see `read_reviews`; ``"smart"``: see `read_smart`. The name tells by default.
    encoding : str, default="utf-8"
        The encoding of the files.
    text, label : str
        Columns of a table.

    Returns
    -------
    Corpus
        Without the quotation marks around labels; with parts if `test` is given, or the source has them.
    """
    own: dict[str, Callable[..., Corpus]] = {"reviews": read_reviews, "smart": read_smart}

    def read(path: str | os.PathLike[str]) -> Corpus:
        if format in own:
            return own[format](path, encoding)
        settings: dict[str, Any] = {"format": format, "encoding": encoding, "text": text, "label": label}
        return read_corpus(path, part="split" if test is None else None, **settings)

    train = read(source)
    if test is None:
        return _tidied(train.name, train.texts, train.labels or (), train.parts)
    other = read(test)
    parts = ("train",) * len(train) + ("test",) * len(other)
    return _tidied(train.name, train.texts + other.texts, (*(train.labels or ()), *(other.labels or ())), parts)


def read_marked_lines(texts: str | os.PathLike[str], marks: str | os.PathLike[str], encoding: str = "utf-8") -> Corpus:
    """Read a file of a text a line, and one of a name, ``train`` or ``test`` and a label, with tabs, a line.

    Parameters
    ----------
    texts, marks : path-like
        The two files, line by line the same documents.
    encoding : str, default="utf-8"
        Of both.

    Returns
    -------
    Corpus
        With parts.
    """
    texts, marks = Path(texts), Path(marks)
    lines, marked = _lines(texts, encoding), [line.split("\t") for line in _lines(marks, encoding)]
    if len(lines) != len(marked):
        raise ValueError(f"Expected a mark a text, but {marks} has {len(marked)} lines and {texts} has {len(lines)}.")
    bad = [
        number
        for number, fields in enumerate(marked, start=1)
        if len(fields) != 3 or not fields[1].startswith(("train", "test")) or not fields[2].strip()
    ]
    if bad:
        raise ValueError(
            f"{marks}: expected a name, train or test and a label, with tabs between them, on each line; "
            f"{len(bad)} of {len(marked)} lines are others, the first is line {bad[0]}."
        )
    parts = tuple("train" if fields[1].startswith("train") else "test" for fields in marked)
    return _tidied(texts.name, lines, (fields[2] for fields in marked), parts)


def read_reviews(folder: str | os.PathLike[str], encoding: str = "utf-8") -> Corpus:
    """Read reviews by product: ``PRODUCT/positive.review`` and ``negative.review``, a ``<review_text>`` a document.

    Parameters
    ----------
    folder : path-like
        The folder with one sub-folder a product, which is the label.
    encoding : str, default="utf-8"
        The encoding of the files.
    """
    folder = _existing_folder(folder)
    paths = sorted(path for name in _REVIEW_FILES for path in folder.glob(f"*/{name}"))
    if not paths:
        raise ValueError(f"{folder}: expected PRODUCT/positive.review and PRODUCT/negative.review in it, found none.")
    rows = [(text, path.parent.name) for path in paths for text in _found(path, encoding, _REVIEW.findall)]
    return _tidied(folder.name, *zip(*rows, strict=True))


def read_smart(folder: str | os.PathLike[str], encoding: str = "utf-8") -> Corpus:
    """Read the collections of the SMART system, a file a label.

    A line with ``.I`` begins a document, one with ``.T`` its title, one with ``.W`` its text. The title stands
    before the text, unless that begins with it. Documents with neither are left out, with a warning.

    Parameters
    ----------
    folder : path-like
        The folder of the files; their names up to the first dot, in lower case, are the labels.
    encoding : str, default="utf-8"
        The encoding of the files.
    """
    folder = _existing_folder(folder)
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    rows = [
        (text, path.name.partition(".")[0].lower()) for path in paths for text in _found(path, encoding, _smart_texts)
    ]
    if not rows:
        raise ValueError(f"{folder}: expected files such as cacm.all in it, found none.")
    return _tidied(folder.name, *zip(*rows, strict=True))


def with_classes(corpus: Corpus, classes: Iterable[str]) -> Corpus:
    """Keep the documents of some classes.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    classes : iterable of str
        The labels to keep.

    Raises
    ------
    ValueError
        If a class has no documents.

    Examples
    --------
    >>> with_classes(Corpus("x", ("a", "b", "c"), ("C01", "C02", "C11")), ["C01", "C02"]).texts
    ('a', 'b')
    """
    kept = frozenset(classes)
    unknown = sorted(kept - set(corpus.classes))
    if unknown:
        raise ValueError(f"Expected classes among {', '.join(corpus.classes)}, got {', '.join(unknown)}.")
    labels = corpus.labels or ()
    rows = [row for row, label in enumerate(labels) if label in kept]
    parts = None if corpus.parts is None else tuple(corpus.parts[row] for row in rows)
    return Corpus(
        corpus.name, tuple(corpus.texts[row] for row in rows), tuple(labels[row] for row in rows), parts=parts
    )


def _tidied(name: str, texts: Iterable[str], labels: Iterable[str], parts: tuple[str, ...] | None = None) -> Corpus:
    """Make a corpus of texts without blanks around them and labels without quotation marks."""
    clean_labels = tuple(label.strip().strip('"') for label in labels)
    return Corpus(name, tuple(text.strip() for text in texts), clean_labels, parts=parts)


def _lines(path: Path, encoding: str) -> list[str]:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    with open_text(path, encoding) as stream:
        return stream.read().removesuffix("\n").split("\n")


def _existing_folder(folder: str | os.PathLike[str]) -> Path:
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise ValueError(f"Expected a folder, but there is none at {path}.")
    return path


def _found(path: Path, encoding: str, find: Callable[[str], Iterable[str]]) -> list[str]:
    """Find the texts of a file, at least one; say how many are empty."""
    with open_text(path, encoding) as stream:
        found = list(find(stream.read()))
    texts = [text for text in found if text.strip()]
    if not texts:
        raise ValueError(f"{path}: expected documents, found none. Is it a file of another form?")
    if len(texts) < len(found):
        warnings.warn(f"{len(found) - len(texts)} documents of {path} have no text and are left out.", stacklevel=4)
    return texts


def _smart_texts(content: str) -> Iterator[str]:
    for document in _SMART_DOCUMENT.split(content)[1:]:
        pieces = _SMART_FIELD.split(document)
        fields: dict[str, str] = {}
        for field, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            fields[field] = f"{fields.get(field, '')}\n{piece}".strip()
        title, text = fields.get("T", ""), fields.get("W", "")
        begins = " ".join(text.split()).startswith(" ".join(title.split()))
        yield text if begins else f"{title}\n{text}"


def fetch_newsgroups() -> Corpus:
    """Fetch the 20 newsgroups, split by date, without headers.

    Returns
    -------
    Corpus
        With parts: training documents first.

    Raises
    ------
    ValueError
        If scikit-learn has no copy of the set and cannot fetch it.
    """
    from sklearn.datasets import fetch_20newsgroups

    texts: list[str] = []
    labels: list[str] = []
    parts: list[str] = []
    for part in ("train", "test"):
        try:
            fetched = fetch_20newsgroups(subset=part, remove=("headers",), shuffle=False, n_retries=1, delay=_SECONDS)
        except OSError as error:
            raise ValueError(
                f"Expected scikit-learn to fetch the 20 newsgroups, but its server cannot be reached ({error}): "
                "connect to the network and try again."
            ) from error
        texts += fetched.data
        labels += [fetched.target_names[number] for number in fetched.target]
        parts += [part] * len(fetched.data)
    return Corpus("20news", tuple(texts), tuple(labels), parts=tuple(parts))
