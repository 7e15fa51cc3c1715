"""Window frames, LATERAL and geometry on both engines, and that a function's own failure is not told to a client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.engine.local import LocalEngine
from tests.e2e.service import Service
from tests.queries.frame_cases import FRAMES
from tests.queries.test_semantics import BESIDE_A_TABLE, locally, over_http, wrong


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


def test_locally(engine: LocalEngine) -> None:
    cases = [(text.format(one=""), expected) for text, expected in FRAMES]
    assert wrong((text, locally(text, engine), expected) for text, expected in cases) == []


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.full(
    "the same frames on the embedded engine; windows of recorded cases on Spark in functions/test_functions"
)
def test_on_spark(queries: Service) -> None:
    cases = [(text.format(one=BESIDE_A_TABLE), expected) for text, expected in FRAMES]
    assert wrong((text, over_http(queries, text), expected) for text, expected in cases) == []
