"""``treewass predict``: labels for texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from treewass.cli.shared import (
    AsJson,
    DataFile,
    DataFormat,
    Encoding,
    ModelFolder,
    TextColumn,
    load_model,
    print_json,
    print_rows,
    read_data,
)
from treewass.compute.progress import in_blocks

if TYPE_CHECKING:
    from treewass.model.contents import Contents

__all__ = ["predict_command"]

_BLOCK = 1000


def predict_command(
    model: ModelFolder,
    data: DataFile,
    text: TextColumn = "text",
    label: Annotated[
        str | None, typer.Option("--label", help="Column of the true labels, to print the error on standard error.")
    ] = None,
    format: DataFormat = None,
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Predict the labels of texts: label, probability and the beginning of the text, with tabs between them."""
    import numpy as np

    from treewass.documents.histograms import warn_about_empty_rows
    from treewass.documents.texts import excerpt
    from treewass.model.inference import UNKNOWN_TEXTS, class_probabilities, count_texts

    corpus = read_data(data, text=text, label=label, format=format, encoding=encoding, min_classes=1)
    held = load_model(model).contents_
    classes = held.classes
    best: list[int] = []
    unknown: list[int] = []
    for block in in_blocks(len(corpus), _BLOCK, "predicting"):
        texts = corpus.texts[block]
        counted = count_texts(held, texts)
        probabilities = class_probabilities(counted)
        unknown += (counted.unknown + block.start).tolist()
        codes = probabilities.argmax(axis=1).tolist()
        for row, code in enumerate(codes):
            if as_json:
                shares = {str(name): round(float(p), 6) for name, p in zip(classes, probabilities[row], strict=True)}
                print_json({"row": block.start + row, "label": classes[code], "probabilities": shares})
            else:
                print_rows([(classes[code], f"{probabilities[row, code]:.3f}", excerpt(texts[row]))])
        best += codes
    warn_about_empty_rows(np.array(unknown, dtype=np.intp), UNKNOWN_TEXTS)
    if corpus.labels is not None:
        wrong = sum(str(classes[code]) != truth for code, truth in zip(best, corpus.labels, strict=True))
        typer.echo(f"{wrong} of {len(corpus)} wrong: error {100 * wrong / len(corpus):.1f} %", err=True)
        _say_what_was_learned(held, corpus.texts)


def _say_what_was_learned(held: Contents, texts: Sequence[str]) -> None:
    """Say how many texts are documents of the model, on which an error tells little; unknown where it keeps none."""
    own = set(texts).intersection(held.documents.texts or ())
    n_own = sum(text in own for text in texts)
    if n_own:
        typer.echo(
            f"treewass: note: {n_own} of these {len(texts)} texts are documents of the model, which find themselves: "
            "the error on new texts may be higher.",
            err=True,
        )
