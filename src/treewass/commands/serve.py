"""``treewass serve``: a model in the browser and as JSON endpoints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from treewass.commands.shared import ModelFolder, print_line

__all__ = ["serve_command"]


def serve_command(
    model: ModelFolder,
    host: Annotated[str, typer.Option(help="Where to listen; by default this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    token_file: Annotated[
        str | None,
        typer.Option(help="File with the token that writes need; TREEWASS_TOKEN holds it otherwise. None: read only."),
    ] = None,
    protect_reads: Annotated[bool, typer.Option("--protect-reads", help="Demand the token for reads too.")] = False,
    host_name: Annotated[
        list[str] | None, typer.Option(help="A name that the service answers to; may be repeated.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes; they share one mapped index.")] = 1,
) -> None:
    """Serve a model: a page to search, compare, browse and classify, and JSON endpoints.

    Documents that are added are on the disk when the answer comes. The service stops gracefully on SIGTERM or Ctrl+C.
    """
    from treewass.serve.running import run_service
    from treewass.serve.settings import Settings, is_loopback

    names = tuple(host_name or ())
    if is_loopback(host):
        names = tuple(dict.fromkeys((host, "127.0.0.1", "localhost", "::1", *names)))
    token = _token(token_file)
    if protect_reads and token is None:
        raise ValueError("Expected a token to protect reads with: give --token-file, or set TREEWASS_TOKEN.")
    settings = Settings(token, protect_reads, names)
    if not is_loopback(host) and not protect_reads:
        typer.echo(
            "treewass: warning: whoever reaches this address can read the documents; see --protect-reads.", err=True
        )
    kind = (
        "reads and writes with the token"
        if protect_reads
        else "writes with the token"
        if settings.token
        else "read only"
    )
    run_service(
        Path(model).expanduser(),
        settings,
        host=host,
        port=port,
        workers=workers,
        announce=lambda address: print_line(f"Serving {model} at {address} ({kind}). Stop with Ctrl+C."),
    )


def _token(token_file: str | None) -> str | None:
    """Read the token, never from the command line, which others can see."""
    from treewass.serve.settings import SHORTEST_TOKEN

    if token_file is None:
        return os.environ.get("TREEWASS_TOKEN") or None
    try:
        return Path(token_file).expanduser().read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected text in {token_file}: {error}.") from error
    except OSError as error:
        raise ValueError(
            f"Expected --token-file to name a file that holds the token that writes need, at least {SHORTEST_TOKEN} "
            f"printable ASCII characters, but {token_file} cannot be read: {error.strerror}."
        ) from error
