"""The HTML of a report: texts escaped, data as JSON that no text can break out of, scripts known by their hash."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from treewass.extras import require
from treewass.plot.colors import class_color
from treewass.plot.interactive import interactive_tree

if TYPE_CHECKING:
    from treewass.report.report import Report, Sample

__all__ = ["render_page", "safe_json"]

_LONGEST_TEXT = 700
_MOST_LISTED = 60
_PALE = 0.04  # of the strongest word's support, below which a word is not coloured


def render_page(report: Report) -> str:
    """Write a report as one HTML page.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    plotly = require("plotly.offline", purpose="a report", extra="plot").get_plotlyjs()
    folder = files("treewass.report")
    script = (folder / "report.js").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "report.html.jinja").read_text(encoding="utf-8"))
    held = report.model.contents_
    return template.render(
        report=report,
        held=held,
        evaluation=report.evaluation,
        colors={label: class_color(code) for code, label in enumerate(report.outline.classes)},  # as in the tree
        class_errors=report.evaluation.class_errors(),
        samples=[(sample, list(_pieces(sample))) for sample in report.samples],
        duplicates=report.oddities.duplicates[:_MOST_LISTED],
        suspects=report.oddities.suspects[:_MOST_LISTED],
        shortened=_shortened,
        style=Markup((folder / "report.css").read_text(encoding="utf-8")),
        plotly=Markup(_inline(plotly)),
        script=Markup(_inline(script)),
        script_hashes=[_source_hash(_inline(code)) for code in (plotly, script)],
        data=Markup(safe_json(_tree_data(report))),
    )


def safe_json(value: Any) -> str:
    r"""Write JSON that can stand inside a script element: no text in it can end the element.

    Examples
    --------
    >>> safe_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _inline(code: str) -> str:
    """Keep a script from ending its own element, whatever its strings hold."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _source_hash(code: str) -> str:
    """Return what a content security policy knows a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _tree_data(report: Report) -> dict[str, Any]:
    """Collect what the page's script needs: the picture, and what to tell about each branch."""
    ids = report.model.index_.ids
    classes = report.outline.classes
    branches = {}
    for node in report.outline.nodes:
        documents = [report.model.neighbor(int(ids[row])) for row in node.documents]
        branches[f"node{node.node}"] = {
            "parent": f"node{node.parent}" if node.parent >= 0 else None,
            "children": [f"node{child.node}" for child in report.outline.children(node.node)],
            "mass": node.mass,
            "n_words": node.n_words,
            "words": [word.word for word in node.words],
            "classes": [
                [str(classes[code]), share, class_color(code)]
                for code, share in sorted(enumerate(node.classes), key=lambda pair: -pair[1])[:6]
                if share >= 0.01
            ],
            "documents": [
                [document.id, str(document.label), document.title or "", _shortened(document.text, 160)]
                for document in documents
            ],
        }
    return {"figure": json.loads(interactive_tree(report.outline).to_json()), "branches": branches}


def _shortened(text: str | None, length: int = 280) -> str:
    """Put a text on one line and cut it."""
    line = " ".join((text or "").split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _pieces(sample: Sample) -> Iterator[tuple[str, float]]:
    """Cut a sample's text into pieces with a strength from -1 to 1: how much each speaks for the label voted for."""
    support = {entry.word: entry.support for entry in sample.explanation.words}
    strongest = max((abs(value) for value in support.values()), default=0.0) or 1.0
    end, text = 0, sample.text[:_LONGEST_TEXT]
    for start, stop, word in sample.spans:
        if stop > len(text):
            break
        strength = support.get(word, 0.0) / strongest
        if abs(strength) >= _PALE:
            if start > end:
                yield text[end:start], 0.0
            yield text[start:stop], strength
            end = stop
    yield text[end:] + ("…" if len(sample.text) > _LONGEST_TEXT else ""), 0.0
