"""Colours of classes: told apart on light and on dark ground."""

from __future__ import annotations

import colorsys

__all__ = ["GREY", "class_color", "faded", "ink_on", "share_color"]

GREY = "#9aa0a6"
_PALETTE = (
    "#3b76af", "#e0812c", "#4f9e4c", "#c9433f", "#8f6bb8", "#8a6556", "#d579b9", "#6f8b3d", "#2fa6b5", "#c2a12b",
    "#5b5fc7", "#b5476f", "#487860", "#d08060", "#806080", "#18a888", "#886820", "#3088e8", "#c88090", "#909068",
)  # fmt: skip
_GOLDEN = 0.618033988749895  # steps of the hue that never come close to each other


def class_color(code: int) -> str:
    """Return the colour of a class by its number.

    Examples
    --------
    >>> class_color(0), class_color(0) == class_color(1)
    ('#3b76af', False)
    """
    if code < len(_PALETTE):
        return _PALETTE[code]
    red, green, blue = colorsys.hls_to_rgb((code * _GOLDEN) % 1.0, 0.5, 0.5)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def faded(color: str, strength: float) -> str:
    """Mix a colour with grey: all of it at a strength of one.

    Examples
    --------
    >>> faded("#ff0000", 1.0), faded("#ff0000", 0.0) == GREY
    ('#ff0000', True)
    """
    strength = min(max(strength, 0.0), 1.0)
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(GREY[1:]), strict=True)
    return "#" + "".join(f"{round(strength * one + (1 - strength) * grey):02x}" for one, grey in pairs)


def share_color(code: int, share: float, n_classes: int) -> str:
    """Return the colour of a class, the greyer the nearer its share is to that of every class.

    Examples
    --------
    >>> share_color(0, 1.0, 4) == class_color(0), share_color(0, 0.25, 4) == class_color(0)
    (True, False)
    """
    even = 1 / n_classes
    return faded(class_color(code), 0.2 + 0.8 * (share - even) / (1 - even) if n_classes > 1 else 1.0)


def ink_on(color: str) -> str:
    """Return black or white, whichever is read better on a colour.

    Examples
    --------
    >>> ink_on("#3b76af"), ink_on("#c2a12b")
    ('#ffffff', '#000000')
    """
    parts = [value / 255 for value in bytes.fromhex(color[1:])]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"  # the two contrasts are equal there
