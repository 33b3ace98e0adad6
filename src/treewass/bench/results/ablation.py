"""The variants of the paper's distance and the losses of its training, as tables and a figure, from rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from treewass.bench.datasets import PAPER_SETS
from treewass.bench.results.layout import figure, sets_of, table
from treewass.bench.rows import Row, Value

__all__ = ["PUBLISHED_VARIANTS", "ablation_markdown", "draw_losses", "loss_markdown"]

PUBLISHED_VARIANTS: Mapping[str, Mapping[str, float]] = {
    title: dict(zip(PAPER_SETS, errors, strict=True))
    for title, errors in {
        "soft-smooth-STW": (29.9, 8.4, 5.1, 4.5, 44.1, 6.5),
        "smooth-STW": (30.0, 10.6, 9.6, 4.5, 45.6, 6.5),
        "STW": (28.9, 10.1, 4.4, 3.4, 40.2, 4.4),
    }.items()
}
_CURVES = {"losses": "training loss", "validation_losses": "validation loss"}
_OURS = {
    "soft-smooth-STW": (("α = 10, as trained", "soft_smooth_10_percent"), ("α = 2", "soft_smooth_2_percent")),
    "smooth-STW": (("α = 10, as trained", "smooth_10_percent"), ("α = 2", "smooth_2_percent")),
    "STW": (("margin 10", "error_percent"),),
}


def ablation_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors under the soft and smooth variants of the distance, the published ones beside.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``ablation``.

    Returns
    -------
    str
        A Markdown table and what to know about it.

    Examples
    --------
    >>> row = Row("ablation", {"set": "reuters"}, {"error_percent": 4.0}, "", environment={})
    >>> print(ablation_markdown([row]).splitlines()[8])
    | STW, margin 10 | 4.0 |
    """
    rows = list(rows)
    found, sets = {str(row.case["set"]): row.measures for row in rows}, sets_of(rows)
    lines = []
    for variant, kinds in _OURS.items():
        for kind, measure in kinds:
            lines.append((f"{variant}, {kind}", [figure(found[name].get(measure)) for name in sets]))
        lines.append((f"published {variant}", [figure(PUBLISHED_VARIANTS[variant].get(name)) for name in sets]))
    return table("test error in %", [name.upper() for name in sets], lines) + (
        "\nOurs on the first split only, one fit a set with margin 10 and 30 epochs; the published figures are means "
        "over five splits of TWITTER, AMAZON, CLASSIC and BBCSPORT. The variants are compared on documents of mass "
        "one: training with mass 5 and α = 2 is training with mass 1 and α = 10. No word vectors are used.\n"
    )


def loss_markdown(rows: Iterable[Row]) -> str:
    """Lay out where training with margin 10 ended.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``ablation``.

    Returns
    -------
    str
        A Markdown table and what to know about it.

    Examples
    --------
    >>> measures = {"best_epoch": 2, "losses": "0.5,-1.0,-1.5", "validation_losses": "0.4,-0.6,-0.5"}
    >>> print(loss_markdown([Row("ablation", {"set": "reuters"}, measures, "", environment={})]).splitlines()[2])
    | epoch of the lowest validation loss | 2 of 3 |
    """
    rows = list(rows)
    found, sets = {str(row.case["set"]): row.measures for row in rows}, sets_of(rows)
    best = {name: int(found[name]["best_epoch"] or 0) for name in sets}
    curves = {measure: {name: _curve(found[name][measure]) for name in sets} for measure in _CURVES}
    epochs = [f"{best[name]} of {len(curves['losses'][name])}" for name in sets]
    lines = [("epoch of the lowest validation loss", epochs)]
    for measure, title in _CURVES.items():
        own = curves[measure]
        lines.append((f"{title} there", [figure(own[name][best[name] - 1], ".2f") for name in sets]))
        lines.append((f"{title} in the end", [figure(own[name][-1], ".2f") for name in sets]))
    return table("loss", [name.upper() for name in sets], lines) + (
        "\nEquation (6), margin 10, first split; a fifth of the training documents is held out. The paper shows its "
        "losses in a figure without numbers.\n"
    )


def draw_losses(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw training and validation loss by epoch, a panel for each set.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``ablation``.
    path : path-like
        The SVG to write.
    """
    from treewass.bench.results.drawing import LINES, save_figure, set_panels

    rows = list(rows)
    found, sets = {str(row.case["set"]): row.measures for row in rows}, sets_of(rows)
    canvas, axes = set_panels(sets)
    for ax, name in zip(axes, sets, strict=True):
        best = int(found[name]["best_epoch"] or 0)
        for (measure, title), (color, marker, dashes) in zip(_CURVES.items(), LINES, strict=False):
            curve = _curve(found[name][measure])
            ax.plot(range(1, len(curve) + 1), curve, color=color, ls=dashes, label=title)
            if measure == "validation_losses":
                ax.plot([best], [curve[best - 1]], marker, color=color, ls="none", label="epoch taken")
    canvas.supxlabel("epoch", fontsize=9)
    canvas.supylabel("contrastive loss", fontsize=9)
    canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    save_figure(canvas, path)


def _curve(value: Value) -> list[float]:
    """Read losses as they stand in a row."""
    return [float(loss) for loss in str(value).split(",")]
