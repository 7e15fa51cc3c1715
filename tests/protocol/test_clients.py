"""The clients that people use, unchanged, against the live server."""

from __future__ import annotations

import base64
import datetime as dt
import re
import subprocess
import threading
import uuid
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import prestodb
import pyhive.exc
import pyhive.presto
import pytest
import trino

from tests.maven import jar

VALUES = {
    "c_boolean": True,
    "c_tinyint": -128,
    "c_smallint": 32767,
    "c_integer": 2147483647,
    "c_bigint": 9007199254740993,
    "c_real": 0.1,
    "c_double": 2.5,
    "c_decimal": "12345678901234567890.10",
    "c_varchar": "é☃",
    "c_varchar_10": "abc",
    "c_char": "ab   ",
    "c_varbinary": base64.b64encode(b"\x00\xff").decode(),
    "c_date": "2020-02-29",
    "c_time": "01:02:03.456",
    "c_timestamp": "2020-02-29 01:02:03.456",
    "c_timestamptz": "2020-02-29 01:02:03.456 America/Los_Angeles",
    "c_day_second": "1 02:03:04.500",
    "c_year_month": "1-6",
    "c_json": '{"a":[1,2]}',
    "c_uuid": "12151fd2-7586-11e9-8f9e-2a86e4085a59",
    "c_ipaddress": "10.0.0.1",
    "c_array": [1, 2, None],
    "c_map": {"a": 1, "b": None},
    "c_row": [1, 2.5],
    "c_unknown": None,
}


@pytest.fixture
def presto_cursor(server):
    with prestodb.dbapi.connect(host="127.0.0.1", port=server.port, user="py", catalog="iceberg", schema="db") as c:
        yield c.cursor()


@pytest.fixture
def trino_cursor(server):
    with trino.dbapi.connect(host="127.0.0.1", port=server.port, user="py", catalog="iceberg", schema="db") as c:
        yield c.cursor()


@pytest.fixture
def pyhive_cursor(server):
    connection = pyhive.presto.connect("127.0.0.1", port=server.port, username="py", catalog="iceberg", schema="db")
    return connection.cursor()


def test_presto_client_reads_every_type(presto_cursor):
    presto_cursor.execute("SELECT all")
    first, second = presto_cursor.fetchall()
    assert dict(zip([d[0] for d in presto_cursor.description], first, strict=True)) == VALUES
    assert second == [None] * len(VALUES)


def test_presto_client_pages_errors_and_session(presto_cursor, server):
    presto_cursor.execute("SELECT many")
    assert [row[0] for row in presto_cursor.fetchall()] == list(range(20_000))
    with pytest.raises(prestodb.exceptions.PrestoUserError) as failure:
        presto_cursor.execute("SELEC")
        presto_cursor.fetchall()
    assert failure.value.error_name == "SYNTAX_ERROR"
    assert failure.value.message == "line 1:1: mismatched input 'SELEC'"
    for sql in ("SET SESSION a = 'b c'", "PREPARE p FROM SELECT 1", "SELECT 1"):
        presto_cursor.execute(sql)
        assert presto_cursor.fetchall()
    session = server.planner.sessions[-1]
    assert session.properties == {"a": "b c"}
    assert session.prepared_statements == {"p": "SELECT 1"}


def test_presto_client_transaction(server):
    level = prestodb.transaction.IsolationLevel.READ_COMMITTED
    with prestodb.dbapi.connect(host="127.0.0.1", port=server.port, user="py", isolation_level=level) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [[1]]
    ids = [session.transaction_id for session in server.planner.sessions[-3:]]
    assert ids == [None, "tx-1", "tx-1"]


