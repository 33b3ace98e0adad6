"""Report: one HTML file that says what a model has learned, and what of its documents deserves a look."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.report.findings import Duplicate, Findings, Suspect, find_oddities
    from treewass.report.report import Report, make_report

__all__ = ["Duplicate", "Findings", "Report", "Suspect", "find_oddities", "make_report"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Duplicate": ".findings",
        "Findings": ".findings",
        "Report": ".report",
        "Suspect": ".findings",
        "find_oddities": ".findings",
        "make_report": ".report",
    },
)
