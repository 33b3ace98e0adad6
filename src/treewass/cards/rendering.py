"""Cards for notebooks: one element with its own style, in light and dark, that needs no script and no network."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from treewass.cards.colors import class_color
from treewass.compute.arguments import counted_noun
from treewass.documents.texts import excerpt
from treewass.documents.writing_systems import folded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from jinja2 import Environment

__all__ = ["card", "class_colors", "marked_words", "read_style", "template_environment"]

_FOLDER = "treewass.cards"
_WORD = re.compile(r"\w+")


@cache
def template_environment(folder: str = _FOLDER) -> Environment:
    """Make what reads templates from the folder of a package, and from this one: every value is escaped."""
    from jinja2 import ChoiceLoader, Environment, FunctionLoader, StrictUndefined

    def read(package: str) -> FunctionLoader:
        def load(name: str) -> str | None:
            path = files(package) / name
            return path.read_text(encoding="utf-8") if path.is_file() else None

        return FunctionLoader(load)

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=ChoiceLoader([read(folder), read(_FOLDER)]),
    )
    environment.globals.update(excerpt=excerpt, counted_noun=counted_noun)
    return environment


def read_style() -> str:
    """Return the style of cards: all of it below an element of the class ``treewass``."""
    return (files(_FOLDER) / "cards.css").read_text(encoding="utf-8")


def card(kind: str, **values: Any) -> str:
    """Draw a card: one of the macros of ``cards.html.jinja``, with its values.

    Examples
    --------
    >>> card("figures", title="A <b>tree</b>", rows=[("words", 3)]).partition("</style>")[2].split()[:2]
    ['<h3>A', '&lt;b&gt;tree&lt;/b&gt;</h3>']
    """
    from markupsafe import Markup

    macros: Any = template_environment().get_template("cards.html.jinja").module
    style = Markup(read_style())  # our own file # nosec B704
    content: str = getattr(macros, kind)(**values)
    # It may have to scroll, which keys can do only with the focus.
    opening = f'<div class="treewass card" tabindex="0" role="group" aria-label="treewass: {kind}">'
    return f"{opening}<style>{style}</style>{content}</div>"


def class_colors(classes: Sequence[Any]) -> dict[Any, str]:
    """Return the colour of each label, by its place among the sorted labels of a model."""
    return {label: class_color(code) for code, label in enumerate(classes)}


def marked_words(text: str, words: Collection[str]) -> list[Mapping[str, Any]]:
    """Cut a text at the words that are among some, whatever their case and accents, for the macro `pieces`.

    Examples
    --------
    >>> [piece["text"] for piece in marked_words("The Café sat", ["cafe"])]
    ['The ', 'Café', ' sat']
    """
    wanted, pieces, end = {folded(word.lower()) for word in words}, [], 0
    for match in _WORD.finditer(text):
        if folded(match[0].lower()) in wanted:
            pieces += [{"text": text[end : match.start()], "weight": 0.0}, {"text": match[0], "weight": 0.5}]
            end = match.end()
    return [*pieces, {"text": text[end:], "weight": 0.0}]
