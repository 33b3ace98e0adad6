"""The columns that a model was learned from: noted by ``treewass fit``, and taken again by the commands on it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import typer

from treewass.cli.shared import say_note
from treewass.compute.arguments import argument

__all__ = ["Columns", "as_learned", "noted_columns", "remembered_columns"]

Columns = dict[str, Any]  # the names of columns, by the arguments that name them

_NOTE = "columns"
_ARGUMENTS = ("text", "label", "key", "title", "columns")


def noted_columns(reading: Mapping[str, Any]) -> dict[str, str]:
    """Return what a model notes about the columns that it is learned from.

    Examples
    --------
    >>> noted_columns({"text": "body", "label": None, "format": "csv"})
    {'columns': '{"text": "body"}'}
    """
    named = {name: reading[name] for name in _ARGUMENTS if reading.get(name)}
    return {_NOTE: json.dumps(named, ensure_ascii=False)}


def remembered_columns(model: str, context: typer.Context, only: Collection[str] = _ARGUMENTS) -> Columns:
    """Return the columns that a model was learned from, but those whose options are given; none if it notes none.

    The label is None, for no column, if the model was learned without labels.
    """
    from treewass.model.model_folder import read_settings

    try:
        settings = read_settings(Path(model).expanduser())
        noted = dict(json.loads(settings["about"].get(_NOTE, "{}")))
    except (ValueError, TypeError, LookupError, AttributeError):  # what is wrong is said where the model is loaded
        return {}
    if not settings.get("classes"):
        noted["label"] = None
    given = {name for name in _ARGUMENTS if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"}
    return {name: noted[name] for name in only if name in noted and name not in given}


def as_learned(source: Any, settings: Columns, remembered: Columns) -> Columns:
    """Put the remembered columns that the data has into the settings of a reader, and say which.

    A column that the data lacks, and the usual one in its place, too, is put in: then the reader names it.
    """
    if not remembered:
        return settings
    from treewass.documents.corpus_files import column_names
    from treewass.documents.row_checks import Request

    how = {name: settings.get(name) for name in ("format", "encoding", "delimiter")}
    wanted = Request(remembered.get("text"), remembered.get("label"), None, remembered.get("key"))
    names = column_names(source, wanted, **how)
    found: Columns = {}
    for name, columns in remembered.items():
        usual = settings.get(name)
        if name == "columns":
            found[name] = [column for column in columns if column in names] or usual
        elif set(Request(columns).among(names).texts) <= names or (names and usual and usual not in names):
            found[name] = columns
    changed = {name: columns for name, columns in found.items() if columns != settings.get(name)}
    if changed:
        options = (_option(name, columns) for name, columns in changed.items())
        say_note(f"columns as the model was learned: {' '.join(options)}")
    return {**settings, **changed}


def _option(name: str, columns: str | list[str] | None) -> str:
    """Spell the option that names columns, or that says that there are no labels."""
    if columns is None:
        return argument("no_labels")
    return argument(name, ",".join(columns) if isinstance(columns, list) else columns)
