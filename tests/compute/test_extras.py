import sys

import pytest

from treewass.compute.extras import require


def test_missing_extra_is_named_with_its_pip_line():
    with pytest.raises(ImportError, match=r'wmd needs the module \'absent_module\'.*pip install "treewass\[ot\]"'):
        require("absent_module", purpose="wmd", extra="ot")


def test_a_broken_module_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import absent_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_dependency"):
        require("half_installed", purpose="wmd", extra="ot")
    assert "half_installed" not in sys.modules