@pytest.mark.slow
def test_presto_client_cancel(presto_cursor, server):
    # The client drains every page inside execute(), so another thread has to cancel.
    def cancel():
        server.wait_for(lambda: (presto_cursor.stats or {}).get("state") == "RUNNING")
        presto_cursor.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(prestodb.exceptions.PrestoUserError) as failure:
        presto_cursor.execute("SELECT slow")
        presto_cursor.fetchall()
    canceller.join()
    assert failure.value.error_name == "USER_CANCELED"


def test_pyhive_reads_every_type(pyhive_cursor):
    pyhive_cursor.execute("SELECT all")
    first, second = pyhive_cursor.fetchall()
    expected = VALUES | {"c_varbinary": b"\x00\xff", "c_decimal": Decimal(VALUES["c_decimal"])}
    assert dict(zip([d[0] for d in pyhive_cursor.description], first, strict=True)) == expected
    assert second == (None,) * len(VALUES)


@pytest.mark.slow
def test_pyhive_pages_errors_and_cancel(pyhive_cursor):
    pyhive_cursor.execute("SELECT many")
    assert len(pyhive_cursor.fetchall()) == 20_000
    with pytest.raises(pyhive.exc.DatabaseError, match="SYNTAX_ERROR"):
        pyhive_cursor.execute("SELEC")
        pyhive_cursor.fetchall()
    pyhive_cursor.execute("SELECT slow")
    while pyhive_cursor.poll()["stats"]["state"] != "RUNNING":
        pass
    pyhive_cursor.cancel()
    pyhive_cursor.execute("SELECT none")
    assert pyhive_cursor.fetchall() == []


def test_trino_client_reads_every_type(trino_cursor):
    trino_cursor.execute("SELECT all")
    first, second = trino_cursor.fetchall()
    names = [d[0] for d in trino_cursor.description]
    found = dict(zip(names, first, strict=True))
    assert found["c_row"] == (1, 2.5)
    assert found["c_row"].x == 1
    moment = dt.datetime(2020, 2, 29, 1, 2, 3, 456000)
    assert found | {"c_row": None} == VALUES | {
        "c_row": None,
        "c_decimal": Decimal("12345678901234567890.10"),
        "c_varbinary": b"\x00\xff",
        "c_date": dt.date(2020, 2, 29),
        "c_time": dt.time(1, 2, 3, 456000),
        "c_timestamp": moment,
        "c_timestamptz": moment.replace(tzinfo=ZoneInfo("America/Los_Angeles")),
        "c_day_second": dt.timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500),
        "c_year_month": found["c_year_month"],
        "c_uuid": uuid.UUID("12151fd2-7586-11e9-8f9e-2a86e4085a59"),
    }
    assert (found["c_year_month"].years, found["c_year_month"].months) == (1, 6)
    assert second == [None] * len(VALUES)
    types = {d[0]: d[1] for d in trino_cursor.description}
    assert types["c_timestamptz"] == "timestamp(3) with time zone"


def test_trino_client_pages_errors_session_and_cancel(trino_cursor, server):
    trino_cursor.execute("SELECT many")
    assert [row[0] for row in trino_cursor.fetchall()] == list(range(20_000))
    with pytest.raises(trino.exceptions.TrinoUserError) as failure:
        trino_cursor.execute("SELEC").fetchall()
    assert failure.value.error_name == "SYNTAX_ERROR"
    trino_cursor.execute("USE tpch.sf1").fetchall()
    trino_cursor.execute("SET SESSION a = 'b c'").fetchall()
    trino_cursor.execute("SELECT nan")
    assert str(trino_cursor.fetchall()) == "[[nan], [inf], [-inf], [-0.0], [1e+100]]"
    session = server.planner.sessions[-1]
    assert (session.protocol, session.catalog, session.schema) == ("Trino", "tpch", "sf1")
    assert session.properties == {"a": "b c"}
    trino_cursor.execute("SELECT many")
    trino_cursor.fetchone()
    trino_cursor.cancel()


