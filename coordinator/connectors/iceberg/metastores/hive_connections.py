"""Connections to a Hive metastore: one for each use, to the first of its addresses that answers, with time limits.

PyIceberg's client has one connection for all threads, without a limit, and to the first address alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from urllib.parse import urlsplit

from hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException


class HiveConnections:
    """``with connections as client``; thread-safe, and may be nested. Raises TTransportException."""

    def __init__(self, addresses: Sequence[str], timeout_seconds: float) -> None:
        parts = [urlsplit(address) for address in addresses]
        self._addresses = [(part.hostname, part.port) for part in parts]
        self._milliseconds = timeout_seconds * 1000
        self._answered = 0
        self._open = threading.local()

    def __enter__(self) -> Client:
        transport = self._connected()
        self._of_this_thread().append(transport)
        return Client(TBinaryProtocol(transport))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._of_this_thread().pop().close()

    def _connected(self) -> TBufferedTransport:
        """Begins at the address that answered last, so that a dead one is not waited for each time."""
        first, count = self._answered, len(self._addresses)
        for number in range(count):
            index = (first + number) % count
            socket = TSocket(*self._addresses[index])
            socket.setTimeout(self._milliseconds)
            transport = TBufferedTransport(socket)
            try:
                transport.open()
            except TTransportException:
                if number == count - 1:
                    raise
                continue
            self._answered = index
            return transport
        raise AssertionError("the last address answers or raises")

    def _of_this_thread(self) -> list[TBufferedTransport]:
        if not hasattr(self._open, "transports"):
            self._open.transports = []
        found: list[TBufferedTransport] = self._open.transports
        return found
