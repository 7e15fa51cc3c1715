"""A port that was chosen for a child is the child's."""

from __future__ import annotations

import errno
import socket

import pytest

from coordinator.engine.ports import reserved_port


def test_a_child_may_listen_on_it_again_and_again_and_nobody_else_is_given_it() -> None:
    port, holding = reserved_port()
    with holding:
        for _ in range(2):
            with (
                socket.create_server(("127.0.0.1", port)) as listening,
                socket.create_connection(("127.0.0.1", port), 60) as there,
                listening.accept()[0] as here,
            ):
                there.sendall(b"x")
                assert here.recv(1) == b"x"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 60)
        with socket.socket() as another, pytest.raises(OSError, match="in use") as refused:
            another.bind(("127.0.0.1", port))
        assert refused.value.errno == errno.EADDRINUSE
