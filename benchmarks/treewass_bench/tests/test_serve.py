import http.server
import signal
import subprocess
import sys
import threading

import pytest

from treewass_bench import serve
from treewass_bench.serve import bench_serve


@pytest.mark.slow
def test_rows_hold_throughput_and_latency_without_errors():
    rows = list(bench_serve(300, 20, 3))
    cases = [(row.case["case"], row.case["workers"], row.case["clients"]) for row in rows]
    assert cases[:3] == [("in-process search", 0, 1), ("search", 1, 1), ("search", 1, 8)]
    assert len(cases) == len(set(cases)) == 9
    for row in rows:
        assert row.measures["errors"] == row.measures["unsent"] == 0
        assert row.measures["requests"] == {"add": 9, "search with highlights": 6}.get(row.case["case"], 60)
        assert 0 < row.measures["p50_ms"] <= row.measures["p99_ms"]


class Moody(http.server.BaseHTTPRequestHandler):
    """Answer, refuse, hang up, in turn."""

    protocol_version = "HTTP/1.1"
    n_requests = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Moody.n_requests += 1
        if Moody.n_requests % 3 == 0:
            self.close_connection = True
            return
        self.send_response(200 if Moody.n_requests % 3 == 1 else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def moody():
    with http.server.HTTPServer(("127.0.0.1", 0), Moody) as server:
        Moody.n_requests = 0
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address
        server.shutdown()
        thread.join()


def test_refusals_and_failed_connections_are_counted(moody):
    taken = serve._load(moody, [("/", b"")] * 9, 1)
    row = serve._row(("search", 1, 1), [taken, taken], 9)
    assert (row.measures["requests"], row.measures["errors"], row.measures["unsent"]) == (12, 12, 0)


def test_a_service_that_is_gone_is_counted():
    gone = ("127.0.0.1", 1)  # where nobody listens
    assert serve._load(gone, [("/", b"")] * 5, 2).n_errors == 5
    row = serve._row(("search", 1, 1), [serve._client(gone, [("/", b"")] * 2)], 9)
    assert (row.measures["requests"], row.measures["errors"], row.measures["p50_ms"]) == (0, 2, None)


def test_requests_that_the_time_did_not_allow_are_counted(moody, monkeypatch):
    monkeypatch.setattr(serve, "_SECONDS", -1)
    taken = serve._load(moody, [("/", b"")] * 5, 2)
    assert (taken.seconds, taken.n_errors, taken.n_unsent) == ([], 0, 5)


def test_a_service_that_does_not_stop_is_killed(monkeypatch, tmp_path):
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('http://127.0.0.1:1 ', flush=True); "
    real, started = subprocess.Popen, []

    def start(_, **options):
        started.append(real([sys.executable, "-c", code + "signal.pause()"], **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(serve, "_STOP_SECONDS", 0.1)
    with pytest.raises(subprocess.TimeoutExpired), serve._service(tmp_path, 1):
        pass
    assert started[0].returncode == -signal.SIGKILL
