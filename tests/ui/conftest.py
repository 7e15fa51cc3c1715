"""The server of tests/protocol, over fakes of the ports."""

from __future__ import annotations

from tests.protocol.conftest import server as server
from tests.protocol.conftest import start_server as start_server
