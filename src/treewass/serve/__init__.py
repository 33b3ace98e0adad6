"""Serve: a model as a web service, with JSON endpoints and a page to search, compare and browse."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.serve.application import create_app
    from treewass.serve.live_model import LiveModel, NewDocument, fold_journal
    from treewass.serve.running import run_service
    from treewass.serve.settings import Settings

__all__ = ["LiveModel", "NewDocument", "Settings", "create_app", "fold_journal", "run_service"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "LiveModel": ".live_model",
        "NewDocument": ".live_model",
        "Settings": ".settings",
        "create_app": ".application",
        "fold_journal": ".live_model",
        "run_service": ".running",
    },
)
