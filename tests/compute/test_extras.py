import sys
from importlib import metadata

import pytest

from treewass.compute.extras import require


def test_missing_extra_is_named_with_its_pip_line():
    with pytest.raises(ImportError, match=r'wmd needs the module \'absent_module\'.*pip install "pot>=[\d.]+"$'):
        require("absent_module", purpose="wmd", extra="ot")


def test_the_pip_line_names_all_that_an_extra_brings():
    with pytest.raises(ImportError, match=r'pip install "matplotlib>=[\d.]+" "plotly>=[\d.]+"$'):
        require("absent_module", purpose="a picture", extra="plot")


def test_without_installed_metadata_the_extra_is_named(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    with pytest.raises(ImportError, match=r'pip install "treewass\[plot\]"$'):
        require("absent_module", purpose="a picture", extra="plot")


def test_a_broken_module_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import absent_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_dependency"):
        require("half_installed", purpose="wmd", extra="ot")
    assert "half_installed" not in sys.modules
