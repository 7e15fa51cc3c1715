"""A TCP relay between a client and a server that a test makes silent, cuts, and mends."""

from __future__ import annotations

import contextlib
import socket
import threading


class Relay:
    """Passes bytes both ways from ``port`` to ``target`` on this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._flowing = threading.Event()
        self._flowing.set()
        self._refusing = self._closed = False
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """Connections stay open and nothing passes, as of a machine that hangs or a network that drops packets."""
        self._flowing.clear()

    def cut(self) -> None:
        """Reset every connection, and new ones at once."""
        self._refusing = True
        sockets, self._sockets = self._sockets, []
        for end in sockets:
            _reset(end)

    def mend(self) -> None:
        """Everything passes again, also what waited."""
        self._refusing = False
        self._flowing.set()

    def close(self) -> None:
        self._closed = True
        self.cut()
        self._flowing.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                _reset(client)
                continue
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flowing.wait()
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _reset(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        end.shutdown(socket.SHUT_RDWR)
    end.close()
