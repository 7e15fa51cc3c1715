"""A Spark of others behind TLS: what stands in front of it ends TLS and passes the bytes on."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.remote_address import read_trust_store, remote_problem, remote_token, without_secrets
from coordinator.engine.spark.sessions import ask, drop_session, open_session
from coordinator.engine.spark.settings import SparkSettings
from shared.properties import ConfigurationError
from tests.certificates import Authority, authority


@contextlib.contextmanager
def tls_in_front_of(port: int, keystore: Path) -> Iterator[int]:
    """The port that speaks TLS, and HTTP/2 within it as gRPC wants."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keystore)
    context.set_alpn_protocols(["h2"])
    loop = asyncio.new_event_loop()

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(passed(reader, there[1]), passed(there[0], writer))
        finally:
            there[1].transport.abort()
            writer.transport.abort()

    server = loop.run_until_complete(asyncio.start_server(connected, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:

        async def end() -> None:
            server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for each in others:
                each.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0.1)  # until connections are closed

        asyncio.run_coroutine_threadsafe(end(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def signer(tmp_path: Path) -> Authority:
    return authority(tmp_path / "ca.pem")


@pytest.mark.spark
@pytest.mark.slow
def test_statements_over_tls_with_a_token(
    engine: SparkEngine, signer: Authority, tmp_path: Path, executions: Any
) -> None:
    server = engine.connect().server
    assert server is not None
    token = remote_token(server.url)
    assert token is not None
    with tls_in_front_of(server.port, signer.sign(tmp_path / "server.pem", "spark")) as port:
        url = f"sc://localhost:{port}/;use_ssl=true;token={token}"
        remote = SparkEngine(SparkSettings(work_dir=tmp_path, remote=url, trust_store=signer.file), {})
        try:
            assert pa.Table.from_batches(remote.run("SELECT 7 AS n", executions())).to_pylist() == [{"n": 7}]
        finally:
            remote.stop()
        stranger = authority(tmp_path / "other.pem", "Other").file
        for wrong, trusted in ((url, stranger), (url, None), (url.replace(token, "x"), signer.file)):
            session = open_session(wrong, embedded=True, answer_seconds=5, trust_store=trusted)
            try:
                assert (ask(session, 5), wrong) == ("silent" if trusted != signer.file else "alive", wrong)
                if trusted == signer.file:
                    with pytest.raises(Exception, match=r"(?i)auth"):
                        session.sql("SELECT 1").collect()
            finally:
                drop_session(session, release=False)


def test_addresses(tmp_path: Path) -> None:
    url = "sc://host:1/;use_ssl=true;token=a secret"
    assert remote_token(url) == "a secret"
    assert remote_token("sc://host:1") is None
    assert without_secrets(url) == "sc://host:1"
    assert without_secrets("http://host:1/x") == "http://host:1/x"
    store = tmp_path / "ca.pem"
    assert remote_problem(url, store) is None
    assert remote_problem("sc://host:1", None) is None
    for plain in ("sc://host:1", "sc://host:1/;token=x", "sc://host:1/;use_ssl=false"):
        assert remote_problem(plain, store) == "spark.remote.trust-store-path needs use_ssl=true in spark.remote"
    with pytest.raises(ConfigurationError, match="No such file"):
        read_trust_store(store)
    store.write_text("x")
    with pytest.raises(ConfigurationError, match="no certificate in PEM"):
        read_trust_store(store)
