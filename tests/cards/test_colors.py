"""Colours of classes: how far they are from each other, and from the ground that they stand on."""

from itertools import combinations

import numpy as np

from treewass.cards.colors import GREY, class_color

GROUNDS = ("#ffffff", "#17191c")  # light and dark
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    parts = np.frombuffer(bytes.fromhex(color[1:]), dtype=np.uint8) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def cielab(color):
    ratios = TO_XYZ @ linear(color) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    low, high = sorted(TO_XYZ[1] @ linear(color) + 0.05 for color in (one, other))
    return high / low


def test_the_first_twenty_are_told_apart():
    colors = [cielab(color) for color in [*map(class_color, range(20)), GREY]]
    assert min(np.linalg.norm(one - other) for one, other in combinations(colors, 2)) > 14


def test_the_first_twenty_are_seen_on_light_and_dark_ground():
    assert all(contrast(class_color(code), ground) > 2.4 for code in range(20) for ground in GROUNDS)
