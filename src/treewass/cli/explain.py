"""``treewass explain``: why two documents are near or far, or why a text gets its label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treewass.cli.shared import AsJson, ModelFolder, load_model, named_document, print_json, read_text, terminal
from treewass.cli.waiting_writes import say_waiting_writes

if TYPE_CHECKING:
    from treewass.model.document_model import DocumentModel

__all__ = ["explain_command"]


def explain_command(
    model: ModelFolder,
    first: Annotated[
        str, typer.Argument(metavar="A", help="A text, id:17 or key:NAME for a document of the model, or -.")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="[B]", help="Another one; without it the label of A is explained.")
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--picture", help="Draw the plan between A and B to a file, such as plan.png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain the distance of two documents word by word, or the label of one."""
    if picture is not None and second is None:
        raise typer.BadParameter("there is a plan to draw between two documents only: give B.", param_hint="--picture")
    loaded = load_model(model)
    say_waiting_writes(model)
    one = _document(loaded, first)
    if second is None:
        if not loaded.contents_.classes:
            raise ValueError(
                "Expected a second text to compare with, since the model was learned without labels: it has none to "
                f"explain. Run: treewass explain {model} A B"
            )
        text = _shown(loaded, one)
        prediction = loaded.explain_prediction(text) if isinstance(one, str) else loaded.explain_prediction(id=one)
        if as_json:
            print_json(prediction.to_dict())
            return
        from treewass.explain.terminal import prediction_view

        terminal().print(prediction_view(prediction, text, loaded.contents_.counter.spans(text)))
        return
    other = _document(loaded, second)
    explanation = loaded.explain(one, other)
    if picture is not None:
        from treewass.plot import plan, save_picture

        save_picture(plan(explanation), Path(picture).expanduser())
    if as_json:
        print_json(explanation.to_dict())
        return
    from treewass.explain.terminal import pair_view

    texts = [_shown(loaded, document) for document in (one, other)]
    terminal().print(pair_view(explanation, texts, [loaded.contents_.counter.spans(text) for text in texts]))


def _document(model: DocumentModel, argument: str) -> str | int:
    """Turn an argument into an id or a text."""
    named = named_document(argument)
    return read_text(argument) if named is None else model.document(**named).id


def _shown(model: DocumentModel, document: str | int) -> str:
    """Return what to show of a document: its text, or its title or id in a model that keeps no texts."""
    if isinstance(document, str):
        return document
    found = model.document(document)
    if found.text is None:
        return found.title or f"id:{document}"
    return found.text if found.text.strip() else "(Its text is empty.)"
