import asyncio

import uvicorn

from treewass.serve import connections
from treewass.serve.connections import PatientProtocol


async def slow(scope, receive, send):
    await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


def test_silent_connections_are_closed_and_busy_ones_are_not(monkeypatch):
    monkeypatch.setattr(connections, "_SECONDS", 0.1)

    async def talk():
        config = uvicorn.Config(slow, http=PatientProtocol, port=0, lifespan="off", log_config=None, loop="asyncio")
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        answers = []
        for request in (b"", b"GET / HTTP/1.1\r\nHos", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answers.append((await asyncio.wait_for(reader.read(), 20))[:12])
            writer.close()
        server.should_exit = True
        await running
        return answers

    assert asyncio.run(talk()) == [b"", b"", b"HTTP/1.1 204"]
