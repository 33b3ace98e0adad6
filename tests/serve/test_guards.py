"""What a client without a browser's manners meets, message by message."""

import asyncio
import json

import pytest

from treewass.serve import guards
from treewass.serve.guards import Guard
from treewass.serve.settings import MOST_BYTES, Settings, is_loopback

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
    monkeypatch.setattr(guards, "_BODY_SECONDS", 0.2)
    guard = Guard(echo, Settings())

    async def ask_all():
        slow = asyncio.create_task(ask(guard, [chunk(60)]))
        await asyncio.sleep(0.01)
        meanwhile = await ask(guard, [chunk(60, more=False)])
        return [answer[0] for answer in (meanwhile, await slow, await ask(guard, [chunk(60, more=False)]))]

    assert asyncio.run(ask_all()) == [503, 408, 200]


def test_requests_beyond_the_limit_are_turned_away(monkeypatch):
    monkeypatch.setattr(guards, "_MOST_REQUESTS", 3)
    release = asyncio.Event()

    async def wait(scope, receive, send):
        await release.wait()
        await echo(scope, receive, send)

    guard = Guard(wait, Settings())

    async def ask_all():
        tasks = [asyncio.create_task(ask(guard, [chunk(1, more=False)])) for _ in range(3)]
        await asyncio.sleep(0.01)
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
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1")))
