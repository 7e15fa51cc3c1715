"""Flight SQL over TLS: passwords, tokens, rights and statements of others, with ADBC and the JDBC driver."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager
import pytest
from pyarrow import flight as fl

from coordinator.flight.messages import packed
from coordinator.flight.wire import message
from tests.maven import jar
from tests.security.authentication.secured import PASSWORD, Secured, presto_cursor


def connect(secured: Secured, **options: str) -> adbc.Connection:
    trusted = {"adbc.flight.sql.client_option.tls_root_certs": secured.authority.file.read_text()}
    uri = f"grpc+tls://127.0.0.1:{secured.service.flight_port}"
    return adbc.connect(uri, db_kwargs=trusted | options, autocommit=True)


def user_of(connection: adbc.Connection) -> str:
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        ((user,),) = cursor.fetchall()
    return str(user)


def test_passwords_and_tokens_are_those_of_http(secured: Secured) -> None:
    assert user_of(connect(secured, username="alice", password=PASSWORD)) == "alice"
    bearer = "adbc.flight.sql.authorization_header"
    assert user_of(connect(secured, **{bearer: f"Bearer {secured.token()}"})) == "carol"
    refused = [
        ({"username": "alice", "password": "wrong"}, "Invalid credentials"),
        ({bearer: f"Bearer {secured.token(exp=time.time() - 1)}"}, "Signature has expired"),
        ({}, "Unauthorized"),
    ]
    for given, text in refused:
        with pytest.raises(adbc_driver_manager.Error, match=text):
            user_of(connect(secured, **given))


def test_acting_as_somebody_else_is_a_right(secured: Secured) -> None:
    named = "adbc.flight.sql.rpc.call_header.x-presto-user"
    assert user_of(connect(secured, username="gateway", password=PASSWORD, **{named: "alice"})) == "alice"
    with pytest.raises(adbc_driver_manager.Error, match="cannot impersonate"):
        user_of(connect(secured, username="alice", password=PASSWORD, **{named: "bob"}))


def test_rules_hold_for_metadata_and_statements(secured: Secured) -> None:
    bearer = {"adbc.flight.sql.authorization_header": f"Bearer {secured.token()}"}
    with connect(secured, **bearer) as connection, connection.cursor() as cursor:
        found = connection.adbc_get_objects(depth="catalogs").read_all().column("catalog_name").to_pylist()
        assert "tpch" not in found
        assert "iceberg" in found
        with pytest.raises(adbc_driver_manager.Error, match="tpch"):
            cursor.execute("SELECT * FROM tpch.tiny.region")


def test_a_ticket_is_of_no_use_to_others(secured: Secured) -> None:
    uri = f"grpc+tls://127.0.0.1:{secured.service.flight_port}"
    command = packed("CommandStatementQuery", message((1, "SELECT 1")))
    with fl.connect(uri, tls_root_certs=secured.authority.file.read_bytes()) as client:
        alice, bob = (
            fl.FlightCallOptions(headers=[client.authenticate_basic_token(user, PASSWORD)]) for user in ("alice", "bob")
        )
        ticket = client.get_flight_info(fl.FlightDescriptor.for_command(command), alice).endpoints[0].ticket
        with pytest.raises(KeyError, match="not ours"):
            client.do_get(ticket, bob).read_all()
        assert client.do_get(ticket, alice).read_all().to_pydict() == {"_col0": [1]}


@pytest.mark.full("ADBC's driver over TLS in this file, which logs in the same way")
def test_the_jdbc_driver(secured: Secured, tmp_path: Path) -> None:
    if shutil.which("javac") is None:
        pytest.skip("no JDK: javac is not on PATH")
    driver = jar("org.apache.arrow", "flight-sql-jdbc-driver", "18.3.0")
    source = Path(__file__).parents[2] / "flight" / "java" / "FlightProbe.java"
    subprocess.run(["javac", "-d", str(tmp_path), str(source)], check=True, timeout=120, capture_output=True)
    url = (
        f"jdbc:arrow-flight-sql://127.0.0.1:{secured.service.flight_port}/?user=alice&password={quote(PASSWORD)}"
        f"&tlsRootCerts={secured.authority.file}&useSystemTrustStore=false"
    )
    opened = "--add-opens=java.base/java.nio=ALL-UNNAMED"
    command = ["java", opened, "-Duser.timezone=UTC", "-cp", f"{tmp_path}:{driver}", "FlightProbe", url]
    run = subprocess.run(command, check=False, timeout=120, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "product Procession",
        "catalogs [iceberg][system][tpch]",
        "schemas [tiny,tpch]",
        "tables [tpch,tiny,nation,TABLE,null,null]",
        "columns [tpch,tiny,region,regionkey,-5,bigint][tpch,tiny,region,name,12,varchar(25)]"
        "[tpch,tiny,region,comment,12,varchar(152)]",
        "query [0,ALGERIA,1.50,2020-01-02,true][1,ARGENTINA,1.50,2020-01-02,true]",
        "prepared [CANADA]",
        "update 0",
        "error " + run.stdout.splitlines()[-1].removeprefix("error "),
    ]
    assert "Column 'nope' cannot be resolved" in run.stdout
    cursor = presto_cursor(secured, "alice", PASSWORD)
    cursor.execute("DROP SCHEMA iceberg.of_jdbc")
    cursor.fetchall()
