"""A report on a model: collected once, written as one HTML file that asks the network for nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.explain.branches import class_means
from treewass.explain.outline import TreeOutline
from treewass.explain.predictions import PredictionExplanation
from treewass.model.answers import explain_label
from treewass.model.evaluation import Evaluation
from treewass.model.fitting import without_documents
from treewass.report.findings import Findings, find_oddities
from treewass.saving import check_folder, replacing
from treewass.search.contents import documents_of
from treewass.search.embedding import mass_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treewass.model.document_model import DocumentModel

__all__ = ["Report", "Sample", "make_report"]

_TELLING = 14  # words a class
_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """A document of the model, explained by the others.

    Parameters
    ----------
    id : int
        The document.
    label : str or int
        Its own label.
    text : str
        Its text.
    spans : tuple of (int, int, str)
        Where known words stand in it.
    explanation : PredictionExplanation
        The label that the other documents give it, and why.
    """

    id: int
    label: Any
    text: str
    spans: tuple[tuple[int, int, str], ...]
    explanation: PredictionExplanation


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says.

    Parameters
    ----------
    model : DocumentModel
        The model.
    evaluation : Evaluation
        Figures on held-out documents; of training documents, each left out in turn, where there are none.
    held_out : bool
        Whether they are of held-out documents.
    outline : TreeOutline
        The learned tree.
    telling : dict
        The words that tell most about each class, most telling first.
    oddities : Findings
        Near-duplicates and doubtful labels.
    samples : tuple of Sample
        Documents with their explanations.
    """

    model: DocumentModel
    evaluation: Evaluation
    held_out: bool
    outline: TreeOutline
    telling: dict[Any, list[tuple[str, float]]]
    oddities: Findings
    samples: tuple[Sample, ...]

    def html(self) -> str:
        """Return the report as one HTML page."""
        from treewass.report.page import render_page

        return render_page(self)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, all of it or nothing.

        Parameters
        ----------
        path : path-like
            The file; replaced if it is there.
        """
        target = Path(path)
        check_folder(target)
        page = self.html()
        with replacing(target) as new:
            new.write_text(page, encoding="utf-8")

    def findings(self) -> dict[str, Any]:
        """Return the figures that matter as what JSON can hold."""
        return {
            "error": self.evaluation.error,
            "held_out": self.held_out,
            "near_duplicates": [[pair.first.id, pair.second.id, pair.distance] for pair in self.oddities.duplicates],
            "doubtful_labels": [
                {"id": suspect.document.id, "label": suspect.document.label, "suggested": suspect.suggested}
                for suspect in self.oddities.suspects
            ],
        }


def make_report(model: DocumentModel) -> Report:
    """Collect what a report says about a fitted model.

    Parameters
    ----------
    model : DocumentModel
        Fitted.

    Returns
    -------
    Report

    Examples
    --------
    >>> from treewass import DocumentModel
    >>> texts = ["cats purr", "a cat meows", "dogs bark", "the dog growls"]
    >>> report = make_report(DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog"]))
    >>> report.html()[:15]
    '<!DOCTYPE html>'
    """
    oddities = find_oddities(model)
    stored = model.contents_.evaluation
    evaluation = _left_out(model, oddities) if stored is None else Evaluation.from_dict(stored)
    return Report(
        model,
        evaluation,
        stored is not None,
        model.outline(),
        telling_words(model),
        oddities,
        _samples(model, oddities),
    )


def telling_words(model: DocumentModel, most: int = _TELLING) -> dict[Any, list[tuple[str, float]]]:
    """Find the words that tell most about each class: much mass in its documents, little in others.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    most : int, default=14
        Words a class.

    Returns
    -------
    dict of label to list of (str, float)
        Words with their mean mass in the class times the logarithm of how much more that is than in all classes.
    """
    held = model.contents_
    masses = mass_units(held.index.metric, documents_of(held.index))
    present = np.unique(held.documents.codes)
    means = class_means(masses, np.searchsorted(present, held.documents.codes), present.size)
    overall = means.mean(axis=0)
    ratios = np.log2(np.divide(means, overall, out=np.ones_like(means), where=means > 0))
    scores = means * ratios
    words = held.counter.words
    return {
        held.classes[code]: [
            (words[word], float(scores[row, word]))
            for word in np.argsort(-scores[row], kind="stable")[:most].tolist()
            if scores[row, word] > 0
        ]
        for row, code in enumerate(present.tolist())
    }


def _left_out(model: DocumentModel, oddities: Findings) -> Evaluation:
    """Measure the votes of the other documents on each document."""
    classes = model.contents_.classes
    confusion = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(confusion, (np.array(oddities.true, dtype=int), np.array(oddities.predicted, dtype=int)), 1)
    return Evaluation(classes, tuple(map(tuple, confusion.tolist())), len(model.index_), {})


def _samples(model: DocumentModel, oddities: Findings) -> tuple[Sample, ...]:
    """Choose documents to explain: the surest, an average one, the least sure, and the most doubtful label."""
    held = model.contents_
    if held.documents.texts is None or not oddities.ids:
        return ()
    right = [
        row for row, (one, other) in enumerate(zip(oddities.true, oddities.predicted, strict=True)) if one == other
    ]
    by_confidence = sorted(right, key=lambda row: -oddities.confidences[row])
    places = [0, len(by_confidence) // 2, len(by_confidence) - 1]
    chosen = [oddities.ids[by_confidence[place]] for place in places if by_confidence]
    chosen += [suspect.document.id for suspect in oddities.suspects[:1]]
    return tuple(_sample(model, number) for number in _distinct(chosen)[:_SAMPLES])


def _distinct(numbers: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def _sample(model: DocumentModel, number: int) -> Sample:
    held, document = model.contents_, model.neighbor(number)
    others = without_documents(held, np.array([number], dtype=np.int64))
    text = document.text or ""
    return Sample(
        number, document.label, text, tuple(held.counter.spans(text)), explain_label(others, text, compiled=True)
    )
