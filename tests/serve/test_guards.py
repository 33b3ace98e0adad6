"""What a client without a browser's manners meets, message by message."""

import asyncio
import contextlib
import json
import socket

import pytest
import uvicorn

from treewass.serve import guards
from treewass.serve.guards import Guard, PatientProtocol
from treewass.serve.service_settings import LOOPBACK, MOST_BYTES, Settings

LARGE = 30_000_000  # bytes: more than the buffers of the system take
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = {"type": "http", "method": "POST", "path": "/api/search", "headers": [(b"transfer-encoding", b"chunked")]}


async def echo(scope, receive, send):
    """Answer with the number of bytes that came."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


async def ask(guard, messages, scope=POST):
    """Send a request in pieces; return status, headers and body."""
    sent, pieces = [], iter(messages)

    async def receive():
        message = next(pieces, None)
        if message is None:
            await asyncio.sleep(3600)
        return message

    async def send(message):
        sent.append(message)

    await guard(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def chunk(size, more=True):
    return {"type": "http.request", "body": b" " * size, "more_body": more}


def test_a_body_in_pieces_is_passed_on_whole():
    status, headers, body = asyncio.run(ask(Guard(echo, Settings()), [chunk(10), chunk(0), chunk(5, more=False)]))
    assert (status, body) == (200, b"15")
    assert b"content-security-policy" in headers


@pytest.fixture(autouse=True)
def short_drain(monkeypatch):
    monkeypatch.setattr(guards, "_DRAIN_SECONDS", 0.1)


def test_a_body_is_refused_as_soon_as_it_is_too_large():
    status, headers, body = asyncio.run(ask(Guard(echo, Settings()), [chunk(MOST_BYTES), chunk(1)]))
    assert status == 413
    assert headers[b"connection"] == b"close"
    assert json.loads(body)["detail"].startswith("Expected a body of at most")


@pytest.mark.parametrize("length", [b"5000000", b"-1", b"1e3", b"", b"9" * 5000])
def test_an_announced_length_is_believed_only_if_it_is_small(length):
    scope = {**POST, "headers": [(b"content-length", length)]}
    assert asyncio.run(ask(Guard(echo, Settings()), [chunk(1, more=False)], scope))[0] == 413


def test_a_slow_body_is_given_up(monkeypatch):
    monkeypatch.setattr(guards, "_BODY_SECONDS", 0.05)
    assert asyncio.run(ask(Guard(echo, Settings()), [chunk(10)]))[0] == 408


def test_a_client_that_goes_is_let_go():
    assert asyncio.run(ask(Guard(echo, Settings()), [chunk(10), {"type": "http.disconnect"}]))[0] == 400


def test_many_bodies_at_a_time_are_limited_together(monkeypatch):
    monkeypatch.setattr(guards, "_MOST_BUFFERED", 100)
    guard = Guard(echo, Settings())

    async def ask_all():
        slow = asyncio.create_task(ask(guard, [chunk(60)]))
        while guard._n_buffered < 60:
            await asyncio.sleep(0)
        meanwhile = await ask(guard, [chunk(60, more=False)])
        slow.cancel()
        await asyncio.wait([slow])
        return [answer[0] for answer in (meanwhile, await ask(guard, [chunk(60, more=False)]))]

    assert asyncio.run(ask_all()) == [503, 200]


def test_an_answer_that_does_not_begin_in_time_is_given_up(monkeypatch):
    monkeypatch.setattr(guards, "_ANSWER_SECONDS", 0.05)
    release = asyncio.Event()
    ended = []

    async def wait(scope, receive, send):
        try:
            await release.wait()
        except asyncio.CancelledError:
            ended.append("given up")
            raise

    guard = Guard(wait, Settings())

    async def ask_once():
        answer = await ask(guard, [chunk(1, more=False)])
        while guard._n_running:
            await asyncio.sleep(0)
        return answer

    status, headers, body = asyncio.run(ask_once())
    assert (status, headers[b"retry-after"], ended) == (503, b"10", ["given up"])
    assert b"No answer within" in body
    assert guard._n_running == 0


def test_an_answer_that_has_begun_may_take_its_time(monkeypatch):
    monkeypatch.setattr(guards, "_ANSWER_SECONDS", 0.05)

    async def slowly(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.2)
        await send({"type": "http.response.body", "body": b"whole"})

    assert asyncio.run(ask(Guard(slowly, Settings()), [chunk(1, more=False)]))[2] == b"whole"


def test_long_headers_are_refused():
    scope = {**POST, "headers": [(b"x", b"a" * 40_000)]}
    assert asyncio.run(ask(Guard(echo, Settings()), [chunk(1, more=False)], scope))[0] == 431


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        ([b"localhost"], 200), ([b"LOCALHOST:80"], 200), ([b"localhost."], 200), ([b"[::1]:8000"], 200),
        ([b"localhost "], 200),
        ([], 421), ([b""], 421), ([b"localhost", b"evil"], 421), ([b"localhost:80@evil"], 421), ([b"localhost:x"], 421),
        ([b"[::1]evil"], 421), ([b"localhost evil"], 421), ([b"localhost/evil"], 421), ([b"localhost,evil"], 421),
        ([b"localhost:123456"], 421), ([b"[localhost]"], 421),
    ],
)  # fmt: skip
def test_only_whole_host_names_are_known(hosts, status):
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host) for host in hosts]}

    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    assert asyncio.run(ask(Guard(answer, Settings(host_names=LOOPBACK)), [], scope))[0] == status


def test_requests_beyond_the_limit_are_turned_away(monkeypatch):
    monkeypatch.setattr(guards, "_MOST_REQUESTS", 3)
    release = asyncio.Event()

    async def wait(scope, receive, send):
        await release.wait()
        await echo(scope, receive, send)

    guard = Guard(wait, Settings())

    async def ask_all():
        tasks = [asyncio.create_task(ask(guard, [chunk(1, more=False)])) for _ in range(3)]
        while guard._n_running < 3:
            await asyncio.sleep(0)
        refused, headers, _ = await ask(guard, [chunk(1, more=False)])
        release.set()
        return refused, headers[b"retry-after"], [status for status, _, _ in await asyncio.gather(*tasks)]

    assert asyncio.run(ask_all()) == (503, b"1", [200, 200, 200])


def test_tokens_that_are_too_simple_are_refused():
    for token in ("short", "with a space in between", "naïve-token-of-24-chars-"):
        with pytest.raises(ValueError, match="Expected a token of at least 16"):
            Settings(token=token)
    with pytest.raises(ValueError, match="Expected a token to protect reads with"):
        Settings(protect_reads=True)
    assert "secret" not in repr(Settings(token="secret-of-24-characters-"))


def test_loopback_is_told_from_the_rest():
    assert {"127.0.0.1", "localhost", "::1"} <= set(LOOPBACK)
    assert not {"0.0.0.0", "::", "10.0.0.1"} & set(LOOPBACK)


@pytest.fixture
def looks(monkeypatch):
    """Have connections looked at often; gives a list that grows with each look."""
    monkeypatch.setattr(guards, "_SILENT_SECONDS", 0.5)
    noted, look = [], PatientProtocol._look

    def note_and_look(self, *arguments):
        noted.append(self)
        look(self, *arguments)

    monkeypatch.setattr(PatientProtocol, "_look", note_and_look)
    return noted


async def wait_for_looks(looks, count):
    """Wait until connections have been looked at some more times."""
    goal = len(looks) + count
    while len(looks) < goal:
        await asyncio.sleep(0.01)


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


def test_silent_connections_are_closed_and_busy_ones_are_not(looks):
    async def slow(scope, receive, send):
        await wait_for_looks(looks, 2)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def talk():
        answers = []
        async with serving(slow) as (_, port):
            for request in (b"", b"GET / HTTP/1.1\r\nHos", REQUEST):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                answers.append((await asyncio.wait_for(reader.read(), 60))[:12])
                writer.close()
        return answers

    assert asyncio.run(talk()) == [b"", b"", b"HTTP/1.1 204"]


def test_who_waited_long_for_an_answer_may_ask_again(looks):
    async def slow(scope, receive, send):
        await wait_for_looks(looks, 2)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def talk():
        async with asyncio.timeout(60), serving(slow) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(2):
                writer.write(REQUEST)
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
                await wait_for_looks(looks, 1)
            writer.close()

    asyncio.run(talk())


@pytest.mark.parametrize("application", [large, large_at_once])
@pytest.mark.usefixtures("looks")
def test_a_client_that_never_reads_its_answers_is_dropped(application):
    async def talk():
        async with serving(application) as (server, port):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(REQUEST * 3)
                async with asyncio.timeout(60):
                    while not server.server_state.connections:
                        await asyncio.sleep(0.01)
                    while server.server_state.connections or server.server_state.tasks:
                        await asyncio.sleep(0.01)

    asyncio.run(talk())


def test_a_client_that_reads_slowly_gets_its_answer(looks):
    async def talk():
        async with asyncio.timeout(60), serving(large) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            n_read = 0
            while n_read < LARGE:
                await wait_for_looks(looks, 1)
                stop = min(n_read + LARGE // 3, LARGE)
                while n_read < stop:
                    n_read += len(await reader.read(1_000_000))
            writer.close()
            return n_read

    assert asyncio.run(talk()) == LARGE
