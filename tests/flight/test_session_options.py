"""Session options with ADBC and as bytes: what later calls run under, what is refused, and hostile cookies."""

from __future__ import annotations

import base64
import json
import struct

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager
import grpc
import pytest

from coordinator.flight.session_options import COOKIE
from coordinator.flight.wire import Fields, message
from shared.spi.session_function import FunctionParameter, SessionFunction
from tests.protocol.conftest import done

DO_ACTION = "/arrow.flight.protocol.FlightService/DoAction"
COOKIES = {"adbc.flight.sql.rpc.with_cookie_middleware": "true"}
OPTION = "adbc.flight.sql.session.option."


def connect(uri, **options):
    return adbc.connect(uri, db_kwargs={"username": "tester", "password": "", **COOKIES, **options}, autocommit=True)


def act(uri, name, body=b"", *metadata):
    """The body of the one result, and the cookie that came with it."""
    with grpc.insecure_channel(uri.removeprefix("grpc://")) as channel:
        call = channel.stream_stream(DO_ACTION)(
            iter([message((1, name), (2, body))]), metadata=(("x-presto-user", "tester"), *metadata), timeout=60
        )
        (answer,) = list(call)
        return Fields(answer).data(1), dict(call.initial_metadata()).get("set-cookie")


def entry(name, number, value):
    return message((1, message((1, name), (2, message((number, value))))))


def errors(answer):
    found = [Fields(each) for each in Fields(answer).messages(1)]
    return {each.text(1): Fields(each.data(2)).integer(1) for each in found}


def test_adbc_sets_catalog_schema_and_properties(flight):
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        connection.adbc_connection.set_options(
            **{"adbc.connection.catalog": "Lake", f"{OPTION}engine": "spark", f"{OPTION}iceberg.wap_branch": "audit"}
        )
        zone = {f"{OPTION}time_zone_id": "Asia/Tokyo"}
        connection.adbc_connection.set_options(**{"adbc.connection.db_schema": "db"}, **zone)
        cursor.execute("SELECT all")
        cursor.fetchall()
        session = flight.newest().session
        assert (session.catalog, session.schema) == ("lake", "db")
        assert session.time_zone == "Asia/Tokyo"
        assert session.properties == {"engine": "spark", "time_zone_id": "Asia/Tokyo"}
        assert session.catalog_properties == {"iceberg": {"wap_branch": "audit"}}
        assert connection.adbc_current_catalog == "lake"
        assert connection.adbc_current_db_schema == "db"
        assert connection.adbc_connection.get_option(f"{OPTION}engine") == "spark"


def test_statements_change_them(flight):
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        for text in ("USE tpch.sf1", "SET SESSION a = 'b c'"):
            cursor.execute(text)
            assert cursor.fetchall() == [(True,)]
        cursor.execute("SELECT all")
        cursor.fetchall()
        session = flight.newest().session
        assert (session.catalog, session.schema, session.properties) == ("tpch", "sf1", {"a": "b c"})
        assert connection.adbc_current_catalog == "tpch"
        for text in ("RESET SESSION a", "SELECT all"):
            cursor.execute(text)
            cursor.fetchall()
        assert (flight.newest().session.catalog, flight.newest().session.properties) == ("tpch", {})


def test_set_role_prepare_and_temporary_functions(flight):
    """As statements, they hold for the statements after them, and GetSessionOptions shows none of them."""
    double = SessionFunction("double_it", (FunctionParameter("x", "bigint"),), "bigint", "RETURN x * 2")
    flight.planner.answers["CREATE f"] = lambda: done("CREATE FUNCTION", added_functions=(double,))
    flight.planner.answers["DROP f"] = lambda: done("DROP FUNCTION", removed_functions=(double.id,))
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        for text in ("SET ROLE", "PREPARE p FROM SELECT 1", "CREATE f", "USE tpch.sf1", "EXECUTE p"):
            cursor.execute(text)
            rows = cursor.fetchall()
        assert rows == [(1,)]
        session = flight.newest().session
        assert session.roles == {"hive": "ROLE{admin}"}
        assert session.prepared_statements == {"p": "SELECT 1"}
        assert session.functions == (double,)
        assert (session.catalog, session.properties, session.catalog_properties) == ("tpch", {}, {})
        for text in ("DEALLOCATE PREPARE p", "DROP f", "SELECT 1"):
            cursor.execute(text)
            cursor.fetchall()
        session = flight.newest().session
        assert (session.prepared_statements, session.functions, session.catalog) == ({}, (), "tpch")
        assert session.roles == {"hive": "ROLE{admin}"}


