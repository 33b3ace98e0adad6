"""A report on a model: collected once, written as one HTML file that asks the network for nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.texts import excerpt
from treewass.explain.branches import TreeOutline, class_means
from treewass.explain.highlights import Piece, weighted_pieces
from treewass.explain.predictions import PredictionExplanation
from treewass.model.cross_fitting import learned_without
from treewass.model.evaluation import Evaluation
from treewass.model.fitting import without_documents
from treewass.model.inference import count_texts
from treewass.model.reasons import explain_label
from treewass.report.document_map import DocumentMap, map_documents
from treewass.report.oddities import Oddities, find_oddities
from treewass.search.held_documents import documents_of
from treewass.storage.folders import check_folder, replacing
from treewass.trees.embedding import mass_units

if TYPE_CHECKING:
    from treewass.explain.hits import Document
    from treewass.model.contents import Contents
    from treewass.model.document_model import DocumentModel

__all__ = ["Report", "Sample", "make_report"]

_TELLING = 14  # words of each class
_SAMPLES = 4
_LONGEST_SAMPLE = 700  # characters
_FAINTEST = 0.04  # a word of less than this share of the strongest one is not coloured


@dataclass(frozen=True, slots=True)
class Sample:
    """A document of the model, explained by the others.

    Its text is cut if it is long. The pieces weigh what each word says for the label that the others vote for.
    """

    document: Document
    pieces: tuple[Piece, ...]
    explanation: PredictionExplanation


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report.

    Parameters
    ----------
    model : DocumentModel
        The model.
    evaluation : Evaluation or None
        Figures on held-out documents. Without any, figures on the training documents, each left out in turn. None for
        a model without labels, for which `telling`, doubtful labels and `samples` are empty, too.
    held_out : bool
        True for figures on held-out documents.
    outline : TreeOutline
        The learned tree.
    telling : dict
        The words that tell most about each class, most telling first.
    oddities : Oddities
        Near-duplicates and doubtful labels.
    samples : tuple of Sample
        Documents with their explanations.
    document_map : DocumentMap
        Documents in the plane.
    """

    model: DocumentModel
    evaluation: Evaluation | None
    held_out: bool
    outline: TreeOutline
    telling: dict[Any, list[tuple[str, float]]]
    oddities: Oddities
    samples: tuple[Sample, ...]
    document_map: DocumentMap

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

    def _repr_html_(self) -> str:
        """Return a card for a notebook: the figures, and the first findings."""
        from treewass.cards.rendering import card, class_colors

        held = self.model.contents_
        return card(
            "report",
            title=held.about.get("name", held.kind),
            error=None if self.evaluation is None else self.evaluation.error,
            held_out=self.held_out,
            suspects=self.oddities.suspects,
            duplicates=self.oddities.duplicates,
            n_duplicates=self.oddities.n_duplicates,
            colors=class_colors(held.classes),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures to act on, as plain values for JSON."""
        return {
            "error": None if self.evaluation is None else self.evaluation.error,
            "held_out": self.held_out,
            "near_duplicates": [[pair.first.id, pair.second.id, pair.likeness] for pair in self.oddities.duplicates],
            "doubtful_labels": [
                {
                    "id": suspect.document.id,
                    "label": suspect.document.label,
                    "suggested": suspect.suggested,
                    "probability": suspect.probability,
                    "own_probability": suspect.own_probability,
                }
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
    places = map_documents(model.contents_)
    if not model.contents_.classes:
        return Report(model, None, False, model.outline(), {}, oddities, (), places)
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
        places,
    )


def telling_words(model: DocumentModel) -> dict[Any, list[tuple[str, float]]]:
    """Find the words that tell most about each class: much mass in its documents, little in others.

    A word's score is its mean mass in the class times the logarithm of how much more that is than in all classes.
    """
    held = model.contents_
    labelled = held.documents.labelled
    masses = mass_units(held.index.metric, documents_of(held.index, labelled))
    present, codes = np.unique(held.documents.codes_of(labelled), return_inverse=True)
    means = class_means(masses, codes, present.size)
    overall = means.mean(axis=0)
    ratios = np.log2(np.divide(means, overall, out=np.ones_like(means), where=means > 0))
    scores = means * ratios
    words = held.names
    return {
        held.classes[code]: [
            (words[word], float(scores[row, word]))
            for word in np.argsort(-scores[row], kind="stable")[:_TELLING].tolist()
            if scores[row, word] > 0
        ]
        for row, code in enumerate(present.tolist())
    }


def _left_out(model: DocumentModel, oddities: Oddities) -> Evaluation:
    """Measure the votes of the other documents on each document."""
    classes = model.contents_.classes
    confusion = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(confusion, (np.array(oddities.true, dtype=int), np.array(oddities.predicted, dtype=int)), 1)
    return Evaluation(classes, tuple(map(tuple, confusion.tolist())), len(model.index_), {})


def _samples(model: DocumentModel, oddities: Oddities) -> tuple[Sample, ...]:
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
    numbers = np.array(list(dict.fromkeys(chosen))[:_SAMPLES], dtype=np.int64)
    others = without_documents(learned_without(held, numbers), numbers)
    return tuple(_sample(others, model.document(number)) for number in numbers.tolist())


def _sample(held: Contents, document: Document) -> Sample:
    """Explain a document by others."""
    text = document.text or ""
    explanation = explain_label(count_texts(held, [text]))
    shown = excerpt(text, _LONGEST_SAMPLE)
    pieces = weighted_pieces(shown, held.counter.spans(shown), explanation.word_weights(), faintest=_FAINTEST)
    return Sample(document, tuple(pieces), explanation)
