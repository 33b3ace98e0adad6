"""What users install: the metadata, the archives, and the wheel at work in an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import import_module, metadata
from pathlib import Path

import pytest

import treewass

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1_000_000


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command with nothing of this environment on its path; return what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")  # reaches the build's own environment too
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{command} gave {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_metadata_has_the_version_of_the_package():
    assert metadata.version("treewass") == treewass.__version__


def test_citation_has_the_version_of_the_package():
    lines = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert f"version: {treewass.__version__}" in lines


def test_changelog_tells_of_this_version_and_has_room_for_the_next():
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert lines.count("## Unreleased") == lines.count(f"## {treewass.__version__}") == 1


def test_extras_are_those_of_the_design():
    extras = metadata.metadata("treewass").get_all("Provides-Extra")
    assert sorted(extras) == ["dask", "dev", "files", "ot", "plot", "serve", "stem", "stores", "train", "vectors"]


def test_extras_named_in_texts_and_messages_exist():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").rglob("*.md")]
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    named = {
        extra.strip()
        for path in [*pages, *sources]
        for group in re.findall(r"treewass\[([\w, -]+)\]", path.read_text("utf-8"))
        for extra in group.split(",")
    }
    asked_for = {extra for path in sources for extra in re.findall(r'\bextra="(\w+)"', path.read_text("utf-8"))}
    assert named | asked_for, "no text names an extra: this test looks in the wrong places"
    assert named | asked_for <= set(metadata.metadata("treewass").get_all("Provides-Extra"))


def test_reference_lists_every_public_package():
    packages = {".".join(path.parent.relative_to(ROOT / "src").parts) for path in (ROOT / "src").rglob("__init__.pyi")}
    listed = re.findall(r"^   (treewass[\w.]*)$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    assert packages <= set(listed)
    for package in listed:
        module = import_module(package)
        assert all(hasattr(module, name) for name in module.__all__), package


def test_every_requirement_is_pinned():
    """Of the core, of every extra, and of the benchmarks."""
    pinned = {
        re.sub(r"[-_.]+", "-", line.split("==")[0]).lower()
        for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    }
    required = {
        re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()
        for project in ("treewass", "treewass-bench")
        for requirement in metadata.requires(project)
    } - {"treewass"}
    assert required <= pinned


@pytest.mark.slow
def test_the_lock_file_has_a_hash_for_every_pin():
    """But for torch, whose builds differ by device. After a change of constraints.txt: make lock."""
    pins = re.findall(r"^([\w.-]+==\S+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    locked = re.findall(
        r"^([\w.-]+==\S+)(?: ; [^\n]*)? \\\n    --hash", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE
    )
    names = [
        {re.sub(r"[-_.]+", "-", name.split("==")[0]).lower() + name[name.index("==") :] for name in found}
        for found in (pins, locked)
    ]
    assert names[1] == {pin for pin in names[0] if not pin.startswith("torch==")}


def test_the_service_asks_for_the_uvicorn_that_it_is_tested_with():
    """It uses how uvicorn supervises workers, which earlier versions do in other ways."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (least,) = [r for r in project["optional-dependencies"]["serve"] if r.startswith("uvicorn")]
    (pinned,) = re.findall(r"^uvicorn==(\d+\.\d+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    assert least == f"uvicorn>={pinned}"


def name_repository(folder):
    command = [sys.executable, ROOT / "packaging" / "name_repository.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def test_the_page_of_the_package_index_gets_the_address_of_the_repository(tmp_path):
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    citation = re.sub("^(# )?repository-code: .*\n", "", (ROOT / "CITATION.cff").read_text("utf-8"), flags=re.MULTILINE)
    (tmp_path / "CITATION.cff").write_text(citation, "utf-8")
    refused = name_repository(tmp_path)
    assert refused.returncode == 1
    assert "repository-code in CITATION.cff" in refused.stderr
    assert (tmp_path / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()
    (tmp_path / "CITATION.cff").write_text(f'{citation}\nrepository-code: "https://example.org/us/treewass"\n', "utf-8")
    assert name_repository(tmp_path).returncode == 0
    readme = (tmp_path / "README.md").read_text("utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    address = "https://example.org/us/treewass"
    assert all(target.startswith("https://") for target in targets)
    assert f"{address}/raw/v{treewass.__version__}/docs/images/tree.png" in targets
    for target in targets:
        assert (ROOT / target.partition("#")[0].partition(f"/v{treewass.__version__}/")[2]).is_file()
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Source"] == address
    assert project["name"] == "treewass"


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The wheel and the source archive, as ``python -m build`` makes them."""
    folder = tmp_path_factory.mktemp("archives")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.mark.slow
def test_archives_hold_what_they_should(archives):
    wheel, source = archives
    assert wheel.stat().st_size < MEGABYTE
    names = zipfile.ZipFile(wheel).namelist()
    assert "treewass/py.typed" in names
    information = f"treewass-{treewass.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"treewass", information}
    assert not [name for name in names if "bench" in name or "/tests/" in name]
    assert f"{information}/licenses/LICENSE" in names
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc", ".gz", ".npz"))]
    with tarfile.open(source) as archive:
        members = {member.split("/", 1)[-1] for member in archive.getnames()}
    assert {"tests/test_packaging.py", "docs/conf.py", "Makefile", "constraints.txt", "LICENSE"} <= members
    assert {"Dockerfile", "packaging/treewass.service", "packaging/name_repository.py"} <= members
    assert {"benchmarks/pyproject.toml", "benchmarks/treewass_bench/commands.py"} <= members
    assert not [member for member in members if member.startswith(("docs/_build", ".venv"))]


@pytest.mark.slow
def test_wheel_runs_the_demo_in_an_empty_environment(archives, tmp_path):
    wheel, _ = archives
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "-qq", "--no-compile", wheel, cwd=tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run(programs / "treewass", "--version", cwd=elsewhere).strip() == f"treewass {treewass.__version__}"
    assert "bench" not in run(programs / "treewass", "--help", cwd=elsewhere)
    assert "error" in run(programs / "treewass", "demo", cwd=elsewhere)
