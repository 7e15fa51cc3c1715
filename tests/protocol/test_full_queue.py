"""A full queue as clients see it: Presto's code in an ordinary answer, since what comes with a 503 they do not read.

Presto's Java client fails without a code on any status but 200 to its POST; the Python clients send a 503 three times
within a second and then raise an HTTP error without a code.
"""

from __future__ import annotations

import prestodb
import pyhive.exc
import pyhive.presto
import pytest
import trino

from coordinator.resource_groups.specification import global_group


@pytest.fixture
def full(start_server):
    """One statement runs, one waits, and there is no room for more."""
    with start_server(group=global_group(hard_concurrency_limit=1, max_queued=1)) as server:
        running = server.until(server.post("SELECT slow"), "RUNNING")
        queued = server.until(server.post("SELECT 1"), "QUEUED")
        yield server
        server.client.delete(running.json()["nextUri"])
        server.until(queued, "FINISHED")


def test_the_answer_is_no_http_error(full):
    first = full.post("SELECT 1")
    assert first.status_code == 200
    page = full.client.get(first.json()["nextUri"])
    assert (page.status_code, page.json()["error"]["errorName"]) == (200, "QUERY_QUEUE_FULL")
    assert page.json()["error"]["errorType"] == "INSUFFICIENT_RESOURCES"
    assert "nextUri" not in page.json()


@pytest.mark.parametrize("client", [prestodb, trino])
def test_python_clients_are_told_the_code(client, full):
    error = prestodb.exceptions.PrestoQueryError if client is prestodb else trino.exceptions.TrinoQueryError
    with client.dbapi.connect(host="127.0.0.1", port=full.port, user="py", catalog="iceberg") as connection:
        cursor = connection.cursor()
        with pytest.raises(error) as failure:
            cursor.execute("SELECT 1")
            cursor.fetchall()
    assert failure.value.error_name == "QUERY_QUEUE_FULL"
    assert failure.value.message == 'Too many queued queries for "global"'


def test_pyhive_is_told_the_code(full):
    cursor = pyhive.presto.connect("127.0.0.1", port=full.port, username="py", catalog="iceberg").cursor()
    with pytest.raises(pyhive.exc.DatabaseError) as failure:
        cursor.execute("SELECT 1")
        cursor.fetchall()
    assert failure.value.args[0]["errorName"] == "QUERY_QUEUE_FULL"
