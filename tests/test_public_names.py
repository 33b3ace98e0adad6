import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import treewass

ROOT = Path(treewass.__file__).parent
PACKAGES = ["treewass"] + [
    f"treewass.{module.name}" for module in pkgutil.iter_modules(treewass.__path__) if module.ispkg
]
STUBBED = [".".join(["treewass", *path.parent.relative_to(ROOT).parts]) for path in sorted(ROOT.rglob("__init__.pyi"))]
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


@pytest.mark.parametrize("package", STUBBED)
def test_every_public_name_exists_and_is_documented(package):
    module = importlib.import_module(package)
    assert module.__doc__
    assert module.__all__
    for name in dir(module):
        assert getattr(module, name).__doc__, f"{package}.{name} has no docstring"
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", STUBBED)
def test_stubs_name_what_is_public(package):
    """Type checkers read the stub, and so does the package: each name is listed once."""
    module = importlib.import_module(package)
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))
    imported = [alias for line in stub.body if isinstance(line, ast.ImportFrom) for alias in line.names]
    assert all(alias.asname == alias.name for alias in imported)  # without which a checker takes it for private
    names = [alias.name for alias in imported]
    assert len(names) == len(set(names))
    assert set(names) == set(dir(module))


def test_packages_without_a_stub_export_nothing():
    for package in set(PACKAGES) - set(STUBBED):
        assert not getattr(importlib.import_module(package), "__all__", []), package


def test_subpackages_are_attributes_and_listed():
    code = "import treewass; treewass.trees.star_tree(2); treewass.documents.Corpus; treewass.serve.Settings"
    loaded = modules_after(code)
    assert {"treewass.trees.shapes", "treewass.serve.service_settings"} <= loaded
    assert {"trees", "serve", "votes", "Tree"} <= set(dir(treewass))
    public = {package.removeprefix("treewass.") for package in STUBBED if package.count(".") == 1}
    assert public <= set(treewass.__all__)


def test_version_is_an_attribute():
    assert treewass.__version__.count(".") >= 2


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="Forest"):
        treewass.Forest  # noqa: B018
    with pytest.raises(ImportError, match="Forest"):
        from treewass import Forest  # noqa: F401


def test_star_import_gives_the_public_names():
    names = {}
    exec("from treewass import *", names)
    assert set(treewass.__all__) <= set(names)


_WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {"torch", "ot", "matplotlib", "plotly", "fastapi", "uvicorn", "psycopg", "pyarrow", "dask"}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
"""


def test_star_imports_need_no_extra():
    imports = "".join(f"from {package} import *\n" for package in STUBBED)
    subprocess.run([sys.executable, "-c", _WITHOUT_EXTRAS + imports], check=True)