def test_trino_client_transaction(server):
    level = trino.transaction.IsolationLevel.READ_COMMITTED
    with trino.dbapi.connect(host="127.0.0.1", port=server.port, user="py", isolation_level=level) as connection:
        assert connection.cursor().execute("SELECT 1").fetchall() == [[1]]
    assert [session.transaction_id for session in server.planner.sessions[-3:]] == [None, "tx-1", "tx-1"]


def test_statements_that_are_no_queries(presto_cursor, trino_cursor):
    """Both servers send a row ``true`` of what only does something; rows of CALL are rows to both."""
    for cursor in (presto_cursor, trino_cursor):
        for sql, rows in (
            ("CREATE", [[True]]),
            ("CALL show", [[0, "x"], [1, "x"], [2, "x"]]),
            ("DELETE FROM t", [[5]]),
        ):
            cursor.execute(sql)
            assert [list(row) for row in cursor.fetchall()] == rows, sql
    trino_cursor.execute("CREATE").fetchall()
    assert trino_cursor.update_type == "CREATE TABLE"


@pytest.mark.slow
def test_rows_of_a_call_reach_users_of_jdbc(server, jdbc_jar, tmp_path):
    source = Path(__file__).parent / "java" / "CallProbe.java"
    subprocess.run(["javac", "-d", str(tmp_path), str(source)], check=True, timeout=120, capture_output=True)
    path = f"{tmp_path}:{jdbc_jar}:{jar('io.trino', 'trino-jdbc', '476')}"
    command = ["java", "-Duser.timezone=UTC", "-cp", path, "CallProbe", f"127.0.0.1:{server.port}"]
    run = subprocess.run(command, check=False, timeout=120, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "presto 0.1.0",
        "presto CALL show: rows 0 1 2",
        "presto CREATE: count 0",
        "presto DELETE FROM t: count 5",
        "trino 0.1.0",
        "trino CALL show: rows 0 1 2",
        "trino CREATE: count 0",
        "trino DELETE FROM t: count 5",
    ]


@pytest.mark.slow
def test_jdbc(server, jdbc_jar, tmp_path):
    source = Path(__file__).parent / "java" / "JdbcProbe.java"
    compiler = ["javac", "-cp", str(jdbc_jar), "-d", str(tmp_path), str(source)]
    subprocess.run(compiler, check=True, timeout=120, capture_output=True)
    path = f"{tmp_path}:{jdbc_jar}"
    command = ["java", "-Duser.timezone=UTC", "-cp", path, "JdbcProbe", f"127.0.0.1:{server.port}"]
    run = subprocess.run(command, check=False, timeout=120, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    cells = {name: cell.lower() for name, cell in reversed([li.split("|", 1) for li in lines if "|" in li])}
    assert cells["c_bigint"] == "bigint|9007199254740993"
    assert cells["c_decimal"] == "decimal(22,2)|12345678901234567890.10"
    assert cells["c_char"] == "char(5)|ab   "
    assert cells["c_varbinary"] == "varbinary|bytes:2"
    assert cells["c_date"] == "date|2020-02-29"
    assert cells["c_timestamp"] == "timestamp|2020-02-29 01:02:03.456"
    assert cells["c_array"] == "array(integer)|[1, 2, null]"
    assert cells["c_map"] == "map(varchar,integer)|{a=1, b=null}"
    assert cells["c_row"].startswith('row(x bigint,"y z" double)|')
    assert cells["c_day_second"] == "interval day to second|1 02:03:04.500"
    assert len([line for line in lines if line.endswith("|null")]) == len(VALUES) + 1
    rest = [re.sub(r"Query failed \(#\w+\): ", "", line) for line in lines if "|" not in line]
    assert rest == [
        "product 0.1.0",
        "many 20000 199990000",
        "update 5",
        "session tpch.sf1",
        "prepared 1",
        "failure 1 line 1:1: mismatched input 'SELEC'",
        "cancelled",
        "partial 2",
        "in transaction 1",
        "end",
    ]
