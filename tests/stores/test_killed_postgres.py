"""PostgreSQL killed under writes: what was acknowledged is there, once."""

import threading
import time

import numpy as np
import pytest

from tests.stores.cases import COUNTS, METRIC
from treewass.stores import PostgresIndex
from treewass_bench.postgres_server import PostgresServer


def write_until(stop, index, name, acknowledged, uncertain):
    """Add documents one by one under new keys, and remove some again; note what was acknowledged and what failed."""
    number = 0
    while not stop.is_set():
        key = f"{name}-{number}"
        number += 1
        try:
            (added,) = index.add(COUNTS[[number % 300]], columns={"key": [key]})
            acknowledged[key] = int(added)
            if number % 5 == 0:
                uncertain.add(key)
                index.remove([added])
                del acknowledged[key]
                uncertain.discard(key)
        except ConnectionError:
            uncertain.add(key)
            time.sleep(0.05)


def kill_under_writes(n_kills):
    server = PostgresServer()
    index = PostgresIndex(server.dsn, METRIC)
    stop, acknowledged, uncertain = threading.Event(), {}, set()
    writers = [
        threading.Thread(target=write_until, args=(stop, index, name, acknowledged, uncertain)) for name in "abc"
    ]
    for writer in writers:
        writer.start()
    try:
        for kill in range(n_kills):
            goal = len(acknowledged) + 20
            while len(acknowledged) < goal:
                time.sleep(0.01)
            time.sleep(0.001 * kill)
            server.kill()
            server.start()
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    with index, PostgresIndex(server.dsn, METRIC) as fresh:
        held = {row["key"]: row["id"] for row in fresh.documents(fresh.ids)}
        assert len(held) == len(fresh)
    server.stop()
    certain = {key: number for key, number in acknowledged.items() if key not in uncertain}
    assert len(acknowledged) >= 15 * n_kills  # some of 20 may have been removed since
    assert certain.items() <= held.items()  # nothing is lost
    assert held.keys() <= certain.keys() | uncertain  # nothing that was removed comes back, nothing is doubled
    assert np.unique(list(held.values())).size == len(held)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_postgres_is_killed():
    kill_under_writes(2)


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_when_postgres_is_killed_often():
    kill_under_writes(20)
