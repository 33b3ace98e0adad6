import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import treewass

PACKAGES = ["treewass"] + [
    f"treewass.{module.name}" for module in pkgutil.iter_modules(treewass.__path__) if module.ispkg
]
HEAVY = ("numpy", "scipy", "sklearn", "numba", "torch", "matplotlib", "plotly", "rich", "typer")


def modules_after(statement):
    """Run a statement in a new Python and return the modules it loaded."""
    code = f"import sys; {statement}; sys.stdout.write(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package):
    assert not modules_after(f"import {package}") & set(HEAVY)


@pytest.mark.parametrize("name", ["Tree", "TreeMetric", "TreeIndex"])
def test_trees_and_index_work_without_scikit_learn(name):
    use = (
        "import treewass as t; from treewass.trees import star_tree; "
        "m = t.TreeMetric(star_tree(2)); i = t.TreeIndex(m); i.add([[1, 0], [1, 1]]); i.search([[0, 1]], 1); "
        f"t.{name}"
    )
    loaded = modules_after(use)
    assert "numba" in loaded
    assert not loaded & {"sklearn", "torch", "matplotlib", "plotly"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists_and_is_documented(package):
    module = importlib.import_module(package)
    assert module.__doc__
    for name in getattr(module, "__all__", []):
        value = getattr(module, name)
        assert value.__doc__, f"{package}.{name} has no docstring"
    assert set(getattr(module, "__all__", [])) <= set(dir(module))


@pytest.mark.parametrize("package", PACKAGES)
def test_names_for_type_checkers_are_the_public_names(package):
    source = ast.parse(Path(importlib.import_module(package).__file__).read_text("utf-8"))
    typed = {
        alias.name
        for block in source.body
        if isinstance(block, ast.If)
        for statement in block.body
        for alias in statement.names
    }
    assert typed == set(getattr(importlib.import_module(package), "__all__", []))


def test_subpackages_are_attributes_and_listed():
    code = "import treewass; treewass.trees.star_tree(2); treewass.documents.Corpus"
    assert "treewass.trees.shapes" in modules_after(code)
    assert {"trees", "Tree", "__version__"} <= set(dir(treewass))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'treewass' has no attribute 'Forest'"):
        treewass.Forest  # noqa: B018
    with pytest.raises(ImportError, match="Forest"):
        from treewass import Forest  # noqa: F401


def test_star_import_gives_the_public_names():
    names = {}
    exec("from treewass import *", names)
    assert set(treewass.__all__) <= set(names)
