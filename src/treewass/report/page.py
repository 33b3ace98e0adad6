"""The HTML of a report: texts escaped, data as JSON that no text can break out of, scripts known by their hash."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from treewass.cards.colors import GREY
from treewass.cards.rendering import class_colors, read_style, template_environment
from treewass.compute.extras import require
from treewass.documents.texts import excerpt
from treewass.plot.tree_pictures import interactive_tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treewass.explain.hits import Document
    from treewass.report.model_report import Report

__all__ = ["render_page", "safe_json"]

_LONGEST_LINE, _LONGEST_POINT = 160, 240  # characters of a document of a branch, and on the map


def render_page(report: Report) -> str:
    """Write a report as one HTML page."""
    from markupsafe import Markup

    plotly = require("plotly.offline", purpose="a report", extra="plot").get_plotlyjs()
    folder = files("treewass.report")
    script = (folder / "report.js").read_text(encoding="utf-8")
    template = template_environment("treewass.report").get_template("report.html.jinja")
    held = report.model.contents_
    return template.render(
        report=report,
        held=held,
        evaluation=report.evaluation,
        colors=class_colors(held.classes),
        shown=_shown,
        class_errors=report.evaluation.class_errors() if report.evaluation is not None else {},
        duplicates=report.oddities.duplicates,
        suspects=report.oddities.suspects,
        suspect_kinds=_kinds((suspect.document.label, suspect.suggested) for suspect in report.oddities.suspects),
        duplicate_kinds=_kinds((pair.first.label, pair.second.label) for pair in report.oddities.duplicates),
        style=Markup(read_style() + (folder / "report.css").read_text(encoding="utf-8")),  # our own files # nosec B704
        plotly=Markup(_inline(plotly)),  # the package's own script # nosec B704
        script=Markup(_inline(script)),  # our own file # nosec B704
        script_hashes=[_source_hash(_inline(code)) for code in (plotly, script)],
        data=Markup(safe_json({**_tree_data(report), "map": _map_data(report)})),  # safe_json escapes it # nosec B704
    )


def _kinds(pairs: Iterable[tuple[Any, Any]]) -> Counter[tuple[str, str]]:
    """Count pairs of labels, to choose from."""
    return Counter((_shown(one), _shown(other)) for one, other in pairs)


def _shown(label: Any) -> str:
    return "no label" if label is None else str(label)


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


def _name(document: Document) -> str:
    return document.key or f"id {document.id}"


def _map_data(report: Report) -> dict[str, Any]:
    """Collect what the page's script needs for the map: labels with their colours, and the documents."""
    colors = class_colors(report.model.contents_.classes)
    points = []
    for number, (x, y) in zip(report.document_map.ids, report.document_map.places, strict=True):
        found = report.model.document(number)
        points.append([x, y, _shown(found.label), _name(found), found.title or "", excerpt(found.text, _LONGEST_POINT)])
    present = {point[2] for point in points}
    labels = [[str(label), color] for label, color in colors.items()] + [[_shown(None), GREY]]
    return {"labels": [entry for entry in labels if entry[0] in present], "points": points}


def _tree_data(report: Report) -> dict[str, Any]:
    """Collect what the page's script needs: the picture, and what to tell about each branch."""
    held = report.model.contents_
    ids, _ = held.grouped
    classes, colors = report.outline.classes, class_colors(held.classes)
    branches = {}
    for node in report.outline.nodes:
        documents = [report.model.document(int(ids[row])) for row in node.documents]
        branches[f"node{node.node}"] = {
            "parent": f"node{node.parent}" if node.parent >= 0 else None,
            "children": [f"node{child.node}" for child in report.outline.told_first(node.node)],
            "mass": node.mass,
            "n_words": node.n_words,
            "words": [word.word for word in node.words],
            "classes": [
                [str(classes[code]), share, colors.get(classes[code], GREY)]
                for code, share in sorted(enumerate(node.classes), key=lambda pair: -pair[1])[:6]
                if share >= 0.01 and held.classes
            ],
            "documents": [
                [
                    _name(document),
                    "" if document.label is None else str(document.label),
                    document.title or "",
                    excerpt(document.text, _LONGEST_LINE),
                ]
                for document in documents
            ],
        }
    return {
        "figure": json.loads(interactive_tree(report.outline, classes=held.classes).to_json()),
        "branches": branches,
    }
