"""Running a service: one process, or several that share the mapped files of one model."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any

from treewass.compute.arguments import counted_noun
from treewass.compute.extras import require
from treewass.documents.histograms import EmptyDocumentWarning
from treewass.serve.live_model import LiveModel
from treewass.serve.service_settings import COUNTS_FOLDER, Settings

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from treewass.serve.guards import RequestLog

__all__ = ["file_system", "run_service"]

_LOGGER = logging.getLogger("treewass.serve")
_BACKLOG = 2048
_SHUTDOWN_SECONDS = 10
_KEPT_SECONDS = 60  # that uvicorn keeps a silent connection: more than ours, which begins once an answer was taken
_HEALTHY_SECONDS = 30  # within which a worker answers, on a busy machine too; otherwise another one takes its place
_DESCRIPTORS = 65_536
_CANNOT_START = 3  # with which a worker tells uvicorn that another try would fail too
_MOUNTS = Path("/proc/self/mounts")
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "sshfs", "beegfs", "gpfs",
}  # fmt: skip
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_SECONDS = 1.0  # between looks for another model in the folder
_FOLD_BYTES = 64_000_000  # of writes that wait
_FOLD_SECONDS = 3600.0
_SWITCH_SECONDS = 0.0005  # until a thread that computes lets others in: Python's 5 ms would be felt in each answer
_UNTIL_THE_END = ExitStack()  # what a worker holds until its process ends


def run_service(
    folder: str | Path,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    store: str | None = None,
    json_log: bool = False,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve a model until a signal says to stop; its writes are folded into its folder then, and once an hour.

    A model that is saved to the folder meanwhile takes the place of the one that is served.

    Parameters
    ----------
    folder : path-like
        The model's folder.
    settings : Settings
        Who may read and write.
    host : str, default="127.0.0.1"
        Where to listen.
    port : int, default=8000
        0 for any that is free.
    workers : int, default=1
        Processes. They share one mapped index, and follow each other's writes.
    store : str, optional
        A PostgreSQL database that takes the writes, for services on several machines, each with a copy of the model.
    json_log : bool, default=False
        Whether the log is lines of JSON.
    announce : callable, optional
        Called with the address once it listens.

    Raises
    ------
    ValueError
        If there is no sound model, or its writes are damaged.
    OSError
        If the address cannot be had, or a worker cannot start.
    """
    for module in ("fastapi", "httptools", "prometheus_client", "uvicorn"):
        require(module, purpose="The service", extra="serve")
    path = Path(folder)
    _prepare_process(json_log)
    _LOGGER.info("loading %s; the first start on a machine compiles loops, which takes up to half a minute", path)
    kind = file_system(path, _MOUNTS.read_text(encoding="utf-8") if _MOUNTS.exists() else "")
    if store is None and kind.removeprefix("fuse.") in _NETWORK:
        _LOGGER.warning("%s is on a network file system (%s), where SQLite can lose writes", path, kind)
    with ExitStack() as opened:
        live = opened.enter_context(LiveModel(path, store))
        if workers > 1:
            counts = TemporaryDirectory(prefix="treewass-counts-", ignore_cleanup_errors=True)
            os.environ[COUNTS_FOLDER] = opened.enter_context(counts)
            opened.callback(os.environ.pop, COUNTS_FOLDER)
        listener = opened.enter_context(_listen(host, port))
        for number in _SIGNALS:
            opened.callback(signal.signal, number, signal.getsignal(number))
        opened.enter_context(_keeping(live, folds=True))
        make = partial(_worker_app, path, store, settings, json_log)
        run, stop = _prepared_server(live, make, settings, workers, listener)
        for number in _SIGNALS:
            signal.signal(number, stop)  # uvicorn handles them later, and raises them again
        if announce is not None:
            name = f"[{host}]" if ":" in host else host
            announce(f"http://{name}:{listener.getsockname()[1]}")
        codes = run()
        _fold(live)
    if _CANNOT_START in codes:
        raise OSError("A worker of the service could not start; the log says why.")


def file_system(folder: Path, mounts: str) -> str:
    """Return the kind of file system that holds a folder, by Linux's list of mounts; empty if it is not in the list."""
    found = ("", "")
    for line in mounts.splitlines():
        place, kind = line.split()[1:3]
        place = place.encode().decode("unicode_escape")
        if folder.resolve().is_relative_to(place) and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]


