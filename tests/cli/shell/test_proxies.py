"""A SOCKS proxy between the shell and a server, and a store that is refused with a reason."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coordinator.cli.main import app
from coordinator.cli.shell.connecting import OptionError, proxy
from coordinator.cli.tls import Store, StoreError, client_context
from tests.protocol.conftest import Server, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(1 << 16):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _serve(client: socket.socket, asked: list[str]) -> None:
    """RFC 1928 without authentication, for names alone."""
    with client, client.makefile("rb") as reader:
        version, methods = reader.read(2)
        assert version == 5
        reader.read(methods)
        client.sendall(b"\x05\x00")
        version, command, _, kind, length = reader.read(5)
        assert (version, command, kind) == (5, 1, 3)
        host = reader.read(length).decode()
        (port,) = struct.unpack("!H", reader.read(2))
        asked.append(f"{host}:{port}")
        with socket.create_connection(("127.0.0.1", port), 10) as target:
            client.sendall(b"\x05\x00\x00\x01" + bytes(6))
            back = threading.Thread(target=_copy, args=(target, client), daemon=True)
            back.start()
            _copy(client, target)
            back.join(60)


@contextmanager
def socks_proxy() -> Iterator[tuple[int, list[str]]]:
    """Its port, and what it was asked for."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=_serve, args=(client, asked), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], asked


def test_statements_go_through_a_socks_proxy(server: Server) -> None:
    pytest.importorskip("socksio")
    with socks_proxy() as (port, asked):
        address = ["--server", f"http://lake.example:{server.port}", "--socks-proxy", f"127.0.0.1:{port}"]
        ran = CliRunner().invoke(app, ["sql", *address, "--execute", "SELECT 1"])
    assert ran.exit_code == 0
    assert ran.stdout.endswith('"1"\n')
    assert asked == [f"lake.example:{server.port}"], "the proxy finds the server by its name"


def test_one_proxy_at_a_time() -> None:
    assert proxy(None, "one:1080") == "socks5h://one:1080"
    assert proxy("http://two:3128", None) == "http://two:3128"
    with pytest.raises(OptionError, match="do not go together"):
        proxy("two:3128", "one:1080")


def test_a_jks_store_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    file = tmp_path / "client.jks"
    file.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    command = f"keytool -importkeystore -srckeystore {file} -destkeystore {tmp_path}/client.p12 -deststoretype pkcs12"
    for stores in ((Store(file), None), (None, Store(file, "secret"))):
        with pytest.raises(StoreError, match=command):
            client_context(*stores)
