"""Shared fixtures, and the marks of tests that need what not every machine has.

A test marked ``data`` runs where ``TREEWASS_DATA`` names a folder, one marked ``browser`` where Chromium is found;
elsewhere they are skipped, and the last lines say so. With ``TREEWASS_REQUIRE_ALL=1`` a marked test that was
skipped, for whatever reason, fails the run. One marked ``soak`` runs only if ``-m`` names that mark.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

MARKS = ("data", "browser", "slow")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRE_ALL = os.environ.get("TREEWASS_REQUIRE_ALL") == "1"
SKIPPED: Counter[tuple[str, str]] = Counter()  # of (marks, reason)

os.environ.setdefault("MPLBACKEND", "Agg")
# The same examples on every run, and no time limit: a slow machine is not a failure.
hypothesis.settings.register_profile("treewass", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("treewass")


def drop_old_code() -> None:
    """Remove compiled code that is older than our sources: numba looks at one file, but code comes from several."""
    package = Path(__file__).parent / "src" / "treewass"
    newest = max(source.stat().st_mtime for source in package.rglob("*.py"))
    kept = os.environ.get("NUMBA_CACHE_DIR")
    for folder in (package, *([Path(kept)] if kept else [])):
        for code in folder.rglob("*.nb[ic]"):
            with contextlib.suppress(FileNotFoundError):  # another process may be at it
                if code.stat().st_mtime < newest:
                    code.unlink()


drop_old_code()


def find_data_folder() -> Path | None:
    folder = os.environ.get("TREEWASS_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of text sets; for tests marked ``data``."""
    folder = find_data_folder()
    assert folder is not None, "a test that uses data_folder must be marked data"
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; for tests marked ``browser``."""
    path = find_chromium()
    assert path is not None, "a test that uses chromium must be marked browser"
    return path


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("soak") is not None]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    missing = {}
    if find_data_folder() is None:
        missing["data"] = "TREEWASS_DATA does not name a folder"
    if find_chromium() is None:
        missing["browser"] = "no Chromium was found"
    for item in items:
        for mark in MARKS:
            if item.get_closest_marker(mark) is None:
                continue
            item.user_properties.append(("mark", mark))  # travels with the report, from an xdist process too
            if mark in missing:
                item.add_marker(pytest.mark.skip(reason=missing[mark]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    marks = [value for key, value in report.user_properties if key == "mark"]
    if report.skipped and marks and not hasattr(report, "wasxfail"):
        SKIPPED[", ".join(marks), report.longrepr[2].removeprefix("Skipped: ")] += 1


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if REQUIRE_ALL and SKIPPED and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True, tryfirst=True)  # so as to follow pytest's list of tests
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield
    if SKIPPED:
        parts = [f"{count} marked {marks} ({reason})" for (marks, reason), count in sorted(SKIPPED.items())]
        sentence = f"Tests skipped: {', '.join(parts)}."
        if REQUIRE_ALL:
            sentence += " TREEWASS_REQUIRE_ALL=1 makes that a failure."
        terminalreporter.write_line(sentence, red=REQUIRE_ALL, yellow=not REQUIRE_ALL)
