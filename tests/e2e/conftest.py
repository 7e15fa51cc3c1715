"""The shared services under the names of these tests."""

from __future__ import annotations

import pytest

from tests.e2e.service import Service


@pytest.fixture(scope="session")
def service(whole_service: Service) -> Service:
    return whole_service
