"""Sphinx configuration. The pages build and open with no network."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx

import treewass

project = "treewass"
author = "The treewass developers"
copyright = "2026, The treewass developers"
version = release = treewass.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",  # ships MathJax, so that no page asks the network for it
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"treewass {release}"
html_copy_source = False
html_show_sourcelink = False
# What the theme leaves out for readers without a mouse, or without eyes: levels of headings, focus of what scrolls.
html_js_files = [
    (
        None,
        {
            "defer": "defer",
            "body": "addEventListener('DOMContentLoaded', () => {"
            "document.querySelectorAll('.caption[role=heading]').forEach((one) => { one.ariaLevel = 2; });"
            "document.querySelectorAll('pre, .table-wrapper, .math-wrapper').forEach((one) => { one.tabIndex = 0; });"
            "document.querySelectorAll('aside.toc-drawer').forEach((one) => { one.ariaLabel = 'On this page'; });});",
        },
    )
]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# The menu of a formula is what would fetch further scripts.
mathjax3_config = {"options": {"enableMenu": False}}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The API pages list what each package in api.md exports, so that none can be forgotten; packages have pages of
# their own. A name that `treewass` itself exports is described there; the page of the package it lives in links to it.
PACKAGES = re.findall(r"^   (treewass[\w.]*)$", Path(__file__).with_name("api.md").read_text("utf-8"), re.MULTILINE)


def public_names(package: str) -> list[str]:
    """The names of a package in order, without those of packages in it."""
    module = import_module(package)
    names = [*module.__all__, *getattr(module, "_WITH_EXTRA", ())]
    return sorted(name for name in names if not isinstance(getattr(module, name), ModuleType))


autosummary_context = {"public_names": {package: public_names(package) for package in PACKAGES}}
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings state types and shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def skip_foreign_member(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out what a class inherits from scikit-learn or Python: their own pages describe it."""
    function = getattr(member, "fget", getattr(member, "func", member))  # a property, a cached one, or a method
    home = getattr(function, "__module__", None) or getattr(getattr(function, "__objclass__", None), "__module__", None)
    return True if home and home.split(".")[0] != "treewass" else None


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", skip_foreign_member)
