"""``treewass serve``: a model in the browser and as JSON endpoints."""

from __future__ import annotations

import os
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.shared import ModelFolder
from treewass.compute.extras import require
from treewass.compute.progress import waiting

__all__ = ["LogFormat", "serve_command"]


class LogFormat(StrEnum):
    """How the service writes its log."""

    text = "text"
    json = "json"


def serve_command(
    model: ModelFolder,
    host: Annotated[str, typer.Option(help="Where to listen; by default this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    token_file: Annotated[
        str | None,
        typer.Option(help="File with the token that writes need; TREEWASS_TOKEN holds it otherwise. None: read only."),
    ] = None,
    protect_reads: Annotated[bool, typer.Option("--protect-reads", help="Demand the token for reads too.")] = False,
    read_token_file: Annotated[
        str | None,
        typer.Option(help="File with a token that allows reads only; TREEWASS_READ_TOKEN holds it otherwise."),
    ] = None,
    host_name: Annotated[
        list[str] | None, typer.Option(help="A name that the service answers to; may be repeated.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="postgresql://…",
            help="A database for the writes, shared by services on several machines, each with a copy of the model. A "
            "password belongs into PGPASSWORD.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes; they share one mapped index.")] = 1,
    log_format: Annotated[LogFormat, typer.Option(help="The log as lines of text, or of JSON.")] = LogFormat.text,
) -> None:
    """Serve a model: a page to search, compare, browse and classify, and JSON endpoints.

    Documents that are added are on the disk when the answer comes. The service stops gracefully on SIGTERM or Ctrl+C.
    """
    for module in ("fastapi", "uvicorn"):
        require(module, purpose="treewass serve", extra="serve")
    from treewass.serve.running import run_service
    from treewass.serve.service_settings import LOOPBACK, Settings

    names = tuple(host_name or ())
    if host in LOOPBACK:
        names = tuple(dict.fromkeys((host, *LOOPBACK, *names)))
    token = _token(token_file, "--token-file", "TREEWASS_TOKEN")
    read_token = _token(read_token_file, "--read-token-file", "TREEWASS_READ_TOKEN")
    if protect_reads and token is None and read_token is None:
        raise ValueError("Expected a token to protect reads with: give --token-file, or set TREEWASS_TOKEN.")
    settings = Settings(token, protect_reads, names, read_token)
    if host not in LOOPBACK and not settings.reads_need_token:
        typer.echo(
            "treewass: warning: whoever reaches this address can read the documents; see --protect-reads.", err=True
        )
    kind = "writes with the token" if token else "read only"
    if settings.reads_need_token:
        kind += ", reads with a token"
    with ExitStack() as loading:
        loading.enter_context(waiting(f"loading {model}"))  # the first start on a machine compiles

        def announce(address: str) -> None:
            loading.close()
            typer.echo(f"Serving {model} at {address} ({kind}). Stop with Ctrl+C.")

        run_service(
            Path(model).expanduser(),
            settings,
            host=host,
            port=port,
            workers=workers,
            store=store,
            json_log=log_format is LogFormat.json,
            announce=announce,
        )


def _token(token_file: str | None, option: str, variable: str) -> str | None:
    """Read the token, never from the command line, which others can see."""
    from treewass.serve.service_settings import SHORTEST_TOKEN

    if token_file is None:
        return os.environ.get(variable) or None
    try:
        return Path(token_file).expanduser().read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected text in {token_file}: {error}.") from error
    except OSError as error:
        raise ValueError(
            f"Expected {option} to name a file that holds a token, at least {SHORTEST_TOKEN} printable "
            f"ASCII characters, but {token_file} cannot be read: {error.strerror}."
        ) from error