@contextmanager
def _keeping(live: LiveModel, *, folds: bool) -> Iterator[None]:
    """Follow what others do to the model's folder, and fold from time to time, in a thread of its own."""
    ended = threading.Event()

    def keep() -> None:
        folded, problem = time.monotonic(), ""
        while not ended.wait(_LOOK_SECONDS):
            try:
                live.follow()
                problem = ""
            except (ValueError, OSError) as error:
                if str(error) != problem:
                    _LOGGER.error("the model that is served stays as it is: %s", error)
                problem = str(error)
            waited = time.monotonic() - folded
            if folds and live.n_pending and (live.pending_bytes > _FOLD_BYTES or waited > _FOLD_SECONDS):
                _fold(live)
                folded = time.monotonic()

    keeper = threading.Thread(target=keep, name="keeper", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _fold(live: LiveModel) -> None:
    """Fold, or say why the writes stay where they are."""
    try:
        if number := live.fold():
            _LOGGER.info("%s folded into the model", counted_noun(number, "write"))
    except (ValueError, OSError) as error:
        _LOGGER.error("%d writes stay where they are, as they could not be folded: %s", live.n_pending, error)


def _prepared_server(
    live: LiveModel, make: Callable[[], RequestLog], settings: Settings, workers: int, listener: socket.socket
) -> tuple[Callable[[], list[int | None]], Callable[[int, FrameType | None], None]]:
    """Load and compile what the service needs; return what runs it, to its workers' codes, and what a signal calls."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from treewass.serve.application import create_app

    _warm_up(live)  # before workers start, so that one process compiles what all of them load
    if workers == 1:
        server = uvicorn.Server(uvicorn.Config(create_app(live, settings), **_server_settings()))

        def run_alone() -> list[int | None]:
            server.run([listener])
            return []

        return run_alone, server.handle_exit
    several = Multiprocess(uvicorn.Config(make, factory=True, workers=workers, **_server_settings()), [listener])

    def run() -> list[int | None]:
        several.run()
        return [worker.exitcode for worker in several.processes]

    return run, lambda number, _: several.signal_queue.append(number)


def _listen(host: str, port: int) -> socket.socket:
    """Listen, on a socket that says it speaks TCP: otherwise asyncio leaves on what delays short answers by 40 ms."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"{error.strerror}: {host} port {port}. Choose another with --port.") from error
    return listener


def _server_settings() -> dict[str, Any]:
    from treewass.serve.guards import PatientProtocol

    return {
        "http": PatientProtocol,
        "loop": "asyncio",
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "backlog": _BACKLOG,
        "timeout_keep_alive": _KEPT_SECONDS,
        "timeout_graceful_shutdown": _SHUTDOWN_SECONDS,
        "timeout_worker_healthcheck": _HEALTHY_SECONDS,
    }


def _prepare_process(json_log: bool) -> None:
    """Log to standard error, without warnings of texts that hold no known word; allow as many connections as can be."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    if json_log:
        from treewass.serve.measures import JsonFormatter

        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: record.levelno > logging.INFO or "died" in str(record.msg)
    )
    warnings.simplefilter("ignore", EmptyDocumentWarning)  # answers tell
    sys.setswitchinterval(_SWITCH_SECONDS)
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _worker_app(folder: Path, store: str | None, settings: Settings, json_log: bool) -> RequestLog:
    """Make the application of one of several processes, which ends with the process that started it."""
    from treewass.serve.application import create_app

    _prepare_process(json_log)
    signal.signal(signal.SIGINT, lambda *_: None)  # of a terminal: the parent passes on that it is over
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        live = _UNTIL_THE_END.enter_context(LiveModel(folder, store))
    except (ValueError, FileNotFoundError) as error:  # after others, as too many open files, uvicorn tries again
        _LOGGER.error("a worker cannot start, the service stops: %s", error)
        sys.exit(_CANNOT_START)
    _UNTIL_THE_END.enter_context(_keeping(live, folds=False))
    _warm_up(live)
    return create_app(live, settings)


def _end_with(parent: BaseProcess) -> None:
    """Stop this worker when the process that started it ends, however it ends."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _warm_up(live: LiveModel) -> None:
    """Search once, which loads the compiled loops, or compiles them on the first start after an installation.

    What there is by then stays. So Python need not look through it for garbage again, which would stop all threads for
    a fifth of a second each time.
    """
    from treewass.model.inference import count_texts
    from treewass.serve.responses import search_texts, similar_documents

    held = live.current()
    import_module("numba")  # so that searches are compiled
    word = held.counter.words[0]
    search_texts(held, [word], 1)
    similar_documents(count_texts(held, [word]), 1, where=None, offset=0, highlight=False)
    gc.collect()
    gc.freeze()
