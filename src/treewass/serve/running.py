"""Running a service: one process, or several that share the mapped files of one model."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from treewass.exceptions import EmptyDocumentWarning
from treewass.extras import require
from treewass.serve.live_model import LiveModel
from treewass.serve.locks import sharing
from treewass.serve.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from treewass.serve.request_log import RequestLog

__all__ = ["run_service"]

_LOGGER = logging.getLogger("treewass.serve")
_BACKLOG = 2048
_SHUTDOWN_SECONDS = 10
_DESCRIPTORS = 65_536
_CANNOT_START = 3  # with which a worker tells uvicorn that another try would fail too
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_UNTIL_THE_END = ExitStack()  # what a worker holds until its process ends, however it ends


def run_service(
    folder: str | Path,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve a model until a signal says to stop; then fold the writes since the start into its folder.

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
    announce : callable, optional
        Called with the address once it listens.

    Raises
    ------
    ValueError
        If there is no sound model, or another service runs on it.
    OSError
        If the address cannot be had, or a worker cannot start.
    """
    for module in ("fastapi", "httptools", "uvicorn"):
        require(module, purpose="The service", extra="serve")
    path = Path(folder)
    _prepare_process()
    with _opened(path) as live, _listen(host, port) as listener, _restoring_signals():
        run, stop = _prepared_server(live, path, settings, workers, listener)
        for number in _SIGNALS:
            signal.signal(number, stop)  # uvicorn handles them later, and raises them again
        if announce is not None:
            name = f"[{host}]" if ":" in host else host
            announce(f"http://{name}:{listener.getsockname()[1]}")
        codes = run()
        _LOGGER.info("stopped; %d writes folded into the model", live.fold())
    if _CANNOT_START in codes:
        raise OSError("A worker of the service could not start; the log says why.")


def _opened(folder: Path) -> LiveModel:
    """Open a model, with the writes of a service that was killed in its own files, or in its journal on a full disk."""
    live = LiveModel(folder)
    if live.n_records:
        try:
            live.fold()
        except OSError as error:
            _LOGGER.error("%d writes stay in the journal, which could not be folded: %s", live.n_records, error)
        live = LiveModel(folder)
    return live


def _prepared_server(
    live: LiveModel, folder: Path, settings: Settings, workers: int, listener: socket.socket
) -> tuple[Callable[[], list[int | None]], Callable[[int, FrameType | None], None]]:
    """Load and compile what the service needs; return what runs it, to its workers' codes, and what a signal calls."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from treewass.serve.application import create_app

    _warm_up(live)  # before workers start, so that one process compiles what all of them load
    if workers == 1:
        server = uvicorn.Server(uvicorn.Config(create_app(live, settings), **_server_settings()))
        return partial(_run_alone, server, listener), server.handle_exit
    make = partial(_worker_app, folder, live.base, settings)
    several = Multiprocess(uvicorn.Config(make, factory=True, workers=workers, **_server_settings()), [listener])
    return partial(_run_workers, several), lambda number, _: several.signal_queue.append(number)


def _run_alone(server: uvicorn.Server, listener: socket.socket) -> list[int | None]:
    server.run([listener])
    return []


def _run_workers(several: Multiprocess) -> list[int | None]:
    several.run()
    return [worker.exitcode for worker in several.processes]


@contextmanager
def _restoring_signals() -> Iterator[None]:
    """Leave the handlers of signals as they were."""
    before = [(number, signal.getsignal(number)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _ignore(*_: object) -> None:
    """Take a signal and do nothing."""


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
    from treewass.serve.connections import PatientProtocol

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
        "timeout_graceful_shutdown": _SHUTDOWN_SECONDS,
        "timeout_worker_healthcheck": _SHUTDOWN_SECONDS,
    }


def _prepare_process() -> None:
    """Log to standard error, without warnings of texts that hold no known word; allow as many connections as can be."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    warnings.simplefilter("ignore", EmptyDocumentWarning)  # answers tell
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _worker_app(folder: Path, base: str, settings: Settings) -> RequestLog:
    """Make the application of one of several processes, which ends with the process that started it."""
    from treewass.serve.application import create_app

    _prepare_process()
    signal.signal(signal.SIGINT, _ignore)  # of a terminal: the parent passes on that it is over
    _UNTIL_THE_END.enter_context(sharing(folder))
    parent = multiprocessing.parent_process()
    if parent is not None:
        if not parent.is_alive():  # the next service may have begun: it does not wait for who shares the lock too late
            sys.exit()
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    try:
        live = LiveModel(folder, base=base)
    except (ValueError, FileNotFoundError) as error:  # after others, as too many open files, uvicorn tries again
        _LOGGER.error("a worker cannot start, the service stops: %s", error)
        sys.exit(_CANNOT_START)
    _warm_up(live)
    return create_app(live, settings)


def _follow(parent: BaseProcess) -> None:
    """Stop this worker when the process that started it ends, however it ends."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _warm_up(live: LiveModel) -> None:
    """Search once, which loads the compiled loops, or compiles them on the first start after an installation."""
    from treewass.serve.answers import search_texts

    held = live.current()
    search_texts(held, [held.counter.words[0]], 1, highlight=False)
