"""Calls of other services as spans: what is noted, how much of it, and that nothing is where nobody collects."""

from __future__ import annotations

import contextvars
import threading
from pathlib import Path

import pytest

from coordinator.connectors.iceberg.maintenance.file_deletion import delete_all
from coordinator.connectors.iceberg.storage import ExactFileIO
from coordinator.vocabulary.trace_context import begin_tracing, inside_span, outgoing_headers
from coordinator.vocabulary.traced_calls import MOST_CALLS, TracedCall, TracedCalls, collecting, open_call, traced

TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_where_nobody_collects_a_call_is_the_same_empty_block() -> None:
    assert traced("store.read", file="a") is traced("catalog.load_table")
    assert open_call("spark.execute") is None
    with collecting(None, "plan"):
        assert open_call("spark.execute") is None


def test_calls_know_what_is_around_them_and_pass_their_span_on() -> None:
    calls = TracedCalls()

    def run() -> None:
        begin_tracing("q1", f"00-{TRACE}-b7ad6b7169203331-01")
        own = outgoing_headers()
        with collecting(calls, "dispatch"):
            with traced("catalog.commit_table", object="db.t"):
                outer = outgoing_headers()["traceparent"]
                with traced("store.write", file="a.avro"):
                    inner = outgoing_headers()["traceparent"]
                assert outgoing_headers()["traceparent"] == outer
            with pytest.raises(OSError, match="away"), traced("store.delete"):
                raise OSError("away: s3://private")
        assert outgoing_headers() == own
        assert traced("store.read") is traced("store.read")
        write, commit, _ = calls.calls
        assert (outer, inner) == (f"00-{TRACE}-{commit.span_id}-01", f"00-{TRACE}-{write.span_id}-01")

    contextvars.copy_context().run(run)
    write, commit, delete = calls.calls
    assert [(each.name, each.parent, each.error) for each in calls.calls] == [
        ("store.write", commit.span_id, None),
        ("catalog.commit_table", None, None),
        ("store.delete", None, "OSError"),
    ]
    assert (write.verb, write.about, commit.about) == ("dispatch", {"file": "a.avro"}, {"object": "db.t"})
    assert commit.began <= write.began
    assert commit.seconds >= write.seconds >= 0
    assert "private" not in str(delete)


def test_a_stream_may_end_in_another_thread() -> None:
    calls = TracedCalls()
    with collecting(calls, "dispatch"):
        call = open_call("spark.execute", tag="t")
    assert call is not None
    ending = threading.Thread(target=call.end, args=(None,), kwargs={"rows": "7"})
    ending.start()
    ending.join()
    assert [each.about for each in calls.calls] == [{"tag": "t", "rows": "7"}]


def test_there_are_not_more_than_the_limit() -> None:
    calls = TracedCalls()
    calls.add(*(TracedCall(str(number), "0" * 16, None, "plan", 0.0, 0.0) for number in range(MOST_CALLS - 1)))
    with collecting(calls, "plan"):
        for _ in range(3):
            with traced("store.read"):
                pass
    assert (len(calls.calls), calls.left_out) == (MOST_CALLS, 2)


def test_without_a_trace_nothing_is_passed_on() -> None:
    def run() -> None:
        with inside_span("0" * 16):
            assert outgoing_headers() == {}

    contextvars.Context().run(run)


def test_deletions_on_other_threads_are_calls_of_the_statement(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.parquet" for number in range(20)]
    for file in files:
        file.touch()
    calls = TracedCalls()
    with collecting(calls, "dispatch"):
        (gone,) = delete_all(ExactFileIO(), (file.as_uri() for file in files), at_once=4)
    assert all(gone)
    assert sorted(each.about["file"] for each in calls.calls) == sorted(file.name for file in files)
    assert {(each.name, each.verb) for each in calls.calls} == {("store.delete", "dispatch")}
