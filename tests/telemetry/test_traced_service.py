"""A whole service whose traces go to a collector of the test: spans of planners, of the sidecar and of commits."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from prestodb.exceptions import PrestoUserError

from tests.e2e.service import start_service, write_etc
from tests.telemetry.test_tracing import collector

pytestmark = [
    pytest.mark.slow,
    pytest.mark.full("each part by itself in test_tracing and iceberg/test_traced_services"),
]


def test_calls_of_planners_and_of_the_coordinator_are_in_one_trace(tmp_path: Path) -> None:
    with collector() as (endpoint, received):
        etc = write_etc(tmp_path / "etc", spark=False)
        with (etc / "config.properties").open("a") as config:
            config.write(f"tracing.enabled=true\notel.exporter.endpoint={endpoint}\n")
        service = start_service(etc, tmp_path / "data", tmp_path / "log")
        try:
            service.execute("CREATE SCHEMA iceberg.traced")
            service.execute("CREATE TABLE iceberg.traced.t (x integer)")
            service.execute("ALTER TABLE iceberg.traced.t ADD COLUMN y varchar")
            service.execute("SELECT x FROM iceberg.traced.t")
            with pytest.raises(PrestoUserError, match="does not exist"):
                service.execute("SELECT x FROM iceberg.traced.missing")
            limit = time.monotonic() + 60
            while "missing" not in str(received):
                assert time.monotonic() < limit
                time.sleep(0.1)
        finally:
            assert service.stop() == 0
    traces: dict[bytes, Counter[str]] = {}
    for _, body in received:
        for spans in (scope.spans for resource in body.resource_spans for scope in resource.scope_spans):
            for span in spans:
                traces.setdefault(span.trace_id, Counter())[span.name] += 1
    (altered,) = [found for found in traces.values() if found["catalog.commit_table"]]
    assert altered["catalog.locate_table"] >= 1, "while it was planned, in another process"
    assert altered["store.write"] == 1, "the new metadata file"
    assert [found for found in traces.values() if found["catalog.create_table"]]
    assert [found for found in traces.values() if found["sidecar.plan"]]
    assert [found for found in traces.values() if found["catalog.list_tables"] and not found["dispatch"]], (
        "the last one"
    )
    assert "Traceback" not in (tmp_path / "log").read_text()
