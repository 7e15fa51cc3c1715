"""Three whole coordinators over one PostgreSQL: one is suspended, one is killed, and every statement ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.load import Load
from tests.cluster.whole_services import coordinators, new_state
from tests.e2e.service import Service, start_service

pytestmark = [pytest.mark.slow, pytest.mark.full("two coordinators and the end of one: test_two_services.py")]
NAMES = ("one", "two", "three")
OF_THE_LOST = ("REMOTE_HOST_GONE", "RemoteProtocolError", "ReadError")
"""What clients see of a statement whose coordinator is gone; the first one may be sent again."""


def until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.1)


def nodes(service: Service) -> list[str]:
    listed = service.execute("SELECT node_id FROM system.runtime.nodes WHERE state = 'active'")
    return sorted(str(row[0]) for row in listed)


def more(load: Load, count: int = 30) -> None:
    before = load.done
    until(lambda: load.done >= before + count, 60)


def test_one_is_suspended_and_one_is_killed(tmp_path: Path, postgres: str) -> None:
    with coordinators(tmp_path, new_state(postgres), NAMES) as services:
        one, two, three = services
        urls = [service.url for service in services]
        until(lambda: nodes(one) == sorted(NAMES))
        with Load(urls) as load:
            more(load)
            assert load.wrong == []
            two.process.send_signal(signal.SIGSTOP)
            until(lambda: nodes(one) == ["one", "three"])
            assert one.execute("SELECT count(*) FROM tpch.tiny.nation") == [[25]]
            two.process.send_signal(signal.SIGCONT)
            until(lambda: nodes(three) == sorted(NAMES))
            more(load)
            three.process.send_signal(signal.SIGKILL)
            three.process.wait(timeout=60)
            until(lambda: nodes(two) == ["one", "two"])
            more(load)
            three.succeeded_by(start_service(three.etc, three.etc.parent / "data", three.etc.parent / "log"))
            urls[2] = three.url
            until(lambda: nodes(two) == sorted(NAMES))
            more(load)
        assert [wrong for wrong in load.wrong if not any(kind in wrong for kind in OF_THE_LOST)] == []
        assert len(load.wrong) <= 12  # three clients, and what each had under way at two of them
        open_ones = (
            "SELECT query_id, node_id, state FROM system.history.queries "
            "WHERE \"user\" = 'load' AND state NOT IN ('FINISHED', 'FAILED')"
        )
        until(lambda: two.execute(open_ones) == [])
