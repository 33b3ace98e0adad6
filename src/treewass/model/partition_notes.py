"""What is noted of the documents of a partition when they are read, in files, so that nobody has to read them again.

The words of each document are noted as numbers, four bytes each. What is learned later, such as the words that the
model knows, is looked up for the names of these numbers, of which there are few.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.texts import Texts
from treewass.model.word_pairs import WordSequences
from treewass.storage.folders import replacing
from treewass.storage.tensors import file_bytes, read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.documents.row_checks import Document
    from treewass.documents.samples import Sampling
    from treewass.learners.profile.class_counts import ClassCounting

__all__ = ["PartitionNotes", "note_documents", "remove_notes"]

_BLOCK = 4096  # documents counted at a time
_KINDS = ("words", "texts", "rows")  # of files


@dataclass(frozen=True, slots=True)
class PartitionNotes:
    """The documents of one partition, as `note_documents` wrote them; what is large is mapped.

    Parameters
    ----------
    names : Texts
        The words, by their numbers in this partition.
    sequences : WordSequences
        The numbers of the words of each document, in their order.
    classes : Texts
        The labels, by their numbers in this partition.
    codes : ndarray of int32, shape (n_documents,)
        The label of each document.
    hashes : ndarray of uint64, shape (n_documents,)
        The hash of each document.
    texts : Texts
    keys, titles : Texts
        Empty ones where there are none.
    """

    names: Texts
    sequences: WordSequences
    classes: Texts
    codes: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    texts: Texts
    keys: Texts
    titles: Texts

    @classmethod
    def load(cls, folder: Path, number: int) -> PartitionNotes:
        """Map the notes of a partition, by its number."""
        words, texts, _ = paths = _paths(folder, number)
        held = read_tensors(paths[2], mmap=True)
        return cls(
            Texts(held["names"], held["name_bounds"]),
            WordSequences(file_bytes(words, mmap=True).view(np.int32), held["word_bounds"]),
            Texts(held["classes"], held["class_bounds"]),
            held["codes"],
            held["hashes"],
            Texts(file_bytes(texts, mmap=True), held["text_bounds"]),
            Texts(held["keys"], held["key_bounds"]),
            Texts(held["titles"], held["title_bounds"]),
        )

    def __len__(self) -> int:
        return self.codes.size

    def columns(self, known: Mapping[str, int]) -> NDArray[np.int32]:
        """Find the column of each word, −1 for one that is not known."""
        return np.fromiter((known.get(name, -1) for name in self.names), np.int32, len(self.names))

    def counts(self, start: int, stop: int, columns: NDArray[np.int32], n_words: int) -> csr_array:
        """Count the words of some documents, given the column of each word: shape (stop - start, n_words)."""
        bounds = self.sequences.bounds[start : stop + 1]
        words = columns[self.sequences.words[bounds[0] : bounds[-1]]]
        return WordSequences(words, bounds - bounds[0]).counts(n_words)


def note_documents(
    documents: Iterable[Document], folder: Path, number: int, counting: ClassCounting, sampling: Sampling
) -> int:
    """Count documents, take a sample of them and note them in files of a folder; return how many there are.

    Every file is written under its own name in one step, so that a partition that is noted twice does no harm.
    """
    left, rows = iter(documents), _Rows()
    words_path, texts_path, rows_path = _paths(folder, number)
    with (
        replacing(words_path) as new_words,
        new_words.open("wb") as words,
        replacing(texts_path) as new_texts,
        new_texts.open("wb") as texts,
    ):
        while block := list(islice(left, _BLOCK)):
            labels = [document.label for document in block]
            numbers, bounds = counting.add([document.text for document in block], labels)
            encoded = [document.text.encode() for document in block]
            words.write(numbers.data)
            texts.writelines(encoded)
            rows.word_lengths.append(np.diff(bounds))
            rows.text_lengths.append(np.array([len(text) for text in encoded], dtype=np.int64))
            rows.hashes.extend(sampling.add(document.text, document.label) for document in block)
            rows.codes.extend(rows.classes.setdefault(label, len(rows.classes)) for label in labels)
            rows.keys.extend(document.key or "" for document in block)
            rows.titles.extend(document.title or "" for document in block)
    with replacing(rows_path) as path:
        write_tensors(path, rows.arrays(counting.words))
    return len(rows.codes)


class _Rows:
    """What is noted of each document beside its words and text: some bytes, which are held until all are read."""

    def __init__(self) -> None:
        self.word_lengths = [np.zeros(1, np.int64)]
        self.text_lengths = [np.zeros(1, np.int64)]
        self.hashes, self.codes = array("Q"), array("i")
        self.classes: dict[str | None, int] = {}
        self.keys, self.titles = list[str](), list[str]()

    def arrays(self, words: Iterable[str]) -> dict[str, NDArray[np.generic]]:
        """Name the arrays to write, with the names of all words."""
        names, classes = Texts.of(words), Texts.of(map(str, self.classes))
        keys, titles = Texts.of(self.keys), Texts.of(self.titles)
        return {
            "names": names.content,
            "name_bounds": names.bounds,
            "classes": classes.content,
            "class_bounds": classes.bounds,
            "keys": keys.content,
            "key_bounds": keys.bounds,
            "titles": titles.content,
            "title_bounds": titles.bounds,
            "word_bounds": np.cumsum(np.concatenate(self.word_lengths)),
            "text_bounds": np.cumsum(np.concatenate(self.text_lengths)),
            "codes": np.array(self.codes, dtype=np.int32),
            "hashes": np.array(self.hashes, dtype=np.uint64),
        }


def remove_notes(folder: Path, numbers: Iterable[int]) -> None:
    """Remove the notes of partitions."""
    for path in (path for number in numbers for path in _paths(folder, number)):
        path.unlink(missing_ok=True)


def _paths(folder: Path, number: int) -> tuple[Path, ...]:
    return tuple(folder / f"noted-{kind}-{number}" for kind in _KINDS)