def test_what_they_keep_is_no_option_and_no_way_in(flight):
    said = {"role:hive": "ROLE{admin}", "prepared:p": "SELECT 1", "catalog": "c"}
    answer, _ = act(flight.uri, "GetSessionOptions", b"", ("cookie", written(said)))
    assert {Fields(each).text(1) for each in Fields(answer).messages(1)} == {"catalog"}
    answer, _ = act(flight.uri, "SetSessionOptions", entry("role:hive", 1, "ROLE{admin}"))
    assert errors(answer) == {"role:hive": 1}
    for wrong in ({"role:hive": "admin\n"}, {"function:x": "{}"}, {'function:"a.b.f()"': "no"}):
        with pytest.raises(grpc.RpcError) as caught:
            act(flight.uri, "GetSessionOptions", b"", ("cookie", written(wrong)))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def written(options):
    return f"{COOKIE}={base64.urlsafe_b64encode(json.dumps(options).encode()).decode().rstrip('=')}"


def test_a_statement_that_fails_changes_none(flight):
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        with pytest.raises(adbc_driver_manager.Error):
            cursor.execute("USE nowhere")
        cursor.execute("SELECT all")
        cursor.fetchall()
        assert flight.newest().session.catalog is None


def test_they_are_one_connections_own(flight):
    with connect(flight.uri) as one, connect(flight.uri) as other, other.cursor() as cursor:
        one.adbc_connection.set_options(**{"adbc.connection.catalog": "lake"})
        cursor.execute("SELECT all")
        cursor.fetchall()
        assert flight.newest().session.catalog is None


def test_adbc_is_told_what_is_refused(flight):
    with connect(flight.uri) as connection, pytest.raises(adbc_driver_manager.Error, match="nobody_knows"):
        connection.adbc_connection.set_options(**{f"{OPTION}nobody_knows": "x"})


def test_every_form_of_a_value(flight):
    body = b"".join(
        (
            entry("query_max_run_time", 1, "5m"),
            entry("a.flag", 2, 1),
            message((1, message((1, "a.number"), (2, b"\x19" + struct.pack("<q", -7))))),
            message((1, message((1, "a.share"), (2, b"\x21" + struct.pack("<d", 0.5))))),
            entry("a.list", 5, message((1, "x"))),
            entry("query_max_run_time ", 1, "many"),
            entry("engine", 1, "abacus"),
            entry("time_zone_id", 1, "Mars/Base"),
            entry("catalog", 1, ""),
            entry("a.b\n", 1, "x\ny"),
        )
    )
    answer, cookie = act(flight.uri, "SetSessionOptions", body)
    assert errors(answer) == {
        "a.list": 2,
        "query_max_run_time": 2,
        "engine": 2,
        "time_zone_id": 2,
        "catalog": 2,
        "a.b": 2,
    }
    cookie = cookie.partition(";")[0]
    answer, _ = act(flight.uri, "GetSessionOptions", b"", ("cookie", f"other=1; {cookie}"), ("x-presto-catalog", "c"))
    found = {f.text(1): Fields(f.data(2)).text(1) for f in map(Fields, Fields(answer).messages(1))}
    assert found == {"query_max_run_time": "5m", "a.flag": "true", "a.number": "-7", "a.share": "0.5", "catalog": "c"}
    unset, cookie = act(flight.uri, "SetSessionOptions", entry("A.Flag", 9, ""), ("cookie", cookie))
    assert errors(unset) == {}
    assert "a.flag" not in kept(cookie)


def kept(cookie):
    value = cookie.partition(";")[0].partition("=")[2]
    return json.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))


def test_a_closed_session_is_forgotten(flight):
    answer, cookie = act(flight.uri, "CloseSession", b"", ("cookie", f"{COOKIE}=e30"))
    assert Fields(answer).integer(1) == 1
    assert cookie.startswith(f"{COOKIE}=;")
    assert "Max-Age=0" in cookie


@pytest.mark.parametrize(
    "value", ["not!base64", "W10", base64.urlsafe_b64encode(b'{"a": 1}').decode(), "A" * 9000, "W1tb" * 1500]
)
def test_hostile_cookies_are_refused(flight, value):
    with pytest.raises(grpc.RpcError) as caught:
        act(flight.uri, "GetSessionOptions", b"", ("cookie", f"{COOKIE}={value}"))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_too_many_options_are_refused(flight):
    body = b"".join(entry(f"a.b{number}", 1, "x" * 100) for number in range(200))
    with pytest.raises(grpc.RpcError) as caught:
        act(flight.uri, "SetSessionOptions", body)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_cookie_makes_nobody_somebody_else(flight):
    """It may say what headers may say, and no more."""
    said = base64.urlsafe_b64encode(b'{"user": "admin", "principal": "admin"}').decode().rstrip("=")
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT all")
        cursor.fetchall()
    act(flight.uri, "GetSessionOptions", b"", ("cookie", f"{COOKIE}={said}"))
    assert flight.newest().session.user == "tester"
