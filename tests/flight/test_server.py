"""Flight SQL with its usual clients over fakes of the dispatcher's ports: rows, errors, limits, and hostile callers."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import time

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager
import grpc
import pyarrow as pa
import pytest
from pyarrow import flight as fl

from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.settings import DispatchSettings
from coordinator.flight.callers import Callers
from coordinator.flight.messages import CANCELLED, NOT_CANCELLABLE, packed
from coordinator.flight.server import FlightServer
from coordinator.flight.settings import FlightSettings
from coordinator.flight.statements import Statements
from coordinator.flight.wire import Fields, message
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.authentication.authentication import Authentication
from coordinator.server.settings import ServerSettings
from shared.properties import ConfigurationError
from tests.flight.conftest import running_flight
from tests.protocol.test_authentication import Words

CALL = "/arrow.flight.protocol.FlightService/"


def connect(uri, user="tester", **options):
    return adbc.connect(uri, db_kwargs={"username": user, "password": user} | options, autocommit=True)


def as_(user):
    return fl.FlightCallOptions(headers=[(b"x-presto-user", user.encode())])


def info_of(client, sql, user="tester"):
    descriptor = fl.FlightDescriptor.for_command(packed("CommandStatementQuery", message((1, sql))))
    return client.get_flight_info(descriptor, as_(user))


def wait_for(condition, seconds=60.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def raw(uri, method, *requests, metadata=(("x-presto-user", "tester"),), timeout=60):
    """The answers of one call, as bytes."""
    with grpc.insecure_channel(uri.removeprefix("grpc://")) as channel:
        call = channel.stream_stream(CALL + method)
        return list(call(iter(requests), metadata=metadata, timeout=timeout))


def refusal(uri, method, *requests, **options):
    with pytest.raises(grpc.RpcError) as caught:
        raw(uri, method, *requests, **options)
    return caught.value.code().name


def descriptor(command):
    return message((1, 2), (2, command))


def test_rows_arrive_with_presto_types(flight):
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT all")
        table = cursor.fetch_arrow_table()
        assert table.num_rows == 2
        assert table.schema.field("c_decimal").metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"] == b"decimal(22,2)"
        cursor.execute("SELECT many")
        assert cursor.fetch_arrow_table().column("n").to_pylist() == list(range(20_000))
    query = flight.newest()
    wait_for(lambda: not query.active)
    assert (query.session.user, query.session.source, query.output_rows) == ("tester", "flight-sql", 20_000)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_rows_are_compressed_where_the_session_says_so(flight, codec):
    """pyarrow's reader and ADBC's recognize it by themselves."""
    sizes = {}
    for chosen in ("none", codec):
        said = [(b"x-presto-user", b"tester"), (b"x-presto-session", f"arrow_compression={chosen}".encode())]
        options = fl.FlightCallOptions(headers=said)
        with fl.connect(flight.uri) as client:
            for sql in ("SELECT all", "SELECT none", "SELECT many"):
                command = packed("CommandStatementQuery", message((1, sql)))
                info = client.get_flight_info(fl.FlightDescriptor.for_command(command), options)
                found = client.do_get(info.endpoints[0].ticket, options).read_all()
        assert found.column("n").to_pylist() == list(range(20_000))
        sizes[chosen] = flight.newest().output_bytes
        keyword = "adbc.flight.sql.rpc.call_header.x-presto-session"
        with (
            connect(flight.uri, **{keyword: f"arrow_compression={chosen}"}) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT many")
            assert cursor.fetch_arrow_table().column("n").to_pylist() == list(range(20_000))
        assert flight.newest().output_bytes == sizes[chosen]
    assert sizes[codec] < sizes["none"] // 3


def test_what_is_told_of_a_statement_has_its_id_and_its_warnings(flight):
    options = fl.FlightCallOptions(headers=[(b"x-presto-user", b"tester"), (b"x-presto-source", b"warn")])
    with fl.connect(flight.uri) as client:
        command = packed("CommandStatementQuery", message((1, "SELECT 1")))
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command), options)
    warning = {"warningCode": {"code": 1, "name": "TEST_WARNING"}, "message": "be careful"}
    assert json.loads(info.app_metadata) == {"queryId": flight.newest().id, "warnings": [warning]}


def test_the_error_of_a_statement_has_its_name_and_place(flight):
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        with pytest.raises(adbc_driver_manager.ProgrammingError, match=r"SYNTAX_ERROR: line 1:1: mismatched input"):
            cursor.execute("SELEC 1")
        with pytest.raises(adbc_driver_manager.Error, match="DIVISION_BY_ZERO"):
            cursor.execute("SELECT 1/0")
            cursor.fetch_arrow_table()


def test_updates_say_how_many_rows(flight):
    body = packed("CommandStatementUpdate", message((1, "DELETE FROM t")))
    (answer,) = raw(flight.uri, "DoPut", message((1, descriptor(body))))
    assert Fields(Fields(answer).data(1)).integer(1) == 5


def test_what_the_server_can_do(flight):
    with connect(flight.uri) as connection:
        info = connection.adbc_get_info()
    assert (info["vendor_name"], info["vendor_version"]) == ("Procession", "0.1.0")


def test_cancel_ends_the_statement(flight):
    with fl.connect(flight.uri) as client:
        info = info_of(client, "SELECT slow")
        query = flight.newest()
        wait_for(lambda: query.state.value == "RUNNING")
        ask = message((1, "CancelFlightInfo"), (2, message((1, info.serialize()))))
        (answer,) = raw(flight.uri, "DoAction", ask)
        assert Fields(Fields(answer).data(1)).integer(1) == CANCELLED
        assert query.error.code.name == "USER_CANCELED"
        (again,) = raw(flight.uri, "DoAction", ask)
        assert Fields(Fields(again).data(1)).integer(1) == NOT_CANCELLABLE


def test_a_client_that_goes_away_ends_its_statement(flight):
    with fl.connect(flight.uri) as client:
        reader = client.do_get(info_of(client, "SELECT huge").endpoints[0].ticket, as_("tester"))
        reader.read_chunk()
        query = flight.newest()
        assert query.state.value == "RUNNING"
        reader.cancel()
        wait_for(lambda: query.state.done)
    assert query.error.code.name == "USER_CANCELED"


@pytest.mark.slow
def test_a_client_that_goes_away_while_its_statement_waits(flight):
    with fl.connect(flight.uri) as client:
        ticket = info_of(client, "SELECT slow").endpoints[0].ticket
        query = flight.newest()
        reader = client.do_get(ticket, as_("tester"))
        wait_for(lambda: query.state.value == "RUNNING")
        reader.cancel()
        wait_for(lambda: query.state.done)


def test_tickets_are_good_once_and_for_their_owner(flight):
    with fl.connect(flight.uri) as client:
        ticket = info_of(client, "SELECT many").endpoints[0].ticket
        with pytest.raises(pa.ArrowKeyError, match="not ours"):
            client.do_get(ticket, as_("mallory")).read_all()
        forged = fl.Ticket(ticket.ticket[:-1] + bytes([ticket.ticket[-1] ^ 1]))
        with pytest.raises(pa.ArrowKeyError, match="not ours"):
            client.do_get(forged, as_("tester")).read_all()
        assert client.do_get(ticket, as_("tester")).read_all().num_rows == 20_000
        with pytest.raises(pa.ArrowKeyError, match="read already"):
            client.do_get(ticket, as_("tester")).read_all()


def test_whoever_does_not_say_who_they_are_is_refused_before_anything_is_read(flight):
    command = descriptor(packed("CommandGetSqlInfo", b""))
    for method in ("GetFlightInfo", "GetSchema", "DoGet", "DoPut", "DoAction", "ListActions", "ListFlights", "Nothing"):
        assert refusal(flight.uri, method, command, metadata=()) == "UNAUTHENTICATED", method
    assert refusal(flight.uri, "Handshake", metadata=()) == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("method", "request_", "status"),
    [
        ("GetFlightInfo", b"\xff\xff", "INVALID_ARGUMENT"),
        ("GetFlightInfo", b"", "INVALID_ARGUMENT"),
        ("GetFlightInfo", message((1, 1), (3, "path")), "INVALID_ARGUMENT"),
        ("GetFlightInfo", descriptor(packed("CommandStatementSubstraitPlan", b"")), "UNIMPLEMENTED"),
        ("GetFlightInfo", descriptor(packed("CommandStatementIngest", b"")), "INVALID_ARGUMENT"),
        ("GetFlightInfo", descriptor(packed("CommandPreparedStatementQuery", message((1, b"x")))), "NOT_FOUND"),
        ("GetFlightInfo", descriptor(packed("CommandStatementQuery", message((1, b"\xff")))), "INVALID_ARGUMENT"),
        ("DoGet", message((1, b"garbage")), "INVALID_ARGUMENT"),
        ("DoGet", message((1, packed("TicketStatementQuery", message((1, b"\xff.\xff"))))), "NOT_FOUND"),
        ("DoGet", message((1, packed("CommandStatementQuery", message((1, "SELECT 1"))))), "INVALID_ARGUMENT"),
        ("DoAction", message((1, "Format")), "UNIMPLEMENTED"),
        ("DoAction", message((1, "CreatePreparedStatement"), (2, b"x")), "INVALID_ARGUMENT"),
        ("DoPut", message((1, descriptor(packed("CommandGetCatalogs", b"")))), "INVALID_ARGUMENT"),
        ("DoExchange", b"", "UNIMPLEMENTED"),
        ("PollFlightInfo", b"", "UNIMPLEMENTED"),
    ],
)
def test_what_cannot_be_done_is_said(flight, method, request_, status):
    assert refusal(flight.uri, method, request_) == status


def test_messages_are_bounded(flight):
    with pytest.raises(grpc.RpcError) as caught:
        raw(flight.uri, "GetFlightInfo", bytes(9 << 20))
    assert caught.value.code().name in ("RESOURCE_EXHAUSTED", "CANCELLED")
    too_long = descriptor(packed("CommandStatementQuery", message((1, "x" * 1_000_001))))
    with pytest.raises(grpc.RpcError, match="QUERY_TEXT_TOO_LARGE"):
        raw(flight.uri, "GetFlightInfo", too_long)
    assert raw(flight.uri, "ListFlights", b"") == []


def test_a_client_that_sends_nothing_is_left():
    left = threading.Event()

    def nothing():
        assert left.wait(60)
        yield from ()

    with (
        running_flight(receive_timeout=0.3) as flight,
        grpc.insecure_channel(flight.uri.removeprefix("grpc://")) as channel,
    ):
        call = channel.stream_stream(CALL + "GetFlightInfo")(nothing(), metadata=(("x-presto-user", "tester"),))
        with pytest.raises(grpc.RpcError) as caught:
            next(call)
        left.set()
        assert caught.value.code().name == "DEADLINE_EXCEEDED"


@pytest.mark.slow
def test_a_client_that_takes_nothing_is_left():
    settings = DispatchSettings(client_timeout=0.5, sweep_interval=0.1, max_buffer_size=1 << 20)
    with running_flight(settings=settings) as flight, fl.connect(flight.uri) as client:
        reader = client.do_get(info_of(client, "SELECT huge").endpoints[0].ticket, as_("tester"))
        query = flight.newest()
        wait_for(lambda: query.state.done)
        wait_for(lambda: flight.dispatcher.results.used("memory") == 0)
        reader.cancel()


def test_calls_are_bounded():
    with running_flight(max_calls=2) as flight, fl.connect(flight.uri) as client:
        tickets = [info_of(client, "SELECT slow").endpoints[0].ticket for _ in range(2)]
        readers = [client.do_get(ticket, as_("tester")) for ticket in tickets]
        wait_for(lambda: all(query.state.value == "RUNNING" for query in flight.dispatcher.registry))
        assert refusal(flight.uri, "ListFlights", b"") == "RESOURCE_EXHAUSTED"
        for reader in readers:
            reader.cancel()
        wait_for(lambda: all(query.state.done for query in flight.dispatcher.registry))
        assert raw(flight.uri, "ListFlights", b"") == []


def secured(**options):
    control = AllowAll()
    return ServerSettings(authentication=Authentication((Words(),), control, **options), access_control=control)


def test_passwords_go_over_tls_alone():
    refused = pytest.raises(adbc_driver_manager.Error, match="Authentication over HTTP is not enabled")
    with running_flight(server_settings=secured()) as flight, refused:
        connect(flight.uri)
    with running_flight(server_settings=secured(allow_insecure=True)) as flight:
        with pytest.raises(adbc_driver_manager.Error, match="Password not allowed"):
            connect(flight.uri)
        with connect(flight.uri, password="") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchall() == [(1,)]


def test_behind_a_proxy_that_ends_tls():
    settings = secured()
    trusting = ServerSettings(
        authentication=settings.authentication, access_control=settings.access_control, process_forwarded=True
    )
    header = "adbc.flight.sql.rpc.call_header.x-forwarded-proto"
    forwarded = (("x-forwarded-proto", "https"),)

    def basic(user, password):
        return (*forwarded, ("authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()))

    with running_flight(server_settings=trusting) as flight:
        assert raw(flight.uri, "ListFlights", b"", metadata=basic("alice", "alice")) == []
        assert refusal(flight.uri, "ListFlights", b"", metadata=basic("alice", "wrong")) == "UNAUTHENTICATED"
        assert refusal(flight.uri, "ListFlights", b"", metadata=forwarded) == "UNAUTHENTICATED"
        unknown = (*forwarded, ("authorization", "Bearer e30.x"))
        assert refusal(flight.uri, "ListFlights", b"", metadata=unknown) == "UNAUTHENTICATED"
        with connect(flight.uri, "alice", **{header: "https"}) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchall() == [(1,)]
        assert flight.newest().session.principal == "alice@lake"


def test_a_server_that_leaves_takes_no_statements(flight):
    from coordinator.server.lifecycle import _refusal

    flight.dispatcher.refusal = _refusal("Server is shutting down")
    try:
        with pytest.raises(grpc.RpcError, match="SERVER_SHUTTING_DOWN") as caught:
            raw(flight.uri, "GetFlightInfo", descriptor(packed("CommandStatementQuery", message((1, "SELECT 1")))))
        assert caught.value.code().name == "UNAVAILABLE"
    finally:
        flight.dispatcher.refusal = None


def test_get_schema_runs_nothing(flight):
    before = len(flight.dispatcher.registry)
    with fl.connect(flight.uri) as client:
        command = packed("CommandStatementQuery", message((1, "SELECT many")))
        found = client.get_schema(fl.FlightDescriptor.for_command(command), as_("tester"))
    assert found.schema.names == ["n", "t"]
    assert found.schema.field("n").type == pa.int64()
    assert len(flight.dispatcher.registry) == before


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        async def start() -> None:
            callers = Callers(ServerSettings(), SystemClock())
            settings = FlightSettings.model_validate({"port": port})
            async with FlightServer(callers, Statements(None, None), settings, "127.0.0.1", "0.1.0").running():
                raise AssertionError("it started")

        with pytest.raises(ConfigurationError, match="the port is in use"):
            asyncio.run(start())


@pytest.mark.parametrize("failure", [OSError("no room for the line"), SystemExit(3)])
def test_a_start_that_fails_is_said(failure):
    def fail(_: str) -> None:
        raise failure

    async def start() -> None:
        callers, settings = Callers(ServerSettings(), SystemClock()), FlightSettings.model_validate({"port": 0})
        server = FlightServer(callers, Statements(None, None), settings, "127.0.0.1", "0.1.0", None, fail)
        async with asyncio.timeout(60), server.running():
            raise AssertionError("it started")

    with pytest.raises(type(failure)):
        asyncio.run(start())


def test_a_handshake_ends_after_its_first_message(flight):
    class Endless:
        def __iter__(self):
            return self

        def __next__(self):
            time.sleep(0.05)
            return b""

    with grpc.insecure_channel(flight.uri.removeprefix("grpc://")) as channel:
        token = "Basic " + base64.b64encode(b"tester:").decode()
        call = channel.stream_stream(CALL + "Handshake")(Endless(), metadata=(("authorization", token),), timeout=60)
        assert list(call) == []
