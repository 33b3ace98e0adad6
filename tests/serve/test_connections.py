import asyncio
import contextlib
import socket

import pytest
import uvicorn

from treewass.serve import connections
from treewass.serve.connections import PatientProtocol

LARGE = 30_000_000  # bytes: more than the buffers of the system take
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def slow(scope, receive, send):
    await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def large(scope, receive, send):
    """Answer in two pieces, so that the second waits until some of the first has been taken."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LARGE)]})
    for more in (True, False):
        await send({"type": "http.response.body", "body": bytes(LARGE // 2), "more_body": more})


async def large_at_once(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LARGE)]})
    await send({"type": "http.response.body", "body": bytes(LARGE)})


@contextlib.asynccontextmanager
async def serving(application):
    """Run a server; give it and its port."""
    config = uvicorn.Config(
        application,
        http=PatientProtocol,
        port=0,
        lifespan="off",
        log_config=None,
        loop="asyncio",
        timeout_keep_alive=1,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


def test_silent_connections_are_closed_and_busy_ones_are_not(monkeypatch):
    monkeypatch.setattr(connections, "_SECONDS", 0.1)

    async def talk():
        answers = []
        async with serving(slow) as (_, port):
            for request in (b"", b"GET / HTTP/1.1\r\nHos", REQUEST):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                answers.append((await asyncio.wait_for(reader.read(), 20))[:12])
                writer.close()
        return answers

    assert asyncio.run(talk()) == [b"", b"", b"HTTP/1.1 204"]


@pytest.mark.parametrize("application", [large, large_at_once])
def test_a_client_that_never_reads_its_answers_is_dropped(monkeypatch, application):
    monkeypatch.setattr(connections, "_SECONDS", 0.2)

    async def talk():
        async with serving(application) as (server, port):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(REQUEST * 3)
                async with asyncio.timeout(20):
                    while not server.server_state.connections:
                        await asyncio.sleep(0.01)
                    while server.server_state.connections or server.server_state.tasks:
                        await asyncio.sleep(0.01)

    asyncio.run(talk())


def test_a_client_that_reads_slowly_gets_its_answer(monkeypatch):
    monkeypatch.setattr(connections, "_SECONDS", 0.3)

    async def talk():
        async with asyncio.timeout(20), serving(large) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            n_read = 0
            while n_read < LARGE:
                for _ in range(20):
                    n_read += len(await reader.read(1_000_000))
                await asyncio.sleep(0.05)
            writer.close()
            return n_read

    assert asyncio.run(talk()) == LARGE
