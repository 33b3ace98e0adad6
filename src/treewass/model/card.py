"""The card of a model: a README for the people who find its folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from treewass.model.contents import Contents
from treewass.model.evaluation import Evaluation

__all__ = ["model_card"]

_MOST_CLASSES = 50


def model_card(held: Contents) -> str:
    """Write the card of a model in Markdown: data, settings, error on held-out documents, date, version.

    Parameters
    ----------
    held : Contents
        The model.

    Returns
    -------
    str
    """
    sections = [_opening(held), _evaluation(held), _data(held), _settings(held), _use(held)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _opening(held: Contents) -> str:
    about = held.about
    return (
        f"# {_plain(about.get('name', 'A model of labelled texts'))}\n\n"
        f"A tree over {len(held.counter.words)} words, learned from labelled documents, and {len(held.index)} "
        f"documents in {len(held.classes)} classes to find and to vote. "
        f"Learned {about.get('learned', 'at an unknown time')} with treewass {about.get('treewass', '(which?)')}."
    )


def _evaluation(held: Contents) -> str:
    if held.evaluation is None:
        return "## Error\n\nNot measured on held-out documents."
    figures = Evaluation.from_dict(held.evaluation)
    rows = [("**this model**", figures.error), *figures.rivals.items()]
    table = _table(("method", "error"), ((name, f"{100 * error:.1f} %") for name, error in rows))
    return (
        f"## Error\n\nOn {figures.n_test} documents held out, learned from {figures.n_train} others:\n\n{table}\n\n"
        f"{held.about.get('protocol', '')}"
    ).rstrip()


def _data(held: Contents) -> str:
    counts = np.bincount(held.documents.codes, minlength=len(held.classes)).tolist()
    shown = [(_plain(label), count) for label, count in zip(held.classes, counts, strict=True)]
    table = _table(("class", "documents"), shown[:_MOST_CLASSES])
    more = f"\n\nand {len(shown) - _MOST_CLASSES} more classes." if len(shown) > _MOST_CLASSES else ""
    kept = "The texts are stored in this folder." if held.documents.texts is not None else "The texts are not stored."
    source = f"Data: {_plain(held.about['data'])}. " if "data" in held.about else ""
    return f"## Data\n\n{source}{kept}\n\n{table}{more}"


def _settings(held: Contents) -> str:
    vote, learner, counter = held.vote, held.learner, held.counter.settings()
    rows = [
        ("learner", learner["class"]),
        *((f"learner: {name}", value) for name, value in learner["parameters"].items() if value is not None),
        ("vectoriser", counter["kind"]),
        *((f"vectoriser: {name}", value) for name, value in counter.items() if name not in ("kind", "idf")),
        ("neighbours", vote.n_neighbors),
        ("vote", f"{vote.kind}{', calibrated' if vote.pool is not None else ''}"),
    ]
    return f"## Settings\n\n{_table(('setting', 'value'), ((name, _code(value)) for name, value in rows))}"


def _use(held: Contents) -> str:
    return (
        "## Use\n\n```python\nfrom treewass import DocumentModel\n\n"
        'model = DocumentModel.load("path/of/this/folder")\n'
        'model.predict(["a text"])\nmodel.search("a text", k=5)\nmodel.explain_prediction("a text")\n```\n\n'
        "Or `treewass predict`, `search`, `explain` and `report`. The files are JSON and safetensors; reading them "
        "runs no code, and `manifest.json` holds their hashes. This card can be edited; the next save writes it anew."
        f"{'' if held.documents.texts is not None else ' Neighbours are shown by id only.'}"
    )


def _table(header: tuple[str, str], rows: Iterable[tuple[str, Any]]) -> str:
    lines = [f"| {header[0]} | {header[1]} |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join(lines)


def _code(value: Any) -> str:
    return "`" + str(value).replace("`", "'").replace("|", "\\|") + "`"


def _plain(value: Any) -> str:
    """Keep a value on one line, out of the way of Markdown's tables."""
    text = " ".join(str(value).split())
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
