"""The shared service of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.service import Service, start_service, write_etc


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("service")
    running = start_service(write_etc(home / "etc"), home / "data", home / "log")
    yield running
    code = running.stop()
    log = (home / "log").read_text()
    assert code == 0, log
    assert "Traceback" not in log, log
