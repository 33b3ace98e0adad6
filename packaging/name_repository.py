"""Put the repository's address where the package index shows it: ``python packaging/name_repository.py``.

The address is that of `repository-code` in CITATION.cff. It makes the links of README.md absolute and gives
pyproject.toml its URLs, both in the folder where it runs. The release workflow runs it on its own copy.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)")  # a link or picture of Markdown


def absolute_links(text: str, address: str, tag: str) -> str:
    """Let relative links lead to the files of a tag, and pictures to their bytes."""
    return _RELATIVE.sub(
        lambda link: f"{link[1]}{link[2]}({address}/{'raw' if link[1] else 'blob'}/{tag}/{link[3]})", text
    )


def main() -> None:
    """Rewrite both files, or say what is missing."""
    citation = Path("CITATION.cff").read_text("utf-8")
    found = re.search(r'^repository-code: "?(https://[^"\s]+?)/?"?$', citation, re.MULTILINE)
    if found is None:
        sys.exit("Expected the repository's address as repository-code in CITATION.cff, found none: fill it in there.")
    address = found[1]
    tag = "v" + re.findall(r"^version: (\S+)$", citation, re.MULTILINE)[0]
    readme, project = Path("README.md"), Path("pyproject.toml")
    readme.write_text(absolute_links(readme.read_text("utf-8"), address, tag), "utf-8")
    urls = {
        "Source": address,
        "Documentation": f"{address}/blob/{tag}/docs/index.md",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    project.write_text(f"{project.read_text('utf-8')}\n[project.urls]\n{lines}", "utf-8")


if __name__ == "__main__":
    main()
