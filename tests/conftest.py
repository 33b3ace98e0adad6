import uuid

import pytest

from treewass_bench.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server with pgvector."""
    started = PostgresServer()
    yield started
    started.stop()


@pytest.fixture
def dsn(server):
    """A new, empty database."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.dsn.replace("/postgres?", f"/{name}?")
